//! Recording normalizations.

use super::operands::operands;
use super::recording::{finish, finish_all};
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ops;

/// Normalized over its batch; its mean; its variance.
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

/// Normalized by a mean and a variance.
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

/// The gradients of what was normalized, of its scale and of its offset.
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
