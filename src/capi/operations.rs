//! Chapter Operations.

use super::arguments::{axes_of, flag, out, ranked, scalar};
use super::guard::guard;
use super::tensor::handles;
use super::types::*;
use crate::ir::{CompareOp, ReduceOp};
use crate::ops::{BinaryMember, UnaryMember};
use crate::tensor;
use crate::types::{DType, ScalarValue};

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

/// Records another shape of as many elements, in row-major order. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reshape(
    x: lxla_tensor,
    dims: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_reshape", || {
        // SAFETY: the caller's promise, see `capi`.
        let (dims, place) = unsafe { (ranked("dims", dims, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::reshape(x.into(), dims)?.into())
    })
}

/// Records a broadcast to a shape, by NumPy's rules. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_broadcast_to(
    x: lxla_tensor,
    dims: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_broadcast_to", || {
        // SAFETY: the caller's promise, see `capi`.
        let (dims, place) = unsafe { (ranked("dims", dims, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::broadcast_to(x.into(), dims)?.into())
    })
}

/// Records a transposition: axis i of the result is axis `perm[i]` of x (negative: from the end); each axis once. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_transpose(
    x: lxla_tensor,
    perm: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_transpose", || {
        // SAFETY: the caller's promise, see `capi`.
        let (perm, place) = unsafe { (ranked("perm", perm, rank)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::transpose(x.into(), perm)?.into())
    })
}

/// Records a reduction, one of `LXLA_REDUCE_*`, over `n_axes` axes (negative: from the end), each once, or over all axes if
/// `axes` is NULL. With `keep_dims` 1 the axes stay, of size 1. SUM and PRODUCT keep the dtype, and accumulate f16 and bf16 in
/// f32; of pred they take 0 and 1 as numbers and give s64, as NumPy does (a sum counts what is true). MAX and MIN of nothing
/// are the dtype's lowest and highest value (infinities for floats); ALL and ANY take pred. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reduce(
    op: i32,
    x: lxla_tensor,
    axes: *const i64,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_reduce", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        let keep_dims = flag("keep_dims", keep_dims)?;
        place.set(tensor::reduce(ReduceOp::from_number(op)?, x.into(), &over, keep_dims)?.into())
    })
}

/// Records a matrix product by NumPy's rules: batch axes broadcast, a rank-1 operand is a vector, scalars are refused. f32
/// is multiplied in full precision on every device. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_matmul(lhs: lxla_tensor, rhs: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_matmul", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::matmul(lhs.into(), rhs.into())?.into())
    })
}

/// Records x[start : limit : stride] on each of `rank` axes, with 0 <= start <= limit <= size and stride >= 1. NULL strides
/// are all 1. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_slice(
    x: lxla_tensor,
    starts: *const i64,
    limits: *const i64,
    strides: *const i64,
    rank: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_slice", || {
        // SAFETY: the caller's promise, see `capi`.
        let (starts, limits, strides, place) = unsafe {
            let strides = if strides.is_null() { None } else { Some(ranked("strides", strides, rank)?) };
            (ranked("starts", starts, rank)?, ranked("limits", limits, rank)?, strides, out("out_tensor", out_tensor)?)
        };
        place.set(tensor::slice(x.into(), starts, limits, strides)?.into())
    })
}

/// Records the concatenation of `n` tensors (at least 1) along an axis (negative: from the end). They promote to one dtype
/// and have equal sizes on all other axes. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_concatenate(
    tensors: *const lxla_tensor,
    n: usize,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_concatenate", || {
        // SAFETY: the caller's promise, see `capi`.
        let (tensors, place) = unsafe { (handles("tensors", tensors, n)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::concatenate(&tensors, axis)?.into())
    })
}
