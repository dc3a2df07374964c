//! Views, and operators that move elements.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::super::promotion::{Operand, promoted};
use super::super::tensors::{Sight, View};
use base::error;
use base::error::Result;
use base::types::{ScalarValue, normalize_axis};
use ir::{NodeId, ReduceOp};
use ops::elementwise::convert;
use ops::reduction::reduce;
use ops::shape;

pub(super) const TABLE: &[Operator] = &[
    operator(&["view.default", "reshape.default", "_unsafe_view.default"], "self size=none shape=none", reshape),
    operator(&["view_as.default", "reshape_as.default"], "self other", reshape_as),
    operator(&["flatten.using_ints"], "self start_dim=0 end_dim=-1", flatten),
    operator(&["unflatten.int"], "self dim sizes", unflatten),
    operator(&["unsqueeze.default"], "self dim", unsqueeze),
    operator(&["squeeze.default"], "self", |call| squeeze(call, None)),
    operator(&["squeeze.dim", "squeeze.dims"], "self dim", |call| {
        let axes = call.ints("dim")?;
        squeeze(call, Some(axes))
    }),
    operator(&["permute.default"], "self dims", permute),
    operator(&["transpose.int", "swapaxes.default"], "self dim0=none dim1=none axis0=none axis1=none", transpose),
    operator(&["t.default", "numpy_T.default"], "self", reversed),
    operator(&["movedim.int"], "self source destination", move_axis),
    operator(&["expand.default"], "self size implicit=false", expand),
    operator(&["sum_to_size.default"], "self size", |call| {
        let (x, size) = (call.tensor("self")?, call.ints("size")?);
        let dims = call.dims(x);
        let lead = dims.len().checked_sub(size.len());
        let lead = lead.ok_or_else(|| error!(InvalidArgument, "size {size:?} of {}", call.ty(x)))?;
        let is_summed = |&axis: &usize| axis < lead || size[axis - lead] != dims[axis];
        let axes: Vec<i64> = (0..dims.len()).filter(is_summed).map(|axis| axis as i64).collect();
        let trace = call.trace();
        let sum = if axes.is_empty() { x } else { reduce(trace, ReduceOp::Sum, x, &axes, false)? };
        let made = shape::reshape(trace, sum, &size)?;
        Ok(call.made(made))
    }),
    operator(&["expand_as.default"], "self other", expand_as),
    operator(&["broadcast_to.default"], "self size", expand),
    operator(&["alias.default", "lift_fresh.default", "view.dtype"], "self dtype=none", alias),
    operator(&["detach.default"], "self", detach),
    operator(&["contiguous.default"], "self memory_format=none", contiguous),
    operator(
        &["clone.default", "lift_fresh_copy.default", "alias_copy.default", "detach_copy.default"],
        "self memory_format=none",
        copy,
    ),
    operator(&["prims.copy_strided.default"], "a stride", |call| {
        let x = call.tensor("a")?;
        Ok(call.made(x))
    }),
    operator(&["cat.default", "concat.default"], "tensors dim=0", cat),
    operator(&["stack.default"], "tensors dim=0", stack),
    operator(&["flip.default"], "self dims", flip),
    operator(&["roll.default"], "self shifts dims=[]", roll),
    operator(&["repeat.default", "tile.default"], "self repeats=none dims=none", repeat),
    operator(&["repeat_interleave.self_int"], "self repeats dim=none output_size=none", repeat_interleave),
    operator(&["pad.default"], "self pad mode='constant' value=none", pad),
    operator(&["constant_pad_nd.default"], "self pad value=0", |call| {
        let value = call.number("value")?.1;
        pad_constant(call, value)
    }),
    operator(
        &["reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default"],
        "self padding",
        |call| pad_from_edges(call, "padding", "reflect"),
    ),
    operator(
        &["replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default"],
        "self padding",
        |call| pad_from_edges(call, "padding", "replicate"),
    ),
    operator(&["sym_size.int"], "self dim", size_of),
    operator(&["sym_numel.default"], "self", |call| {
        let x = call.tensor("self")?;
        Ok(Value::Int(call.dims(x).iter().product()))
    }),
];

/// The sizes of `self`.
pub(super) fn sizes(call: &mut Call) -> Result<Vec<i64>> {
    let x = call.tensor("self")?;
    Ok(call.dims(x))
}

