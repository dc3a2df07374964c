//! Shapes: pads, slices, concatenations, reshapes and what is made of them.

use crate::case::{Case, MOST_ELEMENTS};
use crate::sweep::{Operation, sweep};
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, NodeId};
use ops::{creation, elementwise, indexing, shape};

const OPERATIONS: &[Operation] = &[
    ("pad", 3, pad),
    ("slice", 2, slice),
    ("slice_axis", 1, slice_axis),
    ("slice_assign", 1, slice_assign),
    ("concatenate", 2, concatenate),
    ("stack", 1, stack),
    ("split", 1, split),
    ("reverse", 1, reverse),
    ("roll", 1, roll),
    ("tile", 1, tile),
    ("repeat", 1, repeat),
    ("reshape", 3, reshape),
    ("transpose", 1, transpose),
    ("broadcast_to", 1, broadcast_to),
    ("broadcast_in_dim", 1, broadcast_in_dim),
    ("triangle", 1, triangle),
    ("iota", 1, iota),
    ("eye", 1, eye),
    ("one_hot", 1, one_hot),
];

#[test]
fn shapes_agree_on_meshes() {
    sweep(OPERATIONS);
}

/// An operand of any dtype that is moved, and its shape.
fn moved(case: &mut Case, ranks: std::ops::RangeInclusive<i64>, most: i64) -> (NodeId, DType, Vec<i64>) {
    let dtype = case.dtype();
    let dims = case.shape(ranks, most);
    (case.operand(dtype, &dims), dtype, dims)
}

/// Pads some axes, before, after and between the elements.
fn pad(case: &mut Case) -> Vec<NodeId> {
    let (x, dtype, dims) = moved(case, 1..=3, 100);
    let (mut low, mut high, mut interior) = (Vec::new(), Vec::new(), Vec::new());
    for &dim in &dims {
        let is_padded = !case.one_in(3);
        let between = if is_padded && case.random.coin() { case.between(1, 3) } else { 0 };
        let has_edges = is_padded && !case.one_in(3);
        let (before, mut after) = if has_edges { (case.between(-2, 4), case.between(-2, 4)) } else { (0, 0) };
        let size = dim + (dim - 1) * between + before + after;
        if size < 1 {
            after += 1 - size;
        } else if has_edges {
            after += case.up_to_multiple(size);
        }
        low.push(before);
        high.push(after);
        interior.push(between);
    }
    case.note(&format!("low {low:?}, high {high:?}, interior {interior:?}"));
    if case.random.coin() {
        let value = case.operand(dtype, &[]);
        return vec![shape::pad(&mut case.trace, x, value, &low, &high, &interior).unwrap()];
    }
    let value = ScalarValue::Unsigned(1);
    vec![shape::pad_scalar(&mut case.trace, x, value, &low, &high, &interior).unwrap()]
}

/// Starts, limits and strides of a slice that is not empty.
fn bounds(case: &mut Case, dims: &[i64]) -> [Vec<i64>; 3] {
    let (mut starts, mut limits, mut strides) = (Vec::new(), Vec::new(), Vec::new());
    for &dim in dims {
        let is_cut = !case.one_in(3);
        let start = if is_cut { case.between(0, dim - 1) } else { 0 };
        starts.push(start);
        limits.push(if is_cut { case.between(start + 1, dim) } else { dim });
        strides.push(case.pick(&[1, 1, 2, 3]));
    }
    case.note(&format!("starts {starts:?}, limits {limits:?}, strides {strides:?}"));
    [starts, limits, strides]
}

fn slice(case: &mut Case) -> Vec<NodeId> {
    let (x, _, dims) = moved(case, 1..=4, MOST_ELEMENTS);
    let [starts, limits, strides] = bounds(case, &dims);
    vec![shape::slice(&mut case.trace, x, &starts, &limits, &strides).unwrap()]
}

