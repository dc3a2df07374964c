//! Reductions with the crate `xla`. XlaBuilder reduces one array; reductions of several, and over windows, are
//! instructions of HLO.

use super::reduce::{ReduceAttributes, accumulator};
use super::reduce_with::ReduceWithAttributes;
use super::select_and_scatter::SelectAndScatterAttributes;
use super::windows::{ReduceWindowAttributes, counts};
use crate::emit::identity;
use crate::emit::xla_rs::{Graph, Message, Site, element_type, failed};
use crate::error::Result;
use crate::ir::{Body, CompareOp, DimensionNumbers, Op, Window};
use crate::ops::control::regions::{Passed, passed, scalar};
use crate::ops::control::xla_rs::{combining, pass, restored, spread, written_out};
use crate::ops::elementwise::xla_rs::with;
use crate::ops::indexing::xla_rs::scatter_numbers;
use crate::ops::infer::places_dtype;
use crate::types::{DType, TensorType};
use std::sync::Arc;
use xla::XlaOp;

/// Numbers of the fields of `HloInstructionProto`.
const DIMENSIONS: u64 = 14;
const WINDOW: u64 = 15;

/// Builds a reduction of one array.
pub(in crate::ops) fn reduce(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let Op::Reduce(op) = value.op else { return Ok(()) };
    let x = value.operands[0];
    let dtype = accumulator(op, value.ty.dtype);
    let ReduceAttributes { axes } = value.attributes();
    let total = g.reduce(op, &g.cast(x, &with(dtype, g.ty(x)))?, dtype, &axes, identity(op, dtype))?;
    let shaped = g.reshape(&total, &value.ty.dims)?;
    let made = g.convert(&shaped, value.ty.dtype)?;
    g.define(at, made);
    Ok(())
}

/// Adds an instruction with a reducer, and gives the instruction at a position its results, which have these dims.
fn reduce_jointly(g: &mut Graph, at: usize, opcode: &str, dims: &[i64], attributes: Message) -> Result<()> {
    let body = &g.instruction(at).bodies[0];
    let (values, reducer) = (passed(body), combining(g, body)?);
    let operands = operands(g, at, &values)?;
    let types: Vec<TensorType> = values.iter().map(|value| TensorType::new(value.as_dtype, dims)).collect();
    let results = match &types[..] {
        [one] => vec![g.raw_applying(opcode, &operands, one, attributes, &[reducer])?],
        several => g.raw_tuple(opcode, &operands, several, attributes, &[reducer])?,
    };
    let results = restored(g, &values, &results, dims)?;
    g.define_all(at, results);
    Ok(())
}

/// Arrays, captures, initial values, captures, as they are passed: the operands of an instruction with a reducer.
fn operands(g: &Graph, at: usize, values: &[Passed]) -> Result<Vec<XlaOp>> {
    let value = g.instruction(at);
    let (count, dims) = (value.bodies[0].results().len(), &g.ty(value.operands[0]).dims);
    let captures = &value.operands[2 * count..];
    let arrays = [g.listed(&value.operands[..count])?, spread(g, captures, dims)?].concat();
    let inits = [g.listed(&value.operands[count..2 * count])?, g.listed(captures)?].concat();
    Ok([pass(g, values, &arrays, dims)?, pass(g, values, &inits, &[])?].concat())
}

pub(in crate::ops) fn reduce_with(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let ReduceWithAttributes { axes } = value.attributes();
    let from = g.ty(value.operands[0]);
    let kept = (0..from.dims.len()).filter(|&axis| !axes.contains(&(axis as i64)));
    let dims: Vec<i64> = kept.map(|axis| from.dims[axis]).collect();
    let attributes = Message::new().numbers(DIMENSIONS, axes.iter().copied());
    reduce_jointly(g, at, "reduce", &dims, attributes)
}

/// The field of windows: a `Window` of `WindowDimension`s.
fn windows_field(windows: &[Window]) -> Message {
    let dimension = |window: &Window| {
        Message::new()
            .number(1, window.size)
            .number(2, window.stride)
            .number(3, window.low)
            .number(4, window.high)
            .number(5, window.dilation)
            .number(6, window.base_dilation)
    };
    let all = windows.iter().fold(Message::new(), |all, window| all.message(1, &dimension(window)));
    Message::new().message(WINDOW, &all)
}

