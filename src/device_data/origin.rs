//! Origin of computed data: the sync that computed it, and what it was computed from; of a copy: what was copied from
//! another device. Gradients of pending values ask whether a path to them was computed already, or goes through another
//! device, and can then not be followed.

use super::{DeviceData, Name};
use base::allocation::{collected, filled, probe, with_room};
use base::error::Result;
use base::label::Label;
use base::types::{DType, TensorType};
use ir::{Op, Program, Scheme, Trace, take_closed_body};
use ops::passes_tangents;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::hash_map::Entry;
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
    Arc::new(take_closed_body(&trace, &[x], &[], &[x]).expect("little memory").program().clone())
});

impl Origin {
    /// Origin of a copy of this data. Its only output has number 0.
    pub fn of_copy(source: &DeviceData, name: Name) -> Arc<Origin> {
        let mut run = Ran::new(COPY.clone(), 0, 1);
        run.add_data(source);
        Arc::new(Origin { name, runs: vec![run], scheme: None, first_serial: 0 })
    }

    /// Label of the operation whose result an output is.
    pub fn label_of(&self, output: usize) -> Label {
        let run = self.runs.iter().rfind(|run| run.first_output <= output);
        run.map_or(Label::NONE, |run| run.program.label_of_output(output - run.first_output))
    }

