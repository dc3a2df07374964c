//! Factorizations in the form of LAPACK's routines, which imported programs call.

use super::decomposition::{Matrices, QrAttributes};
use super::systems::inverse;
use crate::control::apply::{Applied, scan};
use crate::creation::constants::iota;
use crate::creation::masks::eye;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::record;
use crate::elementwise::functions::of_one::unary_function;
use crate::reduction::reduce::reduce;
use crate::shape::axes::{broadcast_to, transpose};
use crate::shape::rearrange::expand_dims;
use crate::shape::slicing::SliceAttributes;
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::{Body, NodeId, Op, ReduceOp, Trace, UnaryFunction, decode, take_closed_body};
use std::sync::Arc;

/// Records the QR factors of matrices `[..., m, n]` as `geqrf` returns them. With k the smaller of m and n: `q`
/// `[..., m, k]`, the packed factor `[..., m, n]`, which has r on and above its diagonal and below it the vectors of k
/// reflections, and their factors tau `[..., k]`. `q` and r have derivatives, the reflections have none.
pub fn reflectors(trace: &mut Trace, a: NodeId) -> Result<[NodeId; 3]> {
    let of = Matrices::of("geqrf", "a", &trace.ty(a))?;
    let (dtype, least) = (of.dtype, of.least());
    if dtype.is_float8() {
        return Err(error!(Unimplemented, "geqrf of {dtype}; want floats of 16 bits and more, or complex numbers"));
    }
    let results = [of.ty(dtype, &[of.rows, least]), of.ty(dtype, &[of.rows, of.columns]), of.ty(dtype, &[least])];
    let made = trace.application(Op::Qr, &[a], &QrAttributes { full: false, reflectors: true }, &[], &results);
    Ok(made.try_into().expect("three results"))
}

/// Records the first n columns of the product of k reflections, `[..., m, n]`: `orgqr` and `ungqr`. `packed` is
/// `[..., m, n]`, and has their vectors below the diagonal of its first k columns; `factors` are the tau `[..., k]`.
///
/// The product is `1 - v t v^H` with `t = (1 + d s)^-1 d`, where `d` is the diagonal matrix of tau, and `s` the part of
/// `v^H v` above the diagonal (Joffrain et al., "Accumulating Householder transformations, revisited", 2006).
pub fn householder_product(trace: &mut Trace, packed: NodeId, factors: NodeId) -> Result<NodeId> {
    let (ty, of_factors) = (trace.ty(packed), trace.ty(factors));
    let of = Matrices::of("orgqr", "a", &ty)?;
    let fits = match of_factors.dims[..] {
        [ref batch @ .., k] => batch == &of.batch[..] && k <= of.columns && of.columns <= of.rows,
        [] => false,
    };
    if !fits || of_factors.dtype != of.dtype {
        return Err(error!(
            InvalidArgument,
            "tau: it is {of_factors}; a is {ty}, want a with at most as many columns as rows, and at most one factor \
             of its dtype for each column"
        ));
    }
    if let Some(q) = computed(trace, packed, factors, of.columns) {
        return Ok(q);
    }
    let k = of_factors.dims[of_factors.dims.len() - 1];
    let [ones, whole] = [k, of.columns].map(|columns| eye(trace, of.dtype, of.rows, columns, 0));
    let (ones, whole) = (ones?, whole?);
    record(trace, [packed, factors, ones, whole], |[packed, factors, ones, whole]| {
        let vectors = packed.columns(0, k).tril(-1) + ones;
        let tau = factors.as_column();
        let inner = tau * vectors.adjoint().at(vectors).triu(1);
        let right = tau * vectors.rows(0, of.columns).adjoint();
        whole - vectors.at(inner.solve(right, false, true))
    })
}

/// Returns the product of reflections that `geqrf` computed together with them, which has a derivative; None unless
/// `packed` and `factors` are its results, and the product has as many columns.
fn computed(trace: &mut Trace, packed: NodeId, factors: NodeId, columns: i64) -> Option<NodeId> {
    let made = result_of(trace, factors, 2)?;
    let node = trace.node(made);
    if node.op != Op::Qr || !decode::<QrAttributes>(trace.words(node)).reflectors {
        return None;
    }
    let (ty, node) = (trace.ty(packed), trace.node(packed));
    let source = match node.op {
        // The first columns of a wide factor.
        Op::Slice => {
            let SliceAttributes { starts, strides, .. } = decode(trace.words(node));
            let is_leading = starts.iter().all(|&start| start == 0) && strides.iter().all(|&stride| stride == 1);
            is_leading.then(|| trace.operands(node)[0])?
        }
        _ => packed,
    };
    let rows = |ty: &TensorType| ty.dims.iter().rev().skip(1).copied().collect::<Vec<i64>>();
    let is_whole = trace.ty(factors).dims.last() == Some(&columns) && rows(&trace.ty(source)) == rows(&ty);
    (is_whole && result_of(trace, source, 1)? == made).then(|| trace.result(made, 0, &ty))
}

/// The application of which a node is the result with this number.
fn result_of(trace: &Trace, id: NodeId, number: usize) -> Option<NodeId> {
    let node = trace.node(id);
    let is_it = node.op == Op::Result && decode::<usize>(trace.words(node)) == number;
    is_it.then(|| trace.operands(node)[0])
}

