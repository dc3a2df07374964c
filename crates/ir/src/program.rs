//! The program: the canonical form of the operations reachable from a list of roots. Operations are in post-order and
//! refer to their operands by *position*; parameters are numbered by first use, outputs are positions, and scalars are
//! left out as slots. A program contains no tensors, node ids or addresses, so that equal work has equal encodings.
//!
//! The words of one value, in order: `op << 16 | dtype << 8`; the number of its shape (a new shape is followed by its
//! rank and dimensions); then for operations, the number of operands if it varies, the positions of the operands, the
//! number of attributes and the attributes if the operation has any, and the digests of the applied bodies. The last
//! value is followed by [`END`], then the outputs.

use super::attributes::{Attributes, Words, decode};
use super::chain;
use super::labels::{Labels, Renaming};
use super::op::Op;
use base::label::Label;
use base::types::Encoding;
use base::types::{DType, Dims, Scalar, TensorType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// Marks the end of the values.
pub(super) const END: u32 = u32::MAX;

/// A program in canonical form. Labels are beside it: programs that differ in labels only are equal.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) encoding: Encoding,
    /// Distinct traced computations that the program applies, in the order of first use.
    pub(super) bodies: Vec<Arc<Body>>,
    /// Labels of the values, by position.
    pub(super) labels: Labels,
    /// Labels of the outputs, once they were asked for.
    pub(super) output_labels: OnceLock<Arc<[Label]>>,
}

impl PartialEq for Program {
    fn eq(&self, other: &Program) -> bool {
        self.encoding == other.encoding && self.bodies == other.bodies
    }
}

impl Eq for Program {}

/// Positions of the operands of an instruction.
pub type Positions = SmallVec<[usize; 3]>;

/// One decoded value of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Operation that computes the value; a leaf is a parameter.
    pub op: Op,
    /// Dtype and shape.
    pub ty: TensorType,
    /// Positions of the operands.
    pub operands: Positions,
    /// Encoded attributes.
    pub words: Words,
    /// Traced computations that the operation applies.
    pub bodies: Vec<Arc<Body>>,
    /// Label under which the operation was recorded.
    pub label: Label,
}

impl Instruction {
    /// Returns the number of operations in the longest chain that a compiler may fuse and that ends with this value,
    /// which counts as a number of operations. `before` are the lengths of the values before it.
    pub fn chain(&self, before: &[usize], operations: usize) -> usize {
        let inside = || self.bodies.iter().map(|body| body.chain()).max().unwrap_or(0);
        chain::length(self.op, &self.operands, before, operations, inside)
    }

    /// Attributes of the operation.
    pub fn attributes<A: Attributes>(&self) -> A {
        decode(&self.words)
    }
}

impl Program {
    /// Canonical encoding.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Words of the canonical encoding.
    pub fn words(&self) -> &[u32] {
        self.encoding.words()
    }

    /// Distinct traced computations that the program applies, in the order of first use.
    pub fn bodies(&self) -> &[Arc<Body>] {
        &self.bodies
    }

    /// Nesting depth of the applied computations: 0 if there are none.
    pub fn depth(&self) -> usize {
        self.bodies.iter().map(|body| body.depth).max().unwrap_or(0)
    }

    /// The program under other labels. The bodies keep theirs.
    pub fn renamed(&self, renaming: &Renaming) -> Program {
        let labels = self.labels.renamed(renaming);
        Program { encoding: self.encoding.clone(), bodies: self.bodies.clone(), labels, output_labels: OnceLock::new() }
    }

    /// The names that all labels of its operations begin with.
    pub fn common_label(&self) -> Label {
        self.labels.common()
    }

    /// Label of the operation whose result an output is. Decodes the program once, if it has labels.
    pub fn label_of_output(&self, index: usize) -> Label {
        if self.labels.is_empty() {
            return Label::NONE;
        }
        let labels = self.output_labels.get_or_init(|| {
            let (values, outputs) = self.decode();
            outputs.iter().map(|&output| values[output].label).collect()
        });
        labels.get(index).copied().unwrap_or_default()
    }

