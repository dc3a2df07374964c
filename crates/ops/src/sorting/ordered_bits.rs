//! Maps elements to integer keys in the same order, and searches among keys. Comparisons of integers are the same on
//! every device; comparisons of denormal floats are not.

use crate::creation::constants::{full, iota};
use crate::elementwise::formula::{Expr, Formula, record};
use crate::indexing::along::take_along_axis;
use crate::indexing::dynamic::take;
use crate::infer::places_dtype;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType};
use ir::{NodeId, Trace};

/// Records integer keys that compare as the elements do: NaN is greater than every number and equal to itself, zeros
/// are equal. Complex numbers have two keys, compared in order; with a NaN in either part both are the key of NaN.
pub fn keys(trace: &mut Trace, x: NodeId) -> Result<Vec<NodeId>> {
    let f = Formula::new(trace);
    f.finish_list(&keys_of(f.operand(x)))
}

/// The expressions of [`keys`].
fn keys_of(x: Expr) -> Vec<Expr> {
    let dtype = x.dtype();
    match dtype.kind() {
        Kind::Pred => vec![x.convert(DType::U8)],
        Kind::Signed | Kind::Unsigned => vec![x],
        // Bits of an f8e8m0fnu are in ascending order, with NaN last.
        Kind::Float8 if dtype == DType::F8E8M0FNU => vec![x.bits(DType::U8)],
        Kind::Float8 => vec![key_of_float(x.convert(DType::F32))],
        Kind::Subbyte => keys_of(x.convert(dtype.wide())),
        Kind::Float => vec![key_of_float(x)],
        Kind::Complex => {
            let (keys, [re_is_nan, im_is_nan]) = keys_of_parts(x);
            let (either, nan) = (re_is_nan | im_is_nan, key_of_nan(keys[0]));
            keys.map(|key| either.select(nan, key)).to_vec()
        }
    }
}

/// Records integer keys in NumPy's sort order of `x`, compared in order. They differ from [`keys`] in complex numbers
/// with a NaN: these come last, first those with a NaN imaginary part, then those with a NaN real part, then those with
/// both, each in the order of the other part.
pub fn sort_keys(trace: &mut Trace, x: NodeId) -> Result<Vec<NodeId>> {
    let f = Formula::new(trace);
    let x = f.operand(x);
    if x.dtype().kind() != Kind::Complex {
        return f.finish_list(&keys_of(x));
    }
    let ([re, im], is_nan) = keys_of_parts(x);
    let [re_is_nan, im_is_nan] = is_nan.map(|is| is.convert(DType::S32));
    f.finish_list(&[re_is_nan * 2_i64 + im_is_nan, re, im])
}

/// The keys of the real and imaginary parts of complex numbers, and whether each part is NaN.
fn keys_of_parts(x: Expr) -> ([Expr; 2], [Expr; 2]) {
    let keys = [x.real(), x.imag()].map(key_of_float);
    let nan = key_of_nan(keys[0]);
    (keys, keys.map(|key| key.eq(nan)))
}

/// Records whether elements are not 0. NaN is not 0.
pub fn is_nonzero(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    record(trace, [x], |[x]| differs_from_0(x))
}

/// The expression of [`is_nonzero`].
fn differs_from_0(x: Expr) -> Expr {
    let dtype = x.dtype();
    match dtype.kind() {
        Kind::Pred => x,
        Kind::Signed | Kind::Unsigned => x.ne(0_i64),
        Kind::Float8 if dtype == DType::F8E8M0FNU => x.apply(|trace, x| {
            let ty = TensorType { dtype: DType::Pred, dims: trace.ty(x).dims };
            full(trace, &ty, ScalarValue::Unsigned(1))
        }),
        Kind::Float8 | Kind::Subbyte => differs_from_0(x.convert(dtype.wide())),
        Kind::Float => {
            let bits = x.bits(dtype.bits());
            (bits + bits).ne(0_i64)
        }
        Kind::Complex => differs_from_0(x.real()) | differs_from_0(x.imag()),
    }
}

/// Unsigned integer of a dtype's width with all bits set.
fn all_bits(dtype: DType) -> u64 {
    u64::MAX >> (64 - 8 * dtype.size_bytes())
}

/// Key of NaN in the dtype of `key`: all bits set.
fn key_of_nan(key: Expr) -> Expr {
    key.constant(ScalarValue::Unsigned(all_bits(key.dtype())))
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

/// The keys of floats: the sign bit plus the bits of the magnitude for positive numbers, and the sign bit minus these
/// for negative ones, whose bits are in the opposite order.
fn key_of_float(x: Expr) -> Expr {
    let dtype = x.dtype();
    let bits = x.bits(dtype.bits());
    let number = |value: u64| bits.constant(ScalarValue::Unsigned(value));
    let magnitude = all_bits(dtype) >> 1;
    let sign = number(magnitude + 1);
    let size = bits & number(magnitude);
    let is_nan = size.gt(number(infinity(dtype)));
    let key = bits.lt(sign).select(size + sign, sign - size);
    is_nan.select(key_of_nan(bits), key)
}

/// Compares keys in order: true if `a` precedes `b`, or with `or_equal` if it is equal to it.
fn precedes<'f>(a: &[Expr<'f>], b: &[Expr<'f>], or_equal: bool) -> Expr<'f> {
    let (&[first, ref rest_a @ ..], &[other, ref rest_b @ ..]) = (a, b) else { unreachable!("elements have keys") };
    match rest_a {
        [] if or_equal => first.le(other),
        [] => first.lt(other),
        _ => first.lt(other) | first.eq(other) & precedes(rest_a, rest_b, or_equal),
    }
}

/// Records a binary search: the positions at which to insert `values` into a sorted row of `n` elements. A position is
/// the number of elements before the value, or with `right` of those that are not after it. Row and values are given by
/// their keys. Each of as many steps as `n` has bits reads one element. Rows of more axes are searched for the values
/// along their last axis, with the same other axes.
pub fn search(trace: &mut Trace, row: &[NodeId], n: i64, values: &[NodeId], right: bool) -> Result<NodeId> {
    let ty = TensorType { dtype: places_dtype(n), dims: trace.ty(values[0]).dims };
    let start = full(trace, &ty, ScalarValue::Unsigned(0))?;
    if n == 0 || ty.elements() == 0 {
        return Ok(start);
    }
    let f = Formula::new(trace);
    let (row, values) = (f.operands(row), f.operands(values));
    let mut found = f.operand(start);
    for bit in (0..=n.ilog2()).rev() {
        let next = found + (1_i64 << bit);
        let is_within = next.le(n);
        // Take clamps indices out of bounds and reads the last element; the result is discarded.
        let at = next - 1_i64;
        let seen: Vec<Expr> = row.iter().map(|row| row.apply_with(at, read)).collect();
        found = (precedes(&seen, &values, right) & is_within).select(next, found);
    }
    f.finish(found)
}

/// Records elements of a row, or of rows along the last axis.
fn read(trace: &mut Trace, row: NodeId, at: NodeId) -> Result<NodeId> {
    if trace.ty(row).dims.len() == 1 { take(trace, row, at, 0) } else { take_along_axis(trace, row, at, -1) }
}

/// Records 0, 1, 2, ... as a vector, in the dtype of positions in a row of `n` elements.
pub fn counted(trace: &mut Trace, length: i64, n: i64) -> Result<NodeId> {
    iota(trace, &TensorType::new(places_dtype(n.max(length)), &[length]), 0)
}
