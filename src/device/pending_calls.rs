//! Calls of kernels with effects that were not made yet, and the parameters of computations on which they depend.

use super::TensorHandle;
use crate::device_data::DeviceData;
use std::sync::Arc;

/// Parameters of computations on which a call depends. Without any, steps make it.
#[derive(Default)]
pub struct Parameters {
    pub(super) placeholders: Vec<Arc<DeviceData>>,
    /// True if the call depends on a collective outside of a `shard_map`.
    pub(super) has_collective: bool,
}

impl Parameters {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.placeholders.is_empty() && !self.has_collective
    }
}

/// A call that was not made yet.
pub(super) struct Effect {
    /// Last result of the call.
    pub done: TensorHandle,
    /// Whether the call keeps the order of recording.
    pub is_ordered: bool,
    pub parameters: Parameters,
    /// Number of the scope of tracing in which the call was recorded; 0 if in none.
    pub scope: u16,
    /// Only for calls that depend on collectives and no placeholder: the placeholders that were held when the call was
    /// recorded. It belongs to a computation over one of them: loops inside of that one have placeholders that were
    /// created later.
    pub around: Vec<Arc<DeviceData>>,
    /// Parameters of the first computation that made the call; empty if there was none.
    pub traced: Vec<Arc<DeviceData>>,
}

impl Effect {
    /// Placeholders of the computations to which the call may belong; empty if it may belong to any.
    pub fn candidates(&self) -> &[Arc<DeviceData>] {
        match (&self.traced[..], &self.parameters.placeholders[..]) {
            ([], []) => &self.around,
            ([], placeholders) => placeholders,
            (traced, _) => traced,
        }
    }

    /// Whether the call was recorded in this scope, and in no computation that was traced within it.
    pub fn is_left_in(&self, scope: u16) -> bool {
        scope != 0 && self.scope == scope && self.traced.is_empty()
    }

    /// Whether steps make the call: it belongs to no computation.
    pub fn is_of_steps(&self) -> bool {
        self.parameters.is_empty() && self.scope == 0
    }

    /// Whether a computation over `parameters` makes the call.
    pub fn is_over(&self, parameters: &[Arc<DeviceData>]) -> bool {
        match self.candidates() {
            [] => self.parameters.has_collective,
            candidates => candidates.iter().any(|data| is_among(data, parameters)),
        }
    }

    /// Whether no computation can be traced over the placeholders any more, since nothing holds one on which the call
    /// depends, or any of those of a call on collectives alone.
    pub fn is_abandoned(&self) -> bool {
        let is_gone = |data: &Arc<DeviceData>| data.tensors.get() == 0;
        match &self.parameters.placeholders[..] {
            [] => !self.candidates().is_empty() && self.candidates().iter().all(is_gone),
            placeholders => placeholders.iter().any(is_gone),
        }
    }
}

/// Whether a list has this data.
pub(super) fn is_among(data: &Arc<DeviceData>, list: &[Arc<DeviceData>]) -> bool {
    list.iter().any(|other| Arc::ptr_eq(other, data))
}
