//! Keeps XLA from evaluating operations on large constants while it compiles: its interpreter takes microseconds for
//! each element that it combines, compares or looks up, as for the largest of `arange(1e6)`, the running sum of
//! `ones(300000)`, or the counts of a pooling with padding (`docs/xla-workarounds.md`, "Evaluation of large
//! constants").

use crate::emit::{Emitter, Extent, Folded, emit, mlir};
use ir::{Op, ReduceOp};

/// Least number of elements of a constant that is not evaluated. The interpreter takes up to 20 microseconds for each.
const LARGE: usize = 1 << 12;

/// The same for operations that combine each element with many others.
const LARGE_OF_PRODUCTS: usize = 1 << 8;

/// Whether an operation applies traced computations that XLA inlines before it folds constants.
fn is_call(op: Op) -> bool {
    matches!(op, Op::Call | Op::Custom | Op::While | Op::Scan | Op::If | Op::Case)
}

/// The least number of elements of a constant for which XLA's interpreter is slow with an operation. What an operation
/// applies may be slow.
fn least(op: Op) -> Option<usize> {
    match op {
        Op::Reduce(_) | Op::ReduceWith | Op::Sort | Op::TopK | Op::Gather | Op::Take | Op::Scatter => Some(LARGE),
        op if is_call(op) => Some(LARGE),
        Op::ReduceWindow | Op::SelectAndScatter | Op::Matmul | Op::DotGeneral | Op::Convolution => {
            Some(LARGE_OF_PRODUCTS)
        }
        _ => None,
    }
}

/// Writes barriers behind the large constants among the operands of a slow operation, and notes whether XLA may compute
/// the operation's value while it compiles. The CPU backend removes barriers after it has folded constants, before it
/// fuses. `is_elementwise` returns whether an operation is elementwise.
pub fn keep_constants(e: &mut Emitter, position: usize, is_elementwise: fn(Op) -> bool) {
    if e.platform.is_empty() || matches!(e.extent, Extent::Whole(_)) {
        return;
    }
    let value = e.instruction(position);
    // XLA evaluates an operation if all operands are constants, and a call in parts.
    let is_evaluated = is_call(value.op) || value.operands.iter().all(|&operand| e.folded[operand] != Folded::No);
    if let Some(least) = least(value.op).filter(|_| is_evaluated) {
        for &operand in value.operands.iter() {
            let (ty, folded) = (&e.instruction(operand).ty, e.folded[operand]);
            // XLA's simplifier multiplies a sum of equal numbers, which is fast and exact.
            let is_multiplied = value.op == Op::Reduce(ReduceOp::Sum) && folded == Folded::Equal;
            if folded == Folded::No || is_multiplied || ty.elements() < least {
                continue;
            }
            let (name, kept) = (e.name(operand), e.temporary());
            emit!(e, "    {kept} = stablehlo.optimization_barrier {name} : {}", mlir(ty));
            e.rename(operand, kept);
            e.folded[operand] = Folded::No;
        }
    }
    e.folded[position] = folded(e, position, is_elementwise);
}

/// Returns whether XLA may fold the value of an operation.
fn folded(e: &Emitter, position: usize, is_elementwise: fn(Op) -> bool) -> Folded {
    let value = e.instruction(position);
    let all = |least: fn(Folded) -> bool| value.operands.iter().all(|&operand| least(e.folded[operand]));
    match value.op {
        Op::Full => Folded::Equal,
        Op::Iota => Folded::Constant,
        // Barriers, calls of functions that XLA does not know, loops and what depends on the device.
        Op::Leaf
        | Op::OptimizationBarrier
        | Op::CustomCall
        | Op::Kernel
        | Op::While
        | Op::Scan
        | Op::RngBitGenerator
        | Op::RandomBits
        | Op::ShardMap => Folded::No,
        op if op.is_collective() || value.operands.is_empty() => Folded::No,
        op if (is_elementwise(op)
            || matches!(op, Op::Reshape | Op::BroadcastTo | Op::Transpose | Op::Slice | Op::Reduce(_)))
            && all(|each| each == Folded::Equal) =>
        {
            Folded::Equal
        }
        _ if all(|each| each != Folded::No) => Folded::Constant,
        _ => Folded::No,
    }
}

#[cfg(test)]
mod tests {
    use crate::LOWERING;
    use crate::creation::{full, iota};
    use crate::elementwise::{binary, binary_scalar};
    use crate::emit::{Emitter, Extent};
    use crate::reduction::{cumulative, reduce};
    use base::types::{DType, ScalarValue, TensorType};
    use ir::{BinaryOp, NodeId, ReduceOp, Trace, take_closed_body};
    use mesh::MeshAxes;

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
        assert_eq!(barriers("cpu", Extent::Device, 200, doubled_ones), 0);
        assert_eq!(barriers("", Extent::Device, 20_000, doubled_ones), 0);
        let axes = MeshAxes::new(&["data"], &[2]).unwrap();
        assert_eq!(barriers("cpu", Extent::Whole(&axes), 20_000, doubled_ones), 0);
        let of_parameter = |trace: &mut Trace, x: NodeId, ty: &TensorType| {
            let ones = doubled_ones(trace, x, ty);
            binary(trace, BinaryOp::Add, x, ones).unwrap()
        };
        assert_eq!(barriers("cpu", Extent::Device, 20_000, of_parameter), 0);
    }

    /// Number of barriers in a program of one constant of `size` elements.
    fn barriers_of(size: i64, record: fn(&mut Trace, NodeId) -> NodeId) -> usize {
        let mut trace = Trace::new();
        let x = trace.parameter(TensorType::new(DType::F32, &[1]));
        let numbers = iota(&mut trace, &TensorType::new(DType::F32, &[size]), 0).unwrap();
        let result = record(&mut trace, numbers);
        let body = take_closed_body(&trace, &[x], &[], &[result]).unwrap();
        let (values, _) = body.decode();
        let mut e = Emitter::new(&values, body.scalars(), &[], "cpu", LOWERING);
        e.lower_all();
        e.text.as_str().matches("optimization_barrier").count()
    }

    #[test]
    fn what_is_slow_to_evaluate_has_a_barrier() {
        let max = |trace: &mut Trace, x| reduce(trace, ReduceOp::Max, x, &[0], false).unwrap();
        assert_eq!((barriers_of(5_000, max), barriers_of(4_000, max)), (1, 0));
        let sum = |trace: &mut Trace, x| reduce(trace, ReduceOp::Sum, x, &[0], false).unwrap();
        assert_eq!(barriers_of(5_000, sum), 1);
        let twice = |trace: &mut Trace, x| {
            let all = [ReduceOp::Max, ReduceOp::Min].map(|op| reduce(trace, op, x, &[0], false).unwrap());
            binary(trace, BinaryOp::Add, all[0], all[1]).unwrap()
        };
        assert_eq!(barriers_of(5_000, twice), 1, "one barrier is enough for all users");
        let sum_of_ones = |trace: &mut Trace, _: NodeId| {
            let ones = full(trace, &TensorType::new(DType::F32, &[5_000]), ScalarValue::Float(1.0)).unwrap();
            reduce(trace, ReduceOp::Sum, ones, &[0], false).unwrap()
        };
        assert_eq!(barriers_of(5_000, sum_of_ones), 0, "the simplifier multiplies");
    }
}