/// A slice along one axis as in Python, also backwards.
fn slice_axis(case: &mut Case) -> Vec<NodeId> {
    let (x, _, dims) = moved(case, 1..=3, MOST_ELEMENTS);
    let axis = case.axis(&dims);
    let dim = dims[axis];
    let (first, last) = (case.between(0, dim - 1), case.between(0, dim - 1));
    let step = case.between(1, 3);
    let (start, stop, step) = if first <= last { (first, last + 1, step) } else { (first, last - 1 - dim, -step) };
    case.note(&format!("axis {axis}, {start}:{stop}:{step}"));
    vec![shape::slice_axis(&mut case.trace, x, axis as i64, start, stop, step).unwrap()]
}

fn slice_assign(case: &mut Case) -> Vec<NodeId> {
    let (x, dtype, dims) = moved(case, 1..=3, MOST_ELEMENTS);
    let [starts, limits, strides] = bounds(case, &dims);
    let sizes: Vec<i64> = (0..dims.len()).map(|i| (limits[i] - starts[i] + strides[i] - 1) / strides[i]).collect();
    let values = case.operand(dtype, &sizes);
    vec![indexing::slice_assign(&mut case.trace, x, &starts, &limits, &strides, values).unwrap()]
}

/// Joins two or three operands of different sizes.
fn concatenate(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.dtype();
    let mut dims = case.shape(1..=4, 200);
    let axis = case.axis(&dims);
    let mut parts = Vec::new();
    for _ in 0..case.between(2, 3) {
        dims[axis] = case.size(8);
        parts.push(case.operand(dtype, &dims));
    }
    if case.one_in(4) {
        parts.push(parts[0]);
    }
    case.note(&format!("axis {axis}"));
    vec![shape::concatenate(&mut case.trace, &parts, axis as i64).unwrap()]
}

fn stack(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.dtype();
    let dims = case.shape(0..=3, 150);
    let parts: Vec<NodeId> = (0..case.between(2, 4)).map(|_| case.operand(dtype, &dims)).collect();
    let axis = case.between(0, dims.len() as i64);
    case.note(&format!("axis {axis}"));
    vec![shape::stack(&mut case.trace, &parts, axis).unwrap()]
}

/// Consecutive parts of random sizes, or equal ones.
fn split(case: &mut Case) -> Vec<NodeId> {
    let (x, _, dims) = moved(case, 1..=3, MOST_ELEMENTS);
    let axis = case.axis(&dims);
    let dim = dims[axis];
    if dim % 2 == 0 && case.random.coin() {
        return shape::split_equally(&mut case.trace, x, 2, axis as i64).unwrap();
    }
    let first = case.between(1, dim);
    let sizes = if first < dim { vec![first, dim - first] } else { vec![dim] };
    case.note(&format!("axis {axis}, sizes {sizes:?}"));
    shape::split(&mut case.trace, x, &sizes, axis as i64).unwrap()
}

fn reverse(case: &mut Case) -> Vec<NodeId> {
    let (x, _, dims) = moved(case, 1..=4, MOST_ELEMENTS);
    let axes = case.some_axes(&dims);
    vec![shape::reverse(&mut case.trace, x, &axes).unwrap()]
}

fn roll(case: &mut Case) -> Vec<NodeId> {
    let (x, _, dims) = moved(case, 1..=3, MOST_ELEMENTS);
    let axes = case.some_axes(&dims);
    let shifts: Vec<i64> = axes.iter().map(|_| case.between(-5, 13)).collect();
    case.note(&format!("axes {axes:?}, shifts {shifts:?}"));
    vec![shape::roll(&mut case.trace, x, &shifts, &axes).unwrap()]
}

fn tile(case: &mut Case) -> Vec<NodeId> {
    let (x, _, dims) = moved(case, 1..=3, 100);
    let repeats: Vec<i64> = (0..dims.len() as i64 + case.between(0, 1)).map(|_| case.between(1, 3)).collect();
    vec![shape::tile(&mut case.trace, x, &repeats).unwrap()]
}

fn repeat(case: &mut Case) -> Vec<NodeId> {
    let (x, _, dims) = moved(case, 1..=3, 150);
    let (axis, repeats) = (case.axis(&dims), case.between(2, 4));
    vec![shape::repeat(&mut case.trace, x, repeats, axis as i64).unwrap()]
}

