//! The scheme of a sync: the programs that compute a trace's held operations, where their arguments come from, and the
//! donors. A scheme has no data. It follows from the operations of the trace, from which of them are held, and from
//! which leaves may be donated, so that a later sync of an equal trace can use it again (see `caches/planner.rs`).

use super::donors::{self, BufferType};
use super::labels::Renaming;
use super::linear::{Linear, Segment};
use super::op::Op;
use super::program::Program;
use super::trace::{NONE, NodeId, Trace};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Source of an argument of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Data of the trace's leaf with this number.
    Leaf(usize),
    /// Output of an earlier stage of the same scheme, by number.
    Made(usize),
}

/// One program to run.
#[derive(Clone)]
pub struct Stage {
    /// Program in canonical form.
    pub program: Arc<Program>,
    /// For each scalar slot, the index of the scalar in the trace.
    pub scalars: Vec<u32>,
    /// Sources of the arguments, in parameter order.
    pub arguments: Vec<Source>,
    /// Indices of the arguments that the run may consume, ascending. Part of the cache key.
    pub donors: Vec<usize>,
    /// Number of tensor arguments without later uses whose memory no output can reuse. They are freed with the plan.
    pub spare: usize,
    /// Number of the stage's first output among all outputs of the scheme.
    pub first_output: usize,
    /// Numbers of outputs of earlier stages that are not needed after this stage.
    pub last_uses: Vec<usize>,
}

/// Stages of one sync, and the values that they compute.
#[derive(Clone)]
pub struct Scheme {
    /// Stages, in execution order.
    pub stages: Vec<Arc<Stage>>,
    /// Nodes of all stages' outputs, by number.
    pub outputs: Vec<NodeId>,
    /// Held operations that the scheme computes, each with the number of its output.
    pub roots: Vec<(NodeId, usize)>,
    /// Total size of all outputs in bytes.
    pub output_bytes: u64,
    /// Number of operations that a partial sync has already run before.
    pub recomputed: u64,
    /// Operations of the stages whose results are not kept, if others stay pending: a later sync that needs one of them
    /// computes it again.
    pub passed: Vec<NodeId>,
    /// Number of operations that stay pending after a read, although they can be computed.
    pub left: usize,
    /// For each leaf of the trace, whether it might be donated when the scheme was made. A leaf without data, or one
    /// that no stage reads, might not.
    pub donatable: Vec<bool>,
}

impl Scheme {
    /// The scheme of an equal trace whose labels were renamed.
    pub fn renamed(&self, renaming: &Renaming) -> Scheme {
        let stage = |stage: &Arc<Stage>| {
            Arc::new(Stage { program: Arc::new(stage.program.renamed(renaming)), ..Stage::clone(stage) })
        };
        Scheme { stages: self.stages.iter().map(stage).collect(), ..self.clone() }
    }

    /// Scheme of the computation of `linear`. `may_donate` returns whether nothing needs the data of a leaf, by number,
    /// after the whole scheme; last uses between the stages are determined here.
    pub fn of(trace: &Trace, linear: Linear, max_ops: usize, may_donate: impl Fn(usize) -> bool) -> Scheme {
        let recomputed = linear.order().iter().filter(|&&id| trace.node(id).computed).count() as u64;
        let segments = linear.segments(trace, max_ops);
        let mut making = Making::of(&segments);
        let mut scheme = Scheme {
            stages: Vec::with_capacity(segments.len()),
            outputs: Vec::new(),
            roots: Vec::new(),
            output_bytes: 0,
            recomputed,
            passed: Vec::new(),
            left: 0,
            donatable: vec![false; trace.leaves().len()],
        };
        for (number, segment) in segments.into_iter().enumerate() {
            making.add(&mut scheme, trace, number, segment, &may_donate);
        }
        scheme
    }
}

/// Values that are passed between the stages of a scheme that is being made. Empty if there is only one stage.
struct Making {
    is_single: bool,
    /// Number of each node that is an output so far.
    numbers: FxHashMap<u32, usize>,
    /// Last stage that reads each node.
    last_use: FxHashMap<u32, usize>,
}

impl Making {
    fn of(segments: &[Segment]) -> Making {
        let mut last_use = FxHashMap::default();
        if segments.len() > 1 {
            for (number, segment) in segments.iter().enumerate() {
                last_use.extend(segment.parameters.iter().map(|id| (id.0, number)));
            }
        }
        Making { is_single: segments.len() == 1, numbers: FxHashMap::default(), last_use }
    }

    fn add(
        &mut self,
        scheme: &mut Scheme,
        trace: &Trace,
        number: usize,
        segment: Segment,
        may_donate: impl Fn(usize) -> bool,
    ) {
        let mut stage = Stage {
            program: Arc::new(segment.program),
            scalars: segment.scalars,
            arguments: Vec::with_capacity(segment.parameters.len()),
            donors: Vec::new(),
            spare: 0,
            first_output: scheme.outputs.len(),
            last_uses: Vec::new(),
        };
        let mut candidates = Vec::new();
        for (index, &id) in segment.parameters.iter().enumerate() {
            let is_last = self.is_single || self.last_use[&id.0] == number;
            let node = trace.node(id);
            if node.op == Op::Leaf {
                let leaf = node.payload as usize;
                scheme.donatable[leaf] = may_donate(leaf);
                if is_last && scheme.donatable[leaf] {
                    candidates.push((index, BufferType::of(trace, id)));
                }
                stage.arguments.push(Source::Leaf(leaf));
            } else {
                let number = self.numbers[&id.0];
                // A root belongs to a tensor; any other value passed between stages is private to the scheme.
                if is_last && trace.holder(id) == NONE {
                    candidates.push((index, BufferType::of(trace, id)));
                    stage.last_uses.push(number);
                }
                stage.arguments.push(Source::Made(number));
            }
        }
        let outputs = segment.outputs.iter().map(|&id| BufferType::of(trace, id));
        scheme.output_bytes += outputs.clone().map(|output| output.bytes as u64).sum::<u64>();
        stage.donors = donors::useful(&candidates, outputs);
        let is_spare = |&&(index, _): &&(usize, BufferType)| {
            matches!(stage.arguments[index], Source::Leaf(_)) && stage.donors.binary_search(&index).is_err()
        };
        stage.spare = candidates.iter().filter(is_spare).count();
        for (offset, &id) in segment.outputs.iter().enumerate() {
            let number = stage.first_output + offset;
            if !self.is_single {
                self.numbers.insert(id.0, number);
            }
            if trace.holder(id) != NONE {
                scheme.roots.push((id, number));
            }
        }
        scheme.outputs.extend(segment.outputs);
        scheme.stages.push(Arc::new(stage));
    }
}
