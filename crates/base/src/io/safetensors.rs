//! Reads and writes the safetensors format (github.com/huggingface/safetensors) with its own crate. Files are replaced
//! atomically.

use super::atomic_file::{open_regular, replace_durably};
use super::header::{self, About};
use super::nibbles::{Packer, unpack};
use crate::allocation::{probe, zeroed_bytes};
use crate::error;
use crate::error::{Code, Error, Result, quoted, shortened};
use crate::types::{DType, MAX_RANK, TensorType};
use safetensors::tensor::{Dtype, TensorInfo};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of one write to the file system.
const PIECE_BYTES: usize = 8 << 20;

/// Maximum length of a header; the format's own limit.
const MOST_HEADER_BYTES: u64 = 100_000_000;

/// Key of the metadata under which the version of the library is written.
const VERSION_KEY: &str = "lazyxla_version";

/// Memory that the header takes for each tensor while it is made, besides its name, and number of copies of the name:
/// in a list, in a hash map, and as JSON, where a byte may become six, in a text that grows.
const ENTRY_BYTES: usize = 768;
const NAME_COPIES: usize = 16;

/// Maximum number of names listed in a message, and maximum length of each.
const MOST_NAMES_LISTED: usize = 10;
const MOST_BYTES_LISTED: usize = 64;

/// Maximum length of a path or of a foreign message in a message; at least the system's limit for paths.
const MOST_BYTES_SHOWN: usize = 4096;

/// A tensor to write.
pub struct Entry<'a> {
    /// Name in the file.
    pub name: &'a str,
    /// Dtype and shape.
    pub ty: &'a TensorType,
}

/// Metadata of a file to write.
pub enum Metadata<'a> {
    /// These entries.
    Given(&'a About),
    /// The entries of the file that is replaced; none if there is no file, or no safetensors file that can be read.
    OfReplaced,
}

impl Metadata<'_> {
    /// Returns the entries of a file to write at a path, with the version of this library. A given version stays.
    fn entries(&self, path: &Path) -> Result<About> {
        let mut entries = match self {
            Metadata::Given(entries) => (*entries).clone(),
            Metadata::OfReplaced => match metadata(path) {
                Ok(mut entries) => {
                    entries.remove(VERSION_KEY);
                    entries
                }
                // The file may well have some.
                Err(e) if matches!(e.code, Code::ResourceExhausted | Code::Unavailable) => return Err(e),
                Err(_) => About::new(),
            },
        };
        entries.entry(VERSION_KEY.to_string()).or_insert_with(|| env!("CARGO_PKG_VERSION").to_string());
        Ok(entries)
    }
}

/// Returns an error if metadata is too long for a header.
pub fn check_metadata(entries: &About) -> Result<()> {
    let length: u64 = entries.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum();
    if length > MOST_HEADER_BYTES {
        return Err(error!(
            InvalidArgument,
            "keys and values have {length} bytes; the safetensors format allows {MOST_HEADER_BYTES} in a file's header"
        ));
    }
    Ok(())
}

/// Passes the elements of an entry, in row-major order and in one or more pieces, to a function.
pub type Content<'a> = dyn FnMut(usize, &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a;

