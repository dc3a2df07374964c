//! The live tensors of an environment: those with the largest values, and sums.

use crate::device_data::{DeviceData, Origin};
use crate::env::Environment;
use base::label::Label;
use base::types::TensorType;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::sync::Arc;

/// Number of tensors that are listed.
const LISTED: usize = 500;

/// A value of one or more tensors.
struct Live {
    device: String,
    ty: TensorType,
    state: &'static str,
    /// Number of tensors with this value.
    tensors: u32,
    /// The data, if it is on a device.
    data: Option<Arc<DeviceData>>,
}

/// Returns `values` and `bytes`, the number and the size of the values that live tensors have, and `listed`, the
/// largest ones. Values that are pending hold no memory yet, but are listed with their size.
pub fn collect(environment: &Environment) -> Value {
    let mut all: Vec<Live> = Vec::new();
    for device in environment.all_devices() {
        let (place, data, [pending, arrays]) = {
            let state = device.state();
            let Some((_, place)) = state.place() else { continue };
            (place.to_string(), state.live_data(), state.live_others())
        };
        let mut add = |ty, state, tensors, data| all.push(Live { device: place.clone(), ty, state, tensors, data });
        for data in data {
            let state = if data.is_placeholder() {
                "placeholder"
            } else if data.has_memory() {
                "computed"
            } else {
                "pending"
            };
            add(data.ty().clone(), state, data.tensors.get(), Some(data));
        }
        pending.into_iter().for_each(|(ty, tensors)| add(ty, "pending", tensors, None));
        arrays.into_iter().for_each(|(ty, tensors)| add(ty, "computed", tensors, None));
    }
    all.sort_by_key(|live| Reverse(live.ty.size_bytes()));
    let of = |state: &str| -> (usize, u64) {
        let sizes = all.iter().filter(|live| live.state == state).map(|live| live.ty.size_bytes() as u64);
        (sizes.clone().count(), sizes.sum())
    };
    let ((computed, bytes), (pending, pending_bytes)) = (of("computed"), of("pending"));
    let mut labels = Labels::default();
    let listed: Vec<Value> = all.iter().take(LISTED).map(|live| entry(live, &mut labels)).collect();
    json!({
        "values": computed,
        "bytes": bytes,
        "pending": pending,
        "pending_bytes": pending_bytes,
        "placeholders": of("placeholder").0,
        "listed": listed,
    })
}

fn entry(live: &Live, labels: &mut Labels) -> Value {
    let origin = live.data.as_ref().and_then(|data| data.origin());
    let label = origin.map_or(Label::NONE, |(origin, output)| labels.of(origin, *output));
    json!({
        "device": live.device,
        "label": label.names(),
        "dtype": live.ty.dtype.to_string(),
        "dims": live.ty.dims.to_vec(),
        "bytes": live.ty.size_bytes(),
        "state": live.state,
        "tensors": live.tensors,
        "origin": origin.map(|(origin, _)| origin.name.to_string()),
    })
}

/// Labels of the outputs of syncs. The parameters of a model usually come from one.
#[derive(Default)]
struct Labels(FxHashMap<*const Origin, Vec<Label>>);

impl Labels {
    fn of(&mut self, origin: &Arc<Origin>, output: usize) -> Label {
        let labels = self.0.entry(Arc::as_ptr(origin)).or_insert_with(|| origin.labels());
        labels.get(output).copied().unwrap_or_default()
    }
}
