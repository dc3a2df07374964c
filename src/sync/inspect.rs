//! Inspects the programs that a sync or step would run, without running them.

use super::compile::{compile, layout};
use super::key;
use super::nonfinite::{find_in, holds};
use super::partial::{by_device, plan_read, scope_of};
use super::plan::{Plan, check_memory};
use super::step::plan_step;
use crate::cache::Lookup;
use crate::device::{Device, DeviceState, Owner, ReadScope, Sizes, TensorHandle, Value, device_of};
use base::error;
use base::error::Result;
use engine::ProgramMemory;
use ir::{NodeId, Planner};
use lowering::lower::{Target, lower};

/// Returns the StableHLO text that a sync of these tensors would compile. The tensors are on one device; placeholders
/// become parameters.
pub fn stablehlo(tensors: &[TensorHandle]) -> Result<String> {
    let (owner, plan) = plan_of(tensors)?;
    text(&owner, &plan)
}

/// Returns the StableHLO text that a step would compile now, with donors marked.
pub fn step_stablehlo(device: &'static Device) -> Result<String> {
    let (owner, plan) = step_plan(device)?;
    text(&owner, &plan)
}

/// Compiles the programs that a sync of these tensors would run, and returns their memory use.
pub fn memory(tensors: &[TensorHandle]) -> Result<ProgramMemory> {
    let (owner, plan) = plan_of(tensors)?;
    memory_of(&owner, &plan)
}

/// Compiles the programs that a step would run now, and returns their memory use.
pub fn step_memory(device: &'static Device) -> Result<ProgramMemory> {
    let (owner, plan) = step_plan(device)?;
    memory_of(&owner, &plan)
}

/// Sums the memory use of all runs. Temporaries are needed by one run at a time, so that their maximum is taken.
fn memory_of(owner: &Owner, plan: &Plan) -> Result<ProgramMemory> {
    let mut sum = ProgramMemory::default();
    let mut shardings = Vec::new();
    for run in &plan.runs {
        let one = compile(owner, run, &mut shardings, &Sizes::Fixed)?.executable.memory()?;
        sum = ProgramMemory {
            arguments: sum.arguments + one.arguments,
            outputs: sum.outputs + one.outputs,
            aliases: sum.aliases + one.aliases,
            temporaries: sum.temporaries.max(one.temporaries),
            code: sum.code + one.code,
        };
    }
    Ok(sum)
}

/// Returns the blake3 hash of the key of the programs that a sync of these tensors would run.
pub fn graph_hash(tensors: &[TensorHandle]) -> Result<[u8; 32]> {
    let (owner, plan) = plan_of(tensors)?;
    hash(&owner, &plan)
}

/// Returns the blake3 hash of the key of the programs that a step would run now, including donors.
pub fn step_hash(device: &'static Device) -> Result<[u8; 32]> {
    let (owner, plan) = step_plan(device)?;
    hash(&owner, &plan)
}

/// Returns the plan of the step that would be made now.
fn step_plan(device: &'static Device) -> Result<(Owner, Plan)> {
    let state = device.state();
    let owner = state.owner()?.clone();
    check_memory(&state.trace)?;
    let plan = plan_step(&state, &mut Planner::default(), &owner);
    Ok((owner, plan))
}

/// Returns as JSON the first operation of a sync of these tensors that makes a NaN or an infinity out of finite
/// operands.
pub fn find_nonfinite(tensors: &[TensorHandle]) -> Result<String> {
    find_in(tensors, plan_with(tensors, Some(ReadScope::Listed), holds)?)
}

pub(super) fn plan_of(tensors: &[TensorHandle]) -> Result<(Owner, Plan)> {
    plan_with(tensors, None, |_| ()).map(|(owner, plan, ())| (owner, plan))
}

/// Returns the plan of a sync of these tensors, and what `then` makes of it under the lock of their device. Without a
/// scope, the plan is for what a sync would compute now.
fn plan_with<R>(
    tensors: &[TensorHandle],
    scope: Option<ReadScope>,
    then: impl FnOnce(&Plan) -> R,
) -> Result<(Owner, Plan, R)> {
    let first = tensors.first().ok_or_else(|| error!(InvalidArgument, "n: 0 tensors given; want at least 1"))?;
    let device = device_of("tensors", *first)?;
    if by_device(tensors)?.len() > 1 {
        return Err(error!(InvalidArgument, "tensors: they are on different devices, and would be several programs"));
    }
    let state = device.state();
    tensors.iter().try_for_each(|&handle| state.check("tensors", handle).map(drop))?;
    if state.is_native() {
        return Err(error!(InvalidArgument, "tensors: they are native; on cpu nothing is compiled"));
    }
    let owner = state.owner()?.clone();
    check_memory(&state.trace)?;
    let roots = nodes(&state, tensors)?;
    let scope = scope.unwrap_or_else(|| scope_of(&state, &owner));
    let plan = plan_read(&state, &mut Planner::default(), &owner, roots, scope);
    let made = then(&plan);
    Ok((owner, plan, made))
}

fn nodes(state: &DeviceState, tensors: &[TensorHandle]) -> Result<Vec<NodeId>> {
    let mut nodes = Vec::new();
    for &handle in tensors {
        if let Value::Pending(id) = state.value(state.check("tensors", handle)?) {
            nodes.push(*id);
        }
    }
    Ok(nodes)
}

/// Returns one module for each run; there is more than one only above `max_program_ops`. On a mesh, values passed
/// between the runs are shown as replicated, although the compiler chooses their shardings.
fn text(owner: &Owner, plan: &Plan) -> Result<String> {
    let precision = owner.shared.options.matmul_precision();
    let mut text = String::new();
    for run in &plan.runs {
        let layout = layout(owner, run, &[]);
        let encoding = key::encoding(&run.stage.program, layout.as_ref(), precision);
        let lookup = Lookup { encoding: &encoding, scalars: &run.scalars, donors: &run.stage.donors };
        let runtime = owner.shared.runtime();
        let variant = runtime.programs.peek(&lookup);
        let engine = &runtime.engine;
        let (platform, calls_host) = (engine.platform(), engine.calls_host());
        let target = Target { platform, calls_host, layout: layout.as_ref(), has_locations: true, precision };
        let one = lower(&run.stage.program, &run.scalars, &variant.varying, &variant.donors, target)?.text;
        text.try_reserve(one.len()).map_err(|_| error!(ResourceExhausted, "no host memory for the StableHLO text"))?;
        text += &one;
    }
    Ok(text)
}

/// Hashes the keys of all runs of the plan.
fn hash(owner: &Owner, plan: &Plan) -> Result<[u8; 32]> {
    let precision = owner.shared.options.matmul_precision();
    let mut hasher = key::hasher(&owner.shared)?;
    for run in &plan.runs {
        let layout = layout(owner, run, &[]);
        let encoding = key::encoding(&run.stage.program, layout.as_ref(), precision);
        let lookup = Lookup { encoding: &encoding, scalars: &run.scalars, donors: &run.stage.donors };
        key::add(&mut hasher, &lookup, &owner.shared.runtime().programs.peek(&lookup));
    }
    Ok(hasher.finalize().into())
}
