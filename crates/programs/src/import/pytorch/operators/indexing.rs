//! Reads and writes at places that tensors hold. Negative indices count from the end.

use super::super::arguments::{Number, Value};
use super::super::call::{Call, scalar};
use super::super::operator::{Operator, operator};
use base::error;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType, broadcast};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, ScatterOp, Trace};
use ops::control::stop_gradient;
use ops::creation;
use ops::creation::{full, iota, one_hot};
use ops::elementwise::formula::record;
use ops::elementwise::{binary, compare_scalar, convert, select};
use ops::indexing::{index, index_combine, index_put, nonzero, scatter_along, slice_assign, take, take_along_axis};
use ops::reduction::cumulative;
use ops::shape::{broadcast_to, expand_dims, reshape, slice, stack};
use ops::sorting::searchsorted;

pub(super) const TABLE: &[Operator] = &[
    operator(&["index.Tensor"], "self indices", |call| {
        let (x, indices) = (call.tensor("self")?, places(call)?);
        let made = index(call.trace(), x, &indices)?;
        Ok(call.made(made))
    }),
    operator(&["item.default", "_local_scalar_dense.default"], "self", item),
    operator(&["index_put.default"], "self indices values accumulate=false", put),
    operator(&["index_select.default"], "self dim index", |call| {
        let (x, at) = (call.tensor("self")?, call.tensor("index")?);
        let axis = call.axis("dim", call.dims(x).len())? as i64;
        let (rank, count) = (call.dims(x).len(), call.dims(at).iter().product());
        let trace = call.trace();
        // An index of rank 0 selects as a list of one; rank 0 has one element for each index.
        let at = reshape(trace, at, &[count])?;
        let x = if rank == 0 { reshape(trace, x, &[1])? } else { x };
        let mut made = take(trace, x, at, axis)?;
        if rank == 0 {
            made = reshape(trace, made, &[])?;
        }
        Ok(call.made(made))
    }),
    operator(&["embedding.default"], "weight indices padding_idx=-1 scale_grad_by_freq=false sparse=false", embedding),
    operator(&["gather.default"], "self dim index sparse_grad=false", gather),
    operator(&["scatter.src"], "self dim index src", |call| scattered(call, ScatterOp::Copy)),
    operator(&["scatter.value"], "self dim index value", |call| scattered(call, ScatterOp::Copy)),
    operator(&["scatter.reduce"], "self dim index src reduce", scattered_by_name),
    operator(&["scatter.value_reduce"], "self dim index value reduce", scattered_by_name),
    operator(&["masked_scatter.default"], "self mask source", masked_scatter),
    operator(&["fill_diagonal_.default"], "self fill_value wrap=false", fill_diagonal),
    operator(&["repeat_interleave.Tensor"], "repeats output_size=none", |call| {
        let repeats = call.tensor("repeats")?;
        let made = repeated_places(call, repeats)?;
        Ok(call.made(made))
    }),
    operator(&["repeat_interleave.self_Tensor"], "self repeats dim=none output_size=none", |call| {
        let (mut x, mut repeats) = (call.tensor("self")?, call.tensor("repeats")?);
        let dims = call.dims(x);
        let axis = match call.value("dim") {
            Value::None => {
                x = reshape(call.trace(), x, &[dims.iter().product()])?;
                0
            }
            _ => call.axis("dim", dims.len())?,
        };
        let size = call.dims(x)[axis];
        repeats = broadcast_to(call.trace(), repeats, &[size])?;
        let places = repeated_places(call, repeats)?;
        let made = take(call.trace(), x, places, axis as i64)?;
        Ok(call.made(made))
    }),
    operator(&["nonzero_static.default"], "self size fill_value=-1", |call| {
        let (x, size, fill) = (call.tensor("self")?, call.int("size")?, call.int("fill_value")?);
        let rank = call.dims(x).len();
        let trace = call.trace();
        let columns = if rank == 0 { Vec::new() } else { nonzero(trace, x, size, fill, DType::S64)? };
        // The last result of `nonzero` is the number of places.
        let made = match &columns[..rank] {
            [] => full(trace, &TensorType::new(DType::S64, &[size, 0]), ScalarValue::Signed(0))?,
            columns => stack(trace, columns, 1)?,
        };
        Ok(call.made(made))
    }),
    operator(&["index_fill.int_Tensor"], "self dim index value", |call| {
        let (x, at, value) = (call.tensor("self")?, call.tensor("index")?, call.tensor("value")?);
        let mut ty = call.ty(x);
        let axis = call.axis("dim", ty.dims.len())?;
        ty.dims[axis] = call.dims(at).iter().product();
        let trace = call.trace();
        let value = convert(trace, value, ty.dtype);
        let source = broadcast_to(trace, value, &ty.dims)?;
        let made = index_combine(trace, ScatterOp::Copy, x, axis as i64, at, source)?;
        Ok(call.made(made))
    }),
    operator(&["scatter_add.default"], "self dim index src", |call| scattered(call, ScatterOp::Sum)),
    operator(&["index_add.default"], "self dim index source alpha=1", |call| combined(call, ScatterOp::Sum)),
    operator(&["index_copy.default"], "self dim index source", |call| combined(call, ScatterOp::Copy)),
    operator(&["index_fill.int_Scalar"], "self dim index value", |call| {
        let (x, at, value) = (call.tensor("self")?, call.tensor("index")?, call.number("value")?.1);
        let mut ty = call.ty(x);
        let axis = call.axis("dim", ty.dims.len())?;
        ty.dims[axis] = call.dims(at).iter().product();
        let trace = call.trace();
        let source = full(trace, &ty, value)?;
        let made = index_combine(trace, ScatterOp::Copy, x, axis as i64, at, source)?;
        Ok(call.made(made))
    }),
    operator(&["one_hot.default"], "self num_classes=-1", |call| {
        let (x, classes) = (call.tensor("self")?, call.int("num_classes")?);
        if classes < 1 {
            return Err(error!(Unimplemented, "a number of classes that depends on data"));
        }
        let made = one_hot(call.trace(), x, classes, -1, DType::S64)?;
        Ok(call.made(made))
    }),
    operator(&["tril.default"], "self diagonal=0", |call| triangle(call, creation::tril)),
    operator(&["triu.default"], "self diagonal=0", |call| triangle(call, creation::triu)),
];

