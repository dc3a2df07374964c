//! Chapter Control flow: calls, loops and branches of computations, barriers, custom calls.

use super::abi::arguments::{optional_text, ranked, slice, slice_mut, text};
use super::abi::guard::guard;
use super::abi::options::{self, Options};
use super::abi::results::Results;
use super::computation::computation_of;
use super::tensor::handles;
use super::types::*;
use crate::computation::Computation;
use crate::error::Result;
use crate::ops::{ApiVersion, CustomCall};
use crate::types::{DType, TensorType};
use crate::{computation, error, tensor};
use std::ffi::c_char;
use std::sync::Arc;

/// Records a call: `args` take the place of the parameters, one each, of the same dtype and shape, pending or not. Gives
/// `n_results` tensors (as many as the computation has results), one reference each. A result that is an argument unchanged
/// is that argument's value. INVALID_ARGUMENT names what does not fit. Any thread.
///
/// A computation without captures may be applied on any device of its environment. What was captured on cpu is taken to the
/// XLA device of the arguments as the option `mixed_device_policy` has it: scalars as constants, others with `copy` only,
/// once for each device. Other captures stay on their device: INVALID_ARGUMENT. The same holds for `lxla_scan`, `lxla_while`,
/// `lxla_cond`, `lxla_case` and operations that take computations of scalars.
///
/// The computation is one function of the lowered text, however often it is called; XLA inlines calls, so that compile time
/// grows with them. `lxla_scan` and `lxla_while` keep it flat.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_call(
    computation: lxla_computation,
    args: *const lxla_tensor,
    n_args: usize,
    out_results: *mut lxla_tensor,
    n_results: usize,
) -> lxla_status {
    guard("lxla_computation_call", || {
        // SAFETY: the caller's promise, see `capi`.
        let (args, mut places) =
            unsafe { (handles("args", args, n_args)?, Results::at("out_results", out_results, n_results)?) };
        let computation = computation_of("computation", computation)?;
        places.check(n_results, computation.results().len())?;
        places.set(&computation.call(&args)?);
        Ok(())
    })
}

/// Records a loop over `n` values that starts with `init`: while `cond` gives true for them, they become what `body` gives
/// for them. `cond` has `n` parameters and one result, `pred[]`; `body` has `n` parameters and `n` results, of the types of
/// `init`. Gives `n` tensors, one reference each. A large value that a body updates is updated in place, if its start is
/// donated. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_while(
    cond: lxla_computation,
    body: lxla_computation,
    init: *const lxla_tensor,
    n: usize,
    out_results: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_while", || {
        // SAFETY: the caller's promise, see `capi`.
        let (init, mut places) = unsafe { (handles("init", init, n)?, Results::at("out_results", out_results, n)?) };
        let (cond, body) = (computation_of("cond", cond)?, computation_of("body", body)?);
        places.set(&computation::while_loop(&cond, &body, &init)?);
        Ok(())
    })
}

/// Records a branch: what `on_true` gives for `args` if `pred` (`pred[]`) is true, else what `on_false` gives. Both take `args`
/// and give results of the same types. Only the branch taken is run. Gives `n_results` tensors, one reference each. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_cond(
    pred: lxla_tensor,
    on_true: lxla_computation,
    on_false: lxla_computation,
    args: *const lxla_tensor,
    n_args: usize,
    out_results: *mut lxla_tensor,
    n_results: usize,
) -> lxla_status {
    guard("lxla_cond", || {
        // SAFETY: the caller's promise, see `capi`.
        let (args, mut places) =
            unsafe { (handles("args", args, n_args)?, Results::at("out_results", out_results, n_results)?) };
        let (on_true, on_false) = (computation_of("on_true", on_true)?, computation_of("on_false", on_false)?);
        places.check(n_results, on_true.results().len())?;
        places.set(&computation::branch(pred.into(), &on_true, &on_false, &args)?);
        Ok(())
    })
}

