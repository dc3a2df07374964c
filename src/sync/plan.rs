//! The plan of one sync: the programs to run, with the data of their arguments. Planning has no side effects, so that a
//! plan can also be made to inspect its text or hash.

use crate::device_data::{self, DeviceData};
use crate::ir::{Argument, Scheme, Stage, Trace};
use crate::types::Scalar;
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
    /// The program, its donors and its outputs.
    pub stage: Arc<Stage>,
    /// Values of the scalar slots.
    pub scalars: Vec<Scalar>,
    /// Arguments, in parameter order.
    pub arguments: Vec<Source>,
}

/// Runs of one sync.
pub struct Plan {
    /// The values that the runs compute.
    pub scheme: Arc<Scheme>,
    /// Runs, in execution order.
    pub runs: Vec<Run>,
}

impl Plan {
    /// The plan that runs a scheme of the trace on the data of its leaves.
    pub fn new(trace: &Trace, scheme: Arc<Scheme>) -> Plan {
        let leaves = trace.leaves();
        let source = |argument: &Argument| match *argument {
            Argument::Leaf(leaf) => {
                Source::Data(device_data::shared_of_leaf(&leaves[leaf]).expect("a leaf of device data"))
            }
            Argument::Made(number) => Source::Made(number),
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