/// Returns sizes in which one of -1 is what is left of `count` elements.
fn resolved(sizes: &[i64], count: i64) -> Result<Vec<i64>> {
    let known = sizes.iter().filter(|&&size| size != -1).try_fold(1i64, |known, &size| known.checked_mul(size));
    let known = known.ok_or_else(|| error!(InvalidArgument, "its sizes {sizes:?} do not fit {count} elements"))?;
    let free = |size: &i64| if *size == -1 && known != 0 { count / known } else { *size };
    let sizes: Vec<i64> = sizes.iter().map(free).collect();
    match sizes.iter().all(|&size| size >= 0) {
        true => Ok(sizes),
        false => Err(error!(InvalidArgument, "its sizes {sizes:?} do not fit {count} elements")),
    }
}

/// A view of `self` in another shape: for certain if it is `view`, or if `self` is contiguous.
fn reshaped<'p>(call: &mut Call<'_, 'p>, dims: Vec<i64>, is_view: bool) -> Result<Value<'p>> {
    let sight = if is_view || call.is_contiguous { Sight::Certain } else { Sight::Uncertain };
    call.viewed("self", View::Reshaped(dims), sight)
}

fn reshape<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    // The names of the argument differ: `view` has `size`.
    let is_view = !matches!(call.value("size"), Value::None);
    let given = call.ints(if is_view { "size" } else { "shape" })?;
    let count = sizes(call)?.iter().product();
    let dims = resolved(&given, count)?;
    reshaped(call, dims, is_view)
}

fn reshape_as<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let other = call.tensor("other")?;
    let dims = call.dims(other);
    reshaped(call, dims, false)
}

fn flatten<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let dims = sizes(call)?;
    if dims.is_empty() {
        return reshaped(call, vec![1], false);
    }
    let (start, end) = (call.axis("start_dim", dims.len())?, call.axis("end_dim", dims.len())?);
    if start > end {
        return Err(error!(InvalidArgument, "start_dim {start} lies after end_dim {end}"));
    }
    let mut flat = dims[..start].to_vec();
    flat.push(dims[start..=end].iter().product());
    flat.extend_from_slice(&dims[end + 1..]);
    reshaped(call, flat, start == end)
}

fn unflatten<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let dims = sizes(call)?;
    let axis = call.axis("dim", dims.len())?;
    let inner = resolved(&call.ints("sizes")?, dims[axis])?;
    let dims = [&dims[..axis], &inner, &dims[axis + 1..]].concat();
    reshaped(call, dims, true)
}

fn unsqueeze<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let mut dims = sizes(call)?;
    let axis = call.axis("dim", dims.len() + 1)?;
    dims.insert(axis, 1);
    reshaped(call, dims, true)
}

fn squeeze<'p>(call: &mut Call<'_, 'p>, axes: Option<Vec<i64>>) -> Result<Value<'p>> {
    let dims = sizes(call)?;
    let named = match &axes {
        None => (0..dims.len()).collect(),
        Some(axes) => {
            axes.iter().map(|&axis| normalize_axis("dim", axis, dims.len().max(1))).collect::<Result<Vec<usize>>>()?
        }
    };
    let kept = dims.iter().enumerate().filter(|(axis, size)| **size != 1 || !named.contains(axis));
    let kept = kept.map(|(_, &size)| size).collect();
    reshaped(call, kept, true)
}

fn permute<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let rank = sizes(call)?.len();
    let axes = call.ints("dims")?;
    let axes = axes.iter().map(|&axis| normalize_axis("dims", axis, rank).map(|axis| axis as i64));
    let axes = axes.collect::<Result<Vec<i64>>>()?;
    call.viewed("self", View::Transposed(axes), Sight::Certain)
}

fn swapped<'p>(call: &mut Call<'_, 'p>, rank: usize, a: usize, b: usize) -> Result<Value<'p>> {
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    if rank > 0 {
        axes.swap(a, b);
    }
    call.viewed("self", View::Transposed(axes), Sight::Certain)
}

fn transpose<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let rank = sizes(call)?.len();
    let names = if matches!(call.value("dim0"), Value::None) { ["axis0", "axis1"] } else { ["dim0", "dim1"] };
    let (a, b) = (call.axis(names[0], rank)?, call.axis(names[1], rank)?);
    swapped(call, rank, a, b)
}

