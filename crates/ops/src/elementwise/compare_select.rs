//! Comparisons and select.

use crate::creation::constants::constant;
use crate::definition::EvalContext;
use crate::elementwise::binary::scalar_operand;
use crate::elementwise::wide;
use crate::emit::{Emitter, emit, mlir};
use crate::infer::{common_dims, common_dtype, inferred, refuse};
use base::error;
use base::error::Result;
use ir::{CompareOp, NodeId, Op, Trace};
use native::{self, Array};

use base::types::{DType, Kind, Scalar, ScalarValue, TensorType, broadcast, element_count};

/// Records an elementwise comparison of two tensors.
pub fn compare(trace: &mut Trace, op: CompareOp, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    let (l, r) = (trace.node(lhs), trace.node(rhs));
    if l.shape == r.shape && l.dtype == r.dtype && l.dtype.has_arithmetic() && is_ordered(op, l.dtype) {
        let shape = l.shape;
        return Ok(trace.operation(Op::Compare(op), DType::Pred, shape, &[lhs, rhs]));
    }
    if wide::is_any(trace, &[lhs, rhs]) {
        infer_compare(op, &trace.ty(lhs), &trace.ty(rhs))?;
        return wide::in_wide(trace, [lhs, rhs], |trace, [lhs, rhs]| compare(trace, op, lhs, rhs));
    }
    inferred(trace, Op::Compare(op), [lhs, rhs], |trace| infer_compare(op, &trace.ty(lhs), &trace.ty(rhs)))
}

/// Records a comparison with a scalar, which is converted to the tensor's dtype.
pub fn compare_scalar(
    trace: &mut Trace,
    op: CompareOp,
    x: NodeId,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<NodeId> {
    let scalar = scalar_operand(trace.node(x).dtype, scalar)?;
    let scalar = constant(trace, &[], scalar);
    if scalar_on_left { compare(trace, op, scalar, x) } else { compare(trace, op, x, scalar) }
}

/// Records `pred ? on_true : on_false`.
pub fn select(trace: &mut Trace, pred: NodeId, on_true: NodeId, on_false: NodeId) -> Result<NodeId> {
    let [p, a, b] = [pred, on_true, on_false].map(|id| trace.node(id));
    if p.dtype == DType::Pred && a.dtype == b.dtype && p.shape == a.shape && a.shape == b.shape {
        let (dtype, shape) = (a.dtype, a.shape);
        return Ok(trace.operation(Op::Select, dtype, shape, &[pred, on_true, on_false]));
    }
    inferred(trace, Op::Select, [pred, on_true, on_false], |trace| {
        infer_select(&trace.ty(pred), &trace.ty(on_true), &trace.ty(on_false))
    })
}

/// One branch of a select: a tensor, or a scalar with the dtype in which it was given.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// A tensor.
    Tensor(NodeId),
    /// A scalar and its dtype.
    Scalar(DType, ScalarValue),
}

/// Records `pred ? on_true : on_false`, where either branch may be a scalar. A scalar beside a tensor is converted to
/// the tensor's dtype; two scalars promote to a common dtype.
pub fn select_sides(trace: &mut Trace, pred: NodeId, sides: [Side; 2]) -> Result<NodeId> {
    let dtype = match sides {
        [Side::Tensor(x), _] | [_, Side::Tensor(x)] => trace.node(x).dtype,
        [Side::Scalar(a, _), Side::Scalar(b, _)] => {
            a.promote(b).map_err(|e| e.context(format_args!("on_true is a scalar of {a}, on_false one of {b}")))?
        }
    };
    let names = ["true_scalar", "false_scalar"];
    let mut nodes = [pred; 2];
    for ((node, side), name) in nodes.iter_mut().zip(sides).zip(names) {
        *node = match side {
            Side::Tensor(x) => x,
            Side::Scalar(_, value) => {
                let scalar = Scalar::new(dtype, value).map_err(|e| e.context(name))?;
                constant(trace, &[], scalar)
            }
        };
    }
    select(trace, pred, nodes[0], nodes[1])
}

/// Infers the result type of a comparison, whose dtype is pred.
fn infer_compare(op: CompareOp, lhs: &TensorType, rhs: &TensorType) -> Result<TensorType> {
    let dtype = common_dtype(lhs, rhs)?;
    if !is_ordered(op, dtype) {
        return Err(error!(InvalidArgument, "lhs is {lhs} and rhs is {rhs}: complex numbers have no order"));
    }
    Ok(TensorType { dtype: DType::Pred, dims: common_dims(lhs, rhs)? })
}

/// Whether `op` supports `dtype`: complex numbers have no order.
#[inline]
pub(crate) fn is_ordered(op: CompareOp, dtype: DType) -> bool {
    dtype.kind() != Kind::Complex || matches!(op, CompareOp::Eq | CompareOp::Ne)
}

fn infer_select(pred: &TensorType, on_true: &TensorType, on_false: &TensorType) -> Result<TensorType> {
    if pred.dtype != DType::Pred {
        return Err(refuse("select", "pred", pred, "pred"));
    }
    let named = || format!("pred is {pred}, on_true is {on_true}, on_false is {on_false}");
    let dtype = on_true.dtype.promote(on_false.dtype).map_err(|e| e.context(named()))?;
    let dims = broadcast(&on_true.dims, &on_false.dims)
        .and_then(|dims| broadcast(&pred.dims, &dims))
        .ok_or_else(|| error!(InvalidArgument, "{}: their shapes do not broadcast", named()))?;
    element_count(&dims)?;
    Ok(TensorType { dtype, dims })
}

pub(super) fn lower_compare(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let Op::Compare(op) = value.op else { return };
    let name = e.name_of(at);
    let (l, r) = (value.operands[0], value.operands[1]);
    let common = TensorType { dtype: e.promoted(&[l, r]), dims: value.ty.dims.clone() };
    let lhs = e.cast(l, &common);
    let rhs = e.cast(r, &common);
    let kind = match common.dtype.wide().kind() {
        Kind::Signed => "SIGNED",
        Kind::Unsigned | Kind::Pred | Kind::Subbyte => "UNSIGNED",
        Kind::Float | Kind::Float8 | Kind::Complex => "FLOAT",
    };
    let from = mlir(&common);
    let ty = mlir(&value.ty);
    emit!(e, "    {name} = stablehlo.compare {}, {lhs}, {rhs}, {kind} : ({from}, {from}) -> {ty}", op.name());
}

pub(super) fn lower_select(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let pred_ty = TensorType { dtype: DType::Pred, dims: value.ty.dims.clone() };
    let pred = e.cast(value.operands[0], &pred_ty);
    let on_true = e.cast(value.operands[1], &value.ty);
    let on_false = e.cast(value.operands[2], &value.ty);
    let ty = mlir(&value.ty);
    emit!(e, "    {name} = stablehlo.select {pred}, {on_true}, {on_false} : {}, {ty}", mlir(&pred_ty));
}

pub(super) fn native_compare(cx: &EvalContext) -> Result<Array> {
    let (a, b) = (cx.operands[0], cx.operands[1]);
    let op = match cx.op {
        Op::Compare(op) => op,
        _ => unreachable!("asked for {:?}", cx.op),
    };
    if a.ty().dtype == b.ty().dtype {
        return native::compare(op, cx.ty, a, b);
    }
    let dtype = a.ty().dtype.promote(b.ty().dtype)?;
    native::compare(op, cx.ty, &native::convert(a, dtype)?, &native::convert(b, dtype)?)
}
