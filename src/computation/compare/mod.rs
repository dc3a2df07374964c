//! Search for the operation whose value is wrong on a device. Each operation is evaluated natively from the operands
//! that the device computed, so that the first difference is the culprit and not a consequence of one. Where the
//! results of a loop, a branch or a scan differ, its body is searched in the same way, iteration by iteration.

mod differ;
mod opened;
mod rounding;

use super::Computation;
use crate::device::Handles;
use crate::device::{Device, Place, TensorHandle};
use crate::sync::{self, from_array, to_array};
use base::error;
use base::error::{Code, Result};
use base::stack::with_stack;
use base::threads;
use differ::{Difference, are_same, distances, ulps, worst};
use ir::{Body, Op};
use lowering::interpret::{array_of_scalar, element, index_of, operands_shown, run};
use lowering::transform;
use native::Array;
use opened::{Opened, Operation};
use ops::{self, EvalContext, Native, operation_name};
use rounding::{Rounding, is_vectors, rounding};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Largest number of operations that are compared, those of bodies included.
const MOST_OPERATIONS: usize = 1 << 20;

/// Largest number of loops that are listed because rounding accumulates in them.
const MOST_LISTED: usize = 16;

/// Stack of the search, and for each level of nested computations.
const ROOM: usize = 16 << 20;
const LEVEL: usize = 128 << 10;

/// Runs a computation on an XLA device and natively, and returns as JSON by how much the results differ, and the first
/// operation whose value differs by more than rounding while its operands are the same.
pub fn compare(
    f: &Computation,
    device: &'static Device,
    args: &[TensorHandle],
    tolerance: Option<f64>,
) -> Result<String> {
    check(f, device)?;
    let mut inputs = arguments(f, args)?;
    for index in 0..f.captured() {
        inputs.push(f.captured_array(index)?);
    }
    let body = f.body();
    let depth = body.depth();
    let limit = device.open_owner()?.shared.options.threads();
    let compared = || {
        let search = Search { device, tolerance, progress: RefCell::default() };
        let (results, natively) = search.whole(body, &inputs)?;
        match search.walk(&Opened::of(body)?, inputs) {
            Err(_) if search.progress.borrow().found.is_some() => {}
            walked => drop(walked?),
        }
        Ok(search.progress.into_inner().json(results, natively))
    };
    with_stack(ROOM + depth * LEVEL, depth, || threads::limited(limit, compared))
}

fn check(f: &Computation, device: &'static Device) -> Result<()> {
    match device.state().place() {
        Some((_, Place::Xla(_))) => {}
        Some((_, place)) => return Err(error!(InvalidArgument, "device: it is {place}; want an XLA device, xla:N")),
        None => return Err(error!(FailedPrecondition, "device: its environment is released")),
    }
    let body = f.body();
    if body.has_collectives() || body.has_shardings() {
        return Err(error!(
            Unimplemented,
            "computation: it has operations of a mesh, which are not evaluated natively"
        ));
    }
    if body.kernels().effects {
        return Err(error!(
            Unimplemented,
            "computation: it calls kernels with effects, which a comparison would repeat"
        ));
    }
    if body.weight() > MOST_OPERATIONS {
        let count = body.weight();
        return Err(error!(InvalidArgument, "computation: it has {count} operations; want at most {MOST_OPERATIONS}"));
    }
    Ok(())
}

/// Reads the arguments.
fn arguments(f: &Computation, args: &[TensorHandle]) -> Result<Vec<Array>> {
    let parameters = f.parameters();
    if args.len() != parameters.len() {
        let (given, wanted) = (args.len(), parameters.len());
        return Err(error!(InvalidArgument, "args: {given} given; the computation takes {wanted} parameters"));
    }
    let mut arrays = Vec::with_capacity(args.len());
    for (i, (&handle, wanted)) in args.iter().zip(parameters).enumerate() {
        let (array, _) = to_array(handle).map_err(|e| e.context(format_args!("args[{i}]")))?;
        if array.ty() != wanted {
            let ty = array.ty();
            return Err(error!(
                InvalidArgument,
                "args: args[{i}] is {ty}; the computation's parameter {i} is {wanted}"
            ));
        }
        arrays.push(array);
    }
    Ok(arrays)
}

/// A comparison under way.
struct Search {
    device: &'static Device,
    tolerance: Option<f64>,
    progress: RefCell<Progress>,
}

#[derive(Default)]
struct Progress {
    found: Option<Value>,
    /// Number of operations that were compared, each as often as it ran.
    compared: u64,
    /// The largest difference within the tolerance, in units of its scale.
    largest: f64,
    /// Operations that cannot be evaluated natively, and those that returned other vectors.
    not_compared: BTreeSet<&'static str>,
    /// Loops in whose bodies no operation differs, although their results do.
    accumulated: Vec<Value>,
    /// Loops, branches and scans that are searched now.
    inside: Vec<Value>,
}

