//! Search for the operation from which NaNs and infinities come, by evaluating the programs of a sync natively.

use super::inspect::plan_with;
use super::plan::{Plan, RunArgument};
use super::transfer::array_of;
use crate::device::{TensorHandle, device_of};
use crate::device_data::{DeviceData, Hold};
use crate::error;
use crate::error::Result;
use crate::interpret::{NonFinite, Watch, first_nonfinite, run_watched};
use crate::native::Array;
use rustc_hash::FxHashMap;
use serde_json::json;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Evaluates what a sync of these tensors would run, and returns as JSON the first operation that makes a NaN or an
/// infinity out of finite operands.
pub fn find_nonfinite(tensors: &[TensorHandle]) -> Result<String> {
    // Data is held from here on, so that no step of another thread consumes it.
    let (owner, plan, holds) = plan_with(tensors, holds)?;
    if plan.runs.is_empty() {
        return Err(error!(
            FailedPrecondition,
            "tensors: none is pending; call before the step or the read that computes them, while their operands are there"
        ));
    }
    let device = device_of("tensors", tensors[0])?;
    let mut arrays: FxHashMap<*const DeviceData, Array> = FxHashMap::default();
    let mut nonfinite = 0;
    for hold in holds {
        if hold.data().is_placeholder() {
            return Err(hold.data().unbound());
        }
        device.wait_until(&mut device.state(), || !hold.data().is_in_flight());
        let address = Arc::as_ptr(hold.shared());
        if let Entry::Vacant(place) = arrays.entry(address) {
            let array = place.insert(array_of(hold, &owner)?.0);
            nonfinite += usize::from(first_nonfinite(array)?.is_some());
        }
    }
    let found = evaluate(&plan, &arrays)?;
    Ok(json!({"found": found.map(|found| found.json()), "nonfinite_inputs": nonfinite}).to_string())
}

fn holds(plan: &Plan) -> Vec<Hold> {
    let arguments = plan.runs.iter().flat_map(|run| &run.arguments);
    let data = arguments.filter_map(|argument| match argument {
        RunArgument::Data(data) => Some(data.hold()),
        RunArgument::Output(_) => None,
    });
    data.collect()
}

/// Evaluates the runs in order until an operation is found.
fn evaluate(plan: &Plan, arrays: &FxHashMap<*const DeviceData, Array>) -> Result<Option<NonFinite>> {
    if plan.runs.iter().any(|run| run.stage.program.kernels().effects) {
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
            return Ok(Some(found));
        }
        for (offset, output) in outputs.into_iter().enumerate() {
            made[run.stage.first_output + offset] = Some(output);
        }
        run.stage.last_uses.iter().for_each(|&number| made[number] = None);
    }
    Ok(None)
}
