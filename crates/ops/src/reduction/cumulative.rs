//! Cumulative logaddexp, by doubling: after the step of length `k`, each element has combined the `2 k` elements up to
//! it. The steps are a loop: XLA fuses unrolled ones, and copies each into both of its uses in the next one, which takes
//! 20 seconds to compile for 1000 complex numbers on a CPU, and the loop less than one.

use crate::control::loops::scan_over;
use crate::creation::constants::{full, iota};
use crate::definition::Composed;
use crate::elementwise::binary::binary_scalar;
use crate::elementwise::compare_select::select;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{record, widened};
use crate::elementwise::functions::of_two::binary_function;
use crate::indexing::dynamic::dynamic_slice;
use crate::infer::{places_dtype, refuse};
use crate::shape::slicing::pad_scalar;
use base::error::Result;
use base::types::{Kind, ScalarValue, TensorType, normalize_axis};
use ir::{BinaryFunction, BinaryOp, NodeId, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[Composed {
    name: "cumulative_logaddexp",
    function: "lxla_cumulative_logaddexp",
    dtypes: "floats, 8-bit floats, complex numbers",
}];

/// Records the logarithms of the cumulative sums of `e^x` along an axis, from its start, or with `reverse` from its end.
pub fn cumulative_logaddexp(trace: &mut Trace, x: NodeId, axis: i64, reverse: bool) -> Result<NodeId> {
    let ty = trace.ty(x);
    if !ty.dtype.is_float() && ty.dtype.kind() != Kind::Complex {
        return Err(refuse("cumulative_logaddexp", "x", &ty, "floats and complex numbers"));
    }
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    if ty.elements() == 0 {
        return Ok(x);
    }
    let n = ty.dims[axis];
    if n == 1 && ty.dtype.kind() != Kind::Complex {
        return Ok(x);
    }
    // A single complex number is combined with nothing, too: that brings its imaginary part between -pi and pi.
    let steps = i64::from((n - 1).max(1).ilog2()) + 1;
    let wide = convert(trace, x, widened(ty.dtype));
    let dtype = places_dtype(n.saturating_mul(2));
    let counts = iota(trace, &TensorType::new(dtype, &[steps]), 0)?;
    let lengths = binary_scalar(trace, BinaryOp::ShiftLeft, counts, ScalarValue::Signed(1), true)?;
    let made = scan_over(trace, &[wide], &[lengths], &[], steps, |trace, carried, slices, _| {
        let (x, by) = (carried[0], slices[0]);
        let before = shifted(trace, x, by, axis, reverse)?;
        let combined = binary_function(trace, BinaryFunction::Logaddexp, x, before)?;
        if ty.dtype.kind() == Kind::Complex {
            return Ok(vec![combined]);
        }
        // Elements without others before them stay: at -infinity, their derivative is not shared with the padding.
        let mut dims = vec![1; ty.dims.len()];
        dims[axis] = n;
        let places = iota(trace, &TensorType::new(dtype, &dims), axis as i64)?;
        let edge = if reverse { from_end(trace, n, by)? } else { by };
        let is_first =
            record(trace, [places, edge], |[place, edge]| if reverse { place.ge(edge) } else { place.lt(edge) })?;
        Ok(vec![select(trace, is_first, x, combined)?])
    })?[0];
    Ok(convert(trace, made, ty.dtype))
}

/// Records `x` moved by `by`, a scalar from 1 to the axis's length, towards the end of an axis, or with `reverse` towards
/// its start. Elements that come from outside of `x` are -infinity.
fn shifted(trace: &mut Trace, x: NodeId, by: NodeId, axis: usize, reverse: bool) -> Result<NodeId> {
    let ty = trace.ty(x);
    let n = ty.dims[axis];
    let none = vec![0; ty.dims.len()];
    let mut more = none.clone();
    more[axis] = n;
    let (low, high) = if reverse { (&none, &more) } else { (&more, &none) };
    let long = pad_scalar(trace, x, ScalarValue::Float(f64::NEG_INFINITY), low, high, &none)?;
    let dtype = trace.node(by).dtype;
    let start = if reverse { by } else { from_end(trace, n, by)? };
    let zero = full(trace, &TensorType::new(dtype, &[]), ScalarValue::Signed(0))?;
    let mut starts = vec![zero; ty.dims.len()];
    starts[axis] = start;
    dynamic_slice(trace, long, &starts, &ty.dims)
}

/// Records `n - by`.
fn from_end(trace: &mut Trace, n: i64, by: NodeId) -> Result<NodeId> {
    binary_scalar(trace, BinaryOp::Subtract, by, ScalarValue::Signed(n), true)
}
