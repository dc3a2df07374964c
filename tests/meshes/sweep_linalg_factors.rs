//! Decompositions, linear systems and functions of matrices: every device has whole matrices, however they were split,
//! and computes what native evaluation does.

use crate::case::Case;
use crate::sweep::{Operation, sweep};
use base::types::{DType, ScalarValue};
use ir::{BinaryOp, NodeId, ReduceOp, Trace, UnaryOp};
use ops::{elementwise, linalg, reduction};

const OPERATIONS: &[Operation] = &[
    ("qr", 1, qr),
    ("lu", 1, lu),
    ("ldl", 1, ldl),
    ("ldl_solve", 2, ldl_solve),
    ("svd", 1, svd),
    ("singular_values", 1, singular_values),
    ("eigh", 1, eigh),
    ("eig", 1, eig),
    ("schur", 1, schur),
    ("solve", 2, solve),
    ("tridiagonal_solve", 2, tridiagonal_solve),
    ("inverse", 1, inverse),
    ("determinant", 1, determinant),
    ("slogdet", 1, slogdet),
    ("lstsq", 1, lstsq),
    ("pinv", 1, pinv),
    ("matrix_rank", 1, matrix_rank),
    ("matrix_power", 1, matrix_power),
    ("matrix_exponential", 1, matrix_exponential),
    ("gradients_of_factors", 2, gradients),
];

#[test]
fn factors_agree_on_meshes() {
    sweep(OPERATIONS);
}

/// A batch of matrices of f64 or c128 numbers. Their diagonals exceed the sums of the other elements, and no two
/// elements of a diagonal are close to each other.
fn matrices(case: &mut Case, rows: i64, columns: i64) -> NodeId {
    case.tolerance = 1e-10;
    let mut dims = case.shape(0..=2, 12);
    dims.extend([rows, columns]);
    let parts = if case.one_in(3) { 2 } else { 1 };
    let parts: Vec<NodeId> = (0..parts)
        .map(|part| {
            let mut place = 0;
            case.operand_of(DType::F64, &dims, |random| {
                let (row, column) = (place / columns % rows, place % columns);
                place += 1;
                let near = random.unit() - 0.5;
                if part == 0 && row == column {
                    (2.0 + 3.0 * row as f64) * rows.max(columns) as f64 + near
                } else {
                    near
                }
            })
        })
        .collect();
    match parts[..] {
        [re, im] => elementwise::complex(&mut case.trace, re, im).unwrap(),
        _ => parts[0],
    }
}

fn square(case: &mut Case) -> NodeId {
    let n = case.size(6);
    matrices(case, n, n)
}

fn rectangular(case: &mut Case) -> NodeId {
    let [rows, columns] = [case.size(6), case.size(6)];
    matrices(case, rows, columns)
}

fn qr(case: &mut Case) -> Vec<NodeId> {
    let (a, full) = (rectangular(case), case.random.coin());
    linalg::qr(&mut case.trace, a, full).unwrap().to_vec()
}

fn lu(case: &mut Case) -> Vec<NodeId> {
    let a = rectangular(case);
    linalg::lu(&mut case.trace, a).unwrap().to_vec()
}

fn ldl(case: &mut Case) -> Vec<NodeId> {
    let (a, hermitian) = (square(case), case.random.coin());
    linalg::ldl(&mut case.trace, a, hermitian).unwrap().to_vec()
}

fn ldl_solve(case: &mut Case) -> Vec<NodeId> {
    let (a, hermitian) = (square(case), case.random.coin());
    let b = right_hand_side(case, a);
    let [factors, pivots] = linalg::ldl(&mut case.trace, a, hermitian).unwrap();
    vec![linalg::ldl_solve(&mut case.trace, factors, pivots, b, hermitian).unwrap()]
}

fn svd(case: &mut Case) -> Vec<NodeId> {
    let (a, full) = (rectangular(case), case.random.coin());
    linalg::svd(&mut case.trace, a, full).unwrap().to_vec()
}

fn singular_values(case: &mut Case) -> Vec<NodeId> {
    let a = rectangular(case);
    vec![linalg::singular_values(&mut case.trace, a).unwrap()]
}

fn eigh(case: &mut Case) -> Vec<NodeId> {
    let (a, lower) = (square(case), case.random.coin());
    linalg::eigh(&mut case.trace, a, lower).unwrap().to_vec()
}

fn eig(case: &mut Case) -> Vec<NodeId> {
    let a = square(case);
    linalg::eig(&mut case.trace, a).unwrap().to_vec()
}

