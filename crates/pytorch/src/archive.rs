//! The entries of a zip file in memory. An entry is a range of the file: only stored entries are read.

use crate::error::{Error, Result, shown};
use rawzip::{CompressionMethod, ZipArchive};
use std::collections::BTreeMap;
use std::ops::Range;

/// An entry: the range of its bytes in the file, and their checksum.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The bytes of the entry in the file.
    pub range: Range<usize>,
    /// The checksum that the archive states.
    pub crc: u32,
    /// Why the entry cannot be read: it is compressed or encrypted.
    refusal: Option<&'static str>,
}

/// The entries of a zip file by name.
pub struct Archive<'f> {
    /// The bytes of the file.
    file: &'f [u8],
    entries: BTreeMap<String, Entry>,
}

impl<'f> Archive<'f> {
    /// Reads the directory of a zip file that occupies a range of a file. No entry is read.
    pub fn read(file: &'f [u8], place: Range<usize>) -> Result<Archive<'f>> {
        let start = place.start;
        let bytes = file.get(place).ok_or_else(|| Error::invalid("it lies outside of its file"))?;
        let archive = ZipArchive::from_slice(bytes).map_err(damaged)?;
        let mut entries = BTreeMap::new();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for record in archive.entries() {
            let record = record.map_err(damaged)?;
            let name = std::str::from_utf8(record.file_path().as_bytes())
                .map_err(|_| Error::invalid("the name of an entry is not UTF-8"))?
                .to_string();
            let found = archive.get_entry(record.wayfinder()).map_err(|e| damaged(e).at(entry_of(&name)))?;
            let (first, end) = found.compressed_data_range();
            let range = usize::try_from(first).ok().zip(usize::try_from(end).ok());
            let range = range.filter(|(first, end)| first <= end && *end <= bytes.len());
            let (first, end) =
                range.ok_or_else(|| Error::invalid("it lies outside of the file").at(entry_of(&name)))?;
            let refusal = if record.flags().is_encrypted() || record.flags().has_strong_encryption() {
                Some("it is encrypted")
            } else if record.compression_method() != CompressionMethod::STORE {
                Some("it is compressed; torch.export.save stores all entries")
            } else if record.uncompressed_size_hint() != (end - first) as u64 {
                Some("it is stored, but states two different sizes")
            } else {
                None
            };
            if first < end {
                ranges.push(first..end);
            }
            let entry = Entry { range: start + first..start + end, crc: record.crc32(), refusal };
            if entries.insert(name.clone(), entry).is_some() {
                return Err(Error::invalid("two entries have this name").at(entry_of(&name)));
            }
        }
        // Overlapping entries are how small archives become large.
        ranges.sort_by_key(|range| range.start);
        if ranges.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return Err(Error::invalid("entries of the archive overlap"));
        }
        Ok(Archive { file, entries })
    }

    /// Names of all entries.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Whether there is an entry of a name.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Returns an entry, whose bytes are not read.
    pub fn entry(&self, name: &str) -> Result<&Entry> {
        let entry = self.entries.get(name).ok_or_else(|| Error::invalid("the archive lacks it").at(entry_of(name)))?;
        match entry.refusal {
            None => Ok(entry),
            Some(refusal) => Err(Error::invalid(refusal).at(entry_of(name))),
        }
    }

    /// Returns the bytes of an entry, and checks that they are undamaged.
    pub fn bytes(&self, name: &str) -> Result<&'f [u8]> {
        let entry = self.entry(name)?;
        let bytes = &self.file[entry.range.clone()];
        match crc32fast::hash(bytes) == entry.crc {
            true => Ok(bytes),
            false => Err(Error::invalid("it is damaged: its checksum differs").at(entry_of(name))),
        }
    }

    /// The bytes of the file.
    pub fn file(&self) -> &'f [u8] {
        self.file
    }
}

/// An entry as messages name it.
pub fn entry_of(name: &str) -> String {
    format!("entry {}", shown(name))
}

fn damaged(e: rawzip::Error) -> Error {
    Error::invalid(format!("the zip file is damaged: {e}"))
}

/// Checks that numbers are little-endian.
pub fn check_order(archive: &Archive, entry: &str) -> Result<()> {
    if !archive.has(entry) {
        return Ok(());
    }
    match archive.bytes(entry)? {
        b"little" => Ok(()),
        other => {
            let order = shown(&String::from_utf8_lossy(other));
            Err(Error::unsupported(format!("{} is {order}; want little", entry_of(entry))))
        }
    }
}
