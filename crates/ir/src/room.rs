//! Room of a trace for further operations, so that exhausted memory is an error of the call that records.

use super::trace::Trace;
use base::allocation::probe;
use base::error;
use base::error::Result;

/// Number of nodes that may be recorded until room is checked again.
const STRIDE: usize = 256;

/// Nodes reserved beyond [`STRIDE`], for an operation that records many.
const SPARE: usize = 1024;

/// Number of words of attributes for each node.
const WORDS: usize = 4;

impl Trace {
    /// Whether there is room to record one more operation. If not, [`Trace::make_room`] makes it.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.nodes.len() < self.room_until
    }

    /// Makes room to record one more operation, if there is none.
    #[inline]
    pub fn check_room(&mut self) -> Result<()> {
        if self.has_room() { Ok(()) } else { self.make_room(0) }
    }

    /// Makes room to record an operation on, or with the results of, a list of `count` operands.
    pub fn check_room_for(&mut self, count: usize) -> Result<()> {
        if count < STRIDE { Ok(()) } else { self.make_room(count) }
    }

    /// Makes room for at least `operations` more nodes, as many operands in lists, and as many leaves. Fails with
    /// RESOURCE_EXHAUSTED if there is no memory.
    #[cold]
    pub fn make_room(&mut self, operations: usize) -> Result<()> {
        let count = operations.saturating_add(STRIDE + SPARE);
        let spare = self.nodes.capacity() - self.nodes.len();
        let made = self.nodes.try_reserve(count).is_ok()
            && self.spilled.try_reserve(count).is_ok()
            && self.attributes.try_reserve(WORDS * count).is_ok()
            && self.scalars.try_reserve(count).is_ok()
            && self.leaves.try_reserve(count).is_ok()
            && self.bodies.try_reserve(count).is_ok()
            && (self.labels.is_empty() || self.labels.reserve(count))
            && self.shapes.reserve(STRIDE);
        // Recording allocates small things besides.
        let has_rest = || count <= spare || probe(size_of_val(&*self.nodes), "recorded operations").is_ok();
        if !made || !has_rest() {
            return Err(error!(
                ResourceExhausted,
                "no host memory to record more than {} operations",
                self.nodes.len()
            ));
        }
        self.room_until = self.nodes.len() + operations + STRIDE;
        Ok(())
    }

    /// Bytes of the recorded operations.
    pub fn size_bytes(&self) -> usize {
        size_of_val(&*self.nodes)
            + size_of_val(&*self.spilled)
            + size_of_val(&*self.attributes)
            + size_of_val(&*self.scalars)
            + size_of_val(&*self.leaves)
            + self.labels.size_bytes()
    }
}
