//! Derivatives of contractions, factorizations and Fourier transforms.

use super::dot_general::{DotAxes, DotGeneralAttributes};
use super::factorization::CholeskyAttributes;
use super::fourier::FftAttributes;
use crate::creation::constants::iota;
use crate::creation::masks::{tril, triu};
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::compare_select::compare_scalar;
use crate::elementwise::complex::{complex, imag, real};
use crate::elementwise::convert::convert;
use crate::elementwise::functions::of_one::unary_function;
use crate::elementwise::unary::unary;
use crate::infer::places_dtype;
use crate::linalg::dot_general::{dot_general, dot_general_with};
use crate::linalg::factorization::triangular_solve;
use crate::linalg::fourier::fft;
use crate::linalg::matmul::matmul;
use crate::rules::Site;
use crate::shape::axes::{broadcast_to, transpose};
use crate::shape::slicing::pad_scalar;
use crate::tangents::{sum_dtype, to_operand};
use base::error::Result;
use base::types::{Axes, Kind, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, FftOp, NodeId, Precision, Trace, Transposition, UnaryFunction, UnaryOp};
use native::Triangle;

/// Tangent of a dot_general: the same product with the tangent in place of the operand.
pub fn dot_general_jvp(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let attributes: DotGeneralAttributes = site.attributes();
    let mut factors = [site.operands[0], site.operands[1]];
    factors[operand] = tangent;
    let dtype = site.ty.dtype;
    dot_general_with(site.trace, factors[0], factors[1], &axes(&attributes), Some(dtype), attributes.precision)
        .map(Some)
}

/// Cotangent of an operand of a dot_general: the cotangent of the result, contracted with the other operand over the
/// axes that are free in the other operand.
pub fn dot_general_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let attributes: DotGeneralAttributes = site.attributes();
    let other = site.operands[1 - operand];
    let (own_ty, other_ty) = (site.operand_ty(operand), site.operand_ty(1 - operand));
    let mut sides = [
        (&attributes.lhs_batching[..], &attributes.lhs_contracting[..]),
        (&attributes.rhs_batching[..], &attributes.rhs_contracting[..]),
    ];
    sides.swap(0, operand);
    let [(own_batching, own_contracting), (other_batching, other_contracting)] = sides;
    let own_free = free(&own_ty, own_batching, own_contracting);
    let other_free = free(&other_ty, other_batching, other_contracting);

    // The result has the batching axes, then the free axes of lhs, then those of rhs.
    let batches = own_batching.len();
    let batching: Vec<i64> = (0..batches as i64).collect();
    let first = if operand == 0 { batches + own_free.len() } else { batches };
    let contracting: Vec<i64> = (first..first + other_free.len()).map(|axis| axis as i64).collect();
    // Contracting axes are in the order that they have in the other operand.
    let mut pairs: Vec<(i64, i64)> = other_contracting.iter().copied().zip(own_contracting.iter().copied()).collect();
    pairs.sort_unstable();
    let contracted = pairs.into_iter().map(|(_, own)| own);
    let batched = own_batching.iter().copied();
    // The order of the factors is chosen such that the gradients of plain matrices need no transpose: the cotangent
    // takes the position of the operand that is free in the gradient.
    let (gradient, places): (NodeId, Vec<i64>) = if operand == 0 {
        let axes = DotAxes {
            lhs_batching: &batching,
            rhs_batching: other_batching,
            lhs_contracting: &contracting,
            rhs_contracting: &other_free,
        };
        let gradient = dot_general_with(site.trace, cotangent, other, &axes, None, attributes.precision)?;
        (gradient, batched.chain(own_free).chain(contracted).collect())
    } else {
        let axes = DotAxes {
            lhs_batching: other_batching,
            rhs_batching: &batching,
            lhs_contracting: &other_free,
            rhs_contracting: &contracting,
        };
        let gradient = dot_general_with(site.trace, other, cotangent, &axes, None, attributes.precision)?;
        (gradient, batched.chain(contracted).chain(own_free).collect())
    };
    let gradient = transpose(site.trace, gradient, &inverse(&places))?;
    to_operand(site.trace, gradient, &own_ty).map(Some)
}

