//! Gradients that are copied, because they repeat those of an earlier trace, are those that the rules record. A change
//! of any operation makes the rules record again.

use crate::common::number;
use crate::each;
use crate::programs::f64s;
use base::types::{Scalar, ScalarValue, TensorType};
use ir::{BinaryOp, Body, GradientMemory, Instruction, NodeId, Op, Request, Trace, UnaryOp, take_closed_body};
use lowering::transform::gradients_of;
use ops::reduction;
use std::cell::Cell;
use std::sync::Arc;

/// A program to differentiate, of which at most one instruction is changed.
struct Case<'a> {
    body: &'a Arc<Body>,
    has_cotangents: bool,
    /// Position of the instruction to change.
    changed: Option<usize>,
    /// Number of the parameters to differentiate with respect to.
    wanted: usize,
}

/// Changes an instruction or its scalar, and keeps its type; returns whether that was possible.
fn change(value: &mut Instruction, operands: &mut [NodeId], scalar: &mut Option<Scalar>) -> bool {
    if let Some(scalar) = scalar {
        let [zero, one] = [0, 1].map(|number| Scalar::new(scalar.dtype(), ScalarValue::Signed(number)).unwrap());
        *scalar = if *scalar == one { zero } else { one };
        return true;
    }
    match value.op {
        Op::Unary(UnaryOp::Sine) => value.op = Op::Unary(UnaryOp::Cosine),
        Op::Unary(_) if value.ty == f64s(&value.ty.dims) => value.op = Op::Unary(UnaryOp::Sine),
        Op::Binary(BinaryOp::Multiply) => value.op = Op::Binary(BinaryOp::Add),
        Op::Binary(_) if value.ty == f64s(&value.ty.dims) => value.op = Op::Binary(BinaryOp::Multiply),
        _ if operands.len() == 2 && operands[0] != operands[1] && value.op == Op::Complex => operands.swap(0, 1),
        _ => return false,
    }
    true
}

/// Records the program of a case. Returns its results; None if the change is not possible.
fn recorded(trace: &mut Trace, case: &Case, parameters: &[NodeId]) -> Option<Vec<NodeId>> {
    let (values, results) = case.body.decode();
    let (mut given, mut scalars) = (parameters.iter().copied(), case.body.scalars().iter().copied());
    let mut nodes: Vec<NodeId> = Vec::new();
    for (position, mut value) in values.into_iter().enumerate() {
        if value.op == Op::Leaf {
            if case.changed == Some(position) {
                return None;
            }
            nodes.push(given.next().unwrap());
            continue;
        }
        let mut operands: Vec<NodeId> = value.operands.iter().map(|&operand| nodes[operand]).collect();
        let mut scalar = if value.op.has_scalar() { scalars.next() } else { None };
        if case.changed == Some(position) && !change(&mut value, &mut operands, &mut scalar) {
            return None;
        }
        nodes.push(trace.record_again(&value, &operands, scalar));
    }
    Some(results.iter().map(|&result| nodes[result]).collect())
}

/// Records a case and its gradients in a trace that was cleared. Returns the program of both, and whether the gradients
/// were copied.
fn differentiated(trace: &mut Trace, memory: &mut GradientMemory, case: &Case) -> Option<(Arc<Body>, bool)> {
    drop(trace.clear());
    let mut leaves: Vec<NodeId> = case.body.parameters().iter().map(|ty| trace.parameter(ty.clone())).collect();
    let mut ys = recorded(trace, case, &leaves)?;
    let xs = leaves[..case.wanted].to_vec();
    let mut cotangents = Vec::new();
    if case.has_cotangents {
        let types: Vec<TensorType> = ys.iter().map(|&y| trace.ty(y)).collect();
        cotangents = types.into_iter().map(|ty| trace.parameter(ty)).collect();
        leaves.extend(&cotangents);
    } else {
        let mean = |trace: &mut Trace, y: NodeId| {
            let axes: Vec<i64> = (0..trace.ty(y).dims.len() as i64).collect();
            reduction::mean(trace, y, &axes, false).unwrap()
        };
        ys.iter_mut().for_each(|y| *y = mean(trace, *y));
    }
    let request = Request { ys: &ys, cotangents: &cotangents, xs: &xs };
    let gradients = gradients_of(trace, memory, request, |_, _| Ok(())).unwrap();
    let body = take_closed_body(trace, &leaves, &[], &[ys, gradients.values].concat()).unwrap();
    Some((body, gradients.is_repeated))
}

/// Checks the gradients of a case against those of a new trace. Returns whether they were copied; None if the change of
/// the case is not possible.
fn check(trace: &mut Trace, memory: &mut GradientMemory, case: &Case) -> Option<bool> {
    let (made, is_repeated) = differentiated(trace, memory, case)?;
    let (wanted, _) = differentiated(&mut Trace::new(), &mut GradientMemory::default(), case).unwrap();
    assert_eq!(made, wanted, "with a change of {:?}, copied: {is_repeated}", case.changed);
    Some(is_repeated)
}

#[test]
fn gradients_that_repeat_are_those_of_the_rules() {
    let (changes, copied) = (Cell::new(0), Cell::new(0));
    let count = number("LXLA_TRANSFORM_PROGRAMS", 250).div_ceil(5);
    each(count, 0, |body, random| {
        let (mut trace, mut memory) = (Trace::new(), GradientMemory::default());
        let all = body.parameters().len();
        let mut case = Case { body, has_cotangents: random.coin(), changed: None, wanted: all };
        // The first gradients are seen, the second remembered, the third copied.
        let rounds: Vec<bool> = (0..3).map(|_| check(&mut trace, &mut memory, &case).unwrap()).collect();
        assert_eq!(rounds, [false, false, true]);
        for position in 0..body.decode().0.len() {
            case.changed = Some(position);
            let Some(first) = check(&mut trace, &mut memory, &case) else { continue };
            assert!(!first, "a change of {position} was not seen");
            // It is remembered at once, or when it is seen again.
            check(&mut trace, &mut memory, &case);
            assert_eq!(check(&mut trace, &mut memory, &case), Some(true), "a change of {position}, repeated");
            case.changed = None;
            changes.set(changes.get() + 1);
            copied.set(copied.get() + u64::from(check(&mut trace, &mut memory, &case).unwrap()));
        }
        case.changed = None;
        case.wanted = 1;
        assert_eq!(check(&mut trace, &mut memory, &case), Some(all == 1));
    });
    assert!(
        changes.get() > count && copied.get() == changes.get(),
        "{} of {} were copied",
        copied.get(),
        changes.get()
    );
}
