//! Chapter Dtypes: sizes, limits and promotion of element types, casts of scalars.

use super::abi::arguments::scalar;
use super::abi::guard::guard_into;
use super::abi::pointers::{In, Out};
use super::abi::types::{lxla_dtype_limits, lxla_scalar, lxla_scalar_value, lxla_status};
use super::constants::{LXLA_KIND_COMPLEX, LXLA_KIND_FLOAT, LXLA_KIND_PRED, LXLA_KIND_SIGNED, LXLA_KIND_UNSIGNED};
use base::error::Result;
use base::types::{DType, FloatLimits, Kind, ScalarValue, float_limits, integer_limits};

/// Returns the size in bytes of one element in host memory.
///
/// An element of 2 or 4 bits has a byte of its own there. Bytes that are read have the value of an integer
/// (sign-extended, if it is signed) or the code of an f4e2m1fn in the low bits; of bytes that are written, only the low
/// bits count. On XLA devices, such elements are packed. They are created, stored, moved, selected, compared, sorted,
/// converted and bit-cast, and have elementwise arithmetic and reductions, computed in s8, u8 or f32 and wrapped or
/// rounded afterwards. `lxla_dot_general` multiplies them, best with a wider `dtype`. They have no derivatives. Other
/// operations return INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_dtype_size(dtype: i32, out_size_bytes: Out<usize>) -> lxla_status {
    guard_into(
        "lxla_dtype_size",
        out_size_bytes.named("out_size_bytes"),
        || Ok(DType::from_number(dtype)?.size_bytes()),
    )
}

/// Returns the common dtype of two dtypes of any kinds, for frontends that convert both operands to it. The rules are
/// those of JAX without weak types:
///
/// - pred and any dtype: that dtype.
/// - Two signed or two unsigned integers: the wider one.
/// - A signed and an unsigned integer: the narrowest signed integer that represents both; f64 for u64.
/// - An integer and a float, 8-bit float or complex number: the latter, whatever its width.
/// - Two floats: the wider one; f32 for f16 and bf16.
/// - A float and a complex number: c64, or c128 if either has 64-bit parts.
/// - An 8-bit float and any other float or complex number: INVALID_ARGUMENT.
/// - A type of 2 or 4 bits and any other but pred: INVALID_ARGUMENT.
///
/// Operations promote by the Python array API standard, which agrees with these rules where it defines a result, and
/// return INVALID_ARGUMENT where it does not: pred with numbers, integers with floats, u64 with signed integers.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_dtype_promote(a: i32, b: i32, out_dtype: Out<i32>) -> lxla_status {
    guard_into("lxla_dtype_promote", out_dtype.named("out_dtype"), || {
        let (a, b) = (named("a", a)?, named("b", b)?);
        Ok(a.join(b)? as i32)
    })
}

/// Returns 1 if `lxla_dtype_promote` of the two dtypes is `to`, else 0, as `can_cast` of the Python array API
/// standard. Casts from integers to floats may round. `lxla_convert` accepts all casts.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_dtype_can_cast(from: i32, to: i32, out_flag: Out<i32>) -> lxla_status {
    guard_into("lxla_dtype_can_cast", out_flag.named("out_flag"), || {
        let (from, to) = (named("from", from)?, named("to", to)?);
        Ok(from.can_cast(to))
    })
}

fn named(name: &str, number: i32) -> Result<DType> {
    DType::from_number(number).map_err(|e| e.context(name))
}

/// Returns the limits of a dtype. The caller sets `out_limits->struct_size`; at most that many bytes are written.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_dtype_info(dtype: i32, out_limits: Out<lxla_dtype_limits>) -> lxla_status {
    guard_into("lxla_dtype_info", out_limits.versioned("out_limits"), || DType::from_number(dtype).map(limits))
}

/// Returns a scalar converted to another dtype, as NumPy's astype does it, for frontends whose scalars may overflow:
/// operations with scalars return INVALID_ARGUMENT for a value that the dtype cannot represent. The result is that of
/// `lxla_convert` of a tensor on cpu with this value:
///
/// - Integers to integers: modulo 2^bits.
/// - Numbers to floats: rounded to nearest, ties to even, first to f32 for 8-bit floats, and for integers to floats of 16
///   bits; overflow gives infinity, NaN if the dtype has none, or the largest number if it has neither (f4e2m1fn, where
///   NaN becomes -0).
/// - Floats to integers: truncated toward zero; values out of range give the smallest or largest integer, NaN 0.
/// - Complex numbers to other numbers: the real part.
/// - All to pred: 1 if the value is not 0.
///
/// The scalar first takes its own dtype by the same rules: f32 0.1 to f64 is 0.1 rounded to f32, s8 300 is 44.
/// `out_scalar` may be `scalar`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_scalar_cast(scalar: In<lxla_scalar>, dtype: i32, out_scalar: Out<lxla_scalar>) -> lxla_status {
    guard_into("lxla_scalar_cast", out_scalar.named("out_scalar"), || {
        let (from, value) = self::scalar("scalar", scalar)?;
        native::cast(from, value, DType::from_number(dtype)?).map(|value| scalar_of(dtype, value))
    })
}

/// Scalar of a dtype to which the value's kind belongs. Bytes that the dtype does not select are 0.
fn scalar_of(dtype: i32, value: ScalarValue) -> lxla_scalar {
    let mut scalar = lxla_scalar { dtype, reserved: 0, value: lxla_scalar_value { c: [0.0; 2] } };
    match value {
        ScalarValue::Float(f) => scalar.value.f = f,
        ScalarValue::Signed(i) => scalar.value.i = i,
        ScalarValue::Unsigned(u) => scalar.value.u = u,
        ScalarValue::Complex(re, im) => scalar.value.c = [re, im],
    }
    scalar
}

fn limits(dtype: DType) -> lxla_dtype_limits {
    let none = FloatLimits {
        min: 0.0,
        max: 0.0,
        eps: 0.0,
        smallest_normal: 0.0,
        smallest_subnormal: 0.0,
        mantissa_bits: 0,
        exponent_bits: 0,
        digits: 0,
        has_infinity: false,
        has_negative_zero: false,
    };
    let (integer, float) = (integer_limits(dtype), float_limits(dtype));
    let as_float = |limits: base::types::IntegerLimits| (limits.min as f64, limits.max as f64);
    let of = float.unwrap_or(none);
    let (min, max) = integer.map_or((of.min, of.max), as_float);
    lxla_dtype_limits {
        struct_size: size_of::<lxla_dtype_limits>(),
        kind: match dtype.wide().kind() {
            Kind::Pred => LXLA_KIND_PRED,
            Kind::Signed => LXLA_KIND_SIGNED,
            Kind::Unsigned | Kind::Subbyte => LXLA_KIND_UNSIGNED,
            Kind::Float | Kind::Float8 => LXLA_KIND_FLOAT,
            Kind::Complex => LXLA_KIND_COMPLEX,
        },
        bits: dtype.real().bit_width() as i32,
        mantissa_bits: of.mantissa_bits,
        exponent_bits: of.exponent_bits,
        digits: of.digits,
        has_infinity: of.has_infinity.into(),
        has_nan: (float.is_some() && dtype != DType::F4E2M1FN).into(),
        has_negative_zero: of.has_negative_zero.into(),
        eps: of.eps,
        min,
        max,
        smallest_normal: of.smallest_normal,
        smallest_subnormal: of.smallest_subnormal,
        integer_min: integer.map_or(0, |limits| limits.min),
        integer_max: integer.map_or(0, |limits| limits.max),
    }
}
