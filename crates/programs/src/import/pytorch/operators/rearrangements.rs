//! Further operators that move elements.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::super::tensors::{Sight, View};
use base::error;
use base::error::Result;
use base::types::{DType, Dims, Kind, ScalarValue, broadcast};
use ir::{CompareOp, NodeId, ReduceOp, Trace, UnaryFunction};
use ops::creation::eye;
use ops::elementwise::{compare_scalar, convert, select, unary_function};
use ops::indexing::{take, take_along_axis};
use ops::reduction::reduce;
use ops::shape::{broadcast_to, concatenate, expand_dims, reshape, transpose};

pub(super) const TABLE: &[Operator] = &[
    operator(&["broadcast_tensors.default"], "tensors", broadcast_tensors),
    operator(&["meshgrid.indexing", "meshgrid.default"], "tensors indexing='ij'", grid),
    operator(&["hstack.default"], "tensors", |call| joined(call, 1)),
    operator(&["vstack.default"], "tensors", |call| joined(call, 0)),
    operator(&["ravel.default"], "self", |call| {
        let sight = if call.is_contiguous { Sight::Certain } else { Sight::Uncertain };
        let x = call.tensor("self")?;
        let count = call.dims(x).iter().product();
        call.viewed("self", View::Reshaped(vec![count]), sight)
    }),
    operator(&["mT.default"], "self", |call| matrix_transpose(call, false)),
    operator(&["mH.default", "matrix_H.default", "adjoint.default"], "self", |call| matrix_transpose(call, true)),
    operator(&["tensor_split.sections"], "self sections dim=0", |call| {
        let x = call.tensor("self")?;
        let dims = call.dims(x);
        let (axis, sections) = (call.axis("dim", dims.len())?, call.int("sections")?);
        if !(1..=1 << 16).contains(&sections) || dims.is_empty() {
            return Err(error!(Unimplemented, "{sections} parts of {}", call.ty(x)));
        }
        let (each, more) = (dims[axis] / sections, dims[axis] % sections);
        let mut start = 0;
        let part = |index| {
            let stop = start + each + i64::from(index < more);
            let view = View::Sliced { axis, start, stop, step: 1 };
            start = stop;
            call.viewed("self", view, Sight::Certain)
        };
        (0..sections).map(part).collect::<Result<Vec<Value>>>().map(Value::List)
    }),
    operator(&["pixel_shuffle.default"], "self upscale_factor", |call| {
        shuffled(call, "upscale_factor", |dims, lead, r| {
            let [c, h, w] = [dims[lead], dims[lead + 1], dims[lead + 2]];
            (c % (r * r) == 0)
                .then(|| (vec![c / (r * r), r, r, h, w], [0, 3, 1, 4, 2], vec![c / (r * r), h * r, w * r]))
        })
    }),
    operator(&["pixel_unshuffle.default"], "self downscale_factor", |call| {
        shuffled(call, "downscale_factor", |dims, lead, r| {
            let [c, h, w] = [dims[lead], dims[lead + 1], dims[lead + 2]];
            (h % r == 0 && w % r == 0)
                .then(|| (vec![c, h / r, r, w / r, r], [0, 2, 4, 1, 3], vec![c * r * r, h / r, w / r]))
        })
    }),
    operator(&["channel_shuffle.default"], "self groups", |call| {
        let (x, groups) = (call.tensor("self")?, call.int("groups")?);
        let dims = call.dims(x);
        if dims.len() < 3 || groups < 1 || dims[1] % groups != 0 {
            return Err(error!(InvalidArgument, "{groups} groups of {}", call.ty(x)));
        }
        let split = [&[dims[0], groups, dims[1] / groups], &dims[2..]].concat();
        let mut axes: Vec<i64> = (0..split.len() as i64).collect();
        axes.swap(1, 2);
        let trace = call.trace();
        let parts = reshape(trace, x, &split)?;
        let turned = transpose(trace, parts, &axes)?;
        let made = reshape(trace, turned, &dims)?;
        Ok(call.made(made))
    }),
    operator(&["take.default"], "self index", |call| {
        let (x, at) = (call.tensor("self")?, call.tensor("index")?);
        let count = call.dims(x).iter().product();
        let trace = call.trace();
        let flat = reshape(trace, x, &[count])?;
        let made = take(trace, flat, at, 0)?;
        Ok(call.made(made))
    }),
    operator(&["take_along_dim.default"], "self indices dim=none", |call| {
        let (x, at) = (call.tensor("self")?, call.tensor("indices")?);
        let axis = call.axis("dim", call.dims(x).len())?;
        let trace = call.trace();
        let (mut whole, mut places) = (trace.ty(x).dims.to_vec(), trace.ty(at).dims.to_vec());
        (whole[axis], places[axis]) = (1, 1);
        // All axes but the chosen one broadcast.
        let mut common = common_shape(&whole, &places)?.to_vec();
        let (own, wanted) = (trace.ty(x).dims[axis], trace.ty(at).dims[axis]);
        common[axis] = own;
        let x = broadcast_to(trace, x, &common)?;
        common[axis] = wanted;
        let at = broadcast_to(trace, at, &common)?;
        let made = take_along_axis(trace, x, at, axis as i64)?;
        Ok(call.made(made))
    }),
    operator(&["count_nonzero.dim_IntList", "count_nonzero.default"], "self dim=none", |call| {
        let x = call.tensor("self")?;
        let rank = call.dims(x).len();
        let axes = match call.optional_int("dim") {
            Ok(Some(_)) => vec![call.axis("dim", rank)? as i64],
            Ok(None) => (0..rank as i64).collect(),
            Err(_) => call.axes("dim", rank)?,
        };
        let trace = call.trace();
        let is_zero = convert(trace, x, DType::Pred);
        let counted = convert(trace, is_zero, DType::S64);
        let made = if axes.is_empty() { counted } else { reduce(trace, ReduceOp::Sum, counted, &axes, false)? };
        Ok(call.made(made))
    }),
    operator(&["trace.default"], "self", |call| {
        let x = call.tensor("self")?;
        let dims = call.dims(x);
        let [rows, columns] = dims[..] else { return Err(error!(InvalidArgument, "the trace of {}", call.ty(x))) };
        let dtype = call.dtype_of(x);
        let wide = if dtype.is_integer() { DType::S64 } else { dtype };
        let trace = call.trace();
        let x = convert(trace, x, wide);
        let chosen = eye(trace, DType::Pred, rows, columns, 0)?;
        let zero = ops::creation::full(trace, &base::types::TensorType::new(wide, &[]), ScalarValue::Signed(0))?;
        let kept = select(trace, chosen, x, zero)?;
        let made = reduce(trace, ReduceOp::Sum, kept, &[0, 1], false)?;
        Ok(call.made(made))
    }),
    operator(&["diag_embed.default"], "self offset=0 dim1=-2 dim2=-1", |call| {
        let (x, offset) = (call.tensor("self")?, call.int("offset")?);
        call.refuse_unless("dim1", call.int("dim1")? == -2)?;
        call.refuse_unless("dim2", call.int("dim2")? == -1)?;
        let made = on_diagonal(call.trace(), x, offset)?;
        Ok(call.made(made))
    }),
];

