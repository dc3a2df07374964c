//! Chapter Factorizations: QR, LU, LDL, singular values, eigenvalues, linear systems and functions of matrices.

use super::abi::arguments::flag;
use super::abi::guard::guard_into;
use super::abi::pointers::Out;
use super::abi::types::{lxla_status, lxla_tensor};
use crate::tensor::record;
use ops::linalg;

/// Records the QR factors of the matrices in the last two axes of `a`, `[..., m, n]`: q with orthonormal columns and
/// the upper triangular r, with q r = a. With `full` 0, q is `[..., m, k]` and r `[..., k, n]` for k the smaller of m
/// and n; with 1, q is `[..., m, m]` and r `[..., m, n]`. The diagonal of r is real, with the signs of LAPACK's geqrf:
/// the reflection of a column leaves its negative norm there if the real part of the first element is not negative, and
/// its norm otherwise; a single real element stays as it is. Columns of q for which r has 0 on its diagonal are
/// arbitrary.
///
/// Takes floats and complex numbers; 8-bit and 16-bit floats are computed in f32. Each matrix with NaN or an infinity
/// has factors with NaN. On a mesh, every device computes whole arrays. Errors of q r and of q^H q are mostly below n
/// units in the last place, relative to the norm of a.
///
/// As all functions of this chapter but `lxla_eig` and `lxla_schur`: on `cpu` and on XLA's CPU plugins, whose programs call the same
/// code, and on other plugins as programs of StableHLO operations, which `lxla_computation_stablehlo` and
/// `lxla_computation_export` write too: Householder reflections and eliminations in panels of columns, and one-sided
/// Jacobi rotations for singular values and eigenvalues. Their errors are of the same size. The first use of a shape
/// takes seconds there, in which the program is compiled.
///
/// The derivative needs r to be regular; a with full 1 and m > n has none (UNIMPLEMENTED).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_qr(a: lxla_tensor, full: i32, out_q: Out<lxla_tensor>, out_r: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_qr", [out_q.named("out_q"), out_r.named("out_r")], || {
        let full = flag("full", full)?;
        record([("a", a.into())], |trace, [a]| linalg::qr(trace, a, full))
    })
}

/// Records the LU factors with partial pivoting of the matrices in the last two axes of `a`, `[..., m, n]`. `out_lu`
/// has the unit lower triangular factor below its diagonal, and the upper triangular one on and above it. `out_pivots`,
/// s32 `[..., min(m, n)]`: row i was exchanged with row pivots\[i\], in order, from 0 (LAPACK counts from 1).
/// `out_permutation`, s32 `[..., m]`: row i of l u is row permutation\[i\] of a.
///
/// A column without a pivot other than 0 is left as it is, so that singular matrices have finite factors. Takes floats
/// and complex numbers; 8-bit and 16-bit floats are computed in f32. The derivative is that with the pivots fixed.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_lu(
    a: lxla_tensor,
    out_lu: Out<lxla_tensor>,
    out_pivots: Out<lxla_tensor>,
    out_permutation: Out<lxla_tensor>,
) -> lxla_status {
    let out = [out_lu.named("out_lu"), out_pivots.named("out_pivots"), out_permutation.named("out_permutation")];
    guard_into("lxla_lu", out, || record([("a", a.into())], |trace, [a]| linalg::lu(trace, a)))
}

/// Records the factors of the symmetric matrices in the last two axes of `a`, `[..., n, n]`, or, with `hermitian` 1, of
/// the Hermitian ones, in the form of LAPACK's sytrf and hetrf for the lower triangle, with the pivots of Bunch and
/// Kaufman (1977), so that they need not be positive definite: P a P^T = l d l^T (l^H with `hermitian` 1), with l unit
/// lower triangular and d of blocks of one or two rows on the diagonal. The lower triangle of `a` is read; with
/// `hermitian` 1, imaginary parts of its diagonal are ignored. Of real matrices, `hermitian` makes no difference.
///
/// `out_factors`, `[..., n, n]`: d on the diagonal, and, in a block of two rows, below it; l below the diagonal; 0 above
/// it. `out_pivots`, s32 `[..., n]`, from 1 as LAPACK's and PyTorch's: p > 0 at k says that row and column k were
/// exchanged with p, in order; -p at k and k + 1 that these rows are a block, and that k + 1 was exchanged with p. As
/// LAPACK leaves them, exchanges are not applied to the columns of l before them. `lxla_ldl_solve` takes both results.
///
/// Takes floats and complex numbers; 8-bit and 16-bit floats are computed in f32. A column of zeros is left as it is, so
/// that singular matrices have finite factors, with a 0 in d. Errors of l d l^T are mostly below n units in the last
/// place, relative to the largest element of a. There is no derivative (UNIMPLEMENTED), as in PyTorch; that of
/// `lxla_solve` is by the matrix. How infinities and NaN propagate, and with them the pivots, depends on the device. On a
/// mesh, every device computes whole arrays.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_ldl(
    a: lxla_tensor,
    hermitian: i32,
    out_factors: Out<lxla_tensor>,
    out_pivots: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_ldl", [out_factors.named("out_factors"), out_pivots.named("out_pivots")], || {
        let hermitian = flag("hermitian", hermitian)?;
        record([("a", a.into())], |trace, [a]| linalg::ldl(trace, a, hermitian))
    })
}