fn schur(case: &mut Case) -> Vec<NodeId> {
    let (a, complex_form) = (square(case), case.random.coin());
    linalg::schur(&mut case.trace, a, complex_form).unwrap().to_vec()
}

/// A right-hand side for these matrices: a vector, or matrices with some of the batch axes.
fn right_hand_side(case: &mut Case, a: NodeId) -> NodeId {
    let dims = case.trace.ty(a).dims;
    let (batch, rows) = (&dims[..dims.len() - 2], dims[dims.len() - 2]);
    if case.one_in(4) {
        return case.operand(DType::F64, &[rows]);
    }
    let dropped = case.random.below(batch.len() + 1);
    let columns = case.size(6);
    case.operand(DType::F64, &[&batch[dropped..], &[rows, columns]].concat())
}

fn solve(case: &mut Case) -> Vec<NodeId> {
    let a = square(case);
    let b = right_hand_side(case, a);
    vec![linalg::solve(&mut case.trace, a, b).unwrap()]
}

/// A system whose diagonal exceeds the sums of the other elements.
fn tridiagonal_solve(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let mut dims = case.shape(0..=2, 12);
    dims.push(case.size(6));
    let bounded = |case: &mut Case, dims: &[i64]| {
        let x = case.operand(DType::F64, dims);
        elementwise::unary(&mut case.trace, UnaryOp::Tanh, x).unwrap()
    };
    let [lower, near, upper] = [(); 3].map(|()| bounded(case, &dims));
    let four = ScalarValue::Float(4.0);
    let diagonal = elementwise::binary_scalar(&mut case.trace, BinaryOp::Add, near, four, false).unwrap();
    dims.push(case.size(3));
    let b = bounded(case, &dims);
    vec![linalg::tridiagonal_solve(&mut case.trace, [lower, diagonal, upper, b]).unwrap()]
}

fn inverse(case: &mut Case) -> Vec<NodeId> {
    let a = square(case);
    vec![linalg::inverse(&mut case.trace, a).unwrap()]
}

fn determinant(case: &mut Case) -> Vec<NodeId> {
    let a = square(case);
    vec![linalg::determinant(&mut case.trace, a).unwrap()]
}

fn slogdet(case: &mut Case) -> Vec<NodeId> {
    let a = square(case);
    linalg::slogdet(&mut case.trace, a).unwrap().to_vec()
}

fn lstsq(case: &mut Case) -> Vec<NodeId> {
    let a = rectangular(case);
    let b = right_hand_side(case, a);
    vec![linalg::lstsq(&mut case.trace, a, b, -1.0).unwrap()]
}

fn pinv(case: &mut Case) -> Vec<NodeId> {
    let a = rectangular(case);
    vec![linalg::pinv(&mut case.trace, a, -1.0).unwrap()]
}

fn matrix_rank(case: &mut Case) -> Vec<NodeId> {
    let a = rectangular(case);
    vec![linalg::matrix_rank(&mut case.trace, a, -1.0).unwrap()]
}

fn matrix_power(case: &mut Case) -> Vec<NodeId> {
    let (a, n) = (square(case), case.between(-2, 5));
    case.note(&format!("power {n}"));
    vec![linalg::matrix_power(&mut case.trace, a, n).unwrap()]
}

/// Of matrices with small eigenvalues.
fn matrix_exponential(case: &mut Case) -> Vec<NodeId> {
    let a = square(case);
    let small = elementwise::binary_scalar(&mut case.trace, BinaryOp::Multiply, a, ScalarValue::Float(0.0625), false);
    vec![linalg::matrix_exponential(&mut case.trace, small.unwrap()).unwrap()]
}

/// The derivatives of a solution, of singular values, and of the logarithm of a determinant.
fn gradients(case: &mut Case) -> Vec<NodeId> {
    let a = square(case);
    let record: fn(&mut Trace, &[NodeId]) -> NodeId = match case.random.below(3) {
        0 => |t, operands| linalg::inverse(t, operands[0]).unwrap(),
        1 => |t, operands| {
            let values = linalg::singular_values(t, operands[0]).unwrap();
            let last = t.ty(values).dims.len() as i64 - 1;
            reduction::cumulative(t, ReduceOp::Sum, values, last, false).unwrap()
        },
        _ => |t, operands| linalg::slogdet(t, operands[0]).unwrap()[1],
    };
    case.gradients(&[a], record)
}
