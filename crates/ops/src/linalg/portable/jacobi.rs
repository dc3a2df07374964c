//! Singular values and eigenvalues by one-sided Jacobi rotations (M. Hestenes, 1958): columns are rotated in pairs until
//! all are orthogonal. Pairs that have no column in common are rotated at once; a tournament of `n - 1` rounds brings
//! each pair together once in a sweep. Rotations leave the columns of a matrix `x v` and of `v`: the norms of the former
//! are the singular values, and both give vectors that are orthogonal to rounding.

use super::blocks::{columns, identities, largest, norms, row_numbers, scaled, sizes, total, with_batch, zeros};
use super::qr;
use crate::control::loops::repeat_while;
use crate::creation::constants::full;
use crate::elementwise::formula::{Expr, Formula, record};
use crate::indexing::along::take_along_axis;
use crate::shape::axes::broadcast_to;
use crate::shape::rearrange::{slice_axis, squeeze};
use crate::shape::slicing::{concatenate, pad_scalar};
use crate::sorting::sort::argsort;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{NodeId, ReduceOp, Trace};

/// Largest number of sweeps. Six to twelve are usual; the results of a matrix that needs more are NaN.
const SWEEPS: i64 = 40;

/// `u`, the singular values in descending order, and `vh`; `u` and `vh` are square if `full`.
pub fn svd(trace: &mut Trace, a: NodeId, full: bool) -> Result<[NodeId; 3]> {
    let (m, n) = sizes(trace, a);
    if m < n {
        let turned = record(trace, [a], |[a]| a.adjoint())?;
        let [v, values, uh] = svd(trace, turned, full)?;
        let f = Formula::new(trace);
        let [u, vh] = f.finish_all([f.operand(uh).adjoint(), f.operand(v).adjoint()])?;
        return Ok([u, values, vh]);
    }
    if n == 0 {
        let of_values = with_batch(trace, a, trace.node(a).dtype.real(), &[0]);
        let u = identities(trace, a, m, if full { m } else { 0 })?;
        return Ok([u, zeros(trace, &of_values)?, identities(trace, a, 0, 0)?]);
    }
    let (scaled, scale) = scaled(trace, a, 1.0..=1.0)?;
    let [q, r] = qr::qr(trace, scaled, full)?;
    let r = slice_axis(trace, r, -2, 0, n, 1)?;
    let (product, turn) = orthogonalized(trace, r, true)?;
    let lengths = lengths(trace, product)?;
    let order = ordered(trace, lengths, true)?;
    let lengths = take_along_axis(trace, lengths, order, -1)?;
    let product = columns_at(trace, product, order)?;
    let v = columns_at(trace, turn.expect("the rotations are returned"), order)?;
    let left = completed(trace, product, lengths)?;
    let head = columns(trace, q, 0, n)?;
    let u = record(trace, [head, left], |[head, left]| head.at(left))?;
    let u = if full && m > n {
        let rest = columns(trace, q, n, m)?;
        concatenate(trace, &[u, rest], -1)?
    } else {
        u
    };
    let f = Formula::new(trace);
    let [scale, u, lengths, v] = [scale, u, lengths, v].map(|node| f.operand(node));
    let of_values = squeezed(scale);
    let (v, phases) = with_real_row(v, 0);
    let u = if full && m > n {
        let ones = u.apply(|trace, u| ones(trace, u, m - n));
        u * phases.apply_with(ones, |trace, a, b| concatenate(trace, &[a, b], -1))
    } else {
        u * phases
    };
    f.finish_all([u + lost(scale, u), lengths * of_values, (v + lost(scale, v)).adjoint()])
}

/// The singular values in descending order.
pub fn singular_values(trace: &mut Trace, a: NodeId) -> Result<NodeId> {
    let (m, n) = sizes(trace, a);
    let a = if m < n { record(trace, [a], |[a]| a.adjoint())? } else { a };
    let n = m.min(n);
    if n == 0 {
        let of_values = with_batch(trace, a, trace.node(a).dtype.real(), &[0]);
        return zeros(trace, &of_values);
    }
    let (scaled, scale) = scaled(trace, a, 1.0..=1.0)?;
    let [_, r] = qr::qr(trace, scaled, false)?;
    let (product, _) = orthogonalized(trace, r, false)?;
    let lengths = lengths(trace, product)?;
    let order = ordered(trace, lengths, true)?;
    let lengths = take_along_axis(trace, lengths, order, -1)?;
    record(trace, [lengths, scale], |[lengths, scale]| lengths * squeezed(scale))
}

