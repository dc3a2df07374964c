//! Reverse mode: propagates cotangents from outputs to inputs over the nodes of a trace.

use super::Transformer;
use super::site::{backward, of_node};
use base::allocation::probe;
use base::error::Result;
use base::label::{GRADIENT, Label};
use ir::{BinaryOp, NodeId, Op, Trace};
use ops::control;
use ops::elementwise;
use ops::passes_tangents;
use ops::rules::{Nodes, Tangent, is_differentiable};
use ops::tangents::{add_tangents, sum_dtype};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::{SmallVec, smallvec};

/// Cotangents that arrived at one node.
type Arrived = SmallVec<[NodeId; 2]>;

/// Records the cotangents of `inputs`, given those of `outputs` (pairs of a node and its cotangent). `None` for an
/// input on which no output depends, and for integers and pred. If an input depends on another one, the cotangent of
/// the latter includes the path through the former.
pub fn pull_back(
    transformer: &Transformer,
    trace: &mut Trace,
    outputs: &[(NodeId, NodeId)],
    inputs: &[NodeId],
) -> Result<Vec<Option<NodeId>>> {
    let first = inputs.iter().map(|id| id.0).min().unwrap_or(0);
    pull_back_since(transformer, trace, outputs, inputs, first)
}

/// Like [`pull_back`], but only through nodes with an id of at least `first`. Inputs before `first` get their
/// cotangents, and propagation ends there: a path from one of them to another is not followed.
pub fn pull_back_since(
    transformer: &Transformer,
    trace: &mut Trace,
    outputs: &[(NodeId, NodeId)],
    inputs: &[NodeId],
    first: u32,
) -> Result<Vec<Option<NodeId>>> {
    let varying: Vec<NodeId> =
        inputs.iter().copied().filter(|&input| is_differentiable(trace.node(input).dtype)).collect();
    let mut pass = Pass::new(trace, outputs, &varying, first)?;
    let outer = trace.label();
    for id in (first..pass.end).rev() {
        trace.check_room()?;
        if trace.has_labels() {
            trace.set_label(label_of_gradient(trace.label_of(NodeId(id))).or(outer));
        }
        let Some((results, cotangents)) = pass.arrived_at(trace, NodeId(id))? else { continue };
        let mut site = of_node(transformer, trace, NodeId(id), results);
        let operands = Nodes::from_slice(&site.operands);
        let wanted: SmallVec<[bool; 4]> = operands.iter().map(|&operand| pass.reaches(operand)).collect();
        if !wanted.contains(&true) {
            continue;
        }
        for operand in site.operands.iter_mut() {
            *operand = control::before_waiting(site.trace, *operand);
        }
        let gradients = backward(&mut site, &cotangents, &wanted)?;
        for (&operand, gradient) in operands.iter().zip(gradients) {
            if let Some(gradient) = gradient.filter(|_| pass.reaches(operand)) {
                debug_assert_eq!(
                    trace.ty(operand),
                    trace.ty(gradient),
                    "a cotangent of {:?}",
                    trace.node(NodeId(id)).op
                );
                pass.add(operand, gradient);
            }
        }
    }
    trace.set_label(outer);
    inputs.iter().map(|&input| pass.total(trace, input)).collect()
}

/// Label of the cotangents of an operation with this label.
fn label_of_gradient(label: Label) -> Label {
    if label.is_none() || label.name() == GRADIENT { label } else { label.child(GRADIENT).unwrap_or(label) }
}

/// Role of a node in a pass.
#[derive(Clone, Copy, Default)]
struct Mark {
    is_input: bool,
    /// Whether a tangent of an input reaches the node.
    is_reached: bool,
}

/// One pass from outputs to inputs. Nodes are visited in descending order of their ids. Operands are recorded before
/// their users, so this is a reverse topological order: all cotangents of a node have arrived when it is visited. Nodes
/// that rules record have ids of at least `end`, or are appended results, and are not visited.
struct Pass<'a> {
    inputs: &'a [NodeId],
    first: u32,
    end: u32,
    /// One mark for each node from `first` to `end`.
    marks: Vec<Mark>,
    arrived: Vec<Arrived>,
    /// Cotangents that arrived at inputs before `first`.
    outside: FxHashMap<u32, Arrived>,
    /// Cotangents of results of applications, by the id of the application: index and node of the result, cotangent.
    of_results: FxHashMap<u32, Vec<(usize, NodeId, NodeId)>>,
    totals: FxHashMap<u32, NodeId>,
}

