//! Custom calls of LAPACK, cuSOLVER, hipSOLVER and XLA's own factorizations: functions of matrices in JAX's exports.

use super::{Call, Results, single};
use crate::import::attributes::Attributes;
use base::error;
use base::error::Result;
use base::types::{Kind, ScalarValue};
use ir::{BinaryOp, NodeId, Transposition};
use native::Triangle;
use ops::linalg::lapack;

/// Returns the routine that a target of JAX calls, without the letter of LAPACK for the element type, as `geqrf` for
/// `lapack_sgeqrf_ffi` and `cusolver_geqrf_ffi`; None for another target.
pub fn routine(target: &str) -> Option<&str> {
    let name = target.strip_suffix("_ffi")?;
    if let Some(name) = name.strip_prefix("lapack_") {
        return name.strip_prefix(['s', 'd', 'c', 'z']);
    }
    let name = ["cusolver_", "hipsolver_", "cusparse_", "hipsparse_"].iter().find_map(|of| name.strip_prefix(of))?;
    // Routines of other operands and results than LAPACK's of these names.
    (!["geev", "trsm"].contains(&name)).then_some(name)
}

/// Records a routine. Results that a routine leaves undefined are NaN.
pub fn record(routine: &str, call: Call) -> Result<Results> {
    let lacking = match routine {
        "potrf" => return cholesky(call),
        "trsm" => return triangular_solve(call),
        "geqrf" => return geqrf(call),
        "orgqr" | "ungqr" => return orgqr(call),
        "getrf" => return getrf(call),
        "gesdd" | "gesvd" | "gesvdj" | "gesvdp" => return svd(routine, call),
        "syevd" | "heevd" => return eigh(call),
        "geev" => return eig(call),
        "gees" => return schur(call),
        "gtsv" => return gtsv(call),
        "gtsv2" => return gtsv2(call),
        "gehrd" => "Hessenberg forms",
        "sytrd" | "hetrd" => "reductions to tridiagonal matrices",
        "geqp3" => "QR factorizations with pivoting",
        "ormqr" | "unmqr" => "products with the factor q of a QR factorization",
        _ => "such routine",
    };
    Err(error!(
        Unimplemented,
        "the library has no {lacking}; a kernel of this name can be registered by lxla_kernel_register"
    ))
}

/// Letter of LAPACK that a configuration has as its code.
fn letter(config: Attributes, name: &str) -> Result<char> {
    Ok(char::from(u8::try_from(config.integer(name)?).unwrap_or(0)))
}

/// One of the letters of LAPACK for true and false; an error for another one.
fn is_letter(config: Attributes, name: &str, [yes, no]: [char; 2]) -> Result<bool> {
    match letter(config, name)? {
        letter if letter == yes => Ok(true),
        letter if letter == no => Ok(false),
        other => Err(error!(InvalidArgument, "{name}: {other:?} given; want {yes} or {no}")),
    }
}

/// Whether a routine reads, or returns, the lower triangle: LAPACK's letter, or the flag of the libraries for GPUs.
fn is_lower(config: Attributes) -> Result<bool> {
    match config.get("uplo") {
        Some(_) => is_letter(config, "uplo", ['L', 'U']),
        None => {
            config.get("lower").ok_or_else(|| error!(InvalidArgument, "attributes uplo, lower: one is wanted"))?;
            config.bool("lower", true)
        }
    }
}

/// NaN of the type that the module states for a result, which the routine leaves undefined.
fn undefined(call: &mut Call, result: usize) -> Result<NodeId> {
    let ty = call.stated_type(result)?;
    ops::creation::full(call.trace(), &ty, ScalarValue::Float(f64::NAN))
}

/// `potrf`: the factor, and for each matrix whether it failed. A factor that does not exist is NaN.
fn cholesky(mut call: Call) -> Result<Results> {
    let ([a], config) = (call.exactly()?, call.wanted_config()?);
    let lower = is_lower(config)?;
    let trace = call.trace();
    let factor = ops::linalg::cholesky(trace, a, lower)?;
    Ok([factor, lapack::not_a_number(trace, factor, 2)?].into_iter().collect())
}

