//! Solutions of tridiagonal systems, by Gaussian elimination with partial pivoting, as LAPACK's `gtsv`: one scan down
//! the rows, and one up.

use crate::control::apply::{Applied, scan};
use crate::control::loops::{body, scan_over};
use crate::creation::constants::full;
use crate::definition::Composed;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, Formula, record, widened};
use crate::infer::common_dtype_of;
use crate::shape::axes::transpose;
use crate::shape::rearrange::{expand_dims, slice_axis, squeeze};
use crate::shape::slicing::{concatenate, pad_scalar};
use base::error;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType};
use ir::{NodeId, ReduceOp, Trace};

/// Table entry of the composed operation.
pub(crate) const COMPOSED: &[Composed] = &[Composed {
    name: "tridiagonal_solve",
    function: "lxla_tridiagonal_solve",
    dtypes: "floats, 8-bit floats, complex numbers",
}];

/// Names of the operands in messages.
const NAMES: [&str; 4] = ["lower", "diagonal", "upper", "b"];

/// Records the solution x of a x = b for tridiagonal matrices a: `lower[i]` is a[i, i - 1], `upper[i]` is a[i, i + 1].
/// The first element of `lower` and the last one of `upper` are not read. The solution of a singular system is NaN.
pub fn tridiagonal_solve(trace: &mut Trace, operands: [NodeId; 4]) -> Result<NodeId> {
    let types = operands.map(|id| trace.ty(id));
    let dtype = check(&types)?;
    let [.., b] = &types;
    let n = b.dims[b.dims.len() - 2];
    if b.elements() == 0 {
        return Ok(convert(trace, operands[3], dtype));
    }
    let wide = widened(dtype);
    let mut rows = operands.map(|id| convert(trace, id, wide));
    for (place, row) in rows.iter_mut().enumerate() {
        if place < 3 {
            *row = expand_dims(trace, *row, &[-1])?;
        }
        *row = rows_first(trace, *row, true)?;
    }
    rows[2] = without_last(trace, rows[2], n)?;
    let (last, above) = eliminated(trace, rows, n)?;
    let x = substituted(trace, &last, &above, n)?;
    let x = nan_if_singular(trace, x, last[0], above[0])?;
    let x = rows_first(trace, x, false)?;
    Ok(convert(trace, x, dtype))
}

/// Returns the common dtype; an error if dtypes or shapes do not fit.
fn check(types: &[TensorType; 4]) -> Result<DType> {
    for (name, ty) in NAMES.iter().zip(types) {
        if !matches!(ty.dtype.kind(), Kind::Float | Kind::Float8 | Kind::Complex) {
            return Err(error!(InvalidArgument, "{name}: it is {ty}; want floats or complex numbers"));
        }
    }
    let [lower, diagonal, upper, b] = types;
    if diagonal.dims.is_empty() {
        return Err(error!(InvalidArgument, "diagonal: it is {diagonal}; want at least one axis"));
    }
    for (name, ty) in [("lower", lower), ("upper", upper)] {
        if ty.dims != diagonal.dims {
            return Err(error!(InvalidArgument, "{name}: it is {ty}; diagonal is {diagonal}, want the same shape"));
        }
    }
    if b.dims.len() != diagonal.dims.len() + 1 || b.dims[..diagonal.dims.len()] != diagonal.dims[..] {
        return Err(error!(
            InvalidArgument,
            "b: it is {b}; diagonal is {diagonal}, want its axes and one more, of the right-hand sides"
        ));
    }
    let mut dtype = diagonal.dtype;
    for (place, ty) in types.iter().enumerate() {
        let common = TensorType { dtype, dims: diagonal.dims.clone() };
        dtype = common_dtype_of(["diagonal", NAMES[place]], &common, ty)?;
    }
    Ok(dtype)
}

/// Moves the axis of the rows, the last but one, to the front, or back.
fn rows_first(trace: &mut Trace, x: NodeId, is_first: bool) -> Result<NodeId> {
    let rank = trace.ty(x).dims.len() as i64;
    let order: Vec<i64> = match is_first {
        true => [rank - 2].into_iter().chain(0..rank - 2).chain([rank - 1]).collect(),
        false => (1..rank - 1).chain([0, rank - 1]).collect(),
    };
    transpose(trace, x, &order)
}

