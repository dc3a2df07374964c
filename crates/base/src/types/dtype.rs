//! Element types (dtypes), numbered as in `PJRT_Buffer_Type`, and their promotion.

use crate::error;
use crate::error::Result;
use std::ffi::CStr;
use std::fmt;

/// An element type. The numbers are those of `PJRT_Buffer_Type` in pjrt_c_api.h and are frozen in the C ABI.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum DType {
    Pred = 1,
    S8 = 2,
    S16 = 3,
    S32 = 4,
    S64 = 5,
    U8 = 6,
    U16 = 7,
    U32 = 8,
    U64 = 9,
    F16 = 10,
    F32 = 11,
    F64 = 12,
    BF16 = 13,
    C64 = 14,
    C128 = 15,
    F8E5M2 = 16,
    F8E4M3FN = 17,
    F8E4M3B11FNUZ = 18,
    F8E5M2FNUZ = 19,
    F8E4M3FNUZ = 20,
    F8E4M3 = 26,
    F8E3M4 = 27,
    F8E8M0FNU = 28,
}

/// Category of an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Pred,
    Signed,
    Unsigned,
    Float,
    /// 8-bit floats: they are stored and converted; arithmetic on them is recorded in f32 and rounded after each
    /// operation.
    Float8,
    Complex,
}

impl DType {
    /// All element types, in ascending order of their numbers.
    pub const ALL: [DType; 23] = [
        DType::Pred,
        DType::S8,
        DType::S16,
        DType::S32,
        DType::S64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::F32,
        DType::F64,
        DType::BF16,
        DType::C64,
        DType::C128,
        DType::F8E5M2,
        DType::F8E4M3FN,
        DType::F8E4M3B11FNUZ,
        DType::F8E5M2FNUZ,
        DType::F8E4M3FNUZ,
        DType::F8E4M3,
        DType::F8E3M4,
        DType::F8E8M0FNU,
    ];

    /// Returns the element type with this number in the C ABI; INVALID_ARGUMENT if there is none.
    pub fn from_number(number: i32) -> Result<DType> {
        DType::ALL.into_iter().find(|&dtype| dtype as i32 == number).ok_or_else(|| {
            error!(InvalidArgument, "dtype: {number} is not an LXLA_DTYPE_* constant (valid: 1 to 20, 26 to 28)")
        })
    }

    /// Number of bytes of one element.
    #[inline]
    pub const fn size_bytes(self) -> usize {
        1 << self.log2_size_bytes()
    }

    /// Binary logarithm of the size: a small number for each variant, which compiles to a table.
    #[inline]
    const fn log2_size_bytes(self) -> u8 {
        match self {
            DType::S16 | DType::U16 | DType::F16 | DType::BF16 => 1,
            DType::S32 | DType::U32 | DType::F32 => 2,
            DType::S64 | DType::U64 | DType::F64 | DType::C64 => 3,
            DType::C128 => 4,
            _ => 0,
        }
    }

    /// Unsigned integer type of the same width, for a type that is not complex.
    pub fn bits(self) -> DType {
        match self.size_bytes() {
            1 => DType::U8,
            2 => DType::U16,
            4 => DType::U32,
            _ => DType::U64,
        }
    }

    /// Category of the element type.
    #[inline]
    pub fn kind(self) -> Kind {
        match self {
            DType::Pred => Kind::Pred,
            DType::S8 | DType::S16 | DType::S32 | DType::S64 => Kind::Signed,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Unsigned,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Kind::Float,
            DType::C64 | DType::C128 => Kind::Complex,
            _ => Kind::Float8,
        }
    }

    /// Returns true for 8-bit floats.
    #[inline]
    pub fn is_float8(self) -> bool {
        self as u8 > DType::C128 as u8
    }

