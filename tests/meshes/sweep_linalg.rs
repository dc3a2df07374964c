//! Products, factorizations and Fourier transforms.

use crate::case::Case;
use crate::sweep::{Operation, sweep};
use base::types::DType;
use ir::{FftOp, NodeId, Transposition};
use native::Triangle;
use ops::elementwise;
use ops::linalg::{self, DotAxes};

const OPERATIONS: &[Operation] = &[
    ("matmul", 2, matmul),
    ("dot_general", 4, dot_general),
    ("einsum", 1, einsum),
    ("cholesky", 1, cholesky),
    ("triangular_solve", 1, triangular_solve),
    ("fft", 2, fft),
];

#[test]
fn linear_algebra_agrees_on_meshes() {
    sweep(OPERATIONS);
}

/// A dtype whose products are exact.
fn product_dtype(case: &mut Case) -> DType {
    case.pick(&[DType::F64, DType::F64, DType::F64, DType::S32, DType::F32, DType::BF16])
}

/// Vectors, matrices and batches that broadcast.
fn matmul(case: &mut Case) -> Vec<NodeId> {
    let dtype = product_dtype(case);
    let [rows, inner, columns] = [case.size(12), case.size(8), case.size(12)];
    let batch = case.shape(0..=2, 4);
    let dropped = case.random.below(batch.len() + 1);
    let mut batches = [batch.clone(), batch[dropped..].to_vec()];
    if case.random.coin() {
        batches.reverse();
    }
    let (mut lhs, mut rhs) =
        ([&batches[0][..], &[rows, inner]].concat(), [&batches[1][..], &[inner, columns]].concat());
    if case.one_in(6) {
        lhs = vec![inner];
    } else if case.one_in(6) {
        rhs = vec![inner];
    }
    let [lhs, rhs] = [case.operand(dtype, &lhs), case.operand(dtype, &rhs)];
    vec![linalg::matmul(&mut case.trace, lhs, rhs).unwrap()]
}

/// Batching, contracted and other axes in any order.
fn dot_general(case: &mut Case) -> Vec<NodeId> {
    let dtype = product_dtype(case);
    let (batches, sums) = (case.between(0, 1) as usize, case.between(0, 2) as usize);
    let common: Vec<i64> = (0..batches + sums).map(|_| case.size(6)).collect();
    let side = |case: &mut Case| {
        let own = case.between(0, 2) as usize;
        let sizes: Vec<i64> = common.iter().copied().chain((0..own).map(|_| case.size(6))).collect();
        // The axis at which each size is.
        let order = case.permutation(sizes.len());
        let mut dims = vec![0; sizes.len()];
        order.iter().zip(&sizes).for_each(|(&axis, &size)| dims[axis as usize] = size);
        (case.operand(dtype, &dims), order[..batches].to_vec(), order[batches..batches + sums].to_vec())
    };
    let (lhs, lhs_batching, lhs_contracting) = side(case);
    let (rhs, rhs_batching, rhs_contracting) = side(case);
    let axes = DotAxes {
        lhs_batching: &lhs_batching,
        rhs_batching: &rhs_batching,
        lhs_contracting: &lhs_contracting,
        rhs_contracting: &rhs_contracting,
    };
    case.note(&format!("{lhs_batching:?} x {rhs_batching:?}, sums {lhs_contracting:?} x {rhs_contracting:?}"));
    vec![linalg::dot_general(&mut case.trace, lhs, rhs, &axes, None).unwrap()]
}

fn einsum(case: &mut Case) -> Vec<NodeId> {
    let equation =
        case.pick(&["ij,jk->ki", "bij,bjk->bik", "ii->i", "ij->ji", "ij,ij->", "bi,bj->bij", "iij->j", "ijij->ji"]);
    let sizes = [(); 4].map(|()| case.size(8));
    let (inputs, _) = equation.split_once("->").expect("an output");
    let mut operands = Vec::new();
    for indices in inputs.split(',') {
        let dims: Vec<i64> =
            indices.chars().map(|index| sizes["bijk".find(index).expect("one of four indices")]).collect();
        operands.push(case.operand(DType::F64, &dims));
    }
    case.note(equation);
    vec![linalg::einsum(&mut case.trace, equation, &operands).unwrap()]
}

/// Shape of a batch of square matrices.
fn square(case: &mut Case) -> Vec<i64> {
    let n = case.size(6);
    let mut dims = case.shape(0..=2, 12);
    dims.extend([n, n]);
    dims
}

/// Whether the element at a position in a batch of matrices is on a diagonal.
fn is_diagonal(position: usize, n: usize) -> bool {
    (position / n) % n == position % n
}

/// Of symmetric matrices whose diagonals exceed the sums of the other elements.
fn cholesky(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let dims = square(case);
    let n = dims[dims.len() - 1] as usize;
    let mut position = 0;
    let a = case.operand_of(DType::F64, &dims, |_| {
        let at = position;
        position += 1;
        let (row, column) = ((at / n) % n, at % n);
        if is_diagonal(at, n) { 3.0 * n as f64 + (at % 5) as f64 } else { ((row + column) % 4) as f64 - 1.0 }
    });
    let lower = case.random.coin();
    vec![linalg::cholesky(&mut case.trace, a, lower).unwrap()]
}

fn triangular_solve(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let mut dims = square(case);
    let rank = dims.len();
    let n = dims[rank - 1] as usize;
    let mut position = 0;
    let a = case.operand_of(DType::F64, &dims, |random| {
        let at = position;
        position += 1;
        if is_diagonal(at, n) { 2.0 + random.below(2) as f64 } else { random.below(3) as f64 - 1.0 }
    });
    let triangle = Triangle {
        left_side: case.random.coin(),
        lower: case.random.coin(),
        unit_diagonal: case.one_in(4),
        transposition: case.pick(&[Transposition::NoTranspose, Transposition::Transpose, Transposition::Adjoint]),
    };
    dims[rank - if triangle.left_side { 1 } else { 2 }] = case.size(8);
    let b = case.operand(DType::F64, &dims);
    case.note(&format!("{triangle:?}"));
    vec![linalg::triangular_solve(&mut case.trace, a, b, triangle).unwrap()]
}

fn fft(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let dims = case.shape(1..=3, 200);
    let count = case.between(1, dims.len() as i64) as usize;
    let op = case.pick(&[FftOp::Fft, FftOp::Ifft, FftOp::Rfft, FftOp::Irfft]);
    case.note(&format!("{op:?} of {count} axes"));
    let mut x = case.operand(DType::F64, &dims);
    if op != FftOp::Rfft {
        let imaginary = case.operand(DType::F64, &dims);
        x = elementwise::complex(&mut case.trace, x, imaginary).unwrap();
    }
    let mut lengths = linalg::fft_lengths(op, &case.trace.ty(x), count).unwrap();
    if op == FftOp::Irfft && dims[dims.len() - 1] == 1 {
        // One element is the transform of one real number.
        lengths[count - 1] = 1;
    }
    vec![linalg::fft(&mut case.trace, op, x, &lengths).unwrap()]
}
