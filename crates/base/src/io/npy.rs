//! Reader of NumPy's `.npy` files (numpy.lib.format: a magic string, a version, a Python dictionary that describes the
//! array, and its elements).

use super::atomic_file::open_regular;
use super::safetensors::io_error;
use super::whole::read_stated;
use crate::error;
use crate::error::{Error, Result, quoted};
use crate::types::{DType, TensorType, element_count};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// First bytes of a file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Maximum length of a header. One of a plain array has less than 200 bytes, also of the largest rank.
const MOST_HEADER_BYTES: usize = 1 << 16;

/// Dtypes by NumPy's names, little-endian or of one byte.
const DTYPES: [(&str, DType); 14] = [
    ("|b1", DType::Pred),
    ("|i1", DType::S8),
    ("<i2", DType::S16),
    ("<i4", DType::S32),
    ("<i8", DType::S64),
    ("|u1", DType::U8),
    ("<u2", DType::U16),
    ("<u4", DType::U32),
    ("<u8", DType::U64),
    ("<f2", DType::F16),
    ("<f4", DType::F32),
    ("<f8", DType::F64),
    ("<c8", DType::C64),
    ("<c16", DType::C128),
];

/// An open file whose header is valid.
pub struct Npy {
    path: PathBuf,
    file: File,
    ty: TensorType,
    place: (u64, u64),
}

impl Npy {
    /// Type of the array.
    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    /// Device and inode of the file. They are equal for all names of one file.
    pub fn place(&self) -> (u64, u64) {
        self.place
    }

    /// Reads the elements in row-major order.
    pub fn read(mut self) -> Result<Vec<u8>> {
        read_stated(&self.path, &mut self.file, self.ty.size_bytes() as u64, |_| Ok(()))
    }
}

/// Opens a file and reads its header, which has to fit the size of the file.
pub fn open_npy(path: &Path) -> Result<Npy> {
    let (mut file, metadata) = open_regular(path).map_err(|e| io_error(path, &e))?;
    let ty = header(path, &mut file, metadata.len())?;
    Ok(Npy { path: path.to_path_buf(), file, ty, place: (metadata.dev(), metadata.ino()) })
}

/// Reads the header of a file that has `size` bytes.
fn header(path: &Path, file: &mut impl Read, size: u64) -> Result<TensorType> {
    let named = |e: Error| e.context(quoted(&path.to_string_lossy()));
    let invalid = |what: &str| named(error!(InvalidArgument, "not a NumPy file: {what}"));
    let mut next = |bytes: &mut [u8], what: &str| {
        file.read_exact(bytes).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => invalid(what),
            _ => io_error(path, &e),
        })
    };
    // The magic string, and two bytes of the version.
    let mut start = [0; MAGIC.len() + 2];
    next(&mut start, "no magic string")?;
    if !start.starts_with(MAGIC) {
        return Err(invalid("no magic string"));
    }
    // The length of the header has two bytes in version 1, and four later.
    let digits = if start[MAGIC.len()] == 1 { 2 } else { 4 };
    let mut length = [0; 4];
    next(&mut length[..digits], "no header")?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MOST_HEADER_BYTES {
        return Err(invalid(&format!("its header has {length} bytes; want at most {MOST_HEADER_BYTES}")));
    }
    let mut text = vec![0; length];
    next(&mut text, "no header")?;
    let ty = described(std::str::from_utf8(&text).map_err(|_| invalid("its header is not UTF-8"))?).map_err(named)?;
    let have = size.saturating_sub((start.len() + digits + length) as u64);
    let want = ty.size_bytes();
    if have != want as u64 {
        return Err(named(error!(InvalidArgument, "{have} bytes of data; its header says {ty}, which has {want}")));
    }
    Ok(ty)
}

