//! Chapter Derivatives and batching: transformations of computations, gradients of pending tensors.

use super::abi::arguments::{switch, texts};
use super::abi::guard::{guard, guard_into};
use super::abi::options;
use super::abi::pointers::{In, List, Out, OutList, Text};
use super::abi::types::{lxla_computation, lxla_gradients_options, lxla_status, lxla_tensor, lxla_vjp_options};
use super::computation::{computation_of, new_computation};
use super::constants::{
    LXLA_CHECKPOINT_SAVE_ALL, LXLA_CHECKPOINT_SAVE_DOTS, LXLA_CHECKPOINT_SAVE_NAMED, LXLA_CHECKPOINT_SAVE_NONE,
};
use super::tensor::handles;
use crate::computation::{self, Checkpoint, VjpOptions};
use crate::device::TensorHandle;
use crate::tensor::{gradients, record};
use base::error;
use base::error::Result;
use ops::control;

/// Returns the forward-mode derivative of `f` (Jacobian-vector product). Its parameters are the parameters of `f`, then
/// one tangent for each parameter in `wrt`; its results are the results of `f`, then one tangent for each
/// differentiable result. A value is differentiable if its dtype is a float or complex dtype. `wrt` lists `n_wrt`
/// distinct indices of differentiable parameters; NULL selects all of them. A tangent has the dtype and shape of its
/// value. Tangents of other parameters and of captured values are zero.
///
/// While loops have a forward-mode derivative only. UNIMPLEMENTED if an operation has no derivative; the message names
/// the operation. As every transformation, RESOURCE_EXHAUSTED if `f` has more than 2^22 operations, counting those of a
/// called computation at each call.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_jvp(
    f: lxla_computation,
    wrt: List<usize>,
    n_wrt: usize,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_computation_jvp", out_computation.named("out_computation"), || {
        let wrt = optional_list("wrt", wrt, n_wrt)?;
        computation::jvp(&*computation_of("f", f)?, wrt.as_deref()).map(new_computation)
    })
}

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_vjp_options_init(options: Out<lxla_vjp_options>) -> lxla_status {
    guard("lxla_vjp_options_init", || options::init(options))
}

/// Returns the reverse-mode derivative of `f` (vector-Jacobian product) as two computations. `out_forward` takes the
/// parameters of `f`, and returns the results of `f`, then `out_n_residuals` residuals: values that the backward pass
/// reads. `out_backward` takes the residuals, then one cotangent for each differentiable result (of a float or complex
/// dtype). It returns the gradients of the parameters in `options.wrt`, in this order, then with `options.captured`
/// those of the differentiable captured values, in the order of `lxla_computation_captured`. Both computations capture
/// the captured values of `f`. A cotangent has the dtype and shape of its value. The gradient of a value on which no
/// result depends is zero.
///
/// With a checkpoint policy other than SAVE_ALL, the backward pass recomputes the values that the policy does not save,
/// behind an optimization barrier. Results of loops, branches, calls and other operations with several results are
/// saved under every policy, if the backward pass reads them. In a scan, the policy applies to each iteration, and the
/// carried values are the parameters of the iteration; slices and captured values are read again, not saved.
///
/// Conventions. Maximum, minimum and reductions by them split the cotangent evenly among equal elements; clamp is the
/// minimum of a maximum; windows of maxima and minima give the cotangent to the first of equal elements. Cotangents of
/// complex numbers are not conjugated, as in JAX: for w = f(z), the cotangent of z is the cotangent of w times f'(z).
/// The derivative of a power by its base is 0 where the exponent is 0, and by its exponent 0 where the base is 0. A
/// select passes the cotangent to the selected operand only, and 0 to the other one; if a factor of the derivative of
/// the other operand is infinite, 0 times this factor is NaN. Sums of cotangents of 8-bit and 16-bit floats are
/// computed in f32.
///
/// UNIMPLEMENTED if an operation has no derivative, or if a differentiated result depends on a while loop.
/// RESOURCE_EXHAUSTED if more than 2^18 results of calls, loops and other operations with several results would be
/// saved: functions that call each other twice, n deep, have 2^n.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_vjp(
    f: lxla_computation,
    options: In<lxla_vjp_options>,
    out_forward: Out<lxla_computation>,
    out_backward: Out<lxla_computation>,
    out_n_residuals: Out<usize>,
) -> lxla_status {
    let outputs = (
        [out_forward.named("out_forward"), out_backward.named("out_backward")],
        out_n_residuals.named("out_n_residuals"),
    );
    guard_into("lxla_computation_vjp", outputs, || {
        let options = vjp_options(options)?;
        let passes = computation::vjp(&*computation_of("f", f)?, &options)?;
        Ok(([new_computation(passes.forward), new_computation(passes.backward)], passes.residuals))
    })
}