/// Records the solution x of a x = b for the matrices of which `factors`, `[..., n, n]`, and `pivots`, s32 `[..., n]` with
/// the same batch axes, are the results of `lxla_ldl` with the same `hermitian`. `b` is a vector, or has matrices of n
/// rows in its last two axes; its batch axes broadcast with those of `factors`, dtypes promote. If d has a 0 on its
/// diagonal (outside of blocks of two rows), the whole solution for this matrix is NaN, as it is for pivots that
/// `lxla_ldl` does not give.
///
/// Takes floats and complex numbers; 8-bit and 16-bit floats are computed in f32. The solution is exact for a matrix that
/// differs from a by about n units in the last place. The derivative is that by `b`; there is none by `factors`
/// (UNIMPLEMENTED), as in PyTorch. On a mesh of CPU devices, every device computes whole arrays.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_ldl_solve(
    factors: lxla_tensor,
    pivots: lxla_tensor,
    b: lxla_tensor,
    hermitian: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_ldl_solve", out_tensor.named("out_tensor"), || {
        let hermitian = flag("hermitian", hermitian)?;
        let operands = [("factors", factors.into()), ("pivots", pivots.into()), ("b", b.into())];
        record(operands, |trace, [factors, pivots, b]| linalg::ldl_solve(trace, factors, pivots, b, hermitian))
    })
}

/// Records the singular value decomposition of the matrices in the last two axes of `a`, `[..., m, n]`: a = u diag(s)
/// vh. `out_s` is real, `[..., k]`, descending, for k the smaller of m and n. With `full` 0, u is `[..., m, k]` and vh
/// `[..., k, n]`; with 1 they are square. Vectors are determined up to a phase, and up to a rotation where singular
/// values are equal. Of complex matrices, the first column of vh is real if m >= n, otherwise the first row of u, as
/// LAPACK's gebrd leaves them; signs are arbitrary.
///
/// Takes floats and complex numbers; 8-bit and 16-bit floats are computed in f32. All results of a matrix with NaN or
/// an infinity are NaN. Errors of s and of u diag(s) vh are mostly below n units in the last place of the largest
/// singular value. Derivatives of vectors depend on the differences of the singular values, and are infinite or wrong
/// where these meet, as JAX's; with full 1 and m other than n there are none (UNIMPLEMENTED).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_svd(
    a: lxla_tensor,
    full: i32,
    out_u: Out<lxla_tensor>,
    out_s: Out<lxla_tensor>,
    out_vh: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_svd", [out_u.named("out_u"), out_s.named("out_s"), out_vh.named("out_vh")], || {
        let full = flag("full", full)?;
        record([("a", a.into())], |trace, [a]| linalg::svd(trace, a, full))
    })
}

/// Records the singular values of the matrices in the last two axes of `a`, descending, as `lxla_svd` has them, without
/// the vectors.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_singular_values(a: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_singular_values", out_tensor.named("out_tensor"), || {
        record([("a", a.into())], |trace, [a]| linalg::singular_values(trace, a))
    })
}

/// Records the eigenvalues, real and ascending, `[..., n]`, and the eigenvectors, as columns of `out_vectors`, of the
/// Hermitian matrices in the last two axes of `a`: a v = v diag(w). With `lower` 1 the lower triangle is read, with 0
/// the upper one; imaginary parts of the diagonal are ignored. Vectors are determined up to a phase, and up to a
/// rotation where eigenvalues are equal. Of complex matrices, the first row of v is real with `lower` 1, the last one
/// with 0, as LAPACK's heevd leaves them; signs are arbitrary.
///
/// Takes floats and complex numbers; 8-bit and 16-bit floats are computed in f32. All results of a matrix with NaN or
/// an infinity are NaN. Errors of w and of v diag(w) v^H are mostly below n units in the last place of the largest
/// absolute eigenvalue. The derivative of the vectors is infinite or NaN where eigenvalues meet.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_eigh(
    a: lxla_tensor,
    lower: i32,
    out_values: Out<lxla_tensor>,
    out_vectors: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_eigh", [out_values.named("out_values"), out_vectors.named("out_vectors")], || {
        let lower = flag("lower", lower)?;
        record([("a", a.into())], |trace, [a]| linalg::eigh(trace, a, lower))
    })
}

