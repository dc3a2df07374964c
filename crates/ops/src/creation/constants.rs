//! Constants and iota.

use crate::definition::EvalContext;
use crate::elementwise::convert::convert;
use crate::emit::{Emitter, emit, mlir};
use base::error;
use base::error::Result;
use ir::{NodeId, Op, Trace, attributes};
use native::{self, Array};

use base::types::{DType, Scalar, ScalarValue, TensorType, element_count, normalize_axis};

attributes! {
    /// Attributes of `iota`.
    pub struct IotaAttributes {
        /// Axis along which the values count.
        pub axis: usize,
    }
}

/// Records a tensor with `value` in every element.
pub fn full(trace: &mut Trace, ty: &TensorType, value: ScalarValue) -> Result<NodeId> {
    element_count(&ty.dims)?;
    let scalar = Scalar::new(ty.dtype, value).map_err(|e| e.context("value"))?;
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_scalar(Op::Full, ty.dtype, shape, &[], scalar))
}

/// Records a scalar tensor whose value changes from step to step: see [`Scalar::varying`].
pub fn varying(trace: &mut Trace, dtype: DType, value: ScalarValue) -> Result<NodeId> {
    let scalar = Scalar::new(dtype, value).map_err(|e| e.context("value"))?;
    Ok(constant(trace, &[], scalar.varying()))
}

/// Records an empty tensor of any dtype. Its fill value is 1, since f8e8m0fnu has no 0.
pub(crate) fn nothing(trace: &mut Trace, ty: &TensorType) -> Result<NodeId> {
    full(trace, ty, ScalarValue::Unsigned(1))
}

/// Records a pred tensor of the shape of `x` with `value` in every element.
pub(crate) fn every(trace: &mut Trace, x: NodeId, value: bool) -> Result<NodeId> {
    let ty = TensorType { dtype: DType::Pred, dims: trace.ty(x).dims };
    full(trace, &ty, ScalarValue::Unsigned(value.into()))
}

/// Records a tensor with the given scalar in every element.
pub fn constant(trace: &mut Trace, dims: &[i64], scalar: Scalar) -> NodeId {
    let shape = trace.intern(dims);
    trace.operation_with_scalar(Op::Full, scalar.dtype(), shape, &[], scalar)
}

/// Records 0, 1, 2, ... along `axis`.
pub fn iota(trace: &mut Trace, ty: &TensorType, axis: i64) -> Result<NodeId> {
    element_count(&ty.dims)?;
    if ty.dtype == DType::Pred {
        return Err(error!(InvalidArgument, "dtype: pred given; iota takes all other dtypes"));
    }
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    if !ty.dtype.has_arithmetic() {
        let counted = iota(trace, &TensorType { dtype: ty.dtype.wide(), dims: ty.dims.clone() }, axis as i64)?;
        return Ok(convert(trace, counted, ty.dtype));
    }
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::Iota, ty.dtype, shape, &[], &IotaAttributes { axis }))
}

pub(super) fn lower_iota(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let IotaAttributes { axis } = value.attributes();
    emit!(e, "    {} = stablehlo.iota dim = {axis} : {}", e.name_of(at), mlir(&value.ty));
}

pub(super) fn native_iota(cx: &EvalContext) -> Result<Array> {
    native::iota(cx.ty, cx.attributes::<IotaAttributes>().axis)
}