fn axes(attributes: &DotGeneralAttributes) -> DotAxes<'_> {
    DotAxes {
        lhs_batching: &attributes.lhs_batching,
        rhs_batching: &attributes.rhs_batching,
        lhs_contracting: &attributes.lhs_contracting,
        rhs_contracting: &attributes.rhs_contracting,
    }
}

/// Axes that are neither batching nor contracting, ascending.
fn free(ty: &TensorType, batching: &[i64], contracting: &[i64]) -> Vec<i64> {
    (0..ty.dims.len() as i64).filter(|axis| !batching.contains(axis) && !contracting.contains(axis)).collect()
}

/// The inverse of a permutation.
pub fn inverse(permutation: &[i64]) -> Vec<i64> {
    let mut inverse = vec![0; permutation.len()];
    for (i, &axis) in permutation.iter().enumerate() {
        inverse[axis as usize] = i as i64;
    }
    inverse
}

/// Tangent of a Cholesky factor: `L phi(L^-1 dA L^-H)` for `A = L L^H`, and `phi(U^-H dA U^-1) U` for `A = U^H U`,
/// where `phi` takes the triangle of the factor and halves the diagonal. The operation reads one triangle of its
/// operand, and only the real parts of the diagonal; `dA` is the Hermitian matrix with that triangle of the tangent.
/// 8-bit and 16-bit floats are computed in f32.
pub fn cholesky_jvp(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Option<NodeId>> {
    let Some(tangent) = tangents[0] else { return Ok(None) };
    let CholeskyAttributes { lower } = site.attributes();
    let (dtype, factor) = (site.ty.dtype, site.result());
    let trace = &mut *site.trace;
    let [factor, tangent] = [factor, tangent].map(|id| convert(trace, id, sum_dtype(dtype)));
    let half = half_diagonal(trace, tangent, lower)?;
    let other = adjoint(trace, half)?;
    let change = binary(trace, BinaryOp::Add, half, other)?;
    let transposed = if dtype.kind() == Kind::Complex { Transposition::Adjoint } else { Transposition::Transpose };
    let solver = |left_side: bool| Triangle {
        left_side,
        lower,
        unit_diagonal: false,
        transposition: if left_side == lower { Transposition::NoTranspose } else { transposed },
    };
    let change = triangular_solve(trace, factor, change, solver(true))?;
    let change = triangular_solve(trace, factor, change, solver(false))?;
    let change = half_diagonal(trace, change, lower)?;
    let result = if lower { product(trace, factor, change, [1, 0])? } else { product(trace, change, factor, [1, 0])? };
    Ok(Some(convert(trace, result, dtype)))
}

/// Records a triangle of matrices with half of the diagonal.
pub(super) fn half_diagonal(trace: &mut Trace, x: NodeId, lower: bool) -> Result<NodeId> {
    let [whole, strict] =
        if lower { [tril(trace, x, 0)?, tril(trace, x, -1)?] } else { [triu(trace, x, 0)?, triu(trace, x, 1)?] };
    let sum = binary(trace, BinaryOp::Add, whole, strict)?;
    binary_scalar(trace, BinaryOp::Multiply, sum, ScalarValue::Float(0.5), false)
}

/// Tangent of the solution of `op(a) x = b`: `op(a)^-1 db` by `b`, and `-op(a)^-1 op(da) x` by `a`, where `da` is the
/// triangle of the tangent that the operation reads. The same from the right.
pub fn triangular_solve_jvp(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let triangle: Triangle = site.attributes();
    let (dtype, a) = (site.ty.dtype, site.operands[0]);
    if operand == 1 {
        return triangular_solve(site.trace, a, tangent, triangle).map(Some);
    }
    let x = site.result();
    let trace = &mut *site.trace;
    let [a, x, tangent] = [a, x, tangent].map(|id| convert(trace, id, sum_dtype(dtype)));
    let change = triangle_read(trace, tangent, triangle)?;
    let change = with_transposition(trace, change, triangle.transposition)?;
    let change =
        if triangle.left_side { product(trace, change, x, [1, 0])? } else { product(trace, x, change, [1, 0])? };
    let change = unary(trace, UnaryOp::Negate, change)?;
    let result = triangular_solve(trace, a, change, triangle)?;
    Ok(Some(convert(trace, result, dtype)))
}

/// Cotangents of `op(a) x = b`. The cotangent of `b` solves the transposed system. The cotangent of `op(a)` is
/// `-cotangent(b) x^T`, or `-x^T cotangent(b)` for a solve from the right; `a` gets the triangle that the operation
/// reads.
pub fn triangular_solve_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let triangle: Triangle = site.attributes();
    let (dtype, a, x) = (site.ty.dtype, site.operands[0], site.result());
    let ty = site.operand_ty(operand);
    let trace = &mut *site.trace;
    if operand == 1 {
        let of_b = solve_transposed(trace, a, cotangent, triangle)?;
        return to_operand(trace, of_b, &ty).map(Some);
    }
    let [a, x, cotangent] = [a, x, cotangent].map(|id| convert(trace, id, sum_dtype(dtype)));
    let of_b = solve_transposed(trace, a, cotangent, triangle)?;
    let of_a = if triangle.left_side { product(trace, of_b, x, [1, 1])? } else { product(trace, x, of_b, [0, 0])? };
    let of_a = with_transposition(trace, of_a, triangle.transposition)?;
    let of_a = triangle_read(trace, of_a, triangle)?;
    let of_a = unary(trace, UnaryOp::Negate, of_a)?;
    to_operand(trace, of_a, &ty).map(Some)
}