impl Progress {
    fn json(self, results: Vec<Value>, natively: bool) -> String {
        let results = if natively { Value::Array(results) } else { Value::Null };
        json!({
            "found": self.found,
            "results": results,
            "compared": self.compared,
            "largest_within": self.largest,
            "accumulated": self.accumulated,
            "not_compared": self.not_compared,
        })
        .to_string()
    }
}

impl Search {
    /// Runs the whole computation both ways. Returns the differences of the results, and whether all operations can be
    /// evaluated natively.
    fn whole(&self, body: &Arc<Body>, inputs: &[Array]) -> Result<(Vec<Value>, bool)> {
        let device = self.on_device(&transform::lifted(body)?, inputs)?;
        let native = match run(body.program(), body.scalars(), inputs) {
            Err(e) if e.code == Code::Unimplemented => return Ok((Vec::new(), false)),
            native => native?,
        };
        let both = device.iter().zip(&native).enumerate();
        Ok((both.map(|(index, (device, native))| result(index, device, native)).collect::<Result<_>>()?, true))
    }

    /// Runs a computation without captures on the device, and reads its results.
    fn on_device(&self, body: &Arc<Body>, inputs: &[Array]) -> Result<Vec<Array>> {
        let mut given = Handles(Vec::with_capacity(inputs.len()));
        for input in inputs {
            given.0.push(from_array(self.device, input.clone())?);
        }
        let made = Handles(Computation::of_constants(self.device, body.clone(), Vec::new())?.call(&given.0)?);
        match sync::sync(&made.0) {
            // The option check_nonfinite found a NaN: the values are there nevertheless.
            Err(e) if e.code == Code::OutOfRange => {}
            synced => synced?,
        }
        made.0.iter().map(|&handle| to_array(handle).map(|(array, _)| array)).collect()
    }

    /// Compares the operations of a computation, and returns its results on the device. Fails when one is found.
    fn walk(&self, opened: &Opened, inputs: Vec<Array>) -> Result<Vec<Array>> {
        let mut known: Vec<Option<Array>> = vec![None; opened.types.len()];
        known.iter_mut().zip(inputs).for_each(|(known, input)| *known = Some(input));
        for piece in &opened.pieces {
            let outputs = self.on_device(&piece.body, &values(&known, &piece.inputs))?;
            for (&number, output) in piece.outputs.iter().zip(outputs) {
                known[number] = Some(output);
            }
            for operation in &opened.operations[piece.operations.clone()] {
                self.look(
                    opened,
                    operation,
                    &values(&known, &operation.inputs),
                    &values(&known, &operation.results),
                    |number| known[number].clone().expect("an operand is known"),
                )?;
            }
            let end = piece.operations.end;
            let is_over = |number: usize| opened.used_until[number] <= end;
            known.iter_mut().enumerate().filter(|(number, _)| is_over(*number)).for_each(|(_, known)| *known = None);
        }
        Ok(values(&known, &opened.results))
    }

    /// Compares the results of one operation on the device with the native ones of the same operands.
    fn look(
        &self,
        opened: &Opened,
        operation: &Operation,
        inputs: &[Array],
        device: &[Array],
        value: impl Fn(usize) -> Array,
    ) -> Result<()> {
        let alone = operation.alone(&opened.types)?;
        let evaluate = |inputs: &[Array]| run(alone.program(), alone.scalars(), inputs);
        let native = match evaluate(inputs) {
            Err(e) if e.code == Code::Unimplemented => None,
            native => Some(native?),
        };
        self.progress.borrow_mut().compared += u64::from(native.is_some());
        let op = operation.value.op;
        if native.as_ref().is_some_and(|native| are_same(device, native)) {
            return Ok(());
        }
        let operands = || operation.operands.iter().map(|&operand| value(operand)).collect::<Vec<Array>>();
        if has_body(op) {
            return self.descend(operation, &operands(), device, native.as_deref());
        }
        let Some(native) = native else {
            self.progress.borrow_mut().not_compared.insert(operation_name(op));
            return Ok(());
        };
        let rounding = rounding(&operation.value, inputs);
        let (mut found, within) = differ::compare(rounding, device, &native, inputs, self.tolerance, &evaluate)?;
        let mut progress = self.progress.borrow_mut();
        progress.largest = progress.largest.max(within);
        // Other vectors may be as right as the native ones.
        if found.extract_if(.., |found| is_vectors(op, &native[found.result], inputs)).count() > 0 {
            progress.not_compared.insert(operation_name(op));
        }
        let Some(found) = worst(found) else { return Ok(()) };
        let mut described = described(operation, &found, device, &native)?;
        let (ty, at) = (native[found.result].ty(), found.at);
        let scalar = operation.scalar.map(array_of_scalar).transpose()?;
        let arrays = operands();
        let arrays: Vec<&Array> = arrays.iter().collect();
        described["operands"] = operands_shown(op, &arrays, scalar.as_ref(), (ty, at)).into();
        described["inside"] = Value::Array(progress.inside.clone());
        progress.found = Some(described);
        Err(error!(Internal, "the search has ended"))
    }

