//! Programs of a trace: order, encoding, segments.

use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, ReduceOp, UnaryOp};
use ir::{LeafData, LeafPlace, NodeId, Op, Segment, Trace, Workspace};
use ops::{elementwise, reduction, shape};
use std::sync::Arc;

/// Data of a value that a sync computed.
struct Settled {
    ty: TensorType,
    place: LeafPlace,
}

impl LeafData for Settled {
    fn ty(&self) -> &TensorType {
        &self.ty
    }

    fn place(&self) -> &LeafPlace {
        &self.place
    }
}

fn leaf(trace: &mut Trace, dims: &[i64]) -> NodeId {
    trace.parameter(TensorType::new(DType::F32, dims))
}

fn programs(trace: &Trace, roots: &[NodeId], max_ops: usize) -> Vec<Segment> {
    Workspace::default().linearize(trace, roots).segments(trace, max_ops)
}

#[test]
fn decoding_gives_back_what_was_recorded() {
    let mut t = Trace::new();
    let (a, b) = (leaf(&mut t, &[2, 3]), leaf(&mut t, &[3]));
    let sum = elementwise::binary(&mut t, BinaryOp::Add, a, b).unwrap();
    let half = elementwise::binary_scalar(&mut t, BinaryOp::Multiply, sum, ScalarValue::Float(0.5), false).unwrap();
    let cat = shape::concatenate(&mut t, &[half, a, sum, a], -2).unwrap();
    let total = reduction::reduce(&mut t, ReduceOp::Sum, cat, &[0], false).unwrap();
    let segments = programs(&t, &[sum, total], 100);
    assert_eq!(segments.len(), 1);
    let (values, outputs) = segments[0].program.decode();
    let names: Vec<String> = values.iter().map(|v| format!("{:?} {} {:?}", v.op, v.ty, v.operands)).collect();
    assert_eq!(
        names,
        [
            "Leaf f32[2,3] []",
            "Leaf f32[3] []",
            "Binary(Add) f32[2,3] [0, 1]",
            "BinaryScalar(Multiply) f32[2,3] [2]",
            "Concatenate f32[8,3] [3, 0, 2, 0]",
            "Reduce(Sum) f32[3] [4]",
        ]
    );
    assert_eq!(values[5].attributes::<reduction::ReduceAttributes>().axes.to_vec(), [0]);
    assert_eq!(outputs, [2, 5]);
    assert_eq!(segments[0].parameters, [a, b]);
    assert_eq!(segments[0].scalars.len(), 1);
}

#[test]
fn k3_wiring_is_in_the_words() {
    let program = |second: usize, third: usize| {
        let mut t = Trace::new();
        let leaves = [leaf(&mut t, &[2]), leaf(&mut t, &[2]), leaf(&mut t, &[2])];
        let all = shape::concatenate(&mut t, &leaves, 0).unwrap();
        let product = elementwise::binary(&mut t, BinaryOp::Multiply, leaves[0], leaves[second]).unwrap();
        let sum = elementwise::binary(&mut t, BinaryOp::Add, product, leaves[third]).unwrap();
        programs(&t, &[all, sum], 100).remove(0).program
    };
    assert_ne!(program(1, 2), program(2, 1));
    assert_eq!(program(1, 2), program(1, 2));
}

#[test]
fn scalars_leave_holes() {
    let program = |value: f64| {
        let mut t = Trace::new();
        let a = leaf(&mut t, &[2]);
        let x = elementwise::binary_scalar(&mut t, BinaryOp::Add, a, ScalarValue::Float(value), true).unwrap();
        let segment = programs(&t, &[x], 100).remove(0);
        (segment.program, t.scalars_at(&segment.scalars))
    };
    assert_eq!(program(1.0).0, program(2.0).0);
    assert_ne!(program(1.0).1, program(2.0).1);
}

#[test]
fn a_long_chain_is_cut_into_equal_programs() {
    let mut t = Trace::new();
    let mut x = leaf(&mut t, &[2]);
    for _ in 0..100_000 {
        x = elementwise::unary(&mut t, UnaryOp::Tanh, x).unwrap();
    }
    let segments = programs(&t, &[x], 1000);
    assert_eq!(segments.len(), 100);
    for pair in segments.windows(2) {
        assert_eq!(pair[0].program, pair[1].program);
        assert_eq!(pair[0].outputs, pair[1].parameters);
    }
    assert_eq!(segments[99].outputs, [x]);
}

#[test]
fn a_value_that_skips_segments_stays_an_output_of_its_own() {
    let mut t = Trace::new();
    let a = leaf(&mut t, &[2]);
    let early = elementwise::unary(&mut t, UnaryOp::Tanh, a).unwrap();
    let mut x = early;
    for _ in 0..5 {
        x = elementwise::unary(&mut t, UnaryOp::Negate, x).unwrap();
    }
    let last = elementwise::binary(&mut t, BinaryOp::Add, x, early).unwrap();
    let segments = programs(&t, &[last], 2);
    assert_eq!(segments.len(), 4);
    assert!(segments[0].outputs.contains(&early));
    assert!(segments[3].parameters.contains(&early));
}

#[test]
fn results_are_found_behind_one_that_a_sync_settled() {
    let mut t = Trace::new();
    let x = leaf(&mut t, &[2]);
    let types = vec![TensorType::new(DType::F32, &[2]); 3];
    let results = t.application(Op::OptimizationBarrier, &[x, x, x], &(), &[], &types);
    let _ = t.replace_by_leaf(results[0], Arc::new(Settled { ty: types[0].clone(), place: LeafPlace::default() }));
    let sum = elementwise::binary(&mut t, BinaryOp::Add, results[1], results[2]).unwrap();
    let negated = elementwise::unary(&mut t, UnaryOp::Negate, sum).unwrap();
    let segments = programs(&t, &[negated], 3);
    assert_eq!(segments.iter().map(|s| s.parameters.len()).collect::<Vec<_>>(), [1, 2]);
}
