//! The log of compiles: each with its cause, which is found by comparing the program with those that were compiled
//! before.

use base::error::quoted;
use base::label::Label;
use base::types::{Encoding, Scalar};
use engine::ProgramMemory;
use ir::{Body, Instruction, Op, Program};
use native::text_of;
use ops::operation_name;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

/// Number of compiles that the log keeps, and of programs with which a new one is compared.
const MOST_ENTRIES: usize = 1024;
const MOST_KNOWN: usize = 64;

/// Maximum number of bytes of a value in the log.
const MOST_TEXT: usize = 200;

/// A program in the variant in which it is compiled.
#[derive(Clone)]
pub struct Compiling {
    /// The program.
    pub program: Program,
    /// Its key in the cache: the encoding of the program and its layout on a mesh.
    pub encoding: Encoding,
    /// Values of its scalar slots.
    pub scalars: Vec<Scalar>,
    /// For each scalar slot, whether it is a parameter.
    pub varying: Arc<[bool]>,
    /// Indices of the parameters that may be donated.
    pub donors: Arc<[usize]>,
    /// Whether sizes of the program change.
    pub sizes: Sizes,
}

/// Whether sizes of a program change, as far as programs before it show.
#[derive(Clone, Default)]
pub enum Sizes {
    /// They do not, or the option `dynamic_sizes` is off.
    #[default]
    Fixed,
    /// The program is for bounds: the axes of its parameters that change.
    Bounded(Vec<DynamicAxis>),
    /// They do, but an operation cannot be computed for bounds.
    Refused {
        /// Name of the operation.
        operation: &'static str,
        /// Label of the operation.
        label: Label,
        /// Why not.
        reason: String,
    },
}

/// An axis of a parameter whose size changes.
#[derive(Clone)]
pub struct DynamicAxis {
    /// Index of the parameter.
    pub parameter: usize,
    /// Axis of the parameter.
    pub axis: usize,
    /// Size as a form of the variables n0, n1, ...
    pub size: String,
    /// Largest size that the program serves.
    pub bound: i64,
}

impl Sizes {
    /// The refusal as text, with the operation.
    pub fn refusal(&self) -> Option<String> {
        match self {
            Sizes::Refused { operation, label, reason } => Some(format!("{operation}{}: {reason}", label.suffix())),
            _ => None,
        }
    }

    fn add_to(&self, entry: &mut Value) {
        match self {
            Sizes::Fixed => {}
            Sizes::Bounded(axes) => {
                let of = |axis: &DynamicAxis| json!({"parameter": axis.parameter, "axis": axis.axis, "size": axis.size, "bound": axis.bound});
                entry["dynamic_axes"] = axes.iter().map(of).collect();
            }
            Sizes::Refused { operation, label, reason } => {
                entry["dynamic_refused"] = json!({"operation": operation, "label": label.path(), "reason": reason});
            }
        }
    }
}

/// Time and memory of a compile.
#[derive(Clone)]
pub struct Cost {
    /// Duration in nanoseconds.
    pub nanoseconds: u64,
    /// Device memory that the program needs.
    pub memory: ProgramMemory,
    /// Whether the program was loaded from the disk cache.
    pub is_from_disk: bool,
}

/// Why a program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It is the first program of the environment.
    First,
    /// It has other operations than the programs before.
    NewProgram,
    /// A shape differs.
    Shape,
    /// A dtype differs.
    Dtype,
    /// A constant, or an attribute such as an axis or an offset, differs.
    Constant,
    /// A scalar that was a constant has another value, and is a parameter from now on.
    ScalarBecameParameter,
    /// Other parameters may be donated.
    Donors,
    /// The same program is divided differently over the devices of a mesh.
    Sharding,
    /// The program was compiled before, and left the cache since.
    Evicted,
    /// A size changes, and the program serves all sizes up to a bound.
    SizeBecameDynamic,
}

