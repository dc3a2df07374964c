//! Running a plan: everything is compiled before anything runs, so that a compile that fails has cost nothing.

use super::plan::{Plan, Run, Source};
use crate::cache::Lookup;
use crate::device::{Compiled, Owner, Shared};
use crate::engine::Buffer;
use crate::error::Result;
use crate::lower::lower;
use crate::metrics::Counter;
use std::sync::Arc;
use std::time::Instant;

/// What a plan made, by number; what was needed only on the way is gone already.
pub type Made = Vec<Option<Arc<dyn Buffer>>>;

/// Compiles and runs. No lock is held.
pub fn run(owner: &Owner, plan: &Plan) -> Result<Made> {
    let compiled = plan.runs.iter().map(|run| compile(&owner.shared, run)).collect::<Result<Vec<_>>>()?;
    let mut made: Made = vec![None; plan.made];
    for (run, compiled) in plan.runs.iter().zip(&compiled) {
        execute(owner, run, compiled, &mut made)?;
    }
    Ok(made)
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

fn execute(owner: &Owner, run: &Run, compiled: &Compiled, made: &mut Made) -> Result<()> {
    let (shared, device) = (&owner.shared, owner.ordinal);
    let mut arguments = Vec::with_capacity(run.arguments.len() + compiled.packs.len());
    for argument in &run.arguments {
        arguments.push(match argument {
            Source::Data(data) => data.buffer()?,
            Source::Made(number) => made[*number].clone().expect("what a later run needs is kept until then"),
        });
    }
    for pack in &compiled.packs {
        let bytes = pack.bytes(&run.scalars);
        arguments.push(shared.engine.transfer_to_device(device, &pack.ty(), &bytes)?);
        shared.metrics.add(Counter::TransferToDevice, 1);
        shared.metrics.add(Counter::OutboundBytes, bytes.len() as u64);
    }
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