/// Writes a file atomically, see `replace_durably`. `content` is called once with the index of each entry, in the order
/// of the file, so that the values of one entry at a time need to be in memory. `written` counts the bytes of tensors
/// written so far. On an error of `content`, the previous file stays.
pub fn write(
    path: &Path,
    entries: &[Entry],
    metadata: &Metadata,
    content: &mut Content,
    written: &AtomicU64,
) -> Result<()> {
    let (header, in_order) = header(entries, &metadata.entries(path)?)?;
    let mut failure = None;
    let fill = |file: &mut File| {
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(&header)?;
        for index in in_order {
            let mut packer = (entries[index].ty.dtype.bit_width() == 4).then(Packer::default);
            let mut put = |bytes: &[u8]| {
                bytes.chunks(PIECE_BYTES).try_for_each(|piece| {
                    let packed = packer.as_mut().map(|packer| packer.pack(piece));
                    let piece = packed.as_deref().unwrap_or(piece);
                    file.write_all(piece).map_err(|e| io_error(path, &e))?;
                    written.fetch_add(piece.len() as u64, Ordering::Relaxed);
                    Ok(())
                })
            };
            content(index, &mut put).map_err(|e| {
                failure = Some(e);
                std::io::Error::other("the content of a tensor")
            })?;
        }
        Ok(())
    };
    let replaced = replace_durably(path, fill);
    failure.map_or_else(|| replaced.map_err(|e| io_error(path, &e)), Err)
}

/// Returns the file's header, and the indices of the entries in the order of their content. As in the safetensors
/// crate, entries are sorted by decreasing element size, then by name, so that every element is aligned.
fn header(entries: &[Entry], about: &About) -> Result<(Vec<u8>, Vec<usize>)> {
    let bytes =
        entries.iter().fold(0usize, |sum, entry| sum.saturating_add(ENTRY_BYTES + NAME_COPIES * entry.name.len()));
    probe(bytes, "the header of a file")?;
    let mut in_order: Vec<usize> = (0..entries.len()).collect();
    in_order.sort_by_key(|&i| (std::cmp::Reverse(entries[i].ty.dtype.size_bytes()), entries[i].name));
    let mut infos = Vec::with_capacity(entries.len());
    let mut end = 0;
    for entry in in_order.iter().map(|&i| &entries[i]) {
        let start = end;
        end += stored_bytes(entry.ty);
        let shape = entry.ty.dims.iter().map(|&dim| dim as usize).collect();
        let dtype = check_dtype(entry.name, entry.ty)?;
        infos.push((entry.name.to_string(), TensorInfo { dtype, shape, data_offsets: (start, end) }));
    }
    let mut header =
        header::written(infos, about).map_err(|e| error!(Internal, "a safetensors header cannot be made: {e}"))?;
    header.resize(header.len().next_multiple_of(8), b' ');
    if header.len() as u64 > MOST_HEADER_BYTES {
        let (length, of_metadata) = (header.len(), header::written(Vec::new(), about).map_or(0, |alone| alone.len()));
        return Err(error!(
            InvalidArgument,
            "names: the file's header would have {length} bytes, {of_metadata} of them metadata; the safetensors \
             format allows {MOST_HEADER_BYTES}"
        ));
    }
    Ok((header, in_order))
}

/// Returns an error if the format does not support the dtype.
pub fn check_type(name: &str, ty: &TensorType) -> Result<()> {
    check_dtype(name, ty).map(|_| ())
}

/// Number of bytes of a tensor in a file, where two elements of 4 bits share one.
fn stored_bytes(ty: &TensorType) -> usize {
    if ty.dtype.bit_width() == 4 { ty.size_bytes() / 2 } else { ty.size_bytes() }
}

/// Returns the format's dtype, or an error if it has none. Elements of 4 bits must be even in number.
fn check_dtype(name: &str, ty: &TensorType) -> Result<Dtype> {
    if ty.dtype == DType::F4E2M1FN && ty.size_bytes() % 2 == 1 {
        let name = quoted(name);
        return Err(error!(
            InvalidArgument,
            "tensor {name} is {ty}; the safetensors format has whole bytes: an even number of elements of 4 bits"
        ));
    }
    to_format(ty.dtype).ok_or_else(|| {
        error!(InvalidArgument, "tensor {} is {ty}; the safetensors format has no {}", quoted(name), ty.dtype)
    })
}