impl Cause {
    /// Name of the cause in the log.
    pub fn name(self) -> &'static str {
        match self {
            Cause::First => "first",
            Cause::NewProgram => "new_program",
            Cause::Shape => "shape",
            Cause::Dtype => "dtype",
            Cause::Constant => "constant",
            Cause::ScalarBecameParameter => "scalar_became_parameter",
            Cause::Donors => "donors",
            Cause::Sharding => "sharding",
            Cause::Evicted => "evicted",
            Cause::SizeBecameDynamic => "size_became_dynamic",
        }
    }
}

/// The first difference between a program and an earlier one.
struct Difference {
    cause: Cause,
    /// Name of the operation; None if it is not one operation that differs.
    operation: Option<&'static str>,
    label: Label,
    value: String,
    before: String,
}

/// A program that was compiled.
pub struct CompileRecord {
    /// Number of its compile, from 1.
    pub number: u64,
    /// The program, with bodies that keep no kernel alive.
    pub compiled: Compiling,
    /// Time and memory of the compile.
    pub cost: Cost,
    /// Codes of its operations.
    ops: Vec<u32>,
}

impl CompileRecord {
    /// Number of operations, parameters left out.
    pub fn operations(&self) -> usize {
        self.ops.len() - self.parameters()
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.ops.iter().filter(|&&op| op == Op::Leaf.code()).count()
    }
}

#[derive(Default)]
struct Compiles {
    count: u64,
    known: VecDeque<Arc<CompileRecord>>,
    entries: VecDeque<Value>,
}

/// The compiles of an environment, the last ones in full.
#[derive(Default)]
pub struct CompileLog(Mutex<Compiles>);

impl CompileLog {
    /// Adds a compile on a device, named by `place`. Returns its record and a line that describes it.
    pub fn add(&self, place: &str, compiled: &Compiling, cost: &Cost) -> (Arc<CompileRecord>, String) {
        let known: Vec<Arc<CompileRecord>> = self.0.lock().known.iter().cloned().collect();
        let (values, _) = compiled.program.decode();
        let ops: Vec<u32> = values.iter().map(|value| value.op.code()).collect();
        let (nearest, difference) = explain(&known, compiled, &ops);
        let count = values.iter().filter(|value| value.op != Op::Leaf).count();
        let mut compiles = self.0.lock();
        compiles.count += 1;
        let number = compiles.count;
        let mut entry = entry(number, place, nearest, &difference, count, cost);
        compiled.sizes.add_to(&mut entry);
        if compiles.entries.len() == MOST_ENTRIES {
            compiles.entries.pop_front();
        }
        compiles.entries.push_back(entry);
        if compiles.known.len() == MOST_KNOWN {
            compiles.known.pop_front();
        }
        // Programs of the log do not hold kernels, which would never be destroyed after they are unregistered.
        let compiled = Compiling { program: compiled.program.without_kernels(), ..compiled.clone() };
        let known = Arc::new(CompileRecord { number, compiled, cost: cost.clone(), ops });
        compiles.known.push_back(known.clone());
        let mut line = line(number, place, nearest, &difference, count, cost);
        if let Some(refusal) = known.compiled.sizes.refusal() {
            let _ = write!(line, "; compiled for its sizes, although they change: {refusal}");
        }
        (known, line)
    }

    /// The compiles as a JSON object: their number, and a list of the last ones, the oldest first.
    pub fn json(&self) -> Value {
        let compiles = self.0.lock();
        json!({"count": compiles.count, "compiles": compiles.entries})
    }
}

fn entry(number: u64, place: &str, nearest: Option<u64>, found: &Difference, operations: usize, cost: &Cost) -> Value {
    let memory = &cost.memory;
    let mut entry = json!({
        "number": number,
        "device": place,
        "cause": found.cause.name(),
        "nearest": nearest,
        "operations": operations,
        "nanoseconds": cost.nanoseconds,
        "from_disk": cost.is_from_disk,
        "argument_bytes": memory.arguments,
        "output_bytes": memory.outputs,
        "alias_bytes": memory.aliases,
        "temp_bytes": memory.temporaries,
        "code_bytes": memory.code,
    });
    if nearest.is_some() {
        let label = found.label.path();
        entry["difference"] =
            json!({"operation": found.operation, "label": label, "value": found.value, "before": found.before});
    }
    entry
}

