//! Executables: computations that are compiled once for a device, with their captured values there, and run any number
//! of times, also by several threads at once. On cpu, a run evaluates the program.

mod compile;
mod describe;
mod file;
mod run;
mod stored;

pub use compile::Executable;
pub use run::HostResults;