/// Records the permutation `[..., n]` of n rows that are exchanged in order: row i with row `pivots[i]`, from 0.
/// `pivots` is s32 `[..., k]`.
pub fn permutation_of_pivots(trace: &mut Trace, pivots: NodeId, n: i64) -> Result<NodeId> {
    let ty = trace.ty(pivots);
    let [ref batch @ .., count] = ty.dims[..] else {
        return Err(error!(InvalidArgument, "pivots: it is {ty}; want vectors in the last axis"));
    };
    if ty.dtype != DType::S32 || count > n {
        return Err(error!(InvalidArgument, "pivots: it is {ty}; want s32, at most {n} in the last axis"));
    }
    let of_rows: Vec<i64> = batch.iter().copied().chain([n]).collect();
    let rows = iota(trace, &TensorType::new(DType::S32, &[n]), 0)?;
    let start = broadcast_to(trace, rows, &of_rows)?;
    let last = batch.len();
    let axes: Vec<i64> = std::iter::once(last).chain(0..last).map(|axis| axis as i64).collect();
    let in_turn = transpose(trace, pivots, &axes)?;
    let places = iota(trace, &TensorType::new(DType::S32, &[count]), 0)?;
    let body = exchange(&of_rows)?;
    let body = Applied { body: &body, captures: &[] };
    Ok(scan(trace, &body, &[start], &[in_turn, places], count, false)?[0])
}

/// Body that exchanges in `rows`, s32 of the given shape, the elements of the last axis at `pivot` and at `place`.
fn exchange(of_rows: &[i64]) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let (last, n) = (of_rows.len() - 1, of_rows[of_rows.len() - 1]);
    let types = [of_rows, &of_rows[..last], &[]].map(|dims| TensorType::new(DType::S32, dims));
    let [rows, pivot, place] = types.map(|ty| trace.parameter(ty));
    let positions = iota(&mut trace, &TensorType::new(DType::S32, &[n]), 0)?;
    let pivots = expand_dims(&mut trace, pivot, &[-1])?;
    let exchanged = record(&mut trace, [rows, pivots, place, positions], |[rows, pivot, place, positions]| {
        let (at_pivot, at_place) = (positions.eq(pivot), positions.eq(place));
        let [of_pivot, of_place] =
            [at_pivot, at_place].map(|mask| mask.select(rows, 0i64).reduce(ReduceOp::Sum, &[last as i64], true));
        at_place.select(of_pivot, at_pivot.select(of_place, rows))
    })?;
    take_closed_body(&trace, &[rows, pivot, place], &[], &[exchanged])
}

/// Records `info` of `getrf` for its packed factors, s32 `[...]`: the number, from 1, of the first element of the
/// diagonal that is 0, and 0 if there is none.
pub fn first_zero_pivot(trace: &mut Trace, factors: NodeId) -> Result<NodeId> {
    let of = Matrices::of("getrf", "a", &trace.ty(factors))?;
    let least = of.least();
    let places = iota(trace, &TensorType::new(DType::S32, &[least]), 0)?;
    let none = of.rows.max(of.columns) + 1;
    record(trace, [factors, places], |[factors, places]| {
        let diagonal = factors.columns(0, least).rows(0, least).diagonal();
        let last = diagonal.ty().dims.len() as i64 - 1;
        let first = diagonal.eq(0.0).select(places + 1i64, none).reduce(ReduceOp::Min, &[last], false);
        first.gt(of.least()).select(0i64, first)
    })
}

/// Records `info` of an iteration, s32 without the last `axes` axes: 1 where a result has NaN, otherwise 0.
pub fn not_a_number(trace: &mut Trace, result: NodeId, axes: usize) -> Result<NodeId> {
    let rank = trace.ty(result).dims.len();
    let axes: Vec<i64> = (rank - axes..rank).map(|axis| axis as i64).collect();
    let is_nan = unary_function(trace, UnaryFunction::IsNan, result)?;
    let failed = reduce(trace, ReduceOp::Any, is_nan, &axes, false)?;
    Ok(convert(trace, failed, DType::S32))
}

/// Records the left eigenvectors of matrices with these right eigenvectors, as columns of norm 1: `u^H a = w u^H`. NaN
/// or infinite if the matrix has no basis of eigenvectors.
pub fn left_eigenvectors(trace: &mut Trace, right: NodeId) -> Result<NodeId> {
    let inverse = inverse(trace, right)?;
    record(trace, [inverse], |[inverse]| {
        let vectors = inverse.adjoint();
        let rows = vectors.ty().dims.len() as i64 - 2;
        let size = vectors.abs();
        // Scaled, so that squares are in range.
        let largest = size.reduce(ReduceOp::Max, &[rows], true);
        let scaled = size / largest;
        let norm = (scaled * scaled).reduce(ReduceOp::Sum, &[rows], true).sqrt() * largest;
        vectors / norm.convert(vectors.dtype())
    })
}

/// Records the eigenvalues of real Schur forms `[..., n, n]` as `gees` returns them: real and imaginary parts
/// `[..., n]`, of a pair the positive imaginary part first.
pub fn schur_eigenvalues(trace: &mut Trace, t: NodeId) -> Result<[NodeId; 2]> {
    let of = Matrices::square("gees", "a", &trace.ty(t))?;
    let real = diagonal(trace, t)?;
    if of.rows == 0 {
        return Ok([real, real]);
    }
    let n = of.rows;
    let imaginary = record(trace, [t], |[t]| {
        let above = t.rows(0, n - 1).columns(1, n).diagonal();
        let below = t.rows(1, n).columns(0, n - 1).diagonal();
        let root = above.abs().sqrt() * below.abs().sqrt();
        // The first row of a block has the positive root, the second one the negative root.
        root.padded_last(0, 1) - root.padded_last(1, 0)
    })?;
    Ok([real, imaginary])
}

/// Records the diagonals of square matrices.
pub fn diagonal(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    record(trace, [x], |[x]| x.diagonal())
}

/// Records the conjugate transposes of matrices.
pub fn adjoint(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    record(trace, [x], |[x]| x.adjoint())
}