/// Records the solution of a system with the transposed matrix, without conjugation: `(a^H)^T` is the conjugate of `a`.
fn solve_transposed(trace: &mut Trace, a: NodeId, b: NodeId, triangle: Triangle) -> Result<NodeId> {
    let (a, transposition) = match triangle.transposition {
        Transposition::NoTranspose => (a, Transposition::Transpose),
        Transposition::Transpose => (a, Transposition::NoTranspose),
        Transposition::Adjoint => (conjugate(trace, a)?, Transposition::NoTranspose),
    };
    triangular_solve(trace, a, b, Triangle { transposition, ..triangle })
}

/// Records the triangle of `x` that a triangular solve reads, with 0 elsewhere.
fn triangle_read(trace: &mut Trace, x: NodeId, triangle: Triangle) -> Result<NodeId> {
    let inside = i64::from(triangle.unit_diagonal);
    if triangle.lower { tril(trace, x, -inside) } else { triu(trace, x, inside) }
}

fn with_transposition(trace: &mut Trace, x: NodeId, transposition: Transposition) -> Result<NodeId> {
    match transposition {
        Transposition::NoTranspose => Ok(x),
        Transposition::Transpose => transposed(trace, x),
        Transposition::Adjoint => adjoint(trace, x),
    }
}

pub(super) fn conjugate(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    unary_function(trace, UnaryFunction::Conj, x)
}

pub(super) fn transposed(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let mut order: Vec<i64> = (0..trace.ty(x).dims.len() as i64).collect();
    let rank = order.len();
    order.swap(rank - 2, rank - 1);
    transpose(trace, x, &order)
}

pub(super) fn adjoint(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let x = transposed(trace, x)?;
    conjugate(trace, x)
}

/// Records the products of matrices with the same batch axes. `contracted` states for each factor whether its rows (0)
/// or its columns (1) are contracted. They are parts of factorizations, and lose nothing, whatever the environment's
/// option says.
pub(super) fn product(trace: &mut Trace, lhs: NodeId, rhs: NodeId, contracted: [i64; 2]) -> Result<NodeId> {
    let batch = trace.ty(lhs).dims.len() as i64 - 2;
    let batching: Vec<i64> = (0..batch).collect();
    let axes = DotAxes {
        lhs_batching: &batching,
        rhs_batching: &batching,
        lhs_contracting: &[batch + contracted[0]],
        rhs_contracting: &[batch + contracted[1]],
    };
    dot_general_with(trace, lhs, rhs, &axes, None, Some(Precision::HIGHEST))
}

