//! Applications of traced computations, optimization barriers and custom calls.

pub(super) mod apply;
pub(super) mod barrier;
pub(super) mod batch;
pub mod bodies;
mod bounded;
pub(super) mod checkpoint;
pub(super) mod checkpoint_rules;
pub(super) mod custom;
pub(super) mod custom_call;
pub(super) mod custom_rules;
pub(super) mod custom_targets;
pub(super) mod debug_print;
pub(super) mod definitions;
pub(super) mod derivative;
pub(super) mod evaluate;
pub(super) mod flow;
pub(super) mod kernel;
pub(super) mod loop_derivative;
pub(super) mod loops;
pub(super) mod lower;
pub(super) mod masking_rules;
pub(super) mod memo;
pub(super) mod ordered;
pub(super) mod regions;

pub use apply::{
    Applied, CaseAttributes, IfAttributes, ScanAttributes, WhileAttributes, branch, call, case, inline, scan,
    while_loop,
};
pub use barrier::{held_back, optimization_barrier};
pub use bounded::while_bounded;
pub use checkpoint::Checkpoint;
pub use custom::{
    CheckpointNameAttributes, CustomAttributes, CustomKind, FoundRule, FoundRules, checkpoint_call_of, checkpoint_name,
    checkpoint_name_of, custom_call_of, derivative_rules, stop_gradient,
};
pub use custom_call::{ApiVersion, CustomCall, custom_call};
pub use debug_print::{check_format, debug_print};
pub use kernel::{done, kernel};
pub use memo::Memo;
pub use ordered::{before_waiting, done_after, in_recording_order, one_after_another, ordered_calls, wait_for};
