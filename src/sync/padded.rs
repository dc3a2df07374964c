//! Runs of programs for bounds: chooses them, pads their arguments, and states which elements of their results are
//! valid.

use super::compile::{check_memory, compile};
use super::plan::{Run, RunArgument};
use crate::cache::{Bounded, Recurring, Service, Serving, Stated};
use crate::device::{Compiled, DynamicAxis, DynamicSizes, Owner, Sizes};
use base::error::{Error, Result};
use base::log::{Level, log};
use base::metrics::Counter;
use base::types::{DType, Scalar, ScalarValue, TensorType};
use engine::padded::with_content;
use engine::{Buffer, Digit, PaddedBuffer, Padding};
use ir::sizes::Axes;
use ir::{Op, Stage, useful_donors};
use lowering::transform::{Refusal, ScalarSource};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A compiled program that serves a run, ready to be run.
pub struct Ready {
    /// The compiled program.
    pub compiled: Arc<Compiled>,
    /// For a program for bounds: how the run uses it.
    pub bounded: Option<BoundedRun>,
}

/// How a run uses a program for bounds.
pub struct BoundedRun {
    /// Values of the scalar slots of the program for bounds.
    pub scalars: Vec<Scalar>,
    parameters: Vec<Padding>,
    outputs: Vec<Padding>,
    recurring: Arc<Recurring>,
    /// Share of the work that is done on padding.
    waste: f64,
}

/// A run of a program for bounds in progress. When it is dropped at the end of the run, it counts the time that was lost.
struct Timed {
    recurring: Arc<Recurring>,
    waste: f64,
    enqueued: Instant,
}

/// End of the last run of a program for bounds: a run begins when it was enqueued and the run before it has ended.
static LAST_END: Mutex<Option<Instant>> = Mutex::new(None);

impl Drop for Timed {
    fn drop(&mut self) {
        let now = Instant::now();
        let before = LAST_END.lock().replace(now);
        let begun = before.map_or(self.enqueued, |before| before.max(self.enqueued));
        self.recurring.add_lost(now.saturating_duration_since(begun).mul_f64(self.waste));
    }
}

impl BoundedRun {
    /// Counts a run that was enqueued now, when it has ended.
    pub fn time(&self, owner: &Owner) {
        if self.waste > 0.0 && owner.shared.options.dynamic_exact() {
            let timed = Timed { recurring: self.recurring.clone(), waste: self.waste, enqueued: Instant::now() };
            owner.shared.runtime().engine.when_ended(owner.ordinal(), Box::new(timed));
        }
    }
}

impl Ready {
    /// Values of the scalar slots of the compiled program.
    pub fn scalars<'a>(&'a self, run: &'a Run) -> &'a [Scalar] {
        self.bounded.as_ref().map_or(&run.scalars, |bounded| &bounded.scalars)
    }

    /// Returns a buffer that the program takes for a parameter: the buffer itself if it is as the program wants it,
    /// otherwise a padded or a cut copy, which goes through the host.
    pub fn argument(&self, owner: &Owner, parameter: usize, buffer: &Arc<dyn Buffer>) -> Result<Arc<dyn Buffer>> {
        let wanted = self.bounded.as_ref().map(|bounded| &bounded.parameters[parameter]);
        let wanted = wanted.filter(|padding| !padding.is_none());
        let given = buffer.as_any().downcast_ref::<PaddedBuffer>();
        match (given, wanted) {
            (None, None) => return Ok(buffer.clone()),
            (Some(given), Some(wanted)) if given.padding() == wanted => return Ok(given.memory().clone()),
            _ => {}
        }
        let ty = buffer.tensor_type();
        with_content(buffer, |bytes| match wanted {
            None => owner.transfer(ty, bytes, None),
            Some(wanted) => {
                let bound = TensorType::new(ty.dtype, &wanted.bounds());
                owner.transfer(&bound, &wanted.padded(ty.dtype, bytes)?, None)
            }
        })
    }

    /// Returns the array of an output of the program.
    pub fn output(&self, output: usize, memory: Arc<dyn Buffer>) -> Result<Arc<dyn Buffer>> {
        let padding = self.bounded.as_ref().map(|bounded| &bounded.outputs[output]);
        match padding.filter(|padding| !padding.is_none()) {
            None => Ok(memory),
            Some(padding) => {
                let ty = TensorType::new(memory.tensor_type().dtype, &padding.sizes());
                Ok(PaddedBuffer::new(ty, padding.clone(), memory)?)
            }
        }
    }
}

