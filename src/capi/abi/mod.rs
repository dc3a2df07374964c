//! Helpers of the ABI functions: the guard around each of them, conversion of arguments, option structs, counted handles.

pub mod arguments;
pub mod guard;
pub mod options;
pub mod references;
pub mod results;
