//! Calls of the callers' kernels on tensors.

use super::operands::{numbered, operand_list};
use super::results::finish_all;
use crate::device::{Parameters, TensorHandle, device_of};
use base::error;
use base::error::Result;
use base::types::TensorType;
use engine::kernels::Kernel;
use ops::control;
use std::sync::Arc;

/// Records a call of a kernel with inputs that are on one device.
pub fn apply_kernel(
    kernel: &Arc<Kernel>,
    inputs: &[TensorHandle],
    results: &[TensorType],
    json: &str,
) -> Result<Vec<TensorHandle>> {
    if inputs.is_empty() {
        return Err(error!(InvalidArgument, "n_inputs: 0 given; want at least 1: the inputs determine the device"));
    }
    let (mut state, nodes) = operand_list(numbered("inputs", inputs))?;
    if !state.is_native() && !state.owner()?.shared.runtime().engine.calls_host() {
        return Err(error!(
            Unimplemented,
            "kernel {}: the plugin of {} cannot call it (it has no FFI extension for CPUs)",
            kernel.target,
            state.owner()?.place
        ));
    }
    // An ordered call that steps make depends on the one before. Those of a computation are ordered when it is traced.
    let parameters = if kernel.has_effects { state.parameters_of(&nodes) } else { Parameters::default() };
    let after = if kernel.ordered && parameters.is_empty() { state.last_effect() } else { None };
    let made = control::kernel(&mut state.trace, kernel, &nodes, after, results, json)?;
    let mut tensors = finish_all(state, &made)?;
    if kernel.has_effects {
        let done = tensors.pop().expect("the last result of a call with effects");
        device_of("out_tensors", done)?.keep_effect(done, kernel.ordered, parameters);
    }
    Ok(tensors)
}
