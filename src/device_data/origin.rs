//! Origin of computed data: the sync that computed it, and what it was computed from; of a copy: what was copied from
//! another device. Gradients of pending values ask whether a path to them was computed already, or goes through another
//! device, and can then not be followed.

use super::DeviceData;
use crate::ir::{Op, Program, Trace, take_closed_body};
use crate::ops::definition;
use crate::ops::rules::{Derivative, is_differentiable};
use crate::types::{DType, TensorType};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, LazyLock, Weak};

/// A sync that computed data, or a copy of data from another device.
pub struct Origin {
    /// Name of the sync or the copy, for messages.
    pub name: Arc<str>,
    /// Programs that it ran.
    pub runs: Vec<Ran>,
    /// Data that was kept: number of the output, serial number of the data.
    pub kept: Vec<(usize, u64)>,
    /// Whether it is a copy.
    pub is_copy: bool,
}

/// What a copy counts as: a program that returns its argument.
static COPY: LazyLock<Arc<Program>> = LazyLock::new(|| {
    let mut trace = Trace::new();
    let x = trace.parameter(TensorType::new(DType::F32, &[]));
    Arc::new(take_closed_body(&trace, &[x], &[], &[x]).program().clone())
});

impl Origin {
    /// Origin of a copy of this data. Its only output has number 0.
    pub fn of_copy(source: &Arc<DeviceData>, name: Arc<str>) -> Arc<Origin> {
        let run = Ran { program: COPY.clone(), arguments: vec![Argument::of(source)], first_output: 0 };
        Arc::new(Origin { name, runs: vec![run], kept: Vec::new(), is_copy: true })
    }
}

/// One program of a sync.
pub struct Ran {
    /// The program.
    pub program: Arc<Program>,
    /// Arguments, in parameter order.
    pub arguments: Vec<Argument>,
    /// Number of its first output among those of the sync.
    pub first_output: usize,
}

/// Argument of a program.
pub enum Argument {
    /// Data of a tensor.
    Data {
        /// Its serial number.
        serial: u64,
        /// The data, while it exists.
        data: Weak<DeviceData>,
        /// Whether a sync computed it, or it is a copy.
        was_computed: bool,
    },
    /// Output of an earlier program of the sync.
    Made(usize),
}

impl Argument {
    /// The argument that is this data.
    pub fn of(data: &Arc<DeviceData>) -> Argument {
        Argument::Data { serial: data.serial(), data: Arc::downgrade(data), was_computed: data.origin().is_some() }
    }
}

/// Which parameters and outputs of a program have a tangent that reaches an output: one bit for each parameter, then
/// for each output, for every output.
struct Dependencies {
    program: Arc<Program>,
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
        Dependencies { program: program.clone(), parameters, outputs }
    }

    /// The dependencies of a program, remembered for the last few programs: a training loop asks for the same one in
    /// every step.
    fn remembered(program: &Arc<Program>) -> Arc<Dependencies> {
        static LAST: LazyLock<Mutex<Vec<Arc<Dependencies>>>> = LazyLock::new(Default::default);
        const MOST: usize = 8;
        let known = LAST.lock().iter().find(|known| known.program == *program).cloned();
        known.unwrap_or_else(|| {
            let made = Arc::new(Dependencies::of(program));
            let mut last = LAST.lock();
            if last.len() == MOST {
                last.remove(0);
            }
            last.push(made.clone());
            made
        })
    }
}

/// A path from a target to data that was computed already, or copied from another device.
pub struct LostPath {
    /// Index of the target.
    pub target: usize,
    /// Name of the sync or the copy.
    pub name: Arc<str>,
    /// Whether it is a copy.
    pub is_copy: bool,
}

/// Returns a path from one of `targets` (serial numbers of data) to one of `leaves` that a sync computed or that was
/// copied, if there is one. Such data that is gone, and is younger than a target, may have been on a path, and counts
/// as one.
pub fn lost_path(leaves: &[Arc<DeviceData>], targets: &[u64]) -> Option<LostPath> {
    let numbers: FxHashMap<u64, usize> = targets.iter().enumerate().map(|(i, &serial)| (serial, i)).collect();
    let oldest = *targets.iter().min()?;
    let mut pending: Vec<(Arc<Origin>, Vec<usize>)> = Vec::new();
    let mut seen: FxHashSet<(*const Origin, usize)> = FxHashSet::default();
    // Data is kept until the end, so that no other origin gets an address that was seen.
    let mut held: Vec<Arc<DeviceData>> = leaves.to_vec();
    let mut next = 0;
    loop {
        for data in &held[next..] {
            let Some((origin, output)) = data.origin() else { continue };
            if seen.insert((Arc::as_ptr(origin), *output)) {
                match pending.iter_mut().find(|(known, _)| Arc::ptr_eq(known, origin)) {
                    Some((_, outputs)) => outputs.push(*output),
                    None => pending.push((origin.clone(), vec![*output])),
                }
            }
        }
        next = held.len();
        let (origin, outputs) = pending.pop()?;
        if let Some(path) = through(&origin, outputs, &numbers, oldest, &mut held) {
            return Some(path);
        }
    }
}

/// Looks for a target among what these outputs of a sync were computed from. Adds the arguments that are still there to
/// `held`.
fn through(
    origin: &Arc<Origin>,
    outputs: Vec<usize>,
    targets: &FxHashMap<u64, usize>,
    oldest: u64,
    held: &mut Vec<Arc<DeviceData>>,
) -> Option<LostPath> {
    let lost = |target: usize| Some(LostPath { target, name: origin.name.clone(), is_copy: origin.is_copy });
    let kept: FxHashMap<usize, u64> = origin.kept.iter().copied().collect();
    let mut wanted: FxHashSet<usize> = outputs.into_iter().collect();
    for run in origin.runs.iter().rev() {
        let dependencies = Dependencies::remembered(&run.program);
        let own = |output: usize| output.checked_sub(run.first_output).filter(|&at| at < dependencies.outputs.len());
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
                Argument::Data { serial, data, was_computed } => {
                    if let Some(&target) = targets.get(serial) {
                        return lost(target);
                    }
                    match data.upgrade() {
                        Some(data) => held.push(data),
                        None if *was_computed && *serial > oldest => return lost(targets[&oldest]),
                        None => {}
                    }
                }
            }
        }
    }
    None
}
