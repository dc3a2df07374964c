//! Applications of traced computations, optimization barriers and custom calls.

pub mod apply;
pub mod barrier;
pub mod bodies;
pub mod custom_call;
pub mod custom_targets;
pub mod evaluate;
pub mod lower;
pub mod regions;