/// Names of a file's tensors, in the order of their content, with dtype and shape, as a JSON object.
pub fn names(path: &Path) -> Result<String> {
    let Opened { tensors, .. } = open(path)?;
    let entries = tensors.offset_keys().into_iter().map(|name| {
        let info = tensors.info(&name).expect("it is one of its keys");
        let dtype = from_format(info.dtype).map_or_else(|| info.dtype.to_string(), |dtype| dtype.to_string());
        format!("{}:{}", serde_json::json!(name), serde_json::json!({ "dtype": dtype, "dims": info.shape }))
    });
    Ok(format!("{{{}}}", entries.collect::<Vec<_>>().join(",")))
}

/// Metadata of a file; empty if it has none.
pub fn metadata(path: &Path) -> Result<About> {
    open(path).map(|opened| opened.about)
}

/// Reads one tensor of a file: its type and its row-major bytes. Reads only the header and that tensor.
pub fn read(path: &Path, name: &str) -> Result<(TensorType, Vec<u8>)> {
    let mut opened = open(path)?;
    Ok((opened.type_of(name)?, opened.read(name)?))
}

/// Opens a file of which several tensors are read.
pub fn open_tensors(path: &Path) -> Result<Opened> {
    open(path)
}

impl Opened {
    fn info(&self, name: &str) -> Result<&TensorInfo> {
        self.tensors.info(name).ok_or_else(|| {
            let (path, name, there) = (shown(&self.path), quoted(name), listed(&self.tensors.offset_keys()));
            error!(NotFound, "name: {path} has no tensor {name}; it has {there}")
        })
    }

    fn named(&self, name: &str, e: Error) -> Error {
        e.context(format_args!("{}, tensor {}", shown(&self.path), quoted(name)))
    }

    /// Type of a tensor.
    pub fn type_of(&self, name: &str) -> Result<TensorType> {
        type_of(self.info(name)?).map_err(|e| self.named(name, e))
    }

    /// Reads the row-major bytes of a tensor.
    pub fn read(&mut self, name: &str) -> Result<Vec<u8>> {
        let ty = self.type_of(name)?;
        let place = SeekFrom::Start(self.start + self.info(name)?.data_offsets.0 as u64);
        let mut bytes = zeroed_bytes(ty.size_bytes()).map_err(|e| self.named(name, e))?;
        let stored = stored_bytes(&ty);
        let read = self.file.seek(place).and_then(|_| self.file.read_exact(&mut bytes[..stored]));
        read.map_err(|e| read_error(&self.path, &e))?;
        if stored < bytes.len() {
            unpack(&mut bytes);
        }
        if ty.dtype == DType::Pred && bytes.iter().any(|&byte| byte > 1) {
            let name = quoted(name);
            let why = format_args!("tensor {name} is BOOL and has a byte that is neither 0 nor 1");
            return Err(damaged(&self.path, why));
        }
        Ok(bytes)
    }
}

fn listed(names: &[String]) -> String {
    let shown = |name: &String| shortened(name, MOST_BYTES_LISTED).into_owned();
    let mut first: Vec<String> = names.iter().take(MOST_NAMES_LISTED).map(shown).collect();
    if let more @ 1.. = names.len().saturating_sub(MOST_NAMES_LISTED) {
        first.push(format!("and {more} more"));
    }
    if first.is_empty() { "none".to_string() } else { first.join(", ") }
}

fn type_of(info: &TensorInfo) -> Result<TensorType> {
    let dtype =
        from_format(info.dtype).ok_or_else(|| error!(Unimplemented, "dtype {} is not supported", info.dtype))?;
    let rank = info.shape.len();
    if rank > MAX_RANK {
        return Err(error!(InvalidArgument, "it is of rank {rank}; the library has at most {MAX_RANK}"));
    }
    let dims: Option<Vec<i64>> = info.shape.iter().map(|&dim| i64::try_from(dim).ok()).collect();
    let dims = dims.ok_or_else(|| error!(InvalidArgument, "dims: {:?} has one above {}", info.shape, i64::MAX))?;
    crate::types::element_count(&dims)?;
    Ok(TensorType::new(dtype, &dims))
}

