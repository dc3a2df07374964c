//! Operators that split, join and rearrange tensors, composed of other operators.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::parts::axis_of;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType, normalize_axis};
use ir::{BinaryOp, NodeId, Trace};
use ops::creation::{full, tril, triu};
use ops::elementwise::{binary, convert};
use ops::indexing::{nonzero, take};
use ops::shape::{concatenate, pad_scalar, reshape, stack, transpose};

pub(super) const TABLE: &[Operator] = &[
    operator(&["fliplr.default"], "self", |call| flipped(call, &[1])),
    operator(&["flipud.default"], "self", |call| flipped(call, &[0])),
    operator(&["rot90.default"], "self k=1 dims=[0,1]", turned),
    operator(&["hsplit.int"], "self sections", |call| {
        let axis = i64::from(rank(call, "self")? > 1);
        split_along(call, axis, "sections")
    }),
    operator(&["hsplit.array"], "self indices", |call| {
        let axis = i64::from(rank(call, "self")? > 1);
        split_along(call, axis, "indices")
    }),
    operator(&["vsplit.int"], "self sections", |call| split_along(call, 0, "sections")),
    operator(&["vsplit.array"], "self indices", |call| split_along(call, 0, "indices")),
    operator(&["dsplit.int"], "self sections", |call| split_along(call, 2, "sections")),
    operator(&["dsplit.array"], "self indices", |call| split_along(call, 2, "indices")),
    operator(&["tensor_split.indices"], "self indices dim=0", |call| {
        let (axis, size) = axis_of(call)?;
        let cut = |&place: &i64| (if place < 0 { place.saturating_add(size) } else { place }).clamp(0, size);
        let mut places: Vec<i64> = call.ints("indices")?.iter().map(cut).collect();
        places.push(size);
        let mut start = 0;
        let part = |stop: i64| {
            let bounds = [("dim", axis as i64), ("start", start), ("end", stop.max(start))];
            start = stop;
            let bounds = bounds.map(|(name, bound)| (name, Value::Int(bound)));
            record(call, "slice.Tensor", [("self", call.value("self").clone())].into_iter().chain(bounds))
        };
        places.into_iter().map(part).collect::<Result<Vec<Value>>>().map(Value::List)
    }),
    operator(&["atleast_1d.default"], "self", |call| with_rank(call, "self", 1)),
    operator(&["atleast_2d.default"], "self", |call| with_rank(call, "self", 2)),
    operator(&["atleast_3d.default"], "self", |call| with_rank(call, "self", 3)),
    operator(&["atleast_1d.Sequence"], "tensors", |call| each_with_rank(call, 1)),
    operator(&["atleast_2d.Sequence"], "tensors", |call| each_with_rank(call, 2)),
    operator(&["atleast_3d.Sequence"], "tensors", |call| each_with_rank(call, 3)),
    operator(&["column_stack.default"], "tensors", |call| {
        let Value::List(list) = call.value("tensors").clone() else { return not_a_list() };
        let column = |value: Value<'_>| {
            let node = node_of(call, &value)?;
            let dims = call.dims(node);
            if dims.len() > 1 { Ok(node) } else { reshape(call.trace(), node, &[dims.iter().product(), 1]) }
        };
        let columns = list.into_iter().map(column).collect::<Result<Vec<NodeId>>>()?;
        let made = concatenate(call.trace(), &columns, 1)?;
        Ok(call.made(made))
    }),
    operator(&["dstack.default"], "tensors", |call| {
        let parts = each_with_rank(call, 3)?;
        record(call, "cat.default", [("tensors", parts), ("dim", Value::Int(2))])
    }),
    operator(&["block_diag.default"], "tensors", |call| {
        let parts = each_with_rank(call, 2)?;
        let Value::List(list) = parts else { return not_a_list() };
        let nodes = list.iter().map(|value| node_of(call, value)).collect::<Result<Vec<NodeId>>>()?;
        let columns = nodes.iter().fold(0i64, |sum, &node| sum.saturating_add(call.dims(node)[1]));
        let mut before = 0;
        let row = |node: NodeId| {
            let own = call.dims(node)[1];
            let (low, high) = ([0, before], [0, columns - before - own]);
            before += own;
            pad_scalar(call.trace(), node, ScalarValue::Signed(0), &low, &high, &[0, 0])
        };
        let rows = nodes.into_iter().map(row).collect::<Result<Vec<NodeId>>>()?;
        let made = concatenate(call.trace(), &rows, 0)?;
        Ok(call.made(made))
    }),
    operator(&["cartesian_prod.default"], "tensors", |call| {
        let tensors = call.value("tensors").clone();
        let grid = record(call, "meshgrid.indexing", [("tensors", tensors), ("indexing", Value::Text("ij"))])?;
        let Value::List(list) = grid else { return not_a_list() };
        if let [only] = &list[..] {
            return Ok(only.clone());
        }
        let flat = |value: Value<'_>| {
            let node = node_of(call, &value)?;
            let count = call.dims(node).iter().product();
            reshape(call.trace(), node, &[count, 1])
        };
        let columns = list.into_iter().map(flat).collect::<Result<Vec<NodeId>>>()?;
        let made = concatenate(call.trace(), &columns, 1)?;
        Ok(call.made(made))
    }),
    operator(&["kron.default"], "self other", |call| {
        let [a, b] = call.promoted(["self", "other"], false)?;
        let rank = call.dims(a).len().max(call.dims(b).len());
        let whole = |dims: Vec<i64>| [vec![1; rank - dims.len()], dims].concat();
        let [of_a, of_b] = [a, b].map(|node| whole(call.dims(node)));
        let between = |first: &[i64], second: &[i64]| first.iter().zip(second).flat_map(|(&a, &b)| [a, b]).collect();
        let ones = vec![1; rank];
        let [wide_a, wide_b]: [Vec<i64>; 2] = [between(&of_a, &ones), between(&ones, &of_b)];
        let dims: Vec<i64> = of_a.iter().zip(&of_b).map(|(a, b)| a.saturating_mul(*b)).collect();
        let trace = call.trace();
        let (a, b) = (reshape(trace, a, &wide_a)?, reshape(trace, b, &wide_b)?);
        let product = binary(trace, BinaryOp::Multiply, a, b)?;
        let made = reshape(trace, product, &dims)?;
        Ok(call.made(made))
    }),
    operator(&["tensordot.default"], "self other dims_self dims_other", |call| {
        let [a, b] = call.promoted(["self", "other"], false)?;
        let made = contracted(call, [a, b], [call.ints("dims_self")?, call.ints("dims_other")?])?;
        Ok(call.made(made))
    }),
    operator(&["inner.default"], "self other", |call| {
        let [a, b] = call.promoted(["self", "other"], false)?;
        if call.dims(a).is_empty() || call.dims(b).is_empty() {
            let made = binary(call.trace(), BinaryOp::Multiply, a, b)?;
            return Ok(call.made(made));
        }
        let made = contracted(call, [a, b], [vec![-1], vec![-1]])?;
        Ok(call.made(made))
    }),
    operator(&["combinations.default"], "self r=2 with_replacement=false", |call| {
        let (x, again) = (call.tensor("self")?, call.bool("with_replacement")?);
        call.refuse_unless("r", call.int("r")? == 2)?;
        let &[size] = &call.dims(x)[..] else {
            return Err(error!(InvalidArgument, "combinations of {}; want 1 axis", call.ty(x)));
        };
        let trace = call.trace();
        let places = triangle_places(trace, [size, size], i64::from(!again), true)?;
        let columns = places.map(|places| take(trace, x, places, 0));
        let columns = columns.into_iter().collect::<Result<Vec<NodeId>>>()?;
        let made = stack(trace, &columns, 1)?;
        Ok(call.made(made))
    }),
    operator(&["tril_indices.default"], INDICES, |call| triangle_indices(call, false)),
    operator(&["triu_indices.default"], INDICES, |call| triangle_indices(call, true)),
];

