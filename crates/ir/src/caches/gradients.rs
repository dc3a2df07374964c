//! Recognition of repeated gradients. A training loop takes the same gradients of the same operations in every step.
//! Gradients of a trace that equals an earlier one, except for the data of its leaves, are recorded by copying the
//! operations that were recorded then; no rule is applied. The whole trace is compared, dead nodes included, with the
//! values of its scalars, which rules may look at. The first difference makes the rules record again.

use super::copy::TraceCopy;
use crate::program::Body;
use crate::trace::{Node, NodeId, Trace};
use base::error::Result;
use base::label::Label;
use base::types::Scalar;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Number of gradients that are remembered, the most recently used first.
const MOST: usize = 8;

/// Maximum number of nodes of a trace with its gradients that is remembered. A node takes about 50 bytes, and 8 for
/// each word of its attributes: all copies of one device take about 26 MB at most, and more if there are many
/// attributes.
const MOST_NODES: usize = 1 << 16;

/// Maximum number of nodes of a trace before its gradients are recorded: few gradients have more than three times as
/// many nodes, and are copied in vain.
const MOST_NODES_BEFORE: usize = MOST_NODES / 4;

/// Operands of one call of `lxla_gradients`.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Values that are differentiated.
    pub ys: &'a [NodeId],
    /// Cotangents of `ys`; empty if none are given.
    pub cotangents: &'a [NodeId],
    /// Values with respect to which they are differentiated.
    pub xs: &'a [NodeId],
}

/// The gradients of one device that were taken last.
#[derive(Default)]
pub struct GradientMemory {
    known: Vec<KnownGradients>,
    /// Hashes of the last requests, each with the attributes, scalars and bodies of its trace. As many as gradients are
    /// remembered. With more alternating requests than entries, nothing is cached.
    seen: [u64; MOST],
}

/// A request, and a copy of the trace before its gradients are recorded.
pub struct Before {
    trace: TraceCopy,
    scalars: Vec<Scalar>,
    request: [Vec<NodeId>; 3],
    leaves: Vec<NodeId>,
    mark: Mark,
}

/// End of a trace.
#[derive(Clone, Copy)]
struct Mark {
    nodes: usize,
    spilled: usize,
    attributes: usize,
    scalars: usize,
    leaves: usize,
    bodies: usize,
}

impl Mark {
    fn of(trace: &Trace) -> Mark {
        Mark {
            nodes: trace.nodes.len(),
            spilled: trace.spilled.len(),
            attributes: trace.attributes.len(),
            scalars: trace.scalars.len(),
            leaves: trace.leaves.len(),
            bodies: trace.bodies.len(),
        }
    }
}

struct KnownGradients {
    before: Before,
    /// Operations that were recorded, with what they refer to.
    nodes: Vec<Node>,
    spilled: Vec<NodeId>,
    attributes: Vec<i64>,
    scalars: Vec<Scalar>,
    bodies: Vec<Arc<Body>>,
    labels: Vec<(u32, Label)>,
    /// Applications before the mark that were given more results, as they are since.
    extended: Vec<(NodeId, Node)>,
    has_collectives: bool,
    gradients: Vec<NodeId>,
    /// Positions of the xs to which no derivative passes.
    unconnected: Vec<usize>,
}

/// Gradients that were recorded.
pub struct Gradients {
    /// The gradients, one for each x.
    pub values: Vec<NodeId>,
    /// Positions of the xs to which no derivative of one of the ys passes. Their gradients are zero.
    pub unconnected: Vec<usize>,
    /// Whether the operations were copied from the memory.
    pub is_repeated: bool,
}

impl GradientMemory {
    /// If the same gradients of an equal trace are remembered, returns the leaves that [`GradientMemory::before`] got
    /// with them, and [`GradientMemory::repeat`] records them.
    pub fn find(&mut self, trace: &Trace, request: Request) -> Option<&[NodeId]> {
        let is_it =
            |known: &KnownGradients| known.before.is_of(trace, request) && known.before.trace.renaming(trace).is_some();
        let found = self.known.iter().position(is_it)?;
        self.known[..=found].rotate_right(1);
        Some(&self.known[0].before.leaves)
    }