/// The transpose of matrices, a view; complex numbers are conjugated, and then it is a copy.
fn matrix_transpose<'p>(call: &mut Call<'_, 'p>, conjugate: bool) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let rank = call.dims(x).len();
    if rank < 2 {
        return Err(error!(InvalidArgument, "matrices of {}", call.ty(x)));
    }
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes.swap(rank - 2, rank - 1);
    if !conjugate || call.dtype_of(x).kind() != Kind::Complex {
        return call.viewed("self", View::Transposed(axes), Sight::Certain);
    }
    let trace = call.trace();
    let turned = transpose(trace, x, &axes)?;
    let made = unary_function(trace, UnaryFunction::Conj, turned)?;
    Ok(call.made(made))
}

fn common_shape(a: &[i64], b: &[i64]) -> Result<Dims> {
    broadcast(a, b).ok_or_else(|| error!(InvalidArgument, "sizes {a:?} and {b:?} do not broadcast"))
}

/// Views of tensors in their common shape.
fn broadcast_tensors<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let Value::List(list) = call.value("tensors").clone() else {
        return Err(error!(InvalidArgument, "its argument tensors is not a list"));
    };
    let nodes = call.tensors("tensors")?;
    let mut common = Vec::new();
    for &node in &nodes {
        common = common_shape(&common, &call.dims(node))?.to_vec();
    }
    let view = |value: Value<'p>| match value {
        Value::Tensor(id) => {
            let view = View::Expanded(common.clone());
            Ok(Value::Tensor(call.recorder.tensors.view(id, view, Sight::Certain)))
        }
        other => Err(error!(InvalidArgument, "its argument tensors lists {}", other.kind())),
    };
    list.into_iter().map(view).collect::<Result<Vec<Value>>>().map(Value::List)
}

