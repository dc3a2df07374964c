//! Derivatives and batching of the decompositions of matrices. The derivatives are JAX's: they are infinite or NaN, or
//! depend on the choice of the vectors, where eigenvalues or singular values meet. 16-bit floats are computed in f32.

use super::decomposition::{
    self, EighAttributes, LdlAttributes, Matrices, PinvAttributes, QrAttributes, SvdAttributes,
};
use super::derivative::{adjoint, half_diagonal};
use super::lapack;
use super::ldl;
use crate::creation::constants::full;
use crate::elementwise::binary::binary;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, Formula, record};
use crate::rules::{Forward, Mapped, Site, Tangent};
use crate::shape::slicing::pad_scalar;
use crate::tangents::{sum_dtype, zeros};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, NodeId, Op, ReduceOp, Trace};

/// Batches a decomposition: batch axes lead.
pub fn batch(site: &mut Site, _: &[bool], _: i64) -> Result<Vec<Mapped>> {
    let a = site.operands[0];
    let results = repeated(site, a)?;
    Ok(results.into_iter().map(|id| (id, true)).collect())
}

/// Records the decomposition of a site for another operand.
fn repeated(site: &mut Site, a: NodeId) -> Result<Vec<NodeId>> {
    Ok(match site.op {
        Op::Qr => match site.attributes() {
            QrAttributes { reflectors: true, .. } => lapack::reflectors(site.trace, a)?.to_vec(),
            QrAttributes { full, .. } => decomposition::qr(site.trace, a, full)?.to_vec(),
        },
        Op::Lu => decomposition::lu(site.trace, a)?.to_vec(),
        Op::Ldl => {
            let LdlAttributes { hermitian } = site.attributes();
            ldl::ldl(site.trace, a, hermitian)?.to_vec()
        }
        Op::Svd => match site.attributes() {
            SvdAttributes { vectors: false, .. } => vec![decomposition::singular_values(site.trace, a)?],
            SvdAttributes { full, .. } => decomposition::svd(site.trace, a, full)?.to_vec(),
        },
        Op::Eigh => {
            let EighAttributes { lower } = site.attributes();
            decomposition::eigh(site.trace, a, lower)?.to_vec()
        }
        Op::Eig => decomposition::eig(site.trace, a)?.to_vec(),
        // The operand has the dtype of the form.
        Op::Schur => decomposition::schur(site.trace, a, false)?.to_vec(),
        op => unreachable!("asked for {op:?}"),
    })
}

/// Batches a pseudoinverse.
pub fn batch_of_pinv(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let PinvAttributes { tolerance } = site.attributes();
    let a = site.operands[0];
    decomposition::pinv(site.trace, a, f64::from_bits(tolerance as u64))
}

/// Records the cotangent of the operand of a decomposition: the transpose of the forward rule, which is recorded with
/// zeros as the tangent. The rule is linear in the tangent, so its value does not matter.
pub fn vjp(site: &mut Site, cotangents: &[Tangent], wanted: &[bool]) -> Result<Vec<Tangent>> {
    if !wanted[0] {
        return Ok(vec![None]);
    }
    let ty = site.operand_ty(0);
    let cotangents = &of_reflectors(site, cotangents)?[..];
    let start = zeros(site.trace, &ty)?;
    let used = site.results.clone();
    // A rule may refuse the derivative of a result; those without a cotangent are not asked for.
    for (result, cotangent) in site.results.iter_mut().zip(cotangents) {
        *result = result.filter(|_| cotangent.is_some());
    }
    let made = match site.op {
        Op::Qr => qr_jvp(site, &[Some(start)]),
        Op::Lu => lu_jvp(site, &[Some(start)]),
        Op::Svd => svd_jvp(site, &[Some(start)]),
        Op::Eigh => eigh_jvp(site, &[Some(start)]),
        _ => eig_jvp(site, &[Some(start)]),
    };
    site.results = used;
    let pairs = made?.tangents.into_iter().zip(cotangents);
    let outputs: Vec<(NodeId, NodeId)> =
        pairs.filter_map(|(tangent, cotangent)| Some((tangent?, (*cotangent)?))).collect();
    let transforms = site.transforms;
    transforms.vjp(site.trace, &outputs, &[start])
}

