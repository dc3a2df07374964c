//! The plan of one sync: the programs to run, with the data of their arguments. Planning has no side effects, so that a
//! plan can also be made to inspect its text or hash.

use super::collect::needed_data;
use crate::device::{DeviceState, Owner};
use crate::device_data::{self, DeviceData};
use base::allocation::probe;
use base::error::Result;
use base::label::Label;
use base::types::Scalar;
use ir::{NodeId, Scheme, Source, Stage, Trace, Workspace};
use std::sync::Arc;
use timeline::Span;

/// An argument of a run.
pub enum RunArgument {
    /// Data of a tensor.
    Data(Arc<DeviceData>),
    /// Output of an earlier run of the same plan, by number.
    Output(usize),
}

/// One program to run.
pub struct Run {
    /// The program, its donors and its outputs.
    pub stage: Arc<Stage>,
    /// Values of the scalar slots.
    pub scalars: Vec<Scalar>,
    /// Arguments, in parameter order.
    pub arguments: Vec<RunArgument>,
}

/// Runs of one sync.
pub struct Plan {
    /// The values that the runs compute.
    pub scheme: Arc<Scheme>,
    /// Runs, in execution order.
    pub runs: Vec<Run>,
}

/// Bytes that planning takes for each recorded operation, and a sync for each value that it computes.
const PLANNED_BYTES: usize = 256;
const COMPUTED_BYTES: usize = 512;

/// Begins a sync of this name: checks that there is memory for it, and returns the spans of the sync and of its plan.
pub fn begin(state: &DeviceState, owner: &Owner, name: &'static str) -> Result<(Span, Span)> {
    check_memory(&state.trace)?;
    let timeline = owner.shared.timeline();
    Ok((timeline.sync_span("step", name), timeline.span("plan", "plan")))
}

/// Tests that there is memory to plan and commit a sync of a trace.
pub fn check_memory(trace: &Trace) -> Result<()> {
    let planned = trace.len().saturating_mul(PLANNED_BYTES).saturating_add(trace.size_bytes());
    probe(planned.saturating_add(trace.pending().saturating_mul(COMPUTED_BYTES)), "the plan of a sync")
}

impl Plan {
    /// Label of the operation whose result an output is.
    pub fn label_of(&self, output: usize) -> Label {
        let stage = self.scheme.stages.iter().rfind(|stage| stage.first_output <= output);
        stage.map_or(Label::NONE, |stage| stage.program.label_of_output(output - stage.first_output))
    }

    /// The plan that runs a scheme of the trace on the data of its leaves.
    pub fn new(trace: &Trace, scheme: Arc<Scheme>) -> Plan {
        let leaves = trace.leaves();
        let source = |argument: &Source| match *argument {
            Source::Leaf(leaf) => {
                RunArgument::Data(device_data::shared_of_leaf(&leaves[leaf]).expect("a leaf of device data"))
            }
            Source::Made(number) => RunArgument::Output(number),
        };
        let run = |stage: &Arc<Stage>| Run {
            stage: stage.clone(),
            scalars: trace.scalars_at(&stage.scalars),
            arguments: stage.arguments.iter().map(source).collect(),
        };
        let runs = scheme.stages.iter().map(run).collect();
        Plan { scheme, runs }
    }
}

/// Scheme of the held operations for which `is_root` returns true. The others stay pending.
pub fn partial_scheme(
    trace: &Trace,
    workspace: &mut Workspace,
    owner: &Owner,
    is_root: impl Fn(NodeId) -> bool,
) -> Scheme {
    let (roots, left): (Vec<NodeId>, Vec<NodeId>) = trace.held_operations().into_iter().partition(|&id| is_root(id));
    // Operations that stay pending still need their data, even if no tensor refers to it. What they need of the roots
    // are the results.
    let mut needed = needed_data(trace, &left, &roots);
    needed.sort_unstable_by_key(Arc::as_ptr);
    let is_needed = |leaf: usize| {
        let data = device_data::of_leaf(&trace.leaves()[leaf]);
        data.is_some_and(|data| needed.binary_search_by_key(&std::ptr::from_ref(data), Arc::as_ptr).is_ok())
    };
    let options = &owner.shared.options;
    let donation = options.donation();
    Scheme::of(trace, workspace.linearize(trace, &roots), options.max_program_ops(), |leaf| {
        donation && is_unreferenced(trace, leaf) && !is_needed(leaf)
    })
}

/// Whether no tensor has the data of a leaf as its value.
pub fn is_unreferenced(trace: &Trace, leaf: usize) -> bool {
    device_data::of_leaf(&trace.leaves()[leaf]).is_some_and(|data| data.tensors.get() == 0)
}
