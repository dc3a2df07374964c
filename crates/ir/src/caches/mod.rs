//! What a trace remembers for programs that repeat themselves: results of inference, the schemes of the last syncs, and
//! the gradients that were recorded last.

mod copy;
pub(super) mod gradients;
pub(super) mod inferences;
pub(super) mod planner;