fn line(number: u64, place: &str, nearest: Option<u64>, found: &Difference, operations: usize, cost: &Cost) -> String {
    let mut text = format!("compile {number} on {place}: {}", found.cause.name());
    if let Some(nearest) = nearest {
        let operation = found.operation.map_or_else(String::new, |name| format!("{name}{} is ", found.label.suffix()));
        let _ = match found.cause {
            Cause::Evicted => write!(text, " since compile {nearest}"),
            _ => write!(text, ": {operation}{}, was {} in compile {nearest}", found.value, found.before),
        };
    }
    let milliseconds = cost.nanoseconds as f64 / 1e6;
    let from = if cost.is_from_disk { "loaded from disk in" } else { "compiled in" };
    let temporaries = cost.memory.temporaries;
    let _ = write!(text, "; {operations} operations, {from} {milliseconds:.1} ms, {temporaries} bytes of temporaries");
    text
}

/// Returns the number of the nearest of the known programs, and the difference from it. The latest are last.
fn explain(known: &[Arc<CompileRecord>], new: &Compiling, ops: &[u32]) -> (Option<u64>, Difference) {
    if known.is_empty() {
        return (None, plain(Cause::First, String::new(), String::new()));
    }
    let same: Vec<&Arc<CompileRecord>> =
        known.iter().rev().filter(|known| known.compiled.encoding == new.encoding).collect();
    if let (Sizes::Bounded(axes), true) = (&new.sizes, same.is_empty()) {
        return (known.last().map(|known| known.number), of_bounds(axes));
    }
    let variants = same.iter().map(|known| (known.number, of_variants(&known.compiled, new)));
    // Prefer a variant without a difference, then one that differs only in its donors.
    let rank = |cause: Cause| [Cause::Evicted, Cause::Donors].iter().position(|&first| first == cause).unwrap_or(2);
    if let Some((number, difference)) = variants.min_by_key(|(_, difference)| rank(difference.cause)) {
        return (Some(number), difference);
    }
    if let Some(known) = known.iter().rev().find(|known| known.compiled.program == new.program) {
        let difference = plain(Cause::Sharding, "another sharding".to_string(), "the same program".to_string());
        return (Some(known.number), difference);
    }
    let alike = known.iter().rev().filter(|known| known.ops == ops);
    let alike = alike.filter_map(|known| Some((known.number, of_programs(&known.compiled, new)?)));
    if let Some((number, difference)) = { alike }.find(|(_, difference)| difference.cause != Cause::NewProgram) {
        return (Some(number), difference);
    }
    let common = |known: &&Arc<CompileRecord>| known.ops.iter().zip(ops).take_while(|(a, b)| a == b).count();
    let nearest = known.iter().max_by_key(common).expect("there is one");
    let found = if nearest.ops == ops {
        // Other operands or results, or other operations in the body of a computation.
        of_programs(&nearest.compiled, new)
    } else {
        let (before, now) = (nearest.compiled.program.decode().0, new.program.decode().0);
        Some(of_operations(&before, &now, common(&nearest)))
    };
    let other = || plain(Cause::NewProgram, "other results".to_string(), "the same operations".to_string());
    (Some(nearest.number), found.unwrap_or_else(other))
}

/// The difference of a program for bounds from programs for their sizes.
fn of_bounds(axes: &[DynamicAxis]) -> Difference {
    let text = |axis: &DynamicAxis| {
        format!("axis {} of parameter {} is {}, up to {}", axis.axis, axis.parameter, axis.size, axis.bound)
    };
    let axes: Vec<String> = axes.iter().map(text).collect();
    plain(Cause::SizeBecameDynamic, shortened(axes.join("; ")), "compiled for each size".to_string())
}

/// A difference that is not one of an operation.
fn plain(cause: Cause, value: String, before: String) -> Difference {
    Difference { cause, operation: None, label: Label::NONE, value, before }
}