/// Records a choice: what `branches[index]` gives for `args`, with an integer scalar as index, and the last branch for an index
/// that is negative or too large. All branches (at least 1) take `args` and give results of the same types. Only the branch
/// chosen is run. Gives `n_results` tensors, one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_case(
    index: lxla_tensor,
    branches: *const lxla_computation,
    n_branches: usize,
    args: *const lxla_tensor,
    n_args: usize,
    out_results: *mut lxla_tensor,
    n_results: usize,
) -> lxla_status {
    guard("lxla_case", || {
        // SAFETY: the caller's promise, see `capi`.
        let (branches, args, mut places) = unsafe {
            (
                slice("branches", branches, n_branches)?,
                handles("args", args, n_args)?,
                Results::at("out_results", out_results, n_results)?,
            )
        };
        let branches: Vec<Arc<Computation>> =
            branches.iter().map(|&branch| computation_of("branches", branch)).collect::<Result<_>>()?;
        if let Some(first) = branches.first() {
            places.check(n_results, first.results().len())?;
        }
        places.set(&computation::case(index.into(), &branches, &args)?);
        Ok(())
    })
}

/// Records `length` applications of `body`, one for each slice of `xs` along their leading axis, which has `length` slices.
/// `body` takes what is carried (`n_carry` values, `init` at first), then a slice of each array; it gives what is carried on,
/// then `n_ys` results, which are stacked along a new leading axis. With `reverse` 1 it goes from the last slice to the
/// first; results stay at the place of their slice. Gives `n_carry` and `n_ys` tensors, one reference each: what was
/// carried last, and the stacks. With length 0, `init` and empty stacks.
///
/// Lowered to one loop: text and compile time do not grow with `length`. What `body` captured is read, not copied. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_scan(
    body: lxla_computation,
    init: *const lxla_tensor,
    n_carry: usize,
    xs: *const lxla_tensor,
    n_xs: usize,
    length: i64,
    reverse: i32,
    out_carry: *mut lxla_tensor,
    out_ys: *mut lxla_tensor,
    n_ys: usize,
) -> lxla_status {
    guard("lxla_scan", || {
        // SAFETY: the caller's promise, see `capi`.
        let (init, xs, mut carry, mut ys) = unsafe {
            (
                handles("init", init, n_carry)?,
                handles("xs", xs, n_xs)?,
                Results::at("out_carry", out_carry, n_carry)?,
                Results::at("out_ys", out_ys, n_ys)?,
            )
        };
        if !(0..=1).contains(&reverse) {
            return Err(error!(InvalidArgument, "reverse: {reverse} given; want 0 or 1"));
        }
        let body = computation_of("body", body)?;
        let given = body.results().len();
        if given != n_carry + n_ys {
            return Err(error!(
                InvalidArgument,
                "body: it gives {given} results; want {n_carry} carried (n_carry) and {n_ys} stacked (n_ys)"
            ));
        }
        let results = computation::scan(&body, &init, &xs, length, reverse == 1)?;
        carry.set(&results[..n_carry]);
        ys.set(&results[n_carry..]);
        Ok(())
    })
}

/// Records `n` tensors (at least 1) of one device as they are: what is computed of the results is not merged with what is
/// computed of the tensors, and not before all of them are computed. A checkpoint passes through it what the second
/// computation starts from, with a tensor that the backward pass has only when it gets there: else XLA would keep what the
/// first one computed. It costs nothing, but on CPUs, where XLA takes barriers away, a copy of each tensor. Gives `n` tensors,
/// one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_optimization_barrier(
    tensors: *const lxla_tensor,
    n: usize,
    out_tensors: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_optimization_barrier", || {
        // SAFETY: the caller's promise, see `capi`.
        let (tensors, places) = unsafe { (handles("tensors", tensors, n)?, slice_mut("out_tensors", out_tensors, n)?) };
        let results = tensor::optimization_barrier(&tensors)?;
        places.iter_mut().zip(results).for_each(|(place, tensor)| *place = tensor.into());
        Ok(())
    })
}

/// Fills options with the defaults. `options->struct_size` is set by the caller before, and at most that many bytes are
/// written. INVALID_ARGUMENT if it is too small to hold itself. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_custom_call_options_init(options: *mut lxla_custom_call_options) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard("lxla_custom_call_options_init", || unsafe { options::init(options) })
}

