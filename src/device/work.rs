//! What is to be evaluated on cpu, taken out from under the device's lock.

use super::table::{Table, Value};
use crate::error::Result;
use crate::interpret;
use crate::ir::{NodeId, Op, Segment, Trace, Workspace};
use crate::native::Array;
use crate::ops;
use crate::types::{Scalar, TensorType};
use smallvec::SmallVec;

/// The arrays that it gives, one for each node asked for.
pub type Results = SmallVec<[Array; 1]>;

/// What a leaf of a trace on cpu is.
pub enum Input {
    /// The array of the tensor in a slot. The slot keeps it as long as the device is locked, and before it is unlocked what was
    /// recorded is evaluated or taken out: so nobody counts references to it.
    Tensor(u32),
    /// An array that no tensor has.
    Array(Array),
}

/// The arrays of the leaves of a trace on cpu, which are the first of its nodes.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    inputs: &'a [Input],
    table: &'a Table,
    trace: &'a Trace,
}

impl<'a> Inputs<'a> {
    /// Those of a device.
    pub(super) fn new(inputs: &'a [Input], table: &'a Table, trace: &'a Trace) -> Inputs<'a> {
        Inputs { inputs, table, trace }
    }

    /// The array of a node, if that is a leaf of a list of inputs.
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

    /// The array of a node that is a leaf.
    fn array(self, id: NodeId) -> Array {
        // Among operations that wait for a placeholder the trace has the arrays.
        let of_trace = || self.trace.data(self.trace.node(id)).and_then(|data| data.host_array());
        self.get(id).cloned().or_else(of_trace).expect("a leaf's array")
    }
}

/// What one call recorded.
// An operation is taken apart at once: a box for it would cost more than the room.
#[allow(clippy::large_enum_variant)]
pub enum Work {
    /// It recorded nothing: an operand is the result.
    Nothing(Array),
    /// One operation with one result.
    One(Operation),
    /// Several operations, or one with several results.
    Program(Box<Recorded>),
}

/// An operation with its operands.
pub struct Operation {
    op: Op,
    ty: TensorType,
    attributes: SmallVec<[i64; 8]>,
    scalar: Option<Scalar>,
    operands: SmallVec<[Array; 3]>,
}

/// A program with its inputs.
pub struct Recorded {
    /// None if all that is asked for are operands.
    segment: Option<Segment>,
    inputs: Vec<Array>,
    results: Vec<Asked>,
}

/// Where a result comes from.
enum Asked {
    Input(Array),
    Output(usize),
}

/// The most bytes of an operand or a result of what is done under the lock.
const SMALL: usize = 1024;

/// Evaluates one small operation on leaves; none if it is anything else.
#[inline]
pub fn at_once(trace: &Trace, inputs: Inputs, id: NodeId) -> Option<Result<Array>> {
    let node = trace.node(id);
    let ids = trace.operands(node);
    let ty = trace.ty(id);
    if node.op == Op::Leaf || node.op == Op::Result || ids.len() > 3 || ty.size_bytes() > SMALL {
        return None;
    }
    let mut operands: SmallVec<[&Array; 3]> = SmallVec::new();
    for &id in ids {
        operands.push(inputs.get(id).filter(|array| array.ty().size_bytes() <= SMALL)?);
    }
    Some(ops::evaluate(node.op, &ty, trace.attributes(node), trace.scalar(node), &operands))
}

impl Work {
    /// For the values of `ids` in a trace.
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
            attributes: SmallVec::from_slice(trace.attributes(node)),
            scalar: trace.scalar(node),
            operands: trace.operands(node).iter().map(|&id| inputs.array(id)).collect(),
        })
    }

    /// Does it.
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
        ops::evaluate(self.op, &self.ty, &self.attributes, self.scalar, &operands)
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
            inputs: parameters.iter().map(|&id| inputs.array(id)).collect(),
            segment,
        }
    }

    fn run(self) -> Result<Results> {
        let outputs = match &self.segment {
            Some(segment) => interpret::run(&segment.program, &segment.scalars, &self.inputs)?,
            None => Vec::new(),
        };
        let result = |asked| match asked {
            Asked::Input(array) => array,
            Asked::Output(place) => outputs[place].clone(),
        };
        Ok(self.results.into_iter().map(result).collect())
    }
}
