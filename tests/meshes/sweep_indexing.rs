//! Reads and writes at indices that are computed at run time, also outside of the array. `sweep_indexing_gather.rs` has
//! gathers and scatters with all dimension numbers.

use crate::case::{Case, MOST_ELEMENTS};
use crate::sweep::{Operation, sweep};
use base::types::{DType, Kind};
use ir::{NodeId, ReduceOp, ScatterOp};
use ops::indexing;

const OPERATIONS: &[Operation] = &[
    ("dynamic_slice", 2, dynamic_slice),
    ("dynamic_update_slice", 2, dynamic_update_slice),
    ("take", 2, take),
    ("take_along_axis", 2, take_along_axis),
    ("scatter_along", 1, scatter_along),
    ("index_add", 1, index_add),
    ("index_copy", 1, index_copy),
    ("index", 1, index),
    ("index_put", 1, index_put),
    ("nonzero", 1, nonzero),
    ("mask_select", 1, mask_select),
    ("segment_reduce", 2, segment_reduce),
    ("index_add_of_preds", 1, index_add_of_preds),
];

#[test]
fn indexing_agrees_on_meshes() {
    sweep(OPERATIONS);
}

/// Dtypes of indices.
const INTEGERS: &[DType] =
    &[DType::S32, DType::S32, DType::S64, DType::S8, DType::U8, DType::S16, DType::U16, DType::U32, DType::U64];

/// Indices of an axis with `dim` elements, of which some are outside: at both ends, or, in an unsigned dtype, at the
/// end.
fn indices_of(case: &mut Case, dtype: DType, dims: &[i64], dim: i64, margin: i64) -> NodeId {
    let below = if dtype.kind() == Kind::Unsigned { 0 } else { margin };
    let end = (dim + margin + below) as usize;
    case.operand_of(dtype, dims, |random| random.below(end) as f64 - below as f64)
}

fn indices(case: &mut Case, dims: &[i64], dim: i64) -> NodeId {
    let (dtype, margin) = (case.pick(INTEGERS), case.pick(&[0, 0, 3]));
    indices_of(case, dtype, dims, dim, margin)
}

/// One start for each axis, and sizes of a part.
fn part(case: &mut Case, dims: &[i64]) -> (Vec<NodeId>, Vec<i64>) {
    let dtype = case.pick(INTEGERS);
    let (mut starts, mut sizes) = (Vec::new(), Vec::new());
    for &dim in dims {
        starts.push(indices_of(case, dtype, &[], dim, 3));
        let is_whole = case.one_in(3);
        sizes.push(if is_whole { dim } else { case.between(1, dim) });
    }
    (starts, sizes)
}

fn dynamic_slice(case: &mut Case) -> Vec<NodeId> {
    let (dtype, dims) = (case.dtype(), case.shape(1..=3, MOST_ELEMENTS));
    let x = case.operand(dtype, &dims);
    let (starts, sizes) = part(case, &dims);
    case.note(&format!("sizes {sizes:?}"));
    vec![indexing::dynamic_slice(&mut case.trace, x, &starts, &sizes).unwrap()]
}

fn dynamic_update_slice(case: &mut Case) -> Vec<NodeId> {
    let (dtype, dims) = (case.dtype(), case.shape(1..=3, MOST_ELEMENTS));
    let x = case.operand(dtype, &dims);
    let (starts, sizes) = part(case, &dims);
    let update = case.operand(dtype, &sizes);
    vec![indexing::dynamic_update_slice(&mut case.trace, x, update, &starts).unwrap()]
}

fn take(case: &mut Case) -> Vec<NodeId> {
    let (dtype, dims) = (case.dtype(), case.shape(1..=3, 200));
    let axis = case.axis(&dims);
    let x = case.operand(dtype, &dims);
    let wanted = case.shape(0..=2, 24);
    let indices = indices(case, &wanted, dims[axis]);
    case.note(&format!("axis {axis}"));
    vec![indexing::take(&mut case.trace, x, indices, axis as i64).unwrap()]
}

fn take_along_axis(case: &mut Case) -> Vec<NodeId> {
    let (dtype, dims) = (case.dtype(), case.shape(1..=3, MOST_ELEMENTS));
    let axis = case.axis(&dims);
    let x = case.operand(dtype, &dims);
    // Axes of size 1 broadcast.
    let mut wanted: Vec<i64> = dims.iter().map(|&dim| if case.one_in(5) { 1 } else { dim }).collect();
    wanted[axis] = case.size(12);
    let indices = indices(case, &wanted, dims[axis]);
    case.note(&format!("axis {axis}"));
    vec![indexing::take_along_axis(&mut case.trace, x, indices, axis as i64).unwrap()]
}

/// A combination whose results do not depend on the order of the updates.
fn unordered(case: &mut Case) -> ScatterOp {
    case.pick(&[ScatterOp::Sum, ScatterOp::Sum, ScatterOp::Product, ScatterOp::Max, ScatterOp::Min])
}

/// Updates whose products are exact.
fn updates(case: &mut Case, dtype: DType, dims: &[i64]) -> NodeId {
    case.operand_of(dtype, dims, |random| [1.0, -1.0, 2.0][random.below(3)])
}

