//! Elementwise operations with one operand.

use super::array::Array;
use super::complex;
use super::element::by_integer_width;
use super::element::unsupported;
use super::elementwise::{Kernel1, map, map_half};
use super::functions::Real;
use super::half_floats::Half;
use super::writer::Writer;
use base::error::Result;
use base::types::{DType, Kind, TensorType};
use half::{bf16, f16};
use ir::UnaryOp;

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