/// Returns a computation with the parameters of `f` that returns the results of `f`, then the gradients of its first
/// result, which must be a float scalar. Options, order of the gradients and conventions are those of
/// `lxla_computation_vjp`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_value_and_grad(
    f: lxla_computation,
    options: In<lxla_vjp_options>,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_computation_value_and_grad", out_computation.named("out_computation"), || {
        let options = vjp_options(options)?;
        computation::value_and_grad(&*computation_of("f", f)?, &options).map(new_computation)
    })
}

/// Returns `f` over a batch of `size` elements (at least 1). Parameter i has the batch at axis `in_axes[i]` (0 to its
/// rank in `f`); -1 means that it is not mapped: all elements of the batch share it. Result i has the batch at axis
/// `out_axes[i]`. -1 is allowed for results that do not depend on a mapped parameter, and returns them without a batch
/// axis; with any other axis, such a result is repeated along it. `n_in` and `n_out` are the numbers of parameters and
/// results of `f`. Captured values are not mapped.
///
/// If the choice of a conditional or case is mapped, all branches are computed, and their results selected; operands of
/// floats and complex numbers get the batch axis. If the condition of a while loop is mapped, the loop runs until the
/// condition is false for the whole batch, and finished elements keep their values. Random generators and custom calls
/// run once for each element of the batch, in a loop.
/// UNIMPLEMENTED if a mapped value is captured by the comparator of a sort, by the combiner of a scatter or reduction,
/// or by a computation with a custom batching rule.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_vmap(
    f: lxla_computation,
    in_axes: List<i64>,
    n_in: usize,
    out_axes: List<i64>,
    n_out: usize,
    size: i64,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_computation_vmap", out_computation.named("out_computation"), || {
        let (in_axes, out_axes) = (in_axes.get("in_axes", n_in)?, out_axes.get("out_axes", n_out)?);
        computation::vmap(&*computation_of("f", f)?, in_axes, out_axes, size).map(new_computation)
    })
}

/// Returns `f` with its captured values as further parameters, after its own, in the order of
/// `lxla_computation_captured` (closure conversion). The result captures nothing. It can be applied to other values
/// than those that `f` captured, on every device of the environment, and differentiated and batched by them. A rule of
/// the caller's gives derivatives by parameters alone: to differentiate by what its computations captured, lift each of
/// them, and make a rule of computations that take the captured values as parameters.
///
/// The rules of `f` and of the computations that it calls stay in the result, for the parameters that `f` had.
/// UNIMPLEMENTED for derivatives of a rule by values that were captured, and for batches of a batching rule over them.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_lift(f: lxla_computation, out_computation: Out<lxla_computation>) -> lxla_status {
    guard_into("lxla_computation_lift", out_computation.named("out_computation"), || {
        computation::lift(&*computation_of("f", f)?).map(new_computation)
    })
}

/// Returns `f` with a checkpoint policy of its own. The result computes what `f` does. Wherever it is differentiated
/// (within another computation, in a scan, by `lxla_gradients`), the forward pass saves those values of the inside of
/// `f` that the policy, one of LXLA_CHECKPOINT_*, says, and the backward pass computes the others again, behind an
/// optimization barrier. `saved_names` lists `n_saved_names` names for SAVE_NAMED; it is empty for other policies. The
/// policy holds inside of `f` whatever policy the enclosing derivative has (`lxla_vjp_options.checkpoint`), except
/// within computations that have a policy of their own. Parameters and results of the result are treated as those of a
/// call. Batches and tangents of it have the same policy, and rules of `f` stay.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_checkpoint(
    f: lxla_computation,
    policy: i32,
    saved_names: List<Text>,
    n_saved_names: usize,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_computation_checkpoint", out_computation.named("out_computation"), || {
        let f = computation_of("f", f)?;
        let policy = policy_of(("policy", policy), ("saved_names", saved_names, n_saved_names))?;
        computation::checkpoint(&f, &policy).map(new_computation)
    })
}

