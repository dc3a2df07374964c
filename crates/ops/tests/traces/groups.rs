//! Groups of operations that are connected by operands.

use base::types::{DType, TensorType};
use ir::{BinaryOp, UnaryOp};
use ir::{NodeId, Trace};
use ops::elementwise;

#[test]
fn operations_are_connected_by_operands_but_not_by_leaves_or_dead_users() {
    let mut t = Trace::new();
    let tanh = |t: &mut Trace, x| elementwise::unary(t, UnaryOp::Tanh, x).unwrap();
    let add = |t: &mut Trace, x, y| elementwise::binary(t, BinaryOp::Add, x, y).unwrap();
    let a = t.parameter(TensorType::new(DType::F32, &[2]));
    let (left, right) = (tanh(&mut t, a), tanh(&mut t, a));
    let dead = add(&mut t, left, right);
    let (of_left, other) = (tanh(&mut t, left), add(&mut t, left, a));
    let groups = t.groups(&[of_left, other, right]);
    assert_eq!([of_left, other, left].map(|id| groups.of(id)), [Some(left.0); 3]);
    assert_eq!([right, dead, a].map(|id| groups.of(id)), [Some(right.0), None, None]);
    assert_eq!(groups.len(), 4);
    // A value that is needed connects what it needs.
    let groups = t.groups(&[dead, other]);
    assert_eq!([dead, other, left, right].map(|id| groups.of(id)), [Some(left.0); 4]);
}

#[test]
fn groups_that_meet_late_are_one() {
    let mut t = Trace::new();
    let a = t.parameter(TensorType::new(DType::F32, &[2]));
    let mut sums: Vec<NodeId> = (0..64).map(|_| elementwise::unary(&mut t, UnaryOp::Tanh, a).unwrap()).collect();
    let first = sums[0];
    while sums.len() > 1 {
        let add = |pair: &[NodeId]| elementwise::binary(&mut t, BinaryOp::Add, pair[0], pair[1]).unwrap();
        sums = sums.chunks(2).map(add).collect();
    }
    let groups = t.groups(&sums);
    assert_eq!((groups.len(), groups.of(sums[0])), (127, Some(first.0)));
}