    /// Does what [`Program::label_of_output`] does, for all outputs. Decodes the program.
    pub fn labels_of_outputs(&self) -> Vec<Label> {
        let (values, outputs) = self.decode();
        outputs.iter().map(|&output| values[output].label).collect()
    }

    /// The kernels that it calls, itself or in bodies.
    pub fn kernels(&self) -> Kernels {
        self.bodies.iter().fold(Kernels::default(), |all, body| all.and(body.kernels))
    }

    /// Whether the program calls a kernel with effects, itself or in a body that it applies.
    pub fn has_effects(&self) -> bool {
        let kernels = self.kernels();
        kernels.effects || kernels.any && self.decode().0.iter().any(calls_effect)
    }

    /// The program with bodies that keep no kernel alive: to be compared with others, not to be run.
    pub fn without_kernels(&self) -> Program {
        self.released(&mut FxHashMap::default())
    }

    /// `done` maps the digests of bodies to those without kernels.
    fn released(&self, done: &mut FxHashMap<[u32; DIGEST_WORDS], Arc<Body>>) -> Program {
        let bodies = self.bodies.iter().map(|body| body.released(done)).collect();
        Program { encoding: self.encoding.clone(), bodies, labels: self.labels.clone(), output_labels: OnceLock::new() }
    }

    /// Type of the parameter at an index. Decodes the program.
    pub fn parameter(&self, index: usize) -> TensorType {
        let (values, _) = self.decode();
        let mut parameters = values.into_iter().filter(|value| value.op == Op::Leaf);
        parameters.nth(index).expect("a parameter of the program").ty
    }

    /// Upper bound on the memory that [`Program::decode`] takes. An instruction has at least 3 words.
    pub fn decoded_bytes(&self) -> usize {
        self.words().len().saturating_mul(DECODED_BYTES)
    }

    /// Returns the values in order, and the positions of the outputs.
    pub fn decode(&self) -> (Vec<Instruction>, Vec<usize>) {
        let mut reader = Reader { program: self, at: 0, shapes: Vec::new() };
        let mut values = Vec::new();
        while reader.peek() != END {
            let label = self.labels.at(values.len() as u32);
            values.push(reader.instruction(label));
        }
        let outputs = self.words()[reader.at + 1..].iter().map(|&w| w as usize).collect();
        (values, outputs)
    }
}

/// Memory of a decoded program for each of its words: an instruction in a list of instructions that grows.
pub(super) const DECODED_BYTES: usize = 2 * size_of::<Instruction>() / 3 + 1;

struct Reader<'a> {
    program: &'a Program,
    at: usize,
    shapes: Vec<Dims>,
}

impl Reader<'_> {
    fn peek(&self) -> u32 {
        self.program.words()[self.at]
    }

    fn word(&mut self) -> u32 {
        self.at += 1;
        self.program.words()[self.at - 1]
    }

    fn wide(&mut self) -> i64 {
        let low = self.word();
        i64::from(self.word() as i32) << 32 | i64::from(low)
    }

    fn instruction(&mut self, label: Label) -> Instruction {
        let head = self.word();
        let op = Op::from_code(head >> 16).expect("the encoder writes known operations");
        let dtype = DType::from_number((head >> 8 & 0xFF) as i32).expect("the encoder writes known dtypes");
        let shape = self.word() as usize;
        if shape == self.shapes.len() {
            let rank = self.word();
            let dims = (0..rank).map(|_| self.wide()).collect();
            self.shapes.push(dims);
        }
        let arity = op.arity().unwrap_or_else(|| self.word() as usize);
        let operands = (0..arity).map(|_| self.word() as usize).collect();
        let count = if op.has_attributes() { self.word() } else { 0 };
        let words: Words = (0..count).map(|_| self.wide()).collect();
        let bodies = (0..op.body_count(&words)).map(|_| self.body()).collect();
        let ty = TensorType { dtype, dims: self.shapes[shape].clone() };
        Instruction { op, ty, operands, words, bodies, label }
    }

    fn body(&mut self) -> Arc<Body> {
        let digest = &self.program.words()[self.at..self.at + DIGEST_WORDS];
        self.at += DIGEST_WORDS;
        let found = self.program.bodies.iter().find(|body| body.digest() == digest);
        found.expect("a program holds the bodies that its words name").clone()
    }
}

