//! Evaluation of one operation.

use base::types::TensorType;
use bytemuck::Pod;
use ir::{Attributes, Op, encode};
use native::Array;
use ops::evaluate;

/// Evaluates an operation and returns the elements of its result.
pub fn apply<T: Pod + Send + Sync + PartialEq>(
    op: Op,
    ty: &TensorType,
    attributes: &impl Attributes,
    operands: &[&Array],
) -> Vec<T> {
    let result = evaluate(op, ty, &encode(attributes), None, operands).unwrap();
    assert_eq!(result.ty(), ty);
    result.elements().to_vec()
}

/// Like [`apply`] for operations whose result has the type of the first operand.
pub fn same<T: Pod + Send + Sync + PartialEq>(op: Op, operands: &[&Array]) -> Vec<T> {
    apply(op, operands[0].ty(), &(), operands)
}
