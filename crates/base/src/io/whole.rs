//! Files that are read whole, in memory that their size bounds.

use super::atomic_file::open_regular;
use super::safetensors::{io_error, shown};
use crate::allocation::{probe, zeroed_bytes};
use crate::error;
use crate::error::{Error, Result};
use serde_json::Value;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Size of one read, after which the bytes are checked: a hole of a sparse file ends a read of text early.
const PIECE_BYTES: usize = 1 << 20;

/// Maximum size of a JSON file: 100,000 entries of a manifest have about 11 MB.
const MOST_JSON_BYTES: u64 = 16 << 20;

/// Upper bound on the memory that parsed JSON takes per byte: an object such as `{"":0},` takes a node of a B-tree.
const JSON_MEMORY_PER_BYTE: usize = 128;

/// Reads the `size` bytes that are left of an open file, and checks each piece. Fails if the file has more bytes, or
/// fewer: it changes, or is a file of the system (`/proc`), whose size says nothing and which may have no end.
pub fn read_stated(
    path: &Path,
    file: &mut impl Read,
    size: u64,
    mut check: impl FnMut(&[u8]) -> Result<()>,
) -> Result<Vec<u8>> {
    let named = |e: Error| e.context(format_args!("path: {}", shown(path)));
    let mut bytes = zeroed_bytes(usize::try_from(size).unwrap_or(usize::MAX)).map_err(named)?;
    for piece in bytes.chunks_mut(PIECE_BYTES) {
        file.read_exact(piece).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => {
                named(error!(DataLoss, "it has less than the {size} bytes of its size, which were left to read"))
            }
            _ => io_error(path, &e),
        })?;
        check(piece).map_err(named)?;
    }
    check_end(path, file)?;
    Ok(bytes)
}

/// Fails unless an open file was read to its end.
fn check_end(path: &Path, file: &mut impl Read) -> Result<()> {
    let mut more = Vec::new();
    // Files of the system may refuse to be read by single bytes.
    match file.take(4096).read_to_end(&mut more).map_err(|e| io_error(path, &e))? {
        0 => Ok(()),
        _ => Err(error!(
            InvalidArgument,
            "path: {}: it has more bytes than its size says; want a stored file that nobody writes to",
            shown(path)
        )),
    }
}

/// Returns an error if there is a byte 0, which no text has. Holes of sparse files have these bytes only.
pub fn check_text(piece: &[u8]) -> Result<()> {
    match piece.contains(&0) {
        true => Err(error!(InvalidArgument, "it has bytes 0; want text")),
        false => Ok(()),
    }
}

/// Reads a JSON file.
pub fn read_json(path: &Path) -> Result<Value> {
    let (mut file, metadata) = open_regular(path).map_err(|e| io_error(path, &e))?;
    let size = metadata.len();
    if size > MOST_JSON_BYTES {
        let shown = shown(path);
        return Err(error!(
            InvalidArgument,
            "path: {shown}: it has {size} bytes of JSON; want at most {MOST_JSON_BYTES}"
        ));
    }
    let bytes = read_stated(path, &mut file, size, check_text)?;
    probe(bytes.len() * JSON_MEMORY_PER_BYTE, format_args!("the JSON of {}", shown(path)))?;
    serde_json::from_slice(&bytes).map_err(|e| error!(InvalidArgument, "path: {}: it is not JSON: {e}", shown(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use std::fs::File;

    #[test]
    fn files_are_read_as_far_as_their_size_says() {
        let path = Path::new("a \"file\"");
        let read = |bytes: &[u8], size| read_stated(path, &mut &bytes[..], size, check_text);
        let long = vec![b'x'; PIECE_BYTES + 5];
        assert_eq!(read(&long, long.len() as u64).unwrap(), long);
        assert_eq!(read(b"", 0).unwrap(), b"");
        let code = |read: Result<Vec<u8>>| read.unwrap_err().code;
        assert_eq!(code(read(b"12345", 4)), Code::InvalidArgument);
        assert_eq!(code(read(b"1", 0)), Code::InvalidArgument);
        assert_eq!(code(read(b"123", 4)), Code::DataLoss);
        assert_eq!(code(read(b"12\x0034", 5)), Code::InvalidArgument);
        assert_eq!(code(read(b"", u64::MAX)), Code::ResourceExhausted);
        // No byte after the piece at fault is read.
        let mut endless = std::io::repeat(0);
        assert!(read_stated(path, &mut endless, 1 << 30, check_text).unwrap_err().message.contains("bytes 0"));
        assert!(
            read_stated(path, &mut std::io::repeat(7), 100, check_text).unwrap_err().message.contains("more bytes")
        );
    }

    #[test]
    fn json_has_a_bounded_size() {
        let path = std::env::temp_dir().join(format!("lxla_json_{}", std::process::id()));
        std::fs::write(&path, r#"{"a": [1]}"#).unwrap();
        assert_eq!(read_json(&path).unwrap()["a"][0], 1);
        File::options().write(true).open(&path).unwrap().set_len(3 << 30).unwrap();
        assert!(read_json(&path).unwrap_err().message.contains("3221225472 bytes of JSON"));
        File::options().write(true).open(&path).unwrap().set_len(MOST_JSON_BYTES).unwrap();
        assert!(read_json(&path).unwrap_err().message.contains("bytes 0"));
        std::fs::remove_file(&path).unwrap();
        #[cfg(target_os = "linux")]
        assert!(read_json(Path::new("/proc/self/pagemap")).unwrap_err().message.contains("more bytes"));
    }
}
