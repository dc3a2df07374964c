//! Evaluation of recorded operations on an eager device: removes the operations of a call from the trace, and evaluates
//! them.

use super::evaluation::Evaluation;
use super::handle::TensorHandle;
use super::state::{DeferredDrop, DeviceState};
use super::table::Value;
use super::work::{self, Input, Inputs, Work};
use crate::call;
use crate::error::Result;
use crate::ir::{LeafData, Mark, NodeId};
use crate::native::Array;
use std::sync::Arc;

impl DeviceState {
    /// Whether operations that were evaluated or abandoned are still recorded.
    #[inline]
    pub fn has_leftovers(&self) -> bool {
        match &self.evaluation {
            Evaluation::Eager(eager) => self.trace.len() != eager.kept.nodes() || !eager.inputs.is_empty(),
            Evaluation::Lazy => false,
        }
    }

    /// Discards operations that were evaluated or abandoned. Operations that placeholder-dependent tensors need are
    /// kept. Does nothing on a lazy device.
    pub fn clear_native(&mut self) -> DeferredDrop {
        let Evaluation::Eager(eager) = &mut self.evaluation else { return DeferredDrop::default() };
        // An input may be the last reference to an array whose memory is owned by another library.
        if eager.inputs.iter().any(|input| matches!(input, Input::Array(_))) {
            call::drop_later(std::mem::take(&mut eager.inputs));
        }
        eager.inputs.clear();
        if eager.kept.nodes() == 0 { self.clear_trace().into() } else { self.trace.rewind(eager.kept).into() }
    }

    /// Keeps everything that was recorded on an eager device until the next compaction: it depends on a placeholder, or
    /// a kept operation was changed to refer to it.
    pub fn keep_recorded(&mut self) {
        if let Evaluation::Eager(eager) = &mut self.evaluation {
            eager.kept = self.trace.mark();
        }
    }

    /// Discards everything that was recorded.
    pub(super) fn clear_trace(&mut self) -> Vec<Arc<dyn LeafData>> {
        if let Evaluation::Eager(eager) = &mut self.evaluation {
            eager.kept = Mark::default();
        }
        self.trace.clear()
    }

    fn inputs(&self) -> Inputs<'_> {
        let inputs = match &self.evaluation {
            Evaluation::Eager(eager) => &eager.inputs[..],
            Evaluation::Lazy => &[],
        };
        Inputs::new(inputs, &self.table, &self.trace)
    }

    /// On an eager device, evaluates a node that is a single small operation immediately, which is faster than moving
    /// it out of the lock. Returns None for any other node.
    #[inline]
    pub fn small_work(&mut self, id: NodeId) -> Option<Result<Array>> {
        let made = work::at_once(&self.trace, self.inputs(), id)?;
        self.forget_evaluated();
        Some(made)
    }

    /// Returns the arrays of small tensors, whose operations are evaluated under the lock. Returns None if a handle is
    /// not that of a live tensor with an array as its value, or if an array is large.
    #[inline]
    pub fn small_arrays<const N: usize>(&self, tensors: [TensorHandle; N]) -> Option<[&Array; N]> {
        let array = |tensor| match &self.table.slot(self.table.find(tensor)?).value {
            Value::Native(array) if array.size_bytes() <= work::SMALL => Some(array),
            Value::Native(_) | Value::Pending(_) | Value::Data(_) => None,
        };
        let mut arrays = [array(tensors[0])?; N];
        for (known, &tensor) in arrays.iter_mut().zip(&tensors).skip(1) {
            *known = array(tensor)?;
        }
        Some(arrays)
    }

    /// Discards what the current call recorded: without work if all of it is operations on tensors.
    #[inline]
    fn forget_evaluated(&mut self) {
        if let Evaluation::Eager(eager) = &mut self.evaluation
            && eager.kept.nodes() == 0
            && eager.inputs.iter().all(|input| matches!(input, Input::Tensor(_)))
            && self.trace.clear_operations()
        {
            eager.inputs.clear();
        } else {
            drop(self.clear_native());
        }
    }

    /// On an eager device, takes the work that computes the values of the nodes, to be run without the lock.
    pub fn take_work(&mut self, ids: &[NodeId]) -> Work {
        let work = Work::of(&self.trace, self.inputs(), ids);
        drop(self.clear_native());
        work
    }
}
