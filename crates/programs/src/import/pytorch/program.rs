//! Imports a program: its parameters are the user's inputs, its weights are captured values with their names.

use super::arguments::{Scope, Value, dtype_of};
use super::errors::error_of;
use super::names::{Names, described, described_input, entry, user_tensors};
use super::recorder::Recorder;
use super::refusals::unsupported;
use super::sizes::{Bound, shown};
use super::tensors::TensorId;
use super::walk::walk;
use crate::import::program::{STACK, Wanted};
use base::error;
use base::error::{Result, quoted};
use base::stack::{MOST_DEPTH, with_stack};
use base::types::{Dims, TensorType, check_rank, element_count};
use ir::{Body, NodeId, take_closed_body};
use lazyxla_pytorch::{self as reader, Argument, Input, InputKind, OutputKind, Program, Size, Stored};
use native::Array;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// An imported program.
pub struct Imported {
    /// Recorded operations; the captured values are `constants`.
    pub body: Arc<Body>,
    /// Weights, buffers and constants, in the order of the file.
    pub constants: Vec<Array>,
    /// Names and kinds of parameters, captured values and results.
    pub names: Names,
}

/// Imports a program of an archive.
pub fn import(bytes: &[u8], wanted: &Wanted) -> Result<Imported> {
    let program = reader::read(bytes, wanted.function.as_deref()).map_err(error_of)?;
    if wanted.mesh.is_some() {
        return Err(error!(Unimplemented, "options.mesh: a program of PyTorch has no shardings"));
    }
    if let Some(e) = unsupported(&program.graph) {
        return Err(e);
    }
    with_stack(STACK, MOST_DEPTH, || Import::new(&program, bytes, wanted)?.finished())
}

/// A captured value: its tensor, and what it is called.
struct Captured<'p> {
    id: TensorId,
    leaf: NodeId,
    input: &'p Input,
}

struct Import<'p> {
    program: &'p Program,
    recorder: Recorder,
    scope: Scope<'p>,
    /// The user's inputs that are tensors.
    inputs: Vec<(TensorId, NodeId, &'p str)>,
    captured: Vec<Captured<'p>>,
    constants: Vec<Array>,
    /// Captured values by the places of their first elements.
    places: FxHashMap<(usize, i64), Vec<usize>>,
    /// Storages that were found to be undamaged.
    verified: FxHashSet<(usize, usize)>,
    /// Bytes of the captured values.
    size: usize,
}

/// Captured values may have this many times the bytes of the file, and [`MOST_BYTES`] in any case: tensors may share a
/// storage.
const MOST_TIMES: usize = 64;
const MOST_BYTES: usize = 1 << 20;