/// `trsm` of BLAS: the solution of a triangular system.
fn triangular_solve(mut call: Call) -> Result<Results> {
    let ([a, b], config) = (call.exactly()?, call.wanted_config()?);
    let transposition = match letter(config, "trans_x")? {
        'N' => Transposition::NoTranspose,
        'T' => Transposition::Transpose,
        'C' => Transposition::Adjoint,
        other => return Err(error!(InvalidArgument, "trans_x: {other:?} given; want N, T or C")),
    };
    let triangle = Triangle {
        left_side: is_letter(config, "side", ['L', 'R'])?,
        lower: is_letter(config, "uplo", ['L', 'U'])?,
        unit_diagonal: is_letter(config, "diag", ['U', 'N'])?,
        transposition,
    };
    Ok(single(ops::linalg::triangular_solve(call.trace(), a, b, triangle)?))
}

/// `gtsv`: the factors of a tridiagonal matrix, which are not computed; the solution, NaN for a singular matrix; and for
/// each matrix whether it is singular.
fn gtsv(mut call: Call) -> Result<Results> {
    let operands = call.exactly()?;
    let x = ops::linalg::tridiagonal_solve(call.trace(), operands)?;
    let factors = [undefined(&mut call, 0)?, undefined(&mut call, 1)?, undefined(&mut call, 2)?];
    let failed = lapack::not_a_number(call.trace(), x, 2)?;
    Ok(factors.into_iter().chain([x, failed]).collect())
}

/// `gtsv2` of cuSPARSE: the solution of a tridiagonal system.
fn gtsv2(mut call: Call) -> Result<Results> {
    let operands = call.exactly()?;
    Ok(single(ops::linalg::tridiagonal_solve(call.trace(), operands)?))
}

/// `geqrf`: the packed factors, and the factors of the reflections.
pub fn geqrf(mut call: Call) -> Result<Results> {
    let [a] = call.exactly()?;
    let [_, packed, factors] = lapack::reflectors(call.trace(), a)?;
    Ok([packed, factors].into_iter().collect())
}

/// `orgqr`: the product of reflections.
pub fn orgqr(call: Call) -> Result<Results> {
    call.one(|trace, [packed, factors]| lapack::householder_product(trace, packed, factors))
}

/// `getrf`: the factors, the pivots from 1, and the number of the first pivot that is 0.
fn getrf(mut call: Call) -> Result<Results> {
    let [a] = call.exactly()?;
    let trace = call.trace();
    let [factors, pivots, _] = ops::linalg::lu(trace, a)?;
    let pivots = ops::elementwise::binary_scalar(trace, BinaryOp::Add, pivots, ScalarValue::Signed(1), false)?;
    Ok([factors, pivots, lapack::first_zero_pivot(trace, factors)?].into_iter().collect())
}

/// `LuDecomposition`: the factors, the pivots from 0, and the permutation.
pub fn lu_of_xla(mut call: Call) -> Result<Results> {
    let [a] = call.exactly()?;
    ops::linalg::lu(call.trace(), a).map(Results::from_iter)
}

/// `lu_pivots_to_permutation`: the permutation of as many rows as the result has, of pivots from 0.
pub fn pivots_to_permutation(call: Call) -> Result<Results> {
    let rows = call.stated_type(0)?.dims.last().copied().unwrap_or_default();
    call.one(|trace, [pivots]| lapack::permutation_of_pivots(trace, pivots, rows))
}

/// Singular values. Results: the overwritten operand, the values, `u`, `vh` and whether it failed. `gesvdj` and
/// `gesvdp` return v instead of vh, `gesvd` of a wide matrix vh before u.
fn svd(routine: &str, mut call: Call) -> Result<Results> {
    let ([a], config) = (call.exactly()?, call.wanted_config()?);
    let (vectors, full) = match config.get("mode") {
        Some(_) => match letter(config, "mode")? {
            'A' => (true, true),
            'S' => (true, false),
            'N' => (false, false),
            other => return Err(error!(Unimplemented, "mode: {other:?} given; want A, S or N")),
        },
        None => (config.bool("compute_uv", true)?, config.bool("full_matrices", true)?),
    };
    let (overwritten, trace) = (undefined(&mut call, 0)?, &mut call.importer.trace);
    if !vectors {
        let values = ops::linalg::singular_values(trace, a)?;
        let failed = lapack::not_a_number(trace, values, 1)?;
        let rest = [undefined(&mut call, 2)?, undefined(&mut call, 3)?];
        return Ok([overwritten, values, rest[0], rest[1], failed].into_iter().collect());
    }
    let [u, values, vh] = ops::linalg::svd(trace, a, full)?;
    let failed = lapack::not_a_number(trace, values, 1)?;
    let [first, second] = match routine {
        "gesvdj" | "gesvdp" => [u, lapack::adjoint(trace, vh)?],
        _ if config.bool("transposed", false)? => [vh, u],
        _ => [u, vh],
    };
    Ok([overwritten, values, first, second, failed].into_iter().collect())
}

