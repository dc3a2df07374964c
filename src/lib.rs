//! lazyxla: lazy tensors on XLA, behind a C ABI.
//!
//! The layers, from the top down. A module uses only modules of the layers below its own; `tests/layers.rs` checks it.
//! `docs/architecture.md` follows a tensor, a step and a gradient through them. [`capi`] is the interface; engines in
//! crates of their own use [`extension`], and the tests in `tests/` reach the layers below through `testing`.
//!
//! | layer | contents |
//! |---|---|
//! | [`capi`], [`extension`] | the only `extern "C"` functions: guard, convert arguments, call; exports for engines of other crates |
//! | [`report`] | the report of an environment as a page |
//! | [`env`](mod@env) | environments and their scopes |
//! | [`computation`] | traced computations: calls, loops, branches, scans, derivatives, batching |
//! | [`tensor`] | recording of any operation on tensors by their handles; values and metadata of tensors |
//! | [`sync`] | step and partial sync, transfers, reads, saves |
//! | [`device`] | tensors and trace of one device under one lock; handles and reference counts |
//! | [`device_data`] | the owned slot of one buffer, with a typed state and the sync that computed it |
//! | [`export`] | programs for others: StableHLO text, folders with captured values, files of `jax.export` |
//! | [`import`] | programs of others: functions of a module recorded as operations |
//! | [`transform`] | derivatives and batching of programs, by the rules of the operations |
//! | [`lower`], [`interpret`] | lowering of a program to StableHLO; evaluation of a program on host arrays |
//! | [`ops`] | operations by subject: inference, StableHLO, evaluation, rules for derivatives and batching; the table |
//! | [`emit`], [`native`] | writing of StableHLO text; host arrays and their kernels |
//! | [`ir`] | operation codes, the trace, programs |
//! | [`cache`] | compiled programs in memory and on disk |
//! | [`engine`] | the trait of an engine that compiles and runs programs, and its implementations |
//! | [`timeline`] | what threads and devices did when: traces, and the last events for reports |
//! | [`io`] | files, and arrays of other libraries |
//! | [`mesh`], [`mlir`] | meshes of devices, shardings, pieces of arrays; modules of MLIR, their readers and writers |
//! | [`types`], [`metrics`], [`allocation`], [`protobuf`], [`stack`], [`variables`] | dtypes and shapes; counters; fallible allocation; the wire format of protocol buffers; deep stacks; environment variables |
//! | [`log`], [`call`], [`label`], [`error`](mod@error), [`heap`] | the log callback; the ABI call of a thread; labels of what is recorded; the error type; the allocator |

// The documentation is built with private items: `make check`.
#![allow(rustdoc::private_intra_doc_links)]

mod allocation;
mod cache;
mod call;
pub mod capi;
mod computation;
mod device;
mod device_data;
mod emit;
mod engine;
mod env;
mod error;
mod export;
pub mod extension;
mod heap;
mod import;
mod interpret;
mod io;
mod ir;
mod label;
mod log;
mod lower;
mod mesh;
mod metrics;
mod mlir;
mod native;
mod ops;
mod protobuf;
mod report;
mod stack;
mod sync;
mod tensor;
#[doc(hidden)]
pub mod testing;
mod timeline;
mod transform;
mod types;
mod variables;