/// Number of words of a digest.
pub const DIGEST_WORDS: usize = 8;

/// Body of a traced computation: a program whose parameters are placeholders and captures, and whose scalars are
/// constants. Bodies are compared by digest, the blake3 hash of their content, which also represents them in the
/// encodings of the programs that apply them.
#[derive(Debug)]
pub struct Body {
    program: Program,
    scalars: Vec<Scalar>,
    parameters: Vec<TensorType>,
    explicit: usize,
    results: Vec<TensorType>,
    passed_through: Vec<Option<usize>>,
    digest: [u32; DIGEST_WORDS],
    weight: usize,
    chain: usize,
    depth: usize,
    has_collectives: bool,
    has_shardings: bool,
    kernels: Kernels,
    /// Object that the body keeps alive: the kernel of an [`Op::Kernel`].
    held: Option<Held>,
}

/// Object that a body keeps alive.
pub type Held = Arc<dyn Any + Send + Sync>;

/// The kernels of a program or a body, and of the bodies that it applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kernels {
    /// Whether there are any.
    pub any: bool,
    /// Whether one has no name that another process can know.
    pub unnamed: bool,
    /// Whether one has effects.
    pub effects: bool,
}

/// Whether an instruction itself calls a kernel with effects.
fn calls_effect(value: &Instruction) -> bool {
    value.op == Op::Kernel && value.words[0] == 1
}

impl Kernels {
    fn and(self, other: Kernels) -> Kernels {
        Kernels {
            any: self.any || other.any,
            unnamed: self.unnamed || other.unnamed,
            effects: self.effects || other.effects,
        }
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Body) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Body {}

impl Hash for Body {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

impl Body {
    /// Creates a body from a program with `explicit` parameters, followed by captures.
    pub fn new(program: Program, scalars: Vec<Scalar>, explicit: usize) -> Body {
        let (values, outputs) = program.decode();
        let leaves: Vec<usize> = (0..values.len()).filter(|&i| values[i].op == Op::Leaf).collect();
        // Repeatedly applying the previous body twice grows the number of operations exponentially, beyond the range of
        // usize.
        let within =
            values.iter().flat_map(|value| &value.bodies).fold(0usize, |sum, body| sum.saturating_add(body.weight));
        // Collectives in the body of a `ShardMap` do not count.
        let applied = |value: &Instruction, has: fn(&Body) -> bool| value.bodies.iter().any(|body| has(body));
        let is_collective = |value: &Instruction| {
            value.op.is_collective() || value.op != Op::ShardMap && applied(value, Body::has_collectives)
        };
        let is_sharding = |value: &Instruction| value.op.is_sharding() || applied(value, Body::has_shardings);
        let effects = values.iter().any(calls_effect);
        Body {
            kernels: program.kernels().and(Kernels { effects, ..Kernels::default() }),
            held: None,
            has_collectives: values.iter().any(is_collective),
            has_shardings: values.iter().any(is_sharding),
            parameters: leaves.iter().map(|&i| values[i].ty.clone()).collect(),
            explicit,
            results: outputs.iter().map(|&i| values[i].ty.clone()).collect(),
            passed_through: outputs.iter().map(|output| leaves.binary_search(output).ok()).collect(),
            digest: digest(&program, &scalars, explicit),
            weight: (values.len() - leaves.len()).saturating_add(within),
            chain: longest_chain(&values, &outputs),
            depth: program.depth() + 1,
            program,
            scalars,
        }
    }

    /// Makes a new body keep a kernel alive. `unnamed` says that no other process can know the kernel.
    pub fn holding(body: Arc<Body>, held: Held, unnamed: bool) -> Arc<Body> {
        let mut body = Arc::into_inner(body).expect("a new body has one reference");
        body.kernels = Kernels { any: true, unnamed, effects: false };
        body.held = Some(held);
        Arc::new(body)
    }

