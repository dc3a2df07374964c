//! Recording products of tensors.

use super::operands::{numbered, operand_list, operands};
use super::recording::finish;
use crate::device::TensorHandle;
use crate::error;
use crate::error::Result;
use crate::ops::{self, ConvolutionOptions, DotAxes};
use crate::types::DType;

/// A product over chosen axes.
pub fn dot_general(lhs: TensorHandle, rhs: TensorHandle, axes: &DotAxes, dtype: Option<DType>) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::dot_general(&mut state.trace, lhs, rhs, axes, dtype)?;
    finish(state, id)
}

/// The sum of products that an equation describes.
pub fn einsum(equation: &str, tensors: &[TensorHandle]) -> Result<TensorHandle> {
    if tensors.is_empty() {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    let (mut state, nodes) = operand_list(numbered("tensors", tensors))?;
    let id = ops::einsum(&mut state.trace, equation, &nodes)?;
    finish(state, id)
}

/// Windows of the left operand times the right one.
pub fn convolution(lhs: TensorHandle, rhs: TensorHandle, options: &ConvolutionOptions) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::convolution(&mut state.trace, lhs, rhs, options)?;
    finish(state, id)
}