/// Reads the dictionary of a header, such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn described(header: &str) -> Result<TensorType> {
    let invalid = |what: &str| -> Error {
        error!(InvalidArgument, "not a NumPy file: {what} in its header {}", quoted(header.trim_end()))
    };
    let value = |key: &str| {
        let (_, rest) = header.split_once(&format!("'{key}':")).ok_or_else(|| invalid(&format!("no {key}")))?;
        Ok::<&str, Error>(rest.trim_start())
    };
    let descr = value("descr")?;
    let name = descr.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).ok_or_else(|| invalid("no dtype"))?.0;
    let dtype = DTYPES.iter().find(|(known, _)| *known == name).map(|(_, dtype)| *dtype);
    let dtype = dtype.ok_or_else(|| error!(Unimplemented, "NumPy's dtype {} is not supported", quoted(name)))?;
    let shape = value("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let sizes = shape.ok_or_else(|| invalid("no shape"))?.0.split(',').map(str::trim).filter(|size| !size.is_empty());
    let dims = sizes
        .map(|size| size.parse::<u32>().map(i64::from).or_else(|_| size.parse::<i64>()))
        .collect::<std::result::Result<Vec<i64>, _>>()
        .map_err(|_| invalid("no sizes"))?;
    element_count(&dims)?;
    let is_fortran = value("fortran_order")?.starts_with("True");
    if is_fortran && dims.len() > 1 {
        return Err(error!(Unimplemented, "the array is in Fortran order; want C order"));
    }
    Ok(TensorType::new(dtype, &dims))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
    }

    fn parse(bytes: Vec<u8>) -> Result<(TensorType, Vec<u8>)> {
        let (path, mut rest) = (Path::new("x.npy"), &bytes[..]);
        let ty = header(path, &mut rest, bytes.len() as u64)?;
        let data = read_stated(path, &mut rest, ty.size_bytes() as u64, |_| Ok(()))?;
        Ok((ty, data))
    }

    #[test]
    fn arrays_are_read() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }   \n";
        let data = [1f32.to_le_bytes(), 2f32.to_le_bytes()].concat();
        assert_eq!(parse(file(header, &data)).unwrap(), (TensorType::new(DType::F32, &[2, 1]), data));
        let scalar = "{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n";
        assert_eq!(parse(file(scalar, &[1])).unwrap(), (TensorType::new(DType::Pred, &[]), vec![1]));
    }

    #[test]
    fn files_that_lie_are_refused() {
        let refused = |header: &str, data: &[u8], words: &str| {
            let error = parse(file(header, data)).unwrap_err();
            assert!(error.message.contains(words), "{error}");
        };
        refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", &[0; 4], "4 bytes of data");
        refused("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", &[0; 4], "dtype");
        refused("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", &[0; 8], "Fortran");
        refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", &[0; 4], "-1");
        refused("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }", &[], "");
        refused("{'fortran_order': False, 'shape': (1,), }", &[0; 4], "no descr");
        assert!(parse(b"\x93NUMPY\x01\x00\xff\xff{".to_vec()).is_err());
        assert!(parse(Vec::new()).is_err());
        let long = parse(b"\x93NUMPY\x02\x00\x00\x00\x01\x01{".to_vec()).unwrap_err();
        assert!(long.message.contains("its header has 16842752 bytes"), "{long}");
    }

    #[test]
    fn no_more_is_read_than_the_header_says() {
        let path = std::env::temp_dir().join(format!("lxla_npy_{}", std::process::id()));
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (), }";
        std::fs::write(&path, file(header, &[7; 4])).unwrap();
        let opened = open_npy(&path).unwrap();
        assert_eq!(opened.ty(), &TensorType::new(DType::F32, &[]));
        assert_eq!(opened.read().unwrap(), [7; 4]);
        // Written to after it was opened, and sparse: the header says 4 bytes.
        let opened = open_npy(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(3 << 30).unwrap();
        assert!(opened.read().unwrap_err().message.contains("more bytes than its size says"));
        let lies = open_npy(&path).map(|_| ()).unwrap_err();
        assert!(lies.message.contains("bytes of data; its header says"), "{lies}");
        std::fs::remove_file(&path).unwrap();
    }
}
