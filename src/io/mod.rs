//! Files: tensors in the safetensors format.

mod safetensors;

pub use safetensors::{Entry, METADATA_NAME, check_type, names, read, write};
