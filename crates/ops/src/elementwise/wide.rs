//! Arithmetic on 8-bit floats and on types of 2 and 4 bits: computed in their wide dtype, f32 or integers of 8 bits, and
//! rounded or wrapped after each operation, so that results are the same on every device, whether or not its plugin
//! supports these dtypes.

use crate::elementwise::convert::convert;
use crate::infer::common_dtype;
use base::error::Result;
use base::types::DType;
use ir::{NodeId, Trace};

/// Returns true if any operand has a dtype without arithmetic.
#[inline]
pub fn is_any(trace: &Trace, operands: &[NodeId]) -> bool {
    operands.iter().any(|&id| !trace.node(id).dtype.has_arithmetic())
}

/// Records an operation on operands without arithmetic in their wide dtype. A result of the wide dtype is converted back;
/// a result of another dtype (such as pred) is not.
pub fn in_wide<const N: usize>(
    trace: &mut Trace,
    operands: [NodeId; N],
    record: impl FnOnce(&mut Trace, [NodeId; N]) -> Result<NodeId>,
) -> Result<NodeId> {
    let dtype =
        operands.iter().map(|&id| trace.node(id).dtype).try_fold(trace.node(operands[0]).dtype, DType::promote)?;
    let wide = operands.map(|id| convert(trace, id, dtype.wide()));
    let result = record(trace, wide)?;
    Ok(if trace.node(result).dtype == dtype.wide() { convert(trace, result, dtype) } else { result })
}

/// Records a product of two operands without arithmetic in their wide dtype. The result is of `dtype`, or else of the
/// operands' common dtype.
pub fn product(
    trace: &mut Trace,
    operands: [NodeId; 2],
    dtype: Option<DType>,
    record: impl FnOnce(&mut Trace, [NodeId; 2], Option<DType>) -> Result<NodeId>,
) -> Result<NodeId> {
    let [lhs, rhs] = operands.map(|id| trace.ty(id));
    let own = common_dtype(&lhs, &rhs)?;
    let wide = operands.map(|id| convert(trace, id, own.wide()));
    let result = record(trace, wide, dtype.filter(|&wanted| wanted != own))?;
    Ok(convert(trace, result, dtype.unwrap_or(own)))
}
