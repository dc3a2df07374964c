//! What operations refer to, collected for a version of StableHLO.

use super::pool::Pool;
use crate::Version;

/// Collects what operations refer to.
pub struct Entries {
    /// Version of StableHLO for whose readers it is.
    pub target: Version,
    /// The newest version that was needed, and by what, if it is newer than `target`.
    pub needed: Option<(Version, String)>,
    /// What operations refer to.
    pub pool: Pool,
}

impl Entries {
    /// Creates a collection without entries.
    pub fn new(target: Version) -> Entries {
        Entries { target, needed: None, pool: Pool::default() }
    }

    /// Remembers that something needs a version.
    pub fn need(&mut self, version: Version, what: impl FnOnce() -> String) {
        let known = self.needed.as_ref().map_or(self.target, |(known, _)| *known);
        if version > Version(known.0, known.1, 0) {
            self.needed = Some((version, what()));
        }
    }
}
