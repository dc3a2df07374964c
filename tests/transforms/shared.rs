//! Bodies that several operations, or several attempts at one loop, derive from a body are derived once.

use crate::common::Random;
use crate::programs::f64s;
use crate::{all, check_batch, check_identity, gradient, numbers, run, wanted};
use base::error::{Code, Result};
use base::types::ScalarValue;
use ir::{BinaryOp, Body, CompareOp, NodeId, Trace, UnaryOp, take_closed_body};
use lowering::transform::{self, Checkpoint, Transformer, pull_back};
use native::Array;
use ops::control::{self, Applied, CustomKind};
use ops::{creation, elementwise};
use std::sync::Arc;

/// (a, b) to (a' b, b / 2), where a' is a, or the first of two values that a scan over the body one level below
/// carries. The second one gets a cotangent by the body only, and the first one a batch axis.
fn nested(depth: usize, length: i64) -> Arc<Body> {
    let mut inner: Option<Arc<Body>> = None;
    for _ in 0..=depth {
        let mut t = Trace::new();
        let (a, b) = (t.parameter(f64s(&[])), t.parameter(f64s(&[])));
        let carried = match &inner {
            Some(body) => {
                control::scan(&mut t, &Applied { body, captures: &[] }, &[a, b], &[], length, false).unwrap()[0]
            }
            None => a,
        };
        let product = elementwise::binary(&mut t, BinaryOp::Multiply, carried, b).unwrap();
        let half = elementwise::binary_scalar(&mut t, BinaryOp::Multiply, b, ScalarValue::Float(0.5), false).unwrap();
        inner = Some(take_closed_body(&t, &[a, b], &[], &[product, half]).unwrap());
    }
    inner.expect("there is a body at depth 0")
}

/// Number of bodies that a transformation of `body` derives.
fn derived(body: &Arc<Body>, work: impl FnOnce(&Transformer) -> Result<()> + Send) -> usize {
    let transformer = Transformer::default();
    transform::with_room([body], || work(&transformer)).unwrap();
    transformer.derived()
}

#[test]
fn loops_in_loops_are_derived_a_linear_number_of_times() {
    const DEPTH: usize = 24;
    let body = nested(DEPTH, 1);
    let both = all(body.parameters());
    let pushed = derived(&body, |t| transform::jvp(t, &body, &[1]).map(drop));
    let pulled = derived(&body, |t| transform::vjp(t, &body, &wanted(&both)).map(drop));
    let batched = derived(&body, |t| transform::batched(t, &body, &[-1, 0], &[0, 0], 2).map(drop));
    for (what, count, each) in [("jvp", pushed, 1), ("vjp", pulled, 2), ("vmap", batched, 2)] {
        assert!((DEPTH..=each * DEPTH).contains(&count), "{what} of {DEPTH} loops derives {count} bodies");
    }
    check_both("nested loops", &body);
}

/// Checks the derivatives and the batches of a body.
fn check_both(name: &str, body: &Arc<Body>) {
    transform::with_room([body], || {
        assert!(check_identity(name, body, &mut Random(1)));
        check_batch(name, body, &mut Random(2));
        Ok(())
    })
    .unwrap();
}

/// A loop that rotates values: each gets a cotangent, a tangent or a batch axis one iteration after another one.
#[test]
fn loops_that_rotate_values_are_derived_a_few_times() {
    const COUNT: usize = 40;
    let rotated = of_scalars(COUNT, |t, p| {
        let mut next = p.to_vec();
        next.rotate_left(1);
        next[0] = product(t, next[0], p[0]);
        next
    });
    let body = of_scalars(COUNT, |t, p| {
        let applied = Applied { body: &rotated, captures: &[] };
        let found = control::scan(t, &applied, p, &[], COUNT as i64 + 2, false).unwrap();
        vec![found[0], found[COUNT / 2]]
    });
    let every = all(body.parameters());
    let pushed = derived(&body, |t| transform::jvp(t, &body, &[1]).map(drop));
    let pulled = derived(&body, |t| transform::vjp(t, &body, &wanted(&every)).map(drop));
    let mut axes = [-1; COUNT];
    axes[1] = 0;
    let batched = derived(&body, |t| transform::batched(t, &body, &axes, &[0, 0], 2).map(drop));
    for (what, count) in [("jvp", pushed), ("vjp", pulled), ("vmap", batched)] {
        assert!(count <= 12, "{what} of a loop that rotates {COUNT} values derives {count} bodies");
    }
    check_both("a loop that rotates values", &body);
}

