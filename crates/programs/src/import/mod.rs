//! Import of programs: a function of a module of StableHLO becomes the body of a computation, which consists of the
//! library's own operations.
//!
//! `file` recognizes and reads the bytes, `program` imports a function, `importer` walks functions and regions,
//! `operations` has the table of operations with a function for each in the files beside it, `regions` makes bodies of
//! regions, `weights` reads the weights of folders, `sizes` evaluates shape computations, `tuples` takes tuples apart, `describe` says what a program holds
//! before it is imported. `pytorch` imports PyTorch's programs.

mod attributes;
mod describe;
mod file;
mod folder;
mod functions;
mod importer;
pub mod manifest;
mod mesh;
mod operations;
mod program;
pub mod pytorch;
mod regions;
mod sizes;
mod tuples;
mod types;
mod weights;

pub use describe::describe;
pub use file::{Memory, Program, START_BYTES, check_start, is_pytorch, is_text, read};
pub use folder::read_folder;
pub use program::{Wanted, import};
