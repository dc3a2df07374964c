//! Chapter Elementwise operations: arithmetic, functions, comparisons, conversions, complex numbers, bits.

use super::abi::arguments::{flag, optional_scalar, out, scalar};
use super::abi::guard::guard;
use super::types::*;
use crate::error::Result;
use crate::ir::CompareOp;
use crate::ops::{BinaryMember, SpecialOp, UnaryMember};
use crate::tensor::Choice;
use crate::types::{DType, ScalarValue};
use crate::{error, tensor};

/// Records an elementwise operation, one of `LXLA_UNARY_*`. The result has x's shape and dtype; ABS of a complex tensor is
/// real, IS_FINITE, IS_NAN, IS_INF and SIGNBIT give pred. Functions of f16 and bf16 are computed in f32, and rounded once.
/// docs/operations.md says what each takes, and how accurate it is.
///
/// FLOOR, CEIL, ROUND_* and TRUNC of integers, ABS of unsigned ones and CONJ of what is real give x. Integers and pred are
/// finite, and neither NaN nor infinite. A complex number is finite if both parts are, NaN if one is, infinite if one is. SIGNBIT
/// is true of every float with a sign: negative ones, -0, NaN with its sign bit set; and of negative integers. TRUNC rounds
/// towards 0 and keeps the sign, so that -0.5 gives -0. LOG2 of a power of 2 is exact; of 0 LOG2 and LOG10 are -infinity, of negative
/// numbers NaN. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_unary(op: i32, x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_unary", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::unary(UnaryMember::from_number(op)?, x.into())?.into())
    })
}

/// Records an elementwise operation, one of `LXLA_BINARY_*`. Shapes broadcast as in NumPy, dtypes promote as in the Python
/// array API standard (f16 with bf16 gives f32); anything outside it is INVALID_ARGUMENT. Integer division truncates, and by
/// 0 gives all ones, with x left over; an integer to a negative power is 0, but for 1 and -1; a complex 0 to a power without
/// positive real part is NaN. XLA may contract a*b+c, and flushes denormals.
///
/// FLOOR_DIVIDE and MODULO are Python's and NumPy's `//` and `%`: the quotient is rounded down, what is left has the divisor's
/// sign (REMAINDER is C's `%` and `fmod`, with the dividend's). Integers by 0 give 0 for both, and the lowest one by -1 gives
/// itself and 0; floats by 0 give the quotient, infinite or NaN, and NaN; a finite number modulo an infinity of the other sign is
/// that infinity. COPYSIGN gives floats of lhs with the signs of rhs, those of -0 and NaN among them. HYPOT is the root of the
/// sum of squares without overflow on the way, and infinite if an operand is, beside NaN too. LOGADDEXP is log(e^lhs + e^rhs) without
/// overflow, and -infinity for two of them. The latter three take floats. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_binary(
    op: i32,
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_binary", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::binary(BinaryMember::from_number(op)?, lhs.into(), rhs.into())?.into())
    })
}

/// dst = dst (op) rhs: gives `dst` the result as its value. The result has dst's dtype and shape (INVALID_ARGUMENT
/// otherwise). Snapshots of dst, and what was recorded with it before, keep the old value. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_binary_inplace(op: i32, dst: lxla_tensor, rhs: lxla_tensor) -> lxla_status {
    guard("lxla_binary_inplace", || tensor::binary_inplace(BinaryMember::from_number(op)?, dst.into(), rhs.into()))
}

/// Records lhs (op) scalar. The scalar takes the tensor's dtype; one that it cannot represent is INVALID_ARGUMENT. A scalar
/// that changes from step to step costs one more compile, ever. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_binary_scalar(
    op: i32,
    lhs: lxla_tensor,
    rhs: f64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_binary_scalar", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let op = BinaryMember::from_number(op)?;
        place.set(tensor::binary_scalar(op, lhs.into(), ScalarValue::Float(rhs), false)?.into())
    })
}

/// dst = dst (op) scalar, as `lxla_binary_scalar` in place. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_binary_scalar_inplace(op: i32, dst: lxla_tensor, rhs: f64) -> lxla_status {
    guard("lxla_binary_scalar_inplace", || {
        tensor::binary_scalar_inplace(BinaryMember::from_number(op)?, dst.into(), ScalarValue::Float(rhs))
    })
}

