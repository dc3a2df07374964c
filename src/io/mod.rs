//! How arrays leave and enter the process: files in the safetensors format, and DLPack. How a file is written whole or not at
//! all, which the disk cache does, too.

mod access;
mod atomic_file;
pub mod dlpack;
mod header;
mod safetensors;
mod temporary;

pub use access::user;
pub use atomic_file::{open_regular, replace_privately};
pub use safetensors::{Entry, METADATA_NAME, check_type, io_error, names, read, write};
pub use temporary::remove_abandoned;
