//! Compiles the program of a run, or finds it in memory or on disk.

use super::key;
use super::plan::{Run, RunArgument};
use crate::cache::{DiskCache, Lookup, Variant};
use crate::device::{CompileRecord, Compiled, Compiling, Cost, Owner, Shared, Sizes, Usage};
use base::error;
use base::error::{Error, Result};
use base::log::{Level, log};
use base::metrics::Counter;
use base::stack::with_stack;
use base::types::Encoding;
use base::variables;
use engine::{Executable, Signature, cpu};
use ir::{Precision, Stage};
use lowering::lower::{Layout, Module, Target, lower};
use mesh::Sharding;
use ops::emit::PackedScalars;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

/// Returns the layout of a run on a mesh. `earlier` are the shardings of the outputs of earlier runs; outputs whose
/// sharding is not known yet count as replicated.
pub fn layout(owner: &Owner, run: &Run, earlier: &[Sharding]) -> Option<Layout> {
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
pub fn compile(owner: &Owner, run: &Run, shardings: &mut Vec<Sharding>, sizes: &Sizes) -> Result<Arc<Compiled>> {
    let shared = &*owner.shared;
    let mut span = shared.timeline().span("plan", "look up");
    let layout = layout(owner, run, shardings);
    let Stage { program, donors, .. } = &*run.stage;
    // Read once: the key and the module must agree, although another thread may change the option.
    let precision = shared.options.matmul_precision();
    let encoding = key::encoding(program, layout.as_ref(), precision);
    let lookup = Lookup { encoding: &encoding, scalars: &run.scalars, donors };
    let (compiled, now) = shared.runtime().programs.get_or_make(&lookup, |variant| {
        let job = Job { shared, run, variant, layout: layout.as_ref(), depth: program.depth(), precision };
        job.make(owner, &lookup, sizes)
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
pub fn compiler_stack(depth: usize) -> usize {
    (64 << 20) + depth * (256 << 10)
}

/// A variant of a run's program that is not in memory.
pub struct Job<'a> {
    pub shared: &'a Shared,
    pub run: &'a Run,
    pub variant: &'a Variant,
    pub layout: Option<&'a Layout>,
    /// Nesting depth of the computations that the program calls.
    pub depth: usize,
    /// Precision of products and convolutions that state none.
    pub precision: Precision,
}

impl Job<'_> {
    /// Loads the program from disk, or compiles it. `sizes` is for the log.
    pub fn make(&self, owner: &Owner, lookup: &Lookup, sizes: &Sizes) -> Result<Compiled> {
        let (start, shared) = (Instant::now(), self.shared);
        let module = self.lower(self.layout)?;
        let (executable, is_from_disk) = match &shared.runtime().disk {
            Some(disk) if !self.run.stage.program.kernels().unnamed => {
                let mut hasher = key::hasher(shared)?;
                hasher.update(cpu::features().as_bytes());
                key::add(&mut hasher, lookup, self.variant);
                self.load_or_build(disk, hasher.finalize().as_bytes(), &module)?
            }
            _ => (self.build(&module)?, false),
        };
        Ok(self.compiled(owner, lookup, executable, module.packs, (start, is_from_disk, sizes)))
    }

    /// Adds a program that was compiled or loaded from `start` on to the log.
    pub fn compiled(
        &self,
        owner: &Owner,
        lookup: &Lookup,
        executable: Arc<dyn Executable>,
        packs: Vec<PackedScalars>,
        (start, is_from_disk, sizes): (Instant, bool, &Sizes),
    ) -> Compiled {
        // A runtime that cannot report a program's memory use counts as 0 bytes, and is not asked again.
        let memory = executable.memory().unwrap_or_default();
        let cost = Cost { nanoseconds: start.elapsed().as_nanos() as u64, memory, is_from_disk };
        let known = log_compile(owner, self.run, lookup.encoding, self.variant, (&cost, sizes));
        Compiled { executable, packs, memory, depth: self.depth, known, usage: Usage::default() }
    }

    /// Lowers the program with the job's layout, or with one that also states the shardings of the outputs.
    pub fn lower(&self, layout: Option<&Layout>) -> Result<Module> {
        let engine = &self.shared.runtime().engine;
        let (platform, calls_host) = (engine.platform(), engine.calls_host());
        let target = Target { platform, calls_host, layout, has_locations: false, precision: self.precision };
        let _span = self.shared.timeline().span("plan", "lower");
        lower(&self.run.stage.program, &self.run.scalars, &self.variant.varying, &self.variant.donors, target)
    }

    /// Loads an executable compiled by this or another process from disk, or compiles it; returns whether it was
    /// loaded. A file that the plugin rejects is replaced.
    fn load_or_build(&self, disk: &DiskCache, key: &[u8; 32], module: &Module) -> Result<(Arc<dyn Executable>, bool)> {
        let meaning = blake3::hash(format!("{:?}", module.signature).as_bytes());
        if let Some(bytes) = disk.get(key, meaning.as_bytes()) {
            match self.load(&bytes, &module.signature) {
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
    pub fn load(&self, bytes: &[u8], signature: &Signature) -> Result<Arc<dyn Executable>> {
        let engine = &self.shared.runtime().engine;
        let mut span = self.shared.timeline().span("compile", "load");
        span.number("bytes", bytes.len() as u64);
        let load = || engine.deserialize(bytes, signature.clone());
        let executable = with_stack(compiler_stack(self.depth), self.depth, load)?;
        if executable.unknown_outputs().is_empty() {
            return Ok(executable);
        }
        Err(error!(Internal, "the shardings of its outputs {:?} are unknown", executable.unknown_outputs()))
    }

    /// Compiles the program. If XLA chose a sharding of an output that mesh axes cannot express, compiles it again with
    /// that output replicated.
    pub fn build(&self, module: &Module) -> Result<Arc<dyn Executable>> {
        let executable = self.compile(module)?;
        if executable.unknown_outputs().is_empty() {
            return Ok(executable);
        }
        let outputs = Some(executable.output_shardings().to_vec());
        let layout = self.layout.cloned().map(|layout| Layout { outputs, ..layout });
        self.compile(&self.lower(layout.as_ref())?)
    }

    /// Adds to the error of a compile that products have algorithms, which a plugin may not have, and who chose them.
    fn with_algorithms(&self, module: &Module, failure: Error) -> Error {
        let chosen = match self.precision {
            Precision::Algorithm(_) => format!("the option matmul_precision ({}) or ", self.precision),
            Precision::Levels(_) => String::new(),
        };
        match module.text.contains(", algorithm = <") {
            true => failure.context(format_args!(
                "products have an algorithm, which {chosen}the attribute algorithm of an imported operation chose"
            )),
            false => failure,
        }
    }

    /// Compiles one module, and counts it.
    fn compile(&self, module: &Module) -> Result<Arc<dyn Executable>> {
        let start = Instant::now();
        let mut span = self.shared.timeline().span("compile", "compile");
        span.number("text_bytes", module.text.len() as u64);
        let engine = &self.shared.runtime().engine;
        let compile = || engine.compile(&module.text, module.signature.clone(), module);
        let compiled = with_stack(compiler_stack(self.depth), self.depth, compile);
        let executable = compiled.map_err(|e| self.with_algorithms(module, e))?;
        self.shared.metrics.add(Counter::CompileNanoseconds, start.elapsed().as_nanos() as u64);
        self.shared.metrics.add(Counter::UncachedCompile, 1);
        Ok(executable)
    }
}

/// Returns an error if the device can never provide the memory that a program needs in addition to its arguments.
/// Checked before anything is consumed: a program that fails for lack of memory during execution loses its donated
/// arguments. If all arguments are kept, no result takes the memory of one.
pub fn check_memory(owner: &Owner, compiled: &Compiled, keeps_all: bool) -> Result<()> {
    let memory = &compiled.memory;
    let results = if keeps_all { memory.outputs } else { memory.outputs.saturating_sub(memory.aliases) };
    // On a mesh, every device needs this memory; the devices of a CPU plugin share the memory of the host.
    let needed = memory.temporaries.saturating_add(results).saturating_mul(owner.ordinals().len() as u64);
    owner.shared.with_memory(needed, || match owner.shared.runtime().engine.memory_limit(needed) {
        Some((limit, source)) if needed > limit => Err(error!(
            ResourceExhausted,
            "the program needs {needed} bytes, {} for temporaries and {results} for results; {source} leaves {limit}",
            memory.temporaries
        )),
        _ => Ok(()),
    })
}
