//! Origin of computed data: the sync that computed it, and what it was computed from; of a copy: what was copied from
//! another device. Gradients of pending values ask whether a path to them was computed already, or goes through another
//! device, and can then not be followed.

use super::{DeviceData, Name};
use crate::ir::{Op, Program, Scheme, Trace, take_closed_body};
use crate::ops::definition;
use crate::ops::rules::{Derivative, is_differentiable};
use crate::types::{DType, TensorType};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::{Arc, LazyLock, Weak};

/// A sync that computed data, or a copy of data from another device.
pub struct Origin {
    /// Name of the sync or the copy, for messages.
    pub name: Name,
    /// Programs that it ran.
    pub runs: Vec<Ran>,
    /// The values that the sync computed; its roots were kept. None for a copy.
    pub scheme: Option<Arc<Scheme>>,
    /// Serial number of the data of the first root; those of the others follow.
    pub first_serial: u64,
}

/// Program that stands for a copy between devices: it returns its argument.
static COPY: LazyLock<Arc<Program>> = LazyLock::new(|| {
    let mut trace = Trace::new();
    let x = trace.parameter(TensorType::new(DType::F32, &[]));
    Arc::new(take_closed_body(&trace, &[x], &[], &[x]).program().clone())
});

impl Origin {
    /// Origin of a copy of this data. Its only output has number 0.
    pub fn of_copy(source: &DeviceData, name: Name) -> Arc<Origin> {
        let mut run = Ran::new(COPY.clone(), 0, 1);
        run.add_data(source);
        Arc::new(Origin { name, runs: vec![run], scheme: None, first_serial: 0 })
    }

    /// Data that was kept: number of the output, and serial number.
    fn kept(&self) -> impl Iterator<Item = (usize, u64)> {
        let roots = self.scheme.iter().flat_map(|scheme| &scheme.roots);
        roots.map(|&(_, output)| output).zip(self.first_serial..)
    }
}

/// One program of a sync.
pub struct Ran {
    program: Arc<Program>,
    first_output: usize,
    /// Arguments, in parameter order.
    arguments: Vec<Argument>,
    /// Origins of the arguments.
    origins: SmallVec<[Weak<Origin>; 2]>,
}

/// Argument of a program.
enum Argument {
    /// Data of a tensor.
    Data {
        serial: u64,
        /// If a sync computed the data: the number of its origin, and of its output there.
        computed: Option<(u32, u32)>,
    },
    /// Output of an earlier program of the sync.
    Made(usize),
}

impl Ran {
    /// A run of a program, to which `arguments` arguments will be added. `first_output` is the number of its first
    /// output among all outputs of the sync.
    pub fn new(program: Arc<Program>, first_output: usize, arguments: usize) -> Ran {
        Ran { program, first_output, arguments: Vec::with_capacity(arguments), origins: SmallVec::new() }
    }

    /// Adds an argument that is the data of a tensor.
    pub fn add_data(&mut self, data: &DeviceData) {
        let computed = data.origin().map(|(origin, output)| (self.number_of(origin), *output as u32));
        self.arguments.push(Argument::Data { serial: data.serial, computed });
    }

    /// Adds an argument that is an output of an earlier run of the same sync.
    pub fn add_made(&mut self, output: usize) {
        self.arguments.push(Argument::Made(output));
    }

    /// Number of an origin in `origins`. Only the last few are searched, since the parameters of a model usually come
    /// from one step; an origin may therefore be there twice.
    fn number_of(&mut self, origin: &Arc<Origin>) -> u32 {
        let is_it = |known: &Weak<Origin>| std::ptr::eq(known.as_ptr(), Arc::as_ptr(origin));
        if self.origins.last().is_some_and(is_it) {
            return self.origins.len() as u32 - 1;
        }
        let back = self.origins.iter().rev().take(4).position(is_it);
        let number = back.map_or(self.origins.len(), |back| self.origins.len() - 1 - back);
        if back.is_none() {
            self.origins.push(Arc::downgrade(origin));
        }
        number as u32
    }
}

/// Which parameters and outputs of a program have a tangent that reaches an output: one bit for each parameter, then
/// for each output, for every output.
struct Dependencies {
    parameters: usize,
    outputs: Vec<Vec<u64>>,
}

fn bit(set: &[u64], at: usize) -> bool {
    set[at / 64] >> (at % 64) & 1 == 1
}