/// Records the eigenvalues `[..., n]` and the eigenvectors, as columns of `out_vectors`, of the square matrices in the
/// last two axes of `a`, complex numbers in any case: a v = v diag(w). Their order is arbitrary; of a real matrix,
/// conjugates are neighbours, the one with the positive imaginary part first. Each vector has norm 1. Its largest
/// element is real and positive, as LAPACK's geev leaves it; the vector of a real eigenvalue of a real matrix is real,
/// with an arbitrary sign.
///
/// Matrices are balanced before (LAPACK's gebal: rows and columns permuted, and scaled by powers of 2), so that a
/// badly scaled one has accurate results too. Errors of a v - v diag(w) are mostly below n units in the last place of
/// the norm of the balanced matrix.
///
/// Takes floats and complex numbers; 8-bit and 16-bit floats are computed in f32, with c64 results. All results of a
/// matrix with NaN or an infinity are NaN. The values have a derivative, the vectors have none (UNIMPLEMENTED). On `cpu`
/// and on XLA's CPU plugins; others refuse the step, and `lxla_computation_stablehlo` and `lxla_computation_export` the
/// computation (UNIMPLEMENTED).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_eig(a: lxla_tensor, out_values: Out<lxla_tensor>, out_vectors: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_eig", [out_values.named("out_values"), out_vectors.named("out_vectors")], || {
        record([("a", a.into())], |trace, [a]| linalg::eig(trace, a))
    })
}

/// Records the Schur forms of the square matrices in the last two axes of `a`: a = z t z^H with a unitary z. With
/// `complex_form` 1, or for complex `a`, t and z are complex and t is upper triangular, with the eigenvalues on its
/// diagonal. With 0, t and z of a real `a` are real, and t has blocks of two rows on its diagonal, one for each pair of
/// complex eigenvalues: `[x y; w x]` with y and w of opposite signs has x +- i sqrt(-y w), as LAPACK's gees leaves it.
/// The order of the eigenvalues is arbitrary.
///
/// Takes floats and complex numbers; 8-bit and 16-bit floats are computed in f32, and their complex forms are c64. All
/// results of a matrix with NaN or an infinity are NaN. Errors of z t z^H and of z^H z - 1 are mostly below n units in
/// the last place, of the norm of a and of 1. As in JAX, it has no derivative (UNIMPLEMENTED). On `cpu` and on XLA's CPU
/// plugins, as `lxla_eig`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_schur(
    a: lxla_tensor,
    complex_form: i32,
    out_t: Out<lxla_tensor>,
    out_z: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_schur", [out_t.named("out_t"), out_z.named("out_z")], || {
        let complex_form = flag("complex_form", complex_form)?;
        record([("a", a.into())], |trace, [a]| linalg::schur(trace, a, complex_form))
    })
}

/// Records the solution x of a x = b for the square matrices in the last two axes of `a`, by LU factors. `b` is a
/// vector, or has matrices in its last two axes; batch axes broadcast, dtypes promote. If a matrix is singular, so that
/// its upper factor has a 0 on the diagonal, its whole solution is NaN.
///
/// Takes floats and complex numbers; 8-bit and 16-bit floats are computed in f32. The solution is exact for a matrix
/// that differs from a by about n units in the last place, so that its error grows with the condition number of a.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_solve(a: lxla_tensor, b: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_solve", out_tensor.named("out_tensor"), || {
        record([("a", a.into()), ("b", b.into())], |trace, [a, b]| linalg::solve(trace, a, b))
    })
}

/// Records the solution x of a x = b for tridiagonal matrices a, `[..., n, n]`, of which `lower`, `diagonal` and
/// `upper`, `[..., n]`, are the diagonals: `lower[i]` is a[i, i - 1] and `upper[i]` is a[i, i + 1], as for
/// `jax.lax.linalg.tridiagonal_solve`; the first element of `lower` and the last one of `upper` are not read. `b` and the
/// result are `[..., n, k]`, with the batch axes of the diagonals. Eliminates with partial pivoting. The solution of a
/// singular system is NaN.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tridiagonal_solve(
    lower: lxla_tensor,
    diagonal: lxla_tensor,
    upper: lxla_tensor,
    b: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tridiagonal_solve", out_tensor.named("out_tensor"), || {
        let operands =
            [("lower", lower.into()), ("diagonal", diagonal.into()), ("upper", upper.into()), ("b", b.into())];
        record(operands, linalg::tridiagonal_solve)
    })
}

