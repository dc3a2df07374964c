//! Elementwise operations, with operands that broadcast.

use crate::case::{Case, MOST_ELEMENTS};
use crate::sweep::{Operation, sweep};
use base::types::{DType, ScalarValue};
use ir::{BinaryOp, CompareOp, NodeId, SpecialOp, UnaryOp};
use ops::elementwise;
use ops::nn::{self, ActivationOp};

const OPERATIONS: &[Operation] = &[
    ("unary", 1, unary),
    ("function", 1, function),
    ("binary", 2, binary),
    ("binary_of_integers", 1, binary_of_integers),
    ("binary_scalar", 1, binary_scalar),
    ("compare", 1, compare),
    ("select", 2, select),
    ("clamp", 1, clamp),
    ("convert", 1, convert),
    ("bitcast_convert", 1, bitcast_convert),
    ("complex", 1, complex),
    ("reduce_precision", 1, reduce_precision),
];

#[test]
fn elementwise_operations_agree_on_meshes() {
    sweep(OPERATIONS);
}

fn unary(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(0..=4, MOST_ELEMENTS);
    let (dtype, op) = case.pick(&[
        (DType::F64, UnaryOp::Abs),
        (DType::F64, UnaryOp::Sign),
        (DType::F64, UnaryOp::Floor),
        (DType::F64, UnaryOp::IsFinite),
        (DType::S32, UnaryOp::Abs),
        (DType::S32, UnaryOp::Not),
        (DType::U8, UnaryOp::Popcnt),
        (DType::Pred, UnaryOp::Not),
    ]);
    let x = case.operand(dtype, &dims);
    case.note(&format!("{op:?}"));
    vec![elementwise::unary(&mut case.trace, op, x).unwrap()]
}

/// Functions that round.
fn function(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let dims = case.shape(0..=4, MOST_ELEMENTS);
    let x = case.operand_of(DType::F64, &dims, |random| random.unit() * 4.0 - 2.0);
    let t = &mut case.trace;
    let made = match case.random.below(6) {
        0 => elementwise::unary(t, UnaryOp::Exponential, x),
        1 => elementwise::unary(t, UnaryOp::Tanh, x),
        2 => elementwise::unary(t, UnaryOp::Sine, x),
        3 => elementwise::special(t, SpecialOp::Erf, x),
        4 => nn::activation(t, ActivationOp::Gelu, x),
        _ => nn::activation(t, ActivationOp::Silu, x),
    };
    vec![made.unwrap()]
}

/// Shapes that broadcast to a shape.
fn narrowed(case: &mut Case, dims: &[i64]) -> Vec<i64> {
    if case.random.coin() {
        return dims.to_vec();
    }
    let dropped = case.random.below(dims.len() + 1);
    dims[dropped..].iter().map(|&dim| if case.one_in(3) { 1 } else { dim }).collect()
}

/// Operands of these dtypes whose shapes broadcast to each other.
fn broadcast<const N: usize>(case: &mut Case, dtypes: [DType; N]) -> [NodeId; N] {
    let dims = case.shape(0..=4, MOST_ELEMENTS);
    dtypes.map(|dtype| {
        let own = narrowed(case, &dims);
        case.operand(dtype, &own)
    })
}

fn binary(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.number_dtype();
    let [a, b] = broadcast(case, [dtype; 2]);
    let op = case.pick(&[BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Maximum, BinaryOp::Minimum]);
    case.note(&format!("{op:?}"));
    vec![elementwise::binary(&mut case.trace, op, a, b).unwrap()]
}

fn binary_of_integers(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(0..=4, MOST_ELEMENTS);
    let [own, other] = [narrowed(case, &dims), narrowed(case, &dims)];
    let a = case.operand(DType::S32, &own);
    let b = case.operand_of(DType::S32, &other, |random| 1.0 + random.below(4) as f64);
    let op = case.pick(&[
        BinaryOp::Divide,
        BinaryOp::Remainder,
        BinaryOp::And,
        BinaryOp::Xor,
        BinaryOp::ShiftLeft,
        BinaryOp::ShiftRightArithmetic,
    ]);
    case.note(&format!("{op:?}"));
    vec![elementwise::binary(&mut case.trace, op, a, b).unwrap()]
}

fn binary_scalar(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.number_dtype();
    let dims = case.shape(0..=4, MOST_ELEMENTS);
    let x = case.operand(dtype, &dims);
    let op = case.pick(&[BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Maximum]);
    let on_left = case.random.coin();
    vec![elementwise::binary_scalar(&mut case.trace, op, x, ScalarValue::Signed(2), on_left).unwrap()]
}

fn compare(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.dtype();
    let [a, b] = broadcast(case, [dtype; 2]);
    let op = case.pick(CompareOp::ALL);
    case.note(&format!("{op:?}"));
    vec![elementwise::compare(&mut case.trace, op, a, b).unwrap()]
}

/// Branches and the condition broadcast, also from scalars.
fn select(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.dtype();
    let [pred, a, b] = broadcast(case, [DType::Pred, dtype, dtype]);
    vec![elementwise::select(&mut case.trace, pred, a, b).unwrap()]
}

fn clamp(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.number_dtype();
    let [min, x, max] = broadcast(case, [dtype; 3]);
    vec![elementwise::clamp(&mut case.trace, min, x, max).unwrap()]
}

/// From small numbers that every dtype has.
fn convert(case: &mut Case) -> Vec<NodeId> {
    let (from, to) = (case.dtype(), case.dtype());
    let dims = case.shape(0..=4, MOST_ELEMENTS);
    let x = case.operand_of(from, &dims, |random| random.below(6) as f64);
    case.note(&format!("to {to}"));
    vec![elementwise::convert(&mut case.trace, x, to)]
}

/// To a dtype of another width: an axis is added or removed.
fn bitcast_convert(case: &mut Case) -> Vec<NodeId> {
    let mut dims = case.shape(0..=3, 150);
    let (from, to) = case.pick(&[(DType::S32, DType::U8), (DType::U8, DType::S32), (DType::F32, DType::S32)]);
    if from == DType::U8 {
        dims.push(4);
    }
    let x = case.operand(from, &dims);
    case.note(&format!("to {to}"));
    vec![elementwise::bitcast_convert(&mut case.trace, x, to).unwrap()]
}

/// Complex numbers, their products and their parts.
fn complex(case: &mut Case) -> Vec<NodeId> {
    let [a, b] = broadcast(case, [DType::F64; 2]);
    let t = &mut case.trace;
    let z = elementwise::complex(t, a, b).unwrap();
    let square = elementwise::binary(t, BinaryOp::Multiply, z, z).unwrap();
    match case.random.below(3) {
        0 => vec![z],
        1 => vec![square],
        _ => vec![elementwise::real(t, square).unwrap(), elementwise::imag(t, square).unwrap()],
    }
}

fn reduce_precision(case: &mut Case) -> Vec<NodeId> {
    let dims = case.shape(0..=4, MOST_ELEMENTS);
    let x = case.operand_of(DType::F64, &dims, |random| random.unit() * 4.0 - 2.0);
    vec![elementwise::reduce_precision(&mut case.trace, x, 8, 7).unwrap()]
}