fn scatter_along(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=3, 200);
    let axis = case.axis(&dims);
    let x = case.operand(DType::F64, &dims);
    let mut wanted = dims.clone();
    wanted[axis] = case.size(12);
    let indices = indices(case, &wanted, dims[axis]);
    let updates = updates(case, DType::F64, &wanted);
    let op = unordered(case);
    case.note(&format!("{op:?} along axis {axis}"));
    vec![indexing::scatter_along(&mut case.trace, op, x, indices, updates, axis as i64).unwrap()]
}

fn index_add(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.number_dtype();
    let dims = case.shape(1..=3, 200);
    let axis = case.axis(&dims);
    let x = case.operand(dtype, &dims);
    let mut wanted = dims.clone();
    wanted[axis] = case.size(12);
    let indices = indices(case, &[wanted[axis]], dims[axis]);
    let source = updates(case, dtype, &wanted);
    let op = if dtype == DType::F64 { unordered(case) } else { ScatterOp::Sum };
    case.note(&format!("{op:?} along axis {axis}"));
    vec![indexing::index_combine(&mut case.trace, op, x, axis as i64, indices, source).unwrap()]
}

/// Of preds, the sum is the disjunction and the product the conjunction.
fn index_add_of_preds(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=3, 200);
    let axis = case.axis(&dims);
    let x = case.operand(DType::Pred, &dims);
    let mut wanted = dims.clone();
    wanted[axis] = case.size(12);
    let indices = indices(case, &[wanted[axis]], dims[axis]);
    let source = case.operand(DType::Pred, &wanted);
    let op = unordered(case);
    case.note(&format!("{op:?} along axis {axis}"));
    vec![indexing::index_combine(&mut case.trace, op, x, axis as i64, indices, source).unwrap()]
}

/// Also with segments without slices, and ids that are not a segment.
fn segment_reduce(case: &mut Case) -> Vec<NodeId> {
    let op = case.pick(ReduceOp::ALL);
    let dtype = match op {
        ReduceOp::Any | ReduceOp::All => DType::Pred,
        _ => case.pick(&[DType::F64, DType::F64, DType::S32, DType::F32, DType::Pred]),
    };
    let (dims, segments) = (case.shape(1..=3, 200), case.size(12));
    let x = if dtype == DType::Pred { case.operand(dtype, &dims) } else { updates(case, dtype, &dims) };
    let ids = indices(case, &dims[..1], segments);
    case.note(&format!("{op:?} of {segments} segments"));
    vec![indexing::segment_reduce(&mut case.trace, op, x, ids, segments).unwrap()]
}

/// Copies slices to places that are all distinct.
fn index_copy(case: &mut Case) -> Vec<NodeId> {
    let (dtype, dims) = (case.dtype(), case.shape(1..=3, 200));
    let axis = case.axis(&dims);
    let x = case.operand(dtype, &dims);
    let mut places = case.permutation(dims[axis] as usize);
    let count = case.size(dims[axis]);
    places.truncate(count as usize);
    let mut wanted = dims.clone();
    wanted[axis] = count;
    let mut rest = places.into_iter();
    let indices = case.operand_of(DType::S32, &[count], |_| rest.next().expect("one for each index") as f64);
    let source = case.operand(dtype, &wanted);
    case.note(&format!("axis {axis}"));
    vec![indexing::index_combine(&mut case.trace, ScatterOp::Copy, x, axis as i64, indices, source).unwrap()]
}

/// Index arrays of one shape for some of the axes.
fn advanced(case: &mut Case, dims: &[i64]) -> Vec<Option<NodeId>> {
    let wanted = case.shape(1..=2, 12);
    let axes = case.some_axes(dims);
    (0..dims.len()).map(|axis| axes.contains(&(axis as i64)).then(|| indices(case, &wanted, dims[axis]))).collect()
}

fn index(case: &mut Case) -> Vec<NodeId> {
    let (dtype, dims) = (case.dtype(), case.shape(1..=3, 100));
    let x = case.operand(dtype, &dims);
    let arrays = advanced(case, &dims);
    vec![indexing::index(&mut case.trace, x, &arrays).unwrap()]
}

fn index_put(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=3, 100);
    let x = case.operand(DType::F64, &dims);
    let arrays = advanced(case, &dims);
    let read = indexing::index(&mut case.trace, x, &arrays).unwrap();
    let wanted = case.trace.ty(read).dims.to_vec();
    let values = updates(case, DType::F64, &wanted);
    let op = unordered(case);
    case.note(&format!("{op:?}"));
    vec![indexing::index_put(&mut case.trace, op, x, &arrays, values).unwrap()]
}

fn nonzero(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.dtype();
    let dims = case.shape(1..=3, 100);
    let x = case.operand(dtype, &dims);
    let size = case.size(12);
    indexing::nonzero(&mut case.trace, x, size, -1, DType::S32).unwrap()
}

fn mask_select(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=3, 100);
    let x = case.operand(DType::F64, &dims);
    let covered = case.between(1, dims.len() as i64) as usize;
    let mask = case.operand(DType::Pred, &dims[..covered]);
    let fill = case.operand(DType::F64, &[]);
    let size = case.size(12);
    indexing::mask_select(&mut case.trace, x, mask, size, fill, DType::S32).unwrap().to_vec()
}
