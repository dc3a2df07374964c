//! Linearizes a trace into programs: collects the operations that a list of roots needs in post-order, and splits them
//! if there are too many.

use super::encode::{Encoder, Tables};
use super::op::Op;
use super::program::Program;
use super::trace::{NodeId, Trace};
use rustc_hash::FxHashMap;

/// A program, and the nodes that one run of it reads and writes.
pub struct Segment {
    /// Program in canonical form.
    pub program: Program,
    /// Nodes of the parameters: leaves, or results of an earlier segment.
    pub parameters: Vec<NodeId>,
    /// Nodes of the outputs: roots, or values that a later segment needs.
    pub outputs: Vec<NodeId>,
    /// For each scalar slot, in the order of the operations, the index of the scalar in the trace.
    pub scalars: Vec<u32>,
}

/// The operations that a list of roots needs, in post-order.
pub struct Linear<'a> {
    workspace: &'a mut Workspace,
}

/// Memory that is reused from sync to sync.
#[derive(Default)]
pub struct Workspace {
    order: Vec<NodeId>,
    stack: Vec<(NodeId, u32)>,
    marks: Vec<Mark>,
    tables: Tables,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    visited: bool,
    output: bool,
    segment: u32,
}

impl Workspace {
    /// Upper bound on the memory of linearizing a trace.
    pub fn bytes(trace: &Trace) -> usize {
        trace.len().saturating_mul(size_of::<Mark>() + size_of::<NodeId>() + 2 * size_of::<(NodeId, u32)>())
    }

    /// Collects the operations that `roots` need in post-order: roots in order, operands left to right. Uses an
    /// explicit stack, so that chains of any length are possible.
    pub fn linearize(&mut self, trace: &Trace, roots: &[NodeId]) -> Linear<'_> {
        self.linearize_until(trace, roots, |_| false)
    }

    /// Like [`Workspace::linearize`], but nodes for which `is_given` returns true are treated as leaves.
    pub fn linearize_until(
        &mut self,
        trace: &Trace,
        roots: &[NodeId],
        is_given: impl Fn(NodeId) -> bool,
    ) -> Linear<'_> {
        self.order.clear();
        self.marks.clear();
        self.marks.resize(trace.len(), Mark::default());
        for &root in roots {
            self.marks[root.0 as usize].output = true;
            self.visit(trace, root, &is_given);
            while let Some((id, next)) = self.stack.last_mut() {
                let node = trace.node(*id);
                match trace.operands(node).get(*next as usize) {
                    Some(&operand) => {
                        *next += 1;
                        self.visit(trace, operand, &is_given);
                    }
                    None => {
                        self.order.push(*id);
                        self.stack.pop();
                    }
                }
            }
        }
        Linear { workspace: self }
    }

    #[inline]
    fn visit(&mut self, trace: &Trace, id: NodeId, is_given: impl Fn(NodeId) -> bool) {
        let mark = &mut self.marks[id.0 as usize];
        if !mark.visited {
            mark.visited = true;
            if trace.node(id).op != Op::Leaf && !is_given(id) {
                self.stack.push((id, 0));
            }
        }
    }
}

impl Linear<'_> {
    /// The operations in post-order.
    pub fn order(&self) -> &[NodeId] {
        &self.workspace.order
    }

    /// Splits the order into programs of at most `max_ops` operations, including those of applied bodies. The split
    /// depends only on the order, so that equal stretches become equal programs. An application is never separated from
    /// its results.
    pub fn segments(mut self, trace: &Trace, max_ops: usize) -> Vec<Segment> {
        let mut order = std::mem::take(&mut self.workspace.order);
        let total = order.iter().fold(0usize, |sum, &id| sum.saturating_add(weight(trace, id)));
        let mut cuts = vec![];
        if total > max_ops {
            order = with_results_together(trace, &order);
            cuts = cut(trace, &order, max_ops);
            mark_crossings(trace, &order, &cuts, &mut self.workspace.marks);
        }
        cuts.push(order.len());
        let mut start = 0;
        let mut segments = Vec::with_capacity(cuts.len());
        for end in cuts {
            if start < end {
                segments.push(self.encode(trace, &order[start..end]));
            }
            start = end;
        }
        self.workspace.order = order;
        segments
    }

    fn encode(&mut self, trace: &Trace, chunk: &[NodeId]) -> Segment {
        let workspace = &mut *self.workspace;
        let mut encoder = Encoder::new(trace, &mut workspace.tables, chunk.len());
        chunk.iter().for_each(|&id| encoder.operation(id));
        let outputs: Vec<NodeId> = chunk.iter().copied().filter(|id| workspace.marks[id.0 as usize].output).collect();
        let encoded = encoder.finish(&outputs);
        Segment { program: encoded.program, parameters: encoded.parameters, outputs, scalars: encoded.scalars }
    }
}

/// Number of operations for which a node counts.
fn weight(trace: &Trace, id: NodeId) -> usize {
    let node = trace.node(id);
    if node.op.has_results() {
        trace.bodies(node).fold(1usize, |sum, body| sum.saturating_add(body.weight()))
    } else {
        1
    }
}

/// Reorders the operations so that all results of an application in the order directly follow it.
fn with_results_together(trace: &Trace, order: &[NodeId]) -> Vec<NodeId> {
    let mut results: FxHashMap<u32, Vec<NodeId>> = FxHashMap::default();
    for &id in order.iter().filter(|id| trace.node(**id).op == Op::Result) {
        results.entry(trace.operands(trace.node(id))[0].0).or_default().push(id);
    }
    let mut together = Vec::with_capacity(order.len());
    for &id in order.iter().filter(|id| trace.node(**id).op != Op::Result) {
        together.push(id);
        if trace.node(id).op.has_results() {
            together.extend(results.remove(&id.0).unwrap_or_default());
        }
    }
    together
}

/// Ends of all segments except the last.
fn cut(trace: &Trace, order: &[NodeId], max_ops: usize) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut sum = 0;
    for (i, &id) in order.iter().enumerate() {
        let weight = weight(trace, id);
        if sum > 0 && weight.saturating_add(sum) > max_ops && trace.node(id).op != Op::Result {
            cuts.push(i);
            sum = 0;
        }
        sum = weight.saturating_add(sum);
    }
    cuts
}

/// Marks operations as outputs if a later segment needs their results.
fn mark_crossings(trace: &Trace, order: &[NodeId], cuts: &[usize], marks: &mut [Mark]) {
    let mut segment = 0;
    for (i, &id) in order.iter().enumerate() {
        if cuts.get(segment) == Some(&i) {
            segment += 1;
        }
        marks[id.0 as usize].segment = segment as u32;
        for operand in trace.operands(trace.node(id)) {
            let mark = &mut marks[operand.0 as usize];
            if mark.segment != segment as u32 && trace.node(*operand).op != Op::Leaf {
                mark.output = true;
            }
        }
    }
}
