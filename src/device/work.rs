//! Evaluation of recorded operations on the arrays of tensors.

use super::table::{Table, Value};
use crate::device_data::{self, DeviceData};
use base::error::Result;
use ir::{NodeId, Op, Trace, Words, Workspace};
use lowering::interpret;
use native::Array;
use smallvec::SmallVec;

/// Values of results, one for each.
pub type Values = SmallVec<[Value; 1]>;

/// Work that computes values, to be run after the device's lock is released.
/// It may be done again if it fails.
pub type Work = Box<dyn Fn() -> Result<Values>>;

/// Maximum size in bytes of the operands and the result of an operation that is evaluated under the lock.
pub const SMALL: usize = 1024;

/// Evaluates one small operation on arrays of tensors. Returns None for anything else.
#[inline]
pub fn at_once(trace: &Trace, table: &Table, id: NodeId) -> Option<Result<Array>> {
    let node = trace.node(id);
    let ids = trace.operands(node);
    if ids.is_empty() || ids.len() > 3 {
        return if node.op == Op::Leaf { table.array(node.slot()).cloned().map(Ok) } else { None };
    }
    let mut like = None;
    let mut small = |id: NodeId| {
        let operand = trace.node(id);
        let array = table.array(operand.slot()).filter(|array| array.size_bytes() <= SMALL)?;
        if operand.shape == node.shape && operand.dtype == node.dtype {
            like = Some(array);
        }
        Some(array)
    };
    let mut operands = [small(ids[0])?; 3];
    for (operand, &id) in operands.iter_mut().zip(ids).skip(1) {
        *operand = small(id)?;
    }
    let made;
    let ty = match like {
        Some(like) => like.ty(),
        None => {
            made = trace.ty(id);
            &made
        }
    };
    if ty.size_bytes() > SMALL {
        return None;
    }
    Some(interpret::evaluate(node.op, ty, trace.words(node), trace.scalar(node), &operands[..ids.len()]))
}

/// Takes out of a trace on cpu what computes the values of nodes.
pub fn of(trace: &Trace, table: &Table, ids: &[NodeId]) -> Work {
    match *ids {
        [id] if is_alone(trace, id) => operation(trace, table, id),
        _ => program(trace, table, ids),
    }
}

/// Whether a node is an operation with one result on leaves.
fn is_alone(trace: &Trace, id: NodeId) -> bool {
    let node = trace.node(id);
    let is_leaf = |id: &NodeId| trace.node(*id).op == Op::Leaf;
    node.op != Op::Leaf && node.op != Op::Result && trace.operands(node).iter().all(is_leaf)
}

/// Array of a leaf: that of a tensor, or the data of the leaf.
fn array(trace: &Trace, table: &Table, id: NodeId) -> Array {
    let of_trace = || device_data::of_node(trace, trace.node(id)).and_then(DeviceData::host_array);
    table.array(trace.node(id).slot()).cloned().or_else(of_trace).expect("a leaf's array")
}

fn operation(trace: &Trace, table: &Table, id: NodeId) -> Work {
    let node = trace.node(id);
    let (op, ty, scalar) = (node.op, trace.ty(id), trace.scalar(node));
    let words = Words::from_slice(trace.words(node));
    let operands: SmallVec<[Array; 3]> = trace.operands(node).iter().map(|&id| array(trace, table, id)).collect();
    Box::new(move || {
        let operands: SmallVec<[&Array; 3]> = operands.iter().collect();
        let made = interpret::evaluate(op, &ty, &words, scalar, &operands)?;
        Ok(SmallVec::from_elem(Value::Native(made), 1))
    })
}

fn program(trace: &Trace, table: &Table, ids: &[NodeId]) -> Work {
    let (leaves, roots): (Vec<NodeId>, Vec<NodeId>) = ids.iter().partition(|&&id| trace.node(id).op == Op::Leaf);
    let segment = Workspace::default().linearize(trace, &roots).segments(trace, usize::MAX).pop();
    let (parameters, outputs) =
        segment.as_ref().map_or((&[][..], &[][..]), |segment| (&segment.parameters, &segment.outputs));
    let arrays = |ids: &[NodeId]| ids.iter().map(|&id| array(trace, table, id)).collect::<Vec<Array>>();
    let inputs = arrays(parameters);
    let scalars = segment.as_ref().map_or_else(Vec::new, |segment| trace.scalars_at(&segment.scalars));
    // Results that are operands follow the outputs.
    let unchanged = arrays(&leaves);
    let place = |id: &NodeId| outputs.iter().chain(&leaves).position(|known| known == id).expect("an output or a leaf");
    let places: Vec<usize> = ids.iter().map(place).collect();
    Box::new(move || {
        let mut arrays = match &segment {
            Some(segment) => interpret::run(&segment.program, &scalars, &inputs)?,
            None => Vec::new(),
        };
        arrays.extend(unchanged.iter().cloned());
        Ok(places.iter().map(|&place| Value::Native(arrays[place].clone())).collect())
    })
}
