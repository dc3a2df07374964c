//! Comparison of floats in IEEE 754's total order: negative NaN, negative numbers, -0, +0, positive numbers, positive
//! NaN.

use crate::definition::Composed;
use crate::elementwise::binary::binary_scalar;
use crate::elementwise::bits::bitcast_convert;
use crate::elementwise::compare_select::{compare, compare_scalar, select};
use crate::elementwise::convert::convert;
use crate::infer::{common_dims, common_dtype, refuse};
use base::error::Result;
use base::types::{DType, Kind, ScalarValue};
use ir::{BinaryOp, CompareOp, NodeId, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[Composed {
    name: "compare_total_order",
    function: "lxla_compare_total_order",
    dtypes: "pred, integers, floats, 8-bit floats, types of 2 and 4 bits",
}];

/// Records a comparison in total order. For integers and pred it is the usual order. Floats of 8 and 4 bits are
/// compared in f32.
pub fn compare_total_order(trace: &mut Trace, op: CompareOp, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    let (l, r) = (trace.ty(lhs), trace.ty(rhs));
    let dtype = common_dtype(&l, &r)?;
    common_dims(&l, &r)?;
    if dtype.kind() == Kind::Complex {
        let (name, ty) = if l.dtype.kind() == Kind::Complex { ("lhs", &l) } else { ("rhs", &r) };
        return Err(refuse("compare_total_order", name, ty, "pred, integers and floats"));
    }
    if !dtype.is_float() && !dtype.is_minifloat() {
        return compare(trace, op, lhs, rhs);
    }
    let computed_in = if dtype.is_minifloat() { DType::F32 } else { dtype };
    let [a, b] = [lhs, rhs].map(|x| convert(trace, x, computed_in));
    let (a, b) = (key(trace, a)?, key(trace, b)?);
    compare(trace, op, a, b)
}

/// Records signed integer keys in the total order of floats: their bits, with all but the sign bit inverted for
/// negative floats.
fn key(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let (bits, rest) = match trace.node(x).dtype.size_bytes() {
        2 => (DType::S16, i64::from(i16::MAX)),
        4 => (DType::S32, i64::from(i32::MAX)),
        _ => (DType::S64, i64::MAX),
    };
    let x = bitcast_convert(trace, x, bits)?;
    let is_negative = compare_scalar(trace, CompareOp::Lt, x, ScalarValue::Signed(0), false)?;
    let turned = binary_scalar(trace, BinaryOp::Xor, x, ScalarValue::Signed(rest), false)?;
    select(trace, is_negative, turned, x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::TensorType;

    #[test]
    fn complex_numbers_have_no_total_order() {
        let mut trace = Trace::new();
        let (x, z) = (TensorType::new(DType::F32, &[2]), TensorType::new(DType::C64, &[2]));
        let (x, z) = (trace.parameter(x), trace.parameter(z));
        let e = compare_total_order(&mut trace, CompareOp::Lt, x, z).unwrap_err();
        assert!(e.message.contains("rhs: compare_total_order takes pred, integers and floats, not c64[2]"), "{e}");
    }
}
