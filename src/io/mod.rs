//! Files: tensors in the safetensors format.

mod safetensors;

pub use safetensors::{Entry, check_type, names, read, write};
