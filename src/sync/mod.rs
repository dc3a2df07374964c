//! Synchronization of pending work. A step owns all live tensors of a device, so that it can prove that a buffer has no
//! later reader, and donates it. A partial sync leaves other work pending, and never donates. A step of a list leaves
//! other work pending, too, and donates what that does not need. [`mark_step`], [`step_tensors`] and [`sync`] are
//! separate entry points that share the same stages: collect, plan (with the donors), start, run, commit.

pub mod alone;
mod arrays;
mod collect;
mod compile;
mod culprits;
mod dot;
mod exhausted;
mod inspect;
mod key;
mod live;
mod nonfinite;
mod on_ready;
mod padded;
mod partial;
mod plan;
mod run;
mod save;
mod saver;
mod sharded;
mod step;
mod transaction;
mod transfer;

pub use dot::graph_dot;
pub use inspect::{find_nonfinite, graph_hash, memory, stablehlo, step_hash, step_memory, step_stablehlo};
pub use live::live_tensors;
pub use on_ready::on_ready;
pub use partial::sync;
pub use save::{load, save, save_async};
pub use saver::Ticket;
pub use sharded::{Piece, from_host_sharded, piece, shard, sharding_of};
pub use step::{mark_step, step_tensors, wait, wait_for};
pub use transfer::{
    Materialized, check_pred, check_size, from_array, from_host, materialize, read, ready_by, to_array, to_device,
    value_on, write,
};