/// The same loops, whose bodies have checkpoint policies that alternate: each policy has a memo of its own.
#[test]
fn loops_under_policies_of_their_own_are_derived_a_linear_number_of_times() {
    const DEPTH: usize = 16;
    let of_depth = |depth: usize| {
        let mut body = nested(0, 1);
        for level in 0..depth {
            let policy = [Checkpoint::SaveNone, Checkpoint::SaveAll][level % 2].clone();
            let mut t = Trace::new();
            let both = [t.parameter(f64s(&[])), t.parameter(f64s(&[]))];
            let applied = Applied { body: &body, captures: &[] };
            let inner = control::checkpoint_call_of(&mut t, &policy, &applied, &both);
            let inner = take_closed_body(&t, &both, &[], &inner).unwrap();
            let mut t = Trace::new();
            let (a, b) = (t.parameter(f64s(&[])), t.parameter(f64s(&[])));
            let applied = Applied { body: &inner, captures: &[] };
            let carried = control::scan(&mut t, &applied, &[a, b], &[], 1, false).unwrap()[0];
            let product = elementwise::binary(&mut t, BinaryOp::Multiply, carried, b).unwrap();
            let half =
                elementwise::binary_scalar(&mut t, BinaryOp::Multiply, b, ScalarValue::Float(0.5), false).unwrap();
            body = take_closed_body(&t, &[a, b], &[], &[product, half]).unwrap();
        }
        body
    };
    let body = of_depth(DEPTH);
    let both = all(body.parameters());
    let pushed = derived(&body, |t| transform::jvp(t, &body, &[1]).map(drop));
    let pulled = derived(&body, |t| transform::vjp(t, &body, &wanted(&both)).map(drop));
    let batched = derived(&body, |t| transform::batched(t, &body, &[-1, 0], &[0, 0], 2).map(drop));
    for (what, count) in [("jvp", pushed), ("vjp", pulled), ("vmap", batched)] {
        assert!((DEPTH..=5 * DEPTH).contains(&count), "{what} of {DEPTH} loops derives {count} bodies");
    }
    let shallow = of_depth(6);
    transform::with_room([&shallow], || {
        assert!(check_identity("nested policies", &shallow, &mut Random(1)));
        check_batch("nested policies", &shallow, &mut Random(2));
        Ok(())
    })
    .unwrap();
}

#[test]
fn calls_of_one_computation_have_one_derivative() {
    let mut layer = Trace::new();
    let (x, w) = (layer.parameter(f64s(&[2])), layer.parameter(f64s(&[2])));
    let scaled = elementwise::binary(&mut layer, BinaryOp::Multiply, x, w).unwrap();
    let result = elementwise::unary(&mut layer, UnaryOp::Tanh, scaled).unwrap();
    let layer = take_closed_body(&layer, &[x, w], &[], &[result]).unwrap();

    let mut t = Trace::new();
    let parameters: Vec<NodeId> = (0..25).map(|_| t.parameter(f64s(&[2]))).collect();
    let mut value = parameters[0];
    for &weight in &parameters[1..] {
        value = control::call(&mut t, &Applied { body: &layer, captures: &[] }, &[value, weight]).unwrap()[0];
    }
    let body = take_closed_body(&t, &parameters, &[], &[value]).unwrap();
    let every = all(body.parameters());

    let transformer = Transformer::default();
    let made = transform::vjp(&transformer, &body, &wanted(&every)).unwrap();
    assert_eq!(transformer.derived(), 1);
    assert_eq!((made.forward.program().bodies().len(), made.backward.program().bodies().len()), (1, 1));
    let transformer = Transformer::default();
    let made = transform::jvp(&transformer, &body, &every).unwrap();
    assert_eq!((transformer.derived(), made.program().bodies().len()), (1, 1));
    let transformer = Transformer::default();
    let made = transform::batched(&transformer, &body, &[0; 25], &[0], 2).unwrap();
    assert_eq!((transformer.derived(), made.program().bodies().len()), (1, 1));
}

/// A function of which each of n others applies the one before twice has 2^n values to save; in forward mode, each of
/// them is derived once.
#[test]
fn functions_that_apply_others_twice_save_a_bounded_number_of_values() {
    const DEPTH: usize = 19;
    let mut body = of_scalars(1, |t, p| vec![elementwise::unary(t, UnaryOp::Tanh, p[0]).unwrap()]);
    for _ in 0..DEPTH {
        body = of_scalars(1, |t, p| {
            let applied = Applied { body: &body, captures: &[] };
            let once = control::call(t, &applied, p).unwrap();
            control::call(t, &applied, &once).unwrap()
        });
    }
    assert_eq!(derived(&body, |t| transform::jvp(t, &body, &[0]).map(drop)), DEPTH);
    for policy in [Checkpoint::SaveAll, Checkpoint::SaveNone] {
        let transformer = Transformer::new(policy);
        let refused = transform::with_room([&body], || transform::vjp(&transformer, &body, &wanted(&[0])));
        let error = refused.map(drop).unwrap_err();
        assert_eq!(error.code, Code::ResourceExhausted);
        assert!(
            error
                .message
                .contains("values of computations that it applies, counted at each application; at most 262144"),
            "{error}"
        );
    }
}

