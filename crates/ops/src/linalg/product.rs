//! Writes products of arrays as StableHLO.

use crate::elementwise::fold_barrier::{with_zero, zero_of_all};
use crate::emit::{Emitter, emit, mlir};
use crate::linalg::precision::written;
use base::types::{Kind, TensorType};
use ir::{Op, Precision};

/// An operand of a product.
pub struct Factor<'a> {
    /// The value, already in the dtype of the product.
    pub name: &'a str,
    pub ty: &'a TensorType,
    /// Batching and contracting axes. Those at the same position of both operands are paired.
    pub batching: &'a [i64],
    pub contracting: &'a [i64],
}

/// Writes `name`, the product of the values at two positions, as a `dot_general`. If XLA may find that both are forms
/// of one value, the product passes through an identity that XLA cannot fold: in 2026.6.23, a reduction of it ends the
/// process (`docs/xla-workarounds.md`, "Reductions of a product of a value with itself"). `stated` is the precision that
/// the operation states.
pub fn product(
    e: &mut Emitter,
    name: &str,
    positions: [usize; 2],
    [lhs, rhs]: [&Factor; 2],
    ty: &TensorType,
    stated: Option<Precision>,
) {
    let precision = written(e, stated, lhs.ty.dtype, ty.dtype);
    if !is_fused(e, lhs.ty, rhs.ty) || !may_be_equal(e, positions[0], positions[1], &mut { COMPARED }) {
        return write(e, name, [lhs, rhs], ty, &precision);
    }
    let product = e.temporary();
    write(e, &product, [lhs, rhs], ty, &precision);
    let zero = zero_of_all(e, &[(product.clone(), ty)], 0);
    let same = with_zero(e, &product, ty, &zero);
    emit!(e, "    {name} = stablehlo.optimization_barrier {same} : {}", mlir(ty));
}

fn write(e: &mut Emitter, name: &str, [lhs, rhs]: [&Factor; 2], ty: &TensorType, precision: &str) {
    emit!(
        e,
        "    {name} = stablehlo.dot_general {}, {}, batching_dims = {:?} x {:?}, contracting_dims = {:?} x {:?}, {precision} : ({}, {}) -> {}",
        lhs.name,
        rhs.name,
        lhs.batching,
        rhs.batching,
        lhs.contracting,
        rhs.contracting,
        mlir(lhs.ty),
        mlir(rhs.ty),
        mlir(ty)
    );
}

/// Whether XLA's CPU backend fuses a product of operands of these types with a reduction, and the operands can be forms
/// of one value.
fn is_fused(e: &Emitter, lhs: &TensorType, rhs: &TensorType) -> bool {
    e.platform == "cpu"
        && lhs.dtype.size_bytes() <= 4
        && lhs.dtype.kind() != Kind::Complex
        && lhs.elements() == rhs.elements()
}

/// Most pairs of operations that are compared for one product.
const COMPARED: usize = 64;

/// Returns false if two values differ for certain, apart from their shapes. XLA merges equal computations, so the
/// operations are compared, and their operands; after `left` pairs, the values may be equal. XLA may remove an
/// operation with a scalar, and the caller of a function may pass one value for two parameters.
fn may_be_equal(e: &Emitter, a: usize, b: usize, left: &mut usize) -> bool {
    let [a, b] = [a, b].map(|position| source(e, position));
    if a == b || *left == 0 {
        return true;
    }
    *left -= 1;
    let [x, y] = [a, b].map(|position| e.instruction(position));
    if x.op == Op::Leaf || y.op == Op::Leaf {
        return x.op == y.op && e.is_called;
    }
    x.op == y.op
        && x.words == y.words
        && x.ty == y.ty
        && x.bodies == y.bodies
        && x.operands.len() == y.operands.len()
        && x.operands.iter().zip(&y.operands).all(|(&a, &b)| may_be_equal(e, a, b, left))
}

