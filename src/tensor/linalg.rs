//! Records products, factorizations, norms and Fourier transforms, by tensor handles.

use super::operands::{numbered, operand_list, operands};
use super::recording::finish;
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ir::FftOp;
use crate::native::Triangle;
use crate::ops::DotAxes;
use crate::types::DType;
use crate::{error, ops};

/// Records a matrix product by NumPy's rules for matmul.
pub fn matmul(lhs: TensorHandle, rhs: TensorHandle) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::matmul(&mut state.trace, lhs, rhs)?;
    finish(state, id)
}

/// Records a product of two tensors, summed over chosen axes.
pub fn dot_general(lhs: TensorHandle, rhs: TensorHandle, axes: &DotAxes, dtype: Option<DType>) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::dot_general(&mut state.trace, lhs, rhs, axes, dtype)?;
    finish(state, id)
}

/// Records the sum of products that an einsum equation describes.
pub fn einsum(equation: &str, tensors: &[TensorHandle]) -> Result<TensorHandle> {
    if tensors.is_empty() {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    let (mut state, nodes) = operand_list(numbered("tensors", tensors))?;
    let id = ops::einsum(&mut state.trace, equation, &nodes)?;
    finish(state, id)
}

/// Records a Cholesky factor.
pub fn cholesky(a: TensorHandle, lower: bool) -> Result<TensorHandle> {
    let (mut state, [a]) = operands([("a", a)])?;
    let id = ops::cholesky(&mut state.trace, a, lower)?;
    finish(state, id)
}

/// Records the solution of a triangular system.
pub fn triangular_solve(a: TensorHandle, b: TensorHandle, triangle: Triangle) -> Result<TensorHandle> {
    let (mut state, [a, b]) = operands([("a", a), ("b", b)])?;
    let id = ops::triangular_solve(&mut state.trace, a, b, triangle)?;
    finish(state, id)
}

/// Records a norm over axes.
pub fn norm(x: TensorHandle, order: f64, axes: &[i64], keep_dims: bool) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = ops::norm(&mut state.trace, x, order, axes, keep_dims)?;
    finish(state, id)
}

/// Records a Fourier transform of the last `axes` axes. Without `lengths`, the axes keep their lengths.
pub fn fft(op: FftOp, x: TensorHandle, lengths: Option<&[i64]>, axes: usize) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let id = match lengths {
        Some(lengths) => ops::fft(&mut state.trace, op, x, lengths)?,
        None => {
            let lengths = ops::fft_lengths(op, &state.trace.ty(x), axes)?;
            ops::fft(&mut state.trace, op, x, &lengths)?
        }
    };
    finish(state, id)
}
