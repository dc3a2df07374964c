//! Resizing of images. Places are computed in f32, as PyTorch's CPU kernels do.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::elementwise::{number_like, scaled, with_number};
use super::pooling::along_axis;
use base::error;
use base::error::Result;
use base::types::{DType, TensorType, integer_limits};
use ir::{BinaryOp, NodeId, ReduceOp, Trace, UnaryOp};
use ops::creation::iota;
use ops::elementwise::formula::{Expr, record};
use ops::elementwise::{binary, convert, unary};
use ops::indexing::take;

pub(super) const TABLE: &[Operator] = &[
    operator(
        &["upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec"],
        "input output_size=none scale_factors=none",
        |call| resized(call, nearest),
    ),
    operator(
        &["upsample_nearest1d.default", "upsample_nearest2d.default", "upsample_nearest3d.default"],
        NAMED,
        |call| resized(call, nearest),
    ),
    operator(
        &[
            "_upsample_nearest_exact1d.default",
            "_upsample_nearest_exact2d.default",
            "_upsample_nearest_exact3d.default",
        ],
        NAMED,
        |call| resized(call, nearest_exact),
    ),
    operator(&["upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec"], WEIGHTED, linearly),
    operator(
        &["upsample_linear1d.default", "upsample_bilinear2d.default", "upsample_trilinear3d.default"],
        WEIGHTED_NAMED,
        linearly,
    ),
    operator(
        &["_upsample_nearest_exact1d.vec", "_upsample_nearest_exact2d.vec", "_upsample_nearest_exact3d.vec"],
        "input output_size=none scale_factors=none",
        |call| resized(call, nearest_exact),
    ),
    operator(&["upsample_bicubic2d.vec"], WEIGHTED, cubically),
    operator(&["upsample_bicubic2d.default"], WEIGHTED_NAMED, cubically),
    operator(&["_upsample_bilinear2d_aa.vec"], WEIGHTED, |call| by_filter(call, false)),
    operator(&["_upsample_bilinear2d_aa.default"], WEIGHTED_NAMED, |call| by_filter(call, false)),
    operator(&["_upsample_bicubic2d_aa.vec"], WEIGHTED, |call| by_filter(call, true)),
    operator(&["_upsample_bicubic2d_aa.default"], WEIGHTED_NAMED, |call| by_filter(call, true)),
];

/// Arguments of overloads that name the factor of each axis.
const NAMED: &str = "self output_size scales=none scales_d=none scales_h=none scales_w=none";
const WEIGHTED_NAMED: &str =
    "self output_size align_corners=false scales=none scales_d=none scales_h=none scales_w=none";
const WEIGHTED: &str = "input output_size=none align_corners=false scale_factors=none";

/// Sizes of an axis: before, after, and the factor if it was given.
#[derive(Clone, Copy)]
struct Sizes {
    from: i64,
    to: i64,
    factor: Option<f64>,
}

impl Sizes {
    /// Distance of neighbouring elements of the result in the array.
    fn step(self) -> f32 {
        match self.factor {
            Some(factor) => (1.0 / factor) as f32,
            None => self.from as f32 / self.to as f32,
        }
    }

    /// Likewise, in the precision in which PyTorch computes weights of this dtype.
    fn step_in(self, dtype: DType, align_corners: bool) -> f64 {
        let step = match (align_corners, self.factor) {
            (true, _) if self.to > 1 => (self.from - 1) as f64 / (self.to - 1) as f64,
            (true, _) => 0.0,
            (false, Some(factor)) => 1.0 / factor,
            (false, None) => self.from as f64 / self.to as f64,
        };
        if dtype == DType::F64 { step } else { f64::from(step as f32) }
    }

    /// Likewise, with the outer elements of both in one place.
    fn step_of_corners(self) -> f32 {
        if self.to > 1 { (self.from - 1) as f32 / (self.to - 1) as f32 } else { 0.0 }
    }
}

fn linearly<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let align_corners = call.bool("align_corners")?;
    resized(call, |trace, x, axis, sizes| linear(trace, x, axis, sizes, align_corners))
}

fn cubically<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let align_corners = call.bool("align_corners")?;
    resized(call, |trace, x, axis, sizes| cubic(trace, x, axis, sizes, align_corners))
}

