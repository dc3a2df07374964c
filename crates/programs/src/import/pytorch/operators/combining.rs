//! Reductions of elements that have one place: by scattering, by indices, and of the rows of bags of words.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::elementwise::number_like_all;
use super::indexing::{listed, scatter_into};
use super::pooling::{highest, lowest};
use base::error;
use base::error::Result;
use base::types::{DType, Scalar, ScalarValue, TensorType};
use ir::{BinaryFunction, BinaryOp, CompareOp, NodeId, ReduceOp, ScatterOp, Trace};
use ops::control::stop_gradient;
use ops::creation::{constant, full, iota};
use ops::elementwise::formula::record;
use ops::elementwise::{binary, binary_function, compare, compare_scalar, convert, select};
use ops::indexing::{index_combine, take, take_along_axis};
use ops::reduction::reduce;
use ops::shape::{broadcast_to, expand_dims, reshape, slice, slice_axis};

pub(super) const TABLE: &[Operator] = &[
    operator(&["scatter_reduce.two"], "self dim index src reduce include_self=true", scattered),
    operator(&["index_reduce.default"], "self dim index source reduce include_self=true", combined),
    operator(&["embedding_bag.default", "embedding_bag.padding_idx"], BAGS, |call| {
        // A negative row counts from the end.
        let padding = call.optional_int("padding_idx")?;
        let table = call.tensor("weight")?;
        let rows = call.dims(table).first().copied().unwrap_or(0);
        bags(call, padding.map(|row| if row < 0 { row + rows } else { row }))
    }),
    operator(&["_embedding_bag.default", "_embedding_bag_forward_only.default"], BAGS, |call| {
        let padding = call.optional_int("padding_idx")?.filter(|&row| row >= 0);
        bags(call, padding)
    }),
];

const BAGS: &str = "weight indices offsets scale_grad_by_freq=false mode=0 sparse=false per_sample_weights=none \
                    include_last_offset=false padding_idx=none";

/// A reduction by its name.
struct Reduction {
    op: ScatterOp,
    is_mean: bool,
}

fn reduction(call: &Call) -> Result<Reduction> {
    let (op, is_mean) = match call.text("reduce")? {
        "sum" => (ScatterOp::Sum, false),
        "mean" => (ScatterOp::Sum, true),
        "prod" => (ScatterOp::Product, false),
        "amax" => (ScatterOp::Max, false),
        "amin" => (ScatterOp::Min, false),
        other => return Err(error!(InvalidArgument, "reduce {other:?}; want sum, prod, mean, amax or amin")),
    };
    Ok(Reduction { op, is_mean })
}

/// The element that changes nothing in a reduction.
fn neutral(op: ScatterOp, dtype: DType) -> Result<Scalar> {
    match op {
        ScatterOp::Max => lowest(dtype),
        ScatterOp::Min => highest(dtype),
        ScatterOp::Product => Scalar::new(dtype, ScalarValue::Signed(1)),
        _ => Scalar::new(dtype, ScalarValue::Signed(0)),
    }
}

/// Records a reduction into `x`, where `put` combines a tensor of the type of the updates into a tensor.
fn reduced(
    trace: &mut Trace,
    reduction: &Reduction,
    x: NodeId,
    updates: NodeId,
    include_self: bool,
    put: impl Fn(&mut Trace, ScatterOp, NodeId, NodeId) -> Result<NodeId>,
) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    let spread = |trace: &mut Trace, scalar: Scalar| {
        let dims = trace.ty(updates).dims;
        Ok(constant(trace, &dims, scalar))
    };
    let mut first = x;
    if !include_self {
        let start = spread(trace, neutral(reduction.op, dtype)?)?;
        first = put(trace, ScatterOp::Copy, x, start)?;
    }
    let made = put(trace, reduction.op, first, updates)?;
    if !reduction.is_mean {
        return Ok(made);
    }
    let own = full(trace, &trace.ty(x), ScalarValue::Signed(include_self.into()))?;
    let one = spread(trace, Scalar::new(dtype, ScalarValue::Signed(1))?)?;
    let count = put(trace, ScatterOp::Sum, own, one)?;
    let least = full(trace, &trace.ty(x), ScalarValue::Signed(1))?;
    let count = binary(trace, BinaryOp::Maximum, count, least)?;
    match dtype.is_integer() {
        true => binary_function(trace, BinaryFunction::FloorDivide, made, count),
        false => binary(trace, BinaryOp::Divide, made, count),
    }
}

fn scattered<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, at, source) = (call.tensor("self")?, call.tensor("index")?, call.tensor("src")?);
    let (own, axis) = (call.dims(x), call.axis("dim", call.dims(x).len())?);
    let (reduction, include_self) = (reduction(call)?, call.bool("include_self")?);
    let trace = call.trace();
    let [x, at, source] = [x, at, source].map(|node| listed(trace, node));
    let (x, at, source) = (x?, at?, source?);
    let dims = trace.ty(at).dims;
    let source = slice(trace, source, &vec![0; dims.len()], &dims, &vec![1; dims.len()])?;
    let source = convert(trace, source, trace.node(x).dtype);
    let made = reduced(trace, &reduction, x, source, include_self, |trace, op, x, updates| {
        scatter_into(trace, op, x, at, updates, axis)
    })?;
    let made = if own.is_empty() { reshape(trace, made, &[])? } else { made };
    Ok(call.made(made))
}

