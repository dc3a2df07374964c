//! Calls of kernels with effects that were not made yet, and the parameters of computations on which they depend.

use super::TensorHandle;
use crate::device_data::DeviceData;
use std::sync::Arc;

/// Parameters of computations on which a call depends. Without any, steps make it.
#[derive(Default)]
pub struct Parameters {
    pub(super) placeholders: Vec<Arc<DeviceData>>,
    /// Whether it depends on a collective outside of a `shard_map`.
    pub(super) has_collective: bool,
}

impl Parameters {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.placeholders.is_empty() && !self.has_collective
    }

    /// Whether no computation can be traced over them any more, since nothing holds a placeholder.
    pub(super) fn are_abandoned(&self) -> bool {
        self.placeholders.iter().any(|data| data.tensors.get() == 0)
    }
}

/// A call that was not made yet.
pub(super) struct Effect {
    /// Last result of the call.
    pub done: TensorHandle,
    /// Whether the call keeps the order of recording.
    pub is_ordered: bool,
    pub parameters: Parameters,
    /// Parameters of the first computation that made the call; empty if there was none.
    pub traced: Vec<Arc<DeviceData>>,
}

/// Whether a list has this data.
pub(super) fn is_among(data: &Arc<DeviceData>, list: &[Arc<DeviceData>]) -> bool {
    list.iter().any(|other| Arc::ptr_eq(other, data))
}