/// A file whose header is valid.
pub struct Opened {
    path: PathBuf,
    file: File,
    tensors: safetensors::tensor::Metadata,
    about: About,
    /// Offset of the content.
    start: u64,
}

/// Opens a file and validates its header.
fn open(path: &Path) -> Result<Opened> {
    let (mut file, about) = open_regular(path).map_err(|e| io_error(path, &e))?;
    let size = about.len();
    let mut length = [0; 8];
    if size < length.len() as u64 {
        return Err(damaged(path, "it is too short to be a safetensors file"));
    }
    file.read_exact(&mut length).map_err(|e| read_error(path, &e))?;
    let length = u64::from_le_bytes(length);
    if length > MOST_HEADER_BYTES || length + 8 > size {
        return Err(damaged(path, format_args!("its header would have {length} bytes")));
    }
    let exhausted = |e: Error| e.context(format_args!("{}, its header", shown(path)));
    let mut header = zeroed_bytes(length as usize).map_err(exhausted)?;
    file.read_exact(&mut header).map_err(|e| read_error(path, &e))?;
    let parsed = header::parse(&header).map_err(exhausted)?;
    let (tensors, about) =
        parsed.map_err(|e| damaged(path, format_args!("its header is wrong: {}", shortened(&e, MOST_BYTES_SHOWN))))?;
    let content = tensors.data_len() as u64;
    if size - (8 + length) != content {
        let has = size - (8 + length);
        return Err(damaged(path, format_args!("it has {has} bytes of tensors; its header says {content}")));
    }
    Ok(Opened { path: path.to_path_buf(), file, tensors, about, start: 8 + length })
}

/// Maps a read error. A file that was truncated after it was opened is reported as damaged.
fn read_error(path: &Path, e: &std::io::Error) -> Error {
    match e.kind() {
        ErrorKind::UnexpectedEof => damaged(path, "it ends before its last tensor does"),
        _ => io_error(path, e),
    }
}

fn damaged(path: &Path, why: impl std::fmt::Display) -> Error {
    error!(DataLoss, "path: {} is not a safetensors file, or is damaged: {why}", shown(path))
}

/// Maps an I/O error for a path given by the caller to an error of the library.
pub fn io_error(path: &Path, e: &std::io::Error) -> Error {
    let code = match e.kind() {
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Code::PermissionDenied,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge | ErrorKind::OutOfMemory => {
            Code::ResourceExhausted
        }
        ErrorKind::IsADirectory | ErrorKind::NotADirectory | ErrorKind::InvalidInput | ErrorKind::InvalidFilename => {
            Code::InvalidArgument
        }
        _ => Code::Unavailable,
    };
    Error::new(code, format!("path: {}: {e}", shown(path)))
}

/// Formats a path for messages.
pub fn shown(path: &Path) -> String {
    shortened(&path.to_string_lossy(), MOST_BYTES_SHOWN).into_owned()
}

fn to_format(dtype: DType) -> Option<Dtype> {
    Some(match dtype {
        DType::Pred => Dtype::BOOL,
        DType::S8 => Dtype::I8,
        DType::S16 => Dtype::I16,
        DType::S32 => Dtype::I32,
        DType::S64 => Dtype::I64,
        DType::U8 => Dtype::U8,
        DType::U16 => Dtype::U16,
        DType::U32 => Dtype::U32,
        DType::U64 => Dtype::U64,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
        DType::C64 => Dtype::C64,
        DType::F8E5M2 => Dtype::F8_E5M2,
        DType::F8E4M3FN => Dtype::F8_E4M3,
        DType::F8E5M2FNUZ => Dtype::F8_E5M2FNUZ,
        DType::F8E4M3FNUZ => Dtype::F8_E4M3FNUZ,
        DType::F8E8M0FNU => Dtype::F8_E8M0,
        DType::F4E2M1FN => Dtype::F4,
        DType::S2 | DType::U2 | DType::S4 | DType::U4 => return None,
        DType::C128 | DType::F8E4M3 | DType::F8E3M4 | DType::F8E4M3B11FNUZ => return None,
    })
}

