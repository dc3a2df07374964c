//! Looks up the nodes of operands on their device.

use super::mixing::bring_together;
use super::results::{Locked, to_record};
use crate::device::{OperandName, TensorHandle, common_device, common_device_of_list, with_names};
use base::error::Result;
use ir::NodeId;
use smallvec::SmallVec;

/// Returns the nodes of named operands, and the locked state of the one device that they are on.
#[inline]
pub fn operands<const N: usize>(named: [(&str, TensorHandle); N]) -> Result<(Locked, [NodeId; N])> {
    let device = match common_device(&named) {
        Ok(device) => device,
        Err(apart) => {
            let (state, nodes) = bring_together(&named, apart)?;
            return Ok((state, nodes.try_into().expect("as many nodes as operands")));
        }
    };
    let mut state = to_record(device)?;
    let nodes = nodes(&mut state, named)?;
    Ok((state, nodes))
}

/// Returns the nodes of named operands, all on the device of this state.
#[inline]
pub fn nodes<const N: usize>(state: &mut Locked, named: [(&str, TensorHandle); N]) -> Result<[NodeId; N]> {
    let mut nodes = [NodeId(0); N];
    for (node, (name, handle)) in nodes.iter_mut().zip(named) {
        *node = state.operand(name, handle)?;
    }
    Ok(nodes)
}

/// Names the elements of a list of operands, for messages.
pub fn numbered<'a, T: Copy>(name: &'a str, list: &'a [T]) -> impl Iterator<Item = (OperandName<'a>, T)> {
    list.iter().enumerate().map(move |(i, &operand)| (OperandName::Element(name, i), operand))
}

/// Does what [`operands`] does, for a list of any length.
pub fn operand_list<'a>(
    named: impl Iterator<Item = (OperandName<'a>, TensorHandle)>,
) -> Result<(Locked, SmallVec<[NodeId; 16]>)> {
    let named: SmallVec<[(OperandName, TensorHandle); 16]> = named.collect();
    let device = match common_device_of_list(&named) {
        Ok(device) => device,
        Err(apart) => {
            let (state, nodes) = with_names(&named, |named| bring_together(named, apart))?;
            return Ok((state, nodes.into()));
        }
    };
    let mut state = to_record(device)?;
    state.trace.check_room_for(named.len())?;
    let nodes = named.iter().map(|&(name, handle)| list_operand(&mut state, name, handle)).collect::<Result<_>>()?;
    Ok((state, nodes))
}

/// Returns the node of an operand, or an error with its name.
fn list_operand(state: &mut Locked, name: OperandName, handle: TensorHandle) -> Result<NodeId> {
    state.operand("", handle).or_else(|_| state.operand(&name.to_string(), handle))
}
