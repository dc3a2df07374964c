//! Elementwise operations of one operand.

use crate::common::{apply, same};
use base::types::{DType, TensorType};
use half::{bf16, f16};
use ir::Op;
use ir::UnaryOp;
use native::Array;
use native::testing::{preds, row};

fn floats(op: UnaryOp, x: &[f32]) -> Vec<f32> {
    same(Op::Unary(op), &[&row(x)])
}

#[test]
fn integers_wrap() {
    assert_eq!(same::<i8>(Op::Unary(UnaryOp::Negate), &[&row(&[i8::MIN, 1, 0])]), [i8::MIN, -1, 0]);
    assert_eq!(same::<i64>(Op::Unary(UnaryOp::Abs), &[&row(&[i64::MIN, -7])]), [i64::MIN, 7]);
    assert_eq!(same::<i16>(Op::Unary(UnaryOp::Sign), &[&row(&[-300i16, 0, 9])]), [-1, 0, 1]);
    assert_eq!(same::<u32>(Op::Unary(UnaryOp::Negate), &[&row(&[1u32, 0])]), [u32::MAX, 0]);
    assert_eq!(same::<u8>(Op::Unary(UnaryOp::Not), &[&row(&[0u8, 0xF0])]), [0xFF, 0x0F]);
    assert_eq!(same::<i32>(Op::Unary(UnaryOp::Popcnt), &[&row(&[-1i32, 6])]), [32, 2]);
    assert_eq!(same::<i16>(Op::Unary(UnaryOp::CountLeadingZeros), &[&row(&[0i16, 1, -1])]), [16, 15, 0]);
    let not = apply::<u8>(Op::Unary(UnaryOp::Not), preds(&[0, 1]).ty(), &(), &[&preds(&[0, 1])]);
    assert_eq!(not, [1, 0]);
}

#[test]
fn rounding_and_signs() {
    use ir::UnaryOp::*;
    let x = [-2.5, -0.5, 0.5, 1.5, 2.5];
    assert_eq!(floats(RoundNearestEven, &x), [-2.0, -0.0, 0.0, 2.0, 2.0]);
    assert_eq!(floats(RoundNearestAfz, &x), [-3.0, -1.0, 1.0, 2.0, 3.0]);
    assert_eq!(floats(Floor, &x), [-3.0, -1.0, 0.0, 1.0, 2.0]);
    assert_eq!(floats(Ceil, &x), [-2.0, -0.0, 1.0, 2.0, 3.0]);
    let sign = floats(Sign, &[f32::NAN, -0.0, 0.0, -3.0, f32::INFINITY]);
    assert!(sign[0].is_nan() && sign[1].is_sign_negative() && sign[2].is_sign_positive());
    assert_eq!(sign[1..], [0.0, 0.0, -1.0, 1.0]);
}

#[test]
fn functions_have_their_values() {
    use ir::UnaryOp::*;
    assert_eq!(floats(Rsqrt, &[4.0, 0.0]), [0.5, f32::INFINITY]);
    assert_eq!(floats(Cbrt, &[-27.0]), [-3.0]);
    assert_eq!(floats(Logistic, &[0.0, -200.0, 200.0]), [0.5, 0.0, 1.0]);
    let near = |op, x: f32, want: f32| {
        let f = floats(op, &[x])[0];
        assert!((f - want).abs() < 1e-6, "{op:?} {x}: {f}");
        let d: Vec<f64> = same(Op::Unary(op), &[&row(&[f64::from(x)])]);
        assert!((d[0] - f64::from(want)).abs() < 1e-6, "{op:?} {x}: {d:?}");
        let h: Vec<f16> = same(Op::Unary(op), &[&row(&[f16::from_f32(x)])]);
        assert_eq!(h[0], f16::from_f32(want), "{op:?} {x}");
    };
    for (op, want) in [
        (Exponential, 1.648_721_3),
        (ExponentialMinusOne, 0.648_721_3),
        (Log, -std::f32::consts::LN_2),
        (LogPlusOne, 0.405_465_1),
        (Logistic, 0.622_459_35),
        (Tanh, 0.462_117_15),
        (Sqrt, std::f32::consts::FRAC_1_SQRT_2),
        (Sine, 0.479_425_55),
        (Cosine, 0.877_582_55),
        (Tan, 0.546_302_5),
    ] {
        near(op, 0.5, want);
    }
    // Beyond the range of the vectorized functions.
    let far = floats(Sine, &[1e30, 0.5, f32::INFINITY]);
    assert_eq!(far[..2], [1e30f32.sin(), 0.479_425_55]);
    assert!(far[2].is_nan());
}

#[test]
fn finite_is_pred_of_all_floats() {
    let ty = TensorType::new(DType::Pred, &[4]);
    let x = [f32::NAN, f32::INFINITY, 65504.0, -0.0];
    let finite = |x: Array| apply::<u8>(Op::Unary(UnaryOp::IsFinite), &ty, &(), &[&x]);
    assert_eq!(finite(row(&x)), [0, 0, 1, 1]);
    assert_eq!(finite(row(&x.map(f64::from))), [0, 0, 1, 1]);
    assert_eq!(finite(row(&x.map(f16::from_f32))), [0, 0, 1, 1]);
    assert_eq!(finite(row(&x.map(bf16::from_f32))), [0, 0, 1, 1]);
}

#[test]
fn sixteen_bits_are_rounded_once() {
    let x = [1.0, 1.001, 100.0, 6e-8].map(f16::from_f32);
    assert_eq!(same::<f16>(Op::Unary(UnaryOp::Sqrt), &[&row(&x)]), x.map(|x| f16::from_f32(x.to_f32().sqrt())));
    let many: Vec<bf16> = (0..1000).map(|i| bf16::from_f32(i as f32 * 0.01)).collect();
    let want: Vec<bf16> = many.iter().map(|x| bf16::from_f32(x.to_f32().floor())).collect();
    assert_eq!(same::<bf16>(Op::Unary(UnaryOp::Floor), &[&row(&many)]), want);
}