/// The cotangents of a site, NaN for the factor of matrices of which a reflection has a cotangent that is not 0: these
/// have no derivative.
fn of_reflectors(site: &mut Site, cotangents: &[Tangent]) -> Result<Vec<Tangent>> {
    let mut made = cotangents.to_vec();
    if site.op != Op::Qr || !site.attributes::<QrAttributes>().reflectors {
        return Ok(made);
    }
    if let Some(Some(packed)) = made.get(1).copied() {
        made[1] = Some(record(site.trace, [packed], |[packed]| {
            let rank = packed.ty().dims.len() as i64;
            let on_reflections = packed.ne(0.0) & !packed.on_upper();
            let is_used = on_reflections.reduce(ReduceOp::Any, &[rank - 2, rank - 1], true);
            is_used.select(f64::NAN, packed)
        })?);
    }
    if let Some(factors) = made.get_mut(2).and_then(Option::take) {
        let packed = match made[1] {
            Some(packed) => packed,
            None => {
                let ty = site.operand_ty(0);
                zeros(site.trace, &ty)?
            }
        };
        made[1] = Some(record(site.trace, [packed, factors], |[packed, factors]| {
            let last = factors.ty().dims.len() as i64 - 1;
            let is_used = factors.as_column().ne(0.0).reduce(ReduceOp::Any, &[last, last + 1], true);
            is_used.select(f64::NAN, packed)
        })?);
    }
    Ok(made)
}

fn nan(trace: &mut Trace, ty: &TensorType) -> Result<NodeId> {
    full(trace, ty, ScalarValue::Float(f64::NAN))
}

/// Results of the decomposition of a site, recorded again if one of them is not used, and its tangent, all in the dtype
/// in which they are computed.
fn given<const N: usize>(site: &mut Site, tangent: NodeId) -> Result<([NodeId; N], NodeId)> {
    let a = site.operands[0];
    let results = match site.results.iter().copied().collect::<Option<Vec<NodeId>>>() {
        Some(results) if results.len() == N => results,
        _ => repeated(site, a)?,
    };
    let trace = &mut *site.trace;
    let wide = |trace: &mut Trace, id: NodeId| match trace.node(id).dtype {
        DType::S32 => id,
        dtype => convert(trace, id, sum_dtype(dtype)),
    };
    let tangent = wide(trace, tangent);
    let results: [NodeId; N] = results.try_into().expect("as many results as the operation has");
    Ok((results.map(|id| wide(trace, id)), tangent))
}

/// Tangents of the results, in the dtype of the operand.
fn finished<const N: usize>(site: &mut Site, tangents: [Option<NodeId>; N]) -> Result<Forward> {
    let dtype = site.operand_ty(0).dtype;
    let is_narrow = sum_dtype(dtype) != dtype;
    let mut narrow = |id: NodeId| if is_narrow { convert(site.trace, id, dtype) } else { id };
    let tangents = tangents.map(|tangent| tangent.map(&mut narrow));
    Ok(Forward { tangents: tangents[..site.results.len()].to_vec(), ..NONE })
}

const NONE: Forward = Forward { results: None, tangents: Vec::new() };

