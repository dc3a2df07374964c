//! State shared by the devices of one environment.

use super::compiles::CompileLog;
use super::options::Options;
use crate::cache::{DiskCache, ProgramCache};
use crate::emit::PackedScalars;
use crate::engine::{Engine, Executable, ProgramMemory};
use crate::metrics::Metrics;
use std::sync::{Arc, OnceLock};

/// Alive as long as the environment or one of its tensors is.
pub struct Shared {
    /// Number of the environment.
    pub number: u64,
    /// Options that can be changed.
    pub options: Options,
    /// Counters of the environment.
    pub metrics: Metrics,
    /// The compiles and their causes.
    pub compiles: CompileLog,
    /// Engine and program caches of the XLA devices. Unset until the first of them is used.
    pub runtime: OnceLock<Runtime>,
}

/// Engine and program caches.
pub struct Runtime {
    /// Engine that runs programs.
    pub engine: Arc<dyn Engine>,
    /// Compiled programs in memory.
    pub programs: ProgramCache<Compiled>,
    /// Disk cache shared with other processes, if enabled.
    pub disk: Option<DiskCache>,
}

impl Shared {
    /// Returns the engine and the program caches. They exist once an XLA device exists.
    pub fn runtime(&self) -> &Runtime {
        self.runtime.get().expect("XLA devices are opened when the engine runs")
    }
}

/// A compiled program.
pub struct Compiled {
    /// Executable of the engine.
    pub executable: Arc<dyn Executable>,
    /// Scalar parameters that each run passes.
    pub packs: Vec<PackedScalars>,
    /// Device memory that the program uses; 0 bytes if the runtime cannot report it.
    pub memory: ProgramMemory,
    /// Nesting depth of the computations that it calls.
    pub depth: usize,
}