const INDICES: &str = "row col offset=0 dtype=none layout=none device=none pin_memory=none";

/// Rows and columns of the places of a triangle of a matrix, in row-major order.
pub(super) fn triangle_places(trace: &mut Trace, dims: [i64; 2], offset: i64, upper: bool) -> Result<[NodeId; 2]> {
    let [rows, columns] = dims;
    let of_row = |row: i64| match upper {
        true => columns - row.saturating_add(offset).clamp(0, columns),
        false => row.saturating_add(offset).saturating_add(1).clamp(0, columns),
    };
    if rows > 1 << 30 || columns > 1 << 30 || rows * columns > 1 << 30 {
        return Err(error!(Unimplemented, "a matrix of {rows} by {columns}; want at most 2^30 elements"));
    }
    let count = (0..rows).map(of_row).sum();
    let all = full(trace, &TensorType::new(DType::Pred, &dims), ScalarValue::Signed(1))?;
    let triangle = if upper { triu(trace, all, offset)? } else { tril(trace, all, offset)? };
    let places = nonzero(trace, triangle, count, 0, DType::S64)?;
    Ok([places[0], places[1]])
}

fn triangle_indices<'p>(call: &mut Call<'_, 'p>, upper: bool) -> Result<Value<'p>> {
    let (dims, offset) = ([call.int("row")?, call.int("col")?], call.int("offset")?);
    let dtype = call.dtype("dtype")?.unwrap_or(DType::S64);
    if dims[0] < 0 || dims[1] < 0 {
        return Err(error!(InvalidArgument, "a matrix of {} by {}", dims[0], dims[1]));
    }
    let trace = call.trace();
    let places = triangle_places(trace, dims, offset, upper)?;
    let made = stack(trace, &places, 0)?;
    let made = convert(trace, made, dtype);
    Ok(call.made(made))
}

/// Records another operator, with these arguments.
pub(super) fn record<'p>(
    call: &mut Call<'_, 'p>,
    name: &'static str,
    given: impl IntoIterator<Item = (&'static str, Value<'p>)>,
) -> Result<Value<'p>> {
    let operator = super::find(name).ok_or_else(|| error!(Internal, "the table lacks {name}"))?;
    let given = given.into_iter().collect();
    let mut inner = Call::new(call.recorder, operator.arguments, given, call.is_contiguous)?;
    (operator.record)(&mut inner)
}

