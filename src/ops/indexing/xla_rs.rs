//! Indexing with the crate `xla`. XlaBuilder's gather and scatter know no batching axes, and its scatter takes one array;
//! the others are instructions of HLO.

use super::dimension_numbers::index_dtype;
use super::dynamic::TakeAttributes;
use super::gather::GatherAttributes;
use super::scatter::ScatterAttributes;
use crate::emit::xla_rs::{Graph, Message, failed};
use crate::error::Result;
use crate::ir::{CompareOp, DimensionNumbers};
use crate::ops::control::regions::passed;
use crate::ops::control::xla_rs::{combining, pass, restored, spread};
use crate::ops::elementwise::xla_rs::{with, with_zero, zero_of_all};
use crate::types::{DType, Kind, Scalar, ScalarValue, TensorType};
use xla::XlaOp;

/// Numbers of the fields of `HloInstructionProto`.
mod field {
    pub const GATHER_DIMENSION_NUMBERS: u64 = 33;
    pub const GATHER_SLICE_SIZES: u64 = 34;
    pub const SCATTER_DIMENSION_NUMBERS: u64 = 48;
    pub const INDICES_ARE_SORTED: u64 = 67;
    pub const UNIQUE_INDICES: u64 = 69;
}

/// The indices at a position into an array with `dims`, in the dtype of StableHLO's.
fn indices(g: &Graph, position: usize, dims: &[i64]) -> Result<(XlaOp, TensorType)> {
    let ty = g.ty(position);
    let to = with(index_dtype(ty.dtype, dims), ty);
    if ty.dtype != DType::U64 {
        return Ok((g.cast(position, &to)?, to));
    }
    let least = g.step("minimum", &[&g.value(position)?, &g.constant(ty, i64::MAX as u128)?], ty)?;
    Ok((g.convert(&least, DType::S64)?, to))
}

fn starts(g: &Graph, positions: &[usize], dims: &[i64]) -> Result<Vec<XlaOp>> {
    positions.iter().map(|&position| Ok(indices(g, position, dims)?.0)).collect()
}

