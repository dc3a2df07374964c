//! Origin of computed data: the sync that computed it, and what it was computed from. Gradients of pending values ask
//! whether a path to them was computed already, and can then not be followed any more.

use super::DeviceData;
use crate::ir::{Op, Program};
use crate::ops::definition;
use crate::ops::rules::{Derivative, is_differentiable};
use parking_lot::Mutex;
use std::sync::{Arc, LazyLock, Weak};

/// A sync that computed data.
pub struct Origin {
    /// Name of the sync, for messages.
    pub name: Arc<str>,
    /// Programs that it ran.
    pub runs: Vec<Ran>,
    /// Data that was kept: number of the output, serial number of the data.
    pub kept: Vec<(usize, u64)>,
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
    /// Data with this serial number.
    Data(u64, Weak<DeviceData>),
    /// Output of an earlier program of the sync.
    Made(usize),
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
            for (number, _) in outputs.iter().enumerate().filter(|(_, output)| **output == position) {
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

/// A path from a target to data that was computed already.
pub struct LostPath {
    /// Index of the target.
    pub target: usize,
    /// Name of the sync.
    pub sync: Arc<str>,
}

/// Returns a path from one of `targets` (serial numbers of data) to one of `leaves` that a sync computed, if there is
/// one. Data that is gone, and is younger than a target, may have been on a path, and counts as one.
pub fn lost_path(leaves: &[Arc<DeviceData>], targets: &[u64]) -> Option<LostPath> {
    let oldest = *targets.iter().min()?;
    let mut stack: Vec<(Arc<Origin>, usize)> = leaves.iter().filter_map(|leaf| leaf.origin().cloned()).collect();
    let mut seen: Vec<(*const Origin, usize)> = Vec::new();
    while let Some((origin, number)) = stack.pop() {
        if seen.contains(&(Arc::as_ptr(&origin), number)) {
            continue;
        }
        seen.push((Arc::as_ptr(&origin), number));
        let lost = |serial: u64| {
            let target = targets.iter().position(|&target| target == serial)?;
            Some(LostPath { target, sync: origin.name.clone() })
        };
        let Some(run) = origin.runs.iter().rev().find(|run| run.first_output <= number) else { continue };
        let dependencies = Dependencies::remembered(&run.program);
        let set = &dependencies.outputs[number - run.first_output];
        for &(kept, serial) in &origin.kept {
            let own = kept.checked_sub(run.first_output).filter(|own| *own < dependencies.outputs.len());
            let is_on_path = own.is_some_and(|own| bit(set, dependencies.parameters + own));
            if kept != number
                && is_on_path
                && let Some(path) = lost(serial)
            {
                return Some(path);
            }
        }
        for (_, argument) in run.arguments.iter().enumerate().filter(|(i, _)| bit(set, *i)) {
            match argument {
                Argument::Made(number) => stack.push((origin.clone(), *number)),
                Argument::Data(serial, data) => {
                    if let Some(path) = lost(*serial) {
                        return Some(path);
                    }
                    match data.upgrade() {
                        Some(data) => stack.extend(data.origin().cloned()),
                        None if *serial > oldest => {
                            let target = targets.iter().position(|&target| target == oldest)?;
                            return Some(LostPath { target, sync: origin.name.clone() });
                        }
                        None => {}
                    }
                }
            }
        }
    }
    None
}
