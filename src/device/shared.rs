//! What the devices of one environment have in common.

use super::options::Options;
use crate::cache::{DiskCache, ProgramCache};
use crate::engine::{Engine, Executable};
use crate::lower::Pack;
use crate::metrics::Metrics;
use std::sync::Arc;

/// Alive as long as the environment or one of its tensors is.
pub struct Shared {
    /// Tells environments apart.
    pub number: u64,
    /// What runs programs.
    pub engine: Arc<dyn Engine>,
    /// What may be changed.
    pub options: Options,
    /// What was compiled.
    pub programs: ProgramCache<Compiled>,
    /// What was compiled by this and other processes, if that is asked for.
    pub disk: Option<DiskCache>,
    /// What was counted.
    pub metrics: Metrics,
}

/// A compiled program.
pub struct Compiled {
    /// The engine's.
    pub executable: Arc<dyn Executable>,
    /// The scalars that each run hands over.
    pub packs: Vec<Pack>,
}