/// Resizing with a filter that is as wide as the step: the function of linear interpolation, or the cubic one.
fn by_filter<'p>(call: &mut Call<'_, 'p>, is_cubic: bool) -> Result<Value<'p>> {
    let align_corners = call.bool("align_corners")?;
    resized(call, |trace, x, axis, sizes| match is_cubic {
        true => filtered(trace, x, axis, sizes, align_corners, 2.0, smooth),
        false => filtered(trace, x, axis, sizes, align_corners, 1.0, triangle),
    })
}

/// The image, and the factors of its axes.
fn image_and_factors(call: &mut Call) -> Result<(NodeId, Option<Vec<Option<f64>>>)> {
    if call.has("input") {
        let factors = call.optional_floats("scale_factors")?;
        return Ok((call.tensor("input")?, factors.map(|factors| factors.into_iter().map(Some).collect())));
    }
    let x = call.tensor("self")?;
    let names: &[&str] = match call.dims(x).len() {
        3 => &["scales"],
        4 => &["scales_h", "scales_w"],
        _ => &["scales_d", "scales_h", "scales_w"],
    };
    let factors = names.iter().map(|name| call.optional_float(name)).collect::<Result<Vec<Option<f64>>>>()?;
    Ok((x, Some(factors)))
}

fn resized<'p>(
    call: &mut Call<'_, 'p>,
    one: impl Fn(&mut Trace, NodeId, usize, Sizes) -> Result<NodeId>,
) -> Result<Value<'p>> {
    let (mut x, factors) = image_and_factors(call)?;
    let dims = call.dims(x);
    let given = call.optional_ints("output_size")?;
    // Whole numbers are rounded after each axis: PyTorch begins with the last one.
    let mut axes: Vec<usize> = (2..dims.len()).collect();
    if call.dtype_of(x).is_integer() {
        axes.reverse();
    }
    for axis in axes {
        let from = dims[axis];
        let i = axis - 2;
        let factor = factors.as_ref().and_then(|factors| factors.get(i).copied().flatten());
        let to = match (&given, factor) {
            (Some(sizes), _) => sizes.get(i).copied().unwrap_or(0),
            (None, Some(factor)) => (from as f64 * factor).floor() as i64,
            (None, None) => 0,
        };
        if to < 1 || from < 1 || factor.is_some_and(|factor| factor.is_nan() || factor <= 0.0) {
            return Err(error!(InvalidArgument, "an axis of {from} elements resized to {to}"));
        }
        x = one(call.trace(), x, axis, Sizes { from, to, factor })?;
    }
    Ok(call.made(x))
}

fn nearest(trace: &mut Trace, x: NodeId, axis: usize, sizes: Sizes) -> Result<NodeId> {
    let place = iota(trace, &TensorType::new(DType::F32, &[sizes.to]), 0)?;
    let place = scaled(trace, place, sizes.step().into())?;
    let place = unary(trace, UnaryOp::Floor, place)?;
    let last = number_like(trace, place, (sizes.from - 1) as f64)?;
    let place = binary(trace, BinaryOp::Minimum, place, last)?;
    let place = convert(trace, place, DType::S64);
    take(trace, x, place, axis as i64)
}

/// The weight of element i for place p is max(0, 1 - |i - p|).
fn linear(trace: &mut Trace, x: NodeId, axis: usize, sizes: Sizes, align_corners: bool) -> Result<NodeId> {
    let ty = TensorType::new(DType::F32, &[sizes.from, sizes.to]);
    let (element, result) = (iota(trace, &ty, 0)?, iota(trace, &ty, 1)?);
    let place = if align_corners {
        scaled(trace, result, sizes.step_of_corners().into())?
    } else {
        let middle = with_number(trace, BinaryOp::Add, result, 0.5)?;
        let place = scaled(trace, middle, sizes.step().into())?;
        with_number(trace, BinaryOp::Subtract, place, 0.5)?
    };
    let (first, last) = (number_like(trace, place, 0.0)?, number_like(trace, place, (sizes.from - 1) as f64)?);
    let place = binary(trace, BinaryOp::Maximum, place, first)?;
    let place = binary(trace, BinaryOp::Minimum, place, last)?;
    let distance = binary(trace, BinaryOp::Subtract, element, place)?;
    let distance = unary(trace, UnaryOp::Abs, distance)?;
    let one = number_like(trace, distance, 1.0)?;
    let weight = binary(trace, BinaryOp::Subtract, one, distance)?;
    let weight = binary(trace, BinaryOp::Maximum, weight, first)?;
    weighted(trace, x, weight, axis)
}

