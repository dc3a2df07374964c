//! Arithmetic on floats of 8 bits: in f32, and rounded after each operation. So it is the same on every device, whatever a
//! plugin makes of such types itself.

use crate::error::Result;
use crate::ir::{NodeId, Trace};
use crate::ops::common_dtype;
use crate::ops::elementwise::convert::convert;
use crate::types::{DType, Kind};

/// Whether any of the operands is of 8 bits.
#[inline]
pub fn is_any(trace: &Trace, operands: &[NodeId]) -> bool {
    operands.iter().any(|&id| trace.node(id).dtype.kind() == Kind::Float8)
}

/// Records an operation on operands of one such type in f32, and its result in that type; truth values stay what they are.
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

/// Records a product of two operands of one such type in f32. The result is of `dtype`, or else of that type.
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
