//! Operations that read and write at indices.

use crate::both::Both;
use crate::cases::combiner;
use crate::draw::Draw;
use base::types::{DType, TensorType};
use ir::{DimensionNumbers, NodeId, Trace, take_body};
use ops::control::Applied;
use ops::indexing::{self, IndexHints};
use xla::XlaOp;

/// Start indices: mostly scalars of one integer dtype, one for each axis.
fn starts(draw: &mut Draw, both: &mut Both, rank: usize) -> (Vec<NodeId>, Vec<XlaOp>) {
    let count = if draw.one_in(12) { draw.below(4) as usize } else { rank };
    let dtype = if draw.one_in(4) { draw.dtype() } else { DType::S32 };
    let mut all = (vec![], vec![]);
    for _ in 0..count {
        let own = if draw.one_in(10) { draw.dtype() } else { dtype };
        let dims: &[i64] = if draw.one_in(24) { &[1] } else { &[] };
        let operand = both.operand(&TensorType::new(own, dims));
        all.0.push(operand.node);
        all.1.push(operand.op);
    }
    all
}

pub fn dynamic_slice(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let x = both.operand(&draw.ty());
    let rank = x.ty.dims.len();
    let (nodes, ops) = starts(draw, &mut both, rank);
    let mut sizes: Vec<i64> = x.ty.dims.iter().map(|&dim| draw.between(0, dim)).collect();
    if draw.one_in(5) {
        sizes = draw.list(rank, -1, 5);
    }
    both.arguments = format!("sizes {sizes:?}");
    both.ours(|trace| Ok(vec![indexing::dynamic_slice(trace, x.node, &nodes, &sizes)?]));
    both.theirs(x.op.dynamic_slice(&ops, &sizes));
    both
}

pub fn dynamic_update_slice(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let x = both.operand(&draw.ty());
    let rank = x.ty.dims.len();
    let dims: Vec<i64> = x.ty.dims.iter().map(|&dim| draw.between(0, dim)).collect();
    let part = TensorType::new(x.ty.dtype, &dims);
    let part = if draw.one_in(3) { draw.like(&part) } else { part };
    let update = both.operand(&part);
    let (nodes, ops) = starts(draw, &mut both, rank);
    both.ours(|trace| Ok(vec![indexing::dynamic_update_slice(trace, x.node, update.node, &nodes)?]));
    both.theirs(x.op.dynamic_update_slice(&update.op, &ops));
    both
}

/// Dimension numbers of slices of an array at indices.
fn dimension_numbers(draw: &mut Draw, rank: usize, indices_rank: usize) -> DimensionNumbers {
    let index_vector_dim = if draw.one_in(3) { draw.between(0, indices_rank as i64) } else { indices_rank as i64 - 1 };
    let collapsed_count = draw.below(2) as usize;
    let mut collapsed_dims = draw.axes(rank, collapsed_count);
    let map_count = draw.between(1, 2) as usize;
    let index_map = draw.axes(rank, map_count);
    collapsed_dims.sort_unstable();
    let batch = if index_vector_dim < indices_rank as i64 { indices_rank - 1 } else { indices_rank };
    let window = rank.saturating_sub(collapsed_dims.len());
    let mut window_dims = draw.axes(batch + window, window);
    if !draw.one_in(8) {
        window_dims.sort_unstable();
    }
    DimensionNumbers { window_dims, collapsed_dims, index_map, index_vector_dim, ..DimensionNumbers::default() }
}

/// Indices: mostly integers, whose index vectors mostly have the size of the map.
fn indices(draw: &mut Draw, numbers: &DimensionNumbers, rank: usize) -> TensorType {
    let mut dims = draw.dims(rank);
    if let Some(dim) = dims.get_mut(numbers.index_vector_dim as usize)
        && !draw.one_in(10)
    {
        *dim = numbers.index_map.len() as i64;
    }
    TensorType::new(if draw.one_in(8) { draw.dtype() } else { DType::S32 }, &dims)
}

pub fn gather(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let (rank, indices_rank) = (draw.between(1, 3) as usize, draw.between(1, 2) as usize);
    let x = both.operand(&draw.of_rank(rank));
    let numbers = dimension_numbers(draw, rank, indices_rank);
    let i = both.operand(&indices(draw, &numbers, indices_rank));
    let mut sizes: Vec<i64> = x.ty.dims.iter().map(|&dim| draw.between(0, dim)).collect();
    for &axis in &numbers.collapsed_dims {
        if let Some(size) = sizes.get_mut(axis as usize)
            && !draw.one_in(10)
        {
            *size = (*size).min(1).max(draw.between(0, 1));
        }
    }
    both.arguments = format!("{numbers:?} sizes {sizes:?}");
    both.ours(|trace| Ok(vec![indexing::gather(trace, x.node, i.node, &numbers, &sizes, false)?]));
    let DimensionNumbers { window_dims, collapsed_dims, index_map, index_vector_dim, .. } = &numbers;
    both.theirs(x.op.gather(&i.op, window_dims, collapsed_dims, index_map, Some(*index_vector_dim), &sizes));
    both
}

pub fn scatter(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let (rank, indices_rank) = (draw.between(1, 3) as usize, draw.between(1, 2) as usize);
    let x = both.operand(&draw.of_rank(rank));
    let numbers = dimension_numbers(draw, rank, indices_rank);
    let i_ty = indices(draw, &numbers, indices_rank);
    let i = both.operand(&i_ty);
    let updates_rank =
        numbers.window_dims.len() + indices_rank - usize::from(numbers.index_vector_dim < indices_rank as i64);
    let mut dims = vec![1; updates_rank];
    let mut batch =
        (0..indices_rank).filter(|&axis| axis as i64 != numbers.index_vector_dim).map(|axis| i_ty.dims[axis]);
    for (axis, dim) in dims.iter_mut().enumerate() {
        if !numbers.window_dims.contains(&(axis as i64)) {
            *dim = batch.next().unwrap_or(1);
        }
    }
    let updates = TensorType::new(x.ty.dtype, &dims);
    let updates = if draw.one_in(4) { draw.like(&updates) } else { updates };
    let u = both.operand(&updates);
    both.arguments = format!("{numbers:?}");
    let dtype = x.ty.dtype;
    both.ours(|trace| {
        let mut inner = Trace::new();
        let parameters = [0, 1].map(|_| inner.parameter(TensorType::new(dtype, &[])));
        let body = take_body(&inner, &parameters, &parameters[1..]).unwrap().0;
        indexing::scatter(
            trace,
            &Applied { body: &body, captures: &[] },
            &[x.node],
            i.node,
            &[u.node],
            &numbers,
            IndexHints::default(),
        )
    });
    let DimensionNumbers { window_dims, collapsed_dims, index_map, index_vector_dim, .. } = &numbers;
    both.theirs(combiner(dtype, |_, b| Ok(b.clone())).and_then(|combiner| {
        x.op.scatter(&i.op, &u.op, &combiner, window_dims, collapsed_dims, index_map, *index_vector_dim)
    }));
    both
}
