//! Removal of what no tensor needs any more: nodes of the trace, data of its leaves, shapes.

use super::state::{COMPACT_FROM, DeferredDrop, DeviceState};
use super::table::Value;
use base::allocation::probe;
use base::call;
use ir::{LeafData, NONE};
use std::sync::Arc;

impl DeviceState {
    /// Removes dead nodes, which do not count as pending.
    pub fn forget_dead(&mut self) {
        if !self.syncing {
            call::drop_later(self.compact());
        }
    }

    /// Compacts a large trace, so that memory stays proportional to the live nodes even without syncs.
    #[inline]
    pub(super) fn compact_if_large(&mut self) {
        if self.trace.len() >= self.compact_at && !self.syncing {
            self.compact_if_mostly_dead();
        }
    }

    #[cold]
    fn compact_if_mostly_dead(&mut self) {
        if !self.can_compact() || self.trace.count_needed() > self.trace.len() / 2 {
            self.compact_at = 2 * self.trace.len();
        } else {
            call::drop_later(self.compact());
        }
    }

    /// Removes shapes that neither a node nor an array has, if there are many.
    #[inline]
    pub(super) fn forget_shapes(&mut self) {
        if self.trace.forget_shapes(|| self.table.shapes()) {
            self.known.clear();
        }
    }

    /// Collects what is unreachable after a tensor released this value: its data, and the whole trace if nothing else
    /// is pending.
    #[inline]
    pub(super) fn garbage_of(&mut self, value: Value) -> DeferredDrop {
        if let Value::Native(_) = value {
            // Releasing an array does not affect the trace.
            return DeferredDrop { leaves: None, value: Some(value) };
        }
        let idle = self.trace.pending() == 0 && !self.trace.is_empty() && !self.syncing;
        let garbage = if idle { self.clear_trace().into() } else { DeferredDrop::default() };
        DeferredDrop { value: matches!(value, Value::Data(_)).then_some(value), ..garbage }
    }

    /// Removes nodes that no tensor needs: the whole trace if nothing is pending.
    pub fn tidy(&mut self) -> DeferredDrop {
        if self.trace.pending() == 0 { self.clear_trace().into() } else { self.compact() }
    }

    /// Removes everything that was recorded.
    pub(super) fn clear_trace(&mut self) -> Vec<Arc<dyn LeafData>> {
        let data = self.trace.clear();
        self.has_calls = false;
        self.granted = 0;
        self.decided = 0;
        self.cuts.last = None;
        self.forget_shapes();
        data
    }

    /// Whether there is memory to compact the trace.
    fn can_compact(&self) -> bool {
        probe(3 * self.trace.size_bytes(), "the compaction of recorded operations").is_ok()
    }

    /// Removes dead nodes. Without memory for that, the trace stays as it is.
    fn compact(&mut self) -> DeferredDrop {
        if !self.can_compact() {
            return DeferredDrop::default();
        }
        let table = &mut self.table;
        let data = self.trace.compact(|mut slot, id| {
            while slot != NONE {
                let tensor = table.slot_mut(slot);
                tensor.value = Value::Pending(id);
                slot = tensor.next;
            }
        });
        self.compact_at = (2 * self.trace.len()).max(COMPACT_FROM);
        self.decided = 0;
        self.forget_shapes();
        data.into()
    }
}
