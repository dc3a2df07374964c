//! Chapter Control flow: calls, loops and branches of computations, barriers, custom calls.

use super::abi::arguments::{check_rank, flag, optional_text, switch};
use super::abi::guard::{guard, guard_into};
use super::abi::options;
use super::abi::pointers::{In, List, Out, OutList, Text};
use super::abi::results::check_count;
use super::abi::types::{lxla_computation, lxla_custom_call_options, lxla_status, lxla_tensor};
use super::computation::computation_of;
use super::tensor::{handles, some_handles};
use crate::computation::{self, Computation};
use crate::tensor::record_list;
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use ops::control::{self, ApiVersion, CustomCall};
use std::sync::Arc;

/// Records a call of the computation with `args`, one for each parameter, of the parameter's dtype and shape; arguments
/// may be pending. `n_results` must be the number of results. A result that is a parameter returned unchanged has the
/// value of the argument.
///
/// A computation without captures can be called on any device of its environment. Values captured on cpu are
/// transferred to the XLA device of the arguments according to the option `mixed_device_policy`: with `scalar`,
/// one-element values as constants; with `copy`, any value, once for each device; otherwise INVALID_ARGUMENT, as for
/// values captured on another XLA device. The same holds for `lxla_scan`, `lxla_while`, `lxla_cond`, `lxla_case` and
/// operations that take computations of scalars.
///
/// All calls of a computation share one function of the lowered text. XLA inlines calls, so compile time grows with the
/// number of calls; `lxla_scan` and `lxla_while` compile their bodies once.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_call(
    computation: lxla_computation,
    args: List<lxla_tensor>,
    n_args: usize,
    out_results: OutList<lxla_tensor>,
    n_results: usize,
) -> lxla_status {
    guard_into("lxla_computation_call", out_results.list("out_results", n_results), || {
        let args = handles("args", args, n_args)?;
        let computation = computation_of("computation", computation)?;
        check_count("out_results", n_results, computation.results().len())?;
        computation.call(&args)
    })
}

/// Records a while loop over `n` carried values, initially `init`: as long as `cond(values)` is true, `values =
/// body(values)`. `cond` has `n` parameters and one result, `pred[]`; `body` has `n` parameters and `n` results, of the
/// types of `init`. Returns the `n` final values. If an initial value is donated, a body that updates it
/// (`lxla_dynamic_update_slice`) runs in place.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_while(
    cond: lxla_computation,
    body: lxla_computation,
    init: List<lxla_tensor>,
    n: usize,
    out_results: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_while", out_results.list("out_results", n), || {
        let init = handles("init", init, n)?;
        let (cond, body) = (computation_of("cond", cond)?, computation_of("body", body)?);
        computation::while_loop(&cond, &body, &init)
    })
}

/// Records a loop as `lxla_while` does, of at most `max_iterations` iterations, which has derivatives in both modes.
/// `out_values` get the `n` final values; `out_ended`, pred[], is false if the bound was reached while `cond` still held.
/// `cond` and `body` may have captures; derivatives are taken by these too. With a bound of 0, the values are `init`.
///
/// Forward mode and the backward pass take time in proportion to the iterations that ran, and the square root of the
/// bound besides. The backward pass computes the iterations once more. It saves the carried values of about
/// sqrt(max_iterations) iterations, and at a time the residuals of `body` for as many. Over a batch
/// (`lxla_computation_vmap`), the loop runs as long as an element has iterations; derivatives, however, take time in
/// proportion to the bound. Iterations that did not run reach no derivative, also where `body` would give NaN. The
/// number of iterations has no derivative: values that only decide when the loop ends have the derivative 0.
///
/// INVALID_ARGUMENT if `max_iterations` is negative or a type does not fit; UNIMPLEMENTED for kernels with effects.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_while_bounded(
    cond: lxla_computation,
    body: lxla_computation,
    init: List<lxla_tensor>,
    n: usize,
    max_iterations: i64,
    out_values: OutList<lxla_tensor>,
    out_ended: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_while_bounded", (out_values.list("out_values", n), out_ended.named("out_ended")), || {
        let init = handles("init", init, n)?;
        let (cond, body) = (computation_of("cond", cond)?, computation_of("body", body)?);
        let mut values = computation::while_bounded(&cond, &body, &init, max_iterations)?;
        let ended = values.pop().expect("whether it ended is the last result");
        Ok((values, ended))
    })
}