impl Dependencies {
    fn of(program: &Arc<Program>) -> Dependencies {
        let (values, outputs) = program.decode();
        let parameters = values.iter().filter(|value| value.op == Op::Leaf).count();
        let words = (parameters + outputs.len()).div_ceil(64);
        let mut of_position: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (number, &output) in outputs.iter().enumerate() {
            of_position.entry(output).or_default().push(number);
        }
        let mut sets: Vec<Vec<u64>> = Vec::with_capacity(values.len());
        let mut parameter = 0;
        for (position, value) in values.iter().enumerate() {
            let mut set = vec![0; words];
            if value.op == Op::Leaf {
                set[parameter / 64] |= 1 << (parameter % 64);
                parameter += 1;
            } else {
                let is_zero = matches!(definition(value.op).derivative, Derivative::Zero);
                let passes = value.op.has_results() || is_differentiable(value.ty.dtype) && !is_zero;
                for &operand in value.operands.iter().filter(|_| passes) {
                    set.iter_mut().zip(&sets[operand]).for_each(|(to, from)| *to |= from);
                }
            }
            for number in of_position.get(&position).into_iter().flatten() {
                let at = parameters + number;
                set[at / 64] |= 1 << (at % 64);
            }
            sets.push(set);
        }
        let outputs = outputs.iter().map(|&output| sets[output].clone()).collect();
        Dependencies { parameters, outputs }
    }

    /// The dependencies of a program, remembered for the last few programs: a training loop asks for the same one in
    /// every step.
    fn remembered(program: &Arc<Program>) -> Arc<Dependencies> {
        static LAST: Mutex<Vec<(Arc<Program>, Arc<Dependencies>)>> = Mutex::new(Vec::new());
        const MOST: usize = 8;
        let mut last = LAST.lock();
        // By address first: comparing two programs reads all their words up to the first difference.
        if let Some((_, known)) = last.iter().find(|(known, _)| Arc::ptr_eq(known, program)) {
            return known.clone();
        }
        if let Some((address, known)) = last.iter_mut().find(|(known, _)| known == program) {
            *address = program.clone();
            return known.clone();
        }
        drop(last);
        let made = Arc::new(Dependencies::of(program));
        let mut last = LAST.lock();
        if last.len() == MOST {
            last.remove(0);
        }
        last.push((program.clone(), made.clone()));
        made
    }
}

/// A path from a target to data that was computed already, or copied from another device.
pub struct LostPath {
    /// Index of the target.
    pub target: usize,
    /// Name of the sync or the copy.
    pub name: Name,
    /// Whether it is a copy.
    pub is_copy: bool,
}

/// Origins to be visited, with the outputs to be visited of each.
#[derive(Default)]
struct Visits {
    pending: Vec<(Arc<Origin>, Vec<usize>)>,
    seen: FxHashSet<(*const Origin, usize)>,
    /// Keeps the visited origins, so that no other one gets an address that was seen.
    held: Vec<Arc<Origin>>,
}

impl Visits {
    fn add(&mut self, origin: &Arc<Origin>, output: usize) {
        if self.seen.insert((Arc::as_ptr(origin), output)) {
            match self.pending.iter_mut().find(|(known, _)| Arc::ptr_eq(known, origin)) {
                Some((_, outputs)) => outputs.push(output),
                None => {
                    self.pending.push((origin.clone(), vec![output]));
                    self.held.push(origin.clone());
                }
            }
        }
    }
}

/// A sync that is older than none of the targets: the arguments of its program are older than its results, so that the
/// only targets on a path through it are other results of the same program.
struct Latest {
    dependencies: Arc<Dependencies>,
    /// The outputs that are targets: one bit for each, after those of the parameters.
    targets: Vec<u64>,
}

impl Latest {
    /// None if a target may be older than the sync, or if it ran several programs.
    fn of(origin: &Arc<Origin>, targets: &[u64]) -> Option<Latest> {
        let (Some(scheme), [run]) = (&origin.scheme, &*origin.runs) else { return None };
        if targets.iter().any(|&serial| serial < origin.first_serial) {
            return None;
        }
        let dependencies = Dependencies::remembered(&run.program);
        let mut set = vec![0; (dependencies.parameters + dependencies.outputs.len()).div_ceil(64)];
        for &serial in targets {
            let root = scheme.roots.get((serial - origin.first_serial) as usize);
            if let Some(&(_, output)) = root.filter(|(_, output)| *output < dependencies.outputs.len()) {
                let at = dependencies.parameters + output;
                set[at / 64] |= 1 << (at % 64);
            }
        }
        Some(Latest { dependencies, targets: set })
    }

