//! DLPack: exchange of arrays between libraries without copying. The structs are those of dlpack.h, version 1.1
//! (github.com/dmlc/dlpack).

use crate::error;
use crate::error::{Error, Result};
use crate::types::DType;
use std::ffi::c_void;

/// Version of these structs. Other minor versions have the same layout.
pub const VERSION: Version = Version { major: 1, minor: 1 };
/// Flag: the consumer must not write to the memory.
pub const READ_ONLY: u64 = 1;
/// Flag: the memory is a copy made for the consumer.
pub const IS_COPIED: u64 = 2;
/// Device type of host memory.
pub const HOST: i32 = 1;

/// `DLPackVersion`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Device {
    pub device_type: i32,
    pub device_id: i32,
}

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
#[allow(missing_docs)]
pub struct Tensor {
    pub data: *mut c_void,
    pub device: Device,
    pub ndim: i32,
    pub dtype: DataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[allow(missing_docs)]
pub struct Managed {
    pub version: Version,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    pub flags: u64,
    pub dl_tensor: Tensor,
}

/// `DLManagedTensor` of DLPack before 1.0: without version and flags.
#[repr(C)]
#[allow(missing_docs)]
pub struct Unversioned {
    pub dl_tensor: Tensor,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Unversioned)>,
}

const SIGNED: u8 = 0;
const UNSIGNED: u8 = 1;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;
const COMPLEX: u8 = 5;
const BOOL: u8 = 6;

/// DLPack type code of each dtype of whole bytes. DLPack packs elements of 2 and 4 bits, and host memory here does not.
const TYPES: [(DType, u8); 23] = [
    (DType::Pred, BOOL),
    (DType::S8, SIGNED),
    (DType::S16, SIGNED),
    (DType::S32, SIGNED),
    (DType::S64, SIGNED),
    (DType::U8, UNSIGNED),
    (DType::U16, UNSIGNED),
    (DType::U32, UNSIGNED),
    (DType::U64, UNSIGNED),
    (DType::F16, FLOAT),
    (DType::F32, FLOAT),
    (DType::F64, FLOAT),
    (DType::BF16, BFLOAT),
    (DType::C64, COMPLEX),
    (DType::C128, COMPLEX),
    (DType::F8E3M4, 7),
    (DType::F8E4M3, 8),
    (DType::F8E4M3B11FNUZ, 9),
    (DType::F8E4M3FN, 10),
    (DType::F8E4M3FNUZ, 11),
    (DType::F8E5M2, 12),
    (DType::F8E5M2FNUZ, 13),
    (DType::F8E8M0FNU, 14),
];

fn data_type_of((dtype, code): (DType, u8)) -> DataType {
    DataType { code, bits: 8 * dtype.size_bytes() as u8, lanes: 1 }
}

/// DLPack data type of a dtype.
pub fn data_type(dtype: DType) -> Result<DataType> {
    let known = TYPES.into_iter().find(|(known, _)| *known == dtype).map(data_type_of);
    known.ok_or_else(|| error!(Unimplemented, "DLPack has no {dtype}"))
}

/// Dtype of a DLPack data type.
pub fn dtype(given: DataType) -> Result<DType> {
    let known = TYPES.into_iter().find(|&known| data_type_of(known) == given);
    known.map(|(dtype, _)| dtype).ok_or_else(|| unknown(given))
}

fn unknown(given: DataType) -> Error {
    error!(
        Unimplemented,
        "managed: dtype code {}, {} bits, {} lanes; want bool, integers, floats, bfloat or complex numbers of one lane",
        given.code,
        given.bits,
        given.lanes
    )
}

/// Whether strides (in elements) are row-major. Strides of axes of size 1, and of empty arrays, are ignored.
pub fn is_row_major(dims: &[i64], strides: &[i64]) -> bool {
    let mut expected = 1;
    dims.contains(&0)
        || dims.iter().zip(strides).rev().all(|(&dim, &stride)| {
            let fits = dim == 1 || stride == expected;
            expected *= dim;
            fits
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_types_come_back() {
        for known in DType::ALL.into_iter().filter(|known| !known.is_subbyte()) {
            assert_eq!(dtype(data_type(known).unwrap()).unwrap(), known);
        }
        assert!(data_type(DType::S4).is_err());
        for (code, bits, lanes) in [(2, 32, 4), (0, 4, 1), (17, 4, 1), (2, 8, 1), (3, 64, 1), (0, 128, 1), (6, 32, 1)] {
            assert!(dtype(DataType { code, bits, lanes }).is_err());
        }
    }

    #[test]
    fn row_major_strides_are_known() {
        assert!(is_row_major(&[2, 3], &[3, 1]));
        assert!(is_row_major(&[], &[]));
        assert!(is_row_major(&[2, 1, 3], &[3, 77, 1]));
        assert!(is_row_major(&[2, 0], &[5, 5]));
        assert!(!is_row_major(&[2, 3], &[1, 2]));
        assert!(!is_row_major(&[4], &[2]));
        assert!(!is_row_major(&[4], &[-1]));
    }
}