/// Records `on_true(args)` if `pred` (`pred[]`) is true, else `on_false(args)`. Both computations have the same
/// parameter and result types. Only the selected one is executed. `n_results` must be the number of their results.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_cond(
    pred: lxla_tensor,
    on_true: lxla_computation,
    on_false: lxla_computation,
    args: List<lxla_tensor>,
    n_args: usize,
    out_results: OutList<lxla_tensor>,
    n_results: usize,
) -> lxla_status {
    guard_into("lxla_cond", out_results.list("out_results", n_results), || {
        let args = handles("args", args, n_args)?;
        let (on_true, on_false) = (computation_of("on_true", on_true)?, computation_of("on_false", on_false)?);
        check_count("out_results", n_results, on_true.results().len())?;
        computation::branch(pred.into(), &on_true, &on_false, &args)
    })
}

/// Records `branches[index](args)`. `index` is an integer scalar; an index out of range selects the last branch. All
/// branches (at least 1) have the same parameter and result types. Only the selected one is executed. `n_results`
/// must be the number of their results.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_case(
    index: lxla_tensor,
    branches: List<lxla_computation>,
    n_branches: usize,
    args: List<lxla_tensor>,
    n_args: usize,
    out_results: OutList<lxla_tensor>,
    n_results: usize,
) -> lxla_status {
    guard_into("lxla_case", out_results.list("out_results", n_results), || {
        let (branches, args) = (branches.get("branches", n_branches)?, handles("args", args, n_args)?);
        let branches: Vec<Arc<Computation>> =
            branches.iter().map(|&branch| computation_of("branches", branch)).collect::<Result<_>>()?;
        if let Some(first) = branches.first() {
            check_count("out_results", n_results, first.results().len())?;
        }
        computation::case(index.into(), &branches, &args)
    })
}

/// Records `length` applications of `body`, one for each slice of `xs` along their leading axis, whose size is
/// `length`. `body` takes the carry (`n_carry` values, initially `init`), then one slice of each of `xs`; it returns
/// the new carry, then `n_ys` results, which are stacked along a new leading axis. Returns the final carry in
/// `out_carry` and the stacks in `out_ys`. With `reverse` 1, goes from the last slice to the first; each result is
/// stacked at the index of its slice. With `length` 0, returns `init` and empty stacks.
///
/// Lowered to one loop, so that neither text nor compile time grows with `length`. Captured values are read, not
/// copied.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_scan(
    body: lxla_computation,
    init: List<lxla_tensor>,
    n_carry: usize,
    xs: List<lxla_tensor>,
    n_xs: usize,
    length: i64,
    reverse: i32,
    out_carry: OutList<lxla_tensor>,
    out_ys: OutList<lxla_tensor>,
    n_ys: usize,
) -> lxla_status {
    let outputs = (out_carry.list("out_carry", n_carry), out_ys.list("out_ys", n_ys));
    guard_into("lxla_scan", outputs, || {
        let (init, xs) = (handles("init", init, n_carry)?, handles("xs", xs, n_xs)?);
        let (reverse, body) = (flag("reverse", reverse)?, computation_of("body", body)?);
        let given = body.results().len();
        if given != n_carry + n_ys {
            return Err(error!(
                InvalidArgument,
                "body: it gives {given} results; want {n_carry} carried (n_carry) and {n_ys} stacked (n_ys)"
            ));
        }
        let mut carry = computation::scan(&body, &init, &xs, length, reverse)?;
        let ys = carry.split_off(n_carry);
        Ok((carry, ys))
    })
}

/// Records `n` tensors (at least 1) of one device unchanged, behind a compiler barrier: XLA does not merge computations
/// on the results with computations on the tensors, and does not start them before all of the tensors are computed. A
/// checkpoint passes the inputs of its recomputation through a barrier together with a tensor that only the backward
/// pass provides; otherwise XLA would keep the values of the forward pass. A barrier costs nothing except on CPU, where
/// XLA removes barriers, and each tensor is copied instead.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_optimization_barrier(
    tensors: List<lxla_tensor>,
    n: usize,
    out_tensors: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_optimization_barrier", out_tensors.list("out_tensors", n), || {
        let tensors = some_handles(tensors, n)?;
        record_list([], ("tensors", &tensors), |trace, [], tensors| control::optimization_barrier(trace, tensors))
    })
}

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_custom_call_options_init(options: Out<lxla_custom_call_options>) -> lxla_status {
    guard("lxla_custom_call_options_init", || options::init(options))
}

