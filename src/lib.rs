//! lazyxla: lazy tensors on XLA, behind a C ABI.
//!
//! The layers, from the top down. A module uses only modules of the layers below its own; `tests/layers.rs` checks it.
//! `docs/architecture.md` follows a tensor, a step and a gradient through them.
//!
//! | layer | contents |
//! |---|---|
//! | [`capi`] | the only `extern "C"` functions: guard, convert arguments, call |
//! | [`env`](mod@env) | environments and their scopes |
//! | [`computation`] | traced computations: calls, loops, branches, scans, derivatives, batching |
//! | [`tensor`] | recording of any operation on tensors by their handles; values and metadata of tensors |
//! | [`sync`] | step and partial sync, transfers, reads, saves |
//! | [`device`] | tensors and trace of one device under one lock; handles and reference counts |
//! | [`device_data`] | the owned slot of one buffer, with a typed state and the sync that computed it |
//! | [`transform`] | derivatives and batching of programs, by the rules of the operations |
//! | [`lower`], [`interpret`] | lowering of a program to StableHLO; evaluation of a program on host arrays |
//! | [`ops`] | operations by subject: inference, StableHLO, evaluation, rules for derivatives and batching; the table |
//! | [`emit`], [`native`] | writing of StableHLO text; host arrays and their kernels |
//! | [`ir`] | operation codes, the trace, programs |
//! | [`cache`] | compiled programs in memory and on disk |
//! | [`engine`] | the trait of an engine that compiles and runs programs, and its implementation on PJRT plugins |
//! | [`io`] | files, and arrays of other libraries |
//! | [`types`], [`metrics`], [`later`], [`allocation`], [`stack`] | dtypes and shapes; counters; deferred drops; fallible allocation; deep stacks |
//! | [`log`], [`error`](mod@error) | the log callback; the error type |

pub mod allocation;
pub mod cache;
pub mod capi;
pub mod computation;
pub mod device;
pub mod device_data;
pub mod emit;
pub mod engine;
pub mod env;
pub mod error;
pub mod interpret;
pub mod io;
pub mod ir;
pub mod later;
pub mod log;
pub mod lower;
pub mod metrics;
pub mod native;
pub mod ops;
pub mod stack;
pub mod sync;
pub mod tensor;
pub mod transform;
pub mod types;
