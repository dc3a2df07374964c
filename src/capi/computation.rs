//! Chapter Computations: traced computations, their types and their text.

use super::abi::guard::{guard, guard_into};
use super::abi::pointers::{List, Out, OwnedText};
use super::abi::references::References;
use super::abi::types::{lxla_computation, lxla_status, lxla_tensor};
use super::tensor::handles;
use crate::computation::Computation;
use crate::error::Result;
use crate::lower;
use std::sync::Arc;

/// Handles of all computations.
static COMPUTATIONS: References<Computation> = References::new("computation");

/// Returns the computation behind a handle, or an error that names the argument.
pub(super) fn computation_of(argument: &str, computation: lxla_computation) -> Result<Arc<Computation>> {
    COMPUTATIONS.get(argument, computation.id)
}

/// Returns the handle of a new computation.
pub(super) fn new_computation(computation: Computation) -> lxla_computation {
    lxla_computation { id: COMPUTATIONS.insert(Arc::new(computation)) }
}

/// Extracts the computation of `results` (at least 1) as a function of `params`, which are distinct placeholders of
/// one device. The body consists of the operations that depend on a parameter, and of expressions of constants and
/// iota alone. Any other value that the body reads is captured: it becomes a hidden input, which is computed by the
/// step or sync that runs a call (if it is still pending), never copied to the host, and not donated while the
/// computation lives. Scalar operands are constants of the body. Other placeholders may be captured; they are
/// parameters of a computation traced around the calls.
///
/// On cpu, no plugin is needed: eager tensors are captured with their current values, including those of creation
/// functions such as `lxla_tensor_full`, and a call with eager arguments is evaluated immediately.
///
/// Moves no data and runs nothing. The tensors may be released afterwards. INVALID_ARGUMENT if a param has a value or
/// is listed twice, if the tensors are on different devices, or if computations call each other more than 1000 deep.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_trace(
    params: List<lxla_tensor>,
    n_params: usize,
    results: List<lxla_tensor>,
    n_results: usize,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_computation_trace", out_computation.named("out_computation"), || {
        let (params, results) = (handles("params", params, n_params)?, handles("results", results, n_results)?);
        Computation::trace(&params, &results).map(new_computation)
    })
}

/// Adds one reference.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_retain(computation: lxla_computation) -> lxla_status {
    guard("lxla_computation_retain", || COMPUTATIONS.retain(computation.id))
}

/// Removes one reference. Recorded calls stay valid.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_release(computation: lxla_computation) -> lxla_status {
    guard("lxla_computation_release", || COMPUTATIONS.release(computation.id))
}

/// Returns the numbers of parameters, results and captured values.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_info(
    computation: lxla_computation,
    out_params: Out<usize>,
    out_results: Out<usize>,
    out_captured: Out<usize>,
) -> lxla_status {
    let outputs =
        [out_params.named("out_params"), out_results.named("out_results"), out_captured.named("out_captured")];
    guard_into("lxla_computation_info", outputs, || {
        let computation = computation_of("computation", computation)?;
        Ok([computation.parameters().len(), computation.results().len(), computation.captured()])
    })
}

/// Returns a new tensor with the captured value at `index` among the hidden inputs, which is parameter `index` after
/// those of the computation in `main` of its StableHLO text.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_captured(
    computation: lxla_computation,
    index: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_computation_captured", out_tensor.named("out_tensor"), || {
        computation_of("computation", computation)?.capture(index)
    })
}

/// Returns the StableHLO text of a computation: a module whose `main` takes the parameters, then the captured values.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_stablehlo(computation: lxla_computation, out_text: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_computation_stablehlo", out_text.named("out_text"), || {
        OwnedText::new(lower::lower_body(computation_of("computation", computation)?.body())?)
    })
}
