//! Reductions over axes, statistics, extremes, cumulative sums, softmax and sorting.

use super::super::arguments::Value;
use super::super::call::{Call, scalar};
use super::super::operator::{Operator, operator};
use super::elementwise::{cast, number_like};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, Trace, UnaryOp};
use ops::elementwise::{binary, compare_scalar, convert, select, unary};
use ops::indexing::take_along_axis;
use ops::reduction::{arg_extreme, cumulative, cumulative_logaddexp, logsumexp, mean, reduce, variance};
use ops::shape::{expand_dims, reshape, squeeze};
use ops::sorting::{argsort, top_k};
use ops::{nn, shape};

pub(super) const TABLE: &[Operator] = &[
    operator(&["sum.default", "sum.dim_IntList"], "self dim=none keepdim=false dtype=none", |call| {
        total(call, ReduceOp::Sum)
    }),
    operator(&["prod.default", "prod.dim_int"], "self dim=none keepdim=false dtype=none", |call| {
        total(call, ReduceOp::Product)
    }),
    operator(&["mean.default", "mean.dim"], "self dim=none keepdim=false dtype=none", mean_of),
    operator(&["any.default", "any.dim", "any.dims"], "self dim=none keepdim=false", |call| truth(call, ReduceOp::Any)),
    operator(&["all.default", "all.dim", "all.dims"], "self dim=none keepdim=false", |call| truth(call, ReduceOp::All)),
    operator(&["amax.default"], "self dim=[] keepdim=false", |call| extreme(call, ReduceOp::Max)),
    operator(&["amin.default"], "self dim=[] keepdim=false", |call| extreme(call, ReduceOp::Min)),
    operator(&["max.default"], "self", |call| extreme(call, ReduceOp::Max)),
    operator(&["min.default"], "self", |call| extreme(call, ReduceOp::Min)),
    operator(&["max.dim"], "self dim keepdim=false", |call| extreme_with_index(call, true)),
    operator(&["min.dim"], "self dim keepdim=false", |call| extreme_with_index(call, false)),
    operator(&["argmax.default"], "self dim=none keepdim=false", |call| index_of_extreme(call, true)),
    operator(&["argmin.default"], "self dim=none keepdim=false", |call| index_of_extreme(call, false)),
    operator(&["var.correction"], "self dim=none correction=1 keepdim=false", |call| spread(call, false)),
    operator(&["var.dim", "var.default"], "self dim=none unbiased=true keepdim=false", |call| spread(call, false)),
    operator(&["std.correction"], "self dim=none correction=1 keepdim=false", |call| spread(call, true)),
    operator(&["std.dim", "std.default"], "self dim=none unbiased=true keepdim=false", |call| spread(call, true)),
    operator(&["var_mean.correction"], "self dim=none correction=1 keepdim=false", |call| {
        let variance = spread(call, false)?;
        Ok(Value::List(vec![variance, mean_of(call)?]))
    }),
    operator(&["var_mean.dim", "var_mean.default"], "self dim=none unbiased=true keepdim=false", |call| {
        let variance = spread(call, false)?;
        Ok(Value::List(vec![variance, mean_of(call)?]))
    }),
    operator(&["std_mean.correction"], "self dim=none correction=1 keepdim=false", |call| {
        let deviation = spread(call, true)?;
        Ok(Value::List(vec![deviation, mean_of(call)?]))
    }),
    operator(&["std_mean.dim", "std_mean.default"], "self dim=none unbiased=true keepdim=false", |call| {
        let deviation = spread(call, true)?;
        Ok(Value::List(vec![deviation, mean_of(call)?]))
    }),
    operator(&["logcumsumexp.default"], "self dim", |call| {
        let x = call.floats("self")?;
        let rank = call.dims(x).len();
        let axis = call.axis("dim", rank)? as i64;
        let made = if rank == 0 { x } else { cumulative_logaddexp(call.trace(), x, axis, false)? };
        Ok(call.made(made))
    }),
    operator(&["logsumexp.default"], "self dim keepdim=false", |call| {
        let x = call.floats("self")?;
        let (axes, keep) = (call.axes("dim", call.dims(x).len())?, call.bool("keepdim")?);
        let made = logsumexp(call.trace(), x, &axes, keep)?;
        Ok(call.made(made))
    }),
    operator(&["linalg_vector_norm.default"], "self ord=2 dim=none keepdim=false dtype=none", |call| norm(call, "ord")),
    operator(&["norm.ScalarOpt_dim", "norm.Scalar"], "self p=2 dim=none keepdim=false", |call| norm(call, "p")),
    operator(&["cumsum.default"], "self dim dtype=none", |call| running(call, ReduceOp::Sum)),
    operator(&["cumprod.default"], "self dim dtype=none", |call| running(call, ReduceOp::Product)),
    operator(&["softmax.int", "_softmax.default"], "self dim dtype=none half_to_float=false", |call| {
        normalized(call, nn::softmax)
    }),
    operator(&["log_softmax.int", "_log_softmax.default"], "self dim dtype=none half_to_float=false", |call| {
        normalized(call, nn::log_softmax)
    }),
    operator(&["topk.default"], "self k dim=-1 largest=true sorted=true", |call| {
        let x = call.tensor("self")?;
        let axis = call.axis("dim", call.dims(x).len())? as i64;
        let (k, largest) = (call.int("k")?, call.bool("largest")?);
        let [values, indices] = top_k(call.trace(), x, k, axis, largest, DType::S64)?;
        Ok(Value::List(vec![call.made(values), call.made(indices)]))
    }),
    operator(&["sort.default", "sort.stable"], "self stable=none dim=-1 descending=false", |call| {
        let (x, indices, axis) = sorted(call)?;
        let is_single = call.dims(x).is_empty();
        let values = if is_single { x } else { take_along_axis(call.trace(), x, indices, axis)? };
        Ok(Value::List(vec![call.made(values), call.made(indices)]))
    }),
    operator(&["argsort.default", "argsort.stable"], "self stable=none dim=-1 descending=false", |call| {
        let (_, indices, _) = sorted(call)?;
        Ok(call.made(indices))
    }),
    operator(&["diff.default"], "self n=1 dim=-1 prepend=none append=none", difference),
];