/// The eigenvalues of Hermitian matrices in ascending order, and their vectors. A multiple of the identity makes the
/// matrices positive semidefinite, so that their singular vectors are their eigenvectors; the eigenvalues are the
/// Rayleigh quotients of these, whose errors do not grow by the multiple.
pub fn eigh(trace: &mut Trace, a: NodeId, lower: bool) -> Result<[NodeId; 2]> {
    let (n, _) = sizes(trace, a);
    if n == 0 {
        let of_values = with_batch(trace, a, trace.node(a).dtype.real(), &[0]);
        return Ok([zeros(trace, &of_values)?, a]);
    }
    let hermitian = record(trace, [a], |[a]| {
        let triangle = if lower { a.tril(-1) } else { a.triu(1) };
        let diagonal = a.on_diagonal().select(a.real_part(), 0.0).convert(a.dtype());
        triangle + triangle.adjoint() + diagonal
    })?;
    let (scaled, scale) = scaled(trace, hermitian, 1.0..=1.0)?;
    let shifted = record(trace, [scaled], |[a]| {
        let bound = largest(total(a.abs(), 0), 1);
        a + a.on_diagonal().select(bound, 0.0).convert(a.dtype())
    })?;
    let (_, turn) = orthogonalized(trace, shifted, true)?;
    let vectors = turn.expect("the rotations are returned");
    let values = record(trace, [scaled, vectors], |[a, v]| {
        let quotients = total(v.conjugate() * a.at(v), 1).real_part();
        quotients.apply(|trace, x| squeeze(trace, x, &[-2]))
    })?;
    let order = ordered(trace, values, false)?;
    let values = take_along_axis(trace, values, order, -1)?;
    let vectors = columns_at(trace, vectors, order)?;
    let f = Formula::new(trace);
    let [scale, values, vectors] = [scale, values, vectors].map(|node| f.operand(node));
    let (vectors, _) = with_real_row(vectors, if lower { 0 } else { n - 1 });
    f.finish_all([values * squeezed(scale), vectors + lost(scale, vectors)])
}

/// Columns of complex numbers times phases that make the elements of a row real, and the phases, as a row. LAPACK's
/// reductions to real bidiagonal and tridiagonal matrices leave such vectors.
fn with_real_row<'f>(x: Expr<'f>, row: i64) -> (Expr<'f>, Expr<'f>) {
    let elements = x.apply(|trace, x| slice_axis(trace, x, -2, row, row + 1, 1));
    if !x.is_complex() {
        return (x, elements * 0.0 + 1.0);
    }
    let (sizes, floor) = (elements.abs(), if x.is_double() { 1e-290 } else { 1e-30 });
    let has_phase = sizes.gt(floor);
    let phases = has_phase.select(elements.conjugate() / has_phase.select(sizes, 1.0).convert(x.dtype()), 1.0);
    let here = row_numbers(x).eq(row) & has_phase;
    (here.select(sizes.convert(x.dtype()), x * phases), phases)
}

/// A row of ones in a batch.
fn ones(trace: &mut Trace, like: NodeId, count: i64) -> Result<NodeId> {
    let ty = with_batch(trace, like, trace.node(like).dtype, &[1, count]);
    full(trace, &ty, ScalarValue::Float(1.0))
}

/// The pseudoinverse. Singular values up to `tolerance` times the largest one count as 0.
pub fn pinv(trace: &mut Trace, a: NodeId, tolerance: f64) -> Result<NodeId> {
    let (m, n) = sizes(trace, a);
    if m.min(n) == 0 {
        let ty = with_batch(trace, a, trace.node(a).dtype, &[n, m]);
        return zeros(trace, &ty);
    }
    let [u, values, vh] = svd(trace, a, false)?;
    record(trace, [u, values, vh], |[u, values, vh]| {
        let counts = values.gt(largest(values, 0) * tolerance);
        let inverses = counts.select(1.0 / counts.select(values, 1.0), values * 0.0);
        (vh.adjoint() * inverses.as_row().convert(u.dtype())).at(u.adjoint())
    })
}

/// 0, or NaN for matrices whose scale is NaN, in the dtype of `like`.
fn lost<'f>(scale: Expr<'f>, like: Expr<'f>) -> Expr<'f> {
    scale.ne(scale).select(f64::NAN, scale * 0.0).convert(like.dtype())
}

