//! Sync points. A step owns all live tensors, so it can prove that nobody will read a buffer again, and donates; a partial
//! sync leaves other pending work, and never does. They are two functions, [`mark_step`] and [`sync`], that call the same
//! stages: collect, plan (with the donors), start, run, commit.

mod collect;
mod donors;
mod exhausted;
mod inspect;
mod key;
mod partial;
mod plan;
mod run;
mod save;
mod saver;
mod step;
mod transaction;
mod transfer;

pub use inspect::{graph_hash, memory, stablehlo, step_hash, step_memory, step_stablehlo};
pub use partial::sync;
pub use save::{load, save, save_async};
pub use saver::Ticket;
pub use step::{mark_step, wait};
pub use transfer::{Settled, from_array, from_host, read, settled, to_array, to_device, value_on, write};
