//! Functions of matrices: factorizations, systems, determinants, spectra, norms and products.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::compositions::record as another;
use super::elementwise::cast;
use super::solvers::error_of;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType, normalize_axis};
use ir::{BinaryOp, NodeId, ReduceOp, Trace, Transposition, UnaryOp};
use native::Triangle;
use ops::control::stop_gradient;
use ops::creation::{eye, full, tril, triu};
use ops::elementwise::formula::record;
use ops::elementwise::{binary, convert, unary};
use ops::linalg::{
    cholesky, determinant, eigh, inverse, matmul, matrix_exponential, matrix_power, norm, pinv, qr, singular_values,
    slogdet, solve, svd, triangular_solve,
};
use ops::reduction::reduce;
use ops::shape::{broadcast_to, expand_dims, squeeze, transpose};

pub(super) const TABLE: &[Operator] = &[
    operator(&["linalg_cholesky.default"], "self upper=false", |call| {
        let made = factor(call)?;
        Ok(call.made(made))
    }),
    operator(&["linalg_cholesky_ex.default"], "self upper=false check_errors=false", |call| {
        let made = factor(call)?;
        Ok(Value::List(vec![call.made(made), Value::Absent("the errors")]))
    }),
    operator(&["linalg_solve.default"], "A B left=true", solved),
    operator(&["_linalg_solve_ex.default", "linalg_solve_ex.default"], "A B left=true check_errors=false", |call| {
        let made = solved(call)?;
        Ok(with_absent(made, &["the factors", "the pivots", "the errors"]))
    }),
    operator(&["linalg_inv.default"], "A", |call| of_matrices(call, "A", inverse)),
    operator(&["inverse.default"], "self", |call| of_matrices(call, "self", inverse)),
    operator(&["linalg_inv_ex.default"], "A check_errors=false", |call| {
        let x = call.tensor("A")?;
        let made = of_matrices(call, "A", inverse)?;
        let error = error_of(call.trace(), x)?;
        Ok(Value::List(vec![made, call.made(error)]))
    }),
    operator(&["linalg_det.default"], "A", |call| of_matrices(call, "A", determinant)),
    operator(&["det.default"], "self", |call| of_matrices(call, "self", determinant)),
    operator(&["_linalg_det.default"], "A", |call| {
        let made = of_matrices(call, "A", determinant)?;
        Ok(with_absent(made, &["the factors", "the pivots"]))
    }),
    operator(&["linalg_slogdet.default"], "A", |call| {
        let x = call.tensor("A")?;
        let made = slogdet(call.trace(), x)?;
        Ok(Value::List(made.map(|node| call.made(node)).into()))
    }),
    operator(&["slogdet.default"], "self", |call| {
        let x = call.tensor("self")?;
        let made = slogdet(call.trace(), x)?;
        Ok(Value::List(made.map(|node| call.made(node)).into()))
    }),
    operator(&["svd.default"], "self some=true compute_uv=true", |call| {
        let (x, some, with_vectors) = (call.tensor("self")?, call.bool("some")?, call.bool("compute_uv")?);
        call.refuse_unless("compute_uv", with_vectors)?;
        let trace = call.trace();
        let [u, values, vh] = svd(trace, x, !some)?;
        let v = adjoint(trace, vh)?;
        Ok(Value::List([u, values, v].map(|node| call.made(node)).into()))
    }),
    operator(&["cross.default"], "self other dim=none", |call| {
        let x = call.tensor("self")?;
        let dim = match call.optional_int("dim")? {
            Some(dim) => Some(dim),
            None => call.dims(x).iter().position(|&size| size == 3).map(|axis| axis as i64),
        };
        let dim = dim.ok_or_else(|| error!(InvalidArgument, "no axis of 3 elements"))?;
        let given = ["self", "other"].map(|name| (name, call.value(name).clone()));
        another(call, "linalg_cross.default", given.into_iter().chain([("dim", Value::Int(dim))]))
    }),
    operator(&["_linalg_slogdet.default"], "A", |call| {
        let x = call.tensor("A")?;
        let mut made: Vec<Value> = slogdet(call.trace(), x)?.map(|node| call.made(node)).into();
        made.extend(["the factors", "the pivots"].map(Value::Absent));
        Ok(Value::List(made))
    }),
    operator(&["logdet.default"], "self", |call| {
        of_matrices(call, "self", |trace, x| {
            let [sign, log] = slogdet(trace, x)?;
            record(trace, [sign, log], |[sign, log]| {
                let known = sign.eq(0.0).select(log, sign.number(f64::NAN));
                sign.gt(0.0).select(log, known)
            })
        })
    }),
    operator(&["linalg_eigvalsh.default"], "self UPLO='L'", |call| {
        let is_lower = is_lower(call)?;
        of_matrices(call, "self", |trace, x| spectrum(trace, x, is_lower).map(|[values, _]| values))
    }),
    operator(&["linalg_eigh.default"], "self UPLO='L'", |call| {
        let (x, is_lower) = (call.tensor("self")?, is_lower(call)?);
        let made = spectrum(call.trace(), x, is_lower)?;
        Ok(Value::List(made.map(|node| call.made(node)).into()))
    }),
    operator(&["_linalg_eigh.default"], "A UPLO='L' compute_v=true", |call| {
        let (x, is_lower) = (call.tensor("A")?, is_lower(call)?);
        let made = spectrum(call.trace(), x, is_lower)?;
        Ok(Value::List(made.map(|node| call.made(node)).into()))
    }),
    operator(&["linalg_svd.default"], "A full_matrices=true driver=none", |call| decomposed(call, true)),
    operator(&["_linalg_svd.default"], "A full_matrices=false compute_uv=true driver=none", |call| {
        let with_vectors = call.bool("compute_uv")?;
        decomposed(call, with_vectors)
    }),
    operator(&["linalg_svdvals.default"], "A driver=none", |call| of_matrices(call, "A", singular_values)),
    operator(&["linalg_qr.default"], "A mode='reduced'", |call| {
        let (x, mode) = (call.tensor("A")?, call.text("mode")?);
        let [mut q, r] = qr(call.trace(), x, mode == "complete")?;
        if mode == "r" {
            let none = TensorType::new(call.dtype_of(r), &[0]);
            q = full(call.trace(), &none, ScalarValue::Signed(0))?;
        }
        Ok(Value::List(vec![call.made(q), call.made(r)]))
    }),
    operator(&["linalg_pinv.default"], "self rcond=1e-15 hermitian=false", |call| {
        let rtol = call.float("rcond")?;
        of_matrices(call, "self", |trace, x| pinv(trace, x, rtol))
    }),
    operator(&["linalg_pinv.atol_rtol_float"], "self atol=none rtol=none hermitian=false", |call| {
        call.refuse_unless("atol", call.optional_float("atol")?.unwrap_or(0.0) == 0.0)?;
        let rtol = call.optional_float("rtol")?.unwrap_or(-1.0);
        of_matrices(call, "self", |trace, x| pinv(trace, x, rtol))
    }),
    operator(&["linalg_pinv.atol_rtol_tensor"], "self atol=none rtol=none hermitian=false", by_tolerances),
    operator(&["linalg_matrix_power.default", "matrix_power.default"], "self n", |call| {
        let n = call.int("n")?;
        of_matrices(call, "self", |trace, x| matrix_power(trace, x, n))
    }),
    operator(&["linalg_matrix_exp.default", "matrix_exp.default"], "self", |call| {
        of_matrices(call, "self", matrix_exponential)
    }),
    operator(&["linalg_solve_triangular.default"], "self B upper left=true unitriangular=false", |call| {
        let (a, b) = (call.tensor("self")?, call.tensor("B")?);
        let triangle = Triangle {
            left_side: call.bool("left")?,
            lower: !call.bool("upper")?,
            unit_diagonal: call.bool("unitriangular")?,
            transposition: Transposition::NoTranspose,
        };
        let made = by_triangle(call.trace(), a, b, triangle)?;
        Ok(call.made(made))
    }),
    operator(&["triangular_solve.default"], "self A upper=true transpose=false unitriangular=false", |call| {
        let (b, a) = (call.tensor("self")?, call.tensor("A")?);
        let triangle = Triangle {
            left_side: true,
            lower: !call.bool("upper")?,
            unit_diagonal: call.bool("unitriangular")?,
            transposition: if call.bool("transpose")? { Transposition::Transpose } else { Transposition::NoTranspose },
        };
        let made = by_triangle(call.trace(), a, b, triangle)?;
        let copied = call.made(a);
        Ok(Value::List(vec![call.made(made), copied]))
    }),
    operator(&["cholesky_solve.default"], "self input2 upper=false", |call| {
        let (b, factor, is_upper) = (call.tensor("self")?, call.tensor("input2")?, call.bool("upper")?);
        let made = by_factor(call.trace(), factor, b, is_upper)?;
        Ok(call.made(made))
    }),
    operator(&["cholesky_inverse.default"], "self upper=false", |call| {
        let (factor, is_upper) = (call.tensor("self")?, call.bool("upper")?);
        let ty = call.ty(factor);
        let size = ty.dims.last().copied().unwrap_or(0);
        let trace = call.trace();
        let one = eye(trace, ty.dtype, size, size, 0)?;
        let made = by_factor(trace, factor, one, is_upper)?;
        Ok(call.made(made))
    }),
    operator(&["linalg_matrix_norm.default"], "self ord dim=[-2,-1] keepdim=false dtype=none", |call| {
        let order = Order::Number(call.float("ord")?);
        matrix_norm(call, order)
    }),
    operator(&["linalg_matrix_norm.str_ord"], "self ord='fro' dim=[-2,-1] keepdim=false dtype=none", |call| {
        let order = named_order(call)?;
        matrix_norm(call, order)
    }),
    operator(&["linalg_norm.ord_str"], "self ord dim=none keepdim=false dtype=none", |call| {
        let order = named_order(call)?;
        matrix_norm(call, order)
    }),
    operator(&["linalg_norm.default"], "self ord=none dim=none keepdim=false dtype=none", any_norm),
    operator(&["linalg_cross.default"], "self other dim=-1", cross),
    operator(&["linalg_multi_dot.default"], "tensors", |call| chain(call, "tensors")),
    operator(&["chain_matmul.default"], "matrices", |call| chain(call, "matrices")),
    operator(&["linalg_vecdot.default"], "x y dim=-1", |call| {
        let [x, y] = call.promoted(["x", "y"], false)?;
        let conjugate = call.dtype_of(x).kind() == base::types::Kind::Complex;
        let trace = call.trace();
        let x = if conjugate { record(trace, [x], |[x]| x.real().complex(-x.imag()))? } else { x };
        let made = binary(trace, BinaryOp::Multiply, x, y)?;
        let axis = call.axis("dim", call.dims(made).len())? as i64;
        let made = reduce(call.trace(), ReduceOp::Sum, made, &[axis], false)?;
        Ok(call.made(made))
    }),
    operator(&["vdot.default"], "self other", |call| {
        let [x, y] = call.promoted(["self", "other"], false)?;
        let conjugate = call.dtype_of(x).kind() == base::types::Kind::Complex;
        let trace = call.trace();
        let x = if conjugate { record(trace, [x], |[x]| x.real().complex(-x.imag()))? } else { x };
        let made = matmul(trace, x, y)?;
        Ok(call.made(made))
    }),
];

