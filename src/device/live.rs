//! Distinct values of the live tensors of a device.

use super::state::DeviceState;
use super::table::Value;
use crate::device_data::DeviceData;
use base::types::TensorType;
use native::Array;
use std::collections::BTreeMap;
use std::sync::Arc;

impl DeviceState {
    /// Types of the distinct values of live tensors that are pending, and of those that are arrays in host memory; with
    /// the number of tensors of each.
    pub fn live_others(&self) -> [Vec<(TensorType, u32)>; 2] {
        let (mut pending, mut arrays) = (BTreeMap::new(), BTreeMap::new());
        for value in self.table.values() {
            let count = match value {
                Value::Pending(id) => &mut pending.entry(id.0).or_insert_with(|| (self.trace.ty(*id), 0)).1,
                Value::Native(array) => {
                    let place = (array.bytes().as_ptr(), array.bytes().len());
                    &mut arrays.entry(place).or_insert_with(|| (array.ty().clone(), 0)).1
                }
                Value::Data(_) => continue,
            };
            *count += 1;
        }
        [pending.into_values().collect(), arrays.into_values().collect()]
    }

    /// Distinct device data of all live tensors.
    pub fn live_data(&self) -> Vec<Arc<DeviceData>> {
        let mut live: Vec<Arc<DeviceData>> = self.table.values().filter_map(Value::data).cloned().collect();
        live.sort_by_key(Arc::as_ptr);
        live.dedup_by(|a, b| Arc::ptr_eq(a, b));
        live
    }

    /// Distinct arrays of live tensors.
    pub fn live_arrays(&self) -> Vec<Array> {
        let native = |value: &Value| if let Value::Native(array) = value { Some(array.clone()) } else { None };
        let mut live: Vec<Array> = self.table.values().filter_map(native).collect();
        let place = |array: &Array| (array.bytes().as_ptr(), array.bytes().len());
        live.sort_by_key(place);
        live.dedup_by_key(|array| place(array));
        live
    }
}