/// Tangents of the QR factors. With `dA R^-1 = dQ + Q dR R^-1` and `Q^H dQ` skew-Hermitian, the strictly lower triangle
/// of `Q^H dA R^-1` is that of `Q^H dQ`. Of a wide matrix, the square part on the left gives `dQ`.
pub fn qr_jvp(site: &mut Site, tangents: &[Tangent]) -> Result<Forward> {
    let Some(tangent) = tangents[0] else { return Ok(Forward { tangents: vec![None; site.results.len()], ..NONE }) };
    let QrAttributes { full, reflectors } = site.attributes();
    let of = Matrices::of("qr", "a", &site.operand_ty(0))?;
    if full && of.rows > of.columns {
        return Err(error!(
            Unimplemented,
            "qr with full 1 of {} rows and {} columns has no derivative: columns of q are arbitrary",
            of.rows,
            of.columns
        ));
    }
    let least = of.least();
    let ([q, r], tangent) = match reflectors {
        true => {
            let ([q, packed, _], tangent) = given::<3>(site, tangent)?;
            let r = record(site.trace, [packed], |[packed]| packed.rows(0, least).triu(0))?;
            ([q, r], tangent)
        }
        false => given::<2>(site, tangent)?,
    };
    let f = Formula::new(site.trace);
    let [q, r, change] = [q, r, tangent].map(|node| f.operand(node));
    let left = r.columns(0, least);
    let scaled = left.solve_from_right(change.columns(0, least));
    let inner = q.adjoint().at(scaled);
    let lower = inner.tril(-1);
    let mut turn = lower - lower.adjoint();
    if inner.is_complex() {
        let imaginary = inner - inner.real().convert(inner.dtype());
        turn = turn + inner.on_diagonal().select(imaginary, 0.0);
    }
    let of_q = q.at(turn - inner) + scaled;
    let of_r = q.adjoint().at(change - of_q.at(r)).triu(0);
    if reflectors {
        // The reflections below r, and their factors, have no derivative.
        let of_packed = of_r.padded(of.rows - least, 0);
        let made = f.finish_all([of_q, of_packed.on_upper().select(of_packed, f64::NAN)])?;
        let is_used = site.results.get(2).copied().flatten().is_some();
        let of_factors = match is_used {
            true => Some(nan(site.trace, &of.ty(sum_dtype(of.dtype), &[least]))?),
            false => None,
        };
        return finished(site, [Some(made[0]), Some(made[1]), of_factors]);
    }
    let made = f.finish_all([of_q, of_r])?;
    finished(site, made.map(Some))
}

/// Tangents of the LU factors, with the permutation fixed: `L^-1 P dA U^-1` has `L^-1 dL` below the diagonal, and
/// `dU U^-1` on and above it. The factors are completed to square matrices by the identity.
pub fn lu_jvp(site: &mut Site, tangents: &[Tangent]) -> Result<Forward> {
    let Some(tangent) = tangents[0] else { return Ok(Forward { tangents: vec![None; site.results.len()], ..NONE }) };
    let of = Matrices::of("lu", "a", &site.operand_ty(0))?;
    let ([lu, _, permutation], tangent) = given::<3>(site, tangent)?;
    let tangent = decomposition::permuted(site.trace, tangent, permutation)?;
    let f = Formula::new(site.trace);
    let [lu, change] = [lu, tangent].map(|node| f.operand(node));
    let (least, rows, columns) = (of.least(), of.rows, of.columns);
    let lower = lu.columns(0, least).tril(-1).padded(0, rows - least);
    let lower = lower + lower.identity();
    let rest = lu.rows(0, least).triu(0).padded(columns - least, 0);
    let upper = rest.on_diagonal_from(least).select(1.0, rest);
    let inner = upper.solve_from_right(lower.solve(change, true, true));
    let made = f.finish_all([lower.at(inner.tril(-1)) + inner.triu(0).at(upper)])?;
    finished(site, [Some(made[0]), None, None])
}

/// Tangents of the singular values, `diag(U^H dA V)`, and of the vectors.
pub fn svd_jvp(site: &mut Site, tangents: &[Tangent]) -> Result<Forward> {
    let Some(tangent) = tangents[0] else { return Ok(Forward { tangents: vec![None; site.results.len()], ..NONE }) };
    let SvdAttributes { full, vectors } = site.attributes();
    let of = Matrices::of("svd", "a", &site.operand_ty(0))?;
    if !vectors {
        let a = site.operands[0];
        let results = decomposition::svd(site.trace, a, false)?;
        let wide = |trace: &mut Trace, id: NodeId| {
            let dtype = sum_dtype(trace.node(id).dtype);
            convert(trace, id, dtype)
        };
        let [u, _, vh] = results.map(|id| wide(site.trace, id));
        let tangent = wide(site.trace, tangent);
        let f = Formula::new(site.trace);
        let [u, vh, change] = [u, vh, tangent].map(|node| f.operand(node));
        let of_values = f.finish(u.adjoint().at(change).at(vh.adjoint()).diagonal().real_part())?;
        return finished(site, [Some(of_values)]);
    }
    if full && of.rows != of.columns {
        return Err(error!(
            Unimplemented,
            "svd with full 1 of {} rows and {} columns has no derivative: vectors are arbitrary", of.rows, of.columns
        ));
    }
    let ([u, s, vh], tangent) = given::<3>(site, tangent)?;
    let f = Formula::new(site.trace);
    let made = f.finish_all(svd_change([u, s, vh, tangent].map(|node| f.operand(node))))?;
    finished(site, made.map(Some))
}