impl Pass<'_> {
    fn new<'a>(trace: &Trace, outputs: &[(NodeId, NodeId)], inputs: &'a [NodeId], first: u32) -> Result<Pass<'a>> {
        let end = outputs.iter().map(|(id, _)| id.0 + 1).max().unwrap_or(0).max(first);
        let count = (end - first) as usize;
        probe(count.saturating_mul(2 * size_of::<Arrived>()), "the cotangents of operations")?;
        let mut pass = Pass {
            inputs,
            first,
            end,
            marks: vec![Mark::default(); count],
            arrived: std::iter::repeat_with(Arrived::new).take(count).collect(),
            outside: FxHashMap::default(),
            of_results: FxHashMap::default(),
            totals: FxHashMap::with_capacity_and_hasher(inputs.len(), FxBuildHasher),
        };
        for &input in inputs.iter().filter(|input| (first..end).contains(&input.0)) {
            pass.marks[(input.0 - first) as usize] = Mark { is_input: true, is_reached: true };
        }
        for id in first..end {
            let node = trace.node(NodeId(id));
            let operands = trace.operands(node);
            let at = (id - first) as usize;
            pass.marks[at].is_reached |=
                operands.iter().any(|&operand| pass.reaches(operand)) && passes_tangents(node.op, node.dtype);
        }
        for &(output, cotangent) in outputs {
            if pass.reaches(output) {
                pass.add(output, cotangent);
            }
        }
        Ok(pass)
    }

    /// Whether a tangent of an input reaches the node.
    fn reaches(&self, id: NodeId) -> bool {
        match id.0.checked_sub(self.first) {
            Some(at) => self.marks.get(at as usize).is_some_and(|mark| mark.is_reached),
            None => self.inputs.contains(&id),
        }
    }

    fn add(&mut self, id: NodeId, cotangent: NodeId) {
        match id.0.checked_sub(self.first) {
            Some(at) => self.arrived[at as usize].push(cotangent),
            None => self.outside.entry(id.0).or_default().push(cotangent),
        }
    }

    /// Removes the cotangents that arrived at a node, and returns the results and cotangents of its operation. `None`
    /// if no cotangent arrived, or if the node is a leaf or a result of an application; the cotangent of such a result
    /// is stored for its application, which has a smaller id and is visited later.
    fn arrived_at(&mut self, trace: &mut Trace, node: NodeId) -> Result<Option<Results>> {
        let op = trace.node(node).op;
        if op.has_results() {
            return self.of_results.remove(&node.0).map(|found| listed(trace, &found)).transpose();
        }
        let at = (node.0 - self.first) as usize;
        let terms = std::mem::take(&mut self.arrived[at]);
        if terms.is_empty() {
            return Ok(None);
        }
        let total = accumulated(trace, &terms)?;
        if self.marks[at].is_input {
            self.totals.insert(node.0, total);
        }
        if op == Op::Result {
            let found = *trace.node(node);
            let (application, number) = (trace.operands(&found)[0], trace.attributes(&found));
            self.of_results.entry(application.0).or_default().push((number, node, total));
        }
        let is_operation = !matches!(op, Op::Leaf | Op::Result);
        Ok(is_operation.then(|| (smallvec![Some(node)], smallvec![Some(total)])))
    }

    fn total(&mut self, trace: &mut Trace, input: NodeId) -> Result<Option<NodeId>> {
        if let Some(terms) = self.outside.remove(&input.0) {
            let total = accumulated(trace, &terms)?;
            self.totals.insert(input.0, total);
        }
        Ok(self.totals.get(&input.0).copied())
    }
}

/// Results of an operation, and their cotangents.
type Results = (SmallVec<[Tangent; 1]>, SmallVec<[Tangent; 1]>);

/// Returns the results of an application and their cotangents as lists by index. A result may have several nodes.
fn listed(trace: &mut Trace, found: &[(usize, NodeId, NodeId)]) -> Result<Results> {
    let count = found.iter().map(|(number, ..)| number + 1).max().unwrap_or(0);
    let (mut results, mut cotangents) = (SmallVec::from_elem(None, count), SmallVec::from_elem(None, count));
    for &(number, node, cotangent) in found {
        results[number] = Some(node);
        cotangents[number] = add_tangents(trace, cotangents[number], Some(cotangent))?;
    }
    Ok((results, cotangents))
}

/// Records the sum of cotangents; more than two 8-bit or 16-bit floats are summed in f32.
fn accumulated(trace: &mut Trace, terms: &[NodeId]) -> Result<NodeId> {
    let dtype = trace.node(terms[0]).dtype;
    let wide = if terms.len() > 2 { sum_dtype(dtype) } else { dtype };
    let mut total = elementwise::convert(trace, terms[0], wide);
    for &term in &terms[1..] {
        let term = elementwise::convert(trace, term, wide);
        total = elementwise::binary(trace, BinaryOp::Add, total, term)?;
    }
    Ok(elementwise::convert(trace, total, dtype))
}
