//! Patterns of programs that differ in sizes.

use base::types::{DType, Scalar, ScalarValue, TensorType};
use ir::sizes::{Guess, Pattern, Seen, Spread};
use ir::{BinaryOp, NodeId, Program, ReduceOp, Trace, UnaryOp, Workspace, take_body};
use ops::control::Applied;
use ops::{control, creation, elementwise, linalg, reduction, shape};

/// A program at some sizes, and what it spreads to.
struct Made {
    program: Program,
    spread: Spread,
    scalars: Vec<Scalar>,
}

fn made(build: impl Fn(&mut Trace, &[i64]) -> NodeId, sizes: &[i64]) -> Made {
    let mut trace = Trace::new();
    let root = build(&mut trace, sizes);
    let segment = Workspace::default().linearize(&trace, &[root]).segments(&trace, 10_000).pop().unwrap();
    let spread = Spread::of(&segment.program).unwrap();
    Made { scalars: trace.scalars_at(&segment.scalars), program: segment.program, spread }
}

fn fit(seen: &[&Made], guess: Guess) -> Option<Pattern> {
    let seen = seen.iter();
    let seen = seen.map(|made| Seen { program: &made.program, spread: &made.spread, scalars: &made.scalars });
    Pattern::fit(&seen.collect::<Vec<Seen>>(), guess, &[])
}

fn leaf(trace: &mut Trace, dims: &[i64]) -> NodeId {
    trace.parameter(TensorType::new(DType::F32, dims))
}

/// Layers on tokens that are merged, and the mean of their logarithms.
fn tokens(trace: &mut Trace, sizes: &[i64]) -> NodeId {
    let [batch, length] = sizes[..] else { panic!("two sizes") };
    let (x, w) = (leaf(trace, &[batch, length, 8]), leaf(trace, &[8, 4]));
    let merged = shape::reshape(trace, x, &[batch * length, 8]).unwrap();
    let y = linalg::matmul(trace, merged, w).unwrap();
    let y = elementwise::unary(trace, UnaryOp::Tanh, y).unwrap();
    let apart = shape::reshape(trace, y, &[batch, length, 4]).unwrap();
    let shifted = shape::slice(trace, apart, &[0, 1, 0], &[batch, length, 4], &[1, 1, 1]).unwrap();
    let sum = reduction::reduce(trace, ReduceOp::Sum, shifted, &[0, 1, 2], false).unwrap();
    let count = ScalarValue::Float((batch * length) as f64);
    elementwise::binary_scalar(trace, BinaryOp::Divide, sum, count, false).unwrap()
}

#[test]
fn two_programs_give_the_forms_of_all_others() {
    let (first, second) = (made(tokens, &[4, 10]), made(tokens, &[6, 7]));
    assert_eq!(first.spread.key(), second.spread.key());
    let pattern = fit(&[&first, &second], Guess::Apart).unwrap();
    for sizes in [[4, 10], [6, 7], [1, 2], [5, 5], [16, 128], [8, 4]] {
        assert_eq!(pattern.sizes(&made(tokens, &sizes).spread).as_deref(), Some(&sizes[..]));
    }
    let values = &pattern.template.main.values;
    let dims: Vec<String> = values.iter().map(|value| format!("{:?}", value.dims)).collect();
    assert_eq!(
        dims,
        [
            "[n0, n1, 8]", "[n0 n1, 8]", "[8, 4]", "[n0 n1, 4]", "[n0 n1, 4]", "[n0, n1, 4]", "[n0, n1 - 1, 4]", "[]",
            "[]"
        ]
    );
    let given = pattern.given(&first.spread, &first.scalars);
    assert!(given.len() == 1 && given[0].varies());
}

#[test]
fn a_wrong_guess_serves_no_other_program() {
    // Both sizes double: the second may be four times the first.
    let (first, second) = (made(tokens, &[4, 16]), made(tokens, &[8, 32]));
    let wrong = fit(&[&first, &second], Guess::Related).unwrap();
    assert_eq!(wrong.template.variables, 1);
    assert_eq!(wrong.sizes(&made(tokens, &[2, 8]).spread), Some(vec![2]));
    let other = made(tokens, &[5, 7]);
    assert_eq!(wrong.sizes(&other.spread), None);
    let right = fit(&[&first, &second, &other], Guess::Related).unwrap();
    assert_eq!(right.sizes(&made(tokens, &[3, 9]).spread), Some(vec![3, 9]));
}

