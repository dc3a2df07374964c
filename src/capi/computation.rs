//! Chapter Computations: traced computations, their types and their text.

use super::abi::guard::{guard, guard_into};
use super::abi::pointers::{List, Out, OwnedText};
use super::abi::references::References;
use super::abi::types::{lxla_computation, lxla_device, lxla_env, lxla_status, lxla_tensor};
use super::device::{kept_device, kind_of};
use super::tensor::handles;
use crate::computation::Computation;
use crate::device::scopes;
use crate::env::{self, DeviceKind};
use base::error::Result;
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

/// Begins to trace a computation in this thread: what the thread records until `lxla_tracing_end` belongs to it, whatever
/// it depends on, also on cpu, where nothing is evaluated meanwhile. A tensor from before that is an operand is captured
/// with its value of that time, as by `lxla_computation_trace`. So branches and bodies of loops contain their work, also
/// where it depends on no parameter.
///
/// Traces belong to a thread and nest; to an inner trace, the tensors of an outer one are from before. Until the end,
/// these calls of the thread are FAILED_PRECONDITION: operations in place on tensors from before, reads, syncs, steps,
/// saves, and copies of values to another device. Tensors that were made in the trace have no value after it, unless they
/// depend on nothing and are on an XLA device. `max_pending_ops` does not limit a trace.
///
/// `device` is the device of the computation; UNSPECIFIED is the device of its parameters and results.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tracing_begin(env: lxla_env, device: lxla_device) -> lxla_status {
    guard("lxla_tracing_begin", || {
        let place = match kind_of(device)? {
            DeviceKind::Unspecified => None,
            _ => kept_device(env, device)?.device.state().place().map(|(_, place)| place),
        };
        scopes::begin(env::resolve(env.id)?.number(), place);
        Ok(())
    })
}

/// Ends the innermost trace of this thread, and returns the computation of `results` (at least 1) as a function of
/// `params`: distinct placeholders of one device, made in the trace or before it. On an error, the trace goes on: end it
/// by another call, or by `lxla_tracing_abandon`.
///
/// FAILED_PRECONDITION if the thread traces nothing; INVALID_ARGUMENT if a param has a value or is listed twice, if the
/// tensors are on different devices or not on the device of the trace, or if computations call each other more than 1000
/// deep.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tracing_end(
    params: List<lxla_tensor>,
    n_params: usize,
    results: List<lxla_tensor>,
    n_results: usize,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_tracing_end", out_computation.named("out_computation"), || {
        let (params, results) = (handles("params", params, n_params)?, handles("results", results, n_results)?);
        Computation::end_scope(&params, &results).map(new_computation)
    })
}

/// Ends the innermost trace of this thread without a computation. FAILED_PRECONDITION if the thread traces nothing.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tracing_abandon() -> lxla_status {
    guard("lxla_tracing_abandon", Computation::abandon_scope)
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
        OwnedText::new(computation_of("computation", computation)?.stablehlo()?)
    })
}