/// Values of matrices of one element, as vectors of one element.
fn squeezed(x: Expr<'_>) -> Expr<'_> {
    x.apply(|trace, x| squeeze(trace, x, &[-2]))
}

/// The Euclidean norms of columns, as vectors.
fn lengths(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    record(trace, [x], |[x]| squeezed(norms(x)))
}

fn ordered(trace: &mut Trace, values: NodeId, descending: bool) -> Result<NodeId> {
    argsort(trace, values, -1, descending, true, DType::S32)
}

/// Columns in an order.
fn columns_at(trace: &mut Trace, x: NodeId, order: NodeId) -> Result<NodeId> {
    let dims = trace.ty(x).dims;
    let order = record(trace, [order], |[order]| order.as_row())?;
    let order = broadcast_to(trace, order, &dims)?;
    take_along_axis(trace, x, order, -1)
}

/// Orthogonal columns divided by their norms. Columns without a norm become any that make the matrices unitary: those of
/// a QR factorization, whose other columns are the same but for their signs.
fn completed(trace: &mut Trace, x: NodeId, lengths: NodeId) -> Result<NodeId> {
    let normalized = record(trace, [x, lengths], |[x, lengths]| {
        let lengths = lengths.as_row();
        // Smaller columns may not be orthogonal (see `rotated_pairs`).
        let least = largest(lengths, 0) * if x.is_double() { 1e-60 } else { 1e-18 };
        let counts = lengths.gt(least);
        counts.select(x / counts.select(lengths, 1.0).convert(x.dtype()), 0.0)
    })?;
    let [q, r] = qr::qr(trace, normalized, false)?;
    record(trace, [q, r], |[q, r]| {
        let signs = r.diagonal().real_part().lt(0.0).select(-1.0, r.diagonal().real_part() * 0.0 + 1.0);
        q * signs.as_row().convert(q.dtype())
    })
}

/// Rotates the columns of square matrices of elements up to 1 until they are orthogonal. Returns the matrices, and the
/// product of the rotations if `with_turn`.
fn orthogonalized(trace: &mut Trace, x: NodeId, with_turn: bool) -> Result<(NodeId, Option<NodeId>)> {
    let (n, _) = sizes(trace, x);
    if n == 1 {
        return Ok((x, if with_turn { Some(identities(trace, x, 1, 1)?) } else { None }));
    }
    // The matrix and the rotations are rotated together. A column of zeros makes the number of columns even.
    let one = identities(trace, x, n, n)?;
    let both = if with_turn { concatenate(trace, &[x, one], -2)? } else { x };
    let rank = trace.ty(both).dims.len();
    let mut high = vec![0; rank];
    high[rank - 1] = n % 2;
    let both = pad_scalar(trace, both, ScalarValue::Unsigned(0), &vec![0; rank], &high, &vec![0; rank])?;
    let half = (n + n % 2) / 2;
    let (left, right) = (columns(trace, both, 0, half)?, columns(trace, both, half, 2 * half)?);
    let [left, right] = swept(trace, [left, right], n, SWEEPS)?;
    let turned = concatenate(trace, &[left, right], -1)?;
    let turned = columns(trace, turned, 0, n)?;
    let product = slice_axis(trace, turned, -2, 0, n, 1)?;
    let turn = if with_turn { Some(slice_axis(trace, turned, -2, n, 2 * n, 1)?) } else { None };
    Ok((product, turn))
}

/// Sweeps until no pair of columns was rotated in a sweep. Column i of the left half meets column i of the right half in
/// each round; after `rounds` rounds all columns are where they were. Matrices of which a pair was rotated in the last of
/// the most sweeps become NaN.
pub fn swept(trace: &mut Trace, halves: [NodeId; 2], n: i64, most: i64) -> Result<[NodeId; 2]> {
    let half = sizes(trace, halves[0]).1;
    let rounds = 2 * half - 1;
    let round = full(trace, &TensorType::new(DType::S32, &[]), ScalarValue::Signed(0))?;
    let goes_on = full(trace, &TensorType::new(DType::Pred, &[]), ScalarValue::Unsigned(1))?;
    let of_each = with_batch(trace, halves[0], DType::Pred, &[1, 1]);
    let (rotated, failed) = (zeros(trace, &of_each)?, zeros(trace, &of_each)?);
    let step = |trace: &mut Trace, carried: &[NodeId], _: &[NodeId]| {
        let f = Formula::new(trace);
        let [left, right, round, rotated, failed] = [0, 1, 2, 3, 4].map(|i| f.operand(carried[i]));
        let (left, right, now) = rotated_pairs(left, right, n);
        let rotated = rotated | now;
        let is_end = (round % rounds).eq(rounds - 1);
        let axes: Vec<i64> = (0..rotated.ty().dims.len() as i64).collect();
        let any = rotated.reduce(ReduceOp::Any, &axes, false);
        let goes_on = !is_end | (any & round.lt(rounds * most - 1));
        let (next, failed) = (round + 1i64, is_end.select(rotated, failed));
        let made = f.finish_all([left, right, next, rotated & !is_end, failed, goes_on])?;
        let [left, right] = moved(trace, made[0], made[1])?;
        Ok([&[left, right], &made[2..]].concat())
    };
    let carried = [halves[0], halves[1], round, rotated, failed, goes_on];
    let made = repeat_while(trace, &carried, &[], |_, carried, _| Ok(carried[5]), step)?;
    let f = Formula::new(trace);
    let failed = f.operand(made[4]);
    f.finish_all([made[0], made[1]].map(|half| failed.select(f64::NAN, f.operand(half))))
}

/// The places of the next round: the first column stays, and the others move on in a circle.
fn moved(trace: &mut Trace, left: NodeId, right: NodeId) -> Result<[NodeId; 2]> {
    let half = sizes(trace, left).1;
    if half == 1 {
        return Ok([left, right]);
    }
    let first = columns(trace, left, 0, 1)?;
    let second = columns(trace, right, 0, 1)?;
    let stay = columns(trace, left, 1, half - 1)?;
    let last = columns(trace, left, half - 1, half)?;
    let rest = columns(trace, right, 1, half)?;
    Ok([concatenate(trace, &[first, second, stay], -1)?, concatenate(trace, &[rest, last], -1)?])
}

/// Rotates pairs of columns so that their first `n` rows are orthogonal. Also returns for each matrix whether a pair was
/// not.
fn rotated_pairs<'f>(left: Expr<'f>, right: Expr<'f>, n: i64) -> (Expr<'f>, Expr<'f>, Expr<'f>) {
    let dtype = left.dtype();
    let top = |x: Expr<'f>| x.apply(|trace, x| slice_axis(trace, x, -2, 0, n, 1));
    let (p, q) = (top(left), top(right));
    let squares = |x: Expr<'f>| total((x.conjugate() * x).real_part(), 1);
    let (pp, qq, pq) = (squares(p), squares(q), total(p.conjugate() * q, 1));
    let size = pq.abs();
    // Smaller products count as 0. Of columns that depend on each other, each keeps only rounding errors of the one
    // before: in f64, they would need more sweeps than there are to come to the least number.
    let (epsilon, floor) = if left.is_double() { (f64::EPSILON, 1e-80) } else { (f64::from(f32::EPSILON), 1e-30) };
    let limit = pp.sqrt() * qq.sqrt() * (2.0 * epsilon * (n as f64).sqrt());
    let rotates = size.gt(limit.max(floor));
    let safe = rotates.select(size, 1.0);
    // The tangent of the smaller angle that makes the product 0 (H. Rutishauser, 1966).
    let cotangent = (qq - pp) / (safe * 2.0);
    let near = 1.0 / (cotangent.abs() + size_with_one(cotangent));
    let tangent = rotates.select(cotangent.lt(0.0).select(-near, near), 0.0);
    let cosine = 1.0 / size_with_one(tangent);
    let sine = tangent * cosine;
    let phase = match left.is_complex() {
        true => rotates.select(pq.conjugate() / safe.convert(dtype), 1.0),
        false => rotates.select(pq.lt(0.0).select(-1.0, pq * 0.0 + 1.0), 1.0),
    };
    // With the tangent of half the angle, rounding errors are in proportion to the angle: those of many small rotations
    // do not add up.
    let (half, sine) = ((sine / (cosine + 1.0)).convert(dtype), sine.convert(dtype));
    let right = right * phase;
    let rotated = (left - (right + left * half) * sine, right + (left - right * half) * sine);
    let last = rotates.ty().dims.len() as i64 - 1;
    (rotated.0, rotated.1, rotates.reduce(ReduceOp::Any, &[last - 1, last], true))
}

/// `sqrt(1 + x^2)`, also where the square overflows.
fn size_with_one(x: Expr<'_>) -> Expr<'_> {
    let size = x.abs();
    let limit = 1e9;
    size.gt(limit).select(size, (size.min(limit) * size.min(limit) + 1.0).sqrt())
}