    /// Labels of the operations whose results the outputs are. Decodes the programs that have labels.
    pub fn labels(&self) -> Vec<Label> {
        self.runs.iter().flat_map(|run| run.program.labels_of_outputs()).collect()
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

/// The values of a program from which tangents reach its values: a graph. Its memory is linear in the program.
struct Dependencies {
    /// For each value, the end of its operands in `operands`. They start where those of the value before end.
    ends: Vec<u32>,
    /// Operands, by position, whose tangents a value has.
    operands: Vec<u32>,
    /// Position of each parameter.
    parameters: Vec<u32>,
    /// Position of each output.
    outputs: Vec<u32>,
    /// The last set of outputs that [`Dependencies::reached_from`] was asked for, ascending, and its answer: a training
    /// loop asks for the same ones in every step.
    last: Mutex<Option<(Vec<u32>, Arc<Marks>)>>,
}

/// For each value, which one of a set of outputs is connected to it: [`NO_OUTPUT`], [`SEVERAL`], or a number.
type Marks = Vec<u32>;

const NO_OUTPUT: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

fn joined(a: u32, b: u32) -> u32 {
    match (a, b) {
        (NO_OUTPUT, other) | (other, NO_OUTPUT) => other,
        _ if a == b => a,
        _ => SEVERAL,
    }
}

/// Whether a mark says that another output than this one is connected.
fn is_another(mark: u32, output: usize) -> bool {
    mark != NO_OUTPUT && mark != output as u32
}

impl Dependencies {
    fn of(program: &Arc<Program>) -> Result<Dependencies> {
        const PURPOSE: &str = "the dependencies of a program";
        probe(program.decoded_bytes(), PURPOSE)?;
        let (values, outputs) = program.decode();
        let (mut ends, mut parameters) = (with_room(values.len(), PURPOSE)?, Vec::new());
        let mut operands = with_room(values.iter().map(|value| value.operands.len()).sum(), PURPOSE)?;
        for (position, value) in values.iter().enumerate() {
            if value.op == Op::Leaf {
                parameters.push(position as u32);
            } else if passes_tangents(value.op, value.ty.dtype) {
                operands.extend(value.operands.iter().map(|&operand| operand as u32));
            }
            ends.push(operands.len() as u32);
        }
        let outputs = collected(outputs.iter().map(|&output| output as u32), PURPOSE)?;
        Ok(Dependencies { ends, operands, parameters, outputs, last: Mutex::default() })
    }

    fn operands(&self, position: usize) -> &[u32] {
        let start = if position == 0 { 0 } else { self.ends[position - 1] };
        &self.operands[start as usize..self.ends[position] as usize]
    }

    /// Marks at the positions of these outputs alone.
    fn marks(&self, outputs: &[u32]) -> Result<Marks> {
        let mut marks = filled(NO_OUTPUT, self.ends.len(), "the dependencies of a program")?;
        for &output in outputs {
            let mark = &mut marks[self.outputs[output as usize] as usize];
            *mark = joined(*mark, output);
        }
        Ok(marks)
    }

    /// For each value, the outputs of these on which it depends. `outputs` is ascending.
    fn reached_from(&self, outputs: Vec<u32>) -> Result<Arc<Marks>> {
        if let Some((_, marks)) = self.last.lock().as_ref().filter(|(known, _)| *known == outputs) {
            return Ok(marks.clone());
        }
        let mut marks = self.marks(&outputs)?;
        for position in 0..marks.len() {
            let own = marks[position];
            marks[position] =
                self.operands(position).iter().fold(own, |mark, &operand| joined(mark, marks[operand as usize]));
        }
        let marks = Arc::new(marks);
        *self.last.lock() = Some((outputs, marks.clone()));
        Ok(marks)
    }

    /// For each value, the outputs of these that depend on it.
    fn leading_to(&self, outputs: &[u32]) -> Result<Marks> {
        let mut marks = self.marks(outputs)?;
        for position in (0..marks.len()).rev().filter(|_| !outputs.is_empty()) {
            let mark = marks[position];
            if mark != NO_OUTPUT {
                for &operand in self.operands(position) {
                    let of_operand = &mut marks[operand as usize];
                    *of_operand = joined(*of_operand, mark);
                }
            }
        }
        Ok(marks)
    }

    /// The dependencies of a program, remembered for the last few programs: a training loop asks for the same one in
    /// every step.
    fn remembered(program: &Arc<Program>) -> Result<Arc<Dependencies>> {
        static LAST: Mutex<Vec<(Arc<Program>, Arc<Dependencies>)>> = Mutex::new(Vec::new());
        const MOST: usize = 8;
        let mut last = LAST.lock();
        // By address first: comparing two programs reads all their words up to the first difference.
        if let Some((_, known)) = last.iter().find(|(known, _)| Arc::ptr_eq(known, program)) {
            return Ok(known.clone());
        }
        if let Some((address, known)) = last.iter_mut().find(|(known, _)| known == program) {
            *address = program.clone();
            return Ok(known.clone());
        }
        drop(last);
        let made = Arc::new(Dependencies::of(program)?);
        let mut last = LAST.lock();
        if last.len() == MOST {
            last.remove(0);
        }
        last.push((program.clone(), made.clone()));
        Ok(made)
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
    /// The targets on which each value depends.
    reached: Arc<Marks>,
}

impl Latest {
    /// None if a target may be older than the sync, or if it ran several programs.
    fn of(origin: &Arc<Origin>, targets: &[u64]) -> Result<Option<Latest>> {
        let (Some(scheme), [run]) = (&origin.scheme, &*origin.runs) else { return Ok(None) };
        if targets.iter().any(|&serial| serial < origin.first_serial) {
            return Ok(None);
        }
        let dependencies = Dependencies::remembered(&run.program)?;
        let output = |&serial: &u64| {
            let root = scheme.roots.get((serial - origin.first_serial) as usize);
            root.map(|&(_, output)| output as u32).filter(|&output| (output as usize) < dependencies.outputs.len())
        };
        let mut outputs: Vec<u32> = with_room(targets.len(), "the targets of gradients")?;
        outputs.extend(targets.iter().filter_map(output));
        outputs.sort_unstable();
        let reached = dependencies.reached_from(outputs)?;
        Ok(Some(Latest { dependencies, reached }))
    }

    /// Whether a path leads from a target to this output, of the only program.
    fn is_reached(&self, output: usize) -> bool {
        // An output is not on a path to itself.
        let position = self.dependencies.outputs.get(output);
        position.is_none_or(|&position| is_another(self.reached[position as usize], output))
    }
}

/// Returns a path from one of `targets` (serial numbers of data) to one of `leaves` that a sync computed, if there is
/// one. Data that was computed by a sync whose results were all released, and that is younger than a target, may have
/// been on a path, and counts as one.
pub fn lost_path(leaves: &[Arc<DeviceData>], targets: &[u64]) -> Result<Option<LostPath>> {
    let Some(&oldest) = targets.iter().min() else { return Ok(None) };
    let mut visits = Visits::default();
    // In a training loop, all leaves and targets are results of the last step.
    let mut known: FxHashMap<*const Origin, Option<Latest>> = FxHashMap::default();
    for (origin, output) in leaves.iter().filter_map(|data| data.origin()) {
        let latest = match known.entry(Arc::as_ptr(origin)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Latest::of(origin, targets)?),
        };
        if latest.as_ref().is_none_or(|latest| latest.is_reached(*output)) {
            visits.add(origin, *output);
        }
    }
    if visits.pending.is_empty() {
        return Ok(None);
    }
    let numbers: FxHashMap<u64, usize> = targets.iter().enumerate().map(|(i, &serial)| (serial, i)).collect();
    while let Some((origin, outputs)) = visits.pending.pop() {
        if let Some(path) = through(&origin, outputs, &numbers, oldest, &mut visits)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Looks for a target among what these outputs of a sync were computed from. Adds the origins of the arguments to
/// `visits`.
fn through(
    origin: &Arc<Origin>,
    outputs: Vec<usize>,
    targets: &FxHashMap<u64, usize>,
    oldest: u64,
    visits: &mut Visits,
) -> Result<Option<LostPath>> {
    let is_copy = origin.scheme.is_none();
    let lost = |target: usize| Ok(Some(LostPath { target, name: origin.name.clone(), is_copy }));
    let kept: FxHashMap<usize, u64> = origin.kept().collect();
    let mut wanted: FxHashSet<usize> = outputs.into_iter().collect();
    for run in origin.runs.iter().rev() {
        let dependencies = Dependencies::remembered(&run.program)?;
        let first_output = run.first_output;
        let own = |output: usize| output.checked_sub(first_output).filter(|&at| at < dependencies.outputs.len());
        let own_wanted: Vec<u32> = wanted.iter().filter_map(|&output| own(output)).map(|at| at as u32).collect();
        let marks = dependencies.leading_to(&own_wanted)?;
        for (&output, serial) in &kept {
            // An output is not on a path to itself.
            let is_on_path = own(output).is_some_and(|at| is_another(marks[dependencies.outputs[at] as usize], at));
            if let Some(&target) = targets.get(serial).filter(|_| is_on_path) {
                return lost(target);
            }
        }
        let is_on_path = |i: usize| marks[dependencies.parameters[i] as usize] != NO_OUTPUT;
        for (_, argument) in run.arguments.iter().enumerate().filter(|(i, _)| is_on_path(*i)) {
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
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::{BinaryOp, CompareOp, NodeId, UnaryOp};
    use ops::elementwise;

    /// The program of these results of parameters, all f32.
    fn program(parameters: usize, results: impl FnOnce(&mut Trace, &[NodeId]) -> Vec<NodeId>) -> Arc<Program> {
        let mut trace = Trace::new();
        let ty = TensorType::new(DType::F32, &[]);
        let parameters: Vec<NodeId> = (0..parameters).map(|_| trace.parameter(ty.clone())).collect();
        let results = results(&mut trace, &parameters);
        Arc::new(take_closed_body(&trace, &parameters, &[], &results).unwrap().program().clone())
    }

    #[test]
    fn outputs_depend_on_others_but_not_on_themselves() {
        let program = program(2, |trace, p| {
            let double = elementwise::binary(trace, BinaryOp::Add, p[0], p[0]).unwrap();
            let sum = elementwise::binary(trace, BinaryOp::Add, double, p[1]).unwrap();
            let is_less = elementwise::compare(trace, CompareOp::Lt, double, sum).unwrap();
            vec![double, sum, is_less, double]
        });
        let dependencies = Dependencies::of(&program).unwrap();
        let reached = |from: &[u32]| {
            let marks = dependencies.reached_from(from.to_vec()).unwrap();
            [0, 1, 2, 3].map(|output| is_another(marks[dependencies.outputs[output] as usize], output))
        };
        assert_eq!(reached(&[0]), [false, true, false, true]);
        assert_eq!(reached(&[1]), [false; 4]);
        assert_eq!(reached(&[0, 3]), [true, true, false, true]);
        assert_eq!(reached(&[2]), [false; 4]);
        assert_eq!(reached(&[]), [false; 4]);
        let needed = |by: &[u32]| {
            let marks = dependencies.leading_to(by).unwrap();
            [0, 1].map(|i| marks[dependencies.parameters[i] as usize] != NO_OUTPUT)
        };
        assert_eq!(
            (needed(&[0]), needed(&[1]), needed(&[2]), needed(&[])),
            ([true, false], [true; 2], [false; 2], [false; 2])
        );
    }

    #[test]
    fn the_memory_of_dependencies_is_linear_in_the_program() {
        let many = 20_000;
        let program =
            program(many, |trace, p| p.iter().map(|&x| elementwise::unary(trace, UnaryOp::Tanh, x).unwrap()).collect());
        let dependencies = Dependencies::of(&program).unwrap();
        assert_eq!((dependencies.parameters.len(), dependencies.outputs.len()), (many, many));
        assert_eq!((dependencies.ends.len(), dependencies.operands.len()), (2 * many, many));
        let marks = dependencies.reached_from((0..many as u32).collect()).unwrap();
        assert!((0..many).all(|at| !is_another(marks[dependencies.outputs[at] as usize], at)));
    }
}
