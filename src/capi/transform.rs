//! Chapter Derivatives and batching: transformations of computations, gradients of pending tensors.

use super::abi::arguments::{flag, slice, text};
use super::abi::guard::{guard, guard_into};
use super::abi::options::{self, Options};
use super::abi::results::{place, places};
use super::computation::{computation_of, new_computation};
use super::tensor::handles;
use super::types::*;
use crate::computation::{self, Checkpoint, VjpOptions};
use crate::error;
use crate::error::Result;
use crate::ops;
use crate::tensor::{gradients, record};
use std::ffi::c_char;

/// Returns the computation that pushes tangents forward: its parameters are those of `f`, then one tangent for each of
/// `wrt`; its results are those of `f`, then one tangent for each result of a float or complex dtype. `wrt` has
/// `n_wrt` distinct indices of parameters of such a dtype; NULL stands for all of them. A tangent has the dtype and
/// shape of its value; parameters that are not in `wrt` and captured values have tangent zero.
///
/// A while loop is differentiated in this mode only. UNIMPLEMENTED if an operation has no derivative; the message names
/// it. RESOURCE_EXHAUSTED, as for the other transformations, if `f` has more than 2^22 operations, those of computations
/// counted at each call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_jvp(
    f: lxla_computation,
    wrt: *const usize,
    n_wrt: usize,
    out_computation: *mut lxla_computation,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_computation_jvp", unsafe { place("out_computation", out_computation) }, || {
        // SAFETY: likewise.
        let wrt = unsafe { optional_list("wrt", wrt, n_wrt)? };
        computation::jvp(&*computation_of("f", f)?, wrt.as_deref()).map(new_computation)
    })
}

/// Zeroes all fields after `struct_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_vjp_options_init(options: *mut lxla_vjp_options) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard("lxla_vjp_options_init", || unsafe { options::init(options) })
}

/// Splits the reverse-mode derivative of `f` into two computations. `out_forward`: the parameters of `f` to the results
/// of `f`, then `out_n_residuals` values that the backward pass reads. `out_backward`: these residuals, then one
/// cotangent for each result of a float or complex dtype, to the gradients: of the parameters in `options.wrt` in order,
/// then with `options.captured` of the captured values of such a dtype, in the order of `lxla_computation_captured`.
/// Both capture what `f` captures. A cotangent has the dtype and shape of its value. A value on which no result depends
/// has gradient zero.
///
/// With a checkpoint policy other than SAVE_ALL, the backward pass computes the other values again, behind an
/// optimization barrier. Under every policy, the backward pass may read the results of loops, branches, calls and other
/// operations with several results, which are saved. In a scan, the policy applies to each iteration, of which the
/// carried values are its parameters; slices and captured values are read again, not saved.
///
/// Conventions: max, min and reductions by max and min split the cotangent evenly among equal elements; clamp is the
/// minimum of a maximum; max windows give the cotangent to the first of equal elements. Cotangents of complex numbers are
/// not conjugated: that of z in w = f(z) is the cotangent of w times f'(z), as in JAX. A power has derivative 0 by its
/// base where the exponent is 0, and by its exponent where the base is 0. A select passes cotangents to the selected
/// operand only; an infinite factor behind an operand that is not selected still makes NaN of the zero. Sums of cotangents
/// of 8-bit and 16-bit floats are computed in f32.
///
/// UNIMPLEMENTED if an operation has no derivative, or `f` has a while loop whose result is differentiated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_vjp(
    f: lxla_computation,
    options: *const lxla_vjp_options,
    out_forward: *mut lxla_computation,
    out_backward: *mut lxla_computation,
    out_n_residuals: *mut usize,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    let outputs = unsafe {
        let passes = [place("out_forward", out_forward), place("out_backward", out_backward)];
        (passes, place("out_n_residuals", out_n_residuals))
    };
    guard_into("lxla_computation_vjp", outputs, || {
        // SAFETY: likewise.
        let options = unsafe { vjp_options(options)? };
        let passes = computation::vjp(&*computation_of("f", f)?, &options)?;
        Ok(([new_computation(passes.forward), new_computation(passes.backward)], passes.residuals))
    })
}

/// Returns the computation of the parameters of `f` to its results, then the gradients of its first result, which is a
/// float scalar. Gradients are ordered as by `lxla_computation_vjp`, whose conventions and options hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_value_and_grad(
    f: lxla_computation,
    options: *const lxla_vjp_options,
    out_computation: *mut lxla_computation,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_computation_value_and_grad", unsafe { place("out_computation", out_computation) }, || {
        // SAFETY: likewise.
        let options = unsafe { vjp_options(options)? };
        computation::value_and_grad(&*computation_of("f", f)?, &options).map(new_computation)
    })
}

