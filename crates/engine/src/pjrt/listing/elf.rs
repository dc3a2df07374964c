//! Tells whether a shared library has the function of a plugin, without loading it: folders of plugins have other
//! libraries as well, whose initializers should not run.

use super::readable::readable;
use base::error::Result;
use base::io;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Function that every plugin exports, as it ends in the table of names.
const NAME: &[u8] = b"GetPjrtApi\0";

/// First bytes of a shared library for 64 bits, little-endian.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// Sizes of the structs `Elf64_Ehdr`, `Elf64_Phdr`, `Elf64_Dyn`.
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const ENTRY: usize = 16;
/// Kinds of segments (`p_type`) and of entries of the dynamic section (`d_tag`).
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_STRTAB: u64 = 5;
const DT_STRSZ: u64 = 10;
/// Maximum number of bytes of one read.
const MOST_BYTES: u64 = 64 << 20;

/// Whether the dynamic symbols of a library include the plugin's function. None if the file cannot be read as a library
/// for 64 bits; the loader says why. Fails if the process has no file descriptors left.
pub fn has_plugin(path: &Path) -> Result<Option<bool>> {
    let Some((file, metadata)) = readable(path, io::open_regular(path))? else { return Ok(None) };
    let names = Library { file, size: metadata.len() }.names();
    Ok(names.map(|names| names.windows(NAME.len()).any(|window| window == NAME)))
}

struct Library {
    file: File,
    size: u64,
}

/// A part of the file that is loaded to an address.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

impl Library {
    /// Names of the dynamic symbols, each with a NUL at its end.
    fn names(&self) -> Option<Vec<u8>> {
        let header = self.read(0, HEADER as u64)?;
        if !header.starts_with(MAGIC) || u16_at(&header, 54)? as usize != SEGMENT {
            return None;
        }
        let count = u64::from(u16_at(&header, 56)?);
        let table = self.read(u64_at(&header, 32)?, count * SEGMENT as u64)?;
        let segments: Vec<Segment> = table.chunks_exact(SEGMENT).map(segment).collect::<Option<_>>()?;
        let dynamic = segments.iter().find(|segment| segment.kind == PT_DYNAMIC)?;
        let entries = self.read(dynamic.offset, dynamic.size)?;
        let entry = |tag: u64| {
            let found = entries.chunks_exact(ENTRY).find(|entry| u64_at(entry, 0) == Some(tag))?;
            u64_at(found, 8)
        };
        let (address, size) = (entry(DT_STRTAB)?, entry(DT_STRSZ)?);
        let loaded = |segment: &&Segment| {
            segment.kind == PT_LOAD && address >= segment.address && address - segment.address < segment.size
        };
        let segment = segments.iter().find(loaded)?;
        self.read(segment.offset.checked_add(address - segment.address)?, size)
    }

    /// Reads a part of the file; None if it has no such part.
    fn read(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        if size > MOST_BYTES || offset.checked_add(size)? > self.size {
            return None;
        }
        let mut bytes = vec![0; size as usize];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

fn segment(bytes: &[u8]) -> Option<Segment> {
    let kind = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    Some(Segment { kind, offset: u64_at(bytes, 8)?, address: u64_at(bytes, 16)?, size: u64_at(bytes, 32)? })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_are_told_from_other_libraries() {
        let root = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let plugin = root.join("build/plugins/fastatomstruct_xla_cpu/libpjrt_cpu.so");
        assert_eq!(has_plugin(&plugin).unwrap(), Some(true), "run `make plugin` first");
        assert_eq!(has_plugin(&std::env::current_exe().unwrap()).unwrap(), Some(false));
        assert_eq!(has_plugin(&root.join("Cargo.toml")).unwrap(), None);
        assert_eq!(has_plugin(root).unwrap(), None);
        assert_eq!(has_plugin(&root.join("missing.so")).unwrap(), None);
    }

    #[test]
    fn damaged_libraries_are_no_libraries() {
        let mut page = vec![0; 4096];
        File::open(std::env::current_exe().unwrap()).unwrap().read_exact_at(&mut page, 0).unwrap();
        let path = std::env::temp_dir().join(format!("lxla_elf_{}", std::process::id()));
        let after = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = page.clone();
            change(&mut bytes);
            std::fs::write(&path, bytes).unwrap();
            has_plugin(&path).unwrap()
        };
        assert_eq!(after(&|bytes| bytes.truncate(0)), None);
        assert_eq!(after(&|bytes| bytes.truncate(63)), None);
        assert_eq!(after(&|bytes| bytes[4] = 1), None);
        // The table of segments is beyond the end, or overflows.
        assert_eq!(after(&|bytes| bytes[32..40].fill(0xff)), None);
        assert_eq!(after(&|bytes| bytes[56..58].fill(0xff)), None);
        // Every other number of the first page.
        for at in 0..256 {
            after(&|bytes| bytes[at * 8..at * 8 + 8].fill(0xff));
        }
        std::fs::remove_file(&path).unwrap();
    }
}
