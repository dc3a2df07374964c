//! Reductions of windows and their derivatives, cumulative reductions, and select_and_scatter.

use crate::case::Case;
use crate::sweep::{Operation, sweep};
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, Body, CompareOp, NodeId, ReduceOp, Trace, Window, take_closed_body};
use ops::control::Applied;
use ops::{creation, elementwise, reduction};
use std::sync::Arc;

const OPERATIONS: &[Operation] = &[
    ("cumulative", 3, cumulative),
    ("reduce_window", 4, reduce_window),
    ("max_pool_gradient", 1, max_pool_gradient),
    ("sum_pool_gradient", 2, sum_pool_gradient),
    ("cumulative_gradient", 1, cumulative_gradient),
    ("select_and_scatter", 1, select_and_scatter),
];

#[test]
fn reductions_of_windows_agree_on_meshes() {
    sweep(OPERATIONS);
}

fn cumulative(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=3, 200);
    let op = case.pick(&[ReduceOp::Sum, ReduceOp::Product, ReduceOp::Max, ReduceOp::Min]);
    let x = case.operand_of(DType::F64, &dims, |random| [1.0, -1.0, 2.0, -2.0][random.below(4)]);
    let (axis, reverse) = (case.axis(&dims), case.random.coin());
    case.note(&format!("{op:?} along {axis}, reverse {reverse}"));
    vec![reduction::cumulative(&mut case.trace, op, x, axis as i64, reverse).unwrap()]
}

fn cumulative_gradient(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=3, 100);
    let x = case.operand(DType::F64, &dims);
    let (axis, reverse) = (case.axis(&dims), case.random.coin());
    case.gradients(&[x], |t, x| reduction::cumulative(t, ReduceOp::Sum, x[0], axis as i64, reverse).unwrap())
}

/// A window for each axis, at least one window in all. If `plain` is set, without dilations and negative padding, and
/// each window has an element that is not padding.
fn windows(case: &mut Case, dims: &[i64], plain: bool) -> Vec<Window> {
    let mut windows = Vec::new();
    for &dim in dims {
        let mut window = Window { size: case.between(1, 3), stride: case.between(1, 3), ..Window::ONE };
        let (lowest, highest) = if plain { (0, window.size - 1) } else { (-1, 2) };
        if case.random.coin() {
            (window.low, window.high) = (case.between(lowest, highest), case.between(lowest, highest));
        }
        if !plain && case.one_in(3) {
            (window.dilation, window.base_dilation) = (case.between(1, 2), case.between(1, 2));
        }
        if case.one_in(4) {
            window = Window::ONE;
        }
        let spread = (dim - 1) * window.base_dilation + 1 + window.low + window.high;
        window.high += ((window.size - 1) * window.dilation + 1 - spread).max(0);
        windows.push(window);
    }
    case.note(&format!("{windows:?}"));
    windows
}

/// A computation of two scalars.
fn of_two(record: impl FnOnce(&mut Trace, NodeId, NodeId) -> NodeId) -> Arc<Body> {
    let mut trace = Trace::new();
    let [a, b] = [(); 2].map(|()| trace.parameter(TensorType::new(DType::F64, &[])));
    let result = record(&mut trace, a, b);
    take_closed_body(&trace, &[a, b], &[], &[result]).unwrap()
}

fn combiner(op: BinaryOp) -> Arc<Body> {
    of_two(|t, a, b| elementwise::binary(t, op, a, b).unwrap())
}

/// Records a reduction of windows from the neutral element.
fn pooled(t: &mut Trace, op: BinaryOp, x: NodeId, windows: &[Window]) -> NodeId {
    let neutral = match op {
        BinaryOp::Maximum => f64::NEG_INFINITY,
        BinaryOp::Minimum => f64::INFINITY,
        _ => 0.0,
    };
    let init = creation::full(t, &TensorType::new(DType::F64, &[]), ScalarValue::Float(neutral)).unwrap();
    let body = combiner(op);
    reduction::reduce_window(t, &Applied { body: &body, captures: &[] }, &[x], &[init], windows).unwrap()[0]
}

fn reduce_window(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=4, 200);
    let x = case.operand(DType::F64, &dims);
    let plain = case.random.coin();
    let windows = windows(case, &dims, plain);
    let op = case.pick(&[BinaryOp::Add, BinaryOp::Maximum, BinaryOp::Minimum]);
    case.note(&format!("{op:?}"));
    vec![pooled(&mut case.trace, op, x, &windows)]
}

fn max_pool_gradient(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=3, 100);
    let x = case.operand(DType::F64, &dims);
    let windows = windows(case, &dims, true);
    case.gradients(&[x], |t, x| pooled(t, BinaryOp::Maximum, x[0], &windows))
}

fn sum_pool_gradient(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=3, 100);
    let x = case.operand(DType::F64, &dims);
    let plain = case.random.coin();
    let windows = windows(case, &dims, plain);
    case.gradients(&[x], |t, x| pooled(t, BinaryOp::Add, x[0], &windows))
}

fn select_and_scatter(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(1..=3, 100);
    let x = case.operand(DType::F64, &dims);
    let windows = windows(case, &dims, true);
    let counts: Vec<i64> =
        windows.iter().zip(&dims).map(|(window, &dim)| window.count(dim).expect("a valid size")).collect();
    let source = case.operand(DType::F64, &counts);
    let init = case.operand(DType::F64, &[]);
    let select = of_two(|t, a, b| elementwise::compare(t, CompareOp::Ge, a, b).unwrap());
    let combine = combiner(BinaryOp::Add);
    let [select, combine] = [&select, &combine].map(|body| Applied { body, captures: &[] });
    vec![reduction::select_and_scatter(&mut case.trace, &select, &combine, x, source, init, &windows).unwrap()]
}
