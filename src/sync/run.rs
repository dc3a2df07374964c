//! Runs a plan. Everything is compiled before anything runs, so that a failed compile has no effect.

use super::compile::{check_memory, compile, compiler_stack};
use super::key;
use super::padded::{Found, Ready, bounded, buffer_of, is_padded, stated_axes};
use super::plan::{Plan, Run, RunArgument};
use crate::cache::Lookup;
use crate::device::{Compiled, DynamicSizes, Kind, Owner, Shared, Sizes};
use base::error::Result;
use base::metrics::Counter;
use base::stack::{SHALLOW, with_stack};
use base::types::Scalar;
use engine::{Buffer, Execution};
use mesh::Sharding;
use ops::emit::PackedScalars;
use std::sync::Arc;
use std::time::Instant;

/// Outputs of a plan, by number. Intermediate outputs are dropped after their last use.
pub type Outputs = Vec<Option<Arc<dyn Buffer>>>;

/// Compiles the programs of a plan. Called without locks.
pub fn compile_all(owner: &Owner, plan: &Plan) -> Result<Vec<Ready>> {
    let mut shardings = Vec::new();
    plan.runs.iter().map(|run| ready(owner, run, &mut shardings)).collect()
}

/// Returns the program of a run for its sizes, or one for bounds that serves it.
fn ready(owner: &Owner, run: &Run, shardings: &mut Vec<Sharding>) -> Result<Ready> {
    let options = &owner.shared.options;
    let option = options.dynamic_sizes();
    let mut sizes = Sizes::Fixed;
    if (option.is_some() || options.has_stated_axes()) && owner.mesh.is_none() && !run.stage.program.kernels().any {
        let bounds = option.as_deref().unwrap_or(&DynamicSizes::Buckets);
        let stated = if options.has_stated_axes() { stated_axes(run, bounds) } else { Vec::new() };
        let program = &run.stage.program;
        let encoding = key::encoding(program, None, options.matmul_precision());
        let lookup = Lookup { encoding: &encoding, scalars: &run.scalars, donors: &run.stage.donors };
        let may_change = option.is_some() || !stated.is_empty();
        if may_change && !owner.shared.runtime().programs.has(&lookup) {
            match bounded(owner, run, bounds, &stated)? {
                Found::Bounded(ready) => return Ok(ready),
                Found::Own(own) => sizes = own,
            }
        }
    }
    Ok(Ready { compiled: compile(owner, run, shardings, &sizes)?, bounded: None })
}

/// Runs the plan of a sync, in which the programs are compiled. On failure, `made` holds the outputs of the runs that
/// finished. Scalars are transferred first, because that can fail without consuming an argument. Called without locks.
pub fn run_compiled(owner: &Owner, plan: &Plan, kind: Kind, compiled: &[Ready], made: &mut Outputs) -> Result<()> {
    let mut ready = Vec::with_capacity(plan.runs.len());
    for (run, compiled) in plan.runs.iter().zip(compiled) {
        let scalars = compiled.scalars(run);
        let packs = compiled.compiled.packs.iter().map(|pack| send(owner, pack, scalars));
        ready.push((run, compiled, packs.collect::<Result<Vec<_>>>()?));
    }
    // A kernel can fail. The run is awaited then, and nothing is consumed, so that all values are as before the step.
    let can_fail = plan.runs.iter().any(|run| run.stage.program.kernels().any);
    // A search for the origin of a NaN evaluates the programs again.
    let keeps_all = can_fail || owner.shared.options.check_nonfinite();
    ready.iter().try_for_each(|(_, ready, _)| check_memory(owner, &ready.compiled, keeps_all))?;
    ready.into_iter().try_for_each(|(run, compiled, packs)| {
        execute(owner, run, compiled, packs, keeps_all, made)?;
        if can_fail { await_run(owner, run, made) } else { Ok(()) }
    })?;
    owner.shared.ran.add(kind, owner.place, compiled.iter().map(|ready| ready.compiled.known.number));
    Ok(())
}

/// Waits for the outputs of a run, and returns the error of one that failed. The outputs are removed then.
fn await_run(owner: &Owner, run: &Run, made: &mut Outputs) -> Result<()> {
    // Later runs have no outputs yet.
    let outputs = run.stage.first_output..;
    let failure = made[outputs.clone()].iter().flatten().find_map(|buffer| buffer.failure());
    let Some(failure) = failure else { return Ok(()) };
    made[outputs].iter_mut().for_each(|output| *output = None);
    // The error is reported here, not by the next wait.
    let _ = owner.wait();
    Err(failure)
}

/// Transfers the scalars of one pack to the device.
fn send(owner: &Owner, pack: &PackedScalars, scalars: &[Scalar]) -> Result<Arc<dyn Buffer>> {
    owner.transfer(&pack.ty(), &pack.bytes(scalars), None)
}