/// A pseudoinverse whose tolerances are tensors.
fn by_tolerances<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let bounds = [call.optional_tensor("atol")?, call.optional_tensor("rtol")?];
    if bounds == [None, None] {
        return of_matrices(call, "self", |trace, x| pinv(trace, x, -1.0));
    }
    let (ty, dims) = (call.ty(x), call.dims(x));
    let trace = call.trace();
    let [u, values, vh] = svd(trace, x, false)?;
    let zero = full(trace, &TensorType::new(ty.dtype.real(), &[]), ScalarValue::Signed(0))?;
    let [atol, rtol] = bounds.map(|bound| bound.map_or(Ok(zero), |bound| column(trace, bound, ty.dtype.real())));
    let last = dims.len() as i64 - 2;
    let inverse = record(trace, [values, atol?, rtol?], |[values, atol, rtol]| {
        let least = atol.max(values.reduce(ReduceOp::Max, &[last], true) * rtol);
        let kept = values.gt(least.apply(stop_gradient));
        kept.select(1.0 / kept.select(values, 1.0), 0.0)
    })?;
    let inverse = expand_dims(trace, inverse, &[-2])?;
    let (v, uh) = (adjoint(trace, vh)?, adjoint(trace, u)?);
    let inverse = convert(trace, inverse, ty.dtype);
    let scaled = binary(trace, BinaryOp::Multiply, v, inverse)?;
    let made = matmul(trace, scaled, uh)?;
    Ok(call.made(made))
}

