//! The plan of one sync: the programs to run, the sources of their arguments, and the donors. Planning has no side
//! effects, so that a plan can also be made to inspect its text or hash.

use super::donors::{self, Place};
use crate::device_data::{self, DeviceData};
use crate::ir::{Linear, NONE, NodeId, Program, Trace};
use crate::types::Scalar;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Source of an argument.
pub enum Source {
    /// Data of a tensor.
    Data(Arc<DeviceData>),
    /// Output of an earlier run of the same plan, by number.
    Made(usize),
}

/// One program to run.
pub struct Run {
    /// Program in canonical form.
    pub program: Arc<Program>,
    /// Values of the scalar slots.
    pub scalars: Vec<Scalar>,
    /// Arguments, in parameter order.
    pub arguments: Vec<Source>,
    /// Indices of the arguments that the run may consume, ascending. Part of the cache key.
    pub donors: Vec<usize>,
    /// Number of tensor arguments without later uses whose memory no output can reuse. They are freed with the plan.
    pub spare: usize,
    /// Number of the run's first output among all outputs of the plan.
    pub first_output: usize,
    /// Numbers of outputs of earlier runs that are not needed after this run.
    pub last_uses: Vec<usize>,
}

/// Runs of one sync, and the values that they compute.
pub struct Plan {
    /// Runs, in execution order.
    pub runs: Vec<Run>,
    /// Nodes of all runs' outputs, by number.
    pub outputs: Vec<NodeId>,
    /// Pending values that the plan computes, each with the number of its output.
    pub roots: Vec<(NodeId, usize)>,
    /// Total size of all outputs in bytes.
    pub output_bytes: u64,
    /// Number of operations that a partial sync has already run before.
    pub recomputed: u64,
}

/// Plans the computation of `linear`. `may_donate` returns whether nothing needs a tensor's data after the whole plan;
/// last uses between the runs of the plan are determined here.
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
            program: Arc::new(segment.program),
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
            match device_data::shared_of_node(trace, trace.node(id)) {
                Some(data) => {
                    if last && may_donate(&data) {
                        candidates.push((index, Place::of(trace, id)));
                    }
                    run.arguments.push(Source::Data(data));
                }
                None => {
                    let number = numbers[&id.0];
                    // A root belongs to a tensor; any other value passed between runs is private to the plan.
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