/// Runs one program of a plan, and puts its outputs into `made`.
fn execute(
    owner: &Owner,
    run: &Run,
    ready: &Ready,
    packs: Vec<Arc<dyn Buffer>>,
    keeps_all: bool,
    made: &mut Outputs,
) -> Result<()> {
    let (shared, device, compiled) = (&owner.shared, owner.ordinal(), &*ready.compiled);
    let fitted = fitted(owner, run, ready, made)?;
    let (arguments, keep) = (arguments(run, &packs, made, &fitted)?, withheld(run, compiled, keeps_all));
    let mut span = shared.timeline().span("execute", "execute");
    if span.is_on() {
        span.program(compiled.known.number, run.stage.program.common_label());
    }
    let execute = || compiled.executable.execute(device, &arguments, &keep);
    let start = Instant::now();
    let execution = enqueue(shared, compiled, &arguments, || match compiled.depth {
        0..=SHALLOW => execute(),
        depth => with_stack(compiler_stack(depth), depth, execute),
    })?;
    compiled.usage.add(start);
    if let Some(bounded) = &ready.bounded {
        bounded.time(owner);
    }
    if span.is_on() {
        for &ordinal in owner.ordinals() {
            let run = shared.timeline().run_on(ordinal, &mut span);
            shared.runtime().engine.when_ended(ordinal, Box::new(run));
        }
    }
    drop(span);
    count(shared, run, &compiled.executable.signature().donors, &keep, &execution.consumed);
    for (offset, buffer) in execution.outputs.into_iter().enumerate() {
        made[run.stage.first_output + offset] = Some(ready.output(offset, buffer)?);
    }
    run.stage.last_uses.iter().for_each(|&number| made[number] = None);
    Ok(())
}

/// Enqueues a run by `execute`; once more if it consumed nothing, and the memory callback has freed memory for it.
pub(super) fn enqueue(
    shared: &Shared,
    compiled: &Compiled,
    arguments: &[&dyn Buffer],
    execute: impl Fn() -> Result<Execution>,
) -> Result<Execution> {
    let bytes = compiled.memory.temporaries.saturating_add(compiled.memory.outputs);
    match execute() {
        Err(e)
            if !arguments.iter().any(|buffer| buffer.is_deleted()) && shared.memory_callback.has_freed(&e, bytes) =>
        {
            execute()
        }
        outcome => outcome,
    }
}

/// Arguments that a run takes in other memory than they have, by index, ascending: padded, or cut to their sizes.
type Fitted = Vec<(usize, Arc<dyn Buffer>)>;

/// Returns the arguments that the program takes in other memory than they have.
fn fitted(owner: &Owner, run: &Run, ready: &Ready, made: &Outputs) -> Result<Fitted> {
    let mut fitted = Vec::new();
    if !owner.shared.runtime().kinds.has_served() {
        return Ok(fitted);
    }
    for (index, argument) in run.arguments.iter().enumerate() {
        let buffer = buffer_of(argument, made)?;
        if ready.bounded.is_some() || is_padded(&**buffer) {
            fitted.push((index, ready.argument(owner, index, buffer)?));
        }
    }
    Ok(fitted)
}

/// Buffers that a run takes: its arguments, then the packs of scalars.
fn arguments<'a>(
    run: &'a Run,
    packs: &'a [Arc<dyn Buffer>],
    made: &'a Outputs,
    fitted: &'a Fitted,
) -> Result<Vec<&'a dyn Buffer>> {
    let mut arguments: Vec<&dyn Buffer> = Vec::with_capacity(run.arguments.len() + packs.len());
    for argument in &run.arguments {
        arguments.push(&**buffer_of(argument, made)?);
    }
    fitted.iter().for_each(|(index, buffer)| arguments[*index] = &**buffer);
    arguments.extend(packs.iter().map(|pack| &**pack));
    Ok(arguments)
}

/// Indices of the arguments that a run must not consume: donors of the executable that are not donors of this run (it
/// was compiled for other donors), and buffers held by reads and saves in flight. Holds are transient and not part of
/// the key; no new one can begin now, because a donor is no longer the value of a live tensor.
fn withheld(run: &Run, compiled: &Compiled, keeps_all: bool) -> Vec<usize> {
    let (donors, own) = (&compiled.executable.signature().donors, &run.stage.donors);
    let is_held = |donor: usize| matches!(&run.arguments[donor], RunArgument::Data(data) if data.is_held());
    let is_for_others = donors != own;
    let is_withheld =
        |&donor: &usize| keeps_all || is_for_others && own.binary_search(&donor).is_err() || is_held(donor);
    donors.iter().copied().filter(is_withheld).collect()
}

/// Counts a run with these donors, of which it was to keep some, and consumed others.
fn count(shared: &Shared, run: &Run, donors: &[usize], keep: &[usize], consumed: &[usize]) {
    let is_of_tensor = |&&i: &&usize| matches!(run.arguments[i], RunArgument::Data(_));
    // The first run has no outputs of earlier ones as arguments.
    let is_first = run.stage.first_output == 0;
    let of_tensors = |indices: &[usize]| match is_first {
        true => indices.len() as u64,
        false => indices.iter().filter(is_of_tensor).count() as u64,
    };
    shared.metrics.add(Counter::ExecuteComputation, 1);
    shared.metrics.add(Counter::DonorsRequested, of_tensors(donors) - of_tensors(keep));
    shared.metrics.add(Counter::DonatedBuffers, of_tensors(consumed));
    shared.metrics.add(Counter::FreedEarly, run.stage.spare as u64);
}