/// The dtype of a sum: integers and bools are added as s64.
fn summed_dtype(call: &Call, x: NodeId) -> Result<DType> {
    let own = call.dtype_of(x);
    let wide = if own.is_integer() || own == DType::Pred { DType::S64 } else { own };
    Ok(call.dtype("dtype")?.unwrap_or(wide))
}

fn total<'p>(call: &mut Call<'_, 'p>, op: ReduceOp) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let dtype = summed_dtype(call, x)?;
    let (axes, keep) = (call.axes("dim", call.dims(x).len())?, call.bool("keepdim")?);
    let trace = call.trace();
    let x = cast(trace, x, dtype)?;
    let made = if axes.is_empty() { x } else { reduce(trace, op, x, &axes, keep)? };
    Ok(call.made(made))
}

fn mean_of<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let mut x = call.tensor("self")?;
    if let Some(dtype) = call.dtype("dtype")? {
        x = cast(call.trace(), x, dtype)?;
    }
    let (axes, keep) = (call.axes("dim", call.dims(x).len())?, call.bool("keepdim")?);
    let made = if axes.is_empty() { x } else { mean(call.trace(), x, &axes, keep)? };
    Ok(call.made(made))
}

/// Bools, but u8 for u8.
fn truth<'p>(call: &mut Call<'_, 'p>, op: ReduceOp) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let own = call.dtype_of(x);
    let (mut axes, keep) = (call.axes("dim", call.dims(x).len())?, call.bool("keepdim")?);
    // Unlike a sum over an empty list of axes, which is a sum over all.
    if call.optional_ints("dim")?.is_some_and(|given| given.is_empty()) {
        axes.clear();
    }
    let trace = call.trace();
    let x = convert(trace, x, DType::Pred);
    let mut made = if axes.is_empty() { x } else { reduce(trace, op, x, &axes, keep)? };
    if own == DType::U8 {
        made = convert(trace, made, own);
    }
    Ok(call.made(made))
}

/// Of ties, each gets its part of the gradient.
fn extreme<'p>(call: &mut Call<'_, 'p>, op: ReduceOp) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let keep = call.has("keepdim") && call.bool("keepdim")?;
    let axes = call.axes("dim", call.dims(x).len())?;
    let op = match (call.dtype_of(x), op) {
        (DType::Pred, ReduceOp::Max) => ReduceOp::Any,
        (DType::Pred, ReduceOp::Min) => ReduceOp::All,
        _ => op,
    };
    let made = if axes.is_empty() { x } else { reduce(call.trace(), op, x, &axes, keep)? };
    Ok(call.made(made))
}

/// Of ties, the first gets the gradient.
fn extreme_with_index<'p>(call: &mut Call<'_, 'p>, largest: bool) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let rank = call.dims(x).len();
    let (axis, keep) = (call.axis("dim", rank)? as i64, call.bool("keepdim")?);
    if rank == 0 {
        let first = scalar(call.trace(), DType::S64, ScalarValue::Signed(0))?;
        return Ok(Value::List(vec![call.made(x), call.made(first)]));
    }
    let trace = call.trace();
    let mut index = arg_extreme(trace, x, axis, true, largest, DType::S64)?;
    let mut value = take_along_axis(trace, x, index, axis)?;
    if !keep {
        value = squeeze(trace, value, &[axis])?;
        index = squeeze(trace, index, &[axis])?;
    }
    Ok(Value::List(vec![call.made(value), call.made(index)]))
}