/// Records the inverses of the square matrices in the last two axes of `a`, by `lxla_solve`. The inverse of a singular
/// matrix is NaN.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_inverse(a: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_inverse", out_tensor.named("out_tensor"), || {
        record([("a", a.into())], |trace, [a]| linalg::inverse(trace, a))
    })
}

/// Records the determinants of the square matrices in the last two axes of `a`, `[...]`: the product of the diagonal of
/// the upper LU factor, which may overflow; see `lxla_slogdet`. It is 1 for n 0. Derivatives are the cofactors, also
/// where a matrix is singular; where products of pivots overflow, they are infinite or NaN.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_determinant(a: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_determinant", out_tensor.named("out_tensor"), || {
        record([("a", a.into())], |trace, [a]| linalg::determinant(trace, a))
    })
}

/// Records the sign of the determinants of the square matrices in the last two axes of `a` (for complex numbers the
/// phase, of absolute value 1) and the logarithm of their absolute values, which is real. The sign of a singular matrix
/// is 0, and its logarithm -infinity.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_slogdet(a: lxla_tensor, out_sign: Out<lxla_tensor>, out_log: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_slogdet", [out_sign.named("out_sign"), out_log.named("out_log")], || {
        record([("a", a.into())], |trace, [a]| linalg::slogdet(trace, a))
    })
}

/// Records the x of the smallest norm that minimises the norm of a x - b, for the matrices in the last two axes of `a`,
/// `[..., m, n]`: the pseudoinverse of a times b, with `rtol` as in `lxla_pinv`. `b` is a vector of m, or has matrices
/// of m rows in its last two axes; batch axes broadcast, dtypes promote. The default of
/// `rtol` is that of the promoted dtype.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_lstsq(a: lxla_tensor, b: lxla_tensor, rtol: f64, out_x: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_lstsq", out_x.named("out_x"), || {
        record([("a", a.into()), ("b", b.into())], |trace, [a, b]| linalg::lstsq(trace, a, b, rtol))
    })
}

/// Records the pseudoinverses (Moore-Penrose) `[..., n, m]` of the matrices in the last two axes of `a`, `[..., m, n]`,
/// by singular values. Those up to `rtol` times the largest one count as 0; a negative `rtol` is the larger of m and n
/// times the distance of 1 from the next number of the dtype. From 1 on, all count as 0. NaN is INVALID_ARGUMENT.
///
/// Takes floats and complex numbers; 8-bit and 16-bit floats are computed in f32. The pseudoinverse of a matrix with
/// NaN or an infinity is NaN. The derivative is that for a constant rank (Golub and Pereyra, 1973).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_pinv(a: lxla_tensor, rtol: f64, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_pinv", out_tensor.named("out_tensor"), || {
        record([("a", a.into())], |trace, [a]| linalg::pinv(trace, a, rtol))
    })
}

/// Records the number of singular values of the matrices in the last two axes of `a` that are greater than `rtol` times
/// the largest one, s32 `[...]`; `rtol` is that of `lxla_pinv`. It is 0 for a matrix with NaN or an infinity.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_matrix_rank(a: lxla_tensor, rtol: f64, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_matrix_rank", out_tensor.named("out_tensor"), || {
        record([("a", a.into())], |trace, [a]| linalg::matrix_rank(trace, a, rtol))
    })
}

/// Records the power `n` of the square matrices in the last two axes of `a`, by repeated squaring; of the inverse for a
/// negative n, and the identity for 0.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_matrix_power(a: lxla_tensor, n: i64, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_matrix_power", out_tensor.named("out_tensor"), || {
        record([("a", a.into())], |trace, [a]| linalg::matrix_power(trace, a, n))
    })
}

/// Records the exponentials of the square matrices in the last two axes of `a`, by a Padé approximant (of order 7 in
/// f32, 13 in f64) with scaling and squaring (Higham, 2005), as SciPy and JAX. Takes floats and complex numbers; 8-bit
/// and 16-bit floats are computed in f32. A matrix whose rows and columns differ in size is balanced by powers of 2
/// first (Osborne, 1960). Each squaring may double the relative error: a balanced matrix whose 1-norm is 2^k times the
/// approximant's limit (3.9 in f32, 5.4 in f64) has k squarings, and a NaN result if k exceeds 40.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_matrix_exponential(a: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_matrix_exponential", out_tensor.named("out_tensor"), || {
        record([("a", a.into())], |trace, [a]| linalg::matrix_exponential(trace, a))
    })
}
