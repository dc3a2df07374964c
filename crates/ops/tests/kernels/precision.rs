//! Rounding to fewer bits.

use crate::common::apply;
use half::{bf16, f16};
use ir::Op;
use native::testing::row;
use ops::elementwise::ReducePrecisionAttributes;

fn f32s(x: &[f32], [exponent_bits, mantissa_bits]: [i64; 2]) -> Vec<f32> {
    let attributes = ReducePrecisionAttributes { exponent_bits, mantissa_bits };
    apply(Op::ReducePrecision, row(x).ty(), &attributes, &[&row(x)])
}

#[test]
fn to_the_mantissa_of_bf16_is_to_bf16() {
    let x: Vec<f32> = (0..100_000u32).map(|i| f32::from_bits(i.wrapping_mul(2_654_435_761))).collect();
    for (x, got) in x.iter().zip(f32s(&x, [8, 7])) {
        let want = bf16::from_f32(*x).to_f32();
        assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{x:?} {got:?} {want:?}");
    }
}

#[test]
fn to_the_format_of_f16_is_to_normal_numbers_of_f16() {
    let x: Vec<f32> = (0..100_000u32).map(|i| f32::from_bits(i.wrapping_mul(2_654_435_761))).collect();
    for (x, got) in x.iter().zip(f32s(&x, [5, 10])) {
        let want = f16::from_f32(*x).to_f32();
        let want = if want.abs() < 6.103_515_6e-5 { 0.0f32.copysign(want) } else { want };
        // A value that rounds up to the smallest normal number is that number here, but may stay subnormal in f16.
        let near = x.abs() > 6.1e-5 && x.abs() < 6.104e-5;
        assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()) || near, "{x:?} {got:?} {want:?}");
    }
}

#[test]
fn edges() {
    assert_eq!(f32s(&[1.5, 2.5, 3.5, -0.0, f32::INFINITY], [8, 0]), [2.0, 2.0, 4.0, -0.0, f32::INFINITY]);
    assert_eq!(f32s(&[f32::MAX], [8, 0]), [f32::INFINITY]);
    assert!(f32s(&[f32::NAN], [1, 0])[0].is_nan() && f32s(&[f32::NAN], [8, 3])[0].is_nan());
    assert_eq!(f32s(&[0.5, 1.0, 1.99, 2.0, 4.0, -1.0], [1, 23]), [0.0, 0.0, 0.0, f32::INFINITY, f32::INFINITY, -0.0]);
}