/// The element of a tensor of one element as Python's number: an integer of 64 bits, or a double.
fn item<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let dtype = call.dtype_of(x);
    let wide = match dtype.kind() {
        _ if dtype.is_integer() => DType::S64,
        Kind::Float | Kind::Float8 => DType::F64,
        Kind::Complex => DType::C128,
        _ => dtype,
    };
    let trace = call.trace();
    let x = convert(trace, x, wide);
    let x = reshape(trace, x, &[])?;
    let node = stop_gradient(trace, x)?;
    Ok(Value::Computed(Number::of(node)))
}

/// The indices of `index` and `index_put`; UNIMPLEMENTED for masks, of which the number of places depends on data.
fn places(call: &mut Call) -> Result<Vec<Option<NodeId>>> {
    let indices = call.optional_tensors("indices")?;
    let is_mask = |&index: &NodeId| matches!(call.dtype_of(index), DType::Pred | DType::U8);
    match indices.iter().flatten().any(is_mask) {
        true => Err(error!(Unimplemented, "an index that is a mask: the size of the result depends on data")),
        false => Ok(indices),
    }
}

fn put<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, values) = (call.tensor("self")?, call.tensor("values")?);
    let accumulate = call.bool("accumulate")?;
    let dtype = call.dtype_of(x);
    let values = convert(call.trace(), values, dtype);
    let indices = call.optional_tensors("indices")?;
    if let [Some(mask), rest @ ..] = &indices[..]
        && rest.iter().all(Option::is_none)
        && call.dtype_of(*mask) == DType::Pred
        && !accumulate
        && let Some(row) = row_of(call, x, *mask, values)
    {
        return put_masked(call, x, *mask, row?);
    }
    let indices = places(call)?;
    let op = if accumulate { ScatterOp::Sum } else { ScatterOp::Copy };
    let trace = call.trace();
    // The values broadcast to what the indices select.
    let selected = index(trace, x, &indices)?;
    let dims = trace.ty(selected).dims;
    let values = broadcast_to(trace, values, &dims)?;
    let made = index_put(trace, op, x, &indices, values)?;
    Ok(call.made(made))
}

/// The values that every place of a mask gets, in the shape of the axes that the mask has not. None if places get
/// values of their own, of which the number depends on data.
fn row_of(call: &mut Call, x: NodeId, mask: NodeId, values: NodeId) -> Option<Result<NodeId>> {
    let rest = call.dims(x).get(call.dims(mask).len()..)?.to_vec();
    let mut dims = call.dims(values);
    while dims.len() > rest.len() || (dims.first() == Some(&1) && dims.iter().product::<i64>() == 1) {
        if dims[0] != 1 {
            return None;
        }
        dims.remove(0);
    }
    Some(reshape(call.trace(), values, &dims).and_then(|row| broadcast_to(call.trace(), row, &rest)))
}