#[test]
fn bodies_and_their_constants_are_compared() {
    let mean = |scale: f64| {
        move |trace: &mut Trace, sizes: &[i64]| {
            let n = sizes[0];
            let mut inner = Trace::new();
            let x = leaf(&mut inner, &[n]);
            let sum = reduction::reduce(&mut inner, ReduceOp::Sum, x, &[0], false).unwrap();
            let factor = ScalarValue::Float(scale / n as f64);
            let mean = elementwise::binary_scalar(&mut inner, BinaryOp::Multiply, sum, factor, false).unwrap();
            let (body, _) = take_body(&inner, &[x], &[mean]).unwrap();
            let x = leaf(trace, &[n]);
            control::call(trace, &Applied { body: &body, captures: &[] }, &[x]).unwrap()[0]
        }
    };
    let (first, second) = (made(mean(1.0), &[4]), made(mean(1.0), &[7]));
    let pattern = fit(&[&first, &second], Guess::Apart).unwrap();
    let third = made(mean(1.0), &[9]);
    assert_eq!(pattern.sizes(&third.spread), Some(vec![9]));
    let given = pattern.given(&third.spread, &third.scalars);
    let ninth = Scalar::new(DType::F32, ScalarValue::Float(1.0 / 9.0)).unwrap();
    assert!(given == [ninth] && given[0].varies());
    // A constant that does not change belongs to the pattern.
    let same = fit(&[&made(mean(4.0), &[4]), &made(mean(8.0), &[8])], Guess::Apart).unwrap();
    assert_eq!(same.sizes(&made(mean(9.0), &[9]).spread), Some(vec![9]));
    assert_eq!(same.sizes(&third.spread), None);
}

#[test]
fn programs_that_differ_otherwise_have_no_pattern() {
    let plain = |op: UnaryOp| {
        move |trace: &mut Trace, sizes: &[i64]| {
            let x = leaf(trace, sizes);
            elementwise::unary(trace, op, x).unwrap()
        }
    };
    let (tanh, sine) = (made(plain(UnaryOp::Tanh), &[4]), made(plain(UnaryOp::Sine), &[5]));
    assert!(fit(&[&tanh, &sine], Guess::Apart).is_none());
    assert!(fit(&[&tanh, &made(plain(UnaryOp::Tanh), &[4, 1])], Guess::Apart).is_none());
    // The start of a slice changes, but no size.
    let rows = |start: i64| {
        move |trace: &mut Trace, _: &[i64]| {
            let x = leaf(trace, &[9]);
            shape::slice(trace, x, &[start], &[start + 2], &[1]).unwrap()
        }
    };
    assert!(fit(&[&made(rows(1), &[]), &made(rows(5), &[])], Guess::Apart).is_none());
    // Sizes that no parameter has are variables, too.
    let created = |trace: &mut Trace, sizes: &[i64]| {
        let zero =
            creation::full(trace, &TensorType::new(DType::F32, &[sizes[0], 2]), ScalarValue::Float(0.0)).unwrap();
        elementwise::unary(trace, UnaryOp::Cosine, zero).unwrap()
    };
    let pattern = fit(&[&made(created, &[3]), &made(created, &[8])], Guess::Apart).unwrap();
    assert_eq!(pattern.sizes(&made(created, &[0]).spread), Some(vec![0]));
}

#[test]
fn one_program_is_enough_if_the_axes_are_stated() {
    let first = made(tokens, &[5, 10]);
    let seen = [Seen { program: &first.program, spread: &first.spread, scalars: &first.scalars }];
    let pattern = Pattern::fit(&seen, Guess::Stated, &[(0, 0), (0, 1)]).unwrap();
    for sizes in [[5, 10], [6, 7], [16, 128]] {
        assert_eq!(pattern.sizes(&made(tokens, &sizes).spread).as_deref(), Some(&sizes[..]));
    }
    let batches = Pattern::fit(&seen, Guess::Stated, &[(0, 0)]).unwrap();
    assert_eq!(batches.sizes(&made(tokens, &[9, 10]).spread), Some(vec![9]));
    assert_eq!(batches.sizes(&made(tokens, &[9, 11]).spread), None);
    assert!(Pattern::fit(&seen, Guess::Stated, &[]).is_none());
}

#[test]
fn a_size_that_operands_explain_explains_others() {
    // The zeros come before the tokens whose number they have.
    let flat = |trace: &mut Trace, sizes: &[i64]| {
        let [batch, length] = sizes[..] else { panic!("two sizes") };
        let count = batch * (length - 1);
        let zeros = creation::full(trace, &TensorType::new(DType::F32, &[count]), ScalarValue::Float(0.0)).unwrap();
        let tokens = leaf(trace, &[batch, length]);
        let next = shape::slice(trace, tokens, &[0, 1], &[batch, length], &[1, 1]).unwrap();
        let next = shape::reshape(trace, next, &[count]).unwrap();
        elementwise::binary(trace, BinaryOp::Add, zeros, next).unwrap()
    };
    let (first, second) = (made(flat, &[4, 10]), made(flat, &[6, 8]));
    let pattern = fit(&[&first, &second], Guess::Apart).unwrap();
    let dims = |op: ir::Op| {
        let mut values = pattern.template.main.values.iter();
        values.find(|value| value.instruction.op == op).map(|value| format!("{:?}", value.dims))
    };
    assert_eq!(dims(ir::Op::Full).as_deref(), Some("[n0 n1 - n0]"));
    assert_eq!(pattern.sizes(&made(flat, &[1, 2]).spread), Some(vec![1, 2]));
}