/// Coordinates of a grid, which are copies here: PyTorch's are views that a program may not write.
fn grid<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let nodes = call.tensors("tensors")?;
    let indexing = call.text("indexing")?;
    call.refuse_unless("indexing", matches!(indexing, "ij" | "xy"))?;
    // With `xy`, the first two axes are swapped.
    let place = |axis: usize| if indexing == "xy" && axis < 2 && nodes.len() > 1 { 1 - axis } else { axis };
    let mut dims: Vec<i64> = vec![1; nodes.len()];
    nodes.iter().enumerate().for_each(|(i, &node)| dims[place(i)] = call.dims(node).iter().product());
    let mut made = Vec::new();
    for (i, &node) in nodes.iter().enumerate() {
        let mut own = vec![1; dims.len()];
        own[place(i)] = dims[place(i)];
        let trace = call.trace();
        let line = reshape(trace, node, &own)?;
        let whole = broadcast_to(trace, line, &dims)?;
        made.push(call.made(whole));
    }
    Ok(Value::List(made))
}

/// `hstack` and `vstack`: tensors of too few axes get one more first.
fn joined<'p>(call: &mut Call<'_, 'p>, axis: i64) -> Result<Value<'p>> {
    let mut nodes = call.tensors("tensors")?;
    let dtype = nodes.first().map(|&node| call.dtype_of(node));
    if nodes.iter().any(|&node| Some(call.dtype_of(node)) != dtype) {
        return Err(error!(Unimplemented, "tensors of several dtypes"));
    }
    for node in &mut nodes {
        let dims = call.dims(*node);
        let wide = match (dims.len(), axis) {
            (0, 0) => vec![1, 1],
            (0, _) => vec![1],
            (1, 0) => vec![1, dims[0]],
            _ => continue,
        };
        *node = reshape(call.trace(), *node, &wide)?;
    }
    let axis = if axis == 1 && nodes.iter().all(|&node| call.dims(node).len() == 1) { 0 } else { axis };
    let made = concatenate(call.trace(), &nodes, axis)?;
    Ok(call.made(made))
}

/// A factor, and what a shuffle by it does with the last three of axes: their split, its permutation, the result.
type Shuffle = fn(&[i64], usize, i64) -> Option<(Vec<i64>, [i64; 5], Vec<i64>)>;

fn shuffled<'p>(call: &mut Call<'_, 'p>, factor: &str, shuffle: Shuffle) -> Result<Value<'p>> {
    let (x, by) = (call.tensor("self")?, call.int(factor)?);
    let dims = call.dims(x);
    let lead = dims.len().checked_sub(3).filter(|_| (1..1 << 20).contains(&by));
    let found = lead.and_then(|lead| Some((lead, shuffle(&dims, lead, by)?)));
    let (lead, (split, order, last)) =
        found.ok_or_else(|| error!(InvalidArgument, "{factor} {by} for {}", call.ty(x)))?;
    let axes: Vec<i64> = (0..lead as i64).chain(order.iter().map(|axis| axis + lead as i64)).collect();
    let trace = call.trace();
    let parts = reshape(trace, x, &[&dims[..lead], &split].concat())?;
    let turned = transpose(trace, parts, &axes)?;
    let made = reshape(trace, turned, &[&dims[..lead], &last].concat())?;
    Ok(call.made(made))
}

/// Matrices that have the elements of the last axis on a diagonal, and zeros elsewhere.
pub(super) fn on_diagonal(trace: &mut Trace, x: NodeId, offset: i64) -> Result<NodeId> {
    let ty = trace.ty(x);
    let Some(&count) = ty.dims.last() else { return Err(error!(InvalidArgument, "a diagonal of {ty}")) };
    let size = offset.checked_abs().and_then(|offset| count.checked_add(offset));
    let size = size.ok_or_else(|| error!(InvalidArgument, "the diagonal {offset} of a matrix"))?;
    // The element of a row of the matrix is in its row or, below the diagonal, in its column.
    let zero = ScalarValue::Signed(0);
    let (low, high) = if offset < 0 { (-offset, 0) } else { (0, offset) };
    let rank = ty.dims.len();
    let mut pads = [vec![0; rank], vec![0; rank]];
    (pads[0][rank - 1], pads[1][rank - 1]) = (low, high);
    let rows = ops::shape::pad_scalar(trace, x, zero, &pads[0], &pads[1], &vec![0; rank])?;
    let rows = expand_dims(trace, rows, &[-1])?;
    let chosen = eye(trace, DType::Pred, size, size, offset)?;
    let number = ops::creation::full(trace, &base::types::TensorType::new(ty.dtype, &[]), zero)?;
    let is_zero = compare_scalar(trace, CompareOp::Eq, chosen, ScalarValue::Signed(0), false)?;
    let mut wide = ty.dims.to_vec();
    wide[rank - 1] = size;
    wide.push(size);
    let rows = broadcast_to(trace, rows, &wide)?;
    select(trace, is_zero, number, rows)
}
