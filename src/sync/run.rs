//! Runs a plan. Everything is compiled before anything runs, so that a failed compile has no effect.

use super::key;
use super::padded::{Found, Ready, bounded, buffer_of, is_padded, stated_axes};
use super::plan::{Plan, Run, RunArgument};
use crate::cache::{DiskCache, Lookup, Variant};
use crate::device::{CompileRecord, Compiled, Compiling, Cost, DynamicSizes, Kind, Owner, Shared, Sizes, Usage};
use base::error;
use base::error::Result;
use base::log::{Level, log};
use base::metrics::Counter;
use base::stack::{SHALLOW, with_stack};
use base::types::{Encoding, Scalar};
use base::variables;
use engine::{Buffer, Executable, cpu};
use ir::Stage;
use lowering::lower::{Layout, Module, Target, lower};
use mesh::Sharding;
use ops::emit::PackedScalars;
use std::io::Write;
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
        let stated = if options.has_stated_axes() { stated_axes(run) } else { Vec::new() };
        let program = &run.stage.program;
        let lookup = Lookup { encoding: program.encoding(), scalars: &run.scalars, donors: &run.stage.donors };
        let may_change = option.is_some() || !stated.is_empty();
        if may_change && !owner.shared.runtime().programs.has(&lookup) {
            match bounded(owner, run, option.as_deref().unwrap_or(&DynamicSizes::Buckets), &stated)? {
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

/// Returns an error if the device can never provide the memory that a program needs in addition to its arguments.
/// Checked before anything is consumed: a program that fails for lack of memory during execution loses its donated
/// arguments. If all arguments are kept, no result takes the memory of one.
pub(super) fn check_memory(owner: &Owner, compiled: &Compiled, keeps_all: bool) -> Result<()> {
    let memory = &compiled.memory;
    let results = if keeps_all { memory.outputs } else { memory.outputs.saturating_sub(memory.aliases) };
    // On a mesh, every device needs this memory; the devices of a CPU plugin share the memory of the host.
    let needed = memory.temporaries.saturating_add(results).saturating_mul(owner.ordinals().len() as u64);
    match owner.shared.runtime().engine.memory_limit(needed) {
        Some((limit, source)) if needed > limit => Err(error!(
            ResourceExhausted,
            "the program needs {needed} bytes, {} for temporaries and {results} for results; {source} leaves {limit}",
            memory.temporaries
        )),
        _ => Ok(()),
    }
}

/// Transfers the scalars of one pack to the device.
fn send(owner: &Owner, pack: &PackedScalars, scalars: &[Scalar]) -> Result<Arc<dyn Buffer>> {
    owner.transfer(&pack.ty(), &pack.bytes(scalars), None)
}

/// Returns the layout of a run on a mesh. `earlier` are the shardings of the outputs of earlier runs; outputs whose
/// sharding is not known yet count as replicated.
pub(super) fn layout(owner: &Owner, run: &Run, earlier: &[Sharding]) -> Option<Layout> {
    let mesh = owner.mesh.as_ref()?.clone();
    let of = |(index, argument): (usize, &RunArgument)| match argument {
        RunArgument::Data(data) => data.sharding(),
        RunArgument::Output(number) => match earlier.get(*number) {
            Some(sharding) => sharding.clone(),
            None => Sharding::replicated(run.stage.program.parameter(index).dims.len()),
        },
    };
    Some(Layout { mesh, parameters: run.arguments.iter().enumerate().map(of).collect(), outputs: None })
}

/// Returns the executable from memory, else from disk, else from the compiler. On a mesh, appends the shardings of its
/// outputs to `shardings`, which holds those of earlier runs. `sizes` is for the log.
pub(super) fn compile(owner: &Owner, run: &Run, shardings: &mut Vec<Sharding>, sizes: &Sizes) -> Result<Arc<Compiled>> {
    let shared = &*owner.shared;
    let mut span = shared.timeline().span("plan", "look up");
    let layout = layout(owner, run, shardings);
    let Stage { program, donors, .. } = &*run.stage;
    let encoding = key::encoding(program, layout.as_ref());
    let lookup = Lookup { encoding: &encoding, scalars: &run.scalars, donors };
    let (compiled, now) = shared.runtime().programs.get_or_make(&lookup, |variant| {
        let start = Instant::now();
        let job = Job { shared, run, variant, layout: layout.as_ref(), depth: program.depth() };
        let module = job.lower(job.layout)?;
        let (executable, is_from_disk) = match &shared.runtime().disk {
            Some(disk) if !program.kernels().unnamed => {
                let mut hasher = key::hasher(shared)?;
                hasher.update(cpu::features().as_bytes());
                key::add(&mut hasher, &lookup, variant);
                job.load_or_build(disk, hasher.finalize().as_bytes(), &module)?
            }
            _ => (job.build(&module)?, false),
        };
        // A runtime that cannot report a program's memory use counts as 0 bytes, and is not asked again.
        let memory = executable.memory().unwrap_or_default();
        let cost = Cost { nanoseconds: start.elapsed().as_nanos() as u64, memory, is_from_disk };
        let known = log_compile(owner, run, &encoding, variant, (&cost, sizes));
        Ok(Compiled { executable, packs: module.packs, memory, depth: job.depth, known, usage: Usage::default() })
    })?;
    if span.is_on() {
        span.program(compiled.known.number, program.common_label());
    }
    if !now {
        shared.metrics.add(Counter::CachedCompile, 1);
    }
    shardings.extend_from_slice(compiled.executable.output_shardings());
    Ok(compiled)
}

/// Adds a compile to the environment's log, and returns its record. With LXLA_LOG_COMPILES=1, also writes it as one line
/// to the log callback, or to stderr if there is none, so that a program can be looked at without changing it.
fn log_compile(
    owner: &Owner,
    run: &Run,
    encoding: &Encoding,
    variant: &Variant,
    (cost, sizes): (&Cost, &Sizes),
) -> Arc<CompileRecord> {
    let compiling = Compiling {
        program: (*run.stage.program).clone(),
        encoding: encoding.clone(),
        scalars: run.scalars.clone(),
        varying: variant.varying.clone(),
        donors: variant.donors.clone(),
        sizes: sizes.clone(),
    };
    let (known, line) = owner.shared.compiles.add(&owner.place.to_string(), &compiling, cost);
    if variables::text("LXLA_LOG_COMPILES").is_some_and(|value| value == "1")
        && !log(Level::Information, || line.clone())
    {
        // A reader of stderr that is gone does not matter to the sync.
        let _ = writeln!(std::io::stderr(), "lazyxla: {line}");
    }
    known
}

/// Stack size for XLA's compiler, which recurses over nested computations with 30 KB or more per level.
fn compiler_stack(depth: usize) -> usize {
    (64 << 20) + depth * (256 << 10)
}

/// A variant of a run's program that is not in memory.
struct Job<'a> {
    shared: &'a Shared,
    run: &'a Run,
    variant: &'a Variant,
    layout: Option<&'a Layout>,
    /// Nesting depth of the computations that the program calls.
    depth: usize,
}

impl Job<'_> {
    /// Lowers the program with the job's layout, or with one that also states the shardings of the outputs.
    fn lower(&self, layout: Option<&Layout>) -> Result<Module> {
        let engine = &self.shared.runtime().engine;
        let (platform, calls_host) = (engine.platform(), engine.calls_host());
        let target = Target { platform, calls_host, layout, has_locations: false };
        let _span = self.shared.timeline().span("plan", "lower");
        lower(&self.run.stage.program, &self.run.scalars, &self.variant.varying, &self.variant.donors, target)
    }

    /// Loads an executable compiled by this or another process from disk, or compiles it; returns whether it was
    /// loaded. A file that the plugin rejects is replaced.
    fn load_or_build(&self, disk: &DiskCache, key: &[u8; 32], module: &Module) -> Result<(Arc<dyn Executable>, bool)> {
        let meaning = blake3::hash(format!("{:?}", module.signature).as_bytes());
        if let Some(bytes) = disk.get(key, meaning.as_bytes()) {
            match self.load(&bytes, module) {
                Ok(executable) => {
                    self.shared.metrics.add(Counter::PersistentCacheHit, 1);
                    return Ok((executable, true));
                }
                Err(error) => {
                    log(Level::Warning, || format!("a compiled program on disk is not loaded: {error}"));
                    disk.remove(key);
                }
            }
        }
        self.shared.metrics.add(Counter::PersistentCacheMiss, 1);
        let executable = self.build(module)?;
        disk.put(key, meaning.as_bytes(), executable.serialize());
        Ok((executable, false))
    }

    /// Loads what [`Job::build`] made. If that was compiled twice, the outputs whose shardings only the second module
    /// states count as chosen by XLA here: the engine reads from the executable how they are divided.
    fn load(&self, bytes: &[u8], module: &Module) -> Result<Arc<dyn Executable>> {
        let engine = &self.shared.runtime().engine;
        let mut span = self.shared.timeline().span("compile", "load");
        span.number("bytes", bytes.len() as u64);
        let load = || engine.deserialize(bytes, module.signature.clone());
        let executable = with_stack(compiler_stack(self.depth), self.depth, load)?;
        if executable.unknown_outputs().is_empty() {
            return Ok(executable);
        }
        Err(error!(Internal, "the shardings of its outputs {:?} are unknown", executable.unknown_outputs()))
    }

    /// Compiles the program. If XLA chose a sharding of an output that mesh axes cannot express, compiles it again with
    /// that output replicated.
    fn build(&self, module: &Module) -> Result<Arc<dyn Executable>> {
        let executable = self.compile(module)?;
        if executable.unknown_outputs().is_empty() {
            return Ok(executable);
        }
        let outputs = Some(executable.output_shardings().to_vec());
        let layout = self.layout.cloned().map(|layout| Layout { outputs, ..layout });
        self.compile(&self.lower(layout.as_ref())?)
    }

    /// Compiles one module, and counts it.
    fn compile(&self, module: &Module) -> Result<Arc<dyn Executable>> {
        let start = Instant::now();
        let mut span = self.shared.timeline().span("compile", "compile");
        span.number("text_bytes", module.text.len() as u64);
        let engine = &self.shared.runtime().engine;
        let compile = || engine.compile(&module.text, module.signature.clone(), module);
        let executable = with_stack(compiler_stack(self.depth), self.depth, compile)?;
        self.shared.metrics.add(Counter::CompileNanoseconds, start.elapsed().as_nanos() as u64);
        self.shared.metrics.add(Counter::UncachedCompile, 1);
        Ok(executable)
    }
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
    let execution = match compiled.depth {
        0..=SHALLOW => execute()?,
        depth => with_stack(compiler_stack(depth), depth, execute)?,
    };
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

/// Arguments that a run takes in other memory than they have, by index, ascending: padded, or cut to their sizes.
type Fitted = Vec<(usize, Arc<dyn Buffer>)>;

/// Returns the arguments that the program takes in other memory than they have.
fn fitted(owner: &Owner, run: &Run, ready: &Ready, made: &Outputs) -> Result<Fitted> {
    let mut fitted = Vec::new();
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