/// The last two axes exchanged. `t` of fewer axes is `self`.
fn reversed<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let axes = (0..sizes(call)?.len() as i64).rev().collect();
    call.viewed("self", View::Transposed(axes), Sight::Certain)
}

fn move_axis<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let rank = sizes(call)?.len();
    let (from, to) = (call.axis("source", rank)?, call.axis("destination", rank)?);
    let mut axes: Vec<i64> = (0..rank as i64).filter(|&axis| axis != from as i64).collect();
    axes.insert(to.min(axes.len()), from as i64);
    call.viewed("self", View::Transposed(axes), Sight::Certain)
}

fn expand<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (dims, size) = (sizes(call)?, call.ints("size")?);
    let lead = size.len().checked_sub(dims.len());
    let lead = lead.ok_or_else(|| error!(InvalidArgument, "size {size:?} has fewer axes than {dims:?}"))?;
    let kept = |(axis, &size): (usize, &i64)| match axis.checked_sub(lead) {
        Some(own) if size == -1 => dims[own],
        _ => size,
    };
    let wanted = size.iter().enumerate().map(kept).collect();
    call.viewed("self", View::Expanded(wanted), Sight::Certain)
}

fn expand_as<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let other = call.tensor("other")?;
    let dims = call.dims(other);
    call.viewed("self", View::Expanded(dims), Sight::Certain)
}

fn alias<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let dtype = call.dtype("dtype")?;
    call.refuse_unless("dtype", dtype.is_none_or(|dtype| dtype == call.dtype_of(x)))?;
    call.viewed("self", View::Alias, Sight::Certain)
}

fn detach<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    call.viewed("self", View::Detached, Sight::Certain)
}

fn contiguous<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    // A copy unless it is contiguous.
    let sight = if call.is_contiguous { Sight::Certain } else { Sight::Uncertain };
    call.viewed("self", View::Alias, sight)
}

fn copy<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    Ok(call.made(x))
}

/// Tensors of a list in their common dtype.
fn common(call: &mut Call) -> Result<Vec<NodeId>> {
    let nodes = call.tensors("tensors")?;
    let operand = |&node: &NodeId| match call.ty(node).dims.is_empty() {
        true => Operand::Scalar(call.dtype_of(node)),
        false => Operand::Tensor(call.dtype_of(node)),
    };
    let dtype = promoted(&nodes.iter().map(operand).collect::<Vec<_>>())?;
    Ok(nodes.into_iter().map(|node| convert(call.trace(), node, dtype)).collect())
}

fn cat<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let mut nodes = common(call)?;
    // PyTorch passes over tensors of size [0] beside others.
    if nodes.iter().any(|&node| call.dims(node) != [0]) {
        nodes.retain(|&node| call.dims(node) != [0]);
    }
    let rank = nodes.first().map_or(0, |&node| call.dims(node).len());
    let axis = call.axis("dim", rank)? as i64;
    let made = shape::concatenate(call.trace(), &nodes, axis)?;
    Ok(call.made(made))
}

fn stack<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let nodes = common(call)?;
    let rank = nodes.first().map_or(0, |&node| call.dims(node).len());
    let axis = call.axis("dim", rank + 1)? as i64;
    let made = shape::stack(call.trace(), &nodes, axis)?;
    Ok(call.made(made))
}

fn flip<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let axes = call.ints("dims")?;
    let made = if axes.is_empty() { x } else { shape::flip(call.trace(), x, &axes)? };
    Ok(call.made(made))
}

fn roll<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let (shifts, axes, dims) = (call.ints("shifts")?, call.ints("dims")?, call.dims(x));
    let made = if axes.is_empty() {
        let flat = shape::reshape(call.trace(), x, &[dims.iter().product()])?;
        let rolled = shape::roll(call.trace(), flat, &shifts, &[0])?;
        shape::reshape(call.trace(), rolled, &dims)?
    } else {
        shape::roll(call.trace(), x, &shifts, &axes)?
    };
    Ok(call.made(made))
}