    /// The body without the kernels that it and its bodies keep alive. `done` has those that were made before.
    fn released(self: &Arc<Body>, done: &mut FxHashMap<[u32; DIGEST_WORDS], Arc<Body>>) -> Arc<Body> {
        if !self.kernels.any {
            return self.clone();
        }
        if let Some(body) = done.get(&self.digest) {
            return body.clone();
        }
        let program = self.program.released(done);
        let body = Arc::new(Body {
            program,
            scalars: self.scalars.clone(),
            parameters: self.parameters.clone(),
            results: self.results.clone(),
            passed_through: self.passed_through.clone(),
            held: None,
            ..**self
        });
        done.insert(self.digest, body.clone());
        body
    }

    /// Object that the body keeps alive.
    pub fn held(&self) -> Option<&Held> {
        self.held.as_ref()
    }

    /// The kernels that it calls, itself or in bodies.
    pub fn kernels(&self) -> Kernels {
        self.kernels
    }

    /// Program of the body. Its parameters are the explicit parameters, followed by the captures.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Constants in the program's scalar slots.
    pub fn scalars(&self) -> &[Scalar] {
        &self.scalars
    }

    /// Returns the values in order, and the positions of the results.
    pub fn decode(&self) -> (Vec<Instruction>, Vec<usize>) {
        self.program.decode()
    }

    /// Types of the explicit parameters.
    pub fn parameters(&self) -> &[TensorType] {
        &self.parameters[..self.explicit]
    }

    /// Types of the captures, which are passed after the explicit parameters.
    pub fn captures(&self) -> &[TensorType] {
        &self.parameters[self.explicit..]
    }

    /// Types of the results.
    pub fn results(&self) -> &[TensorType] {
        &self.results
    }

    /// Index of the parameter (explicit or captured) that a result returns unchanged, if it does.
    pub fn passed_through(&self, result: usize) -> Option<usize> {
        self.passed_through[result]
    }

    /// blake3 hash of the body's content.
    pub fn digest(&self) -> &[u32] {
        &self.digest
    }

    /// Name of the body's function: a prefix of its digest.
    pub fn name(&self) -> String {
        format!("body_{:08x}{:08x}{:08x}", self.digest[0], self.digest[1], self.digest[2])
    }

    /// Nesting depth of computations, including this one: at least 1.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the body contains a collective, or applies a body with one other than by [`Op::ShardMap`]. Such a body
    /// can only be applied by one device of a mesh.
    pub fn has_collectives(&self) -> bool {
        self.has_collectives
    }

    /// Whether the body, or one that it applies, has a sharding constraint or a [`Op::ShardMap`].
    pub fn has_shardings(&self) -> bool {
        self.has_shardings
    }

    /// Number of operations, including those of applied bodies.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Number of operations in the longest chain that a compiler may fuse and that ends with a result.
    pub fn chain(&self) -> usize {
        self.chain
    }
}

/// Returns the number of operations in the longest chain that ends with one of the values at `results`.
fn longest_chain(values: &[Instruction], results: &[usize]) -> usize {
    let mut lengths = Vec::with_capacity(values.len());
    for value in values {
        lengths.push(value.chain(&lengths, 1));
    }
    results.iter().map(|&result| lengths[result]).max().unwrap_or(0)
}

impl Drop for Body {
    /// Drops nested bodies iteratively, so that deep nesting cannot overflow the stack.
    fn drop(&mut self) {
        let mut ending = std::mem::take(&mut self.program.bodies);
        while let Some(body) = ending.pop() {
            if let Some(mut last) = Arc::into_inner(body) {
                ending.append(&mut last.program.bodies);
            }
        }
    }
}

fn digest(program: &Program, scalars: &[Scalar], explicit: usize) -> [u32; DIGEST_WORDS] {
    let mut hasher = blake3::Hasher::new();
    let words = program.words();
    hasher.update(&(explicit as u64).to_le_bytes());
    hasher.update(&(words.len() as u64).to_le_bytes());
    let mut bytes = [0; 4 * 256];
    for words in words.chunks(256) {
        for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        hasher.update(&bytes[..4 * words.len()]);
    }
    for scalar in scalars {
        hasher.update(&[scalar.dtype() as u8]);
        hasher.update(&scalar.bits().to_le_bytes());
    }
    let hash = hasher.finalize();
    let mut digest = [0; DIGEST_WORDS];
    for (word, bytes) in digest.iter_mut().zip(hash.as_bytes().chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
    }
    digest
}
