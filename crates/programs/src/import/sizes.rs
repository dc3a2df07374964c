//! Values that are known during the import: constants of the module, and what is computed from them and from sizes.
//! Shape operands of `dynamic_*` operations are read from them, and assertions on sizes are checked.

use base::error;
use base::error::Result;
use base::types::DType;
use ir::{NodeId, Op, Trace};
use native::Array;
use rustc_hash::FxHashMap;

/// Constants, and values computed from constants.
#[derive(Default)]
pub struct Known {
    /// Values of the leaves of constants.
    constants: FxHashMap<NodeId, Array>,
    /// Values of evaluated nodes; None if a node depends on a parameter, or is not evaluated here.
    evaluated: FxHashMap<NodeId, Option<Array>>,
    /// Leaves of the constants, by the addresses of their elements.
    leaves: FxHashMap<usize, NodeId>,
}

impl Known {
    /// Maximum number of elements of values that are evaluated: lists of sizes, and what they are computed from.
    pub const MOST_ELEMENTS: usize = 1024;

    /// Returns the leaf of a constant: the same one for arrays that share memory and type.
    pub fn leaf(&mut self, trace: &mut Trace, array: &Array) -> NodeId {
        let address = array.address() as usize;
        if let Some(&leaf) = self.leaves.get(&address)
            && self.constants[&leaf].ty() == array.ty()
        {
            return leaf;
        }
        let leaf = trace.parameter(array.ty().clone());
        self.leaves.insert(address, leaf);
        self.constants.insert(leaf, array.clone());
        leaf
    }

    /// Returns the value of the leaf of a constant.
    pub fn constant(&self, leaf: NodeId) -> &Array {
        &self.constants[&leaf]
    }

    /// Returns the leaves of the constants that nodes need, each once, in the order of their nodes.
    pub fn constants_of(&self, trace: &Trace, results: &[NodeId]) -> Vec<NodeId> {
        let mut seen = vec![false; trace.len()];
        let mut open = results.to_vec();
        let mut found = Vec::new();
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id.0 as usize], true) {
                continue;
            }
            if self.constants.contains_key(&id) {
                found.push(id);
            }
            open.extend_from_slice(trace.operands(trace.node(id)));
        }
        found.sort_by_key(|id| id.0);
        found
    }

    /// Returns the value of a small node that is computed from constants; None if it depends on a parameter, or is not
    /// small.
    pub fn value(&mut self, trace: &Trace, id: NodeId) -> Option<Array> {
        // Operands are evaluated before their users, without recursion: chains of size arithmetic may be long.
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            if self.found(next).is_some() {
                open.pop();
                continue;
            }
            let operands = trace.operands(trace.node(next));
            let missing: Vec<NodeId> =
                operands.iter().copied().filter(|&operand| self.found(operand).is_none()).collect();
            if missing.is_empty() || !is_evaluated(trace, next) {
                let value = self.evaluate(trace, next);
                self.evaluated.insert(next, value);
                open.pop();
            } else {
                open.extend(missing);
            }
        }
        self.found(id).flatten().cloned()
    }

    /// Returns true if two nodes are one node, or the same operations on the same values, as of an index that exporters
    /// compute twice. Compares at most 256 pairs of nodes.
    pub fn are_equal(&self, trace: &Trace, one: NodeId, other: NodeId) -> bool {
        const MOST_PAIRS: usize = 256;
        let mut open = vec![(one, other)];
        for _ in 0..MOST_PAIRS {
            let Some((one, other)) = open.pop() else { return true };
            if one == other {
                continue;
            }
            let (a, b) = (trace.node(one), trace.node(other));
            let (of_a, of_b) = (trace.operands(a), trace.operands(b));
            let is_alike = a.op == b.op
                && trace.ty(one) == trace.ty(other)
                && trace.words(a) == trace.words(b)
                && trace.scalar(a) == trace.scalar(b)
                && of_a.len() == of_b.len();
            let is_value = is_alike && a.op == Op::Leaf && self.constant_bytes(one).is_some();
            match is_alike {
                true if is_value && self.constant_bytes(one) == self.constant_bytes(other) => {}
                true if is_evaluated(trace, one) && !of_a.is_empty() => {
                    open.extend(of_a.iter().copied().zip(of_b.iter().copied()));
                }
                true if matches!(a.op, Op::Full | Op::Iota) => {}
                _ => return false,
            }
        }
        false
    }

    fn constant_bytes(&self, leaf: NodeId) -> Option<&[u8]> {
        self.constants.get(&leaf).map(Array::bytes)
    }

    /// The value of a node, if it was found before.
    fn found(&self, id: NodeId) -> Option<Option<&Array>> {
        match self.constants.get(&id) {
            Some(array) => Some(Some(array)),
            None => self.evaluated.get(&id).map(Option::as_ref),
        }
    }

    fn evaluate(&self, trace: &Trace, id: NodeId) -> Option<Array> {
        if !is_evaluated(trace, id) {
            return None;
        }
        let node = trace.node(id);
        let operands: Vec<&Array> =
            trace.operands(node).iter().map(|&operand| self.found(operand).flatten()).collect::<Option<_>>()?;
        ops::evaluate(node.op, &trace.ty(id), trace.words(node), trace.scalar(node), &operands).ok()
    }

    /// Returns the elements of an integer node whose value is known; UNIMPLEMENTED if it depends on data.
    pub fn integers(&mut self, trace: &Trace, id: NodeId) -> Result<Vec<i64>> {
        let ty = trace.ty(id);
        if !ty.dtype.is_integer() {
            return Err(error!(InvalidArgument, "sizes of type {ty}; want integers"));
        }
        let array = self.value(trace, id).ok_or_else(|| {
            error!(Unimplemented, "a size depends on data; sizes have to follow from the shapes of the parameters")
        })?;
        integers_of(array.ty().dtype, array.bytes())
    }
}

/// Whether [`Known::value`] evaluates this node.
fn is_evaluated(trace: &Trace, id: NodeId) -> bool {
    let node = trace.node(id);
    node.op != Op::Leaf && !node.op.has_results() && trace.ty(id).elements() <= Known::MOST_ELEMENTS
}

/// Returns elements that are integers or preds.
pub fn integers_of(dtype: DType, bytes: &[u8]) -> Result<Vec<i64>> {
    let wide = |size: usize, signed: bool| -> Vec<i64> {
        let element = |bytes: &[u8]| {
            let negative = signed && bytes[size - 1] & 0x80 != 0;
            let mut all = [if negative { 0xff } else { 0 }; 8];
            all[..size].copy_from_slice(bytes);
            i64::from_le_bytes(all)
        };
        bytes.chunks_exact(size).map(element).collect()
    };
    if dtype != DType::Pred && !dtype.is_integer() {
        return Err(error!(InvalidArgument, "elements of type {dtype} given; want integers"));
    }
    let signed = matches!(dtype, DType::S8 | DType::S16 | DType::S32 | DType::S64);
    Ok(wide(dtype.size_bytes(), signed))
}
