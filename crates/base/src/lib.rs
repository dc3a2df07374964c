//! Foundation of all crates of the library: dtypes, errors, files, logging. It knows no operations, programs or
//! devices.
//!
//! | module | contents |
//! |---|---|
//! | [`io`] | files, and arrays of other libraries |
//! | [`types`], [`metrics`], [`allocation`], [`protobuf`], [`stack`], [`variables`] | dtypes and shapes; counters; fallible allocation; the wire format of protocol buffers; deep stacks; environment variables |
//! | [`log`], [`call`], [`label`], [`threads`], [`error`](mod@error), [`heap`] | the log callback; the ABI call of a thread; labels of what is recorded; limits of threads; the error type; the allocator |
//!
//! It uses no other crate of the library. A module uses only modules of rows below its own.

pub mod allocation;
pub mod call;
pub mod error;
pub mod heap;
pub mod io;
pub mod label;
pub mod log;
pub mod metrics;
pub mod protobuf;
pub mod stack;
pub mod threads;
pub mod types;
pub mod variables;