fn number(value: f64) -> Array {
    Array::from_bytes(&f64s(&[]), bytemuck::cast_slice(&[value])).unwrap()
}

/// A computation of scalars.
fn of_scalars(count: usize, results: impl FnOnce(&mut Trace, &[NodeId]) -> Vec<NodeId>) -> Arc<Body> {
    let mut trace = Trace::new();
    let parameters: Vec<NodeId> = (0..count).map(|_| trace.parameter(f64s(&[]))).collect();
    let results = results(&mut trace, &parameters);
    take_closed_body(&trace, &parameters, &[], &results).unwrap()
}

fn scaled(trace: &mut Trace, x: NodeId, by: f64) -> NodeId {
    elementwise::binary_scalar(trace, BinaryOp::Multiply, x, ScalarValue::Float(by), false).unwrap()
}

fn product(trace: &mut Trace, x: NodeId, y: NodeId) -> NodeId {
    elementwise::binary(trace, BinaryOp::Multiply, x, y).unwrap()
}

/// Three loops of one condition and one body, which double a number that is below 100: with tangents, they have one of
/// each.
#[test]
fn loops_of_one_computation_have_one_derivative() {
    let condition = of_scalars(1, |t, p| {
        let limit = creation::full(t, &f64s(&[]), ScalarValue::Float(100.0)).unwrap();
        vec![elementwise::compare(t, CompareOp::Lt, p[0], limit).unwrap()]
    });
    let twice = of_scalars(1, |t, p| vec![scaled(t, p[0], 2.0)]);
    let body = of_scalars(1, |t, p| {
        let mut value = p[0];
        for _ in 0..3 {
            let condition = Applied { body: &condition, captures: &[] };
            let doubled = Applied { body: &twice, captures: &[] };
            value = control::while_loop(t, &condition, &doubled, &[value]).unwrap()[0];
            value = scaled(t, value, 0.001);
        }
        vec![value]
    });
    let transformer = Transformer::default();
    let pushed = transform::jvp(&transformer, &body, &[0]).unwrap();
    assert_eq!((transformer.derived(), pushed.program().bodies().len()), (2, 2));
    let made: Vec<f64> = numbers(&run(&pushed, &[number(1.0), number(3.0)])).collect();
    assert!(made[0] > 0.1 && (made[1] - 3.0 * made[0]).abs() < 1e-12, "{made:?}");
}

/// Three squares by a computation with a vjp of its own: in the forward mode of the gradient, all of them apply one
/// forward pass with tangents. The backward passes have tangents of the residual, or of the cotangent as well.
#[test]
fn computations_with_a_vjp_have_one_derivative() {
    let square = of_scalars(1, |t, p| vec![product(t, p[0], p[0])]);
    let forward = of_scalars(1, |t, p| vec![product(t, p[0], p[0]), scaled(t, p[0], 2.0)]);
    let backward = of_scalars(2, |t, p| vec![product(t, p[0], p[1])]);
    let body = of_scalars(1, |t, p| {
        let rule = [&square, &forward, &backward].map(|body| Applied { body, captures: &[] });
        let mut value = p[0];
        for _ in 0..3 {
            value = control::custom_call_of(t, CustomKind::Vjp, &rule, &[value]).unwrap()[0];
        }
        vec![value]
    });
    let gradient = gradient(&body, Checkpoint::SaveAll);
    let transformer = Transformer::default();
    let pushed = transform::jvp(&transformer, &gradient, &[0]).unwrap();
    assert_eq!((transformer.derived(), pushed.program().bodies().len()), (3, 3));
    // x^8, at 2, with cotangent 5: 8 x^7, and 56 x^6 along 3.
    let made: Vec<f64> = numbers(&run(&pushed, &[number(2.0), number(5.0), number(3.0)])).collect();
    assert_eq!(made, [5.0 * 8.0 * 128.0, 5.0 * 56.0 * 64.0 * 3.0]);
}

/// Gradients of a recorded scan, one after the other: the first one extends the scan, the others read what it added.
#[test]
fn residuals_are_added_once() {
    for depth in 0..3 {
        let body = nested(depth, 3);
        let mut t = Trace::new();
        let inputs = [t.parameter(f64s(&[])), t.parameter(f64s(&[]))];
        let end = control::scan(&mut t, &Applied { body: &body, captures: &[] }, &inputs, &[], 3, false).unwrap()[0];
        let one = creation::full(&mut t, &f64s(&[]), ScalarValue::Float(1.0)).unwrap();
        let mut results = Vec::new();
        for _ in 0..3 {
            pull_back(&Transformer::default(), &mut t, &[(end, one)], &inputs).unwrap();
            let scan = t.node(t.operands(t.node(end))[0]);
            results.extend(t.bodies(scan).map(|body| body.results().len()));
        }
        assert!(results[0] > body.results().len(), "{results:?}");
        assert!(results.iter().all(|&count| count == results[0]), "{results:?}");
    }
}
