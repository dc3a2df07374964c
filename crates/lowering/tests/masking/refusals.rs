//! What is not masked, with its reason.

use crate::harness::{input, refusal, template};
use base::label::Label;
use base::types::{DType, ScalarValue, TensorType};
use ir::sizes::{Form, Scope, SizedValue, Template};
use ir::{BinaryOp, Instruction, Op, Words};
use lowering::transform::mask;
use ops::masking::Masking;
use ops::{creation, definition, elementwise, linalg, operation_name, reduction, shape};

const F32: DType = DType::F32;

/// Operations with a rule. All others must be refused.
const MASKED: &[&str] = &[
    "binary", "binary_function", "binary_scalar", "bitcast_convert", "broadcast_to", "call", "case", "checkpoint_name",
    "clamp", "compare", "complex", "computation_with_rule", "concatenate", "cond", "convert", "convolution",
    "dot_general", "dynamic_slice", "dynamic_update_slice", "fft", "full", "gather", "imag", "iota", "matmul",
    "optimization_barrier", "pad", "random_bits", "real", "reduce", "reduce_precision", "reduce_window", "reduce_with",
    "reshape", "reverse", "scan", "scatter", "select", "select_and_scatter", "slice", "sort", "stop_gradient", "take",
    "top_k", "transpose", "unary", "unary_function", "while",
];

/// Families whose definitions inherit a rule under another name.
const INHERITED: &[&str] = &["scalar_binary", "special_function"];

#[test]
fn the_table_has_these_rules() {
    let has_rule = |op: &&Op| !matches!(definition(**op).masking, Masking::Missing);
    let all = Op::all();
    let mut names: Vec<&str> = all.iter().filter(has_rule).map(|&op| definition(op).name).collect();
    names.sort();
    names.dedup();
    let mut wanted = [MASKED, INHERITED].concat();
    wanted.sort();
    assert_eq!(names, wanted);
}

/// A template of one operation on arrays of `[n, n]`.
fn alone(op: Op) -> Template {
    let n = Form::variable(0);
    let leaf = |_| value(Op::Leaf, &[], &n);
    let operands: Vec<usize> = (0..op.arity().unwrap_or(2)).collect();
    let mut values: Vec<SizedValue> = operands.iter().map(leaf).collect();
    values.push(value(op, &operands, &n));
    let outputs = vec![values.len() - 1];
    Template { variables: 1, main: Scope { values, outputs, body: None, changes: true } }
}

fn value(op: Op, operands: &[usize], n: &Form) -> SizedValue {
    let instruction = Instruction {
        op,
        ty: TensorType::new(F32, &[4, 4]),
        operands: operands.into(),
        words: Words::new(),
        bodies: Vec::new(),
        label: Label::default(),
    };
    let dims = vec![n.clone(), n.clone()].into();
    SizedValue { instruction, dims, words: Default::default(), scalar: None, constant: None, bodies: Vec::new() }
}

#[test]
fn operations_without_a_rule_are_refused() {
    let mut refused = 0;
    for op in Op::all() {
        if matches!(op, Op::Leaf | Op::Result) || !matches!(definition(op).masking, Masking::Missing) {
            continue;
        }
        let refusal = mask(&alone(op), &[8]).expect_err(operation_name(op));
        assert_eq!(refusal.operation, operation_name(op));
        assert!(refusal.reason.contains("not masked") || refusal.reason.contains("no rule"), "{refusal:?}");
        refused += 1;
    }
    assert!(refused > 25, "only {refused} operations have no rule");
}