/// A number of each matrix, beside its singular values.
fn column(trace: &mut Trace, x: NodeId, dtype: DType) -> Result<NodeId> {
    let x = convert(trace, x, dtype);
    if trace.ty(x).dims.is_empty() { Ok(x) } else { expand_dims(trace, x, &[-1]) }
}

fn with_absent<'p>(made: Value<'p>, names: &[&'static str]) -> Value<'p> {
    Value::List([made].into_iter().chain(names.iter().map(|name| Value::Absent(name))).collect())
}

fn of_matrices<'p>(
    call: &mut Call<'_, 'p>,
    name: &str,
    function: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>,
) -> Result<Value<'p>> {
    let x = call.tensor(name)?;
    let made = function(call.trace(), x)?;
    Ok(call.made(made))
}

/// The last two axes exchanged.
fn turned(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let rank = trace.ty(x).dims.len();
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    if rank >= 2 {
        axes.swap(rank - 2, rank - 1);
    }
    transpose(trace, x, &axes)
}

/// A Cholesky factor. Only one triangle of the matrix is read, and the other one of the factor is 0.
fn factor(call: &mut Call) -> Result<NodeId> {
    let (x, is_upper) = (call.tensor("self")?, call.bool("upper")?);
    let trace = call.trace();
    let x = mirrored(trace, x, !is_upper)?;
    cholesky(trace, x, !is_upper)
}

