//! LU factors, eigenvalues of general matrices, ranks, condition numbers and systems of tensors.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::compositions::{node_of, record as another};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType, float_limits};
use ir::{CompareOp, NodeId, ReduceOp, Trace, Transposition};
use native::Triangle;
use ops::creation::{eye, full, iota, tril, triu};
use ops::elementwise::formula::record;
use ops::elementwise::{compare, convert};
use ops::indexing::take_along_axis;
use ops::linalg::lapack::householder_product;
use ops::linalg::{eig, lu, singular_values, solve, triangular_solve};
use ops::reduction::reduce;
use ops::shape::{broadcast_to, expand_dims, reshape, slice_axis};

pub(super) const TABLE: &[Operator] = &[
    operator(&["linalg_lu_factor.default"], "A pivot=true", |call| factored(call, 2)),
    operator(&["linalg_lu_factor_ex.default"], "A pivot=true check_errors=false", |call| factored(call, 3)),
    operator(&["linalg_lu.default"], "A pivot=true", |call| {
        call.refuse_unless("pivot", call.bool("pivot")?)?;
        let x = call.tensor("A")?;
        let [packed, _, order] = lu(call.trace(), x)?;
        unpacked(call, packed, order)
    }),
    operator(&["lu_unpack.default"], "LU_data LU_pivots unpack_data=true unpack_pivots=true", |call| {
        let (packed, pivots) = (call.tensor("LU_data")?, call.tensor("LU_pivots")?);
        let order = order_of_pivots(call, packed, pivots)?;
        unpacked(call, packed, order)
    }),
    operator(&["linalg_lu_solve.default"], "LU pivots B left=true adjoint=false", |call| {
        let (packed, pivots, b) = (call.tensor("LU")?, call.tensor("pivots")?, call.tensor("B")?);
        by_factors(call, packed, pivots, b)
    }),
    operator(&["lu_solve.default"], "self LU_data LU_pivots", |call| {
        let (packed, pivots, b) = (call.tensor("LU_data")?, call.tensor("LU_pivots")?, call.tensor("self")?);
        by_factors(call, packed, pivots, b)
    }),
    operator(&["linalg_eig.default"], "self", |call| {
        let x = call.tensor("self")?;
        let made = eig(call.trace(), x)?;
        Ok(Value::List(made.map(|node| call.made(node)).into()))
    }),
    operator(&["linalg_eigvals.default"], "self", |call| {
        let x = call.tensor("self")?;
        let made = eig(call.trace(), x)?;
        Ok(call.made(made[0]))
    }),
    operator(&["linalg_matrix_rank.default"], "self tol hermitian=false", |call| {
        let tol = call.float("tol")?;
        rank(call, [Some(tol), Some(0.0)])
    }),
    operator(&["linalg_matrix_rank.atol_rtol_float"], "self atol=none rtol=none hermitian=false", |call| {
        let tolerances = [call.optional_float("atol")?, call.optional_float("rtol")?];
        rank(call, tolerances)
    }),
    operator(&["linalg_cond.default", "linalg_cond.p_str"], "self p=none", condition),
    operator(&["linalg_tensorsolve.default"], "self other dims=none", |call| {
        call.refuse_unless("dims", matches!(call.value("dims"), Value::None))?;
        let [a, b] = call.promoted(["self", "other"], true)?;
        let (of_a, of_b) = (call.dims(a), call.dims(b));
        let count: i64 = of_b.iter().product();
        let rest = of_a.get(of_b.len()..).unwrap_or_default().to_vec();
        let trace = call.trace();
        let (a, b) = (reshape(trace, a, &[count, rest.iter().product()])?, reshape(trace, b, &[count])?);
        let made = solve(trace, a, b)?;
        let made = reshape(trace, made, &rest)?;
        Ok(call.made(made))
    }),
    operator(&["linalg_tensorinv.default"], "self ind=2", |call| {
        let (x, split) = (call.floats("self")?, call.int("ind")?);
        let dims = call.dims(x);
        if !(1..=dims.len() as i64).contains(&split) {
            return Err(error!(InvalidArgument, "ind is {split}; want 1 to the rank of {}", call.ty(x)));
        }
        let (lead, rest) = dims.split_at(split as usize);
        let trace = call.trace();
        let matrix = reshape(trace, x, &[lead.iter().product(), rest.iter().product()])?;
        let made = ops::linalg::inverse(trace, matrix)?;
        let made = reshape(trace, made, &[rest, lead].concat())?;
        Ok(call.made(made))
    }),
    operator(&["linalg_vander.default"], "x N=none", |call| powers(call, true)),
    operator(&["vander.default"], "x N=none increasing=false", |call| {
        let increasing = call.bool("increasing")?;
        powers(call, increasing)
    }),
    operator(&["linalg_householder_product.default"], "input tau", |call| {
        let (packed, factors) = (call.tensor("input")?, call.tensor("tau")?);
        let made = householder_product(call.trace(), packed, factors)?;
        Ok(call.made(made))
    }),
    operator(&["orgqr.default"], "self input2", |call| {
        let (packed, factors) = (call.tensor("self")?, call.tensor("input2")?);
        let made = householder_product(call.trace(), packed, factors)?;
        Ok(call.made(made))
    }),
];

