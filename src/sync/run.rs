//! Running a plan: everything is compiled before anything runs, so that a compile that fails has cost nothing.

use super::plan::{Plan, Run, Source};
use crate::cache::Lookup;
use crate::device::{Compiled, Owner, Shared};
use crate::engine::Buffer;
use crate::error::Result;
use crate::lower::{Pack, lower};
use crate::metrics::Counter;
use std::sync::Arc;
use std::time::Instant;

/// What a plan made, by number; what was needed only on the way is gone already.
pub type Made = Vec<Option<Arc<dyn Buffer>>>;

/// Compiles and runs; `made` has what was finished also when it fails. No lock is held. Whatever can fail without having
/// consumed anything comes first: compiling, and sending scalars.
pub fn run(owner: &Owner, plan: &Plan, made: &mut Made) -> Result<()> {
    let mut ready = Vec::with_capacity(plan.runs.len());
    for run in &plan.runs {
        let compiled = compile(&owner.shared, run)?;
        let packs = compiled.packs.iter().map(|pack| send(owner, pack, run)).collect::<Result<Vec<_>>>()?;
        ready.push((run, compiled, packs));
    }
    ready.into_iter().try_for_each(|(run, compiled, packs)| execute(owner, run, &compiled, packs, made))
}

/// Sends the scalars of one pack.
fn send(owner: &Owner, pack: &Pack, run: &Run) -> Result<Arc<dyn Buffer>> {
    let bytes = pack.bytes(&run.scalars);
    let sent = owner.shared.engine.transfer_to_device(owner.ordinal, &pack.ty(), &bytes)?;
    owner.shared.metrics.add(Counter::TransferToDevice, 1);
    owner.shared.metrics.add(Counter::OutboundBytes, bytes.len() as u64);
    Ok(sent)
}

fn compile(shared: &Shared, run: &Run) -> Result<Arc<Compiled>> {
    let lookup = Lookup { words: run.program.words(), scalars: &run.scalars, donors: &run.donors };
    let (compiled, now) = shared.programs.get_or_make(&lookup, |varying| {
        let start = Instant::now();
        let module = lower(&run.program, &run.scalars, varying, &run.donors);
        let executable = shared.engine.compile(&module.text, module.signature)?;
        shared.metrics.add(Counter::CompileNanoseconds, start.elapsed().as_nanos() as u64);
        Ok(Compiled { executable, packs: module.packs })
    })?;
    shared.metrics.add(if now { Counter::UncachedCompile } else { Counter::CachedCompile }, 1);
    Ok(compiled)
}

fn execute(owner: &Owner, run: &Run, compiled: &Compiled, packs: Vec<Arc<dyn Buffer>>, made: &mut Made) -> Result<()> {
    let (shared, device) = (&owner.shared, owner.ordinal);
    let mut arguments = Vec::with_capacity(run.arguments.len() + packs.len());
    for argument in &run.arguments {
        arguments.push(match argument {
            Source::Data(data) => data.buffer()?,
            Source::Made(number) => made[*number].clone().expect("what a later run needs is kept until then"),
        });
    }
    arguments.extend(packs);
    // Reads and saves under way forbid this one run to consume what they read; they come and go, and are in no key. None
    // can begin now: a donor is no live tensor's value any more.
    let is_held = |donor: &usize| matches!(&run.arguments[*donor], Source::Data(data) if data.is_held());
    let keep: Vec<usize> = run.donors.iter().copied().filter(is_held).collect();
    let execution = compiled.executable.execute(device, &arguments, &keep)?;

    let of_tensors =
        |indices: &[usize]| indices.iter().filter(|&&i| matches!(run.arguments[i], Source::Data(_))).count() as u64;
    shared.metrics.add(Counter::ExecuteComputation, 1);
    shared.metrics.add(Counter::DonorsRequested, of_tensors(&run.donors) - of_tensors(&keep));
    shared.metrics.add(Counter::DonatedBuffers, of_tensors(&execution.consumed));
    for (offset, buffer) in execution.outputs.into_iter().enumerate() {
        made[run.first_output + offset] = Some(buffer);
    }
    run.last_uses.iter().for_each(|&number| made[number] = None);
    Ok(())
}
