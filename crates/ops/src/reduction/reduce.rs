//! Reductions over axes.

use crate::definition::EvalContext;
use crate::elementwise::convert::convert;
use crate::elementwise::wide;
use crate::emit::{Emitter, Extent, emit, identity, mlir};
use crate::infer::{axis_set, inferred_with_arguments, refuse};
use crate::reduction::extremes;
use base::error::Result;
use base::types::{Axes, DType, Dims, Kind, TensorType};
use ir::{Arguments, BinaryOp, NodeId, Op, ReduceOp, Trace, attributes};
use native::{self, Array};

attributes! {
    /// Attributes of a reduction.
    pub struct ReduceAttributes {
        /// Axes that are reduced, ascending.
        pub axes: Axes,
    }
}

/// Records a reduction over axes.
pub fn reduce(trace: &mut Trace, op: ReduceOp, x: NodeId, axes: &[i64], keep_dims: bool) -> Result<NodeId> {
    if wide::is_any(trace, &[x]) {
        return wide::in_wide(trace, [x], |trace, [x]| reduce(trace, op, x, axes, keep_dims));
    }
    let x = counted(trace, op, x);
    inferred_with_arguments(trace, Op::Reduce(op), x, Arguments { list: axes, flag: keep_dims }, |ty| {
        check(op, ty)?;
        let reduced = axis_set("axes", axes, ty.dims.len())?;
        Ok((reduced != 0).then(|| infer(ty, reduced, keep_dims)))
    })
}

/// Returns the result type and the attributes of a reduction over a set of axes.
fn infer(x: &TensorType, reduced: u64, keep_dims: bool) -> (TensorType, ReduceAttributes) {
    let (mut axes, mut dims) = (Axes::new(), Dims::new());
    for (axis, &dim) in x.dims.iter().enumerate() {
        if reduced >> axis & 1 == 0 {
            dims.push(dim);
        } else {
            axes.push(axis as i64);
            dims.extend(keep_dims.then_some(1));
        }
    }
    (TensorType { dtype: x.dtype, dims }, ReduceAttributes { axes })
}

/// Converts pred to s64 before sums and products, which treat it as 0 and 1, as NumPy does.
pub(crate) fn counted(trace: &mut Trace, op: ReduceOp, x: NodeId) -> NodeId {
    let is_counted = matches!(op, ReduceOp::Sum | ReduceOp::Product) && trace.node(x).dtype == DType::Pred;
    if is_counted { convert(trace, x, DType::S64) } else { x }
}

/// Returns an error unless `op` supports elements of this type.
pub(crate) fn check(op: ReduceOp, x: &TensorType) -> Result<()> {
    let wanted = match op {
        _ if supports(op, x.dtype) => return Ok(()),
        ReduceOp::Sum | ReduceOp::Product => "integers, floats and complex numbers",
        ReduceOp::Max | ReduceOp::Min => "integers and floats",
        ReduceOp::All | ReduceOp::Any => "pred",
    };
    Err(refuse("this reduction", "x", x, wanted))
}

/// Whether `op` supports `dtype`.
#[inline]
fn supports(op: ReduceOp, dtype: DType) -> bool {
    match op {
        ReduceOp::Sum | ReduceOp::Product => dtype.kind() != Kind::Pred,
        ReduceOp::Max | ReduceOp::Min => dtype.is_integer() || dtype.kind() == Kind::Float,
        ReduceOp::All | ReduceOp::Any => dtype.kind() == Kind::Pred,
    }
}

/// Dtype in which a reduction accumulates: f32 for sums and products of f16 and bf16, whose results are rounded once.
pub(crate) fn accumulator(op: ReduceOp, dtype: DType) -> DType {
    match (op, dtype) {
        (ReduceOp::Sum | ReduceOp::Product, DType::F16 | DType::BF16) => DType::F32,
        _ => dtype,
    }
}

