//! Elementwise operations with one operand.

use super::array::Array;
use super::complex;
use super::element::by_integer_width;
use super::element::unsupported;
use super::elementwise::{Kernel1, map, map_half};
use super::functions::Real;
use super::halves::Half;
use super::writer::Writer;
use crate::error::Result;
use crate::ir::UnaryOp;
use crate::types::{DType, Kind, TensorType};
use half::{bf16, f16};

/// Integer operations that are the same for signed and unsigned types.
macro_rules! bits {
    ($T:ident, $op:expr, $ty:expr, $x:expr) => {
        map::<$T, $T>(
            $ty,
            $x,
            match $op {
                UnaryOp::Negate => |x, out| out.map(x, $T::wrapping_neg),
                UnaryOp::Not => |x, out| out.map(x, |x| !x),
                UnaryOp::Popcnt => |x, out| out.map(x, |x| x.count_ones() as $T),
                UnaryOp::CountLeadingZeros => |x, out| out.map(x, |x| x.leading_zeros() as $T),
                _ => return Err(unsupported($op.name(), $ty.dtype)),
            },
        )
    };
}

/// Applies `op` elementwise.
pub fn unary(op: UnaryOp, ty: &TensorType, x: &Array) -> Result<Array> {
    use UnaryOp::*;
    let dtype = x.ty().dtype;
    match (dtype, op) {
        (DType::F32, IsFinite) => map(ty, x, is_finite::<f32>),
        (DType::F64, IsFinite) => map(ty, x, is_finite::<f64>),
        (DType::F16, IsFinite) => map(ty, x, half_is_finite::<f16>),
        (DType::BF16, IsFinite) => map(ty, x, half_is_finite::<bf16>),
        (DType::F32, _) => map(ty, x, float::<f32>(op).ok_or_else(|| unsupported(op.name(), dtype))?),
        (DType::F64, _) => map(ty, x, float::<f64>(op).ok_or_else(|| unsupported(op.name(), dtype))?),
        (DType::F16, _) => map_half::<f16>(ty, x, float(op).ok_or_else(|| unsupported(op.name(), dtype))?),
        (DType::BF16, _) => map_half::<bf16>(ty, x, float(op).ok_or_else(|| unsupported(op.name(), dtype))?),
        (DType::C64 | DType::C128, _) => complex::unary(op, ty, x),
        (DType::Pred, Not) => map::<u8, u8>(ty, x, |x, out| out.map(x, |x| x ^ 1)),
        (_, Abs | Sign) if dtype.kind() == Kind::Signed => signed(op, ty, x),
        _ if dtype.is_integer() => by_integer_width!(dtype, T => bits!(T, op, ty, x)),
        _ => Err(unsupported(op.name(), dtype)),
    }
}

fn signed(op: UnaryOp, ty: &TensorType, x: &Array) -> Result<Array> {
    macro_rules! run {
        ($T:ident) => {
            map::<$T, $T>(
                ty,
                x,
                match op {
                    UnaryOp::Abs => |x, out| out.map(x, $T::wrapping_abs),
                    _ => |x, out| out.map(x, $T::signum),
                },
            )
        };
    }
    match ty.dtype {
        DType::S8 => run!(i8),
        DType::S16 => run!(i16),
        DType::S32 => run!(i32),
        _ => run!(i64),
    }
}

/// Kernel of an operation on floats; None if they do not support it.
pub(super) fn float<T: Real>(op: UnaryOp) -> Option<Kernel1<T, T>> {
    use UnaryOp::*;
    Some(match op {
        Negate => |x, out| out.map(x, |x| -x),
        Abs => |x, out| out.map(x, T::abs),
        Sign => |x, out| out.map(x, T::sign),
        Exponential => |x, out| out.compute(x, T::exp),
        ExponentialMinusOne => |x, out| out.compute(x, T::exp_m1),
        Log => T::logarithms,
        LogPlusOne => |x, out| out.compute(x, T::ln_1p),
        Logistic => |x, out| out.compute(x, T::logistic),
        Tanh => |x, out| out.compute(x, T::tanh),
        Sqrt => |x, out| out.map(x, T::sqrt),
        Rsqrt => |x, out| out.compute(x, T::rsqrt),
        Cbrt => T::cube_roots,
        Sine => T::sines,
        Cosine => T::cosines,
        Tan => T::tangents,
        Floor => |x, out| out.map(x, T::floor),
        Ceil => |x, out| out.map(x, T::ceil),
        RoundNearestEven => |x, out| out.map(x, T::round_to_even),
        RoundNearestAfz => |x, out| out.map(x, T::round_away),
        Not | Popcnt | CountLeadingZeros | IsFinite => return None,
    })
}

fn is_finite<T: Real>(x: &[T], out: &mut Writer<u8>) {
    out.map(x, |x| u8::from(x.is_finite()));
}

fn half_is_finite<H: Half>(x: &[H], out: &mut Writer<u8>) {
    out.map(x, |x| u8::from(x.wide().is_finite()));
}

#[cfg(test)]
mod tests {
    use super::super::testing::{apply, preds, row, same};
    use super::*;
    use crate::ir::Op;

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
        use UnaryOp::*;
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
        use UnaryOp::*;
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
}