    /// Searches the bodies that an operation applies, on the operands of the device.
    fn descend(
        &self,
        operation: &Operation,
        operands: &[Array],
        device: &[Array],
        native: Option<&[Array]>,
    ) -> Result<()> {
        let value = &operation.value;
        let bodies = operation.bodies()?;
        let counts = RefCell::new(vec![0u64; bodies.len()]);
        let apply = |body: usize, arguments: &[Array]| {
            let count = counts.borrow()[body];
            counts.borrow_mut()[body] += 1;
            let label = value.label.path();
            let place =
                json!({"operation": operation_name(value.op), "label": label, "body": body, "iteration": count});
            self.progress.borrow_mut().inside.push(place);
            let results = self.walk(&bodies[body], arguments.to_vec())?;
            self.progress.borrow_mut().inside.pop();
            Ok(results)
        };
        let operands: Vec<&Array> = operands.iter().collect();
        let cx = EvalContext {
            op: value.op,
            ty: &value.ty,
            words: &value.words,
            scalar: operation.scalar,
            operands: &operands,
            bodies: &value.bodies,
            apply: &apply,
            apply_each: &|_, _| Err(error!(Internal, "a loop applies its body to whole arrays")),
        };
        let Native::Several(evaluate) = ops::definition(value.op).native else {
            return Err(error!(Internal, "{} applies no body", operation_name(value.op)));
        };
        evaluate(&cx)?;
        let Some(native) = native else { return Ok(()) };
        // Nothing to evaluate again: each element may differ by ulps of its own.
        let same = |_: &[Array]| -> Result<Vec<Array>> { Ok(native.to_vec()) };
        let found = worst(differ::compare(Rounding::Element, device, native, &[], self.tolerance, &same)?.0);
        let mut progress = self.progress.borrow_mut();
        if let Some(found) = found
            && progress.accumulated.len() < MOST_LISTED
        {
            let described = described(operation, &found, device, native)?;
            progress.accumulated.push(described);
        }
        Ok(())
    }
}

/// The values with these numbers.
fn values(known: &[Option<Array>], numbers: &[usize]) -> Vec<Array> {
    numbers.iter().map(|&number| known[number].clone().expect("a value is kept until its last use")).collect()
}

/// Whether an operation applies bodies whose operations are compared one by one.
fn has_body(op: Op) -> bool {
    matches!(op, Op::While | Op::If | Op::Scan | Op::Custom | Op::Case)
}

/// An operation and its element that differs most.
fn described(operation: &Operation, found: &Difference, device: &[Array], native: &[Array]) -> Result<Value> {
    let (device, native) = (&device[found.result], &native[found.result]);
    Ok(json!({
        "operation": operation_name(operation.value.op),
        "label": operation.value.label.path(),
        "type": native.ty().to_string(),
        "index": index_of(native.ty(), found.at),
        "device": element(device, found.at),
        "native": element(native, found.at),
        "difference": finite(found.difference),
        "ulps": ulps(found.difference, native, found.at)?,
        "rounding": finite(found.rounding),
        "differing": found.count,
    }))
}

/// By how much a result of the whole computation differs.
fn result(index: usize, device: &Array, native: &Array) -> Result<Value> {
    let distances = distances(device, native)?;
    let differing = distances.iter().filter(|distance| **distance > 0.0).count();
    let largest = (0..distances.len()).max_by(|&a, &b| distances[a].total_cmp(&distances[b]).then(b.cmp(&a)));
    let mut described = json!({"index": index, "type": native.ty().to_string(), "differing": differing});
    if let Some(at) = largest.filter(|_| differing > 0) {
        described["largest"] = json!({
            "index": index_of(native.ty(), at),
            "device": element(device, at),
            "native": element(native, at),
            "difference": finite(distances[at]),
            "ulps": ulps(distances[at], native, at)?,
        });
    }
    Ok(described)
}

/// JSON has no infinity: null.
fn finite(x: f64) -> Value {
    if x.is_finite() { x.into() } else { Value::Null }
}
