//! Counts the operations and bytes of a program for runtimes that report neither, by the rules of XLA's HloCostAnalysis,
//! before any fusion.

use base::types::TensorType;
use ir::{Body, Instruction, Op, decode};
use ops::control::ScanAttributes;
use ops::linalg::DotGeneralAttributes;
use ops::nn::ConvolutionAttributes;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Operations and bytes of one run of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Additions, multiplications and other operations on elements; a multiplication that is added counts as two.
    pub flops: f64,
    /// Bytes of the operands and the results of all operations.
    pub bytes: f64,
}

/// Counts one run of a body: one iteration of a loop without a known number of iterations, the largest of branches.
pub fn cost(body: &Arc<Body>) -> Cost {
    // A body that others apply several times is counted once. Bodies come after the bodies that they apply.
    let mut known: FxHashMap<*const Body, Cost> = FxHashMap::default();
    let mut pending = vec![(body, false)];
    while let Some((body, is_entered)) = pending.pop() {
        if known.contains_key(&Arc::as_ptr(body)) {
            continue;
        }
        if is_entered {
            known.insert(Arc::as_ptr(body), of_body(body, &known));
        } else {
            pending.push((body, true));
            pending.extend(body.program().bodies().iter().map(|inner| (inner, false)));
        }
    }
    known[&Arc::as_ptr(body)]
}

/// Counts one run of a body, of which `known` has the bodies that it applies.
fn of_body(body: &Body, known: &FxHashMap<*const Body, Cost>) -> Cost {
    let (values, _) = body.decode();
    let mut total = Cost::default();
    for value in &values {
        let operands: Vec<&TensorType> = value.operands.iter().map(|&operand| &values[operand].ty).collect();
        let inner: Vec<Cost> = value.bodies.iter().map(|body| known[&Arc::as_ptr(body)]).collect();
        let one = of_operation(value, &operands, &inner);
        total = Cost { flops: total.flops + one.flops, bytes: total.bytes + one.bytes };
    }
    total
}

fn of_operation(value: &Instruction, operands: &[&TensorType], inner: &[Cost]) -> Cost {
    let most = |of: fn(&Cost) -> f64| inner.iter().map(of).fold(0.0, f64::max);
    let sum = |of: fn(&Cost) -> f64| inner.iter().map(of).sum::<f64>();
    let repeated = |times: f64| Cost { flops: times * sum(|one| one.flops), bytes: times * sum(|one| one.bytes) };
    match value.op {
        Op::Leaf | Op::Result | Op::StopGradient | Op::CheckpointName | Op::OptimizationBarrier => Cost::default(),
        Op::Scan => repeated(decode::<ScanAttributes>(&value.words).length as f64),
        Op::Call | Op::While | Op::ShardMap => repeated(1.0),
        Op::If | Op::Case => Cost { flops: most(|one| one.flops), bytes: most(|one| one.bytes) },
        // The first body is the function; rules of derivatives follow.
        Op::Custom => inner.first().copied().unwrap_or_default(),
        _ => {
            let bytes = operands.iter().map(|ty| ty.size_bytes() as f64).sum::<f64>() + value.ty.size_bytes() as f64;
            Cost { flops: flops(value, operands), bytes }
        }
    }
}

/// Returns the number of operations on elements of an operation that applies no body.
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
    use ops::control::{Applied, call, scan};
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

    #[test]
    fn bodies_count_as_often_as_they_run_and_are_visited_once() {
        let ty = TensorType::new(DType::F32, &[4]);
        let of = |record: &dyn Fn(&mut Trace, ir::NodeId) -> ir::NodeId| {
            let mut trace = Trace::new();
            let x = trace.parameter(ty.clone());
            let y = record(&mut trace, x);
            take_closed_body(&trace, &[x], &[], &[y]).unwrap()
        };
        let add = of(&|trace, x| ops::elementwise::binary(trace, BinaryOp::Add, x, x).unwrap());
        assert_eq!(cost(&add).flops, 4.0);
        fn applied(body: &Arc<Body>) -> Applied<'_> {
            Applied { body, captures: &[] }
        }
        let looped = of(&|trace, x| scan(trace, &applied(&add), &[x], &[], 5, false).unwrap()[0]);
        assert_eq!(cost(&looped).flops, 20.0);
        // A visit for each call would take 2^60 steps.
        let mut body = add.clone();
        for _ in 0..60 {
            let twice = of(&|trace, x| {
                let y = call(trace, &applied(&body), &[x]).unwrap()[0];
                call(trace, &applied(&body), &[y]).unwrap()[0]
            });
            body = twice;
        }
        assert_eq!(cost(&body).flops, 4.0 * (1u64 << 60) as f64);
    }
}
