//! Keeps XLA from evaluating operations on large constants while it compiles: its interpreter takes microseconds for
//! each element of a window or of a reduction by a region, as for the running sum of `ones(300000)`, or for the counts
//! of a pooling with padding (`docs/xla-workarounds.md`, "Evaluation of large constants").

use crate::emit::{Emitter, Extent, emit, mlir};
use crate::ir::Op;

/// Minimum number of elements of a constant that is not evaluated.
const LARGE: usize = 1 << 14;

/// Most operations that are looked at for one operand.
const VISITED: usize = 64;

/// Whether XLA's interpreter is slow for an operation.
fn is_slow(op: Op) -> bool {
    matches!(op, Op::ReduceWith | Op::ReduceWindow | Op::SelectAndScatter)
}

/// Writes barriers behind the large constants among the operands of a slow operation. XLA removes them after it has
/// folded constants. `is_elementwise` returns whether an operation is elementwise.
pub fn keep_constants(e: &mut Emitter, position: usize, is_elementwise: fn(Op) -> bool) {
    let value = e.instruction(position);
    if !is_slow(value.op) || e.platform.is_empty() || matches!(e.extent, Extent::Whole(_)) {
        return;
    }
    for &operand in value.operands.iter() {
        let ty = &e.instruction(operand).ty;
        if ty.elements() < LARGE || !is_constant(e, operand, is_elementwise, &mut { VISITED }) {
            continue;
        }
        let (name, kept) = (e.name(operand), e.temporary());
        emit!(e, "    {kept} = stablehlo.optimization_barrier {name} : {}", mlir(ty));
        e.rename(operand, kept);
    }
}

/// Returns whether elementwise operations and operations on shapes compute a value from constants alone; false after
/// `left` operations.
fn is_constant(e: &Emitter, position: usize, is_elementwise: fn(Op) -> bool, left: &mut usize) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    let value = e.instruction(position);
    let mut of_constants = || value.operands.iter().all(|&operand| is_constant(e, operand, is_elementwise, left));
    match value.op {
        Op::Full | Op::Iota => true,
        Op::Leaf => false,
        Op::Reshape | Op::BroadcastTo | Op::Transpose | Op::Slice | Op::Concatenate | Op::Pad | Op::Reverse => {
            of_constants()
        }
        op => is_elementwise(op) && of_constants(),
    }
}

#[cfg(test)]
mod tests {
    use crate::emit::{Emitter, Extent};
    use crate::ir::{BinaryOp, NodeId, ReduceOp, Trace, take_closed_body};
    use crate::mesh::MeshAxes;
    use crate::ops::LOWERING;
    use crate::ops::creation::full;
    use crate::ops::elementwise::{binary, binary_scalar};
    use crate::ops::reduction::cumulative;
    use crate::types::{DType, ScalarValue, TensorType};

    /// Number of barriers in a running sum of what `make` makes of a parameter.
    fn barriers(
        platform: &str,
        extent: Extent,
        size: i64,
        make: fn(&mut Trace, NodeId, &TensorType) -> NodeId,
    ) -> usize {
        let ty = TensorType::new(DType::F32, &[size]);
        let mut trace = Trace::new();
        let x = trace.parameter(ty.clone());
        let summand = make(&mut trace, x, &ty);
        let sums = cumulative(&mut trace, ReduceOp::Sum, summand, 0, false).unwrap();
        let body = take_closed_body(&trace, &[x], &[], &[sums]).unwrap();
        let (values, _) = body.decode();
        let mut e = Emitter::new(&values, body.scalars(), &[], platform, LOWERING);
        e.extent = extent;
        e.lower_all();
        e.text.as_str().matches("optimization_barrier").count()
    }

    fn doubled_ones(trace: &mut Trace, _: NodeId, ty: &TensorType) -> NodeId {
        let ones = full(trace, ty, ScalarValue::Float(1.0)).unwrap();
        let twos = binary(trace, BinaryOp::Add, ones, ones).unwrap();
        binary_scalar(trace, BinaryOp::Multiply, twos, ScalarValue::Float(0.5), false).unwrap()
    }

    #[test]
    fn large_constants_have_a_barrier() {
        assert_eq!(barriers("cpu", Extent::Device, 20_000, doubled_ones), 1);
        assert_eq!(barriers("cuda", Extent::Pieces, 20_000, doubled_ones), 1);
        assert_eq!(barriers("cpu", Extent::Device, 2_000, doubled_ones), 0);
        assert_eq!(barriers("", Extent::Device, 20_000, doubled_ones), 0);
        let axes = MeshAxes::new(&["data"], &[2]).unwrap();
        assert_eq!(barriers("cpu", Extent::Whole(&axes), 20_000, doubled_ones), 0);
        let of_parameter = |trace: &mut Trace, x: NodeId, ty: &TensorType| {
            let ones = doubled_ones(trace, x, ty);
            binary(trace, BinaryOp::Add, x, ones).unwrap()
        };
        assert_eq!(barriers("cpu", Extent::Device, 20_000, of_parameter), 0);
    }
}