/// Difference between two variants of one program.
fn of_variants(old: &Compiling, new: &Compiling) -> Difference {
    let is_constant = |slot: usize| !new.varying[slot] && !old.varying[slot] && old.scalars[slot] != new.scalars[slot];
    let slots = 0..new.scalars.len();
    let became = slots.clone().find(|&slot| new.varying[slot] && !old.varying[slot]);
    let slot =
        became.or_else(|| slots.clone().find(|&slot| is_constant(slot) || new.varying[slot] != old.varying[slot]));
    if let Some(slot) = slot {
        let (values, _) = new.program.decode();
        let operation = values.iter().filter(|value| value.op.has_scalar()).nth(slot);
        return Difference {
            cause: if became.is_some() { Cause::ScalarBecameParameter } else { Cause::Constant },
            operation: operation.map(|operation| operation_name(operation.op)),
            label: operation.map_or(Label::NONE, |operation| operation.label),
            value: text_of(new.scalars[slot]),
            before: text_of(old.scalars[slot]),
        };
    }
    if old.donors != new.donors {
        let text = |donors: &[usize]| shortened(format!("donated parameters {donors:?}"));
        return plain(Cause::Donors, text(&new.donors), text(&old.donors));
    }
    plain(Cause::Evicted, String::new(), String::new())
}

/// The first difference between two programs.
fn of_programs(old: &Compiling, new: &Compiling) -> Option<Difference> {
    // Scalars of the programs are not part of them.
    of_functions((&old.program, &[]), (&new.program, &[]))
}

/// The first difference between two functions: programs with the constants in their scalar slots.
fn of_functions(old: (&Program, &[Scalar]), new: (&Program, &[Scalar])) -> Option<Difference> {
    let ((before, old_outputs), (now, new_outputs)) = (old.0.decode(), new.0.decode());
    let (mut old_scalars, mut new_scalars) = (old.1.iter(), new.1.iter());
    for (at, b) in now.iter().enumerate().take(before.len()) {
        let scalars = if b.op.has_scalar() { (old_scalars.next(), new_scalars.next()) } else { (None, None) };
        if let Some(difference) = of_instructions(&before, &now, at, scalars) {
            return Some(difference);
        }
    }
    let shorter = before.len().min(now.len());
    if before.len() == now.len() && old_outputs == new_outputs {
        return None;
    }
    Some(of_operations(&before, &now, shorter))
}

/// Difference between two operations at a position, or the ends of programs.
fn of_operations(before: &[Instruction], now: &[Instruction], at: usize) -> Difference {
    let end = || "no further operation".to_string();
    let (old, new) = (before.get(at), now.get(at));
    Difference {
        cause: Cause::NewProgram,
        operation: new.map(|value| operation_name(value.op)),
        label: if new.is_some() { label_of(now, at) } else { old.map_or(Label::NONE, |_| label_of(before, at)) },
        value: new.map_or_else(end, |_| type_of(now, at)),
        before: old.map_or_else(end, |_| described(before, at)),
    }
}

/// The first difference between two instructions at the same position.
fn of_instructions(
    before: &[Instruction],
    now: &[Instruction],
    at: usize,
    scalars: (Option<&Scalar>, Option<&Scalar>),
) -> Option<Difference> {
    let (old, new) = (&before[at], &now[at]);
    let made = |cause: Cause, value: String, before: String| {
        let (operation, label) = (Some(operation_name(new.op)), label_of(now, at));
        Some(Difference { cause, operation, label, value: shortened(value), before: shortened(before) })
    };
    if old.op != new.op {
        return made(Cause::NewProgram, type_of(now, at), described(before, at));
    }
    if old.operands != new.operands {
        let text = |value: &Instruction| format!("of the values {:?}", value.operands);
        return made(Cause::NewProgram, text(new), text(old));
    }
    if old.ty.dtype != new.ty.dtype {
        return made(Cause::Dtype, new.ty.to_string(), old.ty.to_string());
    }
    if old.ty.dims != new.ty.dims {
        return made(Cause::Shape, new.ty.to_string(), old.ty.to_string());
    }
    if old.words != new.words {
        let text = |value: &Instruction| format!("with the attributes {:?}", value.words);
        return made(Cause::Constant, text(new), text(old));
    }
    if let (Some(before), Some(now)) = scalars
        && before != now
    {
        return made(Cause::Constant, text_of(*now), text_of(*before));
    }
    let of_bodies = |(old, new): (&Arc<Body>, &Arc<Body>)| {
        let is_same = Arc::ptr_eq(old, new) || old == new;
        if is_same { None } else { of_functions((old.program(), old.scalars()), (new.program(), new.scalars())) }
    };
    old.bodies.iter().zip(&new.bodies).find_map(of_bodies)
}

