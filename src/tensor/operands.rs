//! Looks up the nodes of operands on their device.

use super::mixing::bring_together;
use super::recording::{State, to_record};
use crate::device::{TensorHandle, common_device};
use crate::error::Result;
use crate::ir::NodeId;

/// Returns the nodes of named operands, and the locked state of the one device that they are on.
#[inline]
pub fn operands<const N: usize>(named: [(&str, TensorHandle); N]) -> Result<(State, [NodeId; N])> {
    let device = match common_device(&named) {
        Ok(device) => device,
        Err(apart) => {
            let (state, nodes) = bring_together(&named, apart)?;
            return Ok((state, nodes.try_into().expect("as many nodes as operands")));
        }
    };
    let mut state = to_record(device)?;
    let mut nodes = [NodeId(0); N];
    for (node, (name, handle)) in nodes.iter_mut().zip(named) {
        *node = state.operand(name, handle)?;
    }
    Ok((state, nodes))
}

/// Names the elements of a list of operands, for messages.
pub fn numbered<T: Copy>(name: &str, list: &[T]) -> impl Iterator<Item = (String, T)> {
    list.iter().enumerate().map(move |(i, &operand)| (format!("{name}[{i}]"), operand))
}

/// Does what [`operands`] does, for a list of any length.
pub fn operand_list(named: impl Iterator<Item = (String, TensorHandle)>) -> Result<(State, Vec<NodeId>)> {
    let named: Vec<(String, TensorHandle)> = named.collect();
    let named: Vec<(&str, TensorHandle)> = named.iter().map(|(name, handle)| (name.as_str(), *handle)).collect();
    let device = match common_device(&named) {
        Ok(device) => device,
        Err(apart) => return bring_together(&named, apart),
    };
    let mut state = to_record(device)?;
    let nodes = named.iter().map(|(name, handle)| state.operand(name, *handle)).collect::<Result<Vec<NodeId>>>()?;
    Ok((state, nodes))
}