/// Records a tensor with the same values wherever a mask of its first axes is true.
fn put_masked<'p>(call: &mut Call<'_, 'p>, x: NodeId, mask: NodeId, value: NodeId) -> Result<Value<'p>> {
    let (dims, mut wide) = (call.dims(x), call.dims(mask));
    if dims.get(..wide.len()) != Some(&wide[..]) {
        return Err(error!(InvalidArgument, "a mask of sizes {wide:?} for a tensor of sizes {dims:?}"));
    }
    wide.resize(dims.len(), 1);
    let trace = call.trace();
    let (mask, value) = (reshape(trace, mask, &wide)?, broadcast_to(trace, value, &dims)?);
    let made = select(trace, mask, value, x)?;
    Ok(call.made(made))
}

/// Rows of a table. The row `padding_idx` has the gradient 0.
fn embedding<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (table, at) = (call.tensor("weight")?, call.tensor("indices")?);
    let (padding, by_frequency) = (call.int("padding_idx")?, call.bool("scale_grad_by_freq")?);
    call.refuse_unless("scale_grad_by_freq", !by_frequency)?;
    let trace = call.trace();
    let mut rows = take(trace, table, at, 0)?;
    if padding >= 0 {
        let is_padding = compare_scalar(trace, CompareOp::Eq, at, ScalarValue::Signed(padding), false)?;
        let is_padding = expand_dims(trace, is_padding, &[-1])?;
        let fixed = stop_gradient(trace, rows)?;
        rows = select(trace, is_padding, fixed, rows)?;
    }
    Ok(call.made(rows))
}

/// The part of a tensor that indices along an axis reach: on the other axes they may have fewer elements.
fn reached(trace: &mut Trace, x: NodeId, at: &[i64], axis: usize) -> Result<NodeId> {
    let mut limits = trace.ty(x).dims.to_vec();
    if limits.len() != at.len() {
        return Err(error!(InvalidArgument, "indices of {} axes for a tensor of {}", at.len(), limits.len()));
    }
    for (other, limit) in limits.iter_mut().enumerate().filter(|(other, _)| *other != axis) {
        *limit = (*limit).min(at[other]);
    }
    let (starts, steps) = (vec![0; at.len()], vec![1; at.len()]);
    slice(trace, x, &starts, &limits, &steps)
}

/// A tensor of rank 0 as a list of one: PyTorch takes the one for the other where it gathers and scatters.
pub fn listed(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    if trace.ty(x).dims.is_empty() { reshape(trace, x, &[1]) } else { Ok(x) }
}

fn gather<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, at) = (call.tensor("self")?, call.tensor("index")?);
    let (own, axis) = (call.dims(at), call.axis("dim", call.dims(x).len())?);
    let trace = call.trace();
    let (x, at) = (listed(trace, x)?, listed(trace, at)?);
    let dims = trace.ty(at).dims;
    let part = reached(trace, x, &dims, axis)?;
    let made = take_along_axis(trace, part, at, axis as i64)?;
    let made = if own.is_empty() { reshape(trace, made, &[])? } else { made };
    Ok(call.made(made))
}

fn scattered<'p>(call: &mut Call<'_, 'p>, op: ScatterOp) -> Result<Value<'p>> {
    let (x, at) = (call.tensor("self")?, call.tensor("index")?);
    let (own, axis) = (call.dims(x), call.axis("dim", call.dims(x).len())?);
    let (x, at) = (listed(call.trace(), x)?, listed(call.trace(), at)?);
    let (dims, ty) = (call.dims(at), call.ty(x));
    let updates = match call.has("src") {
        true => {
            let source = call.tensor("src")?;
            let source = listed(call.trace(), source)?;
            let (starts, steps) = (vec![0; dims.len()], vec![1; dims.len()]);
            let source = slice(call.trace(), source, &starts, &dims, &steps)?;
            convert(call.trace(), source, ty.dtype)
        }
        false => {
            let value = call.number("value")?.1;
            full(call.trace(), &TensorType::new(ty.dtype, &dims), value)?
        }
    };
    let trace = call.trace();
    let made = scatter_into(trace, op, x, at, updates, axis)?;
    let made = if own.is_empty() { reshape(trace, made, &[])? } else { made };
    Ok(call.made(made))
}

/// Records a tensor with one element of `updates` combined into it for each index.
pub fn scatter_into(
    trace: &mut Trace,
    op: ScatterOp,
    x: NodeId,
    at: NodeId,
    updates: NodeId,
    axis: usize,
) -> Result<NodeId> {
    let dims = trace.ty(x).dims;
    let part = reached(trace, x, &trace.ty(at).dims, axis)?;
    let made = scatter_along(trace, op, part, at, updates, axis as i64)?;
    let limits = trace.ty(part).dims;
    match limits == dims {
        true => Ok(made),
        false => slice_assign(trace, x, &vec![0; limits.len()], &limits, &vec![1; limits.len()], made),
    }
}

