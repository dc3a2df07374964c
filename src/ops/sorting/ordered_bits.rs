//! Maps elements to integer keys in the same order, and searches among keys. Comparisons of integers are the same on
//! every device; comparisons of denormal floats are not.

use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, NodeId, Trace};
use crate::ops::creation::constants::{constant, full, iota};
use crate::ops::elementwise::binary::{binary, binary_scalar};
use crate::ops::elementwise::bits::bitcast_convert;
use crate::ops::elementwise::compare_select::{compare, compare_scalar, select};
use crate::ops::elementwise::complex::{imag, real};
use crate::ops::elementwise::convert::convert;
use crate::ops::elementwise::fold_barrier::unsigned;
use crate::ops::indexing::along::take_along_axis;
use crate::ops::indexing::dynamic::take;
use crate::ops::infer::places_dtype;
use crate::types::{DType, Kind, Scalar, ScalarValue, TensorType};

/// Records integer keys that compare as the elements do: NaN is greater than every number and equal to itself, zeros
/// are equal. Complex numbers have two keys, compared in order; with a NaN in either part both are the key of NaN.
pub fn keys(trace: &mut Trace, x: NodeId) -> Result<Vec<NodeId>> {
    let dtype = trace.node(x).dtype;
    match dtype.kind() {
        Kind::Pred => Ok(vec![convert(trace, x, DType::U8)]),
        Kind::Signed | Kind::Unsigned => Ok(vec![x]),
        // Bits of an f8e8m0fnu are in ascending order, with NaN last.
        Kind::Float8 if dtype == DType::F8E8M0FNU => Ok(vec![bitcast_convert(trace, x, DType::U8)?]),
        Kind::Float8 => {
            let wide = convert(trace, x, DType::F32);
            Ok(vec![key_of_float(trace, wide)?])
        }
        Kind::Float => Ok(vec![key_of_float(trace, x)?]),
        Kind::Complex => {
            let (keys, [re_is_nan, im_is_nan]) = keys_of_parts(trace, x)?;
            let either = binary(trace, BinaryOp::Or, re_is_nan, im_is_nan)?;
            let nan = constant(trace, &[], key_of_nan(trace.node(keys[0]).dtype));
            keys.into_iter().map(|key| select(trace, either, nan, key)).collect()
        }
    }
}

/// Records integer keys in NumPy's sort order of `x`, compared in order. They differ from [`keys`] in complex numbers
/// with a NaN: these come last, first those with a NaN imaginary part, then those with a NaN real part, then those with
/// both, each in the order of the other part.
pub fn sort_keys(trace: &mut Trace, x: NodeId) -> Result<Vec<NodeId>> {
    if trace.node(x).dtype.kind() != Kind::Complex {
        return keys(trace, x);
    }
    let ([re, im], is_nan) = keys_of_parts(trace, x)?;
    let [re_is_nan, im_is_nan] = is_nan.map(|is| convert(trace, is, DType::S32));
    let twice = binary_scalar(trace, BinaryOp::Multiply, re_is_nan, ScalarValue::Signed(2), false)?;
    let class = binary(trace, BinaryOp::Add, twice, im_is_nan)?;
    Ok(vec![class, re, im])
}

/// Records the keys of the real and imaginary parts of complex numbers, and whether each part is NaN.
fn keys_of_parts(trace: &mut Trace, x: NodeId) -> Result<([NodeId; 2], [NodeId; 2])> {
    let parts = [real(trace, x)?, imag(trace, x)?];
    let keys = [key_of_float(trace, parts[0])?, key_of_float(trace, parts[1])?];
    let nan = constant(trace, &[], key_of_nan(trace.node(keys[0]).dtype));
    let is_nan = [compare(trace, CompareOp::Eq, keys[0], nan)?, compare(trace, CompareOp::Eq, keys[1], nan)?];
    Ok((keys, is_nan))
}

/// Records whether elements are not 0. NaN is not 0.
pub fn is_nonzero(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    match ty.dtype.kind() {
        Kind::Pred => Ok(x),
        Kind::Signed | Kind::Unsigned => compare_scalar(trace, CompareOp::Ne, x, ScalarValue::Unsigned(0), false),
        Kind::Float8 if ty.dtype == DType::F8E8M0FNU => {
            full(trace, &TensorType { dtype: DType::Pred, dims: ty.dims }, ScalarValue::Unsigned(1))
        }
        Kind::Float8 => {
            let wide = convert(trace, x, DType::F32);
            is_nonzero(trace, wide)
        }
        Kind::Float => {
            let bits = bitcast_convert(trace, x, unsigned(&ty).dtype)?;
            let size = binary(trace, BinaryOp::Add, bits, bits)?;
            compare_scalar(trace, CompareOp::Ne, size, ScalarValue::Unsigned(0), false)
        }
        Kind::Complex => {
            let (re, im) = (real(trace, x)?, imag(trace, x)?);
            let (re, im) = (is_nonzero(trace, re)?, is_nonzero(trace, im)?);
            binary(trace, BinaryOp::Or, re, im)
        }
    }
}

