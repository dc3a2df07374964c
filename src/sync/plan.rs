//! What one sync is going to run: programs, where their arguments come from, what they may consume. Making a plan changes
//! nothing, so that it can also be asked for its text or its hash.

use super::donors::{self, Place};
use crate::device_data::DeviceData;
use crate::ir::{Linear, NONE, NodeId, Program, Trace};
use crate::types::Scalar;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Where an argument comes from.
pub enum Source {
    /// A tensor's.
    Data(Arc<DeviceData>),
    /// An output of an earlier run of the same plan, by number.
    Made(usize),
}

/// One program to run.
pub struct Run {
    /// The canonical form.
    pub program: Program,
    /// The values for its holes.
    pub scalars: Vec<Scalar>,
    /// Its arguments.
    pub arguments: Vec<Source>,
    /// The arguments that it may consume, ascending: structural, and so part of the key.
    pub donors: Vec<usize>,
    /// Arguments of tensors that nothing needs afterwards and no output can take over: freed with the plan.
    pub spare: usize,
    /// The number of its first output among all that the plan makes.
    pub first_output: usize,
    /// Outputs of earlier runs that nothing needs after this one.
    pub last_uses: Vec<usize>,
}

/// See the module's documentation.
pub struct Plan {
    /// In this order.
    pub runs: Vec<Run>,
    /// The nodes of all runs' outputs, by number.
    pub outputs: Vec<NodeId>,
    /// The pending values that it computes, each with the number of the output that is its result.
    pub roots: Vec<(NodeId, usize)>,
    /// Bytes of all outputs.
    pub output_bytes: u64,
    /// How many of its operations a partial sync has run before.
    pub recomputed: u64,
}

/// Plans the computation of what `linear` found. `may_donate` says of a tensor's data whether nothing will need it after
/// the whole plan; between the runs of one plan, this function knows by itself.
pub fn plan(trace: &Trace, linear: Linear, max_ops: usize, may_donate: impl Fn(&DeviceData) -> bool) -> Plan {
    let recomputed = linear.order().iter().filter(|&&id| trace.node(id).computed).count() as u64;
    let segments = linear.segments(trace, max_ops);
    let single = segments.len() == 1;
    let mut numbers: FxHashMap<u32, usize> = FxHashMap::default();
    let mut last_use: FxHashMap<u32, usize> = FxHashMap::default();
    if !single {
        for (i, segment) in segments.iter().enumerate() {
            last_use.extend(segment.parameters.iter().map(|id| (id.0, i)));
        }
    }
    let mut plan = Plan {
        runs: Vec::with_capacity(segments.len()),
        outputs: Vec::new(),
        roots: Vec::new(),
        output_bytes: 0,
        recomputed,
    };
    for (i, segment) in segments.into_iter().enumerate() {
        let mut run = Run {
            program: segment.program,
            scalars: segment.scalars,
            arguments: Vec::with_capacity(segment.parameters.len()),
            donors: Vec::new(),
            spare: 0,
            first_output: plan.outputs.len(),
            last_uses: Vec::new(),
        };
        let mut candidates = Vec::new();
        for (index, &id) in segment.parameters.iter().enumerate() {
            let last = single || last_use[&id.0] == i;
            match trace.data(trace.node(id)) {
                Some(data) => {
                    if last && may_donate(data) {
                        candidates.push((index, Place::of(trace, id)));
                    }
                    run.arguments.push(Source::Data(data.clone()));
                }
                None => {
                    let number = numbers[&id.0];
                    // A root belongs to a tensor; anything else that crosses is ours alone.
                    if last && trace.holder(id) == NONE {
                        candidates.push((index, Place::of(trace, id)));
                        run.last_uses.push(number);
                    }
                    run.arguments.push(Source::Made(number));
                }
            }
        }
        let places = segment.outputs.iter().map(|&id| Place::of(trace, id));
        plan.output_bytes += places.clone().map(|place| place.bytes as u64).sum::<u64>();
        run.donors = donors::useful(&candidates, places);
        let is_spare = |&&(index, _): &&(usize, Place)| {
            matches!(run.arguments[index], Source::Data(_)) && run.donors.binary_search(&index).is_err()
        };
        run.spare = candidates.iter().filter(is_spare).count();
        for (offset, &id) in segment.outputs.iter().enumerate() {
            let number = plan.outputs.len() + offset;
            if !single {
                numbers.insert(id.0, number);
            }
            if trace.holder(id) != NONE {
                plan.roots.push((id, number));
            }
        }
        plan.outputs.extend(segment.outputs);
        plan.runs.push(run);
    }
    plan
}
