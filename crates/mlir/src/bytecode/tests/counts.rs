//! Counts in damaged files: each place where one is read reserves nothing for elements that cannot be there, and little
//! for those that could be.

use super::memory::most_held;
use super::{read, section, varint};
use base::error::Code;
use std::sync::Arc;

/// The sections of a file of builtin attributes with one module, whose location is attribute 0, an unknown location.
#[derive(Clone)]
struct Parts {
    format: u8,
    sections: [Option<Vec<u8>>; 9],
}

const STRINGS: usize = 0;
const DIALECTS: usize = 1;
const ATTRIBUTES: usize = 2;
const OFFSETS: usize = 3;
const OPERATIONS: usize = 4;
const RESOURCES: usize = 5;
const RESOURCE_OFFSETS: usize = 6;
const PROPERTIES: usize = 8;

impl Parts {
    fn new(format: u8) -> Parts {
        let mut sections = [const { None }; 9];
        sections[STRINGS] = Some(b"\x05\x0F\x11builtin\0module\0".to_vec());
        // The number of names of operations stands from version 4 on; a name says whether it is registered from 5 on.
        sections[DIALECTS] = Some(match format {
            0..=3 => vec![0x03, 0x01, 0x01, 0x03, 0x03],
            4 => vec![0x03, 0x01, 0x03, 0x01, 0x03, 0x03],
            _ => vec![0x03, 0x01, 0x03, 0x01, 0x03, 0x05],
        });
        sections[ATTRIBUTES] = Some(vec![0x1F]);
        // One attribute, no types; a group of dialect 0 with one entry of one byte that has an encoding.
        sections[OFFSETS] = Some(vec![0x03, 0x01, 0x01, 0x03, 0x07]);
        sections[OPERATIONS] = Some(vec![0x05, 0x01, 0x00, 0x01]);
        Parts { format, sections }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut file = b"ML\xEFR".to_vec();
        file.push(self.format << 1 | 1);
        file.extend(b"test\0");
        for (id, content) in self.sections.iter().enumerate() {
            if let Some(content) = content {
                section(&mut file, id as u8, content);
            }
        }
        file
    }

    /// Replaces attribute 0 by these bytes.
    fn with_attribute(mut self, bytes: &[u8]) -> Parts {
        let mut offsets = vec![0x03, 0x01, 0x01, 0x03];
        varint(&mut offsets, (bytes.len() as u64) << 1 | 1);
        (self.sections[ATTRIBUTES], self.sections[OFFSETS]) = (Some(bytes.to_vec()), Some(offsets));
        self
    }
}

/// A place of a count: its name, the section, what stands there before the count, and the version of the format.
const PLACES: [(&str, usize, &[u8], u8); 18] = [
    ("strings", STRINGS, &[], 3),
    ("dialects", DIALECTS, &[], 3),
    ("names of operations in all", DIALECTS, &[0x03, 0x01], 4),
    ("names of operations of a dialect", DIALECTS, &[0x03, 0x01, 0x01], 3),
    ("attributes", OFFSETS, &[], 3),
    ("types", OFFSETS, &[0x03], 3),
    ("attributes of a dialect", OFFSETS, &[0x03, 0x01, 0x01], 3),
    ("resources of the file", RESOURCE_OFFSETS, &[], 3),
    ("resources of a group", RESOURCE_OFFSETS, &[0x03, 0x01], 3),
    ("resources of a dialect", RESOURCE_OFFSETS, &[0x01, 0x01], 3),
    ("properties", PROPERTIES, &[], 6),
    ("results of an operation", OPERATIONS, &[0x05, 0x01, 0x02, 0x01], 3),
    ("operands of an operation", OPERATIONS, &[0x05, 0x01, 0x04, 0x01], 3),
    // One operation with regions: their number is shifted by one bit.
    ("regions of an operation", OPERATIONS, &[0x05, 0x01, 0x10, 0x01], 3),
    ("blocks of a region", OPERATIONS, &[0x05, 0x01, 0x10, 0x01, 0x05], 3),
    ("values of a region", OPERATIONS, &[0x05, 0x01, 0x10, 0x01, 0x05, 0x03], 3),
    ("operations of a block", OPERATIONS, &[0x05, 0x01, 0x10, 0x01, 0x05, 0x03, 0x01], 3),
    // A block with one operation and arguments.
    ("arguments of a block", OPERATIONS, &[0x05, 0x01, 0x10, 0x01, 0x05, 0x03, 0x01, 0x07], 3),
];

/// Encodings of attributes up to the count of a list in them: an array, a dictionary, a fused location.
const LISTS: [(&str, &[u8]); 3] = [("an array", &[0x01]), ("a dictionary", &[0x03]), ("a fused location", &[0x19])];

/// The files of all places, each with this count, behind which `more` bytes of 1 stand.
fn files(count: u64, more: usize) -> Vec<(&'static str, Vec<u8>)> {
    let content = |before: &[u8], count: u64| {
        let mut content = before.to_vec();
        varint(&mut content, count);
        content.resize(content.len() + more, 0x01);
        content
    };
    let mut files = Vec::new();
    for (name, id, before, format) in PLACES {
        let mut parts = Parts::new(format);
        let is_flagged = ["regions of an operation", "operations of a block"].contains(&name);
        parts.sections[id] = Some(content(before, if is_flagged { count << 1 } else { count }));
        if id == RESOURCE_OFFSETS {
            parts.sections[RESOURCES] = Some(Vec::new());
        }
        files.push((name, parts.bytes()));
    }
    files.extend(LISTS.map(|(name, before)| (name, Parts::new(3).with_attribute(&content(before, count)).bytes())));
    files
}

#[test]
fn the_files_without_damage_are_read() {
    for format in [3, 4, 6] {
        read(Arc::new(Parts::new(format).bytes())).unwrap_or_else(|e| panic!("version {format}: {e}"));
    }
}

/// Reads a file; returns its refusal, if it is one, and the most memory that was held beside the file.
fn refusal(file: Vec<u8>) -> (Option<(Code, String)>, usize) {
    let file = Arc::new(file);
    most_held(|| read(file).err().map(|e| (e.code, e.message.to_string())))
}

#[test]
fn counts_beyond_the_remaining_bytes_reserve_nothing() {
    for count in [1000, 1 << 20, 1 << 40, u64::MAX / 2] {
        for (name, file) in files(count, 100) {
            let (refused, bytes) = refusal(file);
            let (code, message) = refused.unwrap_or_else(|| panic!("{name}: {count} is read"));
            assert_eq!(code, Code::InvalidArgument, "{name}: {message}");
            let reason = format!("{count} elements were expected in ");
            assert!(message.contains("byte ") && message.contains(&reason), "{name}: {message}");
            assert!(bytes < 20_000, "{name}: {bytes} bytes for {count} elements");
        }
    }
}

#[test]
fn counts_of_as_many_elements_as_there_are_bytes_reserve_a_multiple_of_the_file() {
    let length = 1 << 18;
    for (name, file) in files(length as u64, length) {
        let size = file.len();
        let (refused, bytes) = refusal(file);
        if let Some((code, message)) = refused {
            assert_ne!(code, Code::Internal, "{name}: {message}");
        }
        assert!(bytes < 100 * size, "{name}: {bytes} bytes for a file of {size}");
    }
}