/// Returns `f` over a batch of `size` (at least 1). Parameter i has the batch as axis `in_axes[i]` (0 to its rank in
/// `f`), or is the same for the whole batch if that is -1. Result i gets the batch as axis `out_axes[i]`; -1 is allowed
/// for a result that does not depend on a mapped parameter, and leaves it as it is, where any other axis repeats it.
/// `n_in` and `n_out` are the numbers of parameters and results of `f`. Captured values are the same for the whole
/// batch.
///
/// A conditional or case whose choice is mapped computes all branches and selects. A loop whose condition is mapped runs
/// until it is false for the whole batch; finished elements keep their values. Random generators and custom calls run
/// once for each element, in a loop. UNIMPLEMENTED if the comparator of a sort, the combiner of a scatter or reduction,
/// or a computation with a rule of the caller's captured a mapped value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_vmap(
    f: lxla_computation,
    in_axes: *const i64,
    n_in: usize,
    out_axes: *const i64,
    n_out: usize,
    size: i64,
    out_computation: *mut lxla_computation,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_computation_vmap", unsafe { place("out_computation", out_computation) }, || {
        // SAFETY: likewise.
        let (in_axes, out_axes) = unsafe { (slice("in_axes", in_axes, n_in)?, slice("out_axes", out_axes, n_out)?) };
        computation::vmap(&*computation_of("f", f)?, in_axes, out_axes, size).map(new_computation)
    })
}

/// Returns a computation like `primal` with a reverse-mode derivative of the caller's: `forward` takes the parameters of
/// `primal` and returns its results, then residuals; `backward` takes the residuals, then one cotangent for each result
/// of a float or complex dtype, and returns one gradient for each parameter of such a dtype. Used wherever the
/// computation is called, scanned or differentiated. Forward mode, and derivatives by captured values, are
/// UNIMPLEMENTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_with_vjp(
    primal: lxla_computation,
    forward: lxla_computation,
    backward: lxla_computation,
    out_computation: *mut lxla_computation,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_computation_with_vjp", unsafe { place("out_computation", out_computation) }, || {
        let (primal, forward, backward) = (
            computation_of("primal", primal)?,
            computation_of("forward", forward)?,
            computation_of("backward", backward)?,
        );
        computation::with_vjp(&primal, &forward, &backward).map(new_computation)
    })
}

/// Returns a computation like `primal` with a derivative of the caller's: `jvp` takes the parameters of `primal`, then
/// one tangent for each of a float or complex dtype, and returns the results of `primal`, then one tangent for each
/// result of such a dtype, which must be linear in the tangents. Its transpose gives the reverse mode. Derivatives by
/// captured values are UNIMPLEMENTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_with_jvp(
    primal: lxla_computation,
    jvp: lxla_computation,
    out_computation: *mut lxla_computation,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_computation_with_jvp", unsafe { place("out_computation", out_computation) }, || {
        let (primal, jvp) = (computation_of("primal", primal)?, computation_of("jvp", jvp)?);
        computation::with_jvp(&primal, &jvp).map(new_computation)
    })
}

/// Returns a computation like `primal` with a batching of the caller's: `batched` takes the parameters of `primal` (at
/// least 1), each with a leading batch axis of one size B, and returns the results of `primal`, each with that axis.
/// Where `lxla_computation_vmap` maps an argument of the computation, directly or in computations that apply it, it
/// applies `batched`: an argument that is not mapped is repeated along the batch. Shapes are static, so a batch of
/// another size than B is INVALID_ARGUMENT, and the message names both.
///
/// Derivatives are those of `primal`, and are batched as its operations are. The derivative of the batched computation
/// is that of `batched`. `primal` may have a derivative of the caller's, and the result may be given one. Batches over
/// captured values are UNIMPLEMENTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_computation_with_vmap(
    primal: lxla_computation,
    batched: lxla_computation,
    out_computation: *mut lxla_computation,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_computation_with_vmap", unsafe { place("out_computation", out_computation) }, || {
        let (primal, batched) = (computation_of("primal", primal)?, computation_of("batched", batched)?);
        computation::with_vmap(&primal, &batched).map(new_computation)
    })
}