/// The powers of numbers from 0 on, along a new last axis.
fn powers<'p>(call: &mut Call<'_, 'p>, increasing: bool) -> Result<Value<'p>> {
    let x = call.tensor("x")?;
    let count = match call.optional_int("N")? {
        Some(count) => count,
        None => *call.dims(x).last().unwrap_or(&0),
    };
    call.refuse_unless("N", (1..=1 << 12).contains(&count))?;
    let trace = call.trace();
    let mut columns = vec![full(trace, &trace.ty(x), ScalarValue::Signed(1))?];
    for _ in 1..count {
        let last = columns[columns.len() - 1];
        columns.push(record(trace, [last, x], |[last, x]| last * x)?);
    }
    if !increasing {
        columns.reverse();
    }
    let made = ops::shape::stack(trace, &columns, -1)?;
    Ok(call.made(made))
}

/// LU factors in one matrix, the pivots of LAPACK, counted from 1, and with three results `info`.
fn factored<'p>(call: &mut Call<'_, 'p>, results: usize) -> Result<Value<'p>> {
    call.refuse_unless("pivot", call.bool("pivot")?)?;
    let x = call.tensor("A")?;
    let trace = call.trace();
    let [packed, pivots, _] = lu(trace, x)?;
    let pivots = record(trace, [pivots], |[pivots]| pivots + 1)?;
    let pivots = convert(trace, pivots, DType::S32);
    let mut made = vec![call.made(packed), call.made(pivots)];
    if results == 3 {
        let errors = first_zero_pivot(call.trace(), packed)?;
        made.push(call.made(errors));
    }
    Ok(Value::List(made))
}

/// The place of the first zero on the diagonal of LU factors, counted from 1; 0 if there is none. LAPACK and PyTorch
/// call it `info`.
pub(super) fn first_zero_pivot(trace: &mut Trace, packed: NodeId) -> Result<NodeId> {
    let dims = trace.ty(packed).dims.to_vec();
    let (rows, columns) = (dims[dims.len() - 2], dims[dims.len() - 1]);
    let last = dims.len() as i64 - 1;
    let diagonal = eye(trace, DType::Pred, rows, columns, 0)?;
    let places = iota(trace, &TensorType::new(DType::S32, &dims), last)?;
    let found = record(trace, [packed, diagonal, places], |[packed, diagonal, places]| {
        (packed.eq(0.0) & diagonal).select(places + 1, i64::from(i32::MAX))
    })?;
    let first = reduce(trace, ReduceOp::Min, found, &[last - 1, last], false)?;
    record(trace, [first], |[first]| first.eq(i64::from(i32::MAX)).select(0, first))
}

/// The place of the first zero pivot of a matrix. The factorization for it is removed if nothing reads the place.
pub(super) fn error_of(trace: &mut Trace, matrix: NodeId) -> Result<NodeId> {
    let [packed, ..] = lu(trace, matrix)?;
    first_zero_pivot(trace, packed)
}

/// The permutation matrix and the two factors.
fn unpacked<'p>(call: &mut Call<'_, 'p>, packed: NodeId, order: NodeId) -> Result<Value<'p>> {
    let dims = call.dims(packed);
    let [batch @ .., rows, columns] = &dims[..] else {
        return Err(error!(InvalidArgument, "LU factors of {}; want matrices", call.ty(packed)));
    };
    let (rows, columns) = (*rows, *columns);
    let least = rows.min(columns);
    let dtype = call.dtype_of(packed);
    let trace = call.trace();
    let (axis_of_rows, axis_of_columns) = (dims.len() as i64 - 2, dims.len() as i64 - 1);
    let lower = slice_axis(trace, packed, axis_of_columns, 0, least, 1)?;
    let lower = tril(trace, lower, -1)?;
    let one = eye(trace, dtype, rows, least, 0)?;
    let lower = record(trace, [lower, one], |[lower, one]| lower + one)?;
    let upper = slice_axis(trace, packed, axis_of_rows, 0, least, 1)?;
    let upper = triu(trace, upper, 0)?;
    // Row i of the product of the factors is row order[i] of the matrix.
    let order = expand_dims(trace, order, &[-2])?;
    let wide = [batch, &[rows, rows]].concat();
    let places = iota(trace, &TensorType::new(DType::S32, &wide), axis_of_rows)?;
    let order = convert(trace, order, DType::S32);
    let holds = compare(trace, CompareOp::Eq, places, order)?;
    let permutation = convert(trace, holds, dtype);
    Ok(Value::List([permutation, lower, upper].map(|node| call.made(node)).into()))
}

