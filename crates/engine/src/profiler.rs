//! Profiles: what a runtime and its devices did, as the runtime recorded it.

use base::error::Result;

/// Starts profiles of a runtime.
pub trait Profiler: Send + Sync {
    /// Starts a profile of all devices of the runtime in this process. ALREADY_EXISTS if there is one.
    fn start(&self) -> Result<Box<dyn Profile>>;
}

/// A profile that is being recorded. If it is dropped before its end, what was recorded is discarded.
pub trait Profile: Send {
    /// Ends the profile, and collects what was recorded. Called once.
    fn end(&mut self) -> Result<()>;

    /// Returns the recorded `XSpace` as a protocol buffer, after [`Profile::end`]. Empty if nothing was recorded.
    fn space(&self) -> &[u8];
}