/// Returns `primal` with a custom reverse-mode derivative. `forward` takes the parameters of `primal`, and returns its
/// results, then residuals. `backward` takes the residuals, then one cotangent for each result of a float or complex
/// dtype, and returns one gradient for each parameter of such a dtype. The rule applies wherever the computation is
/// called, scanned or differentiated. A rule that `lxla_computation_with_jvp` gave to `primal` stays: it is used in
/// forward mode, and this rule in reverse mode. UNIMPLEMENTED for forward mode, unless there is such a rule, and for
/// derivatives by captured values.
///
/// Forward mode of a derivative that reverse mode made (forward over reverse) differentiates `forward` and `backward`;
/// reverse mode of one that forward mode made (reverse over forward) differentiates the computation of
/// `lxla_computation_with_jvp`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_with_vjp(
    primal: lxla_computation,
    forward: lxla_computation,
    backward: lxla_computation,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_computation_with_vjp", out_computation.named("out_computation"), || {
        let (primal, forward, backward) = (
            computation_of("primal", primal)?,
            computation_of("forward", forward)?,
            computation_of("backward", backward)?,
        );
        computation::with_vjp(&primal, &forward, &backward).map(new_computation)
    })
}

/// Returns `primal` with a custom forward-mode derivative. `jvp` takes the parameters of `primal`, then one tangent for
/// each parameter of a float or complex dtype, then, if it has further parameters, the results of `primal`; it returns
/// the results of `primal`, then one tangent for each result of such a dtype. These tangents must be linear in the given
/// tangents: reverse mode transposes them, unless `primal` has a rule by `lxla_computation_with_vjp`, which stays and is
/// used in reverse mode. UNIMPLEMENTED for derivatives by captured values.
///
/// A derivative of the derivative differentiates `jvp`. Results that it takes have this rule again: so it should take
/// them, return them, and compute tangents from them, rather than compute them itself.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_with_jvp(
    primal: lxla_computation,
    jvp: lxla_computation,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_computation_with_jvp", out_computation.named("out_computation"), || {
        let (primal, jvp) = (computation_of("primal", primal)?, computation_of("jvp", jvp)?);
        computation::with_jvp(&primal, &jvp).map(new_computation)
    })
}

/// Returns `primal` with a custom batching rule. `batched` takes the parameters of `primal` (at least 1) with a leading
/// batch axis of one size B, and returns the results of `primal` with that axis. `lxla_computation_vmap` applies
/// `batched` where it maps an argument of the computation, directly or within other computations; arguments that are
/// not mapped are repeated along the batch. Shapes are static: INVALID_ARGUMENT for a batch of another size than B,
/// with both sizes in the message.
///
/// The derivatives of the result are those of `primal`, and are batched by the rules of its operations. The derivative
/// of the batched computation is that of `batched`. Custom derivatives can be combined with the rule: `primal` may have
/// one, or one may be added to the result. UNIMPLEMENTED for batches over captured values.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_computation_with_vmap(
    primal: lxla_computation,
    batched: lxla_computation,
    out_computation: Out<lxla_computation>,
) -> lxla_status {
    guard_into("lxla_computation_with_vmap", out_computation.named("out_computation"), || {
        let (primal, batched) = (computation_of("primal", primal)?, computation_of("batched", batched)?);
        computation::with_vmap(&primal, &batched).map(new_computation)
    })
}

/// Records the gradients of pending `ys` with respect to the current values of `xs`: `out_gradients[i]` has the dtype
/// and shape of `xs[i]`, and is the sum over all `ys` of the cotangent times the derivative. `cotangents` has one
/// tensor for each of `ys`, of its dtype and shape; NULL means 1, and requires that all `ys` are scalars. `ys` and `xs`
/// have float or complex dtypes, and are on one device; `n_ys` and `n_xs` are at least 1. The gradient with respect to
/// a tensor to which no derivative of one of `ys` passes is zero: on which none depends, or only through
/// `lxla_stop_gradient` and operations without a derivative, such as comparisons. A tensor that was updated in place
/// after `ys` were recorded has another value, on which none depends; a snapshot from before has the value. The log says
/// which gradients are zero for this reason (level 2), unless they repeat those of an earlier step;
/// `lxla_gradients_with_options` refuses them. Conventions are those of `lxla_computation_vjp`.
///
/// Only pending operations are differentiated: call this before the step or read that computes `ys`.
/// FAILED_PRECONDITION if a step or read has computed a value on a path from one of `xs` to one of `ys`; the message
/// names both. Likewise if the path goes through a copy on another device (`lxla_tensor_to_device`). Pass such a
/// value through `lxla_stop_gradient` to treat it as a constant. A value that was read and transferred back, or that
/// went through eager tensors, is a constant. INVALID_ARGUMENT for an eager tensor with a value among `ys` or `xs`,
/// because its operations are not recorded: trace a computation instead, and use `lxla_computation_value_and_grad`.
/// UNIMPLEMENTED if an operation has no derivative.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_gradients(
    ys: List<lxla_tensor>,
    n_ys: usize,
    cotangents: List<lxla_tensor>,
    xs: List<lxla_tensor>,
    n_xs: usize,
    out_gradients: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_gradients", out_gradients.list("out_gradients", n_xs), || {
        gradients_of(ys, n_ys, cotangents, xs, n_xs, false)
    })
}

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_gradients_options_init(options: Out<lxla_gradients_options>) -> lxla_status {
    guard("lxla_gradients_options_init", || options::init(options))
}