fn from_format(dtype: Dtype) -> Option<DType> {
    DType::ALL.into_iter().find(|&ours| to_format(ours) == Some(dtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("lxla_io_{}_{name}", std::process::id()))
    }

    #[test]
    fn what_is_written_is_read() {
        let path = scratch("round_trip");
        let (a, b) = (TensorType::new(DType::F32, &[2]), TensorType::new(DType::Pred, &[0, 3]));
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        let entries = [Entry { name: "a", ty: &a }, Entry { name: "b", ty: &b }];
        let written = AtomicU64::new(0);
        let mut content = |index: usize, put: &mut dyn FnMut(&[u8]) -> Result<()>| match index {
            0 => bytes.chunks(3).try_for_each(put),
            _ => Ok(()),
        };
        write(&path, &entries, &Metadata::OfReplaced, &mut content, &written).unwrap();
        assert_eq!(written.into_inner(), 8);
        assert_eq!(read(&path, "a").unwrap(), (a, bytes.to_vec()));
        assert_eq!(read(&path, "b").unwrap(), (b, vec![]));
        assert!(names(&path).unwrap().contains(r#""b":{"dims":[0,3],"dtype":"pred"}"#));
        assert_eq!(read(&path, "c").unwrap_err().code, Code::NotFound);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn damaged_files_are_errors() {
        let path = scratch("damaged");
        let ty = TensorType::new(DType::F32, &[2]);
        let entry = [Entry { name: "a", ty: &ty }];
        write(&path, &entry, &Metadata::OfReplaced, &mut |_, put| put(&[0; 8]), &AtomicU64::new(0)).unwrap();
        let good = std::fs::read(&path).unwrap();
        let failing = &mut |_: usize, _: &mut dyn FnMut(&[u8]) -> Result<()>| Err(error!(DataLoss, "no content"));
        let failure = write(&path, &entry, &Metadata::OfReplaced, failing, &AtomicU64::new(0)).unwrap_err();
        assert_eq!((failure.code, std::fs::read(&path).unwrap()), (Code::DataLoss, good.clone()));
        let mut garbled = good.clone();
        garbled[12] = b'~';
        let mut huge = good.clone();
        huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        for bad in [&good[..good.len() - 1], &good[..5], &[], &garbled, &huge] {
            std::fs::write(&path, bad).unwrap();
            assert_eq!(read(&path, "a").unwrap_err().code, Code::DataLoss);
        }
        std::fs::remove_file(&path).unwrap();
    }
    #[test]
    fn metadata_of_a_replaced_file_is_kept() {
        let path = scratch("metadata");
        let save = |metadata: &Metadata| {
            write(&path, &[], metadata, &mut |_, _| Ok(()), &AtomicU64::new(0)).unwrap();
            super::metadata(&path).unwrap()
        };
        let about = |entries: &[(&str, &str)]| -> About {
            entries.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
        };
        let ours = (VERSION_KEY, env!("CARGO_PKG_VERSION"));
        assert_eq!(super::metadata(&path).unwrap_err().code, Code::NotFound);
        assert_eq!(save(&Metadata::OfReplaced), about(&[ours]));
        let given = about(&[("step", "7"), (VERSION_KEY, "of another")]);
        assert_eq!(save(&Metadata::Given(&given)), given);
        assert_eq!(save(&Metadata::OfReplaced), about(&[("step", "7"), ours]));
        std::fs::write(&path, b"something else").unwrap();
        assert_eq!(save(&Metadata::OfReplaced), about(&[ours]));
        assert_eq!(save(&Metadata::Given(&About::new())), about(&[ours]));
        std::fs::remove_file(&path).unwrap();
    }
}
