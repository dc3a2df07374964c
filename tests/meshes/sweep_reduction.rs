//! Reductions over axes. `sweep_reduction_windows.rs` has those of windows.

use crate::case::{Case, MOST_ELEMENTS};
use crate::sweep::{Operation, sweep};
use base::types::{DType, TensorType};
use ir::{BinaryOp, NodeId, ReduceOp, Trace, take_closed_body};
use ops::control::Applied;
use ops::{elementwise, linalg, reduction};

const OPERATIONS: &[Operation] = &[
    ("reduce", 4, reduce),
    ("reduce_pred", 1, reduce_pred),
    ("reduce_with", 2, reduce_with),
    ("arg_extreme", 2, arg_extreme),
    ("variance", 1, variance),
    ("logsumexp", 1, logsumexp),
    ("norm", 1, norm),
];

#[test]
fn reductions_agree_on_meshes() {
    sweep(OPERATIONS);
}

/// An operand whose sums and products are exact: products are powers of 2.
fn reduced(case: &mut Case, op: ReduceOp) -> (NodeId, Vec<i64>) {
    let dims = case.shape(1..=4, MOST_ELEMENTS);
    if op == ReduceOp::Product {
        let dtype = case.pick(&[DType::F64, DType::S32]);
        return (case.operand_of(dtype, &dims, |random| [1.0, -1.0, 2.0][random.below(3)]), dims);
    }
    let dtype = case.pick(&[DType::F64, DType::F64, DType::S32, DType::F32, DType::BF16, DType::U8]);
    (case.operand(dtype, &dims), dims)
}

fn reduce(case: &mut Case) -> Vec<NodeId> {
    let op = case.pick(&[ReduceOp::Sum, ReduceOp::Sum, ReduceOp::Product, ReduceOp::Max, ReduceOp::Min]);
    let (x, dims) = reduced(case, op);
    let (axes, keep) = (case.some_axes(&dims), case.random.coin());
    case.note(&format!("{op:?} over {axes:?}"));
    vec![reduction::reduce(&mut case.trace, op, x, &axes, keep).unwrap()]
}

/// Also counts preds.
fn reduce_pred(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=4, MOST_ELEMENTS);
    let rare = case.pick(&[2, 20]);
    let op = case.pick(&[ReduceOp::All, ReduceOp::Any, ReduceOp::Sum]);
    let is_usual = op == ReduceOp::All;
    let x = case.operand_of(DType::Pred, &dims, |random| f64::from(u8::from((random.below(rare) == 0) != is_usual)));
    let (axes, keep) = (case.some_axes(&dims), case.random.coin());
    case.note(&format!("{op:?} over {axes:?}"));
    vec![reduction::reduce(&mut case.trace, op, x, &axes, keep).unwrap()]
}

/// Reduces two arrays jointly: to the sum of the products of both, and the largest element of the second.
fn reduce_with(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=4, MOST_ELEMENTS);
    let axes = case.some_axes(&dims);
    let arrays = [case.operand(DType::F64, &dims), case.operand(DType::S32, &dims)];
    let inits = [case.scalar(DType::F64, 0.0), case.scalar(DType::S32, -100.0)];
    let mut t = Trace::new();
    let [a, b, x, y] = [DType::F64, DType::S32, DType::F64, DType::S32].map(|d| t.parameter(TensorType::new(d, &[])));
    let sum = elementwise::binary(&mut t, BinaryOp::Add, a, x).unwrap();
    let largest = elementwise::binary(&mut t, BinaryOp::Maximum, b, y).unwrap();
    let body = take_closed_body(&t, &[a, b, x, y], &[], &[sum, largest]).unwrap();
    case.note(&format!("over {axes:?}"));
    let applied = Applied { body: &body, captures: &[] };
    reduction::reduce_with(&mut case.trace, &applied, &arrays, &inits, &axes).unwrap()
}

fn arg_extreme(case: &mut Case) -> Vec<NodeId> {
    let (dtype, dims) = (case.dtype(), case.shape(1..=4, MOST_ELEMENTS));
    let x = case.operand(dtype, &dims);
    let (axis, keep, largest) = (case.axis(&dims), case.random.coin(), case.random.coin());
    case.note(&format!("axis {axis}"));
    vec![reduction::arg_extreme(&mut case.trace, x, axis as i64, keep, largest, DType::S32).unwrap()]
}

fn variance(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-12;
    let dims = case.shape(1..=4, MOST_ELEMENTS);
    let x = case.operand(DType::F64, &dims);
    let (axes, keep) = (case.some_axes(&dims), case.random.coin());
    let mean = reduction::mean(&mut case.trace, x, &axes, keep).unwrap();
    vec![mean, reduction::variance(&mut case.trace, x, &axes, 0.0, keep).unwrap()]
}

fn logsumexp(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-12;
    let dims = case.shape(1..=4, MOST_ELEMENTS);
    let x = case.operand_of(DType::F64, &dims, |random| random.unit() * 4.0 - 2.0);
    let (axes, keep) = (case.some_axes(&dims), case.random.coin());
    vec![reduction::logsumexp(&mut case.trace, x, &axes, keep).unwrap()]
}

fn norm(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-12;
    let dims = case.shape(1..=4, MOST_ELEMENTS);
    let x = case.operand(DType::F64, &dims);
    let (axes, keep) = (case.some_axes(&dims), case.random.coin());
    let order = case.pick(&[1.0, 2.0, f64::INFINITY]);
    vec![linalg::norm(&mut case.trace, x, order, &axes, keep).unwrap()]
}