    /// Records the gradients that were found last. The trace has not changed since.
    pub fn repeat(&self, trace: &mut Trace) -> Result<Gradients> {
        let known = self.known.first().expect("gradients were found");
        let lists =
            [known.nodes.len(), known.spilled.len(), known.attributes.len(), known.scalars.len(), known.bodies.len()];
        trace.check_room_for(lists.into_iter().max().unwrap_or(0))?;
        for (id, extended) in &known.extended {
            let node = &mut trace.nodes[id.0 as usize];
            (node.payload, node.attributes) = (extended.payload, extended.attributes);
        }
        trace.nodes.extend_from_slice(&known.nodes);
        trace.spilled.extend_from_slice(&known.spilled);
        trace.attributes.extend_from_slice(&known.attributes);
        trace.scalars.extend_from_slice(&known.scalars);
        trace.bodies.extend_from_slice(&known.bodies);
        // Cotangents have the labels that the operations have now.
        let renaming = known.before.trace.renaming(trace).expect("found by it");
        known.labels.iter().for_each(|&(start, label)| trace.labels.begin(start, renaming.of(label)));
        trace.has_collectives |= known.has_collectives;
        let (values, unconnected) = (known.gradients.clone(), known.unconnected.clone());
        Ok(Gradients { values, unconnected, is_repeated: true })
    }

    /// Copies the trace before the gradients are recorded, if the same ones may have been taken before: gradients that
    /// do not repeat are not copied. `leaves` are those from which a tangent reaches one of `ys`.
    pub fn before(&mut self, trace: &Trace, request: Request, leaves: &[NodeId]) -> Option<Before> {
        let mut hasher = FxHasher::default();
        let lists = [request.ys, request.cotangents, request.xs].map(|list| list.iter().map(|id| id.0));
        lists.into_iter().for_each(|list| list.collect::<Vec<u32>>().hash(&mut hasher));
        (trace.nodes.len(), &trace.attributes, &trace.scalars, &trace.bodies).hash(&mut hasher);
        let hash = hasher.finish();
        if !self.seen.contains(&hash) {
            self.seen.rotate_right(1);
            self.seen[0] = hash;
            return None;
        }
        (trace.nodes.len() <= MOST_NODES_BEFORE).then(|| Before {
            trace: TraceCopy::of(trace),
            scalars: trace.scalars.clone(),
            request: [request.ys.to_vec(), request.cotangents.to_vec(), request.xs.to_vec()],
            leaves: leaves.to_vec(),
            mark: Mark::of(trace),
        })
    }

    /// Remembers the gradients that were recorded, and forgets the least recently used ones.
    pub fn remember(&mut self, before: Before, trace: &Trace, gradients: &Gradients) {
        let mark = before.mark;
        if trace.nodes.len() > MOST_NODES || trace.leaves.len() > mark.leaves {
            return;
        }
        let (earlier, nodes) = trace.nodes.split_at(mark.nodes);
        let reference = |node: &Node| (node.payload, node.attributes);
        let extended: Vec<(NodeId, Node)> = (before.trace.nodes.iter().zip(earlier).enumerate())
            .filter(|(_, (before, now))| reference(before) != reference(now))
            .map(|(id, (_, now))| (NodeId(id as u32), *now))
            .collect();
        let has_collectives =
            nodes.iter().chain(extended.iter().map(|(_, node)| node)).any(|node| trace.is_collective(node));
        self.known.truncate(MOST - 1);
        self.known.insert(
            0,
            KnownGradients {
                nodes: nodes.to_vec(),
                spilled: trace.spilled[mark.spilled..].to_vec(),
                attributes: trace.attributes[mark.attributes..].to_vec(),
                scalars: trace.scalars[mark.scalars..].to_vec(),
                bodies: trace.bodies[mark.bodies..].to_vec(),
                labels: trace.labels.since(mark.nodes as u32),
                extended,
                has_collectives,
                gradients: gradients.values.clone(),
                unconnected: gradients.unconnected.clone(),
                before,
            },
        );
    }
}

impl Before {
    fn is_of(&self, trace: &Trace, request: Request) -> bool {
        self.request == [request.ys, request.cotangents, request.xs]
            && self.scalars == trace.scalars
            && self.trace.is_of(trace, |_, _| true)
    }
}