fn index_of_extreme<'p>(call: &mut Call<'_, 'p>, largest: bool) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let dims = call.dims(x);
    let keep = call.bool("keepdim")?;
    let made = match call.optional_int("dim")? {
        Some(_) if !dims.is_empty() => {
            let axis = call.axis("dim", dims.len())? as i64;
            arg_extreme(call.trace(), x, axis, keep, largest, DType::S64)?
        }
        _ => {
            let trace = call.trace();
            let flat = reshape(trace, x, &[dims.iter().product()])?;
            let made = arg_extreme(trace, flat, 0, false, largest, DType::S64)?;
            let kept = vec![1; if keep { dims.len() } else { 0 }];
            reshape(trace, made, &kept)?
        }
    };
    Ok(call.made(made))
}

/// The square root of a node whose derivative at 0 is 0.
fn root(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let is_zero = compare_scalar(trace, CompareOp::Eq, x, ScalarValue::Float(0.0), false)?;
    let (zero, one) = (number_like(trace, x, 0.0)?, number_like(trace, x, 1.0)?);
    let inner = select(trace, is_zero, one, x)?;
    let root = unary(trace, UnaryOp::Sqrt, inner)?;
    select(trace, is_zero, zero, root)
}

fn spread<'p>(call: &mut Call<'_, 'p>, is_root: bool) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let correction = match call.has("unbiased") {
        true => f64::from(u8::from(call.bool("unbiased")?)),
        false => call.optional_float("correction")?.unwrap_or(1.0),
    };
    let (axes, keep) = (call.axes("dim", call.dims(x).len())?, call.bool("keepdim")?);
    let dtype = call.dtype_of(x);
    let trace = call.trace();
    // The root of the rounded variance would be rounded twice.
    let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
    let x = convert(trace, x, wide);
    let mut made = variance(trace, x, &axes, correction, keep)?;
    if is_root {
        made = root(trace, made)?;
    }
    let made = convert(trace, made, dtype);
    Ok(call.made(made))
}

/// Norms of any order. The derivative of the norm of 0 is 0.
pub(super) fn norm<'p>(call: &mut Call<'_, 'p>, order: &str) -> Result<Value<'p>> {
    let mut x = call.floats("self")?;
    let order = call.optional_float(order)?.unwrap_or(2.0);
    if let Some(dtype) = call.dtype("dtype")? {
        x = cast(call.trace(), x, dtype)?;
    }
    let (axes, keep) = (call.axes("dim", call.dims(x).len())?, call.bool("keepdim")?);
    let dtype = call.dtype_of(x);
    if !dtype.is_float() {
        return Err(error!(Unimplemented, "a norm of {dtype}"));
    }
    let made = norm_over(call.trace(), x, order, &axes, keep)?;
    Ok(call.made(made))
}

/// Records norms of floats over axes, of any order.
pub(super) fn norm_over(trace: &mut Trace, x: NodeId, order: f64, axes: &[i64], keep: bool) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    let x = convert(trace, x, if dtype == DType::F64 { dtype } else { DType::F32 });
    let over = |trace: &mut Trace, op: ReduceOp, x: NodeId| {
        if axes.is_empty() { Ok(x) } else { reduce(trace, op, x, axes, keep) }
    };
    let sized = |trace: &mut Trace, op: ReduceOp| -> Result<NodeId> {
        let size = unary(trace, UnaryOp::Abs, x)?;
        over(trace, op, size)
    };
    let made = if order == 2.0 {
        let squares = binary(trace, BinaryOp::Multiply, x, x)?;
        let sum = over(trace, ReduceOp::Sum, squares)?;
        root(trace, sum)?
    } else if order == 1.0 {
        sized(trace, ReduceOp::Sum)?
    } else if order == f64::INFINITY {
        sized(trace, ReduceOp::Max)?
    } else if order == f64::NEG_INFINITY {
        sized(trace, ReduceOp::Min)?
    } else {
        let powers = powers_of_sizes(trace, x, order)?;
        let sum = over(trace, ReduceOp::Sum, powers)?;
        if order == 0.0 { sum } else { power_but_of_0(trace, sum, 1.0 / order)? }
    };
    Ok(convert(trace, made, dtype))
}

/// The absolute values to the power of an order. The order 0 counts what is not 0.
fn powers_of_sizes(trace: &mut Trace, x: NodeId, order: f64) -> Result<NodeId> {
    if order == 0.0 {
        let is_some = compare_scalar(trace, CompareOp::Ne, x, ScalarValue::Float(0.0), false)?;
        return Ok(convert(trace, is_some, trace.node(x).dtype));
    }
    let size = unary(trace, UnaryOp::Abs, x)?;
    power_but_of_0(trace, size, order)
}

