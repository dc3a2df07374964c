//! Each operation with a rule, alone, with one and two sizes that change.

use crate::harness::{Build, check, check_near, input, template};
use base::types::{DType, ScalarValue};
use ir::{
    BinaryFunction, BinaryOp, CompareOp, FftOp, Instruction, NodeId, Op, Precision, ReduceOp, SpecialOp, UnaryFunction,
    UnaryOp,
};
use lowering::transform::mask;
use ops::nn::ConvolutionOptions;
use ops::{creation, elementwise, linalg, nn, reduction, shape};

const F32: DType = DType::F32;
const S32: DType = DType::S32;

#[test]
fn elementwise_operations() {
    check("add", &[9, 6], &|t, n| {
        let (x, y) = (input(t, F32, &[n[0], n[1]]), input(t, F32, &[1, n[1]]));
        let sum = elementwise::binary(t, BinaryOp::Add, x, y)?;
        let scaled = elementwise::binary_scalar(t, BinaryOp::Multiply, sum, ScalarValue::Signed(n[0]), false)?;
        let is = elementwise::compare(t, CompareOp::Lt, scaled, y)?;
        let chosen = elementwise::select(t, is, sum, scaled)?;
        let whole = elementwise::convert(t, chosen, S32);
        let negated = elementwise::unary(t, UnaryOp::Negate, whole)?;
        let clamped =
            elementwise::clamp_scalars(t, Some(ScalarValue::Signed(-3)), negated, Some(ScalarValue::Signed(5)))?;
        Ok((vec![x, y], vec![scaled, chosen, clamped]))
    });
    check_near("functions", &[9], &|t, n| {
        let x = input(t, F32, &[n[0], 2]);
        let tanh = elementwise::unary(t, UnaryOp::Tanh, x)?;
        let complex = elementwise::complex(t, x, tanh)?;
        let (real, imag) = (elementwise::real(t, complex)?, elementwise::imag(t, complex)?);
        let rounded = elementwise::reduce_precision(t, x, 5, 4)?;
        let bits = elementwise::bitcast_convert(t, x, S32)?;
        let narrow = elementwise::bitcast_convert(t, x, DType::U16)?;
        Ok((vec![x], vec![real, imag, rounded, bits, narrow, complex]))
    });
}

#[test]
fn functions() {
    check_near("functions of one and two", &[9, 6], &|t, n| {
        let (x, y) = (input(t, F32, &[n[0], n[1]]), input(t, F32, &[n[0], 1]));
        let mut results = vec![elementwise::binary_function(t, BinaryFunction::Logaddexp, x, y)?];
        results.push(elementwise::unary_function(t, UnaryFunction::Sinh, x)?);
        results.push(elementwise::special(t, SpecialOp::Erf, x)?);
        let softmax = ops::nn::softmax(t, x, 0)?;
        results.push(ops::nn::log_softmax(t, x, 1)?);
        results.push(reduction::variance(t, softmax, &[0], 1.0, false)?);
        results.push(reduction::logsumexp(t, x, &[0, 1], false)?);
        Ok((vec![x, y], results))
    });
    check("scalars on the left", &[9], &|t, n| {
        let x = input(t, F32, &[n[0]]);
        let from = elementwise::binary_scalar(t, BinaryOp::Subtract, x, ScalarValue::Signed(n[0]), true)?;
        Ok((vec![x], vec![from]))
    });
}