/// Records lhs (op) rhs, or with `scalar_on_left` 1 rhs (op) lhs, for scalars that a double cannot hold (64-bit integers,
/// complex numbers) and for 1 - x. The scalar takes the tensor's dtype; one that it cannot represent is INVALID_ARGUMENT.
/// Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_binary_with_scalar(
    op: i32,
    lhs: lxla_tensor,
    rhs: *const lxla_scalar,
    scalar_on_left: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_binary_with_scalar", || {
        // SAFETY: the caller's promise, see `capi`.
        let (rhs, place) = unsafe { (scalar("rhs", rhs)?.1, out("out_tensor", out_tensor)?) };
        let op = BinaryMember::from_number(op)?;
        let scalar_on_left = flag("scalar_on_left", scalar_on_left)?;
        place.set(tensor::binary_scalar(op, lhs.into(), rhs, scalar_on_left)?.into())
    })
}

/// dst = dst (op) rhs, or with `scalar_on_left` 1 dst = rhs (op) dst, as `lxla_binary_with_scalar` in place. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_binary_with_scalar_inplace(
    op: i32,
    dst: lxla_tensor,
    rhs: *const lxla_scalar,
    scalar_on_left: i32,
) -> lxla_status {
    guard("lxla_binary_with_scalar_inplace", || {
        // SAFETY: the caller's promise, see `capi`.
        let rhs = unsafe { scalar("rhs", rhs)?.1 };
        let (op, scalar_on_left) = (BinaryMember::from_number(op)?, flag("scalar_on_left", scalar_on_left)?);
        tensor::binary_with_scalar_inplace(op, dst.into(), rhs, scalar_on_left)
    })
}

/// Records a comparison, one of `LXLA_COMPARE_*`: broadcast and promoted as `lxla_binary`, giving pred. Complex numbers have
/// EQ and NE only. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_compare(
    op: i32,
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_compare", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::compare(CompareOp::from_number(op)?, lhs.into(), rhs.into())?.into())
    })
}

/// Records lhs (op) scalar, a comparison. The scalar takes the tensor's dtype; one that it cannot represent is
/// INVALID_ARGUMENT. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_compare_scalar(
    op: i32,
    lhs: lxla_tensor,
    rhs: f64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_compare_scalar", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let op = CompareOp::from_number(op)?;
        place.set(tensor::compare_scalar(op, lhs.into(), ScalarValue::Float(rhs), false)?.into())
    })
}

/// Records lhs (op) rhs, or with `scalar_on_left` 1 rhs (op) lhs, for scalars that a double cannot hold. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_compare_with_scalar(
    op: i32,
    lhs: lxla_tensor,
    rhs: *const lxla_scalar,
    scalar_on_left: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_compare_with_scalar", || {
        // SAFETY: the caller's promise, see `capi`.
        let (rhs, place) = unsafe { (scalar("rhs", rhs)?.1, out("out_tensor", out_tensor)?) };
        let (op, scalar_on_left) = (CompareOp::from_number(op)?, flag("scalar_on_left", scalar_on_left)?);
        place.set(tensor::compare_scalar(op, lhs.into(), rhs, scalar_on_left)?.into())
    })
}

/// Records pred ? on_true : on_false, element by element; all three broadcast, and the last two promote. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_select(
    pred: lxla_tensor,
    on_true: lxla_tensor,
    on_false: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_select", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::select(pred.into(), on_true.into(), on_false.into())?.into())
    })
}

/// Records pred ? on_true : on_false, as `lxla_select`, where each side is a tensor (and its scalar NULL) or a scalar (and its
/// tensor the handle 0). A scalar beside a tensor takes its dtype, and is INVALID_ARGUMENT if that cannot represent it; two
/// scalars take the dtype that theirs promote to. A scalar that changes from step to step costs one more compile, ever. Gives
/// one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_select_with_scalars(
    pred: lxla_tensor,
    on_true: lxla_tensor,
    true_scalar: *const lxla_scalar,
    on_false: lxla_tensor,
    false_scalar: *const lxla_scalar,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_select_with_scalars", || {
        // SAFETY: the caller's promise, see `capi`.
        let (on_true, on_false, place) = unsafe {
            (
                choice(["on_true", "true_scalar"], on_true, true_scalar)?,
                choice(["on_false", "false_scalar"], on_false, false_scalar)?,
                out("out_tensor", out_tensor)?,
            )
        };
        place.set(tensor::select_with_scalars(pred.into(), on_true, on_false)?.into())
    })
}