pub(in crate::ops) fn reduce_window(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let ReduceWindowAttributes { windows } = value.attributes();
    let dims = counts(g.ty(value.operands[0]), &windows);
    reduce_jointly(g, at, "reduce-window", &dims, windows_field(&windows))
}

/// As in StableHLO: the places of the selected elements by a reduction over windows, then a scatter.
pub(in crate::ops) fn select_and_scatter(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let [x, source, init] = [0, 1, 2].map(|i| value.operands[i]);
    let (ty, source_ty) = (g.ty(x), g.ty(source));
    let place = scalar(places_dtype(ty.elements() as i64));
    let selected = selected_places(g, at, &place)?;
    let (count, all) = (source_ty.elements() as i64, TensorType::new(ty.dtype, &[ty.elements() as i64]));
    let places = g.reshape(&selected, &[count])?;
    let updates = g.reshape(&g.value(source)?, &[count])?;
    let start = g.cast(init, &all)?;
    let one_by_one = DimensionNumbers {
        collapsed_dims: vec![0],
        index_map: vec![0],
        index_vector_dim: 1,
        ..DimensionNumbers::default()
    };
    let reducer = combining(g, &value.bodies[1])?;
    let operands = [start, places, updates];
    let scattered = g.raw_applying("scatter", &operands, &all, scatter_numbers(&one_by_one), &[reducer])?;
    let made = g.reshape(&scattered, &ty.dims)?;
    g.define(at, made);
    Ok(())
}

/// The place of the element that each window selects; negative where there is none.
fn selected_places(g: &Graph, at: usize, place: &TensorType) -> Result<XlaOp> {
    let value = g.instruction(at);
    let SelectAndScatterAttributes { windows } = value.attributes();
    let (ty, source_ty) = (g.ty(value.operands[0]), g.ty(value.operands[1]));
    let (element, building, body) = (scalar(ty.dtype), g.building(), &value.bodies[0]);
    let counted = g.builder.iota(element_type(place.dtype), &[ty.elements() as i64], 0).map_err(failed)?;
    let places = g.reshape(&counted, &ty.dims)?;
    let nowhere = g.constant(place, u128::MAX >> (128 - 8 * place.dtype.size_bytes()))?;
    let parameters = [element.clone(), place.clone(), element, place.clone()];
    let reducer = g.region("preferring", &parameters, |s, inside| preferring(s, inside, body, building, place))?;
    let types = [with(ty.dtype, source_ty), with(place.dtype, source_ty)];
    let operands = [g.operand(at, 0)?, places, g.operand(at, 2)?, nowhere];
    Ok(g.raw_tuple("reduce-window", &operands, &types, windows_field(&windows), &[reducer])?.remove(1))
}

/// Selects one of two elements with their places. The body is given the element at the lower place first.
fn preferring(
    s: &Site,
    inside: &[XlaOp],
    select: &Arc<Body>,
    building: crate::emit::xla_rs::Building,
    place: &TensorType,
) -> Result<Vec<XlaOp>> {
    let [a, i, b, j] = [0, 1, 2, 3].map(|number| &inside[number]);
    let in_order = s.compare(CompareOp::Le, i, j)?;
    let (first, second) = (s.select(&in_order, a, b)?, s.select(&in_order, b, a)?);
    let stays = written_out(s, select, &[first, second], building)?.remove(0);
    let fits = s.compare(CompareOp::Eq, &stays, &in_order)?;
    let zero = s.constant(place, 0)?;
    let (a_is, b_is) = (s.compare(CompareOp::Ge, i, &zero)?, s.compare(CompareOp::Ge, j, &zero)?);
    let with_b = s.step("and", &[&fits, &a_is], &scalar(DType::Pred))?;
    let takes_a = s.select(&b_is, &with_b, &a_is)?;
    Ok(vec![s.select(&takes_a, a, b)?, s.select(&takes_a, i, j)?])
}