/// Writes the StableHLO of a reduction, accumulated in [`accumulator`]. Axes that are kept are restored by a reshape.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let Op::Reduce(op) = value.op else { return };
    let name = e.name_of(at);
    let x = value.operands[0];
    let dtype = accumulator(op, value.ty.dtype);
    let from = TensorType { dtype, dims: e.values[x].ty.dims.clone() };
    let ReduceAttributes { axes } = value.attributes();
    let kept = |axis: &usize| !axes.contains(&(*axis as i64));
    let dims = (0..from.dims.len()).filter(kept).map(|axis| from.dims[axis]).collect();
    let reduced = TensorType { dtype, dims };
    let operand = e.cast(x, &from);
    let element = TensorType::new(dtype, &[]);
    let init = e.constant(&element, identity(op, dtype));
    let applied = |e: &mut Emitter, operand: &str, init: &str, function: &str| {
        let total = e.temporary();
        emit!(
            e,
            "    {total} = stablehlo.reduce({operand} init: {init}) applies stablehlo.{function} across dimensions = {axes:?} : ({}, {}) -> {}",
            mlir(&from),
            mlir(&element),
            mlir(&reduced)
        );
        total
    };
    let is_extreme = matches!(op, ReduceOp::Max | ReduceOp::Min) && dtype.kind() == Kind::Float;
    let total = if is_extreme && matches!(e.extent, Extent::Whole(_)) {
        // The collectives of plugins lose NaN in maxima and minima over devices; sums keep it.
        let total = applied(e, &operand, &init, op.name());
        let marked = e.nan_or_zero(&operand, &from);
        let zero = e.constant(&element, 0);
        let sum = applied(e, &marked, &zero, ReduceOp::Sum.name());
        e.nan_or(&sum, &total, &reduced)
    } else if is_extreme && extremes::is_rewritten(e, &from) {
        let total = e.temporary();
        let extreme = if op == ReduceOp::Max { BinaryOp::Maximum } else { BinaryOp::Minimum };
        extremes::write(e, &total, extreme, [&operand, &init], &axes, [&from, &reduced]);
        total
    } else {
        applied(e, &operand, &init, op.name())
    };
    let shaped = e.temporary();
    let wide = TensorType { dtype, dims: value.ty.dims.clone() };
    emit!(e, "    {shaped} = stablehlo.reshape {total} : ({}) -> {}", mlir(&reduced), mlir(&wide));
    emit!(e, "    {name} = stablehlo.convert {shaped} : ({}) -> {}", mlir(&wide), mlir(&value.ty));
}

pub(super) fn native_reduce(cx: &EvalContext) -> Result<Array> {
    match cx.op {
        Op::Reduce(op) => native::reduce(op, cx.ty, &cx.attributes::<ReduceAttributes>().axes, cx.operands[0]),
        _ => unreachable!("asked for {:?}", cx.op),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_keep_or_drop_axes() {
        let mut trace = Trace::new();
        let x = trace.parameter(TensorType::new(DType::F32, &[2, 3, 4]));
        let mut run = |op, axes: &[i64], keep_dims| {
            let id = reduce(&mut trace, op, x, axes, keep_dims)?;
            let ReduceAttributes { axes } = trace.attributes(trace.node(id));
            Ok::<_, base::error::Error>((axes.to_vec(), trace.ty(id).dims.to_vec()))
        };
        assert_eq!(run(ReduceOp::Sum, &[-1, 0], false).unwrap(), (vec![0, 2], vec![3]));
        assert_eq!(run(ReduceOp::Sum, &[1], true).unwrap(), (vec![1], vec![2, 1, 4]));
        assert!(run(ReduceOp::Sum, &[0, -3], false).is_err());
        assert!(run(ReduceOp::All, &[0], false).is_err());
        assert_eq!(reduce(&mut trace, ReduceOp::Sum, x, &[], false).unwrap(), x);
    }
}
