//! Reader of NumPy's `.npy` files (numpy.lib.format: a magic string, a version, a Python dictionary that describes the
//! array, and its elements).

use super::atomic_file::open_regular;
use super::safetensors::io_error;
use crate::error;
use crate::error::{Error, Result, quoted};
use crate::types::{DType, TensorType, element_count};
use std::io::Read;
use std::path::Path;

/// First bytes of a file.
const MAGIC: &[u8] = b"\x93NUMPY";

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

/// Reads the array in a file: its type and its elements in row-major order.
pub fn read_npy(path: &Path) -> Result<(TensorType, Vec<u8>)> {
    let (mut file, metadata) = open_regular(path).map_err(|e| io_error(path, &e))?;
    let mut bytes = Vec::new();
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(size).map_err(|_| {
        error!(ResourceExhausted, "no memory for the {size} bytes of {}", quoted(&path.to_string_lossy()))
    })?;
    file.read_to_end(&mut bytes).map_err(|e| io_error(path, &e))?;
    parse(bytes).map_err(|e| e.context(quoted(&path.to_string_lossy())))
}

fn parse(mut bytes: Vec<u8>) -> Result<(TensorType, Vec<u8>)> {
    let invalid = |what: &str| error!(InvalidArgument, "not a NumPy file: {what}");
    let version = *bytes.strip_prefix(MAGIC).and_then(|rest| rest.first()).ok_or_else(|| invalid("no magic string"))?;
    // The length of the header has two bytes in version 1, and four later.
    let digits = if version == 1 { 2 } else { 4 };
    let start = MAGIC.len() + 2 + digits;
    let length = bytes.get(start - digits..start).ok_or_else(|| invalid("no header"))?;
    let length = length.iter().rev().fold(0usize, |sum, &byte| sum << 8 | usize::from(byte));
    let header = start.checked_add(length).and_then(|end| bytes.get(start..end)).ok_or_else(|| invalid("no header"))?;
    let header = std::str::from_utf8(header).map_err(|_| invalid("its header is not UTF-8"))?;
    let ty = described(header)?;
    let data = start + length;
    if bytes.len() - data != ty.size_bytes() {
        let (have, want) = (bytes.len() - data, ty.size_bytes());
        return Err(error!(InvalidArgument, "{have} bytes of data; its header says {ty}, which has {want}"));
    }
    bytes.drain(..data);
    Ok((ty, bytes))
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
    }
}