/// Whether a buffer is not the whole memory of its array.
pub fn is_padded(buffer: &dyn Buffer) -> bool {
    buffer.as_any().is::<PaddedBuffer>()
}

/// A program that serves a run which is not compiled for its sizes.
pub enum Found {
    /// A program for bounds.
    Bounded(Ready),
    /// None but its own, which is to be compiled.
    Own(Sizes),
}

/// Returns the program for bounds that serves a run which is not compiled for its sizes, if there is one.
pub fn bounded(owner: &Owner, run: &Run, option: &DynamicSizes, stated: &[Stated]) -> Result<Found> {
    let kinds = &owner.shared.runtime().kinds;
    match kinds.serve(&run.stage.program, &run.scalars, |size| option.bound(size), stated) {
        Service::Alone => Ok(Found::Own(Sizes::Fixed)),
        Service::Refused(Refusal { operation, label, reason }) => {
            owner.shared.metrics.add(Counter::DynamicRefused, 1);
            Ok(Found::Own(Sizes::Refused { operation, label, reason }))
        }
        Service::Bounded(serving) => Ok(served(owner, run, serving).map_or(Found::Own(Sizes::Fixed), Found::Bounded)),
    }
}

/// Compiles the program for bounds that serves a run. None if it cannot be compiled, or does not fit the memory: the
/// program for the run's own sizes may.
fn served(owner: &Owner, run: &Run, serving: Serving) -> Option<Ready> {
    let masked = &serving.bounded.masked;
    let paddings = |all: &[Axes]| all.iter().map(|axes| padding(axes, &serving.sizes)).collect::<Option<Vec<_>>>();
    let (parameters, outputs) = (paddings(&masked.parameters)?, paddings(&masked.outputs)?);
    let stage = Arc::new(stage_of(&run.stage, &serving.bounded));
    let own = Run { stage, scalars: scalars(&serving)?, arguments: Vec::new() };
    let sizes = if serving.is_new { Sizes::Bounded(dynamic_axes(&masked.parameters)) } else { Sizes::Fixed };
    let give_up = |failure: Error| {
        log(Level::Warning, || format!("a program for bounds on {} is not used: {failure}", owner.place));
        serving.bounded.give_up();
    };
    let compiled = compile(owner, &own, &mut Vec::new(), &sizes).map_err(give_up).ok()?;
    check_memory(owner, &compiled, false).ok()?;
    let shared = &owner.shared;
    shared.metrics.add(Counter::DynamicCompile, u64::from(serving.is_new));
    shared.metrics.add(Counter::DynamicRun, 1);
    let time = Duration::from_nanos(compiled.known.cost.nanoseconds);
    if shared.options.dynamic_exact() && serving.recurring.deserves_own(time) {
        compile_in_background(owner, run, &serving.recurring);
    }
    let (recurring, waste) = (serving.recurring.clone(), serving.waste());
    let bounded = BoundedRun { scalars: own.scalars, parameters, outputs, recurring, waste };
    Some(Ready { compiled, bounded: Some(bounded) })
}

/// Compiles the program of a run for its sizes in a thread of its own; one at a time. Later runs find it in the cache.
fn compile_in_background(owner: &Owner, run: &Run, recurring: &Recurring) {
    if owner.shared.runtime().kinds.is_compiling.swap(true, Ordering::AcqRel) {
        return;
    }
    recurring.ask();
    let own = Run { stage: run.stage.clone(), scalars: run.scalars.clone(), arguments: Vec::new() };
    let compiling = Background(owner.clone());
    let work = move || {
        let Background(owner) = &compiling;
        let made = compile(owner, &own, &mut Vec::new(), &Sizes::Fixed);
        owner.shared.metrics.add(Counter::DynamicExactCompile, u64::from(made.is_ok()));
        if let Err(failure) = made {
            log(Level::Warning, || format!("a program for sizes that recur is not used: {failure}"));
        }
    };
    // Without a thread, the program for bounds goes on.
    let _ = std::thread::Builder::new().name("lazyxla-compile".to_string()).spawn(work);
}