/// Tangent of a Fourier transform: the transform of the tangent.
pub fn fft_jvp(site: &mut Site, _: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let FftAttributes { op, lengths } = site.attributes();
    fft(site.trace, op, tangent, &lengths).map(Some)
}

/// Transpose of a Fourier transform. The matrices of FFT and IFFT are symmetric. RFFT is the first half of the FFT of
/// real numbers: its transpose pads the half with zeros, and takes the real part of the FFT. In IRFFT each element of
/// the half except the first and the middle one represents two, itself and its conjugate: the transpose is the
/// conjugate of the RFFT, divided by the number of elements, with the elements doubled that represent two.
pub fn fft_vjp(site: &mut Site, _: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let FftAttributes { op, lengths } = site.attributes();
    let trace = &mut *site.trace;
    let length = *lengths.last().expect("a transformed axis");
    match op {
        FftOp::Fft | FftOp::Ifft => fft(trace, op, cotangent, &lengths).map(Some),
        FftOp::Rfft => {
            let dims = trace.ty(cotangent).dims;
            let (none, mut high) = (vec![0; dims.len()], vec![0; dims.len()]);
            high[dims.len() - 1] = length - dims[dims.len() - 1];
            let whole = pad_scalar(trace, cotangent, ScalarValue::Unsigned(0), &none, &high, &none)?;
            let transform = fft(trace, FftOp::Fft, whole, &lengths)?;
            real(trace, transform).map(Some)
        }
        FftOp::Irfft => {
            let half = fft(trace, FftOp::Rfft, cotangent, &lengths)?;
            let weights = irfft_weights(trace, half, &lengths)?;
            let (re, im) = (real(trace, half)?, imag(trace, half)?);
            let re = binary(trace, BinaryOp::Multiply, re, weights)?;
            let im = binary(trace, BinaryOp::Multiply, im, weights)?;
            let im = unary(trace, UnaryOp::Negate, im)?;
            complex(trace, re, im).map(Some)
        }
    }
}

/// Records, for each element of the last axis of a half spectrum, the number of elements that it represents, divided by
/// the number of elements of the transform.
fn irfft_weights(trace: &mut Trace, half: NodeId, lengths: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(half);
    let (size, length) = (ty.dims[ty.dims.len() - 1], lengths[lengths.len() - 1]);
    let scale = 1.0 / lengths.iter().map(|&length| length as f64).product::<f64>();
    let place = iota(trace, &TensorType::new(places_dtype(length), &[size]), 0)?;
    let behind_first = compare_scalar(trace, CompareOp::Gt, place, ScalarValue::Signed(0), false)?;
    let middle = ScalarValue::Signed(length / 2 + length % 2);
    let before_middle = compare_scalar(trace, CompareOp::Lt, place, middle, false)?;
    let is_doubled = binary(trace, BinaryOp::And, behind_first, before_middle)?;
    let more = convert(trace, is_doubled, ty.dtype.real());
    let count = binary_scalar(trace, BinaryOp::Add, more, ScalarValue::Float(1.0), false)?;
    binary_scalar(trace, BinaryOp::Multiply, count, ScalarValue::Float(scale), false)
}

/// Tangent of a matrix product by one factor.
pub fn matmul_jvp(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let mut factors = [site.operands[0], site.operands[1]];
    factors[operand] = tangent;
    matmul(site.trace, factors[0], factors[1]).map(Some)
}

