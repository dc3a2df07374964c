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

#[cfg(test)]
mod tests {
    use super::super::members::{BinaryOp, ReduceOp, UnaryOp};
    use super::*;
    use crate::device_data::{DeviceData, State};
    use crate::ops::{elementwise, reduction, shape};
    use crate::types::{DType, ScalarValue, TensorType};

    fn leaf(trace: &mut Trace, dims: &[i64]) -> NodeId {
        trace.parameter(TensorType::new(DType::F32, dims))
    }

    fn programs(trace: &Trace, roots: &[NodeId], max_ops: usize) -> Vec<Segment> {
        Workspace::default().linearize(trace, roots).segments(trace, max_ops)
    }

    #[test]
    fn decoding_gives_back_what_was_recorded() {
        let mut t = Trace::new();
        let (a, b) = (leaf(&mut t, &[2, 3]), leaf(&mut t, &[3]));
        let sum = elementwise::binary(&mut t, BinaryOp::Add, a, b).unwrap();
        let half = elementwise::binary_scalar(&mut t, BinaryOp::Multiply, sum, ScalarValue::Float(0.5), false).unwrap();
        let cat = shape::concatenate(&mut t, &[half, a, sum, a], -2).unwrap();
        let total = reduction::reduce(&mut t, ReduceOp::Sum, cat, &[0], false).unwrap();
        let segments = programs(&t, &[sum, total], 100);
        assert_eq!(segments.len(), 1);
        let (values, outputs) = segments[0].program.decode();
        let names: Vec<String> = values.iter().map(|v| format!("{:?} {} {:?}", v.op, v.ty, v.operands)).collect();
        assert_eq!(
            names,
            [
                "Leaf f32[2,3] []",
                "Leaf f32[3] []",
                "Binary(Add) f32[2,3] [0, 1]",
                "BinaryScalar(Multiply) f32[2,3] [2]",
                "Concatenate f32[8,3] [3, 0, 2, 0]",
                "Reduce(Sum) f32[3] [4]",
            ]
        );
        assert_eq!(values[5].attributes::<reduction::ReduceAttributes>().axes.to_vec(), [0]);
        assert_eq!(outputs, [2, 5]);
        assert_eq!(segments[0].parameters, [a, b]);
        assert_eq!(segments[0].scalars.len(), 1);
    }

    #[test]
    fn k3_wiring_is_in_the_words() {
        let program = |second: usize, third: usize| {
            let mut t = Trace::new();
            let leaves = [leaf(&mut t, &[2]), leaf(&mut t, &[2]), leaf(&mut t, &[2])];
            let all = shape::concatenate(&mut t, &leaves, 0).unwrap();
            let product = elementwise::binary(&mut t, BinaryOp::Multiply, leaves[0], leaves[second]).unwrap();
            let sum = elementwise::binary(&mut t, BinaryOp::Add, product, leaves[third]).unwrap();
            programs(&t, &[all, sum], 100).remove(0).program
        };
        assert_ne!(program(1, 2), program(2, 1));
        assert_eq!(program(1, 2), program(1, 2));
    }

    #[test]
    fn scalars_leave_holes() {
        let program = |value: f64| {
            let mut t = Trace::new();
            let a = leaf(&mut t, &[2]);
            let x = elementwise::binary_scalar(&mut t, BinaryOp::Add, a, ScalarValue::Float(value), true).unwrap();
            let segment = programs(&t, &[x], 100).remove(0);
            (segment.program, t.scalars_at(&segment.scalars))
        };
        assert_eq!(program(1.0).0, program(2.0).0);
        assert_ne!(program(1.0).1, program(2.0).1);
    }

    #[test]
    fn a_long_chain_is_cut_into_equal_programs() {
        let mut t = Trace::new();
        let mut x = leaf(&mut t, &[2]);
        for _ in 0..100_000 {
            x = elementwise::unary(&mut t, UnaryOp::Tanh, x).unwrap();
        }
        let segments = programs(&t, &[x], 1000);
        assert_eq!(segments.len(), 100);
        for pair in segments.windows(2) {
            assert_eq!(pair[0].program, pair[1].program);
            assert_eq!(pair[0].outputs, pair[1].parameters);
        }
        assert_eq!(segments[99].outputs, [x]);
    }

    #[test]
    fn a_value_that_skips_segments_stays_an_output_of_its_own() {
        let mut t = Trace::new();
        let a = leaf(&mut t, &[2]);
        let early = elementwise::unary(&mut t, UnaryOp::Tanh, a).unwrap();
        let mut x = early;
        for _ in 0..5 {
            x = elementwise::unary(&mut t, UnaryOp::Negate, x).unwrap();
        }
        let last = elementwise::binary(&mut t, BinaryOp::Add, x, early).unwrap();
        let segments = programs(&t, &[last], 2);
        assert_eq!(segments.len(), 4);
        assert!(segments[0].outputs.contains(&early));
        assert!(segments[3].parameters.contains(&early));
    }

    #[test]
    fn results_are_found_behind_one_that_a_sync_settled() {
        let mut t = Trace::new();
        let x = leaf(&mut t, &[2]);
        let types = vec![TensorType::new(DType::F32, &[2]); 3];
        let results = t.application(Op::OptimizationBarrier, &[x, x, x], &(), &[], &types);
        let _ = t.replace_by_leaf(results[0], DeviceData::new(types[0].clone(), State::Placeholder));
        let sum = elementwise::binary(&mut t, BinaryOp::Add, results[1], results[2]).unwrap();
        let negated = elementwise::unary(&mut t, UnaryOp::Negate, sum).unwrap();
        let segments = programs(&t, &[negated], 3);
        assert_eq!(segments.iter().map(|s| s.parameters.len()).collect::<Vec<_>>(), [1, 2]);
    }
}
