//! lazyxla: lazy tensors on XLA, behind a C ABI.
//!
//! This crate is the C ABI and the lazy runtime: what happens between the recording of an operation and the run of a
//! compiled program. The crates below it are in `crates/`: `programs`, `lowering`, `ops`, `native`, `ir`, `engine`,
//! `timeline`, `mlir`, `mesh` and `base`; the first page of each says what it is for and what it may use.
//! `docs/architecture.md` follows a tensor, a step and a gradient through them. [`capi`] is the interface; the other
//! modules are public for the tests in `tests/` and for crates that add an engine, and change with the library.
//!
//! The layers of this crate, from the top down. A module uses only modules of the layers below its own;
//! `tests/layers.rs` checks it.
//!
//! | layer | contents |
//! |---|---|
//! | [`capi`] | the only `extern "C"` functions: guard, convert arguments, call |
//! | [`report`] | the report of an environment as a page |
//! | [`env`](mod@env) | environments and their scopes |
//! | [`computation`] | traced computations: calls, loops, branches, scans, derivatives, batching |
//! | [`tensor`] | recording of any operation on tensors by their handles; values and metadata of tensors |
//! | [`sync`] | step and partial sync, transfers, reads, saves |
//! | [`device`] | tensors and trace of one device under one lock; handles and reference counts |
//! | [`device_data`] | the owned slot of one buffer, with a typed state and the sync that computed it |
//! | [`cache`] | compiled programs in memory and on disk |

#[global_allocator]
static HEAP: base::heap::Heap = base::heap::Heap;

pub mod cache;
pub mod capi;
pub mod computation;
pub mod device;
pub mod device_data;
pub mod env;
pub mod report;
pub mod sync;
pub mod tensor;