/// Cotangent of one factor of a matrix product: a product with the transposed other factor. For vectors and broadcast
/// batch axes, it is computed by the expansion into a dot product, which sums over these axes.
pub fn matmul_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let (lhs, rhs) = (site.operands[0], site.operands[1]);
    let (l, r) = (site.trace.ty(lhs), site.trace.ty(rhs));
    let rank = l.dims.len();
    let is_plain = rank >= 2 && r.dims.len() == rank && l.dims[..rank - 2] == r.dims[..rank - 2];
    if !is_plain {
        return expanded_vjp(site, operand, cotangent);
    }
    let (product, ty) = if operand == 0 {
        let other = matrix_transposed(site.trace, rhs)?;
        (matmul(site.trace, cotangent, other)?, l)
    } else {
        let other = matrix_transposed(site.trace, lhs)?;
        (matmul(site.trace, other, cotangent)?, r)
    };
    to_operand(site.trace, product, &ty).map(Some)
}

/// Records `x` with its last two axes exchanged.
fn matrix_transposed(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let rank = trace.ty(x).dims.len();
    let mut order: Axes = (0..rank as i64).collect();
    order.swap(rank - 2, rank - 1);
    transpose(trace, x, &order)
}

/// Records the cotangent of one factor, by the rules of the operations of the expansion.
fn expanded_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let (first, given, transforms) = (NodeId(site.trace.len() as u32), site.operands.clone(), site.transforms);
    // The whole cotangent would arrive at both factors of a vector times itself, which are one node.
    if given[0] == given[1] {
        let (axes, ty) = (DotAxes::NONE, site.operand_ty(operand));
        let product = dot_general(site.trace, cotangent, given[0], &axes, None)?;
        return to_operand(site.trace, product, &ty).map(Some);
    }
    let result = expand_matmul(site)?;
    let input = site.operands[operand];
    Ok(transforms.vjp_since(site.trace, &[(result, cotangent)], &[input], first)?.remove(0))
}

/// Records matmul as a dot_general. Batch axes are broadcast first if both operands have some. If only one operand has
/// batch axes, they are free axes, so that neither the other operand nor its cotangent is repeated for each element of
/// the batch.
pub fn expand_matmul(site: &mut Site) -> Result<NodeId> {
    let (mut lhs, mut rhs) = (site.operands[0], site.operands[1]);
    let (l_dims, r_dims) = (site.operand_ty(0).dims, site.operand_ty(1).dims);
    let (l_rank, r_rank) = (l_dims.len(), r_dims.len());
    let batch = if l_rank > 2 && r_rank > 2 { site.ty.dims.len() - 2 } else { 0 };
    let mut contracted = (l_rank - 1, r_rank.saturating_sub(2));
    if batch > 0 {
        let with_batch = |dims: &[i64]| [&site.ty.dims[..batch], &dims[dims.len() - 2..]].concat();
        let (l_dims, r_dims) = (with_batch(&l_dims), with_batch(&r_dims));
        lhs = broadcast_to(site.trace, lhs, &l_dims)?;
        rhs = broadcast_to(site.trace, rhs, &r_dims)?;
        contracted = (batch + 1, batch);
    }
    let batching: Vec<i64> = (0..batch as i64).collect();
    let axes = DotAxes {
        lhs_batching: &batching,
        rhs_batching: &batching,
        lhs_contracting: &[contracted.0 as i64],
        rhs_contracting: &[contracted.1 as i64],
    };
    let product = dot_general(site.trace, lhs, rhs, &axes, None)?;
    if l_rank != 2 || r_rank <= 2 {
        return Ok(product);
    }
    // In the result, the rows of lhs precede the batch axes of rhs.
    let mut order: Vec<i64> = (1..r_rank as i64).collect();
    order.insert(r_rank - 2, 0);
    transpose(site.trace, product, &order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::DType;

    #[test]
    fn permutations_are_inverted() {
        assert_eq!(inverse(&[2, 0, 1]), [1, 2, 0]);
        assert_eq!(inverse(&[]), [0i64; 0]);
    }

    #[test]
    fn free_axes_are_neither_batching_nor_contracting() {
        assert_eq!(free(&TensorType::new(DType::F32, &[2, 3, 4, 5]), &[2], &[0]), [1, 3]);
    }
}