/// Operation and type of an instruction.
fn described(values: &[Instruction], at: usize) -> String {
    let value = &values[at];
    format!("{} {}{}", operation_name(value.op), type_of(values, at), value.label.suffix())
}

/// Type of an instruction. An operation with a list of results has the types of the results that the program uses: its
/// own type means nothing.
fn type_of(values: &[Instruction], at: usize) -> String {
    if !values[at].op.has_results() {
        return values[at].ty.to_string();
    }
    let is_result = |value: &&Instruction| value.op == Op::Result && value.operands[0] == at;
    let types: Vec<String> = values.iter().filter(is_result).map(|value| value.ty.to_string()).collect();
    if let [only] = &*types { only.clone() } else { format!("({})", types.join(", ")) }
}

/// Label of an instruction. A parameter has no label of its own, and a constant may have none: then it is the label of
/// the first labelled operation that depends on it, so that a reader finds the place where the data comes in.
fn label_of(values: &[Instruction], at: usize) -> Label {
    if !values[at].label.is_none() || !values[at].operands.is_empty() {
        return values[at].label;
    }
    let mut depends = vec![false; values.len()];
    depends[at] = true;
    for (position, value) in values.iter().enumerate().skip(at + 1) {
        depends[position] = value.operands.iter().any(|&operand| depends[operand]);
        if depends[position] && !value.label.is_none() {
            return value.label;
        }
    }
    Label::NONE
}

fn shortened(text: String) -> String {
    if text.len() > MOST_TEXT { quoted(&text) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::{DType, TensorType};
    use ir::{Trace, UnaryOp, take_body};
    use ops::elementwise;

    fn compiling(size: i64, layout: &[u32]) -> Compiling {
        let mut trace = Trace::new();
        let p = trace.parameter(TensorType::new(DType::F32, &[size]));
        let y = elementwise::unary(&mut trace, UnaryOp::Tanh, p).unwrap();
        let program = take_body(&trace, &[p], &[y]).unwrap().0.program().clone();
        let encoding = Encoding::new([layout, program.words()].concat());
        Compiling { program, encoding, scalars: vec![], varying: [].into(), donors: [].into(), sizes: Sizes::Fixed }
    }

    fn add(log: &CompileLog, compiled: &Compiling) -> String {
        log.add("mesh:0", compiled, &Cost { nanoseconds: 2_000_000, memory: Default::default(), is_from_disk: true }).1
    }

    #[test]
    fn another_layout_is_another_sharding() {
        let log = CompileLog::default();
        assert!(
            add(&log, &compiling(2, &[7])).starts_with("compile 1 on mesh:0: first; 1 operations, loaded from disk")
        );
        let line = add(&log, &compiling(2, &[8]));
        assert!(line.starts_with("compile 2 on mesh:0: sharding: another sharding, was the same program"), "{line}");
        assert!(add(&log, &compiling(2, &[7])).contains("evicted since compile 1"));
    }

    #[test]
    fn the_log_is_bounded() {
        let log = CompileLog::default();
        (0..MOST_ENTRIES as i64 + 5).for_each(|size| drop(add(&log, &compiling(size, &[]))));
        let compiles = log.0.lock();
        assert_eq!((compiles.entries.len(), compiles.known.len()), (MOST_ENTRIES, MOST_KNOWN));
        assert_eq!(compiles.entries[0]["number"], 6);
    }
}
