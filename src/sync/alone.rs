//! Programs that are compiled and run outside of syncs: those of executables.

use super::collect::needed_data;
use super::compile::{Job, check_memory, compiler_stack};
use super::key;
use super::padded::Ready;
pub use super::padded::is_padded;
use super::plan::Run;
use super::run::enqueue;
use crate::cache::{Lookup, Variant};
use crate::device::{Compiled, Device, DeviceState, Owner, Sizes, TensorHandle, Value};
use crate::device_data::{DeviceData, Hold, Name, State};
use base::error::Result;
use base::metrics::Counter;
use base::stack::{SHALLOW, with_stack};
use base::types::{Encoding, Scalar, TensorType};
use engine::{Buffer, Execution, Partitions, Signature, cpu};
use ir::{Precision, Program, Stage};
use lowering::lower::Layout;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// A program with the constants in its scalar slots, and the parameters that its runs may consume, ascending.
pub struct Alone {
    run: Run,
    variant: Variant,
    layout: Option<Layout>,
    precision: Precision,
}

impl Alone {
    /// The program, all of whose scalars are constants. On a mesh, `layout` states the shardings of its parameters.
    /// `precision` is for products that state none.
    pub fn new(
        program: Arc<Program>,
        scalars: Vec<Scalar>,
        donors: Vec<usize>,
        layout: Option<Layout>,
        precision: Precision,
    ) -> Alone {
        let variant = Variant { varying: vec![false; scalars.len()].into(), donors: donors.as_slice().into() };
        let (spare, first_output) = (0, 0);
        let (of_scalars, arguments, last_uses) = (Vec::new(), Vec::new(), Vec::new());
        let stage = Stage { program, scalars: of_scalars, arguments, donors, spare, first_output, last_uses };
        Alone { run: Run { stage: Arc::new(stage), scalars, arguments: Vec::new() }, variant, layout, precision }
    }

    /// Loads the program from the disk cache, or compiles it. It does not enter the cache in memory, which could have
    /// it with other donors and parameters.
    pub fn compile(&self, owner: &Owner) -> Result<Compiled> {
        let encoding = self.encoding();
        self.job(owner).make(owner, &self.lookup(&encoding), &Sizes::Fixed)
    }

    /// Compiles the program, whatever the disk cache has, and returns its code: a runtime may not be able to serialize
    /// what it has loaded itself.
    pub fn code(&self, owner: &Owner) -> Result<Vec<u8>> {
        let job = self.job(owner);
        job.build(&job.lower(self.layout.as_ref())?)?.serialize()
    }

    /// Loads code that [`engine::Executable::serialize`] made of the program, or of one that has the first of its
    /// parameters, on an engine with the same [`key()`]. `parameters` are the types of the code's parameters.
    pub fn load(&self, owner: &Owner, code: &[u8], parameters: Vec<TensorType>) -> Result<Compiled> {
        let start = Instant::now();
        let Stage { program, donors, .. } = &*self.run.stage;
        let (values, outputs) = program.decode();
        let outputs = outputs.iter().map(|&output| values[output].ty.clone()).collect();
        let job = self.job(owner);
        // On a mesh, which outputs have a sharding that the text states, as those in the memory of a donor.
        let partitions = match &self.layout {
            None => None,
            Some(_) => job.lower(self.layout.as_ref())?.signature.partitions,
        };
        let partitions =
            partitions.map(|all| Partitions { parameters: all.parameters[..parameters.len()].to_vec(), ..all });
        let signature = Signature { parameters, outputs, donors: donors.clone(), partitions };
        let executable = job.load(code, &signature)?;
        let encoding = self.encoding();
        Ok(job.compiled(owner, &self.lookup(&encoding), executable, Vec::new(), (start, true, &Sizes::Fixed)))
    }

    fn job<'a>(&'a self, owner: &'a Owner) -> Job<'a> {
        let depth = self.run.stage.program.depth();
        Job {
            shared: &owner.shared,
            run: &self.run,
            variant: &self.variant,
            layout: self.layout.as_ref(),
            depth,
            precision: self.precision,
        }
    }

    fn encoding(&self) -> Cow<'_, Encoding> {
        key::encoding(&self.run.stage.program, self.layout.as_ref(), self.precision)
    }

    fn lookup<'a>(&'a self, encoding: &'a Encoding) -> Lookup<'a> {
        Lookup { encoding, scalars: &self.run.scalars, donors: &self.run.stage.donors }
    }
}

