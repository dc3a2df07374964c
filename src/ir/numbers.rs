//! Value numbering: equal numbers for nodes that apply the same operation to the same values.

use super::op::Op;
use super::shapes::ShapeId;
use super::trace::{NodeId, Trace};
use crate::types::DType;
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

#[cfg(test)]
mod tests {
    use super::super::members::{BinaryOp, UnaryOp};
    use super::*;
    use crate::ops::elementwise;
    use crate::types::{ScalarValue, TensorType};

    #[test]
    fn equal_operations_on_equal_values_have_one_number() {
        let mut t = Trace::new();
        let ty = TensorType::new(DType::F32, &[2]);
        let (a, b) = (t.parameter(ty.clone()), t.parameter(ty.clone()));
        let mut squared = |x, by: f64| {
            let tanh = elementwise::unary(&mut t, UnaryOp::Tanh, x).unwrap();
            let square = elementwise::binary(&mut t, BinaryOp::Multiply, tanh, tanh).unwrap();
            elementwise::binary_scalar(&mut t, BinaryOp::Multiply, square, ScalarValue::Float(by), false).unwrap()
        };
        let all = [squared(a, 2.0), squared(a, 2.0), squared(a, 3.0), squared(b, 2.0)];
        let sums =
            [(); 2].map(|()| t.application(Op::OptimizationBarrier, &[a], &(), &[], std::slice::from_ref(&ty))[0]);
        let again = t.result(t.operands(t.node(sums[0]))[0], 0, &ty);
        let numbers = t.value_numbers();
        let number = |id: NodeId| numbers[id.0 as usize];
        assert_eq!(number(all[0]), number(all[1]));
        assert_ne!(number(all[0]), number(all[2]));
        assert_ne!(number(all[0]), number(all[3]));
        assert_ne!(number(a), number(b));
        // Results of one application are equal, those of two are not.
        assert_eq!(number(sums[0]), number(again));
        assert_ne!(number(sums[0]), number(sums[1]));
    }
}
