//! Import and export of arrays: files in the safetensors format, and DLPack. Also atomic file replacement, which the
//! disk cache uses, too.

mod access;
mod atomic_file;
mod atomic_folder;
pub mod dlpack;
mod header;
mod nibbles;
mod npy;
mod safetensors;
mod temporary;
mod whole;

pub use access::user;
pub use atomic_file::{open_regular, replace_durably, replace_privately};
pub use atomic_folder::{replace_folder, write_durably};
pub use header::{About, METADATA_NAME};
pub use npy::open_npy;
pub use safetensors::{
    Entry, Metadata, check_metadata, check_type, io_error, metadata, names, open_tensors, read, write,
};
pub use temporary::remove_abandoned;
pub use whole::{check_text, read_json, read_stated};
