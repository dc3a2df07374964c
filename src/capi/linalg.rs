//! Chapter Linear algebra: products, factorizations, norms, Fourier transforms.

use super::abi::arguments::{axes_of, flag, optional_dtype, out, ranked, text};
use super::abi::guard::guard;
use super::tensor::handles;
use super::types::*;
use crate::ir::{FftOp, Transposition};
use crate::native::Triangle;
use crate::ops::DotAxes;
use crate::tensor;
use std::ffi::c_char;

/// Records a matrix product by NumPy's rules: batch axes broadcast, a rank-1 operand is a vector, scalars are refused. f32
/// is multiplied in full precision on every device. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_matmul(lhs: lxla_tensor, rhs: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_matmul", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::matmul(lhs.into(), rhs.into())?.into())
    })
}

/// Records a product of two tensors, as StableHLO's dot_general: `n_batching` axes of each (negative: from the end) are
/// batches, `n_contracting` axes of each are summed over; axes that stand at the same place in two lists belong together and
/// are of one size. The result has the batch axes, then the other axes of lhs, then those of rhs.
///
/// `dtype` 0: the operands' common dtype. Another one, to which that promotes (f32 for bf16, s32 for s8), is what the
/// product is computed and given in. f16 and bf16 are summed up in f32 and rounded once, f32 is multiplied in full precision
/// on every device, integers wrap; pred is refused. A sum over nothing is 0. Gives one reference. Any thread.
///
/// Floats: the error of an element is at most about as many units in the last place of the sum of the products' absolute
/// values as there are products, and most often 1 or 2; in which order they are added is up to the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_dot_general(
    lhs: lxla_tensor,
    rhs: lxla_tensor,
    lhs_batching: *const i64,
    rhs_batching: *const i64,
    n_batching: usize,
    lhs_contracting: *const i64,
    rhs_contracting: *const i64,
    n_contracting: usize,
    dtype: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_dot_general", || {
        // SAFETY: the caller's promise, see `capi`.
        let (axes, place) = unsafe {
            let axes = DotAxes {
                lhs_batching: ranked("lhs_batching", lhs_batching, n_batching)?,
                rhs_batching: ranked("rhs_batching", rhs_batching, n_batching)?,
                lhs_contracting: ranked("lhs_contracting", lhs_contracting, n_contracting)?,
                rhs_contracting: ranked("rhs_contracting", rhs_contracting, n_contracting)?,
            };
            (axes, out("out_tensor", out_tensor)?)
        };
        place.set(tensor::dot_general(lhs.into(), rhs.into(), &axes, optional_dtype(dtype)?)?.into())
    })
}

/// Records the sum of products of `n` tensors (at least 1) that an equation in NumPy's notation describes: "ij,jk->ik" is a
/// matrix product, "ii->i" a diagonal, "...ij->...ji" a transposition of the last two axes. An index that does not stand
/// behind the arrow is summed over. Without an arrow the result has the ellipses' axes, then the indices that stand once, in
/// alphabetical order. Ellipses broadcast, and 1 goes with any size of an index in other tensors; spaces are skipped.
///
/// dtypes promote to one, in which all is computed (not pred). Three and more tensors are multiplied two at a time, small
/// results first; f16 and bf16 are rounded after each product. Precision is that of `lxla_dot_general`. INVALID_ARGUMENT
/// quotes the equation. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_einsum(
    equation: *const c_char,
    tensors: *const lxla_tensor,
    n: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_einsum", || {
        // SAFETY: the caller's promise, see `capi`.
        let (equation, tensors, place) =
            unsafe { (text("equation", equation)?, handles("tensors", tensors, n)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::einsum(equation, &tensors)?.into())
    })
}

/// Records the Cholesky factors of Hermitian matrices, which are the last two axes of `a`: with `lower` 1 the lower l with
/// l l^H = a, read from a's lower triangle alone, else the upper u with u^H u = a, read from the upper one. Of the diagonal
/// the real part is read. The other triangle of the result is 0. A matrix that is not positive definite, or has an infinity
/// or NaN, gives NaN in the whole triangle; the other matrices of the batch are as they should be.
///
/// Floats and complex numbers; f16 and bf16 are computed in f32. l l^H differs from a by at most n units in the last place of
/// the largest element of an n x n matrix, and mostly by much less. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_cholesky(a: lxla_tensor, lower: i32, out_tensor: *mut lxla_tensor) -> lxla_status {
    guard("lxla_cholesky", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(tensor::cholesky(a.into(), flag("lower", lower)?)?.into())
    })
}