/// The node of a tensor.
pub(super) fn node_of(call: &mut Call, value: &Value) -> Result<NodeId> {
    match value {
        Value::Tensor(id) => call.recorder.read(*id),
        other => Err(error!(InvalidArgument, "{}; want a tensor", other.kind())),
    }
}

fn not_a_list<T>() -> Result<T> {
    Err(error!(InvalidArgument, "its argument tensors is not a list"))
}

fn rank(call: &mut Call, name: &str) -> Result<usize> {
    let x = call.tensor(name)?;
    Ok(call.dims(x).len())
}

fn list_of<'p>(numbers: &[i64]) -> Value<'p> {
    Value::List(numbers.iter().map(|&number| Value::Int(number)).collect())
}

fn flipped<'p>(call: &mut Call<'_, 'p>, axes: &[i64]) -> Result<Value<'p>> {
    record(call, "flip.default", [("self", call.value("self").clone()), ("dims", list_of(axes))])
}

/// Turns by `k` quarters from the first of two axes to the second.
fn turned<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let rank = rank(call, "self")?;
    let (k, given) = (call.int("k")?.rem_euclid(4), call.ints("dims")?);
    let &[a, b] = &given[..] else { return Err(error!(InvalidArgument, "dims {given:?}; want two axes")) };
    let [a, b] = [normalize_axis("dims", a, rank)? as i64, normalize_axis("dims", b, rank)? as i64];
    let made = match k {
        0 => return record(call, "clone.default", [("self", call.value("self").clone())]),
        1 => flipped(call, &[b])?,
        2 => return flipped(call, &[a, b]),
        _ => flipped(call, &[a])?,
    };
    let node = node_of(call, &made)?;
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes.swap(a as usize, b as usize);
    let node = transpose(call.trace(), node, &axes)?;
    Ok(call.made(node))
}

fn split_along<'p>(call: &mut Call<'_, 'p>, axis: i64, by: &'static str) -> Result<Value<'p>> {
    let name = if by == "sections" { "tensor_split.sections" } else { "tensor_split.indices" };
    let given = [("self", call.value("self").clone()), (by, call.value(by).clone()), ("dim", Value::Int(axis))];
    record(call, name, given)
}

/// A view of a tensor that has at least `least` axes.
fn with_rank<'p>(call: &mut Call<'_, 'p>, name: &'static str, least: usize) -> Result<Value<'p>> {
    let value = call.value(name).clone();
    ranked(call, value, least)
}

fn each_with_rank<'p>(call: &mut Call<'_, 'p>, least: usize) -> Result<Value<'p>> {
    let Value::List(list) = call.value("tensors").clone() else { return not_a_list() };
    list.into_iter().map(|value| ranked(call, value, least)).collect::<Result<Vec<Value>>>().map(Value::List)
}

fn ranked<'p>(call: &mut Call<'_, 'p>, value: Value<'p>, least: usize) -> Result<Value<'p>> {
    let node = node_of(call, &value)?;
    let dims = call.dims(node);
    let size = match (least, &dims[..]) {
        (1, []) => vec![1],
        (2, []) => vec![1, 1],
        (2, &[n]) => vec![1, n],
        (3, []) => vec![1, 1, 1],
        (3, &[n]) => vec![1, n, 1],
        (3, &[n, m]) => vec![n, m, 1],
        _ => return Ok(value),
    };
    record(call, "view.default", [("self", value), ("size", list_of(&size))])
}

/// Sums products over pairs of axes. The other axes of the first tensor come first.
fn contracted(call: &mut Call, nodes: [NodeId; 2], axes: [Vec<i64>; 2]) -> Result<NodeId> {
    let mut matrices = nodes;
    let mut rest = Vec::new();
    for (i, (node, axes)) in nodes.into_iter().zip(axes).enumerate() {
        let dims = call.dims(node);
        let axis = |&axis: &i64| normalize_axis("dims", axis, dims.len()).map(|axis| axis as i64);
        let summed = axes.iter().map(axis).collect::<Result<Vec<i64>>>()?;
        let others: Vec<i64> = (0..dims.len() as i64).filter(|axis| !summed.contains(axis)).collect();
        let size = |axes: &[i64]| axes.iter().map(|&axis| dims[axis as usize]).product::<i64>();
        let (order, matrix) = match i {
            0 => ([&others[..], &summed].concat(), [size(&others), size(&summed)]),
            _ => ([&summed[..], &others].concat(), [size(&summed), size(&others)]),
        };
        rest.extend(others.iter().map(|&axis| dims[axis as usize]));
        let trace = call.trace();
        let moved = transpose(trace, node, &order)?;
        matrices[i] = reshape(trace, moved, &matrix)?;
    }
    let trace = call.trace();
    let product = ops::linalg::matmul(trace, matrices[0], matrices[1])?;
    reshape(trace, product, &rest)
}