/// Replaces the last row by zeros.
fn without_last(trace: &mut Trace, x: NodeId, n: i64) -> Result<NodeId> {
    let (rank, kept) = (trace.ty(x).dims.len(), slice_axis(trace, x, 0, 0, n - 1, 1)?);
    let (none, mut one) = (vec![0; rank], vec![0; rank]);
    one[0] = 1;
    pad_scalar(trace, kept, ScalarValue::Float(0.0), &none, &one, &none)
}

/// Row `i` without its axis.
fn row(trace: &mut Trace, x: NodeId, i: i64) -> Result<NodeId> {
    let one = slice_axis(trace, x, 0, i, i + 1, 1)?;
    squeeze(trace, one, &[0])
}

/// Eliminates what is below the diagonal. Returns the diagonal element, its right neighbour and the right-hand side of
/// the last row; and of the rows above, the diagonal element, its two right neighbours and the right-hand side.
fn eliminated(
    trace: &mut Trace,
    [lower, diagonal, upper, b]: [NodeId; 4],
    n: i64,
) -> Result<([NodeId; 3], [NodeId; 4])> {
    let mut first = [diagonal, upper, b];
    let mut next = [lower, diagonal, upper, b];
    for node in &mut first {
        *node = row(trace, *node, 0)?;
    }
    for node in &mut next {
        *node = slice_axis(trace, *node, 0, 1, n, 1)?;
    }
    let made = scan_over(trace, &first, &next, &[], n - 1, |trace, carried, slices, _| {
        let f = Formula::new(trace);
        let ([d, u, b], [l, next_d, next_u, next_b]) =
            (std::array::from_fn(|i| f.operand(carried[i])), std::array::from_fn(|i| f.operand(slices[i])));
        // Of two rows, the one with the larger element comes first.
        let keeps: Expr = magnitude(d).ge(magnitude(l));
        let pivot = [keeps.select(d, l), keeps.select(u, next_d), keeps.select(0.0, next_u), keeps.select(b, next_b)];
        let other = [keeps.select(l, d), keeps.select(next_d, u), keeps.select(next_u, 0.0), keeps.select(next_b, b)];
        let factor = other[0] / pivot[0];
        let rest = |i: usize| other[i] - factor * pivot[i];
        f.finish_list(&[rest(1), rest(2), rest(3), pivot[0], pivot[1], pivot[2], pivot[3]])
    })?;
    Ok((std::array::from_fn(|i| made[i]), std::array::from_fn(|i| made[3 + i])))
}

/// The magnitude by which pivots are chosen: of a complex number |re| + |im|, which does not overflow early.
fn magnitude(x: Expr) -> Expr {
    match x.dtype().kind() {
        Kind::Complex => x.real().abs() + x.imag().abs(),
        _ => x.abs(),
    }
}

/// Solves from the last row to the first.
fn substituted(trace: &mut Trace, last: &[NodeId; 3], above: &[NodeId; 4], n: i64) -> Result<NodeId> {
    let x = record(trace, [last[0], last[2]], |[d, b]| b / d)?;
    let ty = trace.ty(x);
    let zero = full(trace, &ty, ScalarValue::Unsigned(0))?;
    let slices = above.iter().map(|&id| {
        let mut ty = trace.ty(id);
        ty.dims.remove(0);
        ty
    });
    let parameters: Vec<TensorType> = [ty.clone(), ty].into_iter().chain(slices).collect();
    let step = body(&parameters, &[], |trace, parameters, _| {
        let f = Formula::new(trace);
        let [below, second, d, first_u, second_u, b] = std::array::from_fn(|i| f.operand(parameters[i]));
        let x: Expr = (b - first_u * below - second_u * second) / d;
        f.finish_list(&[x, below, x])
    })?;
    let made = scan(trace, &Applied { body: &step, captures: &[] }, &[x, zero], above, n - 1, true)?;
    let last = expand_dims(trace, x, &[0])?;
    concatenate(trace, &[made[2], last], 0)
}

/// Replaces the solutions of systems with a diagonal element 0 after the elimination by NaN.
fn nan_if_singular(trace: &mut Trace, x: NodeId, last: NodeId, above: NodeId) -> Result<NodeId> {
    record(trace, [x, last, above], |[x, last, above]| {
        let is_singular = above.eq(0.0).reduce(ReduceOp::Any, &[0], false) | last.eq(0.0);
        is_singular.select(x.number(f64::NAN), x)
    })
}