/// Records the gradients of pending `ys` by the values that `xs` have now: `out_gradients[i]` has the dtype and shape of
/// `xs[i]`, and is the sum over all `ys` of the gradient times the cotangent. `cotangents` has one tensor for each of
/// `ys`, of its dtype and shape; NULL stands for 1, and then all `ys` are scalars. Both `ys` and `xs` are of float or
/// complex dtypes, on one device; `n_ys` and `n_xs` are at least 1. The gradient by a tensor on which no y depends is
/// zero. The conventions are those of `lxla_computation_vjp`.
///
/// Only operations that are still pending are seen: differentiate before the step or read that computes `ys`.
/// FAILED_PRECONDITION if a step or read has computed a value on a path from one of `xs` to one of `ys`; the message
/// names both. Likewise if the path goes through a copy on another device (`lxla_tensor_to_device`).
/// `lxla_stop_gradient` makes a constant of such a value. A value that was read and given back, or that went through
/// eager tensors, is a constant.
/// INVALID_ARGUMENT for eager tensors with a value among `ys` or `xs`, of which no operations are recorded; for them,
/// trace a computation and use `lxla_computation_value_and_grad`. UNIMPLEMENTED if an operation has no derivative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_gradients(
    ys: *const lxla_tensor,
    n_ys: usize,
    cotangents: *const lxla_tensor,
    xs: *const lxla_tensor,
    n_xs: usize,
    out_gradients: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_gradients", unsafe { places("out_gradients", out_gradients, n_xs) }, || {
        // SAFETY: likewise.
        let (ys, xs) = unsafe { (handles("ys", ys, n_ys)?, handles("xs", xs, n_xs)?) };
        // SAFETY: likewise.
        let given = if cotangents.is_null() { None } else { Some(unsafe { handles("cotangents", cotangents, n_ys)? }) };
        gradients(&ys, given.as_deref(), &xs)
    })
}

/// Records `x`, of any dtype and shape, as a value that derivatives treat as a constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_stop_gradient(x: lxla_tensor, out_tensor: *mut lxla_tensor) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_stop_gradient", unsafe { place("out_tensor", out_tensor) }, || {
        record([("x", x.into())], |trace, [x]| ops::stop_gradient(trace, x))
    })
}

/// Records `x`, of any dtype and shape, under a name that is not empty, by which the checkpoint policy SAVE_NAMED saves
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_checkpoint_name(
    x: lxla_tensor,
    name: *const c_char,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_checkpoint_name", unsafe { place("out_tensor", out_tensor) }, || {
        // SAFETY: likewise.
        let name = unsafe { text("name", name)? };
        record([("x", x.into())], |trace, [x]| ops::checkpoint_name(trace, x, name))
    })
}

// SAFETY: `repr(C)`, begins with struct_size, and zero is the default of every field.
unsafe impl Options for lxla_vjp_options {
    const NAME: &str = "lxla_vjp_options";
}

/// A list that may be NULL.
unsafe fn optional_list(name: &str, start: *const usize, length: usize) -> Result<Option<Vec<usize>>> {
    if start.is_null() {
        if length > 0 {
            return Err(error!(NullArgument, "{name}: it is NULL, and its length is {length}"));
        }
        return Ok(None);
    }
    // SAFETY: the caller's promise, see `capi`.
    Ok(Some(unsafe { slice(name, start, length)? }.to_vec()))
}

/// Reads the options of reverse mode.
unsafe fn vjp_options(options: *const lxla_vjp_options) -> Result<VjpOptions> {
    // SAFETY: the caller's promise, see `capi`.
    let given = unsafe { options::read(options)? };
    // SAFETY: the caller's promise, see `capi`.
    let (wrt, names) = unsafe {
        (
            optional_list("options.wrt", given.wrt, given.n_wrt)?,
            slice("options.saved_names", given.saved_names, given.n_saved_names)?,
        )
    };
    let captured = match given.captured {
        0 | 2 => false,
        other => flag("options.captured", other)?,
    };
    let checkpoint = match given.checkpoint {
        0 | 1 => Checkpoint::SaveAll,
        2 => Checkpoint::SaveNone,
        3 => Checkpoint::SaveDots,
        4 => {
            // SAFETY: the caller's promise, see `capi`.
            let name = |&name: &*const c_char| unsafe { text("options.saved_names", name) }.map(str::to_string);
            Checkpoint::SaveNamed(names.iter().map(name).collect::<Result<_>>()?)
        }
        other => {
            return Err(error!(
                InvalidArgument,
                "options.checkpoint: {other} is no LXLA_CHECKPOINT_* constant (1 to 4)"
            ));
        }
    };
    if !names.is_empty() && given.checkpoint != 4 {
        return Err(error!(
            InvalidArgument,
            "options.saved_names: given without the policy LXLA_CHECKPOINT_SAVE_NAMED"
        ));
    }
    Ok(VjpOptions { wrt, captured, checkpoint })
}