/// Tangents of `u`, `s` and `vh` for `a = u diag(s) vh` and a tangent of `a`.
fn svd_change<'f>([u, s, vh, change]: [Expr<'f>; 4]) -> [Expr<'f>; 3] {
    let (uh, v, dtype) = (u.adjoint(), vh.adjoint(), change.dtype());
    let inner = uh.at(change.at(v));
    let (row, column) = (s.as_row(), s.as_column());
    // In units of the larger one of two singular values, whose square may overflow or underflow.
    let larger = row.max(column);
    let unit = larger.eq(0.0).select(1.0, larger);
    let (row, column) = (row / unit, column / unit);
    let differences = (row + column) * (s.as_row() - s.as_column());
    let equal = differences.eq(0.0);
    let factor = equal.select(0.0, 1.0 / equal.select(1.0, differences)).convert(dtype);
    let (row, column, back) = (row.convert(dtype), column.convert(dtype), inner.adjoint());
    let zero = s.eq(0.0);
    let inverse = zero.select(0.0, 1.0 / zero.select(1.0, s)).as_row().convert(dtype);
    let of_phases = inner.on_diagonal().select((inner - inner.adjoint()) * 0.5 * inverse, 0.0);
    let mut of_u = u.at(factor * (inner * row + back * column) + of_phases);
    let mut of_v = v.at(factor * (inner * column + back * row));
    let (rows, columns) = (change.size_from_last(1), change.size_from_last(0));
    if rows > columns {
        let outer = change.at(v);
        of_u = of_u + (outer - u.at(uh.at(outer))) / s.as_row().convert(dtype);
    }
    if columns > rows {
        let outer = change.adjoint().at(u);
        of_v = of_v + (outer - v.at(vh.at(outer))) / s.as_row().convert(dtype);
    }
    [of_u, inner.diagonal().real_part(), of_v.adjoint()]
}

/// Tangents of the eigenvalues, `diag(V^H dA V)`, and of the eigenvectors of Hermitian matrices. `dA` is the Hermitian
/// matrix with the triangle of the tangent that the operation reads.
pub fn eigh_jvp(site: &mut Site, tangents: &[Tangent]) -> Result<Forward> {
    let Some(tangent) = tangents[0] else { return Ok(Forward { tangents: vec![None; site.results.len()], ..NONE }) };
    let EighAttributes { lower } = site.attributes();
    let ([w, v], tangent) = given::<2>(site, tangent)?;
    let half = half_diagonal(site.trace, tangent, lower)?;
    let other = adjoint(site.trace, half)?;
    let change = binary(site.trace, BinaryOp::Add, half, other)?;
    let f = Formula::new(site.trace);
    let [w, v, change] = [w, v, change].map(|node| f.operand(node));
    let inner = v.adjoint().at(change).at(v);
    let differences = w.as_row() - w.as_column();
    let off = inner.on_diagonal();
    let factor = off.select(0.0, 1.0 / off.select(1.0, differences)).convert(inner.dtype());
    let made = f.finish_all([inner.diagonal().real_part(), v.at(factor * inner)])?;
    finished(site, made.map(Some))
}