/// Digest of what the code of a program depends on besides the program and its layout: this library, the plugin, its
/// options and devices, the devices of the mesh, the processor.
pub fn key(owner: &Owner) -> Result<[u8; 32]> {
    let mut hasher = key::hasher(&owner.shared)?;
    hasher.update(cpu::features().as_bytes());
    if let Some(mesh) = &owner.mesh {
        hasher.update(format!("{mesh:?}").as_bytes());
    }
    Ok(*hasher.finalize().as_bytes())
}

/// Enqueues one run. `keep` lists the donors, ascending, which it must not consume. A program that can fail is awaited.
pub fn execute(owner: &Owner, compiled: &Compiled, arguments: &[&dyn Buffer], keep: &[usize]) -> Result<Execution> {
    check_memory(owner, compiled, !keep.is_empty())?;
    let shared = &owner.shared;
    let mut span = shared.timeline().span("execute", "execute");
    if span.is_on() {
        span.program(compiled.known.number, compiled.known.compiled.program.common_label());
    }
    let run = || compiled.executable.execute(owner.ordinal(), arguments, keep);
    let start = Instant::now();
    let execution = enqueue(shared, compiled, arguments, || match compiled.depth {
        0..=SHALLOW => run(),
        depth => with_stack(compiler_stack(depth), depth, run),
    })?;
    compiled.usage.add(start);
    if span.is_on() {
        for &ordinal in owner.ordinals() {
            let run = shared.timeline().run_on(ordinal, &mut span);
            shared.runtime().engine.when_ended(ordinal, Box::new(run));
        }
    }
    shared.metrics.add(Counter::ExecuteComputation, 1);
    Ok(execution)
}

/// Returns the error of a run that has failed. Waits for it.
pub fn failure(execution: &Execution) -> Result<()> {
    execution.outputs.iter().find_map(|buffer| buffer.failure()).map_or(Ok(()), Err)
}

/// Returns the buffer of an array as a program for its size takes it: the buffer, or a copy without its padding.
pub fn whole(owner: &Owner, compiled: &Arc<Compiled>, buffer: &Arc<dyn Buffer>) -> Result<Arc<dyn Buffer>> {
    Ready { compiled: compiled.clone(), bounded: None }.argument(owner, 0, buffer)
}

/// A tensor whose value a run consumes.
pub struct Taken {
    /// Index of the parameter.
    pub parameter: usize,
    tensor: TensorHandle,
    /// Value of the tensor before.
    before: Arc<DeviceData>,
    /// Value of the tensor now, which has no buffer.
    after: Arc<DeviceData>,
}

/// Takes the values of these tensors away, for a run of this name. `candidates` are parameters with their tensors and
/// the data that the run reads. A value stays if anything else holds it: another tensor, a pending operation, another
/// argument, a read or a run that is being enqueued.
pub fn take(device: &'static Device, name: &Name, candidates: &[(usize, TensorHandle, &Hold)]) -> Vec<Taken> {
    if candidates.is_empty() {
        return Vec::new();
    }
    // No sync is between its plan, which refers to the buffers, and its run.
    let _order = device.order();
    let mut garbage = Vec::new();
    let mut taken = Vec::new();
    let mut state = device.state();
    let needed = needed_data(&state.trace, &state.trace.held_operations(), &[]);
    for &(parameter, tensor, hold) in candidates {
        let before = hold.shared();
        let Some(slot) = slot_with(&state, tensor, before) else { continue };
        let is_shared = before.tensors.get() != 1 || before.holders() != 1;
        if is_shared || needed.iter().any(|data| Arc::ptr_eq(data, before)) {
            continue;
        }
        let after = DeviceData::new(before.ty().clone(), State::Consumed(name.clone()));
        garbage.push(state.replace_value(slot, Value::Data(after.clone())));
        taken.push(Taken { parameter, tensor, before: before.clone(), after });
    }
    drop(state);
    drop(garbage);
    taken
}

/// Gives the tensors back what a run that failed has not consumed.
pub fn give_back(device: &'static Device, taken: Vec<Taken>) {
    let mut garbage = Vec::new();
    let mut state = device.state();
    for Taken { tensor, before, after, .. } in taken {
        let is_there = before.buffer().is_ok_and(|buffer| !buffer.is_deleted());
        if let Some(slot) = slot_with(&state, tensor, &after).filter(|_| is_there) {
            garbage.push(state.replace_value(slot, Value::Data(before)));
        }
    }
    drop(state);
    drop(garbage);
}

/// Returns the slot of a tensor, if it has this data as its value.
fn slot_with(state: &DeviceState, tensor: TensorHandle, data: &Arc<DeviceData>) -> Option<u32> {
    let slot = state.check("", tensor).ok()?;
    state.value(slot).data().filter(|found| Arc::ptr_eq(found, data))?;
    Some(slot)
}
