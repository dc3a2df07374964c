//! Sorts, the largest elements, and searches.

use crate::case::{Case, MOST_ELEMENTS};
use crate::sweep::{Operation, sweep};
use base::types::DType;
use ir::NodeId;
use ops::sorting;

const OPERATIONS: &[Operation] = &[
    ("sort_along", 2, sort_along),
    ("argsort", 2, argsort),
    ("top_k", 2, top_k),
    ("unique", 1, unique),
    ("searchsorted", 1, searchsorted),
];

#[test]
fn sorts_agree_on_meshes() {
    sweep(OPERATIONS);
}

/// An operand with equal elements, and one of its axes.
fn unsorted(case: &mut Case) -> (NodeId, Vec<i64>, usize) {
    let (dtype, dims) = (case.dtype(), case.shape(1..=3, MOST_ELEMENTS));
    let axis = case.axis(&dims);
    case.note(&format!("axis {axis}"));
    (case.operand(dtype, &dims), dims, axis)
}

fn sort_along(case: &mut Case) -> Vec<NodeId> {
    let (x, _, axis) = unsorted(case);
    let descending = case.random.coin();
    vec![sorting::sort_along(&mut case.trace, x, axis as i64, descending, true).unwrap()]
}

/// Equal elements keep their order.
fn argsort(case: &mut Case) -> Vec<NodeId> {
    let (x, _, axis) = unsorted(case);
    let descending = case.random.coin();
    vec![sorting::argsort(&mut case.trace, x, axis as i64, descending, true, DType::S32).unwrap()]
}

fn top_k(case: &mut Case) -> Vec<NodeId> {
    let (x, dims, axis) = unsorted(case);
    let (k, largest) = (case.between(1, dims[axis]), case.random.coin());
    case.note(&format!("k {k}"));
    sorting::top_k(&mut case.trace, x, k, axis as i64, largest, DType::S32).unwrap().to_vec()
}

fn unique(case: &mut Case) -> Vec<NodeId> {
    let (dtype, dims) = (case.dtype(), case.shape(1..=2, 100));
    let x = case.operand(dtype, &dims);
    let size = case.size(8);
    sorting::unique(&mut case.trace, x, size, None, DType::S32).unwrap().to_vec()
}

fn searchsorted(case: &mut Case) -> Vec<NodeId> {
    let n = case.size(12);
    let mut last = -6.0;
    let sorted = case.operand_of(DType::F64, &[n], |random| {
        last += random.below(2) as f64;
        last
    });
    let dims = case.shape(0..=2, 100);
    let values = case.operand(DType::F64, &dims);
    let right = case.random.coin();
    vec![sorting::searchsorted(&mut case.trace, sorted, values, right, DType::S32).unwrap()]
}
