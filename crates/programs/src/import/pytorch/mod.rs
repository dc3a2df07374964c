//! Import of programs of PyTorch: the graph of a `.pt2` archive becomes the body of a computation.
//!
//! | file | contents |
//! |---|---|
//! | `program.rs`, `names.rs` | the import of a program: parameters, captured values and results; their names |
//! | `describe.rs`, `refusals.rs` | what an archive holds, as JSON; operators that are not supported |
//! | `walk.rs`, `regions.rs` | walks graphs and records their operations; graphs as bodies |
//! | `vmap.rs` | regions of `torch.vmap` |
//! | `recorder.rs` | the state of an import |
//! | `tensors.rs` | tensors of a graph with views, through which programs write |
//! | `promotion.rs` | ATen's promotion of dtypes |
//! | `sizes.rs` | symbols of free sizes |
//! | `arguments.rs`, `call.rs` | arguments of operators with their defaults; an operator with its arguments |
//! | `operator.rs`, `operators/` | an entry of the table of operators; the table, in files by subject |

mod arguments;
mod call;
mod describe;
mod errors;
mod names;
mod operator;
mod operators;
mod program;
mod promotion;
mod recorder;
mod refusals;
mod regions;
mod sizes;
mod tensors;
mod vmap;
mod walk;

pub use describe::describe;
pub use names::Names;
pub use program::import;