/// Like `lxla_gradients`, with options.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_gradients_with_options(
    ys: List<lxla_tensor>,
    n_ys: usize,
    cotangents: List<lxla_tensor>,
    xs: List<lxla_tensor>,
    n_xs: usize,
    options: In<lxla_gradients_options>,
    out_gradients: OutList<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_gradients_with_options", out_gradients.list("out_gradients", n_xs), || {
        let requires_connected =
            switch("options.require_connected", options::read(options)?.require_connected)?.unwrap_or(false);
        gradients_of(ys, n_ys, cotangents, xs, n_xs, requires_connected)
    })
}

/// Records gradients of tensors by their handles.
fn gradients_of(
    ys: List<lxla_tensor>,
    n_ys: usize,
    cotangents: List<lxla_tensor>,
    xs: List<lxla_tensor>,
    n_xs: usize,
    requires_connected: bool,
) -> Result<Vec<TensorHandle>> {
    let (ys, xs) = (handles("ys", ys, n_ys)?, handles("xs", xs, n_xs)?);
    let given = if cotangents.is_null() { None } else { Some(handles("cotangents", cotangents, n_ys)?) };
    gradients(&ys, given.as_deref(), &xs, requires_connected)
}

/// Records `x`, of any dtype and shape, with derivative zero: derivatives treat the result as a constant.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_stop_gradient(x: lxla_tensor, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_stop_gradient", out_tensor.named("out_tensor"), || {
        record([("x", x.into())], |trace, [x]| control::stop_gradient(trace, x))
    })
}

/// Records `x`, of any dtype and shape, under a name (not empty). The checkpoint policy SAVE_NAMED saves the values
/// whose names are in `saved_names`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_checkpoint_name(x: lxla_tensor, name: Text, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_checkpoint_name", out_tensor.named("out_tensor"), || {
        let name = name.get("name")?;
        record([("x", x.into())], |trace, [x]| control::checkpoint_name(trace, x, name))
    })
}

/// Returns the entries of a list, or None if it is NULL.
fn optional_list(name: &str, list: List<usize>, length: usize) -> Result<Option<Vec<usize>>> {
    if list.is_null() {
        if length > 0 {
            return Err(error!(NullArgument, "{name}: it is NULL, and its length is {length}"));
        }
        return Ok(None);
    }
    Ok(Some(list.get(name, length)?.to_vec()))
}

/// Reads a checkpoint policy and the names of the values that it saves, both with the names of their arguments.
fn policy_of((argument, policy): (&str, i32), (list, names, count): (&str, List<Text>, usize)) -> Result<Checkpoint> {
    let known = match policy {
        LXLA_CHECKPOINT_SAVE_ALL => Checkpoint::SaveAll,
        LXLA_CHECKPOINT_SAVE_NONE => Checkpoint::SaveNone,
        LXLA_CHECKPOINT_SAVE_DOTS => Checkpoint::SaveDots,
        LXLA_CHECKPOINT_SAVE_NAMED => {
            let names = texts(list, names, count)?;
            return Ok(Checkpoint::SaveNamed(names.into_iter().map(str::to_string).collect()));
        }
        other => {
            return Err(error!(
                InvalidArgument,
                "{argument}: {other} is not an LXLA_CHECKPOINT_* constant (valid: 1 to 4)"
            ));
        }
    };
    match count {
        0 => Ok(known),
        _ => Err(error!(InvalidArgument, "{list}: given without the policy LXLA_CHECKPOINT_SAVE_NAMED")),
    }
}

/// Reads the options of reverse mode.
fn vjp_options(options: In<lxla_vjp_options>) -> Result<VjpOptions> {
    let given = options::read(options)?;
    let wrt = optional_list("options.wrt", given.wrt, given.n_wrt)?;
    let captured = switch("options.captured", given.captured)?.unwrap_or(false);
    let policy = if given.checkpoint == 0 { LXLA_CHECKPOINT_SAVE_ALL } else { given.checkpoint };
    let names = ("options.saved_names", given.saved_names, given.n_saved_names);
    let checkpoint = policy_of(("options.checkpoint", policy), names)?;
    Ok(VjpOptions { wrt, captured, checkpoint })
}