/// Tangents of the eigenvalues of square matrices, `diag(V^-1 dA V)`. There is none of the eigenvectors.
pub fn eig_jvp(site: &mut Site, tangents: &[Tangent]) -> Result<Forward> {
    let Some(tangent) = tangents[0] else { return Ok(Forward { tangents: vec![None; site.results.len()], ..NONE }) };
    if site.results.get(1).copied().flatten().is_some() {
        return Err(error!(Unimplemented, "eigenvectors of eig have no derivative; its eigenvalues have one"));
    }
    let ([_, v], tangent) = given::<2>(site, tangent)?;
    let f = Formula::new(site.trace);
    let change = f.operand(tangent).convert(f.operand(v).dtype());
    let moved = f.finish(change.at(f.operand(v)))?;
    let inner = super::systems::solve(site.trace, v, moved)?;
    let f = Formula::new(site.trace);
    let of_values = f.finish(f.operand(inner).diagonal())?;
    Ok(Forward { tangents: [Some(of_values), None][..site.results.len()].to_vec(), ..NONE })
}

/// Tangent of the pseudoinverse `P` (Golub and Pereyra, 1973), where the rank does not change:
/// `-P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P`.
pub fn pinv_jvp(site: &mut Site, tangents: &[Tangent]) -> Result<Tangent> {
    let Some(tangent) = tangents[0] else { return Ok(None) };
    let (a, p, dtype) = (site.operands[0], site.result(), site.ty.dtype);
    let f = Formula::new(site.trace);
    let [a, p, change] = [a, p, tangent].map(|node| f.operand(node).convert(sum_dtype(dtype)));
    let (ph, back) = (p.adjoint(), change.adjoint());
    let outside_rows = p.identity() - a.at(p);
    let outside_columns = a.identity() - p.at(a);
    // Not by the product of P and its adjoint, which may overflow where the whole does not.
    let of_rows = p.at(ph.at(back.at(outside_rows)));
    let of_columns = outside_columns.at(back).at(ph).at(p);
    let made = of_rows + of_columns - p.at(change).at(p);
    f.finish(made.convert(dtype)).map(Some)
}

/// Parts of matrices.
impl<'f> Expr<'f> {
    fn part(self, axis: i64, start: i64, stop: i64) -> Expr<'f> {
        self.apply(|trace, x| crate::shape::rearrange::slice_axis(trace, x, axis, start, stop, 1))
    }

    /// A range of columns.
    pub fn columns(self, start: i64, stop: i64) -> Expr<'f> {
        self.part(-1, start, stop)
    }

    /// A range of rows.
    pub fn rows(self, start: i64, stop: i64) -> Expr<'f> {
        self.part(-2, start, stop)
    }

    /// With rows and columns of 0 behind.
    fn padded(self, rows: i64, columns: i64) -> Expr<'f> {
        self.apply(|trace, x| {
            let rank = trace.ty(x).dims.len();
            let none = vec![0; rank];
            let mut high = none.clone();
            (high[rank - 2], high[rank - 1]) = (rows, columns);
            pad_scalar(trace, x, ScalarValue::Signed(0), &none, &high, &none)
        })
    }

    /// With zeros before and behind along the last axis.
    pub fn padded_last(self, before: i64, behind: i64) -> Expr<'f> {
        self.apply(|trace, x| {
            let rank = trace.ty(x).dims.len();
            let none = vec![0; rank];
            let (mut low, mut high) = (none.clone(), none.clone());
            (low[rank - 1], high[rank - 1]) = (before, behind);
            pad_scalar(trace, x, ScalarValue::Signed(0), &low, &high, &none)
        })
    }

    /// The mask of the upper triangle.
    fn on_upper(self) -> Expr<'f> {
        let dims = [self.size_from_last(1), self.size_from_last(0)];
        let ones = |trace: &mut Trace, _| full(trace, &TensorType::new(DType::S8, &dims), ScalarValue::Signed(1));
        self.apply(ones).triu(0).ne(0i64)
    }

    /// The mask of the diagonal from a position on.
    fn on_diagonal_from(self, start: i64) -> Expr<'f> {
        let n = self.size_from_last(0);
        let positions =
            self.apply(|trace, _| crate::creation::constants::iota(trace, &TensorType::new(DType::S32, &[n]), 0));
        self.on_diagonal() & positions.ge(start)
    }
}