    /// Whether a path leads from a target to this output, of the only program.
    fn is_reached(&self, output: usize) -> bool {
        let Some(on_path) = self.dependencies.outputs.get(output) else { return true };
        let itself = self.dependencies.parameters + output;
        on_path.iter().zip(&self.targets).enumerate().any(|(word, (on_path, targets))| {
            let itself = if word == itself / 64 { 1 << (itself % 64) } else { 0 };
            on_path & targets & !itself != 0
        })
    }
}

/// Returns a path from one of `targets` (serial numbers of data) to one of `leaves` that a sync computed, if there is
/// one. Data that was computed by a sync of whose results none is left, and that is younger than a target, may have
/// been on a path, and counts as one.
pub fn lost_path(leaves: &[Arc<DeviceData>], targets: &[u64]) -> Option<LostPath> {
    let oldest = *targets.iter().min()?;
    let mut visits = Visits::default();
    // In a training loop, all leaves and targets are results of the last step.
    let mut known: FxHashMap<*const Origin, Option<Latest>> = FxHashMap::default();
    for (origin, output) in leaves.iter().filter_map(|data| data.origin()) {
        let latest = known.entry(Arc::as_ptr(origin)).or_insert_with(|| Latest::of(origin, targets));
        if latest.as_ref().is_none_or(|latest| latest.is_reached(*output)) {
            visits.add(origin, *output);
        }
    }
    if visits.pending.is_empty() {
        return None;
    }
    let numbers: FxHashMap<u64, usize> = targets.iter().enumerate().map(|(i, &serial)| (serial, i)).collect();
    while let Some((origin, outputs)) = visits.pending.pop() {
        if let Some(path) = through(&origin, outputs, &numbers, oldest, &mut visits) {
            return Some(path);
        }
    }
    None
}

/// Looks for a target among what these outputs of a sync were computed from. Adds the origins of the arguments to
/// `visits`.
fn through(
    origin: &Arc<Origin>,
    outputs: Vec<usize>,
    targets: &FxHashMap<u64, usize>,
    oldest: u64,
    visits: &mut Visits,
) -> Option<LostPath> {
    let is_copy = origin.scheme.is_none();
    let lost = |target: usize| Some(LostPath { target, name: origin.name.clone(), is_copy });
    let kept: FxHashMap<usize, u64> = origin.kept().collect();
    let mut wanted: FxHashSet<usize> = outputs.into_iter().collect();
    for run in origin.runs.iter().rev() {
        let dependencies = Dependencies::remembered(&run.program);
        let first_output = run.first_output;
        let own = |output: usize| output.checked_sub(first_output).filter(|&at| at < dependencies.outputs.len());
        let mut set = vec![0; (dependencies.parameters + dependencies.outputs.len()).div_ceil(64)];
        for at in wanted.iter().filter_map(|&output| own(output)) {
            let mut on_path = dependencies.outputs[at].clone();
            // An output is not on a path to itself.
            let itself = dependencies.parameters + at;
            on_path[itself / 64] &= !(1 << (itself % 64));
            set.iter_mut().zip(on_path).for_each(|(to, from)| *to |= from);
        }
        for (&output, serial) in &kept {
            let is_on_path = own(output).is_some_and(|at| bit(&set, dependencies.parameters + at));
            if let Some(&target) = targets.get(serial).filter(|_| is_on_path) {
                return lost(target);
            }
        }
        for (_, argument) in run.arguments.iter().enumerate().filter(|(i, _)| bit(&set, *i)) {
            match argument {
                Argument::Made(output) => {
                    if let Some(&target) = kept.get(output).and_then(|serial| targets.get(serial)) {
                        return lost(target);
                    }
                    wanted.insert(*output);
                }
                Argument::Data { serial, computed } => {
                    if let Some(&target) = targets.get(serial) {
                        return lost(target);
                    }
                    let Some((origin, output)) = *computed else { continue };
                    match run.origins[origin as usize].upgrade() {
                        Some(origin) => visits.add(&origin, output as usize),
                        None if *serial > oldest => return lost(targets[&oldest]),
                        None => {}
                    }
                }
            }
        }
    }
    None
}
