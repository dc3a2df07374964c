//! Calls, branches, loops and scans of split values, with constraints inside their bodies in some cases, and
//! optimization barriers.

use crate::case::{Case, MOST_ELEMENTS};
use crate::devices::random_sharding;
use crate::sweep::{Operation, sweep};
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, Body, CompareOp, NodeId, Trace, UnaryOp, take_closed_body};
use ops::control::{self, Applied};
use ops::{elementwise, shape};
use std::sync::Arc;

const OPERATIONS: &[Operation] = &[
    ("call", 1, call),
    ("branch", 1, branch),
    ("case", 1, case_of),
    ("scan", 3, scan),
    ("while_loop", 2, while_loop),
    ("optimization_barrier", 1, optimization_barrier),
];

#[test]
fn control_flow_agrees_on_meshes() {
    sweep(OPERATIONS);
}

/// A value of a body, with a constraint in half of the cases.
fn inside(case: &mut Case, trace: &mut Trace, id: NodeId) -> NodeId {
    if case.random.coin() {
        return id;
    }
    let sharding = random_sharding(case.random, case.axes, &trace.ty(id).dims);
    case.note(&format!("inside {:?}", sharding.text(case.axes)));
    ops::mesh::sharding_constraint(trace, id, case.axes, &sharding).unwrap()
}

/// A computation of one array of this type, `variant` of several.
fn step(case: &mut Case, ty: &TensorType, variant: usize) -> Arc<Body> {
    let mut t = Trace::new();
    let x = t.parameter(ty.clone());
    let given = inside(case, &mut t, x);
    let made = match variant {
        0 => elementwise::binary(&mut t, BinaryOp::Add, given, given).unwrap(),
        1 => shape::reverse(&mut t, given, &[0]).unwrap(),
        _ => shape::roll(&mut t, given, &[1], &[0]).unwrap(),
    };
    let made = inside(case, &mut t, made);
    let result = elementwise::unary(&mut t, UnaryOp::Negate, made).unwrap();
    take_closed_body(&t, &[x], &[], &[result]).unwrap()
}

/// An operand and its type.
fn argument(case: &mut Case) -> (NodeId, TensorType) {
    let dims = case.shape(1..=3, MOST_ELEMENTS);
    (case.operand(DType::F64, &dims), TensorType::new(DType::F64, &dims))
}

fn call(case: &mut Case) -> Vec<NodeId> {
    let (x, ty) = argument(case);
    let variant = case.random.below(3);
    let body = step(case, &ty, variant);
    control::call(&mut case.trace, &Applied { body: &body, captures: &[] }, &[x]).unwrap()
}

fn branch(case: &mut Case) -> Vec<NodeId> {
    let (x, ty) = argument(case);
    let pred = case.operand(DType::Pred, &[]);
    let bodies = [step(case, &ty, 0), step(case, &ty, 1)];
    let [on_true, on_false] = bodies.each_ref().map(|body| Applied { body, captures: &[] });
    control::branch(&mut case.trace, pred, &on_true, &on_false, &[x]).unwrap()
}

/// Some indices are outside.
fn case_of(case: &mut Case) -> Vec<NodeId> {
    let (x, ty) = argument(case);
    let index = case.operand_of(DType::S32, &[], |random| random.below(5) as f64 - 1.0);
    let bodies = [step(case, &ty, 0), step(case, &ty, 1), step(case, &ty, 2)];
    let branches = bodies.each_ref().map(|body| Applied { body, captures: &[] });
    control::case(&mut case.trace, index, &branches, &[x]).unwrap()
}

/// Carries the sum of a captured value and of the slices of an array, and stacks what is greater: the slice or the sum
/// so far.
fn scan(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(0..=2, 50);
    let length = case.size(8);
    let (ty, stacked) = (TensorType::new(DType::F64, &dims), [&[length], &dims[..]].concat());
    let init = case.operand(DType::F64, &dims);
    let array = case.operand(DType::F64, &stacked);
    let outside = case.operand(DType::F64, &dims);
    let mut t = Trace::new();
    let [carried, slice, captured] = [(); 3].map(|()| t.parameter(ty.clone()));
    let given = inside(case, &mut t, carried);
    let sum = elementwise::binary(&mut t, BinaryOp::Add, given, slice).unwrap();
    let sum = elementwise::binary(&mut t, BinaryOp::Add, sum, captured).unwrap();
    let row = elementwise::binary(&mut t, BinaryOp::Maximum, given, slice).unwrap();
    let [sum, row] = [inside(case, &mut t, sum), inside(case, &mut t, row)];
    let body = take_closed_body(&t, &[carried, slice], &[captured], &[sum, row]).unwrap();
    let reverse = case.random.coin();
    case.note(&format!("length {length}, reverse {reverse}"));
    let applied = Applied { body: &body, captures: &[outside] };
    control::scan(&mut case.trace, &applied, &[init], &[array], length, reverse).unwrap()
}

/// Applies a step as often as an operand says.
fn while_loop(case: &mut Case) -> Vec<NodeId> {
    let (x, ty) = argument(case);
    let count = case.operand_of(DType::S32, &[], |random| random.below(5) as f64);
    let variant = case.random.below(3);
    let step = step(case, &ty, variant);
    let counter = TensorType::new(DType::S32, &[]);

    let mut t = Trace::new();
    let leaves = [t.parameter(counter.clone()), t.parameter(ty.clone())];
    let is_left = elementwise::compare_scalar(&mut t, CompareOp::Gt, leaves[0], ScalarValue::Signed(0), false).unwrap();
    let condition = take_closed_body(&t, &leaves, &[], &[is_left]).unwrap();

    let mut t = Trace::new();
    let leaves = [t.parameter(counter), t.parameter(ty)];
    let left =
        elementwise::binary_scalar(&mut t, BinaryOp::Subtract, leaves[0], ScalarValue::Signed(1), false).unwrap();
    let next = t.replay(&step, &leaves[1..]).unwrap()[0];
    let body = take_closed_body(&t, &leaves, &[], &[left, next]).unwrap();

    let [condition, body] = [&condition, &body].map(|body| Applied { body, captures: &[] });
    if case.random.coin() {
        let most = case.random.below(6) as i64;
        case.note(&format!("at most {most} times"));
        return control::while_bounded(&mut case.trace, &condition, &body, &[count, x], most).unwrap();
    }
    control::while_loop(&mut case.trace, &condition, &body, &[count, x]).unwrap()
}

fn optimization_barrier(case: &mut Case) -> Vec<NodeId> {
    let [(a, _), (b, _)] = [argument(case), argument(case)];
    control::optimization_barrier(&mut case.trace, &[a, b]).unwrap()
}
