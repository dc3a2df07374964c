//! Chapter Linear algebra: products, factorizations, norms, Fourier transforms.

use super::abi::arguments::{axes_of, flag, optional_dtype, optional_ranked, ranked};
use super::abi::guard::guard_into;
use super::abi::pointers::{List, Out, Text};
use super::abi::types::{lxla_status, lxla_tensor};
use super::tensor::some_handles;
use crate::tensor::{record, record_list};
use ir::{FftOp, Transposition};
use native::Triangle;
use ops::linalg::{self, DotAxes};

/// Records a matrix product by the rules of NumPy's matmul: `[..., m, k]` and `[..., k, n]` give `[..., m, n]`. Batch
/// axes broadcast; an operand of rank 1 is a vector; scalars are INVALID_ARGUMENT. Dtypes promote.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_matmul(lhs: lxla_tensor, rhs: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_matmul", out_tensor.named("out_tensor"), || {
        let operands = [("lhs", lhs.into()), ("rhs", rhs.into())];
        record(operands, |trace, [lhs, rhs]| linalg::matmul(trace, lhs, rhs))
    })
}

/// Records the products of groups of rows with a matrix for each group, as `jax.lax.ragged_dot`: lhs is `[m, k]`, rhs
/// `[g, k, n]`, and `group_sizes` are g integers (below 0 they count as 0). The first `group_sizes[0]` rows of lhs are
/// multiplied by `rhs[0]`, those after them by `rhs[1]`, and so on; rows after the last group give 0. The result is
/// `[m, n]`, of the common dtype (not pred), and as accurate as `lxla_matmul`. Infinities and NaN of one group do not
/// reach the results and the derivatives of other groups. All rows are multiplied by each matrix, so that the time is
/// proportional to g; the memory is not.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_ragged_dot(
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    group_sizes: lxla_tensor,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_ragged_dot", out_tensor.named("out_tensor"), || {
        let operands = [("lhs", lhs.into()), ("rhs", rhs.into()), ("group_sizes", group_sizes.into())];
        record(operands, |trace, [lhs, rhs, group_sizes]| linalg::ragged_dot(trace, lhs, rhs, group_sizes))
    })
}

/// Records the dot_general of StableHLO. `n_batching` axes of each operand are batch axes, `n_contracting` axes of
/// each are summed over; axes at the same position of two lists are paired and must have one size. The result has the
/// batch axes, then the remaining axes of lhs, then those of rhs.
///
/// `dtype` is the dtype of the accumulation and the result, to which the common dtype of the operands must promote
/// (f32 for bf16, s32 for s8); 0 selects the common dtype. Integers wrap. INVALID_ARGUMENT for pred. A sum of no
/// products is 0.
///
/// For floats, the error of an element is typically 1 or 2 units in the last place of the sum of the absolute values
/// of the products, and at most about as many units as there are products; the order of summation depends on the
/// device.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_dot_general(
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    lhs_batching: List<i64>,
    rhs_batching: List<i64>,
    n_batching: usize,
    lhs_contracting: List<i64>,
    rhs_contracting: List<i64>,
    n_contracting: usize,
    dtype: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_dot_general", out_tensor.named("out_tensor"), || {
        let axes = DotAxes {
            lhs_batching: ranked("lhs_batching", lhs_batching, n_batching)?,
            rhs_batching: ranked("rhs_batching", rhs_batching, n_batching)?,
            lhs_contracting: ranked("lhs_contracting", lhs_contracting, n_contracting)?,
            rhs_contracting: ranked("rhs_contracting", rhs_contracting, n_contracting)?,
        };
        let dtype = optional_dtype(dtype)?;
        let operands = [("lhs", lhs.into()), ("rhs", rhs.into())];
        record(operands, |trace, [lhs, rhs]| linalg::dot_general(trace, lhs, rhs, &axes, dtype))
    })
}

/// Records the sum of products of `n` tensors (at least 1) that an equation in NumPy's notation describes: "ij,jk->ik"
/// is a matrix product, "ii->i" a diagonal, "...ij->...ji" transposes the last two axes. Indices that do not follow the
/// arrow are summed over. Without an arrow, the result has the axes of the ellipses, then the indices that occur once,
/// in alphabetical order. Indices that occur several times in one tensor take its diagonal: "ijji->ij", "iij->j".
/// Ellipses broadcast, and an index of size 1 broadcasts to its size in other tensors; spaces are ignored.
///
/// All tensors are converted to their promoted dtype (not pred). Three or more tensors are multiplied pairwise, small
/// intermediate results first; f16 and bf16 are rounded after each product. INVALID_ARGUMENT, with the equation in
/// the message, if the equation is malformed or does not fit the tensors.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_einsum(
    equation: Text,
    tensors: List<lxla_tensor>,
    n: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_einsum", out_tensor.named("out_tensor"), || {
        let (equation, tensors) = (equation.get("equation")?, some_handles(tensors, n)?);
        record_list([], ("tensors", &tensors), |trace, [], tensors| linalg::einsum(trace, equation, tensors))
    })
}

