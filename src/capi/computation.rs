//! Chapter Computations.

use super::arguments::{Out, out, owned_text, slice, slice_mut};
use super::guard::guard;
use super::references::References;
use super::tensor::handles;
use super::types::*;
use crate::computation::{self, Computation};
use crate::device::TensorHandle;
use crate::error;
use crate::error::Result;
use crate::lower;
use std::ffi::c_char;
use std::sync::Arc;

/// All traced computations that somebody has.
static COMPUTATIONS: References<Computation> = References::new("computation");

/// The computation behind a handle, named as the argument that it came in.
pub(super) fn computation_of(argument: &str, computation: lxla_computation) -> Result<Arc<Computation>> {
    COMPUTATIONS.get(argument, computation.id)
}

/// Places for results: looked at before anything is done, written only when all is done.
pub(super) struct Results<'a> {
    name: &'static str,
    places: &'a mut [lxla_tensor],
}

impl Results<'_> {
    /// Those at a pointer.
    pub(super) unsafe fn at<'a>(name: &'static str, start: *mut lxla_tensor, n: usize) -> Result<Results<'a>> {
        // SAFETY: the caller's promise, see `capi`.
        Ok(Results { name, places: unsafe { slice_mut(name, start, n)? } })
    }

    /// An error unless there are as many as wanted.
    pub(super) fn check(&self, count: usize, wanted: usize) -> Result<()> {
        if self.places.len() != wanted {
            return Err(error!(InvalidArgument, "{}: {count} given; want {wanted}", self.name));
        }
        Ok(())
    }

    /// Writes them.
    pub(super) fn set(&mut self, tensors: &[TensorHandle]) {
        self.places.iter_mut().zip(tensors).for_each(|(place, &tensor)| *place = tensor.into());
    }
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
