//! Arithmetic on 8-bit floats: computed in f32 and rounded after each operation, so that results are the same on every
//! device, whether or not its plugin supports these dtypes.

use crate::elementwise::convert::convert;
use crate::infer::common_dtype;
use base::error::Result;
use base::types::{DType, Kind};
use ir::{NodeId, Trace};

/// Returns true if any operand is an 8-bit float.
#[inline]
pub fn is_any(trace: &Trace, operands: &[NodeId]) -> bool {
    operands.iter().any(|&id| trace.node(id).dtype.kind() == Kind::Float8)
}

/// Records an operation on 8-bit floats in f32. An f32 result is converted back; a result of another dtype (such as
/// pred) is not.
pub fn in_f32<const N: usize>(
    trace: &mut Trace,
    operands: [NodeId; N],
    record: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<NodeId>,
) -> Result<NodeId> {
    let dtype =
        operands.iter().map(|&id| trace.node(id).dtype).try_fold(trace.node(operands[0]).dtype, DType::promote)?;
    let wide = operands.map(|id| convert(trace, id, DType::F32));
    let result = record(trace, wide)?;
    Ok(if trace.node(result).dtype == DType::F32 { convert(trace, result, dtype) } else { result })
}

/// Records a product of two 8-bit float operands in f32. The result is of `dtype`, or else of the operands' common
/// dtype.
pub fn product(
    trace: &mut Trace,
    operands: [NodeId; 2],
    dtype: Option<DType>,
    record: impl FnOnce(&mut Trace, [NodeId; 2], Option<DType>) -> Result<NodeId>,
) -> Result<NodeId> {
    let [lhs, rhs] = operands.map(|id| trace.ty(id));
    let own = common_dtype(&lhs, &rhs)?;
    let wide = operands.map(|id| convert(trace, id, DType::F32));
    let result = record(trace, wide, dtype.filter(|&wanted| wanted != own))?;
    Ok(convert(trace, result, dtype.unwrap_or(own)))
}