/// Records the permutation of rows that LAPACK's pivots, counted from 1, describe.
fn order_of_pivots(call: &mut Call, packed: NodeId, pivots: NodeId) -> Result<NodeId> {
    let (of_packed, dims) = (call.dims(packed), call.dims(pivots));
    let ([.., rows, _], [batch @ .., count]) = (&of_packed[..], &dims[..]) else {
        return Err(error!(
            InvalidArgument,
            "LU factors of {} and pivots of {}; want matrices and vectors",
            call.ty(packed),
            call.ty(pivots)
        ));
    };
    let (rows, count) = (*rows, *count);
    call.refuse_unless("LU_pivots", count <= 1 << 10)?;
    let last = batch.len() as i64;
    let trace = call.trace();
    let whole = [batch, &[rows]].concat();
    let places = iota(trace, &TensorType::new(DType::S32, &whole), last)?;
    let mut order = places;
    for step in 0..count {
        let pivot = slice_axis(trace, pivots, last, step, step + 1, 1)?;
        let pivot = record(trace, [pivot], |[pivot]| pivot.convert(DType::S32) - 1)?;
        let own = slice_axis(trace, order, last, step, step + 1, 1)?;
        let at = take_along_axis(trace, order, pivot, last)?;
        order = record(trace, [order, places, pivot, own, at], |[order, places, pivot, own, at]| {
            places.eq(pivot).select(own, places.eq(step).select(at, order))
        })?;
    }
    Ok(order)
}

/// Solves a system by the LU factors of its matrix.
fn by_factors<'p>(call: &mut Call<'_, 'p>, packed: NodeId, pivots: NodeId, b: NodeId) -> Result<Value<'p>> {
    if call.has("left") {
        call.refuse_unless("left", call.bool("left")?)?;
        call.refuse_unless("adjoint", !call.bool("adjoint")?)?;
    }
    let order = order_of_pivots(call, packed, pivots)?;
    let trace = call.trace();
    let dims = trace.ty(b).dims.to_vec();
    let order = expand_dims(trace, order, &[-1])?;
    let order = broadcast_to(trace, order, &dims)?;
    let rows = take_along_axis(trace, b, order, dims.len() as i64 - 2)?;
    let triangle = |lower: bool| Triangle {
        left_side: true,
        lower,
        unit_diagonal: lower,
        transposition: Transposition::NoTranspose,
    };
    let inner = triangular_solve(trace, packed, rows, triangle(true))?;
    let made = triangular_solve(trace, packed, inner, triangle(false))?;
    Ok(call.made(made))
}

/// Counts the singular values above both tolerances, `atol` and `rtol` times the largest singular value. Without `atol`,
/// the default of `rtol` is the larger size of the matrix, multiplied by the machine epsilon; otherwise it is 0.
fn rank<'p>(call: &mut Call<'_, 'p>, [atol, rtol]: [Option<f64>; 2]) -> Result<Value<'p>> {
    let x = call.floats("self")?;
    let dims = call.dims(x);
    let size = dims.iter().rev().take(2).copied().max().unwrap_or(0);
    let epsilon = float_limits(call.dtype_of(x).real()).map_or(0.0, |limits| limits.eps);
    let rtol = rtol.unwrap_or(if atol.unwrap_or(0.0) > 0.0 { 0.0 } else { size as f64 * epsilon });
    let trace = call.trace();
    let values = singular_values(trace, x)?;
    let last = trace.ty(values).dims.len() as i64 - 1;
    let kept = record(trace, [values], |[values]| {
        let largest = values.reduce(ReduceOp::Max, &[last], true);
        values.gt((largest * rtol).max(atol.unwrap_or(0.0))).convert(DType::S64)
    })?;
    let made = reduce(trace, ReduceOp::Sum, kept, &[last], false)?;
    Ok(call.made(made))
}

/// The ratio of the largest singular value to the least, or the product of the norms of a matrix and its inverse.
fn condition<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let order = match call.value("p") {
        Value::None => Some(2.0),
        Value::Text(_) => None,
        _ => Some(call.float("p")?),
    };
    let x = call.floats("self")?;
    if let Some(order @ (2.0 | -2.0)) = order {
        let trace = call.trace();
        let values = singular_values(trace, x)?;
        let (last, count) = (trace.ty(values).dims.len() as i64 - 1, *trace.ty(values).dims.last().unwrap_or(&0));
        let dims = trace.ty(values).dims[..last as usize].to_vec();
        let at = |trace: &mut Trace, place: i64| {
            let one = slice_axis(trace, values, last, place, place + 1, 1)?;
            reshape(trace, one, &dims)
        };
        let (largest, least) = (at(trace, 0)?, at(trace, count - 1)?);
        let made = record(
            trace,
            [largest, least],
            |[largest, least]| {
                if order > 0.0 { largest / least } else { least / largest }
            },
        )?;
        return Ok(call.made(made));
    }
    let inverse = ops::linalg::inverse(call.trace(), x)?;
    let both = [x, inverse].map(|node| {
        let name = if order.is_some() { "linalg_matrix_norm.default" } else { "linalg_matrix_norm.str_ord" };
        let value = call.made(node);
        let made = another(call, name, [("self", value), ("ord", call.value("p").clone())])?;
        node_of(call, &made)
    });
    let [first, second] = both;
    let made = record(call.trace(), [first?, second?], |[first, second]| first * second)?;
    Ok(call.made(made))
}
