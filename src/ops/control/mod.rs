//! Applications of traced computations, optimization barriers and custom calls.

pub mod apply;
pub mod barrier;
pub mod batch;
pub mod bodies;
pub mod checkpoint;
pub mod checkpoint_rules;
pub mod custom;
pub mod custom_call;
pub mod custom_rules;
pub mod custom_targets;
pub mod derivative;
pub mod evaluate;
pub mod loop_derivative;
pub mod lower;
pub mod memo;
pub mod regions;