/// `syevd`: eigenvectors, eigenvalues, and whether it failed.
fn eigh(mut call: Call) -> Result<Results> {
    let ([a], config) = (call.exactly()?, call.wanted_config()?);
    let lower = is_lower(config)?;
    let has_vectors = config.get("mode").is_none() || is_letter(config, "mode", ['V', 'N'])?;
    let trace = call.trace();
    let [values, vectors] = ops::linalg::eigh(trace, a, lower)?;
    let failed = lapack::not_a_number(trace, values, 1)?;
    let vectors = if has_vectors { vectors } else { undefined(&mut call, 0)? };
    Ok([vectors, values, failed].into_iter().collect())
}

/// `Eigh`: eigenvectors and eigenvalues. The configuration is text: whether the lower triangle is read, whether the
/// values are sorted, and limits of the iteration.
pub fn eigh_of_xla(mut call: Call) -> Result<Results> {
    let [a] = call.exactly()?;
    let config = call.attributes.optional_text("backend_config")?.unwrap_or_default();
    let lower = match config.split(',').next() {
        Some("1") => true,
        Some("0") => false,
        _ => return Err(error!(InvalidArgument, "backend_config: want 1 or 0 first, as in \"1,1,100,1e-6\"")),
    };
    let [values, vectors] = ops::linalg::eigh(call.trace(), a, lower)?;
    Ok([vectors, values].into_iter().collect())
}

/// `geev`: eigenvalues, of real matrices their real and imaginary parts; left and right eigenvectors, complex numbers;
/// and whether it failed.
fn eig(mut call: Call) -> Result<Results> {
    let ([a], config) = (call.exactly()?, call.wanted_config()?);
    let (left, right) =
        (is_letter(config, "compute_left", ['V', 'N'])?, is_letter(config, "compute_right", ['V', 'N'])?);
    let is_complex = call.ty(a).dtype.kind() == Kind::Complex;
    let trace = call.trace();
    let [values, vectors] = ops::linalg::eig(trace, a)?;
    let mut results = match is_complex {
        true => single(values),
        false => [ops::elementwise::real(trace, values)?, ops::elementwise::imag(trace, values)?].into_iter().collect(),
    };
    let failed = lapack::not_a_number(trace, results[0], 1)?;
    let at = results.len();
    let of_left = if left { lapack::left_eigenvectors(trace, vectors)? } else { undefined(&mut call, at)? };
    let of_right = if right { vectors } else { undefined(&mut call, at + 1)? };
    results.extend([of_left, of_right, failed]);
    Ok(results)
}

/// `gees`: Schur forms; their unitary factors; eigenvalues, of real matrices their real and imaginary parts; the number
/// of selected eigenvalues, which is 0 without sorting; and whether it failed.
fn schur(mut call: Call) -> Result<Results> {
    let ([a], config) = (call.exactly()?, call.wanted_config()?);
    let has_vectors = is_letter(config, "mode", ['V', 'N'])?;
    if is_letter(config, "sort", ['S', 'N'])? {
        return Err(error!(Unimplemented, "sort: 'S' given; eigenvalues of Schur forms are not sorted, want N"));
    }
    let is_complex = call.ty(a).dtype.kind() == Kind::Complex;
    let selected = call.stated_type(if is_complex { 3 } else { 4 })?;
    let trace = call.trace();
    let [t, z] = ops::linalg::schur(trace, a, false)?;
    let failed = lapack::not_a_number(trace, t, 2)?;
    let mut results: Results = [t].into_iter().collect();
    let values = match is_complex {
        true => vec![lapack::diagonal(trace, t)?],
        false => lapack::schur_eigenvalues(trace, t)?.to_vec(),
    };
    let selected = ops::creation::full(trace, &selected, ScalarValue::Signed(0))?;
    results.push(if has_vectors { z } else { undefined(&mut call, 1)? });
    results.extend(values);
    results.extend([selected, failed]);
    Ok(results)
}