/// Shares the prime factors of the number of elements out to a random number of axes; half of the time, the leading
/// factors stay together.
fn reshape(case: &mut Case) -> Vec<NodeId> {
    let (x, _, dims) = moved(case, 1..=4, MOST_ELEMENTS);
    let mut sizes = vec![1; case.between(1, 4) as usize];
    let is_ordered = case.random.coin();
    let mut at = 0;
    for &dim in &dims {
        let mut rest = dim;
        for prime in [2, 3] {
            while rest % prime == 0 {
                rest /= prime;
                if !is_ordered {
                    at = case.random.below(sizes.len());
                } else if at + 1 < sizes.len() && case.one_in(3) {
                    at += 1;
                }
                sizes[at] *= prime;
            }
        }
    }
    vec![shape::reshape(&mut case.trace, x, &sizes).unwrap()]
}

fn transpose(case: &mut Case) -> Vec<NodeId> {
    let (x, _, dims) = moved(case, 2..=4, MOST_ELEMENTS);
    let permutation = case.permutation(dims.len());
    vec![shape::transpose(&mut case.trace, x, &permutation).unwrap()]
}

/// Leading axes are added, and axes of size 1 are widened.
fn broadcast_to(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.dtype();
    let wanted = case.shape(1..=4, MOST_ELEMENTS);
    let dropped = case.random.below(wanted.len());
    let from: Vec<i64> = wanted[dropped..].iter().map(|&dim| if case.random.coin() { 1 } else { dim }).collect();
    let x = case.operand(dtype, &from);
    vec![shape::broadcast_to(&mut case.trace, x, &wanted).unwrap()]
}

/// Axes of the operand are those axes of the result that are kept.
fn broadcast_in_dim(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.dtype();
    let wanted = case.shape(2..=4, MOST_ELEMENTS);
    let kept = case.some_axes(&wanted);
    let from: Vec<i64> = kept.iter().map(|&axis| wanted[axis as usize]).collect();
    let x = case.operand(dtype, &from);
    let new: Vec<i64> = (0..wanted.len() as i64).filter(|axis| !kept.contains(axis)).collect();
    case.note(&format!("new axes {new:?}"));
    let x = shape::expand_dims(&mut case.trace, x, &new).unwrap();
    vec![shape::broadcast_to(&mut case.trace, x, &wanted).unwrap()]
}

fn triangle(case: &mut Case) -> Vec<NodeId> {
    let (x, _, _) = moved(case, 2..=4, MOST_ELEMENTS);
    let k = case.between(-3, 3);
    let made =
        if case.random.coin() { creation::tril(&mut case.trace, x, k) } else { creation::triu(&mut case.trace, x, k) };
    vec![made.unwrap()]
}

/// Positions along an axis, alone or added to an operand.
fn iota(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.number_dtype();
    let dims = case.shape(1..=4, MOST_ELEMENTS);
    let axis = case.axis(&dims);
    let places = creation::iota(&mut case.trace, &TensorType::new(dtype, &dims), axis as i64).unwrap();
    if case.one_in(3) {
        case.split_results();
        return vec![places];
    }
    let x = case.operand(dtype, &dims);
    vec![elementwise::binary(&mut case.trace, BinaryOp::Add, x, places).unwrap()]
}

fn eye(case: &mut Case) -> Vec<NodeId> {
    case.split_results();
    let dtype = case.dtype();
    let (rows, columns, k) = (case.size(12), case.size(12), case.between(-3, 3));
    vec![creation::eye(&mut case.trace, dtype, rows, columns, k).unwrap()]
}

/// Some indices are outside.
fn one_hot(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.dtype();
    let dims = case.shape(0..=2, 50);
    let depth = case.size(12);
    let indices = case.operand_of(DType::S32, &dims, |random| random.below(depth as usize + 2) as f64 - 1.0);
    let axis = case.between(0, dims.len() as i64);
    case.note(&format!("depth {depth}, axis {axis}"));
    vec![creation::one_hot(&mut case.trace, indices, depth, axis, dtype).unwrap()]
}
