//! Elementwise operations with two operands.

use super::array::Array;
use super::complex;
use super::element::by_integer_width;
use super::element::unsupported;
use super::elementwise::{Kernel2, Source, zip, zip_half};
use super::functions::Real;
use super::integer::Integer;
use base::error::Result;
use base::types::{DType, Kind, TensorType};
use half::{bf16, f16};
use ir::BinaryOp;
use std::ops;

/// Applies `op` elementwise. Array operands have the dtype of the result and broadcast to its shape.
#[inline]
pub fn binary(op: BinaryOp, ty: &TensorType, a: Source, b: Source) -> Result<Array> {
    let dtype = ty.dtype;
    let refuse = || unsupported(op.name(), dtype);
    match dtype.kind() {
        Kind::Float => match dtype {
            DType::F32 => zip(ty, a, b, float::<f32>(op).ok_or_else(refuse)?),
            DType::F64 => zip(ty, a, b, float::<f64>(op).ok_or_else(refuse)?),
            DType::F16 => zip_half::<f16>(ty, a, b, float(op).ok_or_else(refuse)?),
            _ => zip_half::<bf16>(ty, a, b, float(op).ok_or_else(refuse)?),
        },
        Kind::Complex => complex::binary(op, ty, a, b),
        Kind::Float8 => Err(refuse()),
        Kind::Pred => zip(ty, a, b, logical(op).ok_or_else(refuse)?),
        kind => by_integer_width!(dtype, T => {
            zip(ty, a, b, T::arithmetic(op, kind == Kind::Signed).ok_or_else(refuse)?)
        }),
    }
}

/// Kernel of an operation on floats; None if they do not support it.
pub(super) fn float<T: Real>(op: BinaryOp) -> Option<Kernel2<T, T>> {
    use BinaryOp::*;
    Some(match op {
        Add => |a, b, out| out.zip(a, b, ops::Add::add),
        Subtract => |a, b, out| out.zip(a, b, ops::Sub::sub),
        Multiply => |a, b, out| out.zip(a, b, ops::Mul::mul),
        Divide => |a, b, out| out.zip(a, b, ops::Div::div),
        Remainder => |a, b, out| out.zip(a, b, ops::Rem::rem),
        Power => T::powers,
        Maximum => |a, b, out| out.zip(a, b, T::greater),
        Minimum => |a, b, out| out.zip(a, b, T::smaller),
        Atan2 => |a, b, out| out.compute_two(a, b, T::atan2),
        _ => return None,
    })
}

fn logical(op: BinaryOp) -> Option<Kernel2<u8, u8>> {
    Some(match op {
        BinaryOp::And | BinaryOp::Minimum => |a, b, out| out.zip(a, b, |a, b| a & b),
        BinaryOp::Or | BinaryOp::Maximum => |a, b, out| out.zip(a, b, |a, b| a | b),
        BinaryOp::Xor => |a, b, out| out.zip(a, b, |a, b| a ^ b),
        _ => return None,
    })
}
