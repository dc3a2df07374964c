//! Records optimization barriers and custom calls, by tensor handles.

use super::operands::{numbered, operand_list};
use super::recording::finish_all;
use crate::device::TensorHandle;
use crate::error::Result;
use crate::ops::CustomCall;
use crate::{error, ops};

/// Records an optimization barrier: returns the same values, none of which is available before all are computed.
pub fn optimization_barrier(tensors: &[TensorHandle]) -> Result<Vec<TensorHandle>> {
    if tensors.is_empty() {
        return Err(error!(InvalidArgument, "n: 0 tensors given; want at least 1"));
    }
    let (mut state, nodes) = operand_list(numbered("tensors", tensors))?;
    let results = ops::optimization_barrier(&mut state.trace, &nodes)?;
    finish_all(state, &results)
}

/// Records a custom call: the plugin looks the target up by its name.
pub fn custom_call(call: &CustomCall, operands: &[TensorHandle]) -> Result<Vec<TensorHandle>> {
    if operands.is_empty() {
        return Err(error!(InvalidArgument, "n_operands: 0 given; want at least 1, which says on what device it runs"));
    }
    let (mut state, nodes) = operand_list(numbered("operands", operands))?;
    let results = ops::custom_call(&mut state.trace, call, &nodes)?;
    finish_all(state, &results)
}
