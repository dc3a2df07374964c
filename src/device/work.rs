//! Work to be evaluated on cpu after the device's lock is released.

use super::table::{Table, Value};
use crate::device_data::{self, DeviceData};
use crate::error::Result;
use crate::interpret;
use crate::ir::{NodeId, Op, Segment, Trace, Words, Workspace};
use crate::native::Array;
use crate::types::{Scalar, TensorType};
use smallvec::SmallVec;

/// Result arrays, one for each requested node.
pub type Results = SmallVec<[Array; 1]>;

/// A leaf of a trace on cpu.
pub enum Input {
    /// Array of the tensor in a slot. The slot keeps the array alive while the device is locked, and recorded
    /// operations are evaluated or taken before it is unlocked, so that no reference counting is needed.
    Tensor(u32),
    /// Array that belongs to no tensor.
    Array(Array),
}

/// Arrays of the leaves of a trace on cpu. Leaf nodes come first in the trace.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    inputs: &'a [Input],
    table: &'a Table,
    trace: &'a Trace,
}

impl<'a> Inputs<'a> {
    /// Inputs of a device's trace.
    pub(super) fn new(inputs: &'a [Input], table: &'a Table, trace: &'a Trace) -> Inputs<'a> {
        Inputs { inputs, table, trace }
    }

    /// Array of a node, if it is a leaf in the list of inputs.
    #[inline]
    fn get(self, id: NodeId) -> Option<&'a Array> {
        match self.inputs.get(id.0 as usize)? {
            Input::Array(array) => Some(array),
            Input::Tensor(slot) => match &self.table.slot(*slot).value {
                Value::Native(array) => Some(array),
                Value::Pending(_) | Value::Data(_) => None,
            },
        }
    }

    /// Array of a node that is a leaf.
    fn array(self, id: NodeId) -> Array {
        // In the presence of placeholder-dependent operations, the trace owns the arrays.
        let of_trace = || device_data::of_node(self.trace, self.trace.node(id)).and_then(DeviceData::host_array);
        self.get(id).cloned().or_else(of_trace).expect("a leaf's array")
    }
}

/// Operations that one call recorded.
// Work is consumed immediately: boxing an operation would cost more than the space it saves.
#[allow(clippy::large_enum_variant)]
pub enum Work {
    /// Nothing was recorded: the result is an operand.
    Nothing(Array),
    /// One operation with one result.
    One(Operation),
    /// Several operations, or one operation with several results.
    Program(Box<Recorded>),
}

/// An operation with its operands.
pub struct Operation {
    op: Op,
    ty: TensorType,
    words: Words,
    scalar: Option<Scalar>,
    operands: SmallVec<[Array; 3]>,
}

/// A program with its inputs.
pub struct Recorded {
    /// None if all requested results are operands.
    segment: Option<Segment>,
    scalars: Vec<Scalar>,
    inputs: Vec<Array>,
    results: Vec<Asked>,
}

/// Source of a result.
enum Asked {
    Input(Array),
    Output(usize),
}

/// Maximum size in bytes of the operands and the result of an operation that is evaluated under the lock.
pub(super) const SMALL: usize = 1024;

/// Evaluates one small operation on leaves. Returns None for anything else.
#[inline]
pub fn at_once(trace: &Trace, inputs: Inputs, id: NodeId) -> Option<Result<Array>> {
    let node = trace.node(id);
    let ids = trace.operands(node);
    if node.op == Op::Leaf || node.op == Op::Result || ids.len() > 3 {
        return None;
    }
    let mut operands: SmallVec<[&Array; 3]> = SmallVec::new();
    let mut like = None;
    for &id in ids {
        let array = inputs.get(id).filter(|array| array.size_bytes() <= SMALL)?;
        let operand = trace.node(id);
        if operand.shape == node.shape && operand.dtype == node.dtype {
            like = Some(array.ty());
        }
        operands.push(array);
    }
    let evaluate = |ty| interpret::evaluate(node.op, ty, trace.words(node), trace.scalar(node), &operands);
    if let Some(ty) = like {
        return Some(evaluate(ty));
    }
    let ty = trace.ty(id);
    (ty.size_bytes() <= SMALL).then(|| evaluate(&ty))
}

impl Work {
    /// Removes from a trace the operations that compute `ids`, and returns them as work.
    pub fn of(trace: &Trace, inputs: Inputs, ids: &[NodeId]) -> Work {
        let [id] = *ids else { return Work::Program(Box::new(Recorded::of(trace, inputs, ids))) };
        let node = trace.node(id);
        if node.op == Op::Leaf {
            return Work::Nothing(inputs.array(id));
        }
        let is_leaf = |id: &NodeId| trace.node(*id).op == Op::Leaf;
        if node.op == Op::Result || !trace.operands(node).iter().all(is_leaf) {
            return Work::Program(Box::new(Recorded::of(trace, inputs, ids)));
        }
        Work::One(Operation {
            op: node.op,
            ty: trace.ty(id),
            words: Words::from_slice(trace.words(node)),
            scalar: trace.scalar(node),
            operands: trace.operands(node).iter().map(|&id| inputs.array(id)).collect(),
        })
    }

    /// Evaluates the work.
    pub fn run(self) -> Result<Results> {
        match self {
            Work::Nothing(array) => Ok(SmallVec::from_elem(array, 1)),
            Work::One(operation) => operation.run().map(|array| SmallVec::from_elem(array, 1)),
            Work::Program(recorded) => recorded.run(),
        }
    }
}

impl Operation {
    fn run(&self) -> Result<Array> {
        let operands: SmallVec<[&Array; 3]> = self.operands.iter().collect();
        interpret::evaluate(self.op, &self.ty, &self.words, self.scalar, &operands)
    }
}

impl Recorded {
    fn of(trace: &Trace, inputs: Inputs, ids: &[NodeId]) -> Recorded {
        let roots: Vec<NodeId> = ids.iter().copied().filter(|&id| trace.node(id).op != Op::Leaf).collect();
        let segment = Workspace::default().linearize(trace, &roots).segments(trace, usize::MAX).pop();
        let (parameters, outputs) =
            segment.as_ref().map_or((&[][..], &[][..]), |segment| (&segment.parameters, &segment.outputs));
        let asked = |id: &NodeId| match outputs.iter().position(|output| output == id) {
            Some(place) => Asked::Output(place),
            None => Asked::Input(inputs.array(*id)),
        };
        Recorded {
            results: ids.iter().map(asked).collect(),
            scalars: segment.as_ref().map_or_else(Vec::new, |segment| trace.scalars_at(&segment.scalars)),
            inputs: parameters.iter().map(|&id| inputs.array(id)).collect(),
            segment,
        }
    }

    fn run(self) -> Result<Results> {
        let outputs = match &self.segment {
            Some(segment) => interpret::run(&segment.program, &self.scalars, &self.inputs)?,
            None => Vec::new(),
        };
        let result = |asked| match asked {
            Asked::Input(array) => array,
            Asked::Output(place) => outputs[place].clone(),
        };
        Ok(self.results.into_iter().map(result).collect())
    }
}