#[test]
fn shapes() {
    check("reshape", &[9, 6], &|t, n| {
        let x = input(t, S32, &[n[0], n[1], 4]);
        let merged = shape::reshape(t, x, &[n[0] * n[1], 4])?;
        let flat = shape::reshape(t, x, &[n[0], 4 * n[1]])?;
        let back = shape::reshape(t, flat, &[n[0], n[1], 2, 2])?;
        let all = shape::reshape(t, merged, &[4 * n[0] * n[1]])?;
        let split = shape::reshape(t, all, &[n[0], n[1], 4])?;
        let ones = shape::reshape(t, merged, &[1, n[0] * n[1], 1, 4, 1])?;
        let turned = shape::transpose(t, ones, &[3, 1, 0, 2, 4])?;
        let sum = reduction::reduce(t, ReduceOp::Sum, merged, &[0], false)?;
        Ok((vec![x], vec![merged, flat, back, all, split, turned, sum]))
    });
    check("broadcast", &[9, 6], &|t, n| {
        let (x, y) = (input(t, S32, &[n[1]]), input(t, S32, &[n[0], 1, 3]));
        let wide = shape::broadcast_to(t, x, &[n[0], 2, n[1]])?;
        let tall = shape::broadcast_to(t, y, &[n[0], n[1], 3])?;
        let five = creation::full(t, &base::types::TensorType::new(S32, &[n[0], n[1]]), ScalarValue::Signed(n[1]))?;
        let places = creation::iota(t, &base::types::TensorType::new(S32, &[n[0], n[1]]), 1)?;
        let sum = elementwise::binary(t, BinaryOp::Add, five, places)?;
        let total = reduction::reduce(t, ReduceOp::Sum, five, &[0], true)?;
        Ok((vec![x, y], vec![wide, tall, five, places, sum, total]))
    });
    check("reverse", &[9, 6], &|t, n| {
        let x = input(t, S32, &[n[0], 3, n[1]]);
        let one = shape::reverse(t, x, &[0])?;
        let all = shape::reverse(t, x, &[0, 1, 2])?;
        Ok((vec![x], vec![one, all]))
    });
}

#[test]
fn slices() {
    check("slice", &[9, 6], &|t, n| {
        let x = input(t, S32, &[n[0] + 2, 10, n[1]]);
        let first = shape::slice(t, x, &[0, 0, 0], &[n[0], n[1], n[1]], &[1, 1, 1])?;
        let last = shape::slice(t, x, &[2, 10 - n[1], 0], &[n[0] + 2, 10, n[1]], &[1, 1, 1])?;
        let end = shape::slice(t, x, &[n[0] + 1, 3, n[1] - 1], &[n[0] + 2, 5, n[1]], &[1, 1, 1])?;
        Ok((vec![x], vec![first, last, end]))
    });
    check("strides", &[9], &|t, n| {
        let x = input(t, S32, &[2 * n[0]]);
        let even = shape::slice(t, x, &[0], &[2 * n[0]], &[2])?;
        let odd = shape::slice(t, x, &[1], &[2 * n[0]], &[2])?;
        let half = shape::slice(t, x, &[n[0]], &[2 * n[0]], &[1])?;
        Ok((vec![x], vec![even, odd, half]))
    });
    check("pad", &[9, 6], &|t, n| {
        let (x, value) = (input(t, S32, &[n[0], n[1]]), input(t, S32, &[]));
        let around = shape::pad(t, x, value, &[1, 0], &[2, 3], &[0, 0])?;
        let to_ten = shape::pad(t, x, value, &[0, 0], &[10 - n[0], 10 - n[1]], &[0, 0])?;
        let before = shape::pad(t, x, value, &[n[1], 10 - n[1]], &[0, 0], &[0, 0])?;
        let both = shape::pad(t, x, value, &[n[1], 2], &[n[0], 1], &[0, 0])?;
        let between = shape::pad(t, x, value, &[1, 0], &[0, 2], &[0, 2])?;
        Ok((vec![x, value], vec![around, to_ten, before, both, between]))
    });
    check("concatenate", &[9, 6], &|t, n| {
        let parts = [n[0], 2, n[1], n[0], 3].map(|size| input(t, S32, &[size, n[1]]));
        let all = shape::concatenate(t, &parts, 0)?;
        let end = shape::concatenate(t, &[parts[1], parts[2]], 0)?;
        let beside = shape::concatenate(t, &[parts[0], parts[3]], 1)?;
        Ok((parts.to_vec(), vec![all, end, beside]))
    });
}