/// The Hermitian matrix of one triangle. As in PyTorch, both triangles have a half of its derivative each.
fn mirrored(trace: &mut Trace, x: NodeId, is_lower: bool) -> Result<NodeId> {
    let fixed = stop_gradient(trace, x)?;
    let (inner, outer) = match is_lower {
        true => (tril(trace, fixed, 0)?, tril(trace, fixed, -1)?),
        false => (triu(trace, fixed, 0)?, triu(trace, fixed, 1)?),
    };
    // Differences are 0, and have the derivative; those of infinities and NaN would be NaN.
    let change =
        record(trace, [x, fixed], |[x, fixed]| fixed.real().is_finite().select((x - fixed) * 0.5, fixed * 0.0))?;
    let (outer, turned_change) = (adjoint(trace, outer)?, adjoint(trace, change)?);
    let value = binary(trace, BinaryOp::Add, inner, outer)?;
    let change = binary(trace, BinaryOp::Add, change, turned_change)?;
    binary(trace, BinaryOp::Add, value, change)
}

/// The conjugate transpose of matrices.
fn adjoint(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let x = turned(trace, x)?;
    match trace.node(x).dtype.kind() {
        base::types::Kind::Complex => record(trace, [x], |[x]| x.real().complex(-x.imag())),
        _ => Ok(x),
    }
}

/// Eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read.
fn spectrum(trace: &mut Trace, x: NodeId, is_lower: bool) -> Result<[NodeId; 2]> {
    let x = mirrored(trace, x, is_lower)?;
    eigh(trace, x, is_lower)
}

fn is_lower(call: &Call) -> Result<bool> {
    match call.text("UPLO")? {
        "L" | "l" => Ok(true),
        "U" | "u" => Ok(false),
        other => Err(error!(InvalidArgument, "UPLO {other:?}; want L or U")),
    }
}

