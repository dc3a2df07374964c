//! Clamp: values limited to the range between two bounds.

use crate::creation::constants::constant;
use crate::definition::EvalContext;
use crate::elementwise::binary::binary;
use crate::elementwise::wide;
use crate::emit::{Emitter, emit, mlir};
use crate::infer::{refuse, typed};
use base::error;
use base::error::Result;
use ir::{BinaryOp, NodeId, Op, Trace};
use native::{self, Array, Source};

use base::types::{DType, Kind, Scalar, ScalarValue, TensorType, broadcast, element_count};

/// Records `min(max(x, min), max)`, with broadcasting and type promotion.
pub fn clamp(trace: &mut Trace, min: NodeId, x: NodeId, max: NodeId) -> Result<NodeId> {
    let ty = infer(&trace.ty(min), &trace.ty(x), &trace.ty(max))?;
    if wide::is_any(trace, &[x]) {
        return wide::in_wide(trace, [min, x, max], |trace, [min, x, max]| clamp(trace, min, x, max));
    }
    Ok(typed(trace, Op::Clamp, &ty, &[min, x, max]))
}

/// Records a clamp to scalar bounds, which are converted to the dtype of `x`. A bound may be None.
pub fn clamp_scalars(
    trace: &mut Trace,
    min: Option<ScalarValue>,
    x: NodeId,
    max: Option<ScalarValue>,
) -> Result<NodeId> {
    let ty = trace.ty(x);
    if ty.dtype.kind() == Kind::Complex {
        return Err(refuse("clamp", "x", &ty, "pred, integers and floats"));
    }
    let of = |name, value: Option<ScalarValue>| {
        let element = |value| Scalar::new(ty.dtype, value).map_err(|e| e.context(name));
        value.map(element).transpose()
    };
    let (min, max) = (of("min", min)?, of("max", max)?);
    let [min, max] = [min, max].map(|bound| bound.map(|scalar| constant(trace, &[], scalar)));
    match (min, max) {
        (Some(min), Some(max)) => clamp(trace, min, x, max),
        (Some(min), None) => binary(trace, BinaryOp::Maximum, x, min),
        (None, Some(max)) => binary(trace, BinaryOp::Minimum, x, max),
        (None, None) => Ok(x),
    }
}

fn infer(min: &TensorType, x: &TensorType, max: &TensorType) -> Result<TensorType> {
    let named = || format!("min is {min}, x is {x}, max is {max}");
    let dtype =
        min.dtype.promote(x.dtype).and_then(|dtype| dtype.promote(max.dtype)).map_err(|e| e.context(named()))?;
    if dtype.kind() == Kind::Complex {
        return Err(error!(InvalidArgument, "{}: complex numbers have no order", named()));
    }
    let dims = broadcast(&min.dims, &x.dims)
        .and_then(|dims| broadcast(&dims, &max.dims))
        .ok_or_else(|| error!(InvalidArgument, "{}: their shapes do not broadcast", named()))?;
    element_count(&dims)?;
    Ok(TensorType { dtype, dims })
}

/// Writes the StableHLO of a clamp. StableHLO wants bounds that are scalars or have the shape of x; here all three
/// operands are broadcast to the result's shape. XLA of TensorFlow 2.21.0 has no clamp of preds on the CPU.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let operands: Vec<String> = value.operands.iter().map(|&operand| e.cast(operand, &value.ty)).collect();
    let ty = mlir(&value.ty);
    if value.ty.dtype == DType::Pred {
        let least = e.temporary();
        emit!(e, "    {least} = stablehlo.or {}, {} : {ty}", operands[0], operands[1]);
        emit!(e, "    {name} = stablehlo.and {least}, {} : {ty}", operands[2]);
        return;
    }
    emit!(e, "    {name} = stablehlo.clamp {} : {ty}", operands.join(", "));
}

/// Evaluates a clamp, `min` first, then `max`: where min > max, the result is `max`.
pub(super) fn native_clamp(cx: &EvalContext) -> Result<Array> {
    let converted = |i: usize| native::convert(cx.operands[i], cx.ty.dtype);
    let (min, x, max) = (converted(0)?, converted(1)?, converted(2)?);
    let dims = broadcast(&min.ty().dims, &x.ty().dims).expect("inference broadcast them");
    let ty = TensorType { dtype: cx.ty.dtype, dims };
    let raised = native::binary(BinaryOp::Maximum, &ty, Source::Array(&min), Source::Array(&x))?;
    native::binary(BinaryOp::Minimum, cx.ty, Source::Array(&raised), Source::Array(&max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_broadcast_and_promote() {
        let ty = |dtype, dims: &[i64]| TensorType::new(dtype, dims);
        let clamped = infer(&ty(DType::S8, &[]), &ty(DType::U8, &[2, 1]), &ty(DType::S32, &[3])).unwrap();
        assert_eq!(clamped, ty(DType::S32, &[2, 3]));
        assert!(infer(&ty(DType::C64, &[]), &ty(DType::F32, &[2]), &ty(DType::F32, &[])).is_err());
        assert!(infer(&ty(DType::S32, &[]), &ty(DType::F32, &[2]), &ty(DType::F32, &[])).is_err());
        assert!(infer(&ty(DType::F32, &[2]), &ty(DType::F32, &[3]), &ty(DType::F32, &[])).is_err());
    }
}