impl<'p> Import<'p> {
    /// Defines the inputs of the graph.
    fn new(program: &'p Program, bytes: &[u8], wanted: &Wanted) -> Result<Import<'p>> {
        let types = types_of(program, wanted)?;
        let (recorder, scope) = (Recorder::new(walk), Scope::default());
        let mut import = Import {
            program,
            recorder,
            scope,
            inputs: vec![],
            captured: vec![],
            constants: vec![],
            places: FxHashMap::default(),
            verified: FxHashSet::default(),
            size: 0,
        };
        let mut types = types.into_iter();
        for input in &program.inputs {
            match (input.kind, &input.argument) {
                (InputKind::User, Argument::Tensor(name)) => {
                    let Some(ty) = types.next() else { return Err(error!(Internal, "an input without a type")) };
                    let leaf = import.recorder.trace.parameter(ty);
                    let id = import.recorder.tensors.base(leaf);
                    import.inputs.push((id, leaf, name));
                    import.scope.insert(name, Value::Tensor(id));
                }
                (InputKind::User, Argument::SymInt(_) | Argument::SymFloat(_) | Argument::SymBool(_)) => {
                    return Err(error!(
                        Unimplemented,
                        "a number that changes is an input of the program; want tensors"
                    ));
                }
                // A number, a text or None: what the program does for it is in the graph.
                (InputKind::User | InputKind::Fixed, Argument::Other(kind)) => {
                    return Err(error!(Unimplemented, "an input of the kind {}", quoted(kind)));
                }
                (InputKind::User | InputKind::Fixed, argument) => {
                    let value = super::arguments::value_of(&import.scope, argument)?;
                    import.scope.insert(&input.name, value);
                }
                (_, Argument::Tensor(name)) => import.capture(input, name, bytes)?,
                _ => return Err(error!(InvalidArgument, "{} is not a tensor", quoted(&input.name))),
            }
        }
        Ok(import)
    }

    /// Defines a parameter, a buffer or a constant. Tied ones are one tensor.
    fn capture(&mut self, input: &'p Input, name: &'p str, bytes: &[u8]) -> Result<()> {
        let missing = || error!(InvalidArgument, "tensor {}: the archive lacks it", quoted(&input.name));
        let stored = self.program.stored.get(&input.name).ok_or_else(missing)?;
        let place = (stored.storage.start, stored.offset);
        let alike = self.places.get(&place).into_iter().flatten();
        let same = { alike }.find(|&&other| self.program.stored[&self.captured[other].input.name].is_same(stored));
        if let Some(&same) = same {
            self.scope.insert(name, Value::Tensor(self.captured[same].id));
            return Ok(());
        }
        let of = |e: error::Error| e.context(format_args!("tensor {}", quoted(&input.name)));
        if self.verified.insert((stored.storage.start, stored.storage.end)) {
            stored.verify(bytes).map_err(error_of).map_err(of)?;
        }
        let array = array_of(stored, bytes).map_err(of)?;
        self.size = self.size.saturating_add(array.size_bytes());
        if self.size > MOST_BYTES.max(bytes.len().saturating_mul(MOST_TIMES)) {
            let (size, file) = (self.size, bytes.len());
            return Err(of(error!(Unimplemented, "the tensors have {size} bytes or more, in a file of {file}")));
        }
        self.places.entry(place).or_default().push(self.captured.len());
        let leaf = self.recorder.trace.parameter(array.ty().clone());
        let id = self.recorder.tensors.base(leaf);
        self.scope.insert(name, Value::Tensor(id));
        self.captured.push(Captured { id, leaf, input });
        self.constants.push(array);
        Ok(())
    }

    /// Records the graph.
    fn finished(mut self) -> Result<Imported> {
        let outputs = self.recorder.graph(&self.program.graph, &mut self.scope)?;
        if outputs.len() != self.program.outputs.len() {
            let (stated, has) = (self.program.outputs.len(), outputs.len());
            return Err(error!(InvalidArgument, "the file describes {stated} outputs; the graph has {has}"));
        }
        let (mut results, mut names) = (Vec::new(), Vec::new());
        let mut updated: Vec<&str> = Vec::new();
        // The user's outputs first, then what the program changes.
        for is_change in [false, true] {
            for (output, value) in self.program.outputs.iter().zip(&outputs) {
                if matches!(output.kind, OutputKind::Changed(_)) != is_change {
                    continue;
                }
                // A number that is an output follows from sizes: it is not a tensor, and has no result.
                let id = match value {
                    Value::Tensor(id) => id,
                    Value::Absent(result) => {
                        return Err(error!(Unimplemented, "an output of the program is {result} of an operator"));
                    }
                    _ => continue,
                };
                results.push(self.recorder.read(*id)?);
                names.push(described(&output.kind, &output.argument));
                if let OutputKind::Changed(name) = &output.kind {
                    updated.push(name);
                }
            }
        }
        let captured = self.captured.iter().map(|captured| (captured.id, &*captured.input.name));
        let changed = captured.chain(self.inputs.iter().map(|&(id, _, name)| (id, name)));
        for (id, name) in changed {
            if self.recorder.tensors.writes(id) > 0 && !updated.contains(&name) {
                results.push(self.recorder.read(id)?);
                names.push(described(&OutputKind::Changed(name.to_string()), &Argument::None));
            }
        }
        if results.is_empty() {
            return Err(error!(InvalidArgument, "the program has no result that is a tensor"));
        }
        self.made(results, names)
    }

    fn made(self, results: Vec<NodeId>, of_results: Vec<Map<String, Json>>) -> Result<Imported> {
        let mut parameters: Vec<NodeId> = self.inputs.iter().map(|&(_, leaf, _)| leaf).collect();
        let of_input =
            |&(_, _, name): &(TensorId, NodeId, &str)| entry([("name", name.into()), ("kind", "input".into())]);
        let mut of_parameters: Vec<Map<String, Json>> = self.inputs.iter().map(of_input).collect();
        if let Some((key, _)) = self.recorder.key {
            parameters.push(key);
            of_parameters.push(entry([("name", "key".into()), ("kind", "key".into())]));
        }
        let leaves: Vec<NodeId> = self.captured.iter().map(|captured| captured.leaf).collect();
        let body = take_closed_body(&self.recorder.trace, &parameters, &leaves, &results)?;
        let of_captured = |captured: &Captured| described_input(self.program, captured.input);
        let captured = self.captured.iter().map(of_captured).collect();
        let names = Names { parameters: of_parameters, captured, results: of_results };
        Ok(Imported { body, constants: self.constants, names })
    }
}

/// The elements of a stored tensor.
fn array_of(stored: &Stored, bytes: &[u8]) -> Result<Array> {
    let ty = TensorType::new(dtype_of(stored.element), &stored.sizes);
    check_rank(&ty.dims)?;
    element_count(&ty.dims)?;
    Array::from_bytes(&ty, &stored.read(bytes))
}

/// Returns the types of the user's inputs: the file's, with the sizes that are given for free ones.
fn types_of(program: &Program, wanted: &Wanted) -> Result<Vec<TensorType>> {
    let listed: Vec<_> = user_tensors(program).collect();
    let is_tensor = |input: &&Input| matches!((input.kind, &input.argument), (InputKind::User, Argument::Tensor(_)));
    let count = program.inputs.iter().filter(is_tensor).count();
    if listed.len() != count {
        return Err(error!(InvalidArgument, "the file states types of {} of {count} inputs", listed.len()));
    }
    if let Some(shapes) = wanted.shapes.as_ref().filter(|shapes| shapes.len() != count) {
        let given = shapes.len();
        return Err(error!(InvalidArgument, "n_parameters: {given} given; the program has {count} inputs"));
    }
    let (mut bound, mut types, mut free) = (Bound::default(), Vec::new(), Vec::new());
    for (i, (name, dtype, sizes)) in listed.iter().enumerate() {
        let of = |e: error::Error| e.context(format_args!("parameter {i} ({})", quoted(name)));
        let dtype = dtype.ok_or_else(|| of(error!(Unimplemented, "its dtype is not known")))?;
        let fixed: Option<Dims> = sizes
            .iter()
            .map(|size| match size {
                Size::Fixed(size) => Some(*size),
                Size::Expression(_) => None,
            })
            .collect();
        let dims = match (&wanted.shapes, fixed) {
            (Some(shapes), _) => shapes[i].clone(),
            (None, Some(dims)) => dims,
            (None, None) => {
                let sizes: Vec<String> = sizes.iter().map(shown).collect();
                free.push(format!("parameter {i} ({}: {dtype}[{}])", quoted(name), sizes.join(",")));
                continue;
            }
        };
        if dims.len() != sizes.len() {
            return Err(of(error!(InvalidArgument, "rank {} given; want {}", dims.len(), sizes.len())));
        }
        for (axis, (size, &given)) in sizes.iter().zip(&dims).enumerate() {
            bound.bind(size, given).map_err(|e| of(e.context(format_args!("axis {axis}"))))?;
        }
        check_rank(&dims).and_then(|()| element_count(&dims)).map_err(of)?;
        types.push(TensorType { dtype, dims });
    }
    if !free.is_empty() {
        let free = free.join(", ");
        return Err(error!(InvalidArgument, "ranks, dims: none given; want the sizes of {free}"));
    }
    bound.check(&program.symbols)?;
    Ok(types)
}
