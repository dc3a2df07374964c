//! The boundary to C: types of the header, of pointers and of outputs, guard, conversion of arguments, options structs,
//! counted handles, callbacks. The only `unsafe` code of [`crate::capi`], and the only place that reads or writes what
//! a pointer of the caller points to.
//!
//! # Safety
//! Every C caller promises, for each argument and each field of a struct that has a type of [`pointers`]: a pointer
//! that is not NULL is valid until the call returns, for as many elements as the header documents as its length (a
//! string: up to its NUL; a struct with `struct_size`: as many bytes; else one element): for reads, or for writes if it
//! is named `out_*` or `dst`. No other thread writes to memory that a call reads. Outputs may share memory with each
//! other and with inputs: inputs are converted before outputs are written, and outputs are raw pointers. Where a
//! function takes callbacks, or keeps memory beyond the call, its documentation says what the caller promises further.
//!
//! None of this can be checked. NULL, alignment and sizes beyond the address space are.
//!
//! A chapter passes each list to its conversion together with the length that the header documents: this is what keeps
//! the chapters, which are safe code, sound.

pub mod arguments;
pub mod borrowed;
pub mod callbacks;
pub mod dlpack;
pub mod guard;
pub mod kernel;
pub mod key_value;
pub mod log;
pub mod options;
pub mod pointers;
pub mod program;
pub mod references;
pub mod results;
pub mod types;
