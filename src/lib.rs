//! lazyxla: lazy tensors on XLA, behind a C ABI.
//!
//! The house, from the roof down; a floor uses only floors below it. A C call walks down once, a buffer walks back up.
//!
//! | floor | what lives there |
//! |---|---|
//! | [`capi`] | the only `extern "C"` functions: guard, convert, call |
//! | [`env`](mod@env) | environments and their scopes |
//! | [`computation`] | traced computations: calls, loops, branches, scans |
//! | [`tensor`] | recording operations; what tensors are, and other values for them |
//! | [`sync`] | step and partial sync, transfers, reads |
//! | [`device`] | one device's tensors and trace under one lock; handles and their references |
//! | [`lower`], [`interpret`] | a program as StableHLO text; a program run on arrays of the host |
//! | [`ops`] | what each operation is: rule for its shape, StableHLO, evaluation; the table of all of them |
//! | [`emit`], [`native`] | writing StableHLO; arrays of the host and their kernels |
//! | [`ir`] | names and forms of operations, the trace, the program |
//! | [`cache`], [`device_data`] | compiled programs; owned buffers with a typed state |
//! | [`engine`] | what runs programs, over any PJRT plugin |
//! | [`io`] | files, and arrays of other libraries |
//! | [`types`], [`metrics`], [`log`], [`later`], [`allocation`], [`stack`], [`error`](mod@error) | dtypes and shapes; counts; the log; what waits for the end of a call; fallible allocations; deep stacks; the error |

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
pub mod types;
