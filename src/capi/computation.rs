//! Chapter Computations: traced computations, their types and their text.

use super::abi::arguments::{Out, out, owned_text};
use super::abi::guard::guard;
use super::abi::references::References;
use super::tensor::handles;
use super::types::*;
use crate::computation::Computation;
use crate::error::Result;
use crate::lower;
use std::ffi::c_char;
use std::sync::Arc;

/// All traced computations with a counted reference.
static COMPUTATIONS: References<Computation> = References::new("computation");

/// Returns the computation behind a handle, or an error that names the argument.
pub fn computation_of(argument: &str, computation: lxla_computation) -> Result<Arc<Computation>> {
    COMPUTATIONS.get(argument, computation.id)
}

/// Takes the computation of `results` from `params`, which are different placeholders of one device, out of what was
/// recorded. What depends on a parameter is its body; so are expressions of constants and iota alone. Anything else that
/// the body reads is captured: it becomes a hidden input, computed with the step or sync that runs a call (if it is not
/// yet), never copied to the host, and not donated while the computation lives. Scalars are constants of the body. Other
/// placeholders may be captured, too: they are parameters of whatever is traced around the calls.
///
/// On cpu the same, without any plugin: native tensors are captured with their value of now, also those that a creating
/// function (`lxla_tensor_full`) gave, and a call with native arguments is evaluated at once.
///
/// Moves no bytes and runs nothing. The tensors may be released afterwards. INVALID_ARGUMENT for a param that has a value
/// or is given twice, for tensors of different devices, and for computations that call each other more than 1000 deep. Gives
/// one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_trace(
    params: *const lxla_tensor,
    n_params: usize,
    results: *const lxla_tensor,
    n_results: usize,
    out_computation: *mut lxla_computation,
) -> lxla_status {
    guard("lxla_computation_trace", || {
        // SAFETY: the caller's promise, see `capi`.
        let (params, results, place) = unsafe {
            (
                handles("params", params, n_params)?,
                handles("results", results, n_results)?,
                out("out_computation", out_computation)?,
            )
        };
        let computation = Computation::trace(&params, &results)?;
        place.set(lxla_computation { id: COMPUTATIONS.insert(Arc::new(computation)) })
    })
}

/// Adds one reference. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_retain(computation: lxla_computation) -> lxla_status {
    guard("lxla_computation_retain", || COMPUTATIONS.retain(computation.id))
}

/// Takes one reference. Calls that were recorded stay as they are. Releasing id 0 does nothing. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_release(computation: lxla_computation) -> lxla_status {
    guard("lxla_computation_release", || COMPUTATIONS.release(computation.id))
}

/// How many parameters and results it has, and how many values it captured. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_info(
    computation: lxla_computation,
    out_params: *mut usize,
    out_results: *mut usize,
    out_captured: *mut usize,
) -> lxla_status {
    guard("lxla_computation_info", || {
        // SAFETY: the caller's promise, see `capi`.
        let (params, results, captured): (Out<usize>, Out<usize>, Out<usize>) = unsafe {
            (out("out_params", out_params)?, out("out_results", out_results)?, out("out_captured", out_captured)?)
        };
        let computation = computation_of("computation", computation)?;
        params.set(computation.parameters().len())?;
        results.set(computation.results().len())?;
        captured.set(computation.captured())
    })
}

/// A new tensor with a value that the computation captured: the one that stands at `index` among its hidden inputs, and at
/// that place behind the parameters of `main` in its StableHLO text. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_captured(
    computation: lxla_computation,
    index: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_computation_captured", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_tensor", out_tensor)? };
        place.set(computation_of("computation", computation)?.capture(index)?.into())
    })
}

/// The StableHLO text of a computation: a module whose `main` takes its parameters, then its captures. The caller frees it
/// with `lxla_string_free`. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_stablehlo(
    computation: lxla_computation,
    out_text: *mut *mut c_char,
) -> lxla_status {
    guard("lxla_computation_stablehlo", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_text", out_text)? };
        place.set(owned_text(lower::lower_body(computation_of("computation", computation)?.body())))
    })
}
