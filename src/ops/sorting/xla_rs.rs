//! Sorts with the crate `xla`. XlaBuilder sorts one array; HLO's instruction sorts several, in the total order of floats.

use super::keys::nan_bits;
use super::sort::SortAttributes;
use super::top_k::TopKAttributes;
use crate::emit::xla_rs::{Graph, Message, Site, element_type, failed};
use crate::error::Result;
use crate::ir::{Body, CompareOp};
use crate::ops::control::bodies::{KnownOrder, known_order};
use crate::ops::control::regions::scalar;
use crate::ops::control::xla_rs::{comparing, scalars, spread};
use crate::ops::elementwise::fold_barrier::unsigned;
use crate::ops::elementwise::xla_rs::with;
use crate::types::{DType, Kind, TensorType};
use xla::XlaOp;

/// Numbers of the fields of `HloInstructionProto`.
const DIMENSIONS: u64 = 14;
const IS_STABLE: u64 = 60;

pub(in crate::ops) fn sort(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let body = &value.bodies[0];
    let count = body.parameters().len() / 2;
    let dims = &g.ty(value.operands[0]).dims;
    let operands = [g.listed(&value.operands[..count])?, spread(g, &value.operands[count..], dims)?].concat();
    let types: Vec<TensorType> =
        value.operands.iter().map(|&operand| TensorType::new(g.ty(operand).dtype, dims)).collect();
    let SortAttributes { axis, stable } = value.attributes();
    let is_float = |order: &KnownOrder| body.parameters()[2 * order.key].dtype.kind() == Kind::Float;
    let comparator = match known_order(body).filter(is_float) {
        Some(order) if body.captures().is_empty() => numpys_order(g, body, order)?,
        _ => comparing(g, body)?,
    };
    let results = sorted(g, &operands, &types, axis, stable, comparator)?;
    g.define_all(at, results);
    Ok(())
}

fn sorted(
    s: &Site,
    operands: &[XlaOp],
    types: &[TensorType],
    axis: usize,
    stable: bool,
    comparator: u64,
) -> Result<Vec<XlaOp>> {
    let attributes = Message::new().numbers(DIMENSIONS, [axis as i64]).number(IS_STABLE, stable.into());
    match types {
        [one] => Ok(vec![s.raw_applying("sort", operands, one, attributes, &[comparator])?]),
        _ => s.raw_tuple("sort", operands, types, attributes, &[comparator]),
    }
}

/// The comparator of NumPy's order of floats: NaN is greater than every number, zeros are equal.
fn numpys_order(g: &Graph, body: &Body, order: KnownOrder) -> Result<u64> {
    let ty = scalar(body.parameters()[2 * order.key].dtype);
    g.region("numpys_order", &scalars(body.parameters()), |s, inside| {
        let (a, b) = (&inside[2 * order.key], &inside[2 * order.key + 1]);
        let (a, b) = (canonical(s, a, &ty, false)?, canonical(s, b, &ty, false)?);
        let op = if order.descending { CompareOp::Gt } else { CompareOp::Lt };
        Ok(vec![s.compare_total(op, &a, &b, &[])?])
    })
}

/// Elements with one zero and one NaN, of this sign.
fn canonical(s: &Site, x: &XlaOp, ty: &TensorType, negative_nan: bool) -> Result<XlaOp> {
    let bits_ty = unsigned(ty);
    let bits = s.bitcast(x, &bits_ty)?;
    let size = s.step("add", &[&bits, &bits], &bits_ty)?;
    let is_zero = s.compare(CompareOp::Eq, &size, &s.constant(&bits_ty, 0)?)?;
    let one_zero = s.select(&is_zero, &s.constant(ty, 0)?, x)?;
    let is_nan = s.compare(CompareOp::Ne, x, x)?;
    s.select(&is_nan, &s.constant(ty, nan_bits(ty.dtype, negative_nan))?, &one_zero)
}

pub(in crate::ops) fn top_k(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let TopKAttributes { greatest, .. } = value.attributes();
    let given = g.ty(value.operands[0]);
    let is_plain = given.dtype.kind() != Kind::Float && given.dtype.size_bytes() > 2;
    let (keys, ty) =
        if is_plain { (g.operand(at, 0)?, given.clone()) } else { float_keys(g, value.operands[0], greatest)? };
    let (axis, places_ty) = (given.dims.len() - 1, with(value.ty.dtype, given));
    let places = g.builder.iota(element_type(places_ty.dtype), &places_ty.dims, axis as i64).map_err(failed)?;
    let (key, place) = (scalar(ty.dtype), scalar(places_ty.dtype));
    let parameters = [key.clone(), key, place.clone(), place];
    let comparator = g.region("top_k", &parameters, |s, inside| {
        let op = if greatest { CompareOp::Gt } else { CompareOp::Lt };
        Ok(vec![match is_plain {
            true => s.compare(op, &inside[0], &inside[1])?,
            false => s.compare_total(CompareOp::Gt, &inside[0], &inside[1], &[])?,
        }])
    })?;
    let order = sorted(g, &[keys, places], &[ty, places_ty], axis, true, comparator)?;
    let (zeros, ones) = (vec![0; given.dims.len()], vec![1; given.dims.len()]);
    let made = g.slice(&order[1], &zeros, &value.ty.dims, &ones)?;
    g.define(at, made);
    Ok(())
}

/// Float keys, the greatest of which are wanted.
fn float_keys(g: &Graph, position: usize, greatest: bool) -> Result<(XlaOp, TensorType)> {
    let given = g.ty(position);
    let ty = with(if given.dtype == DType::F64 { DType::F64 } else { DType::F32 }, given);
    let mut keys = g.cast(position, &ty)?;
    if !greatest {
        keys = g.step("negate", &[&keys], &ty)?;
    }
    Ok((canonical(g, &keys, &ty, !greatest)?, ty))
}