fn combined<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, at, source) = (call.tensor("self")?, call.tensor("index")?, call.tensor("source")?);
    let axis = call.axis("dim", call.dims(x).len())? as i64;
    let (reduction, include_self) = (reduction(call)?, call.bool("include_self")?);
    let trace = call.trace();
    let source = convert(trace, source, trace.node(x).dtype);
    let made = reduced(trace, &reduction, x, source, include_self, |trace, op, x, updates| {
        index_combine(trace, op, x, axis, at, updates)
    })?;
    Ok(call.made(made))
}

/// Words of bags.
struct Words {
    /// The row of each word.
    rows: NodeId,
    /// The bag of each word.
    bag: NodeId,
    /// Whether each word counts, as a column.
    counts: NodeId,
    bags: i64,
}

fn words(call: &mut Call, padding: Option<i64>) -> Result<Words> {
    let (table, at, offsets) = (call.tensor("weight")?, call.tensor("indices")?, call.tensor("offsets")?);
    call.refuse_unless("scale_grad_by_freq", !call.bool("scale_grad_by_freq")?)?;
    let (&[words], &[bags]) = (&call.dims(at)[..], &call.dims(offsets)[..]) else {
        return Err(error!(Unimplemented, "indices of {} and offsets of {}", call.ty(at), call.ty(offsets)));
    };
    if call.dims(table).len() != 2 {
        return Err(error!(InvalidArgument, "a table of {}; want 2 axes", call.ty(table)));
    }
    let bags = if call.bool("include_last_offset")? { bags - 1 } else { bags };
    let trace = call.trace();
    let offsets = slice_axis(trace, offsets, 0, 0, bags, 1)?;
    let offsets = convert(trace, offsets, DType::S64);
    let ty = TensorType::new(DType::S64, &[words, bags]);
    let place = iota(trace, &ty, 0)?;
    let offsets = broadcast_to(trace, offsets, &[words, bags])?;
    // A word is in the last bag that starts at it or before it.
    let is_after = compare(trace, CompareOp::Ge, place, offsets)?;
    let is_after = convert(trace, is_after, DType::S64);
    let bag = reduce(trace, ReduceOp::Sum, is_after, &[1], false)?;
    let bag = record(trace, [bag], |[bag]| bag - 1i64)?;
    let rows = take(trace, table, at, 0)?;
    let counts = compare_scalar(trace, CompareOp::Ne, at, ScalarValue::Signed(padding.unwrap_or(-1)), false)?;
    let counts = expand_dims(trace, counts, &[-1])?;
    Ok(Words { rows, bag, counts, bags })
}

fn bags<'p>(call: &mut Call<'_, 'p>, padding: Option<i64>) -> Result<Value<'p>> {
    let words = words(call, padding)?;
    let weights = call.optional_tensor("per_sample_weights")?;
    let mode = call.int("mode")?;
    let trace = call.trace();
    let ty = trace.ty(words.rows);
    let made = TensorType::new(ty.dtype, &[words.bags, ty.dims[1]]);
    let zero = full(trace, &made, ScalarValue::Signed(0))?;
    let none = number_like_all(trace, words.rows, 0.0)?;
    let mut rows = select(trace, words.counts, words.rows, none)?;
    if let Some(weights) = weights {
        let weights = expand_dims(trace, weights, &[-1])?;
        rows = binary(trace, BinaryOp::Multiply, rows, weights)?;
    }
    let result = match mode {
        0 => index_combine(trace, ScatterOp::Sum, zero, 0, words.bag, rows)?,
        1 => {
            let sum = index_combine(trace, ScatterOp::Sum, zero, 0, words.bag, rows)?;
            let counts = broadcast_to(trace, words.counts, &ty.dims)?;
            let counts = convert(trace, counts, ty.dtype);
            let count = index_combine(trace, ScatterOp::Sum, zero, 0, words.bag, counts)?;
            record(trace, [sum, count], |[sum, count]| sum / count.max(1.0))?
        }
        2 if ty.dims[0] > 0 => largest_of_bags(trace, &words, zero)?,
        2 => zero,
        other => return Err(error!(InvalidArgument, "mode {other}; want 0, 1 or 2")),
    };
    let absent = ["the bags of words", "the sizes of bags", "the indices"].map(Value::Absent);
    Ok(Value::List([call.made(result)].into_iter().chain(absent).collect()))
}

/// The largest elements of bags. Of equal elements of a bag, the first gets the gradient.
fn largest_of_bags(trace: &mut Trace, words: &Words, zero: NodeId) -> Result<NodeId> {
    let ty = trace.ty(words.rows);
    let least = lowest(ty.dtype)?;
    let start = constant(trace, &trace.ty(zero).dims, least);
    let none = constant(trace, &ty.dims, least);
    let rows = select(trace, words.counts, words.rows, none)?;
    let fixed = stop_gradient(trace, rows)?;
    let largest = index_combine(trace, ScatterOp::Max, start, 0, words.bag, fixed)?;
    let of_word = take(trace, largest, words.bag, 0)?;
    let is_largest = compare(trace, CompareOp::Eq, fixed, of_word)?;
    let is_largest = binary(trace, BinaryOp::And, is_largest, words.counts)?;
    let place = iota(trace, &TensorType::new(DType::S64, &ty.dims), 0)?;
    let after = full(trace, &TensorType::new(DType::S64, &ty.dims), ScalarValue::Signed(ty.dims[0]))?;
    let place = select(trace, is_largest, place, after)?;
    let dims = trace.ty(zero).dims;
    let after = full(trace, &TensorType::new(DType::S64, &dims), ScalarValue::Signed(ty.dims[0]))?;
    let first = index_combine(trace, ScatterOp::Min, after, 0, words.bag, place)?;
    let is_there = compare(trace, CompareOp::Lt, first, after)?;
    let taken = take_along_axis(trace, rows, first, 0)?;
    select(trace, is_there, taken, zero)
}