/// The solution of a system. A right side of one axis less than the matrices is a vector for each of them.
fn solved<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (a, mut b, left) = (call.tensor("A")?, call.tensor("B")?, call.bool("left")?);
    let (of_a, of_b) = (call.dims(a), call.dims(b));
    let is_vector = of_b.len() == 1 || (of_b.len() + 1 == of_a.len() && of_b[..] == of_a[..of_a.len() - 1]);
    let trace = call.trace();
    if is_vector {
        b = expand_dims(trace, b, &[-1])?;
    }
    let made = match left || is_vector {
        true => solve(trace, a, b)?,
        false => {
            let (a, b) = (turned(trace, a)?, turned(trace, b)?);
            let made = solve(trace, a, b)?;
            turned(trace, made)?
        }
    };
    let made = if is_vector { squeeze(trace, made, &[-1])? } else { made };
    Ok(call.made(made))
}

fn decomposed<'p>(call: &mut Call<'_, 'p>, with_vectors: bool) -> Result<Value<'p>> {
    let (x, is_full) = (call.tensor("A")?, call.bool("full_matrices")?);
    if !with_vectors {
        let values = singular_values(call.trace(), x)?;
        return Ok(Value::List(vec![Value::Absent("the vectors"), call.made(values), Value::Absent("the vectors")]));
    }
    let trace = call.trace();
    let [u, mut values, vh] = svd(trace, x, is_full)?;
    if trace.ty(u).dims.last() != trace.ty(vh).dims.last() {
        // Vectors that are arbitrary have no derivative; the values have one of their own.
        values = singular_values(trace, x)?;
    }
    Ok(Value::List([u, values, vh].map(|node| call.made(node)).into()))
}

/// A triangular system whose batch axes broadcast.
fn by_triangle(trace: &mut Trace, a: NodeId, b: NodeId, triangle: Triangle) -> Result<NodeId> {
    let (of_a, of_b) = (trace.ty(a).dims, trace.ty(b).dims);
    if of_a.len() < 2 || of_b.len() < 2 {
        return Err(error!(InvalidArgument, "a system of {} and {}", trace.ty(a), trace.ty(b)));
    }
    let ((batch_of_a, matrix), (batch_of_b, side)) = (of_a.split_at(of_a.len() - 2), of_b.split_at(of_b.len() - 2));
    let batch = base::types::broadcast(batch_of_a, batch_of_b);
    let batch = batch.ok_or_else(|| error!(InvalidArgument, "sizes {batch_of_a:?} and {batch_of_b:?}"))?;
    let a = broadcast_to(trace, a, &[&batch[..], matrix].concat())?;
    let b = broadcast_to(trace, b, &[&batch[..], side].concat())?;
    triangular_solve(trace, a, b, triangle)
}

/// The solution of a system whose matrix has this Cholesky factor.
fn by_factor(trace: &mut Trace, factor: NodeId, b: NodeId, is_upper: bool) -> Result<NodeId> {
    let (none, adjoint) = (Transposition::NoTranspose, Transposition::Adjoint);
    let passes = if is_upper { [adjoint, none] } else { [none, adjoint] };
    passes.into_iter().try_fold(b, |b, transposition| {
        let triangle = Triangle { left_side: true, lower: !is_upper, unit_diagonal: false, transposition };
        by_triangle(trace, factor, b, triangle)
    })
}

/// Orders of norms of matrices.
#[derive(Clone, Copy)]
enum Order {
    Number(f64),
    Frobenius,
    Nuclear,
}

fn named_order(call: &Call) -> Result<Order> {
    match call.text("ord")? {
        "fro" => Ok(Order::Frobenius),
        "nuc" => Ok(Order::Nuclear),
        other => Err(error!(InvalidArgument, "ord {other:?}; want fro or nuc")),
    }
}

