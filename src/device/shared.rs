//! What the devices of one environment have in common.

use super::options::Options;
use crate::cache::{DiskCache, ProgramCache};
use crate::emit::Pack;
use crate::engine::{Engine, Executable, ProgramMemory};
use crate::metrics::Metrics;
use std::sync::{Arc, OnceLock};

/// Alive as long as the environment or one of its tensors is.
pub struct Shared {
    /// Tells environments apart.
    pub number: u64,
    /// What may be changed.
    pub options: Options,
    /// What was counted.
    pub metrics: Metrics,
    /// What its XLA devices run on; nothing until the first of them is used.
    pub runtime: OnceLock<Runtime>,
}

/// What runs programs, and what was compiled.
pub struct Runtime {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// What was compiled.
    pub programs: ProgramCache<Compiled>,
    /// What was compiled by this and other processes, if that is asked for.
    pub disk: Option<DiskCache>,
}

impl Shared {
    /// What runs programs: it is there when there are XLA devices to ask for.
    pub fn runtime(&self) -> &Runtime {
        self.runtime.get().expect("XLA devices are opened when the engine runs")
    }
}

/// A compiled program.
pub struct Compiled {
    /// The engine's.
    pub executable: Arc<dyn Executable>,
    /// The scalars that each run hands over.
    pub packs: Vec<Pack>,
    /// What it takes of its device's memory; nothing, where the runtime cannot say.
    pub memory: ProgramMemory,
    /// How deep computations call each other in it.
    pub depth: usize,
}