    /// Returns true for real floating-point types of any width.
    #[inline]
    pub fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float | Kind::Float8)
    }

    /// Returns true for signed and unsigned integers; false for pred.
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// Element type of the parts of a complex type; every other type itself.
    pub fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// XLA's short name, as in `f32[2,3]`.
    pub fn name(self) -> &'static str {
        self.c_name().to_str().expect("names are ASCII")
    }

    /// Like [`DType::name`], NUL-terminated for C.
    pub fn c_name(self) -> &'static CStr {
        match self {
            DType::F8E5M2 => c"f8e5m2",
            DType::F8E4M3FN => c"f8e4m3fn",
            DType::F8E4M3B11FNUZ => c"f8e4m3b11fnuz",
            DType::F8E5M2FNUZ => c"f8e5m2fnuz",
            DType::F8E4M3FNUZ => c"f8e4m3fnuz",
            DType::F8E4M3 => c"f8e4m3",
            DType::F8E3M4 => c"f8e3m4",
            DType::F8E8M0FNU => c"f8e8m0fnu",
            DType::Pred => c"pred",
            DType::S8 => c"s8",
            DType::S16 => c"s16",
            DType::S32 => c"s32",
            DType::S64 => c"s64",
            DType::U8 => c"u8",
            DType::U16 => c"u16",
            DType::U32 => c"u32",
            DType::U64 => c"u64",
            DType::F16 => c"f16",
            DType::F32 => c"f32",
            DType::F64 => c"f64",
            DType::BF16 => c"bf16",
            DType::C64 => c"c64",
            DType::C128 => c"c128",
        }
    }

    /// Type to which two operands are promoted: the table of the Python array API standard, with f16 and bf16 giving
    /// f32. Mixing kinds in a way that the standard leaves undefined is an error.
    pub fn promote(self, other: DType) -> Result<DType> {
        if self == other {
            return Ok(self);
        }
        let undefined = || {
            error!(
                InvalidArgument,
                "{self} and {other} do not promote to a common dtype (Python array API standard); convert one of them"
            )
        };
        let wider = |a: DType, b: DType| if a.size_bytes() >= b.size_bytes() { a } else { b };
        match (self.kind(), other.kind()) {
            (Kind::Signed, Kind::Signed) | (Kind::Unsigned, Kind::Unsigned) => Ok(wider(self, other)),
            (Kind::Signed, Kind::Unsigned) => mixed_sign(self, other).ok_or_else(undefined),
            (Kind::Unsigned, Kind::Signed) => mixed_sign(other, self).ok_or_else(undefined),
            (Kind::Float, Kind::Float) if self.size_bytes() == other.size_bytes() => Ok(DType::F32),
            (Kind::Float, Kind::Float) | (Kind::Complex, Kind::Complex) => Ok(wider(self, other)),
            (Kind::Float, Kind::Complex) | (Kind::Complex, Kind::Float) => {
                let double = self.real() == DType::F64 || other.real() == DType::F64;
                Ok(if double { DType::C128 } else { DType::C64 })
            }
            _ => Err(undefined()),
        }
    }
}

/// Smallest signed type that can represent all values of both types; None with u64.
fn mixed_sign(signed: DType, unsigned: DType) -> Option<DType> {
    match signed.size_bytes().max(unsigned.size_bytes() * 2) {
        2 => Some(DType::S16),
        4 => Some(DType::S32),
        8 => Some(DType::S64),
        _ => None,
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip_and_others_are_refused() {
        for dtype in DType::ALL {
            assert_eq!(DType::from_number(dtype as i32).unwrap(), dtype);
        }
        for bad in [0, -1, 21, 25, 29, i32::MIN, i32::MAX] {
            assert!(DType::from_number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn promotion_is_the_array_api_table() {
        use DType::*;
        let rows = [
            (S8, S16, Some(S16)),
            (U8, S8, Some(S16)),
            (U8, S64, Some(S64)),
            (U32, S8, Some(S64)),
            (U64, S8, None),
            (U64, U8, Some(U64)),
            (F16, BF16, Some(F32)),
            (BF16, F32, Some(F32)),
            (F32, F64, Some(F64)),
            (F64, C64, Some(C128)),
            (F32, C64, Some(C64)),
            (C64, C128, Some(C128)),
            (Pred, S8, None),
            (S32, F32, None),
            (Pred, Pred, Some(Pred)),
            (F8E5M2, F8E5M2, Some(F8E5M2)),
            (F8E5M2, F8E4M3FN, None),
            (F8E5M2, F32, None),
        ];
        for (a, b, want) in rows {
            assert_eq!(a.promote(b).ok(), want, "{a} {b}");
            assert_eq!(b.promote(a).ok(), want, "{b} {a}");
        }
    }
}
