//! Value numbering: equal numbers for nodes that apply the same operation to the same values.

use super::op::Op;
use super::shapes::ShapeId;
use super::trace::{NodeId, Trace};
use base::types::DType;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Operation with one result and the numbers of its operands; equal keys are equal values.
#[derive(PartialEq, Eq, Hash)]
struct Value<'a> {
    code: u32,
    dtype: DType,
    shape: ShapeId,
    operands: SmallVec<[u32; 4]>,
    words: &'a [i64],
    scalar: Option<(DType, u128)>,
}

impl Trace {
    /// A number for each node. Two nodes with one number have the same value. A leaf, and an operation with several
    /// results, have numbers of their own.
    pub fn value_numbers(&self) -> Vec<u32> {
        let mut known: FxHashMap<Value<'_>, u32> = FxHashMap::default();
        let mut numbers: Vec<u32> = Vec::with_capacity(self.len());
        for id in 0..self.len() as u32 {
            let node = self.node(NodeId(id));
            let number = if node.op == Op::Leaf || node.op.has_results() {
                id
            } else {
                let value = Value {
                    code: node.op.code(),
                    dtype: node.dtype,
                    shape: node.shape,
                    operands: self.operands(node).iter().map(|operand| numbers[operand.0 as usize]).collect(),
                    words: self.words(node),
                    scalar: self.scalar(node).map(|scalar| (scalar.dtype(), scalar.bits())),
                };
                *known.entry(value).or_insert(id)
            };
            numbers.push(number);
        }
        numbers
    }
}