pub(in crate::ops) fn dynamic_slice(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let starts = starts(g, &value.operands[1..], &g.ty(value.operands[0]).dims)?;
    let made = g.operand(at, 0)?.dynamic_slice(&starts, &value.ty.dims).map_err(failed)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn dynamic_update_slice(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let starts = starts(g, &value.operands[2..], &g.ty(value.operands[0]).dims)?;
    let made = g.operand(at, 0)?.dynamic_update_slice(&g.operand(at, 1)?, &starts).map_err(failed)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn take(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let TakeAttributes { axis } = value.attributes();
    let dims = &g.ty(value.operands[0]).dims;
    let rank = g.ty(value.operands[1]).dims.len();
    let (indices, _) = nonnegative(g, value.operands[1], dims, axis)?;
    let offsets: Vec<i64> = (0..axis as i64).chain((axis + rank) as i64..value.ty.dims.len() as i64).collect();
    let mut sizes = dims.to_vec();
    sizes[axis] = 1;
    let place = [axis as i64];
    let made = g.operand(at, 0)?.gather(&indices, &offsets, &place, &place, Some(rank as i64), &sizes);
    g.define(at, made.map_err(failed)?);
    Ok(())
}

/// Indices of which negative ones count from the end of an axis.
fn nonnegative(g: &Graph, position: usize, dims: &[i64], axis: usize) -> Result<(XlaOp, TensorType)> {
    let (x, ty) = indices(g, position, dims)?;
    if g.ty(position).dtype.kind() != Kind::Signed {
        return Ok((x, ty));
    }
    let is_negative = g.compare(CompareOp::Lt, &x, &g.constant(&ty, 0)?)?;
    let moved = g.step("add", &[&x, &g.constant(&ty, dims[axis] as u128)?], &ty)?;
    Ok((g.select(&is_negative, &moved, &x)?, ty))
}

/// `GatherDimensionNumbers` or `ScatterDimensionNumbers`, whose fields have the same numbers.
fn message(numbers: &DimensionNumbers) -> Message {
    Message::new()
        .numbers(1, numbers.window_dims.iter().copied())
        .numbers(2, numbers.collapsed_dims.iter().copied())
        .numbers(3, numbers.index_map.iter().copied())
        .number(4, numbers.index_vector_dim)
        .numbers(5, numbers.batching_dims.iter().copied())
        .numbers(6, numbers.indices_batching_dims.iter().copied())
}

/// The dimension numbers of a scatter, as a field of the instruction.
pub(in crate::ops) fn scatter_numbers(numbers: &DimensionNumbers) -> Message {
    Message::new().message(field::SCATTER_DIMENSION_NUMBERS, &message(numbers))
}

pub(in crate::ops) fn gather(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let GatherAttributes { indices_are_sorted, slice_sizes, numbers } = value.attributes();
    let (x, (indices, _)) = (g.operand(at, 0)?, indices(g, value.operands[1], &g.ty(value.operands[0]).dims)?);
    let made = if numbers.batching_dims.is_empty() && !indices_are_sorted {
        let DimensionNumbers { window_dims, collapsed_dims, index_map, index_vector_dim, .. } = &numbers;
        x.gather(&indices, window_dims, collapsed_dims, index_map, Some(*index_vector_dim), &slice_sizes)
            .map_err(failed)?
    } else {
        let attributes = Message::new()
            .message(field::GATHER_DIMENSION_NUMBERS, &message(&numbers))
            .numbers(field::GATHER_SLICE_SIZES, slice_sizes)
            .number(field::INDICES_ARE_SORTED, indices_are_sorted.into());
        g.raw("gather", &[x, indices], &value.ty, attributes)?
    };
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn scatter(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let body = &value.bodies[0];
    let ScatterAttributes { indices_are_sorted, unique_indices, numbers } = value.attributes();
    let count = body.results().len();
    let dims_of = |i: usize| &g.ty(value.operands[i]).dims;
    let (values, captures) = (passed(body), &value.operands[2 * count + 1..]);
    let types: Vec<TensorType> = values.iter().map(|value| TensorType::new(value.as_dtype, dims_of(0))).collect();
    let with_captures = |g: &Graph, arrays: &[usize], dims: &[i64]| {
        pass(g, &values, &[g.listed(arrays)?, spread(g, captures, dims)?].concat(), dims)
    };
    let mut into = with_captures(g, &value.operands[..count], dims_of(0))?;
    let (indices, indices_ty) = indices_apart(g, value.operands[count], &types[..count])?;
    // XLA's CPU backend merges equal operands into one.
    for i in 1..into.len() {
        if types[..i].contains(&types[i]) {
            let zero = zero_of_all(g, &[(&into[i], &types[i]), (&indices, &indices_ty)], i as u128)?;
            into[i] = with_zero(g, &into[i], &types[i], &zero)?;
        }
    }
    let updates = with_captures(g, &value.operands[count + 1..2 * count + 1], dims_of(count + 1))?;
    let operands = [into, vec![indices], updates].concat();
    let attributes = scatter_numbers(&numbers)
        .number(field::INDICES_ARE_SORTED, indices_are_sorted.into())
        .number(field::UNIQUE_INDICES, unique_indices.into());
    let reducer = combining(g, body)?;
    let results = match &types[..] {
        [one] => vec![g.raw_applying("scatter", &operands, one, attributes, &[reducer])?],
        several => g.raw_tuple("scatter", &operands, several, attributes, &[reducer])?,
    };
    let results = restored(g, &values, &results, dims_of(0))?;
    g.define_all(at, results);
    Ok(())
}

/// Indices that are never the same value as an array, as in StableHLO.
fn indices_apart(g: &Graph, position: usize, arrays: &[TensorType]) -> Result<(XlaOp, TensorType)> {
    let (indices, ty) = indices(g, position, &arrays[0].dims)?;
    let is_alike = |array: &TensorType| array.dtype == ty.dtype && array.elements() == ty.elements();
    if !arrays.iter().any(is_alike) {
        return Ok((indices, ty));
    }
    let outside = g.constant(&ty, Scalar::new(ty.dtype, ScalarValue::Signed(-1))?.bits())?;
    Ok((g.step("maximum", &[&indices, &outside], &ty)?, ty))
}