fn combined<'p>(call: &mut Call<'_, 'p>, op: ScatterOp) -> Result<Value<'p>> {
    let (x, at, source) = (call.tensor("self")?, call.tensor("index")?, call.tensor("source")?);
    let axis = call.axis("dim", call.dims(x).len())? as i64;
    let alpha = if call.has("alpha") { Some(call.number("alpha")?.1) } else { None };
    let trace = call.trace();
    let dtype = trace.node(x).dtype;
    let mut source = convert(trace, source, dtype);
    if let Some(alpha) = alpha.filter(|alpha| alpha.real() != Some(1.0)) {
        let alpha = scalar(trace, dtype, alpha)?;
        source = binary(trace, BinaryOp::Multiply, source, alpha)?;
    }
    let made = index_combine(trace, op, x, axis, at, source)?;
    Ok(call.made(made))
}

fn scattered_by_name<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    match call.text("reduce")? {
        "add" => scattered(call, ScatterOp::Sum),
        "multiply" => scattered(call, ScatterOp::Product),
        other => Err(error!(InvalidArgument, "reduce is {other}; want add or multiply")),
    }
}

/// The elements of `source` in order at the places of a mask.
fn masked_scatter<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, mask, source) = (call.tensor("self")?, call.tensor("mask")?, call.tensor("source")?);
    let dims = broadcast(&call.dims(x), &call.dims(mask));
    let dims = dims.ok_or_else(|| error!(InvalidArgument, "a mask of {} for {}", call.ty(mask), call.ty(x)))?;
    let (count, given) = (dims.iter().product::<i64>(), call.dims(source).iter().product::<i64>());
    let trace = call.trace();
    let (x, mask) = (broadcast_to(trace, x, &dims)?, broadcast_to(trace, mask, &dims)?);
    if count == 0 || given == 0 {
        return Ok(call.made(x));
    }
    let flat = reshape(trace, mask, &[count])?;
    let counted = convert(trace, flat, DType::S64);
    let places = cumulative(trace, ReduceOp::Sum, counted, 0, false)?;
    let places = record(trace, [places], |[places]| (places - 1).max(0).min(given - 1))?;
    let source = reshape(trace, source, &[given])?;
    let taken = take(trace, source, places, 0)?;
    let taken = reshape(trace, taken, &dims)?;
    let made = select(trace, mask, taken, x)?;
    Ok(call.made(made))
}

/// A number on the main diagonal of a matrix, or of an array of equal axes.
fn fill_diagonal<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let (ty, value, wraps) = (call.ty(x), call.number("fill_value")?.1, call.bool("wrap")?);
    let dims = &ty.dims;
    if dims.len() < 2 || dims.len() > 2 && dims.iter().any(|&size| size != dims[0]) {
        return Err(error!(InvalidArgument, "the diagonal of {ty}"));
    }
    let trace = call.trace();
    let places = TensorType { dtype: DType::S64, dims: dims.clone() };
    let first = iota(trace, &places, 0)?;
    let mut holds = None;
    for axis in 1..dims.len() {
        let other = iota(trace, &places, axis as i64)?;
        let period = dims[1] + 1;
        let equal = record(trace, [first, other], |[first, other]| match wraps && dims.len() == 2 {
            // Below a square, the diagonal starts again after one row.
            true => (first - first / period * period).eq(other),
            false => first.eq(other),
        })?;
        holds = Some(match holds {
            None => equal,
            Some(before) => binary(trace, BinaryOp::And, before, equal)?,
        });
    }
    let value = scalar(trace, ty.dtype, value)?;
    let made = select(trace, holds.expect("at least two axes"), value, x)?;
    Ok(call.made(made))
}

/// Records each index as often as `repeats` says. The argument `output_size` is the number of all indices.
fn repeated_places(call: &mut Call, repeats: NodeId) -> Result<NodeId> {
    let Some(size) = call.optional_int("output_size")? else {
        return Err(error!(Unimplemented, "repeats by a tensor without output_size: the size depends on data"));
    };
    let trace = call.trace();
    let repeats = convert(trace, repeats, DType::S64);
    let ends = cumulative(trace, ReduceOp::Sum, repeats, 0, false)?;
    let places = iota(trace, &TensorType::new(DType::S64, &[size]), 0)?;
    searchsorted(trace, ends, places, true, DType::S64)
}

fn triangle<'p>(call: &mut Call<'_, 'p>, record: fn(&mut Trace, NodeId, i64) -> Result<NodeId>) -> Result<Value<'p>> {
    let (x, diagonal) = (call.tensor("self")?, call.int("diagonal")?);
    let made = record(call.trace(), x, diagonal)?;
    Ok(call.made(made))
}
