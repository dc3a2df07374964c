//! Helpers of the ABI functions: guard, argument conversion, options structs, reference-counted handles.

pub mod arguments;
pub mod guard;
pub mod key_value;
pub mod options;
pub mod references;
pub mod results;
