//! Evaluation on an eager device: the call that records operations evaluates them, and they leave the trace with the
//! end of the call. Results that depend on a placeholder stay recorded, as on an XLA device; the arrays of the other
//! operands are then data of leaves.

use super::TensorHandle;
use super::known::CallKey;
use super::scopes;
use super::state::DeviceState;
use super::table::Value;
use super::work::{self, SMALL, Work};
use crate::device_data::{self, DeviceData};
use base::call;
use base::error::Result;
use base::threads;
use base::types::TensorType;
use ir::{NONE, NodeId, Op, ShapeId};
use lowering::interpret;
use native::Array;
use std::ops::ControlFlow;

impl DeviceState {
    /// Value of a result that the current call recorded. None if it has to be evaluated, which takes so long that it is
    /// done without the lock: [`DeviceState::take_work`].
    #[inline(always)]
    pub fn value_now(&mut self, id: NodeId) -> Option<Result<Value>> {
        if let Some(value) = self.pending_value(id) {
            return Some(Ok(value));
        }
        let made = work::at_once(&self.trace, &self.table, id)?;
        Some(made.map(Value::Native))
    }

    /// Value of a result that the current call recorded, if it is not evaluated: of any on a lazy device, of one that
    /// waits for a placeholder on an eager one.
    #[inline(always)]
    pub fn pending_value(&self, id: NodeId) -> Option<Value> {
        if scopes::number() != 0 {
            return Some(self.value_in_scope(id));
        }
        (self.is_lazy() || self.waits(id)).then(|| self.value_of(id))
    }

    /// Returns [`DeviceState::pending_value`] for each of several results. The operands of an operation are searched once
    /// for all its results: a loop may carry thousands of values.
    pub fn pending_values(&self, ids: &[NodeId]) -> Vec<Option<Value>> {
        if self.is_lazy() || scopes::number() != 0 || self.not_native == 0 {
            return ids.iter().map(|&id| self.pending_value(id)).collect();
        }
        let mut last: Option<(NodeId, bool)> = None;
        let value = |&id: &NodeId| {
            let node = self.trace.node(id);
            let source = if node.op == Op::Result { self.trace.operands(node)[0] } else { id };
            let waits = last.filter(|(of, _)| *of == source).map_or_else(|| self.waits(source), |(_, waits)| waits);
            last = Some((source, waits));
            waits.then(|| self.value_of(id))
        };
        ids.iter().map(value).collect()
    }

    /// Value of the result of a call, and its shape, if an equal call has recorded one operation on small arrays of the
    /// same types: it need not be recorded again.
    #[inline(always)]
    pub fn known_value<const N: usize>(
        &self,
        key: CallKey,
        tensors: [TensorHandle; N],
    ) -> Option<(Result<Value>, ShapeId)> {
        if self.is_lazy() || scopes::number() != 0 {
            return None;
        }
        let operand = |tensor| {
            let slot = self.table.slot(self.table.find(tensor)?);
            match &slot.value {
                Value::Native(array) if array.size_bytes() <= SMALL => Some((array, (array.ty().dtype, slot.shape))),
                Value::Native(_) | Value::Pending(_) | Value::Data(_) => None,
            }
        };
        let mut operands = [operand(tensors[0])?; N];
        for (known, &tensor) in operands.iter_mut().zip(&tensors).skip(1) {
            *known = operand(tensor)?;
        }
        let known = self.known.get(key, operands.map(|(_, ty)| ty))?;
        let made;
        let ty = match operands.iter().find(|(_, ty)| *ty == known.result) {
            Some((like, _)) => like.ty(),
            None => {
                made = TensorType::new(known.result.0, self.trace.dims(known.result.1));
                &made
            }
        };
        let value = interpret::evaluate(known.op, ty, &known.words, None, &operands.map(|(array, _)| array));
        Some((value.map(Value::Native), known.result.1))
    }

    /// Remembers what a call recorded on `operands`, for [`DeviceState::known_value`].
    #[inline]
    pub fn remember<const N: usize>(&mut self, key: CallKey, operands: [NodeId; N], id: NodeId) {
        if self.is_native() {
            self.remember_call(key, operands, id);
        }
    }

    #[cold]
    fn remember_call<const N: usize>(&mut self, key: CallKey, operands: [NodeId; N], id: NodeId) {
        let (trace, node) = (&self.trace, self.trace.node(id));
        let is_plain = node.op != Op::Leaf && node.op != Op::Result && !node.op.has_results() && !node.op.has_scalar();
        let is_small = |id: &NodeId| trace.ty(*id).size_bytes() <= SMALL;
        if is_plain && trace.operands(node) == operands && is_small(&id) && operands.iter().all(is_small) {
            let ty = |id: NodeId| (trace.node(id).dtype, trace.node(id).shape);
            self.known.insert(key, operands.map(ty), node.op, ty(id), trace.words(node));
        }
    }

    /// Work that computes the values of nodes on an eager device, to be run without the lock.
    pub fn take_work(&self, ids: &[NodeId]) -> Work {
        let work = work::of(&self.trace, &self.table, ids);
        let limit = self.owner().map_or(0, |owner| owner.shared.options.threads());
        if limit == 0 && !threads::has_own() {
            return work;
        }
        Box::new(move || threads::limited(limit, &work))
    }

    /// Ends a call that recorded operations, when its results are values of tensors. On an eager device, what was
    /// evaluated leaves the trace; the trace of another device is compacted if it has become large.
    #[inline(always)]
    pub fn end_call(&mut self) {
        if self.is_lazy() {
            return self.compact_if_large();
        }
        if !self.trace.clear_operations() {
            self.remove_evaluated();
        }
        self.forget_shapes();
    }

    /// Discards what an earlier call recorded on an eager device before it failed.
    #[inline]
    pub fn begin_call(&mut self) {
        if self.is_native() && !self.trace.is_empty() {
            self.remove_evaluated();
        }
    }

    /// Removes operations that were evaluated or abandoned from a trace with leaves, bodies, or operations that wait.
    #[cold]
    fn remove_evaluated(&mut self) {
        let data = if self.trace.pending() == 0 { self.trace.clear() } else { self.trace.remove_last() };
        if !data.is_empty() {
            // It may be the last reference to an array whose memory is owned by another library.
            call::drop_later(data);
        }
        self.compact_if_large();
    }

    /// Returns the leaf of an array.
    #[cold]
    pub(super) fn leaf_of(&mut self, array: &Array) -> NodeId {
        let data = self.arrays.of(array);
        self.trace.leaf(&data)
    }

    /// Whether a node that was just recorded depends on a placeholder, on an eager device. Nodes that are values of
    /// tensors always do, so the search is limited to the nodes recorded by the current call.
    #[inline]
    pub fn waits(&self, id: NodeId) -> bool {
        self.not_native > 0 && self.needs_placeholder(id)
    }

    #[cold]
    fn needs_placeholder(&self, id: NodeId) -> bool {
        self.trace.search(&[id], |id, node| {
            let waits = match node.op {
                Op::Leaf => device_data::of_node(&self.trace, node).is_some_and(DeviceData::is_placeholder),
                _ => self.trace.holder(id) != NONE,
            };
            if waits { ControlFlow::Break(()) } else { ControlFlow::Continue(true) }
        })
    }
}