/// Records the sums of an axis with weights `[from, to]`, in the dtype of the image.
fn weighted(trace: &mut Trace, x: NodeId, weight: NodeId, axis: usize) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
    let (weight, x) = (convert(trace, weight, wide), convert(trace, x, wide));
    let mut made = along_axis(trace, x, weight, axis)?;
    if let Some(limits) = integer_limits(dtype) {
        let (least, most) = (limits.min as f64, limits.max as f64);
        made = record(trace, [made], |[made]| (made + 0.5).floor().max(least).min(most))?;
    }
    Ok(convert(trace, made, dtype))
}

fn nearest_exact(trace: &mut Trace, x: NodeId, axis: usize, sizes: Sizes) -> Result<NodeId> {
    let place = iota(trace, &TensorType::new(DType::F32, &[sizes.to]), 0)?;
    let (step, last) = (f64::from(sizes.step()), (sizes.from - 1) as f64);
    let place = record(trace, [place], |[place]| ((place + 0.5) * step).floor().min(last).convert(DType::S64))?;
    take(trace, x, place, axis as i64)
}

/// The dtype in which PyTorch computes the weights of an image.
fn dtype_of_weights(trace: &Trace, x: NodeId) -> DType {
    if trace.node(x).dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

/// The cubic function of a distance from 0 to 2, with the slope `a` at 1 (Keys, 1981).
pub(super) fn keys<'f>(distance: Expr<'f>, a: f64) -> Expr<'f> {
    let x = distance;
    let near = ((x * (a + 2.0) - (a + 3.0)) * x) * x + 1.0;
    let far = ((x * a - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    x.le(1.0).select(near, x.lt(2.0).select(far, 0.0))
}

/// Four neighbours by the cubic function. Elements beyond the edges are those at the edges.
fn cubic(trace: &mut Trace, x: NodeId, axis: usize, sizes: Sizes, align_corners: bool) -> Result<NodeId> {
    let ty = TensorType::new(dtype_of_weights(trace, x), &[sizes.from, sizes.to]);
    let step = sizes.step_in(ty.dtype, align_corners);
    let (element, result) = (iota(trace, &ty, 0)?, iota(trace, &ty, 1)?);
    let weight = record(trace, [element, result], |[element, result]| {
        let place = if align_corners { result * step } else { (result + 0.5) * step - 0.5 };
        let first = place.floor();
        let taps = [-1.0, 0.0, 1.0, 2.0].map(|tap| {
            let weight = keys((place - first - tap).abs(), -0.75);
            let inside = (first + tap).max(0.0).min((sizes.from - 1) as f64);
            element.eq(inside).select(weight, 0.0)
        });
        taps[0] + taps[1] + taps[2] + taps[3]
    })?;
    weighted(trace, x, weight, axis)
}

fn triangle(distance: Expr) -> Expr {
    (1.0 - distance).max(0.0)
}

fn smooth(distance: Expr) -> Expr {
    keys(distance, -0.5)
}

/// A filter that is widened where an axis becomes smaller, and reaches `reach` elements where not.
fn filtered(
    trace: &mut Trace,
    x: NodeId,
    axis: usize,
    sizes: Sizes,
    align_corners: bool,
    reach: f64,
    filter: for<'f> fn(Expr<'f>) -> Expr<'f>,
) -> Result<NodeId> {
    let ty = TensorType::new(dtype_of_weights(trace, x), &[sizes.from, sizes.to]);
    let (element, result) = (iota(trace, &ty, 0)?, iota(trace, &ty, 1)?);
    let step = sizes.step_in(ty.dtype, align_corners);
    let width = step.max(1.0);
    let weight = record(trace, [element, result], |[element, result]| {
        let middle = (result + 0.5) * step;
        // The first and last element that the filter reaches, rounded as PyTorch does.
        let first = (middle - (reach * width - 0.5)).max(0.0).floor();
        let end = (middle + (reach * width + 0.5)).min(sizes.from as f64).floor();
        let weight = filter(((element - middle + 0.5) * (1.0 / width)).abs());
        let weight = (element.ge(first) & element.lt(end)).select(weight, 0.0);
        weight / weight.reduce(ReduceOp::Sum, &[0], true)
    })?;
    weighted(trace, x, weight, axis)
}
