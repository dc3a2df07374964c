//! State shared by the devices of one environment.

use super::Place;
use super::compiles::{CompileLog, CompileRecord};
use super::memory_callback::MemoryCallback;
use super::options::Options;
use super::ran::{RanLog, Usage};
use crate::cache::{DiskCache, Kinds, ProgramCache};
use base::error::Result;
use base::metrics::Metrics;
use engine::{Engine, Executable, ProgramMemory};
use ops::emit::PackedScalars;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use timeline::Timeline;

/// Alive as long as the environment or one of its tensors is.
pub struct Shared {
    /// Number of the environment.
    pub number: u64,
    /// Options that can be changed.
    pub options: Options,
    /// What frees memory when a device lacks it.
    pub memory_callback: MemoryCallback,
    /// Counters of the environment.
    pub metrics: Metrics,
    /// The compiles and their causes.
    pub compiles: CompileLog,
    /// For each device and label, the most bytes that live tensors had at the end of a sync while the timeline was on.
    pub peaks: Mutex<Peaks>,
    /// The steps and syncs that ran, by the programs that they ran.
    pub ran: RanLog,
    /// Engine and program caches of the XLA devices. Unset until the first of them is used.
    pub runtime: OnceLock<Runtime>,
}

/// The most bytes of live tensors, of one period of the timeline.
#[derive(Default)]
pub struct Peaks {
    /// Number of the period.
    period: u64,
    bytes: BTreeMap<(Place, String), u64>,
}

impl Peaks {
    /// The bytes for each device and label. Those of an earlier period are forgotten.
    pub fn of(&mut self, period: u64) -> &mut BTreeMap<(Place, String), u64> {
        if self.period != period {
            self.bytes.clear();
            self.period = period;
        }
        &mut self.bytes
    }
}

/// Engine and program caches.
pub struct Runtime {
    /// Engine that runs programs.
    pub engine: Arc<dyn Engine>,
    /// Compiled programs in memory.
    pub programs: ProgramCache<Compiled>,
    /// Kinds of programs that differ in sizes only, and their programs for bounds.
    pub kinds: Kinds,
    /// Disk cache shared with other processes, if enabled.
    pub disk: Option<DiskCache>,
}

impl Shared {
    /// When the environment did what.
    #[inline]
    pub fn timeline(&self) -> &Arc<Timeline> {
        self.options.timeline()
    }

    /// Does work that allocates `bytes` of a device's memory; once more if the memory callback has freed some for it.
    pub fn with_memory<R>(&self, bytes: u64, work: impl Fn() -> Result<R>) -> Result<R> {
        match work() {
            Err(error) if self.memory_callback.has_freed(&error, bytes) => work(),
            outcome => outcome,
        }
    }

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
    /// The program and its compile.
    pub known: Arc<CompileRecord>,
    /// How often it ran, and for how long.
    pub usage: Usage,
}