/// A power of a node that is not negative. The derivative at 0 is 0.
fn power_but_of_0(trace: &mut Trace, x: NodeId, power: f64) -> Result<NodeId> {
    let is_zero = compare_scalar(trace, CompareOp::Eq, x, ScalarValue::Float(0.0), false)?;
    let one = number_like(trace, x, 1.0)?;
    let of_zero = number_like(trace, x, if power < 0.0 { f64::INFINITY } else { 0.0 })?;
    let inner = select(trace, is_zero, one, x)?;
    let power = number_like(trace, x, power)?;
    let made = binary(trace, BinaryOp::Power, inner, power)?;
    select(trace, is_zero, of_zero, made)
}

fn running<'p>(call: &mut Call<'_, 'p>, op: ReduceOp) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let dtype = summed_dtype(call, x)?;
    let rank = call.dims(x).len();
    let axis = call.axis("dim", rank)? as i64;
    let trace = call.trace();
    let x = cast(trace, x, dtype)?;
    let made = if rank == 0 { x } else { cumulative(trace, op, x, axis, false)? };
    Ok(call.made(made))
}

fn normalized<'p>(call: &mut Call<'_, 'p>, record: fn(&mut Trace, NodeId, i64) -> Result<NodeId>) -> Result<Value<'p>> {
    let mut x = call.tensor("self")?;
    if let Some(dtype) = call.dtype("dtype")? {
        x = cast(call.trace(), x, dtype)?;
    }
    if call.bool("half_to_float")? {
        x = convert(call.trace(), x, DType::F32);
    }
    let rank = call.dims(x).len();
    let axis = call.axis("dim", rank)? as i64;
    let trace = call.trace();
    let made = match rank {
        0 => {
            let one = expand_dims(trace, x, &[0])?;
            let made = record(trace, one, 0)?;
            reshape(trace, made, &[])?
        }
        _ => record(trace, x, axis)?,
    };
    Ok(call.made(made))
}

/// `self`, the places of its sorted elements, and the axis.
fn sorted(call: &mut Call) -> Result<(NodeId, NodeId, i64)> {
    let x = call.tensor("self")?;
    let axis = call.axis("dim", call.dims(x).len())? as i64;
    let descending = call.bool("descending")?;
    if call.dims(x).is_empty() {
        let first = scalar(call.trace(), DType::S64, ScalarValue::Signed(0))?;
        return Ok((x, first, axis));
    }
    let indices = argsort(call.trace(), x, axis, descending, true, DType::S64)?;
    Ok((x, indices, axis))
}

fn difference<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let mut x = call.tensor("self")?;
    let axis = call.axis("dim", call.dims(x).len())?;
    let ends = [call.optional_tensor("prepend")?, call.optional_tensor("append")?];
    let dtype = call.dtype_of(x);
    if ends.iter().flatten().any(|&end| call.dtype_of(end) != dtype) {
        return Err(error!(Unimplemented, "prepend or append of another dtype"));
    }
    let whole: Vec<NodeId> = ends[0].into_iter().chain([x]).chain(ends[1]).collect();
    let at = axis as i64;
    if whole.len() > 1 {
        x = shape::concatenate(call.trace(), &whole, at)?;
    }
    let times = call.int("n")?;
    call.refuse_unless("n", times <= 64)?;
    for _ in 0..times {
        let size = call.dims(x)[axis];
        if size == 0 {
            break;
        }
        let trace = call.trace();
        let (after, before) =
            (shape::slice_axis(trace, x, at, 1, size, 1)?, shape::slice_axis(trace, x, at, 0, size - 1, 1)?);
        let op = if dtype == DType::Pred { BinaryOp::Xor } else { BinaryOp::Subtract };
        x = binary(trace, op, after, before)?;
    }
    Ok(call.made(x))
}

/// Records the mean of all elements, their sum or the elements themselves, by PyTorch's number of a reduction.
pub fn reduced(trace: &mut Trace, x: NodeId, reduction: i64) -> Result<NodeId> {
    let dims = trace.ty(x).dims;
    let axes: Vec<i64> = (0..dims.len() as i64).collect();
    if axes.is_empty() || reduction == 0 {
        return Ok(x);
    }
    match reduction {
        1 => mean(trace, x, &axes, false),
        2 => reduce(trace, ReduceOp::Sum, x, &axes, false),
        other => Err(error!(InvalidArgument, "reduction {other}; want 0, 1 or 2")),
    }
}

/// Records the sum of all elements.
pub fn sum_all(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    reduced(trace, x, 2)
}