/// Records a call of what the device's plugin knows under the name `target`, for `n_operands` tensors (at least 1) of one
/// device: what it computes and what it takes is the plugin's affair. It sees row-major arrays. Result i has dtype
/// `dtypes[i]` and rank `ranks[i]`; `dims` has the sizes of all results, one result after another. NULL options are the
/// defaults. Like any other operation, it runs when its results are needed, and as often as a program that needs them runs.
/// Targets that are XLA's own (`TopK`, `SliceToDynamic`, names that begin with `__`, `xla.`, `SPMD`, ...) are refused: its passes
/// end the process where such a call is not as XLA writes it. Of those that expand on every device `Qr`, `Eigh` and
/// `ProductOfElementaryHouseholderReflectors` are taken, with f32 or f64 matrices and results of the shapes that they have; and
/// `Sharding`, with one operand and a result of its type. `__gpu$xla.gpu.triton`, by which XLA runs a Triton kernel, is passed
/// on as it is. A target that the plugin does not know is an error of the step or sync that compiles it, which then has changed
/// nothing.
/// Native tensors have no plugin: UNIMPLEMENTED. Gives `n_results` tensors (at least 1), one reference each. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_custom_call(
    target: *const c_char,
    operands: *const lxla_tensor,
    n_operands: usize,
    dtypes: *const i32,
    ranks: *const usize,
    dims: *const i64,
    n_results: usize,
    options: *const lxla_custom_call_options,
    out_results: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_custom_call", || {
        // SAFETY: the caller's promise, see `capi`.
        let (target, operands, results, options, places) = unsafe {
            (
                text("target", target)?,
                handles("operands", operands, n_operands)?,
                tensor_types(dtypes, ranks, dims, n_results)?,
                read_options(options)?,
                slice_mut("out_results", out_results, n_results)?,
            )
        };
        let call = CustomCall { target: target.to_string(), results, ..options };
        let results = tensor::custom_call(&call, &operands)?;
        places.iter_mut().zip(results).for_each(|(place, tensor)| *place = tensor.into());
        Ok(())
    })
}

// SAFETY: `repr(C)`, begins with struct_size, and zero is the default of every field.
unsafe impl Options for lxla_custom_call_options {
    const NAME: &str = "lxla_custom_call_options";
}

/// Reads `n` tensor types whose dims are concatenated in one list.
unsafe fn tensor_types(dtypes: *const i32, ranks: *const usize, dims: *const i64, n: usize) -> Result<Vec<TensorType>> {
    // SAFETY: the caller's promise.
    let (dtypes, ranks) = unsafe { (slice("dtypes", dtypes, n)?, slice("ranks", ranks, n)?) };
    let mut start = dims;
    let mut types = Vec::with_capacity(n);
    for (&dtype, &rank) in dtypes.iter().zip(ranks) {
        // SAFETY: the caller's promise: the list goes on for as many as this rank says.
        let own = unsafe { ranked("dims", start, rank)? };
        types.push(TensorType::new(DType::from_number(dtype)?, own));
        start = start.wrapping_add(rank);
    }
    Ok(types)
}

/// Reads the caller's options into a call without target and results; fields beyond `struct_size` have their defaults.
unsafe fn read_options(options: *const lxla_custom_call_options) -> Result<CustomCall> {
    // SAFETY: the caller's promise, see `capi`.
    let given = unsafe { options::read(options)? };
    // SAFETY: the caller's promise, see `capi`.
    let backend_config = unsafe { optional_text("options.backend_config", given.backend_config)? };
    let api_version = match given.api_version {
        0 => ApiVersion::TypedFfi,
        number => ApiVersion::from_number(number).map_err(|e| e.context("options"))?,
    };
    let has_side_effect = match given.has_side_effect {
        0 | 2 => false,
        1 => true,
        other => return Err(error!(InvalidArgument, "options.has_side_effect: {other} given; want 0, 1 or 2")),
    };
    let backend_config = backend_config.unwrap_or_default().to_string();
    Ok(CustomCall { target: String::new(), backend_config, api_version, has_side_effect, results: Vec::new() })
}
