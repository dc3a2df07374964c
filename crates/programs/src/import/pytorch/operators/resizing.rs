//! Resizing of images. Places are computed in f32, as PyTorch's CPU kernels do.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::elementwise::{number_like, scaled, with_number};
use super::pooling::along_axis;
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::{BinaryOp, NodeId, Trace, UnaryOp};
use ops::creation::iota;
use ops::elementwise::{binary, convert, unary};
use ops::indexing::take;

pub(super) const TABLE: &[Operator] = &[
    operator(
        &["upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec"],
        "input output_size=none scale_factors=none",
        |call| resized(call, nearest),
    ),
    operator(
        &["upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec"],
        "input output_size=none align_corners=false scale_factors=none",
        |call| match call.bool("align_corners")? {
            true => resized(call, |trace, x, axis, sizes| linear(trace, x, axis, sizes, true)),
            false => resized(call, |trace, x, axis, sizes| linear(trace, x, axis, sizes, false)),
        },
    ),
];

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
}

fn resized<'p>(
    call: &mut Call<'_, 'p>,
    one: fn(&mut Trace, NodeId, usize, Sizes) -> Result<NodeId>,
) -> Result<Value<'p>> {
    let mut x = call.tensor("input")?;
    let dims = call.dims(x);
    let (given, factors) = (call.optional_ints("output_size")?, call.optional_floats("scale_factors")?);
    for (axis, &from) in dims.iter().enumerate().skip(2) {
        let i = axis - 2;
        let factor = factors.as_ref().and_then(|factors| factors.get(i).copied());
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
    let dtype = trace.node(x).dtype;
    let ty = TensorType::new(DType::F32, &[sizes.from, sizes.to]);
    let (element, result) = (iota(trace, &ty, 0)?, iota(trace, &ty, 1)?);
    let place = if align_corners {
        let step = if sizes.to > 1 { (sizes.from - 1) as f32 / (sizes.to - 1) as f32 } else { 0.0 };
        scaled(trace, result, step.into())?
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
    let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
    let (weight, x) = (convert(trace, weight, wide), convert(trace, x, wide));
    let made = along_axis(trace, x, weight, axis)?;
    Ok(convert(trace, made, dtype))
}
