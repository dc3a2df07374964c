//! Memory of programs that are imported: mapped files, and bytes of the caller, which are read where they are.

use super::pointers::Bytes;
use base::error;
use base::error::{Result, quoted};
use base::io::{check_text, io_error, open_regular, read_stated};
use memmap2::Mmap;
#[cfg(target_os = "linux")]
use memmap2::{Advice, MmapOptions};
use programs::import::{Memory, START_BYTES, check_start, is_text};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Number of bytes from which on a file is mapped. The constants of a mapped file are copied once, where reading would
/// copy them to a buffer first.
const MAPPED_FROM: usize = 1 << 20;

/// Returns the bytes of the file of a program. The header documents that nobody changes the file during the call. No
/// more is read than the size that the file states, and no more than its start if that is not of a program.
pub fn program_file(path: &Path) -> Result<Memory> {
    let failed = |e: std::io::Error| io_error(path, &e);
    let (mut file, metadata) = open_regular(path).map_err(failed)?;
    let mut start = Vec::new();
    (&file).take(START_BYTES).read_to_end(&mut start).map_err(failed)?;
    file.rewind().map_err(failed)?;
    check_start(&start, metadata.len())
        .map_err(|e| e.context(format_args!("path: {}", quoted(&path.to_string_lossy()))))?;
    // Text is read, because no byte of what was found to be UTF-8 may change.
    let is_text = is_text(&start);
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    if size >= MAPPED_FROM
        && !is_text
        && let Some(map) = mapped(&file, size)
    {
        return Ok(Arc::new(map));
    }
    let check = |piece: &[u8]| if is_text { check_text(piece) } else { Ok(()) };
    Ok(Arc::new(read_stated(path, &mut file, metadata.len(), check)?))
}

/// Maps a file, and reads all of its pages: a page that cannot be read later ends the process (SIGBUS). None if the
/// file system has no maps, a page cannot be read, or the kernel does not say (Linux before 5.14).
#[cfg(target_os = "linux")]
fn mapped(file: &File, size: usize) -> Option<Mmap> {
    // SAFETY: the caller of the C function promises that the file keeps its size and its bytes until the function
    // returns, and no program outlives the call that reads it.
    let map = unsafe { MmapOptions::new().len(size).map(file) }.ok()?;
    map.advise(Advice::PopulateRead).ok()?;
    Some(map)
}

/// Elsewhere, nothing says whether all pages can be read.
#[cfg(not(target_os = "linux"))]
fn mapped(_: &File, _: usize) -> Option<Mmap> {
    None
}

/// Calls `work` with bytes of the caller, of which it keeps nothing.
pub fn with_bytes<T>(module: Bytes, size: usize, work: impl FnOnce(Memory) -> Result<T>) -> Result<T> {
    lend(module.get("module", size)?, work)
}

/// Lends bytes for a call of `work`: whoever holds them afterwards, also if it panics, finds none.
fn lend<T>(bytes: &[u8], work: impl FnOnce(Memory) -> Result<T>) -> Result<T> {
    let lent = Arc::new(Lent(AtomicPtr::new(bytes.as_ptr().cast_mut()), AtomicUsize::new(bytes.len())));
    let revoked = Revoked(lent.clone());
    let made = work(lent.clone());
    drop(revoked);
    match Arc::strong_count(&lent) {
        1 => made,
        _ => Err(error!(Internal, "a program holds bytes of the caller after its import")),
    }
}

/// Bytes of the caller: their begin and their number, 0 once they are revoked.
struct Lent(AtomicPtr<u8>, AtomicUsize);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the caller promises that the bytes are valid until the call returns. After that there are none:
        // `lend` has revoked them. A slice from before does not outlive the import, which borrows it from the memory
        // that it is given, and starts no thread that outlives it.
        unsafe { slice::from_raw_parts(self.0.load(Ordering::Acquire), self.1.load(Ordering::Acquire)) }
    }
}

/// Revokes bytes when it is dropped.
struct Revoked(Arc<Lent>);

impl Drop for Revoked {
    fn drop(&mut self) {
        let Lent(_, size) = &*self.0;
        size.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn files_of_any_size_are_read_whole() {
        let path = std::env::temp_dir().join(format!("lxla_program_file_{}", std::process::id()));
        for size in [0, 5, MAPPED_FROM - 1, MAPPED_FROM, MAPPED_FROM + 4097] {
            // Begins as bytecode.
            let bytes: Vec<u8> = b"ML\xefR".iter().copied().chain((0..=250).cycle()).take(size).collect();
            std::fs::write(&path, &bytes).unwrap();
            let memory = program_file(&path).unwrap();
            assert_eq!((*memory).as_ref(), bytes, "{size} bytes");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(program_file(&path).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn files_whose_pages_cannot_be_read_and_texts_are_not_mapped() {
        let path = std::env::temp_dir().join(format!("lxla_program_pages_{}", std::process::id()));
        std::fs::write(&path, vec![0; MAPPED_FROM]).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(mapped(&file, MAPPED_FROM).unwrap()[..], vec![0; MAPPED_FROM]);
        // Truncated after its size was asked for: a read of the second page would end the process.
        File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
        assert!(mapped(&file, MAPPED_FROM).is_none());
        // Bytes of a text that was read stay, where those of a map change with the file.
        let text = vec![b' '; MAPPED_FROM];
        std::fs::write(&path, &text).unwrap();
        let memory = program_file(&path).unwrap();
        std::fs::write(&path, vec![b'x'; MAPPED_FROM]).unwrap();
        assert_eq!((*memory).as_ref(), text);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn bytes_of_the_caller_are_gone_after_the_call() {
        let given = [1, 2, 3];
        assert_eq!(lend(&given, |memory| Ok((*memory).as_ref().to_vec())).unwrap(), given);
        let mut kept: Option<Memory> = None;
        let e = lend(&given, |memory| {
            assert_eq!((*memory).as_ref(), given);
            kept = Some(memory);
            Ok(())
        });
        assert!(e.unwrap_err().message.contains("holds bytes of the caller"));
        assert!((*kept.take().unwrap()).as_ref().is_empty());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            lend(&given, |memory| -> Result<()> {
                kept = Some(memory);
                panic!("in an import")
            })
        }));
        assert!(panicked.is_err() && (*kept.unwrap()).as_ref().is_empty());
    }
}
