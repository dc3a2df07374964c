//! Host memory: what several share and nobody changes, and what is asked for without being sure to get it.

use crate::error;
use crate::error::Result;

/// Bytes that stay where they are and as they are for as long as this lives: a native array's, a buffer's of a device that
/// computes in host memory, or another library's.
///
/// # Safety
/// `bytes` gives the same, initialised and unchanging bytes every time, until the value is dropped.
pub unsafe trait SharedBytes: Send + Sync {
    /// The bytes.
    fn bytes(&self) -> &[u8];
}

/// So many bytes, zeroed; RESOURCE_EXHAUSTED if they are not to be had. For sizes that a file or a caller chooses.
pub fn zeroed_bytes(size: usize) -> Result<Vec<u8>> {
    // A system that promises memory without limit ends the process once it is used.
    let promised = size as u64 <= memory_of_machine();
    let bytes = if promised { bytemuck::allocation::try_zeroed_vec(size).ok() } else { None };
    bytes.ok_or_else(|| error!(ResourceExhausted, "{size} bytes of the host's memory cannot be had"))
}

/// Bytes of memory and swap, whoever uses them; without limit if the system does not say.
fn memory_of_machine() -> u64 {
    let info = rustix::system::sysinfo();
    match u64::from(info.mem_unit).saturating_mul(info.totalram.saturating_add(info.totalswap)) {
        0 => u64::MAX,
        bytes => bytes,
    }
}