/// Records the solution x of op(a) x = b (`left_side` 1) or x op(a) = b (0), where op is one of `LXLA_TRANSPOSE_*`. The last
/// two axes of `a` are triangular matrices, of which one triangle is read (`lower`); with `unit_diagonal` 1 their diagonal
/// is taken to be 1, and not read. `b` has a's batch axes. A matrix with a 0 on its diagonal gives NaN in all of its
/// solution; where else infinities and NaN spread to is up to the device.
///
/// Floats and complex numbers, which promote; f16 and bf16 are computed in f32. The solution is that of a matrix that differs
/// by about n units in the last place: its error grows with a's condition. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_triangular_solve(
    a: lxla_tensor,
    b: lxla_tensor,
    left_side: i32,
    lower: i32,
    unit_diagonal: i32,
    transpose_a: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_triangular_solve", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        let triangle = Triangle {
            left_side: flag("left_side", left_side)?,
            lower: flag("lower", lower)?,
            unit_diagonal: flag("unit_diagonal", unit_diagonal)?,
            transposition: Transposition::from_number(transpose_a)?,
        };
        place.set(tensor::triangular_solve(a.into(), b.into(), triangle)?.into())
    })
}

/// Records the norm of vectors along `n_axes` axes (negative: from the end), or along all axes if `axes` is NULL: the sum of |x|^ord to the
/// power of 1/ord; of 0 how many elements are not 0, of infinity the largest and of -infinity the smallest |x|. With
/// `keep_dims` 1 the axes stay, of size 1. Floats, and complex numbers, whose norms are real; f16 and bf16 are computed in
/// f32 and rounded once. Squares and powers that overflow give infinity, as in NumPy. Of no elements it is 0, with ord < 0
/// infinity. With an ord between -1 and 1 errors grow as 1/ord. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_norm(
    x: lxla_tensor,
    ord: f64,
    axes: *const i64,
    n_axes: usize,
    keep_dims: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_norm", || {
        // SAFETY: the caller's promise, see `capi`.
        let (over, place) = unsafe { (axes_of(x, axes, n_axes)?, out("out_tensor", out_tensor)?) };
        place.set(tensor::norm(x.into(), ord, &over, flag("keep_dims", keep_dims)?)?.into())
    })
}

/// Records a Fourier transform, one of `LXLA_FFT_*`, of the last `n_lengths` axes, of which there are 1 to 3; the axes before
/// them are batches. FFT and IFFT take complex numbers and keep the shape. RFFT takes f32 or f64, and gives the first n/2 + 1
/// complex elements of the last axis, of which the others follow. IRFFT is its inverse: of the last axis it takes n/2 + 1
/// elements, and gives n reals; the imaginary part of its first element, and for even n of the last, is not looked at.
///
/// `lengths` are those of x's axes, of IRFFT those of the result (n or n + 1 elements have the same half). NULL: x's own, and
/// for IRFFT an even one. Any length, also primes; an inverse transform is divided by the number of elements.
///
/// The error is within about 8 units in the last place of the largest element of the result (measured: 5, up to 65536
/// elements). With an infinity or NaN in a line, which of its results are infinite or NaN is up to the device. Gives one
/// reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_fft(
    op: i32,
    x: lxla_tensor,
    lengths: *const i64,
    n_lengths: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_fft", || {
        // SAFETY: the caller's promise, see `capi`.
        let (lengths, place) = unsafe {
            let lengths = if lengths.is_null() { None } else { Some(ranked("lengths", lengths, n_lengths)?) };
            (lengths, out("out_tensor", out_tensor)?)
        };
        place.set(tensor::fft(FftOp::from_number(op)?, x.into(), lengths, n_lengths)?.into())
    })
}