/// Returns the value of which this one is another form: follows reshapes, transposes, slices of the whole, conversions
/// and operations with a scalar.
fn source(e: &Emitter, mut position: usize) -> usize {
    loop {
        let value = e.instruction(position);
        let elements = |operand: usize| e.instruction(operand).ty.elements();
        let is_full = |operand: &usize| e.instruction(*operand).op == Op::Full;
        let next = match value.op {
            Op::Convert | Op::BinaryScalar(_) | Op::ScalarBinary(_) => value.operands.first(),
            Op::Reshape | Op::Transpose | Op::Slice | Op::DynamicSlice | Op::BroadcastTo => {
                value.operands.first().filter(|&&operand| elements(operand) == value.ty.elements())
            }
            Op::Binary(_) if value.operands.iter().any(is_full) => {
                value.operands.iter().find(|operand| !is_full(operand))
            }
            _ => None,
        };
        match next {
            Some(&operand) => position = operand,
            None => return position,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::LOWERING;
    use crate::elementwise::{binary, binary_scalar};
    use crate::emit::Emitter;
    use crate::linalg::dot_general::{DotAxes, dot_general};
    use crate::linalg::matmul::matmul;
    use crate::shape::axes::transpose;
    use crate::shape::reshape;
    use base::types::{DType, ScalarValue, TensorType};
    use ir::{BinaryOp, NodeId, Trace, take_closed_body};

    /// Whether the product of the results of `make`, by two parameters, is written with a barrier. Asserts the same of
    /// both operations that record it.
    fn has_barrier(platform: &str, ty: &TensorType, is_called: bool, make: Make) -> bool {
        let written = [true, false].map(|by_matmul| {
            let mut trace = Trace::new();
            let parameters = [0, 1].map(|_| trace.parameter(ty.clone()));
            let [x, y] = make(&mut trace, parameters);
            let axes = DotAxes { lhs_batching: &[], rhs_batching: &[], lhs_contracting: &[1], rhs_contracting: &[0] };
            let made = if by_matmul { matmul(&mut trace, x, y) } else { dot_general(&mut trace, x, y, &axes, None) };
            let body = take_closed_body(&trace, &parameters, &[], &[made.unwrap()]).unwrap();
            let (values, _) = body.decode();
            let mut e = Emitter::new(&values, body.scalars(), &[], platform, LOWERING);
            e.is_called = is_called;
            e.lower_all();
            e.text.as_str().contains("optimization_barrier")
        });
        assert_eq!(written[0], written[1], "{platform}: {ty}");
        written[0]
    }

    type Make = fn(&mut Trace, [NodeId; 2]) -> [NodeId; 2];

    /// Returns x and the transpose of y.
    fn with_transpose(trace: &mut Trace, x: NodeId, y: NodeId) -> [NodeId; 2] {
        [x, transpose(trace, y, &[1, 0]).unwrap()]
    }

    fn squared(trace: &mut Trace, x: NodeId) -> NodeId {
        binary(trace, BinaryOp::Multiply, x, x).unwrap()
    }

    #[test]
    fn products_of_one_value_have_a_barrier() {
        let on_cpu = |make: Make| has_barrier("cpu", &TensorType::new(DType::F32, &[6, 4]), false, make);
        assert!(on_cpu(|trace, [x, _]| with_transpose(trace, x, x)));
        assert!(!on_cpu(|trace, [x, y]| with_transpose(trace, x, y)));
        // Equal computations, in other shapes, and with a scalar.
        assert!(on_cpu(|trace, [x, _]| {
            let [a, b] = [squared(trace, x), squared(trace, x)];
            let a = reshape(trace, a, &[3, 8]).unwrap();
            let b = binary_scalar(trace, BinaryOp::Multiply, b, ScalarValue::Float(1.0), false).unwrap();
            let b = reshape(trace, b, &[3, 8]).unwrap();
            with_transpose(trace, a, b)
        }));
        assert!(!on_cpu(|trace, [x, y]| {
            let [a, b] = [squared(trace, x), squared(trace, y)];
            with_transpose(trace, a, b)
        }));
        assert!(!on_cpu(|trace, [x, _]| {
            let square = squared(trace, x);
            with_transpose(trace, x, square)
        }));
    }

    #[test]
    fn values_of_long_computations_may_be_equal() {
        fn with_operations(trace: &mut Trace, [x, y]: [NodeId; 2], count: usize) -> [NodeId; 2] {
            let [x, y] = [x, y].map(|value| (0..count).fold(value, |value, _| squared(trace, value)));
            with_transpose(trace, x, y)
        }
        let on_cpu = |make: Make| has_barrier("cpu", &TensorType::new(DType::F32, &[6, 4]), false, make);
        assert!(!on_cpu(|trace, parameters| with_operations(trace, parameters, 60)));
        assert!(on_cpu(|trace, parameters| with_operations(trace, parameters, 70)));
    }

    #[test]
    fn parameters_of_a_called_function_may_be_one_value() {
        let ty = TensorType::new(DType::F32, &[6, 4]);
        assert!(has_barrier("cpu", &ty, true, |trace, [x, y]| with_transpose(trace, x, y)));
        assert!(!has_barrier("cpu", &ty, true, |trace, [x, y]| {
            let y = squared(trace, y);
            with_transpose(trace, x, y)
        }));
    }

    #[test]
    fn only_products_of_at_most_32_bits_on_cpu_have_a_barrier() {
        let of = |platform: &str, dtype: DType| {
            let ty = TensorType::new(dtype, &[6, 4]);
            has_barrier(platform, &ty, false, |trace, [x, _]| with_transpose(trace, x, x))
        };
        for dtype in [DType::F32, DType::BF16, DType::F16, DType::S8, DType::S32] {
            assert!(of("cpu", dtype), "{dtype}");
        }
        for dtype in [DType::F64, DType::C64, DType::S64] {
            assert!(!of("cpu", dtype), "{dtype}");
        }
        assert!(!of("cuda", DType::F32) && !of("", DType::F32));
    }
}