/// Records x, but at least `min` and at most `max`, as NumPy's clip: all three broadcast and promote to one dtype. Where
/// min is greater than max, the result is max; NaN in any of them gives NaN. Not of complex numbers. Gives one reference. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_clamp(
    min: lxla_tensor,
    x: lxla_tensor,
    max: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_clamp", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::clamp(min.into(), x.into(), max.into())?.into())
    })
}

/// Records x with its elements held between two scalars, which take x's dtype (INVALID_ARGUMENT if it cannot represent them): at
/// least `min`, then at most `max`, as `lxla_clamp`. NULL is no bound, as None in NumPy's clip. Takes pred, integers and floats; NaN
/// stays. A scalar that changes from step to step costs one more compile, ever. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_clamp_with_scalars(
    x: lxla_tensor,
    min: *const lxla_scalar,
    max: *const lxla_scalar,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_clamp_with_scalars", || {
        // SAFETY: the caller's promise, see `capi`.
        let (min, max, place) =
            unsafe { (optional_scalar("min", min)?, optional_scalar("max", max)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::clamp_with_scalars(min, x.into(), max)?.into())
    })
}

/// Records a conversion to another dtype. To pred: whether it is not 0, a complex number in either part (StableHLO looks at
/// the real part only). From a float to an integer: towards 0; what does not
/// fit is up to the plugin. From complex to real: the real part. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_convert(x: lxla_tensor, dtype: i32, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_convert", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::convert(x.into(), DType::from_number(dtype)?)?.into())
    })
}

/// Records a function of floats, one of `LXLA_SPECIAL_*`: ERF the error function, ERFC 1 less that, accurate where it is small.
/// f16 and bf16 are computed in f32, and rounded once. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_special(op: i32, x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_special", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::special(SpecialOp::from_number(op)?, x.into())?.into())
    })
}

/// Records the complex numbers of two parts, which broadcast and promote: c64 of f32, c128 of f64. Gives one reference. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_complex(
    real: lxla_tensor,
    imag: lxla_tensor,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_complex", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::complex(real.into(), imag.into())?.into())
    })
}

/// Records the real part: f32 of c64, f64 of c128. Any other dtype is its own. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_real(x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_real", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::real(x.into())?.into())
    })
}

/// Records the imaginary part: f32 of c64, f64 of c128. Of any other dtype, zeros of x's dtype and shape. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_imag(x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_imag", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::imag(x.into())?.into())
    })
}

/// Records the bits of x as elements of another dtype. With a narrower one, the result has one axis more: the parts of each
/// element, the low bits first. With a wider one, x's last axis has as many elements as make one, and goes. Between integers
/// and floats; pred and complex numbers are INVALID_ARGUMENT, unless the dtype is x's own. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_bitcast_convert(x: lxla_tensor, dtype: i32, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_bitcast_convert", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::bitcast_convert(x.into(), DType::from_number(dtype)?)?.into())
    })
}

/// Records the floats of x, rounded to the nearest number of a format with `exponent_bits` (at least 1) and `mantissa_bits` (at
/// least 0; the leading 1 is not among them); dtype and shape stay. Ties go to the even one, which without a mantissa is that
/// whose exponent is even as the dtype writes it. What is too large is infinite, and NaN stays NaN. With fewer bits of
/// exponent than the dtype has, what is too small to be normal in the format is 0 of its sign. Bits that the dtype does not
/// have change nothing. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reduce_precision(
    x: lxla_tensor,
    exponent_bits: i32,
    mantissa_bits: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_reduce_precision", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::reduce_precision(x.into(), exponent_bits, mantissa_bits)?.into())
    })
}

/// The one of the two that is given.
unsafe fn choice([name, of_scalar]: [&str; 2], tensor: lxla_tensor, given: *const lxla_scalar) -> Result<Choice> {
    if given.is_null() {
        return Ok(Choice::Tensor(tensor.into()));
    }
    if tensor.id != 0 {
        return Err(error!(
            InvalidArgument,
            "{name}, {of_scalar}: a tensor and a scalar given; want one of them, and the other 0 or NULL"
        ));
    }
    // SAFETY: the caller's promise, see `capi`.
    let (dtype, value) = unsafe { scalar(of_scalar, given)? };
    Ok(Choice::Scalar(dtype, value))
}