fn matrix_norm<'p>(call: &mut Call<'_, 'p>, order: Order) -> Result<Value<'p>> {
    let mut x = call.floats("self")?;
    if let Some(dtype) = call.dtype("dtype")? {
        x = cast(call.trace(), x, dtype)?;
    }
    let (rank, keep) = (call.dims(x).len(), call.bool("keepdim")?);
    let axes = call.optional_ints("dim")?.unwrap_or_else(|| vec![-2, -1]);
    let axes = axes.iter().map(|&axis| normalize_axis("dim", axis, rank)).collect::<Result<Vec<usize>>>()?;
    let &[rows, columns] = &axes[..] else {
        return Err(error!(InvalidArgument, "a norm of matrices over the axes {axes:?}"));
    };
    // The axes of matrices become the last ones.
    let rest = (0..rank).filter(|axis| !axes.contains(axis));
    let order_of_axes: Vec<i64> = rest.chain([rows, columns]).map(|axis| axis as i64).collect();
    let trace = call.trace();
    let x = transpose(trace, x, &order_of_axes)?;
    let last = rank as i64 - 1;
    let mut made = match order {
        Order::Frobenius => norm(trace, x, 2.0, &[last - 1, last], false)?,
        Order::Nuclear => {
            let values = singular_values(trace, x)?;
            reduce(trace, ReduceOp::Sum, values, &[last - 1], false)?
        }
        Order::Number(number) if number.abs() == 2.0 => {
            let values = singular_values(trace, x)?;
            let op = if number > 0.0 { ReduceOp::Max } else { ReduceOp::Min };
            reduce(trace, op, values, &[last - 1], false)?
        }
        Order::Number(number) if number.abs() == 1.0 || number.is_infinite() => {
            let size = unary(trace, UnaryOp::Abs, x)?;
            let summed = if number.is_infinite() { last } else { last - 1 };
            let sums = reduce(trace, ReduceOp::Sum, size, &[summed], false)?;
            let op = if number > 0.0 { ReduceOp::Max } else { ReduceOp::Min };
            reduce(trace, op, sums, &[last - 1], false)?
        }
        Order::Number(number) => return Err(error!(InvalidArgument, "ord {number} of a norm of matrices")),
    };
    if keep {
        let mut sorted = [rows as i64, columns as i64];
        sorted.sort_unstable();
        made = expand_dims(trace, made, &sorted)?;
    }
    Ok(call.made(made))
}

/// `linalg.norm` with a number or without an order: a norm of vectors over one axis or all, of matrices over two.
fn any_norm<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let (rank, order, axes) = (call.dims(x).len(), call.optional_float("ord")?, call.optional_ints("dim")?);
    let count = axes.as_ref().map_or(rank, Vec::len);
    match order {
        Some(order) if count == 2 => matrix_norm(call, Order::Number(order)),
        _ => super::reductions::norm(call, "ord"),
    }
}

fn cross<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let [a, b] = call.promoted(["self", "other"], false)?;
    let dims = base::types::broadcast(&call.dims(a), &call.dims(b));
    let dims = dims.ok_or_else(|| error!(InvalidArgument, "{} and {} do not broadcast", call.ty(a), call.ty(b)))?;
    let axis = call.axis("dim", dims.len())?;
    if dims.get(axis) != Some(&3) {
        return Err(error!(InvalidArgument, "a cross product over an axis of {:?}; want 3 elements", dims.get(axis)));
    }
    let trace = call.trace();
    let (a, b) = (broadcast_to(trace, a, &dims)?, broadcast_to(trace, b, &dims)?);
    let axis = axis as i64;
    let roll = |trace: &mut Trace, x: NodeId, by: i64| ops::shape::roll(trace, x, &[by], &[axis]);
    let (a1, b1, a2, b2) = (roll(trace, a, -1)?, roll(trace, b, -1)?, roll(trace, a, -2)?, roll(trace, b, -2)?);
    let made = record(trace, [a1, b2, a2, b1], |[a1, b2, a2, b1]| a1 * b2 - a2 * b1)?;
    Ok(call.made(made))
}

fn chain<'p>(call: &mut Call<'_, 'p>, name: &str) -> Result<Value<'p>> {
    let matrices = call.tensors(name)?;
    let Some((&first, rest)) = matrices.split_first() else {
        return Err(error!(InvalidArgument, "its argument {name} is empty"));
    };
    let trace = call.trace();
    let made = rest.iter().try_fold(first, |product, &matrix| matmul(trace, product, matrix))?;
    Ok(call.made(made))
}
