//! Cumulative logaddexp, by doubling: after the step of length `k`, each element has combined the `2 k` elements up to
//! it.

use crate::error::Result;
use crate::ir::{BinaryFunction, NodeId, Trace};
use crate::ops::definition::Composed;
use crate::ops::elementwise::convert::convert;
use crate::ops::elementwise::formula::widened;
use crate::ops::elementwise::functions::of_two::binary_function;
use crate::ops::infer::refuse;
use crate::ops::shape::slicing::pad_scalar;
use crate::types::{Kind, ScalarValue, normalize_axis};

/// Table entries of the composed operations.
pub(in crate::ops) const COMPOSED: &[Composed] = &[Composed {
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
    let mut made = convert(trace, x, widened(ty.dtype));
    let inside = vec![0; ty.dims.len()];
    let mut step = 1;
    // A single complex number is combined with nothing, too: that brings its imaginary part between -pi and pi.
    while step < ty.dims[axis] || (step == 1 && ty.dtype.kind() == Kind::Complex) {
        let (mut low, mut high) = (inside.clone(), inside.clone());
        let [into, out] = if reverse { [&mut high, &mut low] } else { [&mut low, &mut high] };
        (into[axis], out[axis]) = (step, -step);
        let before = pad_scalar(trace, made, ScalarValue::Float(f64::NEG_INFINITY), &low, &high, &inside)?;
        made = binary_function(trace, BinaryFunction::Logaddexp, made, before)?;
        step *= 2;
    }
    Ok(convert(trace, made, ty.dtype))
}
