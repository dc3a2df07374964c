//! Counts what a program computes and moves, as XLA's HloCostAnalysis counts, before any fusion: for runtimes that do not
//! say it.

use base::types::TensorType;
use ir::{Body, Instruction, Op, decode};
use ops::control::ScanAttributes;
use ops::linalg::DotGeneralAttributes;
use ops::nn::ConvolutionAttributes;

/// What one run of a program takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Additions, multiplications and other operations on elements; a multiplication that is added counts as two.
    pub flops: f64,
    /// Bytes of the operands and the results of all operations.
    pub bytes: f64,
}

/// Counts one run of a body: of a loop without a known number of iterations, one; of branches, the largest.
pub fn cost(body: &Body) -> Cost {
    let (values, _) = body.decode();
    let mut total = Cost::default();
    for value in &values {
        let operands: Vec<&TensorType> = value.operands.iter().map(|&operand| &values[operand].ty).collect();
        let one = of_operation(value, &operands);
        total = Cost { flops: total.flops + one.flops, bytes: total.bytes + one.bytes };
    }
    total
}

fn of_operation(value: &Instruction, operands: &[&TensorType]) -> Cost {
    let inner: Vec<Cost> = value.bodies.iter().map(|body| cost(body)).collect();
    let most = |of: fn(&Cost) -> f64| inner.iter().map(of).fold(0.0, f64::max);
    let sum = |of: fn(&Cost) -> f64| inner.iter().map(of).sum::<f64>();
    let repeated = |times: f64| Cost { flops: times * sum(|one| one.flops), bytes: times * sum(|one| one.bytes) };
    match value.op {
        Op::Leaf | Op::Result | Op::StopGradient | Op::CheckpointName | Op::OptimizationBarrier => Cost::default(),
        Op::Scan => repeated(decode::<ScanAttributes>(&value.words).length as f64),
        Op::Call | Op::While | Op::ShardMap => repeated(1.0),
        Op::If | Op::Case => Cost { flops: most(|one| one.flops), bytes: most(|one| one.bytes) },
        // The rules of derivatives come after the function.
        Op::Custom => inner.first().copied().unwrap_or_default(),
        _ => {
            let bytes = operands.iter().map(|ty| ty.size_bytes() as f64).sum::<f64>() + value.ty.size_bytes() as f64;
            Cost { flops: flops(value, operands), bytes }
        }
    }
}

/// Operations on elements of one operation without bodies that are computations.
fn flops(value: &Instruction, operands: &[&TensorType]) -> f64 {
    let result = value.ty.elements() as f64;
    let first = operands.first().map_or(0.0, |ty| ty.elements() as f64);
    match value.op {
        Op::Unary(_) | Op::Binary(_) | Op::BinaryScalar(_) | Op::ScalarBinary(_) | Op::Compare(_) => result,
        Op::UnaryFunction(_) | Op::BinaryFunction(_) | Op::Special(_) | Op::Select | Op::Clamp => result,
        Op::Reduce(_) | Op::AllReduce(_) | Op::ReduceScatter(_) | Op::ReduceWith => first,
        Op::Matmul => 2.0 * result * operands[0].dims.last().copied().unwrap_or(1) as f64,
        Op::DotGeneral => {
            let axes: DotGeneralAttributes = decode(&value.words);
            let contracted = axes.lhs_contracting.iter().map(|&axis| operands[0].dims[axis as usize] as f64);
            2.0 * result * contracted.product::<f64>()
        }
        Op::Convolution => {
            let axes: ConvolutionAttributes = decode(&value.words);
            let features = operands[1].dims[axes.rhs[0] as usize].max(1) as f64;
            2.0 * result * operands[1].elements() as f64 / features
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::DType;
    use ir::{BinaryOp, ReduceOp, Trace, take_closed_body};
    use ops::linalg::matmul;

    #[test]
    fn products_sums_and_elements_are_counted() {
        let mut trace = Trace::new();
        let x = trace.parameter(TensorType::new(DType::F32, &[8, 16]));
        let w = trace.parameter(TensorType::new(DType::F32, &[16, 4]));
        let y = matmul(&mut trace, x, w).unwrap();
        let z = ops::elementwise::binary(&mut trace, BinaryOp::Add, y, y).unwrap();
        let sum = ops::reduction::reduce(&mut trace, ReduceOp::Sum, z, &[0, 1], false).unwrap();
        let body = take_closed_body(&trace, &[x, w], &[], &[sum]).unwrap();
        let (product, added) = (2 * 8 * 4 * 16, 32);
        let bytes = 4 * ((128 + 64 + 32) + (32 + 32 + 32) + (32 + 1));
        assert_eq!(cost(&body), Cost { flops: (product + added + 32) as f64, bytes: bytes as f64 });
    }
}