#[test]
fn products() {
    check("matmul", &[9, 6], &|t, n| {
        let (x, y) = (input(t, F32, &[n[0], n[1]]), input(t, F32, &[n[1], 3]));
        let z = input(t, F32, &[2, 1, n[1], n[0]]);
        let v = input(t, F32, &[n[1]]);
        let one = linalg::matmul(t, x, y)?;
        let many = linalg::matmul(t, z, x)?;
        let rows = linalg::matmul(t, x, v)?;
        let dot = linalg::matmul(t, v, v)?;
        Ok((vec![x, y, z, v], vec![one, many, rows, dot]))
    });
    check("dot_general", &[9, 6], &|t, n| {
        let (x, y) = (input(t, F32, &[n[0], 3, n[1]]), input(t, F32, &[n[1], n[0], 2]));
        let axes =
            linalg::DotAxes { lhs_batching: &[0], rhs_batching: &[1], lhs_contracting: &[2], rhs_contracting: &[0] };
        let made = linalg::dot_general(t, x, y, &axes, None)?;
        Ok((vec![x, y], vec![made]))
    });
    check_near("fft", &[9], &|t, n| {
        let x = input(t, F32, &[n[0], 8]);
        let spectrum = linalg::fft(t, FftOp::Rfft, x, &[8])?;
        let back = linalg::fft(t, FftOp::Irfft, spectrum, &[8])?;
        Ok((vec![x], vec![spectrum, back]))
    });
}

/// Products and convolutions of a masked program have the precision that the program states.
#[test]
fn precisions_are_kept() {
    let stated = Precision::parse("tf32_tf32_f32");
    let build: Build = &|t, n| {
        let (x, y) = (input(t, F32, &[n[0], 5]), input(t, F32, &[5, n[0]]));
        let axes = linalg::DotAxes { lhs_contracting: &[1], rhs_contracting: &[0], ..linalg::DotAxes::NONE };
        let dot = linalg::dot_general_with(t, x, y, &axes, None, stated)?;
        let other = linalg::dot_general(t, x, y, &axes, None)?;
        let (z, k) = (input(t, F32, &[n[0], 2, 6]), input(t, F32, &[3, 2, 2]));
        let options =
            ConvolutionOptions { feature_groups: 1, batch_groups: 1, precision: stated, ..Default::default() };
        let convolution = nn::convolution(t, z, k, &options)?;
        Ok((vec![x, y, z, k], vec![dot, other, convolution]))
    };
    let masked = mask(&template(build, 1), &[9]).unwrap();
    let (values, _) = masked.program.decode();
    let of = |value: &Instruction| match value.op {
        Op::DotGeneral => Some(value.attributes::<linalg::DotGeneralAttributes>().precision),
        Op::Convolution => Some(value.attributes::<nn::ConvolutionAttributes>().precision),
        _ => None,
    };
    let found: Vec<Option<Precision>> = values.iter().filter_map(of).collect();
    assert_eq!(found, [stated, None, stated]);
}

#[test]
fn reductions() {
    check("reduce", &[9, 6], &|t, n| {
        let (x, p) = (input(t, F32, &[n[0], 2, n[1]]), input(t, DType::Pred, &[n[0], n[1]]));
        let mut results: Vec<NodeId> = Vec::new();
        for op in [ReduceOp::Sum, ReduceOp::Product, ReduceOp::Max, ReduceOp::Min] {
            results.push(reduction::reduce(t, op, x, &[0], false)?);
            results.push(reduction::reduce(t, op, x, &[2, 1], true)?);
            let whole = elementwise::convert(t, x, S32);
            results.push(reduction::reduce(t, op, whole, &[0, 1, 2], false)?);
        }
        for op in [ReduceOp::All, ReduceOp::Any] {
            results.push(reduction::reduce(t, op, p, &[1], false)?);
        }
        Ok((vec![x, p], results))
    });
    check("argmax", &[9, 6], &|t, n| {
        let x = input(t, F32, &[n[0], n[1]]);
        let first = reduction::arg_extreme(t, x, 0, false, true, S32)?;
        let last = reduction::arg_extreme(t, x, 1, true, false, S32)?;
        Ok((vec![x], vec![first, last]))
    });
    check("cumulative", &[9, 6], &|t, n| {
        let x = input(t, F32, &[n[0], n[1]]);
        let mut results = Vec::new();
        for op in [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Product] {
            results.push(reduction::cumulative(t, op, x, 0, false)?);
            results.push(reduction::cumulative(t, op, x, 1, true)?);
        }
        Ok((vec![x], results))
    });
}