/// Records the Cholesky factors of the Hermitian matrices in the last two axes of `a`, `[..., n, n]`: with `lower` 1
/// the lower triangular l with l l^H = a, read from the lower triangle of a; with 0 the upper triangular u with u^H u
/// = a, read from the upper triangle. The imaginary parts of the diagonal are ignored. The other triangle of the
/// result is 0. If a matrix is not positive definite or not finite, its whole triangle is NaN; other matrices of the
/// batch are unaffected.
///
/// Takes floats and complex numbers. The error of l l^H is at most n units in the last place of the largest element
/// of the matrix, and mostly much less.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_cholesky(a: lxla_tensor, lower: i32, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_cholesky", out_tensor.named("out_tensor"), || {
        let lower = flag("lower", lower)?;
        record([("a", a.into())], |trace, [a]| linalg::cholesky(trace, a, lower))
    })
}

/// Records the solution x of op(a) x = b (`left_side` 1) or x op(a) = b (`left_side` 0), where `transpose_a`, one of
/// `LXLA_TRANSPOSE_*`, is op. The last two axes of `a` are triangular matrices; with `lower` 1 only their lower
/// triangle is read, with 0 only the upper one. With `unit_diagonal` 1, the diagonal is assumed to be 1, and not
/// read. `b` has the batch axes of a.
///
/// Takes floats and complex numbers, which promote. If the diagonal of a matrix contains 0, its whole solution is
/// NaN; how other infinities and NaN propagate depends on the device. The solution is exact for a matrix that differs
/// from a by about n units in the last place, so that its error grows with the condition number of a. On a mesh of CPU
/// devices, every device computes whole arrays.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_triangular_solve(
    a: lxla_tensor,
    b: lxla_tensor,
    left_side: i32,
    lower: i32,
    unit_diagonal: i32,
    transpose_a: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_triangular_solve", out_tensor.named("out_tensor"), || {
        let triangle = Triangle {
            left_side: flag("left_side", left_side)?,
            lower: flag("lower", lower)?,
            unit_diagonal: flag("unit_diagonal", unit_diagonal)?,
            transposition: Transposition::from_number(transpose_a)?,
        };
        record([("a", a.into()), ("b", b.into())], |trace, [a, b]| linalg::triangular_solve(trace, a, b, triangle))
    })
}

/// Records the vector norm over axes: sum(|x|^ord)^(1/ord); the number of nonzero elements for ord 0, the largest |x|
/// for infinity, the smallest for -infinity. Takes floats and complex numbers; the result is real. Squares and powers
/// may overflow to infinity, as in NumPy. The norm of no elements is 0, and infinity for ord < 0. For ord between -1
/// and 1, errors grow as 1/ord.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_norm(
    x: lxla_tensor,
    ord: f64,
    axes: List<i64>,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_norm", out_tensor.named("out_tensor"), || {
        let axes = axes_of(x, axes, n_axes)?;
        let keep_dims = flag("keep_dims", keep_dims)?;
        record([("x", x.into())], |trace, [x]| linalg::norm(trace, x, ord, &axes, keep_dims))
    })
}

/// Records a Fourier transform, one of `LXLA_FFT_*`, of the last `n_lengths` axes (1 to 3); other axes are batch
/// axes. FFT and IFFT take complex numbers and keep the shape. RFFT takes f32 or f64 and returns the first n/2 + 1
/// complex elements along the last axis, which determine the others. IRFFT is its inverse: it takes n/2 + 1 elements
/// along the last axis, and returns n real ones; the imaginary part of the first element, and for even n of the last,
/// is ignored. Inverse transforms are divided by the number of elements.
///
/// `lengths` are the sizes of the transformed axes of x, or for IRFFT of the result, where they tell even from odd n.
/// NULL: those of x, and for IRFFT an even n. Any size is supported, including primes.
///
/// The error is at most about 8 units in the last place of the largest element of the result (measured: 5, up to
/// 65536 elements). Which results of a line that contains an infinity or NaN are infinite or NaN depends on the
/// device.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_fft(
    op: i32,
    x: lxla_tensor,
    lengths: List<i64>,
    n_lengths: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_fft", out_tensor.named("out_tensor"), || {
        let lengths = optional_ranked("lengths", lengths, n_lengths)?;
        let op = FftOp::from_number(op)?;
        record([("x", x.into())], |trace, [x]| match lengths {
            Some(lengths) => linalg::fft(trace, op, x, lengths),
            None => {
                let lengths = linalg::fft_lengths(op, &trace.ty(x), n_lengths)?;
                linalg::fft(trace, op, x, &lengths)
            }
        })
    })
}
