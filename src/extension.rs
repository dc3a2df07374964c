//! Interface for engines in other crates: the traits that an engine implements, [`register`], and help with the process
//! that it shares with the library. `crates/xla-rs` is such an engine. Unlike the C ABI, this interface changes with
//! the library.

pub use crate::allocation::zeroed_bytes;
pub use crate::engine::{
    Buffer, Engine, EngineKind, EngineOptions, Executable, Execution, HostCopy, KeyValueStore, Memory,
    MemoryStatistics, OptionValue, Partitions, PluginOptions, Processes, Profile, Profiler, ProgramMemory,
    ShardedBuffer, Signature, Start, register,
};
pub use crate::error::{Code, Error, Result};
pub use crate::log::{Level, log};
pub use crate::mesh::{Mesh, MeshAxes, Placement, Sharding};
pub use crate::types::{DType, SharedBytes, TensorType};
pub use crate::variables::text as variable;

/// Process exit. It waits for threads that entered, and runs before static destructors that existed when it was last
/// registered.
pub mod exit {
    pub use crate::engine::exit::{Inside, enter, register_again};
}

/// `XLA_FLAGS`, which XLA reads by itself.
pub mod xla_flags {
    pub use crate::engine::settings::{check_flags as check, flags as content, text};
}
