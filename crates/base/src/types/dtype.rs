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
    S4 = 21,
    U4 = 22,
    S2 = 24,
    U2 = 25,
    F8E4M3 = 26,
    F8E3M4 = 27,
    F8E8M0FNU = 28,
    F4E2M1FN = 29,
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
    /// Types of 2 and 4 bits: they are stored, moved and converted, one element in each byte of host memory. Arithmetic
    /// on them is recorded in their [`DType::wide`] type and converted after each operation.
    Subbyte,
    Complex,
}

impl DType {
    /// All element types, in ascending order of their numbers.
    pub const ALL: [DType; 28] = [
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
        DType::S4,
        DType::U4,
        DType::S2,
        DType::U2,
        DType::F8E4M3,
        DType::F8E3M4,
        DType::F8E8M0FNU,
        DType::F4E2M1FN,
    ];

    /// Returns the element type with this number in the C ABI; INVALID_ARGUMENT if there is none.
    pub fn from_number(number: i32) -> Result<DType> {
        DType::ALL.into_iter().find(|&dtype| dtype as i32 == number).ok_or_else(|| {
            error!(InvalidArgument, "dtype: {number} is not an LXLA_DTYPE_* constant (valid: 1 to 22, 24 to 29)")
        })
    }

    /// Number of bytes of one element in host memory.
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

    /// Number of bits of an element's value. A pred has 8.
    #[inline]
    pub const fn bit_width(self) -> u32 {
        match self {
            DType::S2 | DType::U2 => 2,
            DType::S4 | DType::U4 | DType::F4E2M1FN => 4,
            _ => 8 * self.size_bytes() as u32,
        }
    }

    /// Unsigned integer type of the same width, for a type that is not complex.
    pub fn bits(self) -> DType {
        match self.bit_width() {
            2 => DType::U2,
            4 => DType::U4,
            8 => DType::U8,
            16 => DType::U16,
            32 => DType::U32,
            _ => DType::U64,
        }
    }

    /// Type in which arithmetic on 8-bit floats and on types of 2 and 4 bits is computed, which has all their values;
    /// every other type itself.
    pub fn wide(self) -> DType {
        match self {
            DType::S2 | DType::S4 => DType::S8,
            DType::U2 | DType::U4 => DType::U8,
            narrow if !narrow.has_arithmetic() => DType::F32,
            other => other,
        }
    }

    /// Whether operations on the type are recorded in the type itself, and not in its [`DType::wide`] type.
    #[inline]
    pub fn has_arithmetic(self) -> bool {
        self as u8 <= DType::C128 as u8
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
            DType::S2 | DType::U2 | DType::S4 | DType::U4 | DType::F4E2M1FN => Kind::Subbyte,
            _ => Kind::Float8,
        }
    }

    /// Returns true for 8-bit floats.
    #[inline]
    pub fn is_float8(self) -> bool {
        !self.has_arithmetic() && !self.is_subbyte()
    }

    /// Returns true for types of 2 and 4 bits.
    #[inline]
    pub const fn is_subbyte(self) -> bool {
        matches!(self, DType::S4 | DType::U4 | DType::S2 | DType::U2 | DType::F4E2M1FN)
    }

    /// Returns true for floats of 8 and 4 bits.
    #[inline]
    pub fn is_minifloat(self) -> bool {
        self.is_float8() || self == DType::F4E2M1FN
    }

    /// Gives each element of a type of 2 or 4 bits the one byte that stands for its value: its low bits, sign-extended
    /// for a signed type, with zeros above them for the others. Other types stay as they are.
    pub fn normalize(self, bytes: &mut [u8]) {
        let unused = 8 - self.bit_width().min(8);
        match self {
            DType::S2 | DType::S4 => {
                bytes.iter_mut().for_each(|byte| *byte = ((*byte << unused) as i8 >> unused) as u8)
            }
            _ if unused > 0 => bytes.iter_mut().for_each(|byte| *byte &= u8::MAX >> unused),
            _ => {}
        }
    }

    /// Whether every byte is as [`DType::normalize`] leaves it.
    pub fn is_normalized(self, bytes: &[u8]) -> bool {
        let normal = |&byte: &u8| {
            let mut one = [byte];
            self.normalize(&mut one);
            one[0] == byte
        };
        !self.is_subbyte() || bytes.iter().all(normal)
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
            DType::S4 => c"s4",
            DType::U4 => c"u4",
            DType::S2 => c"s2",
            DType::U2 => c"u2",
            DType::F4E2M1FN => c"f4e2m1fn",
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
        for bad in [0, -1, 23, 30, i32::MIN, i32::MAX] {
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
            (S4, S4, Some(S4)),
            (S4, S8, None),
            (U2, U4, None),
            (F4E2M1FN, F32, None),
        ];
        for (a, b, want) in rows {
            assert_eq!(a.promote(b).ok(), want, "{a} {b}");
            assert_eq!(b.promote(a).ok(), want, "{b} {a}");
        }
    }
}
