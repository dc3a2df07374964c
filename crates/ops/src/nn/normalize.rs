//! Softmax over an axis, layer normalization and RMS normalization.

use crate::control::custom::stop_gradient;
use crate::definition::Composed;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, Formula, check_wide, in_wide, widened};
use crate::infer::refuse;
use crate::reduction::statistics::{axes_of_floats, axis_of_floats, count, mean_of};
use base::error;
use base::error::Result;
use base::types::{DType, TensorType, broadcast};
use ir::{NodeId, ReduceOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "softmax", function: "lxla_softmax", dtypes: "floats, 8-bit floats" },
    Composed { name: "log_softmax", function: "lxla_log_softmax", dtypes: "floats, 8-bit floats" },
    Composed { name: "layer_norm", function: "lxla_layer_norm", dtypes: "floats, 8-bit floats" },
    Composed {
        name: "layer_norm_with_statistics",
        function: "lxla_layer_norm_with_statistics",
        dtypes: "floats, 8-bit floats",
    },
    Composed { name: "rms_norm", function: "lxla_rms_norm", dtypes: "floats, 8-bit floats" },
];

/// Records `e^x`, divided by its sum over an axis.
pub fn softmax(trace: &mut Trace, x: NodeId, axis: i64) -> Result<NodeId> {
    let axes = axis_of_floats(trace, "softmax", x, axis)?;
    in_wide(trace, x, |x| {
        let powers = below_largest(x, &axes).exp();
        powers / powers.reduce(ReduceOp::Sum, &axes, true)
    })
}

/// Records the logarithm of the softmax over an axis.
pub fn log_softmax(trace: &mut Trace, x: NodeId, axis: i64) -> Result<NodeId> {
    let axes = axis_of_floats(trace, "log_softmax", x, axis)?;
    in_wide(trace, x, |x| {
        let below = below_largest(x, &axes);
        below - below.exp().reduce(ReduceOp::Sum, &axes, true).log()
    })
}

/// `x` minus its maximum over axes. The maximum is a constant for derivatives, because the softmax does not depend on
/// it.
fn below_largest<'f>(x: Expr<'f>, axes: &[i64]) -> Expr<'f> {
    x - x.reduce(ReduceOp::Max, axes, true).apply(stop_gradient)
}

/// Records `(x - mean) / sqrt(variance + epsilon)` over axes, times `scale`, plus `offset`; both broadcast to `x`.
pub fn layer_norm(
    trace: &mut Trace,
    x: NodeId,
    axes: &[i64],
    scale: Option<NodeId>,
    offset: Option<NodeId>,
    epsilon: f64,
) -> Result<NodeId> {
    layer_norm_with_statistics(trace, x, axes, scale, offset, epsilon).map(|[result, _, _]| result)
}

/// Records a layer normalization, the mean, and `1 / sqrt(variance + epsilon)`. The axes of the statistics have size 1;
/// their dtype is that of the computation.
pub fn layer_norm_with_statistics(
    trace: &mut Trace,
    x: NodeId,
    axes: &[i64],
    scale: Option<NodeId>,
    offset: Option<NodeId>,
    epsilon: f64,
) -> Result<[NodeId; 3]> {
    let axes = axes_of_floats(trace, "layer_norm", x, axes)?;
    if axes.is_empty() {
        return Err(error!(InvalidArgument, "axes: none given; want at least 1"));
    }
    check_epsilon(trace, x, epsilon)?;
    let mut fitting = |name: &str, operand: Option<NodeId>| operand.map(|id| fitted(trace, name, id, x)).transpose();
    let (scale, offset) = (fitting("scale", scale)?, fitting("offset", offset)?);
    let f = Formula::new(trace);
    let given = f.operand(x);
    let dtype = given.dtype();
    let x = given.convert(widened(dtype));
    let mean = mean_of(x, &axes);
    let difference = x - mean;
    let variance = (difference * difference).reduce(ReduceOp::Sum, &axes, true) / count(&x.ty(), &axes);
    let inverse = (variance + epsilon).rsqrt();
    let mut result = difference * inverse;
    if let Some(scale) = scale {
        result = result * f.operand(scale);
    }
    if let Some(offset) = offset {
        result = result + f.operand(offset);
    }
    f.finish_all([result.convert(dtype), mean, inverse])
}

/// Records `x / sqrt(mean(x^2) + epsilon)` over axes, times `weight`, which broadcasts to `x`.
pub fn rms_norm(trace: &mut Trace, x: NodeId, axes: &[i64], weight: Option<NodeId>, epsilon: f64) -> Result<NodeId> {
    let ty = trace.ty(x);
    if ty.dtype.is_float() && ty.dims.is_empty() {
        return Err(refuse("rms_norm", "x", &ty, "at least 1 axis"));
    }
    let axes = axes_of_floats(trace, "rms_norm", x, axes)?;
    check_epsilon(trace, x, epsilon)?;
    let weight = weight.map(|weight| fitted(trace, "weight", weight, x)).transpose()?;
    let f = Formula::new(trace);
    let x = f.operand(x).convert(widened(ty.dtype));
    let inverse = (mean_of(x * x, &axes) + epsilon).rsqrt();
    let mut result = x * inverse;
    if let Some(weight) = weight {
        result = result * f.operand(weight);
    }
    f.finish(result.convert(ty.dtype))
}

fn check_epsilon(trace: &Trace, x: NodeId, epsilon: f64) -> Result<()> {
    if !(epsilon.is_finite() && epsilon >= 0.0) {
        return Err(error!(InvalidArgument, "epsilon: {epsilon} given; want a finite number, at least 0"));
    }
    check_wide("epsilon", trace, x, epsilon)
}

/// Checks a scale, a weight or an offset, and converts it to the dtype of the computation.
fn fitted(trace: &mut Trace, name: &str, operand: NodeId, x: NodeId) -> Result<NodeId> {
    let dims = trace.ty(x).dims;
    fitted_to(trace, name, operand, x, "x", &dims)
}

/// Checks an operand that broadcasts to a part of `x` of these dims, and converts it to the dtype of the computation.
pub(super) fn fitted_to(
    trace: &mut Trace,
    name: &str,
    operand: NodeId,
    x: NodeId,
    part: &str,
    dims: &[i64],
) -> Result<NodeId> {
    let (ty, of) = (trace.ty(operand), trace.ty(x));
    let wide = widened(of.dtype);
    if ty.dtype != of.dtype && ty.dtype != wide {
        let or = if wide == DType::F32 && of.dtype != wide { " or f32" } else { "" };
        return Err(error!(InvalidArgument, "{name}: it is {ty}; x is {of}, and wants {}{or}", of.dtype));
    }
    if broadcast(&ty.dims, dims).as_deref() != Some(dims) {
        let wanted = TensorType::new(of.dtype, dims);
        return Err(error!(InvalidArgument, "{name}: it is {ty}, which does not broadcast to {part}, {wanted}"));
    }
    Ok(convert(trace, operand, wide))
}
