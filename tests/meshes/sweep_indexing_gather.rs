//! Gathers and scatters with all dimension numbers: batching axes, index vectors of one and two elements, slices with
//! and without axes of their own.

use crate::case::Case;
use crate::sweep::{Operation, sweep};
use base::types::{DType, Kind, TensorType};
use ir::{BinaryOp, Body, DimensionNumbers, NodeId, Trace, take_closed_body};
use ops::control::Applied;
use ops::elementwise;
use ops::indexing::{self, IndexHints};
use std::sync::Arc;

const OPERATIONS: &[Operation] = &[("gather", 4, gather), ("scatter", 4, scatter), ("scatter_set", 2, scatter_set)];

#[test]
fn gathers_and_scatters_agree_on_meshes() {
    sweep(OPERATIONS);
}

/// The slices of an array that a gather reads or a scatter updates.
struct Places {
    /// Shape of the array.
    dims: Vec<i64>,
    numbers: DimensionNumbers,
    /// Shape of the indices.
    indices: Vec<i64>,
    /// Size of a slice on each axis of the array.
    sizes: Vec<i64>,
    /// Shape of gather's result, and of scatter's updates.
    updates: Vec<i64>,
}

/// Draws shapes and dimension numbers. If `once` is set, slices do not overlap: there is one for each batch.
fn places(case: &mut Case, once: bool) -> Places {
    let dims = case.shape(2..=3, 150);
    let rank = dims.len();
    let batching = if case.one_in(3) { Some(case.axis(&dims)) } else { None };
    let free: Vec<i64> = (0..rank as i64).filter(|&axis| batching.map(|axis| axis as i64) != Some(axis)).collect();
    let count = case.between(1, free.len().min(2) as i64) as usize;
    let index_map: Vec<i64> = case.permutation(free.len())[..count].iter().map(|&i| free[i as usize]).collect();
    let mut sizes = dims.clone();
    let mut collapsed = Vec::new();
    for &axis in &free {
        let dim = dims[axis as usize];
        let size = if case.random.coin() { 1 } else { case.between(1, dim) };
        sizes[axis as usize] = size;
        if size == 1 && case.random.coin() {
            collapsed.push(axis);
        }
    }
    let mut between: Vec<i64> = match once {
        true => vec![1],
        false => case.shape(1..=2, 24),
    };
    let mut batching_place = None;
    if let Some(axis) = batching {
        sizes[axis] = 1;
        let at = case.between(0, between.len() as i64) as usize;
        between.insert(at, dims[axis]);
        batching_place = Some(at);
    }
    let vector_dim =
        if count == 1 && case.random.coin() { None } else { Some(case.between(0, between.len() as i64) as usize) };
    let mut indices = between.clone();
    if let Some(at) = vector_dim {
        indices.insert(at, count as i64);
    }
    let shifted = |at: usize| at as i64 + i64::from(vector_dim.is_some_and(|vector_dim| vector_dim <= at));
    let window: Vec<i64> = (0..rank as i64)
        .filter(|axis| !collapsed.contains(axis) && batching.map(|axis| axis as i64) != Some(*axis))
        .map(|axis| sizes[axis as usize])
        .collect();
    let window_dims = case.subset(window.len(), window.len() + between.len());
    let (mut through, mut across) = (window.iter(), between.iter());
    let updates = (0..(window.len() + between.len()) as i64)
        .map(|axis| *if window_dims.contains(&axis) { through.next() } else { across.next() }.expect("an axis of it"))
        .collect();
    let numbers = DimensionNumbers {
        window_dims,
        collapsed_dims: collapsed,
        batching_dims: batching.map(|axis| axis as i64).into_iter().collect(),
        indices_batching_dims: batching_place.map(shifted).into_iter().collect(),
        index_map,
        index_vector_dim: vector_dim.unwrap_or(between.len()) as i64,
    };
    case.note(&format!("{numbers:?}, slices of {sizes:?}"));
    Places { dims, numbers, indices, sizes, updates }
}

/// Indices, of which some are outside of some axis.
fn indices(case: &mut Case, places: &Places) -> NodeId {
    let dtype = case.pick(&[DType::S32, DType::S32, DType::S64, DType::U8, DType::S8, DType::U16, DType::U32]);
    let lowest = if dtype.kind() == Kind::Unsigned { 0 } else { 1 };
    let end = *places.dims.iter().max().expect("two axes") as usize;
    let end = if case.random.coin() { end + 2 } else { end.div_ceil(2) };
    case.operand_of(dtype, &places.indices, |random| random.below(end) as f64 - lowest as f64)
}

fn gather(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.dtype();
    let places = places(case, false);
    let x = case.operand(dtype, &places.dims);
    let indices = indices(case, &places);
    vec![indexing::gather(&mut case.trace, x, indices, &places.numbers, &places.sizes, false).unwrap()]
}

/// A computation of two scalars: their combination, or the second one.
fn combiner(op: Option<BinaryOp>, dtype: DType) -> Arc<Body> {
    let mut trace = Trace::new();
    let [a, b] = [(); 2].map(|()| trace.parameter(TensorType::new(dtype, &[])));
    let result = op.map_or(b, |op| elementwise::binary(&mut trace, op, a, b).unwrap());
    take_closed_body(&trace, &[a, b], &[], &[result]).unwrap()
}

fn scattered(case: &mut Case, op: Option<BinaryOp>, dtype: DType, places: &Places) -> Vec<NodeId> {
    let x = case.operand(dtype, &places.dims);
    let indices = indices(case, places);
    let updates = case.operand_of(dtype, &places.updates, |random| [1.0, -1.0, 2.0][random.below(3)]);
    let body = combiner(op, dtype);
    let applied = Applied { body: &body, captures: &[] };
    let hints = IndexHints::default();
    indexing::scatter(&mut case.trace, &applied, &[x], indices, &[updates], &places.numbers, hints).unwrap()
}

fn scatter(case: &mut Case) -> Vec<NodeId> {
    let places = places(case, false);
    let op = case.pick(&[BinaryOp::Add, BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Maximum, BinaryOp::Minimum]);
    let dtype = case.pick(&[DType::F64, DType::F64, DType::S32]);
    case.note(&format!("{op:?}"));
    scattered(case, Some(op), dtype, &places)
}

fn scatter_set(case: &mut Case) -> Vec<NodeId> {
    let places = places(case, true);
    scattered(case, None, DType::F64, &places)
}