fn repeat<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let mut dims = call.dims(x);
    let name = if matches!(call.value("repeats"), Value::None) { "dims" } else { "repeats" };
    let mut repeats = call.ints(name)?;
    while dims.len() < repeats.len() {
        dims.insert(0, 1);
    }
    while repeats.len() < dims.len() {
        repeats.insert(0, 1);
    }
    let x = shape::reshape(call.trace(), x, &dims)?;
    let made = shape::tile(call.trace(), x, &repeats)?;
    Ok(call.made(made))
}

fn repeat_interleave<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let mut x = call.tensor("self")?;
    let dims = call.dims(x);
    let axis = match call.optional_int("dim")? {
        Some(axis) => normalize_axis("dim", axis, dims.len())? as i64,
        None => {
            x = shape::reshape(call.trace(), x, &[dims.iter().product()])?;
            0
        }
    };
    let times = call.int("repeats")?;
    let made = shape::repeat(call.trace(), x, times, axis)?;
    Ok(call.made(made))
}

/// Amounts before and after each axis, of a list that begins with the last axis.
fn amounts(rank: usize, pad: &[i64]) -> Result<(Vec<i64>, Vec<i64>)> {
    let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
    if !pad.len().is_multiple_of(2) || pad.len() / 2 > rank {
        return Err(error!(InvalidArgument, "pad {pad:?} of a tensor of {rank} axes"));
    }
    for (i, pair) in pad.chunks_exact(2).enumerate() {
        (low[rank - 1 - i], high[rank - 1 - i]) = (pair[0], pair[1]);
    }
    Ok((low, high))
}

fn pad<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    match call.text("mode")? {
        "constant" => {
            let value = match call.value("value") {
                Value::None => ScalarValue::Signed(0),
                _ => call.number("value")?.1,
            };
            pad_constant(call, value)
        }
        mode @ ("reflect" | "replicate" | "circular") => pad_from_edges(call, "pad", mode),
        other => Err(error!(Unimplemented, "the mode {other:?}")),
    }
}

fn pad_constant<'p>(call: &mut Call<'_, 'p>, value: ScalarValue) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let rank = call.dims(x).len();
    let (low, high) = amounts(rank, &call.ints("pad")?)?;
    let made = shape::pad_scalar(call.trace(), x, value, &low, &high, &vec![0; rank])?;
    Ok(call.made(made))
}

/// Pads by elements of the tensor itself, one axis after another.
fn pad_from_edges<'p>(call: &mut Call<'_, 'p>, name: &str, mode: &str) -> Result<Value<'p>> {
    let mut x = call.tensor("self")?;
    let (low, high) = amounts(call.dims(x).len(), &call.ints(name)?)?;
    for axis in 0..low.len() {
        let (size, low, high) = (call.dims(x)[axis], low[axis], high[axis]);
        if low == 0 && high == 0 {
            continue;
        }
        let most = match mode {
            "reflect" => size - 1,
            "circular" => size,
            _ => i64::MAX,
        };
        if low < 0 || high < 0 || low > most || high > most || size == 0 {
            return Err(error!(Unimplemented, "padding an axis of {size} elements by {low} and {high}, {mode}"));
        }
        let (trace, at) = (call.trace(), axis as i64);
        let (before, after) = match mode {
            "reflect" => {
                let before = shape::slice_axis(trace, x, at, 1, low + 1, 1)?;
                let after = shape::slice_axis(trace, x, at, size - 1 - high, size - 1, 1)?;
                (shape::flip(trace, before, &[at])?, shape::flip(trace, after, &[at])?)
            }
            "circular" => {
                (shape::slice_axis(trace, x, at, size - low, size, 1)?, shape::slice_axis(trace, x, at, 0, high, 1)?)
            }
            _ => {
                let before = shape::slice_axis(trace, x, at, 0, 1, 1)?;
                let after = shape::slice_axis(trace, x, at, size - 1, size, 1)?;
                (shape::repeat(trace, before, low, at)?, shape::repeat(trace, after, high, at)?)
            }
        };
        x = shape::concatenate(trace, &[before, x, after], at)?;
    }
    Ok(call.made(x))
}

fn size_of<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let dims = sizes(call)?;
    let axis = call.axis("dim", dims.len())?;
    let size = dims.get(axis).copied();
    size.map(Value::Int).ok_or_else(|| error!(InvalidArgument, "the size of an axis of a tensor of rank 0"))
}
