//! Memory of programs that are imported: mapped files, and bytes of the caller, which are read where they are.

use super::pointers::Bytes;
use crate::error;
use crate::error::{Result, quoted};
use crate::import::Memory;
use crate::io::{io_error, open_regular};
use memmap2::MmapOptions;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Number of bytes from which on a file is mapped. The constants of a mapped file are copied once, where reading would
/// copy them to a buffer first.
const MAPPED_FROM: usize = 1 << 20;

/// Returns the bytes of the file of a program. The header documents that nobody changes the file during the call.
pub fn program_file(path: &Path) -> Result<Memory> {
    let (mut file, metadata) = open_regular(path).map_err(|e| io_error(path, &e))?;
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    if size >= MAPPED_FROM {
        // SAFETY: the caller of the C function promises that the file keeps its size and its bytes until the function
        // returns, and no program outlives the call that reads it.
        if let Ok(map) = unsafe { MmapOptions::new().len(size).populate().map(&file) } {
            return Ok(Arc::new(map));
        }
        // Some file systems have no maps.
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| {
        error!(ResourceExhausted, "path: no memory for the {size} bytes of {}", quoted(&path.to_string_lossy()))
    })?;
    file.read_to_end(&mut bytes).map_err(|e| io_error(path, &e))?;
    Ok(Arc::new(bytes))
}

/// Calls `work` with bytes of the caller, of which it keeps nothing.
pub fn with_bytes<T>(module: Bytes, size: usize, work: impl FnOnce(Memory) -> Result<T>) -> Result<T> {
    let lent = Arc::new(Lent(module.get("module", size)?));
    let made = work(lent.clone());
    assert_eq!(Arc::strong_count(&lent), 1, "a program holds bytes of the caller after its import");
    made
}

/// Bytes of the caller.
struct Lent(*const [u8]);

// SAFETY: the bytes are only read.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the caller promises that they are valid until the call returns, and `with_bytes` that nothing has
        // them then.
        unsafe { &*self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_any_size_are_read_whole() {
        let path = std::env::temp_dir().join(format!("lxla_program_file_{}", std::process::id()));
        for size in [0, 5, MAPPED_FROM - 1, MAPPED_FROM, MAPPED_FROM + 4097] {
            let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let memory = program_file(&path).unwrap();
            assert_eq!((*memory).as_ref(), bytes, "{size} bytes");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(program_file(&path).is_err());
    }
}
