//! Records an operation of `ops` on tensors given by handles: looks up the nodes of the operands, locks their device,
//! records, and makes tensors of the results. The names of operands are for messages.

use super::operands::{nodes, numbered, operand_list, operands};
use super::results::{Recorded, finish_in_place, replace, to_record};
use crate::device::{CallKey, OperandName, TensorHandle, common_device};
use base::error::Result;
use ir::{NodeId, Trace};

/// Records an operation on named operands.
#[inline]
pub fn record<const N: usize, R: Recorded>(
    named: [(&str, TensorHandle); N],
    operation: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<R>,
) -> Result<R::Tensors> {
    let (mut state, nodes) = operands(named)?;
    let made = operation(&mut state.trace, nodes)?;
    made.finish(state)
}

/// Like [`record`]. An eager device remembers under `key` what is recorded for small arrays.
#[inline]
pub fn record_known<const N: usize>(
    key: CallKey,
    named: [(&str, TensorHandle); N],
    operation: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<NodeId>,
) -> Result<TensorHandle> {
    // Operands on different devices are brought together, or refused, by `record`.
    let Ok(device) = common_device(&named) else { return record(named, operation) };
    let mut state = to_record(device)?;
    if let Some((value, shape)) = state.known_value(key, named.map(|(_, tensor)| tensor)) {
        return state.new_tensor(value?, shape);
    }
    let nodes = nodes(&mut state, named)?;
    let id = operation(&mut state.trace, nodes)?;
    state.trace.check_subbyte()?;
    state.remember(key, nodes, id);
    id.finish(state)
}

/// Like [`record_in_place`]. An eager device remembers under `key` what is recorded for small arrays.
#[inline]
pub fn record_known_in_place<const N: usize>(
    key: CallKey,
    named: [(&str, TensorHandle); N],
    operation: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<NodeId>,
) -> Result<()> {
    let Ok(device) = common_device(&named) else { return record_in_place(named, operation) };
    let mut state = to_record(device)?;
    if let Some((value, shape)) = state.known_value(key, named.map(|(_, tensor)| tensor)) {
        return replace(state, named[0].1, value?, shape);
    }
    let nodes = nodes(&mut state, named)?;
    let id = operation(&mut state.trace, nodes)?;
    state.trace.check_subbyte()?;
    state.remember(key, nodes, id);
    finish_in_place(state, named[0].1, id)
}

/// Records an operation whose result becomes the value of its first operand, `dst`.
#[inline]
pub fn record_in_place<const N: usize>(
    named: [(&str, TensorHandle); N],
    operation: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<NodeId>,
) -> Result<()> {
    let (mut state, nodes) = operands(named)?;
    let id = operation(&mut state.trace, nodes)?;
    finish_in_place(state, named[0].1, id)
}

/// Records an operation on named operands and a list of further ones.
pub fn record_list<const N: usize, R: Recorded>(
    named: [(&str, TensorHandle); N],
    (name, list): (&str, &[TensorHandle]),
    operation: impl FnOnce(&mut Trace, [NodeId; N], &[NodeId]) -> Result<R>,
) -> Result<R::Tensors> {
    let first = named.map(|(name, handle)| (OperandName::Tensor(name), handle));
    let (mut state, nodes) = operand_list(first.into_iter().chain(numbered(name, list)))?;
    let (first, list) = nodes.split_first_chunk().expect("a node for each operand");
    let made = operation(&mut state.trace, *first, list)?;
    made.finish(state)
}

/// Records an operation on named operands and further ones, some of which are left out: None.
pub fn record_optional<'a, const N: usize, S: Into<OperandName<'a>>, R: Recorded>(
    named: [(&'a str, TensorHandle); N],
    optional: impl IntoIterator<Item = (S, Option<TensorHandle>)>,
    operation: impl FnOnce(&mut Trace, [NodeId; N], &[Option<NodeId>]) -> Result<R>,
) -> Result<R::Tensors> {
    let (names, optional): (Vec<S>, Vec<Option<TensorHandle>>) = optional.into_iter().unzip();
    let first = named.map(|(name, handle)| (OperandName::Tensor(name), handle));
    let given = names.into_iter().zip(&optional).filter_map(|(name, handle)| Some((name.into(), (*handle)?)));
    let (mut state, nodes) = operand_list(first.into_iter().chain(given))?;
    let (first, given) = nodes.split_first_chunk().expect("a node for each operand");
    let mut given = given.iter().copied();
    let further: Vec<Option<NodeId>> = optional.iter().map(|handle| handle.and_then(|_| given.next())).collect();
    let made = operation(&mut state.trace, *first, &further)?;
    made.finish(state)
}
