//! Traced computations: recorded once over placeholders, extracted from the trace, and applicable to tensors any number
//! of times.

mod calls;
mod compare;
mod control;
mod effects;
mod executable;
mod export;
mod import;
mod regions;
mod traced;
mod transform;

pub use compare::compare;
pub use control::{branch, case, scan, shard_map, while_bounded, while_loop};
pub use executable::{Executable, HostResults};
pub use export::ExportOptions;
pub use import::{describe, describe_file, import, import_file};
pub use regions::{reduce_window, reduce_with, scatter, select_and_scatter, sort};
pub use traced::Computation;
pub use transform::{
    Checkpoint, VjpOptions, checkpoint, jvp, lift, value_and_grad, vjp, vmap, with_jvp, with_vjp, with_vmap,
};
