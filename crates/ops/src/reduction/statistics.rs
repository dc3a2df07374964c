//! Means, variances and related statistics over axes, as in NumPy: NaN for empty input or a count <= correction.

use crate::control::custom::stop_gradient;
use crate::definition::Composed;
use crate::elementwise::formula::{Expr, check_wide, in_wide};
use crate::infer::{distinct_axes, refuse};
use base::error;
use base::error::Result;
use base::types::{Axes, Kind, TensorType};
use ir::{NodeId, ReduceOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "mean", function: "lxla_mean", dtypes: "floats, 8-bit floats" },
    Composed { name: "variance", function: "lxla_variance", dtypes: "floats, 8-bit floats" },
    Composed { name: "standard_deviation", function: "lxla_standard_deviation", dtypes: "floats, 8-bit floats" },
    Composed { name: "logsumexp", function: "lxla_logsumexp", dtypes: "floats, 8-bit floats, complex numbers" },
];

/// Records the mean over axes.
pub fn mean(trace: &mut Trace, x: NodeId, axes: &[i64], keep_dims: bool) -> Result<NodeId> {
    let axes = axes_of_floats(trace, "mean", x, axes)?;
    in_wide(trace, x, |x| x.reduce(ReduceOp::Sum, &axes, keep_dims) / count(&x.ty(), &axes))
}

/// Records the variance over axes: the sum of squared differences from the mean, divided by
/// `max(count - correction, 0)`.
pub fn variance(trace: &mut Trace, x: NodeId, axes: &[i64], correction: f64, keep_dims: bool) -> Result<NodeId> {
    let axes = axes_of_floats(trace, "variance", x, axes)?;
    check_correction(trace, x, correction)?;
    in_wide(trace, x, |x| spread(x, &axes, correction, keep_dims))
}

/// Records the square root of the variance, rounded once. Where the variance is 0, the derivative is NaN: the
/// derivative of the square root is infinite, and is multiplied by 0.
pub fn standard_deviation(
    trace: &mut Trace,
    x: NodeId,
    axes: &[i64],
    correction: f64,
    keep_dims: bool,
) -> Result<NodeId> {
    let axes = axes_of_floats(trace, "standard_deviation", x, axes)?;
    check_correction(trace, x, correction)?;
    in_wide(trace, x, |x| spread(x, &axes, correction, keep_dims).sqrt())
}

/// Records `log(sum(e^x))` over axes. The maximum is subtracted first, so nothing overflows; of complex numbers, the
/// maximum of the real parts.
pub fn logsumexp(trace: &mut Trace, x: NodeId, axes: &[i64], keep_dims: bool) -> Result<NodeId> {
    let ty = trace.ty(x);
    if !ty.dtype.is_float() && ty.dtype.kind() != Kind::Complex {
        return Err(refuse("logsumexp", "x", &ty, "floats and complex numbers"));
    }
    let axes = distinct_axes("axes", axes, ty.dims.len())?;
    in_wide(trace, x, |x| {
        let result = if x.dtype().kind() == Kind::Complex {
            let top = top(x.real(), &axes);
            let sum = (x.real() - top).complex(x.imag()).exp().reduce(ReduceOp::Sum, &axes, true).log();
            (sum.real() + top).complex(sum.imag())
        } else {
            let top = top(x, &axes);
            (x - top).exp().reduce(ReduceOp::Sum, &axes, true).log() + top
        };
        // Reduced axes have size 1 here, so this sum only removes them.
        if keep_dims { result } else { result.reduce(ReduceOp::Sum, &axes, false) }
    })
}

/// The maximum over axes, which are kept; 0 where it is not finite, so that no difference of infinities occurs. A
/// constant for derivatives: the results computed with it do not depend on it.
fn top<'f>(x: Expr<'f>, axes: &[i64]) -> Expr<'f> {
    let largest = x.reduce(ReduceOp::Max, axes, true);
    largest.is_finite().select(largest, 0.0).apply(stop_gradient)
}

/// The mean over axes, which are kept.
pub(crate) fn mean_of<'f>(x: Expr<'f>, axes: &[i64]) -> Expr<'f> {
    x.reduce(ReduceOp::Sum, axes, true) / count(&x.ty(), axes)
}

/// The differences from the mean over axes.
fn deviations<'f>(x: Expr<'f>, axes: &[i64]) -> Expr<'f> {
    x - mean_of(x, axes)
}

/// The variance over normalized axes.
fn spread<'f>(x: Expr<'f>, axes: &[i64], correction: f64, keep_dims: bool) -> Expr<'f> {
    let difference = deviations(x, axes);
    let sum = (difference * difference).reduce(ReduceOp::Sum, axes, keep_dims);
    sum / (count(&x.ty(), axes) - correction).max(0.0)
}

/// Number of elements that are reduced into one.
pub(crate) fn count(ty: &TensorType, axes: &[i64]) -> f64 {
    axes.iter().map(|&axis| ty.dims[axis as usize] as f64).product()
}

/// Normalizes axes; an error unless `x` is a float tensor.
pub(crate) fn axes_of_floats(trace: &Trace, name: &str, x: NodeId, axes: &[i64]) -> Result<Axes> {
    of_floats(trace, name, x, ("axes", axes))
}

/// Normalizes the argument `axis`, in a list; an error unless `x` is a float tensor.
pub(crate) fn axis_of_floats(trace: &Trace, name: &str, x: NodeId, axis: i64) -> Result<Axes> {
    of_floats(trace, name, x, ("axis", &[axis]))
}

fn of_floats(trace: &Trace, name: &str, x: NodeId, (argument, axes): (&str, &[i64])) -> Result<Axes> {
    let ty = trace.ty(x);
    if !ty.dtype.is_float() {
        return Err(refuse(name, "x", &ty, "floats"));
    }
    distinct_axes(argument, axes, ty.dims.len())
}

fn check_correction(trace: &Trace, x: NodeId, correction: f64) -> Result<()> {
    if correction.is_finite() {
        return check_wide("correction", trace, x, correction);
    }
    Err(error!(InvalidArgument, "correction: {correction} given; want a finite number"))
}
