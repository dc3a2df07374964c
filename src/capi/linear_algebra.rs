//! Chapter Linear algebra.

use super::arguments::{axes_of, flag, out, ranked};
use super::guard::guard;
use super::types::*;
use crate::ir::{FftOp, Transposition};
use crate::native::Triangle;
use crate::tensor;

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