/// Records a call of `target`, a name registered with the device's plugin, with `n_operands` tensors (at least 1) of
/// one device, passed as row-major arrays. Result i has dtype `dtypes[i]` and rank `ranks[i]`; `dims` is the
/// concatenation of the sizes of all results (`n_results`, at least 1). The call is executed by each program that
/// needs its results.
///
/// INVALID_ARGUMENT for targets internal to XLA (`TopK`, `SliceToDynamic`, names that begin with `__`, `xla.`,
/// `SPMD`, ...), whose passes terminate the process if such a call is malformed. Exceptions, which XLA expands on
/// every device, are `Qr`, `Eigh` and `ProductOfElementaryHouseholderReflectors`, for f32 or f64 matrices and results
/// of their documented shapes; `Sharding`, with one operand and a result of its type; and `__gpu$xla.gpu.triton`, a
/// Triton kernel, which is passed through unchecked. INVALID_ARGUMENT also for a `backend_config` that they cannot
/// read: that of `Eigh` is text, "LOWER,SORT,ITERATIONS,TOLERANCE", such as "1,1,100,1e-6", with an `api_version` other
/// than TYPED_FFI. If the plugin does not know the target, the sync that compiles the call fails and changes nothing;
/// a step fails, too, and names the call. UNIMPLEMENTED for eager tensors.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_custom_call(
    target: Text,
    operands: List<lxla_tensor>,
    n_operands: usize,
    dtypes: List<i32>,
    ranks: List<usize>,
    dims: List<i64>,
    n_results: usize,
    options: In<lxla_custom_call_options>,
    out_results: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_custom_call", out_results.list("out_results", n_results), || {
        let (target, operands) = (target.get("target")?, handles("operands", operands, n_operands)?);
        let results = tensor_types(dtypes, ranks, dims, n_results)?;
        let call = CustomCall { target: target.to_string(), results, ..read_options(options)? };
        if operands.is_empty() {
            let wanted = "want at least 1: the operands determine the device";
            return Err(error!(InvalidArgument, "n_operands: 0 given; {wanted}"));
        }
        record_list([], ("operands", &operands), |trace, [], operands| control::custom_call(trace, &call, operands))
    })
}

/// Reads `n` tensor types whose dims are concatenated in one list.
pub(super) fn tensor_types(
    dtypes: List<i32>,
    ranks: List<usize>,
    dims: List<i64>,
    n: usize,
) -> Result<Vec<TensorType>> {
    let (dtypes, ranks) = (dtypes.get("dtypes", n)?, ranks.get("ranks", n)?);
    ranks.iter().try_for_each(|&rank| check_rank(rank))?;
    let mut rest = dims.get("dims", ranks.iter().sum())?;
    let mut types = Vec::with_capacity(n);
    for (&dtype, &rank) in dtypes.iter().zip(ranks) {
        let (own, others) = rest.split_at(rank);
        types.push(TensorType::new(DType::from_number(dtype)?, own));
        rest = others;
    }
    Ok(types)
}

/// Converts the caller's options to a call without target and results. Fields beyond `struct_size` have their
/// defaults.
fn read_options(options: In<lxla_custom_call_options>) -> Result<CustomCall> {
    let given = options::read(options)?;
    let backend_config = optional_text("options.backend_config", given.backend_config)?;
    let api_version = match given.api_version {
        0 => ApiVersion::TypedFfi,
        number => ApiVersion::from_number(number).map_err(|e| e.context("options"))?,
    };
    let has_side_effect = switch("options.has_side_effect", given.has_side_effect)?.unwrap_or(false);
    let backend_config = backend_config.unwrap_or_default().to_string();
    Ok(CustomCall { target: String::new(), backend_config, api_version, has_side_effect, results: Vec::new() })
}