/// An unsigned integer as a scalar of a dtype.
fn bits_of(dtype: DType, value: u64) -> Scalar {
    Scalar::new(dtype, ScalarValue::Unsigned(value)).expect("bits of the dtype's width")
}

/// Key of NaN: all bits set.
fn key_of_nan(dtype: DType) -> Scalar {
    bits_of(dtype, u64::MAX >> (64 - 8 * dtype.size_bytes()))
}

/// Bits of infinity, the largest float that is not NaN.
fn infinity(dtype: DType) -> u64 {
    match dtype {
        DType::F16 => 0x7C00,
        DType::BF16 => 0x7F80,
        DType::F32 => 0x7F80_0000,
        _ => 0x7FF0_0000_0000_0000,
    }
}

/// Records the keys of floats: the sign bit plus the bits of the magnitude for positive numbers, and the sign bit minus
/// these for negative ones, whose bits are in the opposite order.
fn key_of_float(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    let dtype = unsigned(&ty).dtype;
    let bits = bitcast_convert(trace, x, dtype)?;
    let all = u64::MAX >> (64 - 8 * dtype.size_bytes());
    let sign = all ^ (all >> 1);
    let scalar = |trace: &mut Trace, value: u64| constant(trace, &[], bits_of(dtype, value));
    let (signs, rest) = (scalar(trace, sign), scalar(trace, all ^ sign));
    let size = binary(trace, BinaryOp::And, bits, rest)?;
    let infinity = scalar(trace, infinity(ty.dtype));
    let is_nan = compare(trace, CompareOp::Gt, size, infinity)?;
    let is_positive = compare(trace, CompareOp::Lt, bits, signs)?;
    let above = binary(trace, BinaryOp::Add, size, signs)?;
    let below = binary(trace, BinaryOp::Subtract, signs, size)?;
    let key = select(trace, is_positive, above, below)?;
    let nan = constant(trace, &[], key_of_nan(dtype));
    select(trace, is_nan, nan, key)
}

/// Records whether `a` precedes `b`, or with `or_equal` is equal to it. Keys are compared in order.
fn precedes(trace: &mut Trace, a: &[NodeId], b: &[NodeId], or_equal: bool) -> Result<NodeId> {
    let ([first, rest_a @ ..], [other, rest_b @ ..]) = (a, b) else { unreachable!("elements have keys") };
    if rest_a.is_empty() {
        return compare(trace, if or_equal { CompareOp::Le } else { CompareOp::Lt }, *first, *other);
    }
    let less = compare(trace, CompareOp::Lt, *first, *other)?;
    let equal = compare(trace, CompareOp::Eq, *first, *other)?;
    let later = precedes(trace, rest_a, rest_b, or_equal)?;
    let decided = binary(trace, BinaryOp::And, equal, later)?;
    binary(trace, BinaryOp::Or, less, decided)
}

/// Records a binary search: the positions at which to insert `values` into a sorted row of `n` elements. A position is
/// the number of elements before the value, or with `right` of those that are not after it. Row and values are given by
/// their keys. Each of as many steps as `n` has bits reads one element. Rows of more axes are searched for the values
/// along their last axis, with the same other axes.
pub fn search(trace: &mut Trace, row: &[NodeId], n: i64, values: &[NodeId], right: bool) -> Result<NodeId> {
    let dtype = places_dtype(n);
    let dims = trace.ty(values[0]).dims;
    let ty = TensorType { dtype, dims };
    let mut found = full(trace, &ty, ScalarValue::Unsigned(0))?;
    if n == 0 || ty.elements() == 0 {
        return Ok(found);
    }
    for bit in (0..=n.ilog2()).rev() {
        let next = binary_scalar(trace, BinaryOp::Add, found, ScalarValue::Signed(1 << bit), false)?;
        let is_within = compare_scalar(trace, CompareOp::Le, next, ScalarValue::Signed(n), false)?;
        // Take clamps indices out of bounds and reads the last element; the result is discarded.
        let at = binary_scalar(trace, BinaryOp::Subtract, next, ScalarValue::Signed(1), false)?;
        let seen = row.iter().map(|&row| read(trace, row, at)).collect::<Result<Vec<NodeId>>>()?;
        let goes_on = precedes(trace, &seen, values, right)?;
        let goes_on = binary(trace, BinaryOp::And, goes_on, is_within)?;
        found = select(trace, goes_on, next, found)?;
    }
    Ok(found)
}

/// Records elements of a row, or of rows along the last axis.
fn read(trace: &mut Trace, row: NodeId, at: NodeId) -> Result<NodeId> {
    if trace.ty(row).dims.len() == 1 { take(trace, row, at, 0) } else { take_along_axis(trace, row, at, -1) }
}

/// Records 0, 1, 2, ... as a vector, in the dtype of positions in a row of `n` elements.
pub fn counted(trace: &mut Trace, length: i64, n: i64) -> Result<NodeId> {
    iota(trace, &TensorType::new(places_dtype(n.max(length)), &[length]), 0)
}
