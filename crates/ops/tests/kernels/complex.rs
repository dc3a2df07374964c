//! Complex numbers.

use crate::common::{apply, same};
use base::types::{DType, TensorType};
use ir::Op;
use ir::{BinaryOp, UnaryOp};
use native::testing::{Typed, array, row};
use num_complex::{Complex, Complex64};

type C64 = Complex<f32>;

fn near(got: Complex64, want: Complex64) {
    assert!((got - want).norm() <= 1e-12 * want.norm(), "{got}, not {want}");
}

fn one(op: UnaryOp, re: f64, im: f64) -> Complex64 {
    same::<Complex64>(Op::Unary(op), &[&row(&[Complex64::new(re, im)])])[0]
}

fn two<T: Typed>(op: BinaryOp, a: T, b: T) -> T {
    same::<T>(Op::Binary(op), &[&row(&[a]), &row(&[b])])[0]
}

#[test]
fn functions_have_their_values() {
    use ir::UnaryOp::*;
    let c = Complex64::new;
    near(one(Exponential, 1.0, 2.0), c(-1.131_204_383_756_813_6, 2.471_726_672_004_819));
    near(one(ExponentialMinusOne, 1e-9, 1e-9), c(1e-9, 1e-9 + 1e-18));
    near(one(Log, -1.0, 0.0), c(0.0, std::f64::consts::PI));
    near(one(Log, 1.0, 1e-3), c(4.999_997_500_001_667e-7, 9.999_996_666_668_668e-4));
    near(one(LogPlusOne, 1e-9, 0.0), c(1e-9 - 5e-19, 0.0));
    near(one(Tanh, 1.0, 2.0), c(1.166_736_257_240_92, -0.243_458_201_185_725_3));
    near(one(Tanh, -800.0, 1.0), c(-1.0, 0.0));
    near(one(Sqrt, -4.0, 0.0), c(0.0, 2.0));
    near(one(Rsqrt, 0.0, 2.0), c(0.5, -0.5));
    near(one(Logistic, 0.0, 0.0), c(0.5, 0.0));
    near(one(Tan, 1.0, 2.0), c(0.033_812_826_079_896_69, 1.014_793_616_146_633_6));
    near(one(Sine, 1.0, 2.0), c(3.165_778_513_216_168, 1.959_601_041_421_606));
    near(one(Cosine, 1.0, 2.0), c(2.032_723_007_019_665_6, -3.051_897_799_151_8));
    near(one(Sign, 3.0, 4.0), c(0.6, 0.8));
    assert_eq!(one(Sign, 0.0, 0.0), Complex64::ZERO);
    assert_eq!(one(Negate, 1.0, -2.0), c(-1.0, 2.0));
    assert_eq!(one(Exponential, 1e6, 0.0), c(f64::INFINITY, 0.0));
    let ty = TensorType::new(DType::F32, &[1]);
    assert_eq!(apply::<f32>(Op::Unary(Abs), &ty, &(), &[&row(&[C64::new(3e30, 4e30)])]), [5e30]);
}

#[test]
fn two_numbers() {
    use ir::BinaryOp::*;
    let c = C64::new;
    assert_eq!(two(Multiply, c(1.0, 2.0), c(3.0, -1.0)), c(5.0, 5.0));
    assert_eq!(two(Divide, c(5.0, 5.0), c(3.0, -1.0)), c(1.0, 2.0));
    assert_eq!(two(Divide, c(1e30, 1e30), c(1e30, 1e30)), c(1.0, 0.0));
    assert_eq!(two(Divide, c(1.0, 1.0), c(0.0, 0.0)), c(f32::INFINITY, f32::INFINITY));
    assert_eq!(two(Divide, c(1.0, 1.0), c(f32::INFINITY, f32::INFINITY)), c(0.0, 0.0));
    assert_eq!(two(Power, c(0.0, 0.0), c(0.0, 0.0)), c(1.0, 0.0));
    assert_eq!(two(Power, c(0.0, 0.0), c(1.0, 1.0)), c(0.0, 0.0));
    assert!(two(Power, c(0.0, 0.0), c(-1.0, 0.0)).re.is_nan() && two(Power, c(0.0, 0.0), c(0.0, 1.0)).im.is_nan());
    near(two(Power, Complex64::new(1.0, 1.0), Complex64::new(2.0, 0.0)), Complex64::new(0.0, 2.0) + 1e-16);
}

#[test]
fn parts_come_back() {
    let wide = TensorType::new(DType::C64, &[2, 2]);
    let z: Vec<Complex<f32>> =
        apply(Op::Complex, &wide, &(), &[&array(&[2, 1], &[1.0f32, -0.0]), &row(&[f32::INFINITY, 2.0])]);
    assert_eq!(z[1], Complex::new(1.0, 2.0));
    assert!(z[2].re.is_sign_negative() && z[2].im.is_infinite());
    let ty = TensorType::new(DType::F64, &[2]);
    let z = row(&[Complex::new(1.0f64, -2.0), Complex::new(f64::NAN, 4.0)]);
    let (re, im): (Vec<f64>, Vec<f64>) = (apply(Op::Real, &ty, &(), &[&z]), apply(Op::Imag, &ty, &(), &[&z]));
    assert!(re[0] == 1.0 && re[1].is_nan());
    assert_eq!(im, [-2.0, 4.0]);
}
