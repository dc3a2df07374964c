//! Bodies taken out of a trace.

use base::types::{DType, ScalarValue, TensorType};
use ir::BinaryOp;
use ir::{NodeId, Trace, take_body};
use ops::{creation, elementwise};

fn leaf(trace: &mut Trace) -> NodeId {
    trace.parameter(TensorType::new(DType::F32, &[2]))
}

fn add(trace: &mut Trace, a: NodeId, b: NodeId) -> NodeId {
    elementwise::binary(trace, BinaryOp::Add, a, b).unwrap()
}

fn scaled(trace: &mut Trace, x: NodeId, by: f64) -> NodeId {
    elementwise::binary_scalar(trace, BinaryOp::Multiply, x, ScalarValue::Float(by), false).unwrap()
}

#[test]
fn what_does_not_depend_on_a_parameter_is_captured_whole() {
    let mut t = Trace::new();
    let (p, unused, data) = (leaf(&mut t), leaf(&mut t), leaf(&mut t));
    let outside = scaled(&mut t, data, 3.0);
    let constant = creation::full(&mut t, &TensorType::new(DType::F32, &[2]), ScalarValue::Float(1.0)).unwrap();
    let moved = add(&mut t, p, constant);
    let result = add(&mut t, moved, outside);
    let (body, captures) = take_body(&t, &[p, unused], &[result, p, outside, data]).unwrap();
    assert_eq!(captures, [outside, data]);
    assert_eq!((body.parameters().len(), body.captures().len(), body.results().len()), (2, 2, 4));
    assert_eq!((0..4).map(|i| body.passed_through(i)).collect::<Vec<_>>(), [None, Some(0), Some(2), Some(3)]);
    assert_eq!(body.weight(), 3);
}

#[test]
fn equal_traces_are_equal_bodies_and_constants_tell_them_apart() {
    let body = |by: f64| {
        let mut t = Trace::new();
        let _elsewhere = leaf(&mut t);
        let p = leaf(&mut t);
        let x = scaled(&mut t, p, by);
        take_body(&t, &[p], &[x]).unwrap().0
    };
    assert_eq!(body(2.0), body(2.0));
    assert_ne!(body(2.0), body(3.0));
}