#[test]
fn reasons_are_given() {
    let cases: [(&str, &str, crate::harness::Build); 9] = [
        ("cholesky", "no rule", &|t, n| {
            let x = input(t, F32, &[n[0], n[0]]);
            Ok((vec![x], vec![linalg::cholesky(t, x, true)?]))
        }),
        ("add", "meet", &|t, n| {
            let (x, y) = (input(t, F32, &[n[0], n[1]]), input(t, F32, &[n[0] * n[1]]));
            let flat = shape::reshape(t, x, &[n[0] * n[1]])?;
            Ok((vec![x, y], vec![elementwise::binary(t, BinaryOp::Add, flat, y)?]))
        }),
        ("slice", "positions along an axis of", &|t, n| {
            let x = input(t, F32, &[n[0], n[1]]);
            let flat = shape::reshape(t, x, &[n[0] * n[1]])?;
            Ok((vec![x], vec![shape::slice(t, flat, &[0], &[n[1]], &[1])?]))
        }),
        ("slice", "do not bound", &|t, n| {
            let x = input(t, F32, &[20 + n[1]]);
            Ok((vec![x], vec![shape::slice(t, x, &[n[0]], &[20], &[1])?]))
        }),
        ("reduce_window", "strides", &|t, n| {
            let x = input(t, F32, &[2 * n[0] + n[1] - n[1]]);
            let body = ops::control::bodies::combine(BinaryOp::Add, F32)?;
            let zero = creation::full(t, &TensorType::new(F32, &[]), ScalarValue::Signed(0))?;
            let windows = [ir::Window { size: 2, stride: 2, ..ir::Window::ONE }];
            let applied = ops::control::Applied { body: &body, captures: &[] };
            Ok((vec![x], reduction::reduce_window(t, &applied, &[x], &[zero], &windows)?))
        }),
        ("fft", "its attributes change", &|t, n| {
            let (x, y) = (input(t, F32, &[n[0]]), input(t, F32, &[n[1]]));
            let complex = elementwise::complex(t, x, x)?;
            Ok((vec![x, y], vec![linalg::fft(t, ir::FftOp::Fft, complex, &[n[0]])?]))
        }),
        ("reshape", "splits an axis of 2 n0", &|t, n| {
            let x = input(t, F32, &[2 * n[0], n[1]]);
            Ok((vec![x], vec![shape::reshape(t, x, &[2, n[0], n[1]])?]))
        }),
        ("full", "do not bound", &|t, n| {
            let x = input(t, F32, &[n[0], n[1]]);
            let ones = creation::full(t, &TensorType::new(F32, &[20 - n[0], n[1]]), ScalarValue::Signed(1))?;
            let sum = reduction::reduce(t, ir::ReduceOp::Sum, ones, &[0], false)?;
            Ok((vec![x], vec![elementwise::binary(t, BinaryOp::Add, sum, x)?]))
        }),
        ("transpose", "its attributes change", &|t, n| {
            let x = input(t, F32, &[n[0], n[1]]);
            Ok((vec![x], vec![shape::transpose(t, x, &[1, 0])?]))
        }),
    ];
    for (number, (operation, reason, build)) in cases.into_iter().enumerate() {
        let refusal = if operation == "transpose" {
            // No program has such attributes; the check holds off rules that do not read them.
            let mut made = template(build, 2);
            made.main.values.last_mut().unwrap().words[1] = Form::variable(0);
            mask(&made, &[9, 6]).expect_err("a refusal")
        } else {
            refusal(&[9, 6], build)
        };
        assert!(refusal.operation == operation && refusal.reason.contains(reason), "case {number}: {refusal:?}");
    }
}

#[test]
fn bounds_that_no_array_has_are_refused() {
    let build: crate::harness::Build = &|t, n| {
        let x = input(t, F32, &[n[0], n[1], 64]);
        Ok((vec![x], vec![elementwise::unary(t, ir::UnaryOp::Tanh, x)?]))
    };
    let made = template(build, 2);
    for (bounds, words) in [
        (&[1 << 30, 1 << 30][..], "program: "),
        (&[1 << 31, 4], "more than s32 counts"),
        (&[-1, 4], "the size n0 at the bounds"),
        (&[4], "1 bounds for 2 variables"),
    ] {
        let refusal = mask(&made, bounds).expect_err("bounds that do not fit");
        let text = format!("{}: {}", refusal.operation, refusal.reason);
        assert!(text.contains(words), "{text}");
    }
}
