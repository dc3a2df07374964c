//! Search for the operation from which NaNs and infinities come, by evaluating the programs of a sync natively: before
//! the sync, or after it if the option `check_nonfinite` found some in its results.

use super::arrays::array_of;
use super::plan::{Plan, RunArgument};
use super::run::Outputs;
use crate::device::{Owner, TensorHandle, device_of};
use crate::device_data::{DeviceData, Hold};
use base::error;
use base::error::{Error, Result};
use base::threads;
use base::types::Kind;
use lowering::interpret::{NonFinite, Watch, first_nonfinite, first_nonfinite_of, run_watched};
use native::Array;
use rustc_hash::FxHashMap;
use serde_json::json;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Evaluates what a sync of these tensors would run, and returns as JSON the first operation that makes a NaN or an
/// infinity out of finite operands.
///
/// `planned` is the plan of the sync, with its data held, so that no step of another thread consumes it.
pub(super) fn find_in(tensors: &[TensorHandle], planned: (Owner, Plan, Vec<Hold>)) -> Result<String> {
    let (owner, plan, holds) = planned;
    if plan.runs.is_empty() {
        return Err(error!(
            FailedPrecondition,
            "tensors: none is pending; call before the step or the read that computes them, while their operands are there"
        ));
    }
    let device = device_of("tensors", tensors[0])?;
    for hold in &holds {
        if hold.data().is_placeholder() {
            return Err(hold.data().unbound());
        }
        device.wait_until(&mut device.state(), || !hold.data().is_in_flight());
    }
    let (arrays, nonfinite) = arrays(holds, &owner)?;
    let found = evaluate(&owner, &plan, &arrays)?.found;
    Ok(json!({"found": found.map(|found| found.json()), "nonfinite_inputs": nonfinite}).to_string())
}

/// With the option `check_nonfinite`, checks the results of a plan that was run. Fails if one of its operations made a
/// NaN or an infinity out of finite operands. The arguments have not been consumed.
pub(super) fn check_results(owner: &Owner, plan: &Plan, made: &Outputs) -> Result<()> {
    if !owner.shared.options.check_nonfinite() {
        return Ok(());
    }
    let mut first = None;
    for &(_, output) in &plan.scheme.roots {
        let Some(buffer) = made[output].clone() else { continue };
        let ty = buffer.tensor_type().clone();
        if matches!(ty.dtype.kind(), Kind::Pred | Kind::Signed | Kind::Unsigned) {
            continue;
        }
        // The failure of a run is reported by the next wait, or read of its results.
        let Ok(mut copy) = buffer.start_host_copy() else { continue };
        let Ok(bytes) = copy.bytes() else { continue };
        if first_nonfinite_of(&ty, bytes)?.is_some() {
            first = Some((output, ty));
            break;
        }
    }
    let Some((output, ty)) = first else { return Ok(()) };
    let label = plan.label_of(output).suffix();
    let failed = |e: Error| {
        error!(
            OutOfRange,
            "a result {ty}{label} has a NaN or an infinity; the search for its origin failed: {}", e.message
        )
    };
    let (arrays, nonfinite) = arrays(holds(plan), owner).map_err(failed)?;
    let evaluated = match evaluate(owner, plan, &arrays) {
        Ok(evaluated) => evaluated,
        // The value may come from the arguments, as that of a mask does: it is not known to be made here.
        Err(_) if nonfinite > 0 => return Ok(()),
        Err(e) => return Err(failed(e)),
    };
    match evaluated.found {
        Some(found) => Err(error!(OutOfRange, "{}", found.text())),
        // NaNs that came with the arguments, and constant infinities, are not reported.
        None if nonfinite > 0 => Ok(()),
        None if evaluated.outputs[output].as_ref().is_some_and(|array| !matches!(first_nonfinite(array), Ok(None))) => {
            Ok(())
        }
        None => Err(error!(
            OutOfRange,
            "a result {ty}{label} has a NaN or an infinity on {}; evaluated natively, all values are finite",
            owner.place
        )),
    }
}

/// The values that are held, by their address, and the number of those that are not finite.
fn arrays(holds: Vec<Hold>, owner: &Owner) -> Result<(Arrays, usize)> {
    let mut arrays = Arrays::default();
    let mut nonfinite = 0;
    for hold in holds {
        let address = Arc::as_ptr(hold.shared());
        if let Entry::Vacant(place) = arrays.entry(address) {
            let array = place.insert(array_of(hold, owner)?.0);
            nonfinite += usize::from(first_nonfinite(array)?.is_some());
        }
    }
    Ok((arrays, nonfinite))
}

pub(super) fn holds(plan: &Plan) -> Vec<Hold> {
    let arguments = plan.runs.iter().flat_map(|run| &run.arguments);
    let data = arguments.filter_map(|argument| match argument {
        RunArgument::Data(data) => Some(data.hold()),
        RunArgument::Output(_) => None,
    });
    data.collect()
}

/// Values of the arguments of a plan, by the address of their data.
type Arrays = FxHashMap<*const DeviceData, Array>;

/// Outcome of an evaluation.
struct Evaluated {
    /// The operation that was found.
    found: Option<NonFinite>,
    /// If none was found, the outputs of the plan by number, except for those that only its own runs need.
    outputs: Vec<Option<Array>>,
}

/// Evaluates the runs in order until an operation is found.
fn evaluate(owner: &Owner, plan: &Plan, arrays: &Arrays) -> Result<Evaluated> {
    threads::limited(owner.shared.options.threads(), || evaluate_within(plan, arrays))
}

fn evaluate_within(plan: &Plan, arrays: &Arrays) -> Result<Evaluated> {
    if plan.runs.iter().any(|run| run.stage.program.has_effects()) {
        return Err(error!(Unimplemented, "the program calls kernels with effects, which a search would repeat"));
    }
    let mut made: Vec<Option<Array>> = vec![None; plan.scheme.outputs.len()];
    for run in &plan.runs {
        let argument = |argument: &RunArgument| match argument {
            RunArgument::Data(data) => arrays[&Arc::as_ptr(data)].clone(),
            RunArgument::Output(number) => made[*number].clone().expect("a run makes all its outputs"),
        };
        let inputs: Vec<Array> = run.arguments.iter().map(argument).collect();
        let watch = Watch::default();
        let outputs = run_watched(&run.stage.program, &run.scalars, &inputs, &watch)?;
        if let Some(found) = watch.found() {
            return Ok(Evaluated { found: Some(found), outputs: Vec::new() });
        }
        for (offset, output) in outputs.into_iter().enumerate() {
            made[run.stage.first_output + offset] = Some(output);
        }
        run.stage.last_uses.iter().for_each(|&number| made[number] = None);
    }
    Ok(Evaluated { found: None, outputs: made })
}
