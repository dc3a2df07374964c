//! Records activations, normalizations and convolutions, by tensor handles.

use super::operands::of_one;
use super::operands::{operand_list, operands};
use super::recording::{finish, finish_all};
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ops;
use crate::ops::{ActivationOp, ConvolutionOptions};

/// Records an activation function.
pub fn activation(op: ActivationOp, x: TensorHandle) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::activation(trace, op, x))
}

/// Records the exponentials of `x`, divided by their sum over an axis.
pub fn softmax(x: TensorHandle, axis: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::softmax(trace, x, axis))
}

/// Records the logarithms of the softmax over an axis.
pub fn log_softmax(x: TensorHandle, axis: i64) -> Result<TensorHandle> {
    of_one("x", x, |trace, x| ops::log_softmax(trace, x, axis))
}

/// Records a normalization over axes. A scale or an offset with the handle 0 is left out.
pub fn layer_norm(
    x: TensorHandle,
    axes: &[i64],
    scale: TensorHandle,
    offset: TensorHandle,
    epsilon: f64,
) -> Result<TensorHandle> {
    let given: Vec<(String, TensorHandle)> = [("x", x), ("scale", scale), ("offset", offset)]
        .into_iter()
        .filter(|&(name, handle)| name == "x" || handle.0 != 0)
        .map(|(name, handle)| (name.to_string(), handle))
        .collect();
    let (mut state, nodes) = operand_list(given.into_iter())?;
    let mut rest = nodes[1..].iter().copied();
    let mut next = |handle: TensorHandle| if handle.0 != 0 { rest.next() } else { None };
    let (scale, offset) = (next(scale), next(offset));
    let id = ops::layer_norm(&mut state.trace, nodes[0], axes, scale, offset, epsilon)?;
    finish(state, id)
}

/// Records batch normalization for training. Returns the normalized tensor, its mean and its variance.
pub fn batch_norm_training(
    x: TensorHandle,
    scale: TensorHandle,
    offset: TensorHandle,
    epsilon: f64,
    feature_axis: i64,
) -> Result<Vec<TensorHandle>> {
    let (mut state, [x, scale, offset]) = operands([("x", x), ("scale", scale), ("offset", offset)])?;
    let results = ops::batch_norm_training(&mut state.trace, x, scale, offset, epsilon, feature_axis)?;
    finish_all(state, &results)
}

/// Records batch normalization by a given mean and variance.
pub fn batch_norm_inference(
    [x, scale, offset, mean, variance]: [TensorHandle; 5],
    epsilon: f64,
    feature_axis: i64,
) -> Result<TensorHandle> {
    let named = [("x", x), ("scale", scale), ("offset", offset), ("mean", mean), ("variance", variance)];
    let (mut state, nodes) = operands(named)?;
    let id = ops::batch_norm_inference(&mut state.trace, nodes, epsilon, feature_axis)?;
    finish(state, id)
}

/// Records the gradients of batch normalization: of its operand, of its scale and of its offset.
pub fn batch_norm_grad(
    [x, scale, mean, variance, grad_output]: [TensorHandle; 5],
    epsilon: f64,
    feature_axis: i64,
) -> Result<Vec<TensorHandle>> {
    let named = [("x", x), ("scale", scale), ("mean", mean), ("variance", variance), ("grad_output", grad_output)];
    let (mut state, nodes) = operands(named)?;
    let results = ops::batch_norm_grad(&mut state.trace, nodes, epsilon, feature_axis)?;
    finish_all(state, &results)
}

/// Records a convolution: windows of the left operand times the kernel on the right.
pub fn convolution(lhs: TensorHandle, rhs: TensorHandle, options: &ConvolutionOptions) -> Result<TensorHandle> {
    let (mut state, [lhs, rhs]) = operands([("lhs", lhs), ("rhs", rhs)])?;
    let id = ops::convolution(&mut state.trace, lhs, rhs, options)?;
    finish(state, id)
}