/// A compile in the background, which another one waits for.
struct Background(Owner);

impl Drop for Background {
    fn drop(&mut self) {
        self.0.shared.runtime().kinds.is_compiling.store(false, Ordering::Release);
    }
}

/// The axes of the arguments that change: those that the caller states, and axes of results of programs for bounds.
pub fn stated_axes(run: &Run, option: &DynamicSizes) -> Vec<Stated> {
    let mut stated = Vec::new();
    for (parameter, argument) in run.arguments.iter().enumerate() {
        let RunArgument::Data(data) = argument else { continue };
        if let Some(axes) = data.stated_axes() {
            stated.extend(axes.into_iter().map(|(axis, bound)| Stated { parameter, axis, bound }));
        } else if let Ok(buffer) = data.buffer()
            && let Some(padded) = buffer.as_any().downcast_ref::<PaddedBuffer>()
        {
            stated.extend(padded_axes(padded.padding(), option).map(|(axis, bound)| Stated { parameter, axis, bound }));
        }
    }
    stated
}

/// The axes of a result that are padded, with the bound that the caller stated; 0 for a bound of the option.
fn padded_axes(padding: &Padding, option: &DynamicSizes) -> impl Iterator<Item = (usize, i64)> {
    padding.axes.iter().enumerate().filter_map(|(axis, digits)| match digits[..] {
        [Digit { size, bound }] if size != bound => Some((axis, if option.bound(size) == bound { 0 } else { bound })),
        _ => None,
    })
}

/// The axes of the parameters that change, for the log.
fn dynamic_axes(parameters: &[Axes]) -> Vec<DynamicAxis> {
    let mut found = Vec::new();
    for (parameter, axes) in parameters.iter().enumerate() {
        for (axis, factors) in axes.iter().enumerate() {
            let [factor] = &factors[..] else { continue };
            if factor.size.as_constant().is_none() {
                found.push(DynamicAxis { parameter, axis, size: factor.size.to_string(), bound: factor.bound });
            }
        }
    }
    found
}

/// Values of the slots of a program for bounds; None if a size is out of range.
fn scalars(serving: &Serving) -> Option<Vec<Scalar>> {
    let of = |source: &ScalarSource| match source {
        ScalarSource::Given(number) => Some(serving.given[*number]),
        ScalarSource::Constant(scalar) => Some(*scalar),
        ScalarSource::Size(form) => {
            let size = ScalarValue::Signed(form.at(&serving.sizes)?);
            Scalar::new(DType::S32, size).ok().map(Scalar::varying)
        }
    };
    serving.bounded.masked.scalars.iter().map(of).collect()
}

/// Where the elements of an array of these sizes lie; None if a form overflows.
fn padding(axes: &Axes, sizes: &[i64]) -> Option<Padding> {
    let mut padding = Padding { axes: Vec::with_capacity(axes.len()) };
    for factors in axes {
        let digits = factors.iter().map(|factor| Some(Digit { size: factor.size.at(sizes)?, bound: factor.bound }));
        padding.axes.push(digits.collect::<Option<_>>()?);
    }
    Some(padding)
}

/// The stage with the program for bounds in the place of its own. Donors are those whose padded memory an output can
/// reuse.
fn stage_of(stage: &Stage, bounded: &Bounded) -> Stage {
    let (values, outputs) = bounded.program.decode();
    let parameters: Vec<&TensorType> =
        values.iter().filter(|value| value.op == Op::Leaf).map(|value| &value.ty).collect();
    let candidates: Vec<(usize, &TensorType)> = stage.donors.iter().map(|&donor| (donor, parameters[donor])).collect();
    let donors = useful_donors(&candidates, outputs.iter().map(|&output| &values[output].ty));
    Stage { program: bounded.program.clone(), donors, ..stage.clone() }
}

/// The buffer of an argument.
pub fn buffer_of<'a>(argument: &'a RunArgument, made: &'a [Option<Arc<dyn Buffer>>]) -> Result<&'a Arc<dyn Buffer>> {
    match argument {
        RunArgument::Data(data) => data.buffer(),
        RunArgument::Output(number) => Ok(made[*number].as_ref().expect("what a later run needs is kept until then")),
    }
}
