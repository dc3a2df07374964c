//! Comparisons and select.

use super::array::Array;
use super::convert::convert;
use super::element::unsupported;
use super::element::{Element, by_integer_width, by_width};
use super::elementwise::{Kernel2, Source, zip, zip_wide};
use super::integer::Integer;
use super::shape::broadcast_to;
use super::writer::One;
use base::error::Result;
use base::types::{DType, Kind, TensorType};
use half::{bf16, f16};
use ir::CompareOp;
use num_complex::Complex;

/// Compares elementwise; the result is pred. The operands have the same dtype.
pub fn compare(op: CompareOp, ty: &TensorType, a: &Array, b: &Array) -> Result<Array> {
    use CompareOp::*;
    let dtype = a.ty().dtype;
    let (first, second) = (Source::Array(a), Source::Array(b));
    // Two orderings suffice: a > b is b < a.
    let (op, a, b) = match op {
        Gt => (Lt, second, first),
        Ge => (Le, second, first),
        other => (other, first, second),
    };
    match dtype {
        DType::F32 => zip(ty, a, b, ordered::<f32>(op)),
        DType::F64 => zip(ty, a, b, ordered::<f64>(op)),
        DType::F16 => zip_wide::<f16, u8>(ty, a, b, ordered::<f32>(op)),
        DType::BF16 => zip_wide::<bf16, u8>(ty, a, b, ordered::<f32>(op)),
        DType::C64 => zip(ty, a, b, equal::<Complex<f32>>(op).ok_or_else(|| unsupported(op.name(), dtype))?),
        DType::C128 => zip(ty, a, b, equal::<Complex<f64>>(op).ok_or_else(|| unsupported(op.name(), dtype))?),
        _ => by_integer_width!(dtype, T => zip(ty, a, b, T::comparison(op, dtype.kind() == Kind::Signed))),
    }
}

fn ordered<T: Element + PartialOrd>(op: CompareOp) -> Kernel2<T, u8> {
    match op {
        CompareOp::Lt | CompareOp::Gt => |a, b, out| out.zip(a, b, |a, b| u8::from(a < b)),
        CompareOp::Le | CompareOp::Ge => |a, b, out| out.zip(a, b, |a, b| u8::from(a <= b)),
        CompareOp::Eq => |a, b, out| out.zip(a, b, |a, b| u8::from(a == b)),
        CompareOp::Ne => |a, b, out| out.zip(a, b, |a, b| u8::from(a != b)),
    }
}

fn equal<T: Element>(op: CompareOp) -> Option<Kernel2<T, u8>> {
    match op {
        CompareOp::Eq => Some(|a, b, out| out.zip(a, b, |a, b| u8::from(a == b))),
        CompareOp::Ne => Some(|a, b, out| out.zip(a, b, |a, b| u8::from(a != b))),
        _ => None,
    }
}

/// Selects the element of `a` where `pred` is true, else that of `b`. All three broadcast to `ty`; `a` and `b` are
/// converted to its dtype.
pub fn select(ty: &TensorType, pred: &Array, a: &Array, b: &Array) -> Result<Array> {
    let is_whole = |x: &Array| x.ty().dims.iter().eq(&ty.dims);
    if a.ty().dtype == ty.dtype && b.ty().dtype == ty.dtype && is_whole(pred) && is_whole(a) && is_whole(b) {
        return choose(ty, pred, a, b);
    }
    let wide = |x: &Array| -> Result<Array> { broadcast_to(&convert(x, ty.dtype)?, ty) };
    if pred.ty().elements() == 1 {
        return if pred.bytes()[0] != 0 { wide(a) } else { wide(b) };
    }
    let pred = broadcast_to(pred, &TensorType { dtype: DType::Pred, dims: ty.dims.clone() })?;
    // The loop takes a single element as it is.
    let side = |x: &Array| if x.ty().elements() == 1 { convert(x, ty.dtype) } else { wide(x) };
    choose(ty, &pred, &side(a)?, &side(b)?)
}

/// Selects from arrays of one dtype. `a` and `b` have the shape of `ty`, or are single elements; `pred` has that shape.
fn choose(ty: &TensorType, pred: &Array, a: &Array, b: &Array) -> Result<Array> {
    by_width!(ty.dtype, T => {
        let (pred, a, b) = (pred.bytes(), a.elements::<T>(), b.elements::<T>());
        Array::write_elementwise(ty, &|range, out| {
            let pred = &pred[range.clone()];
            match (a, b) {
                (&[a], &[b]) => out.choose(pred, One(a), One(b)),
                (&[a], b) => out.choose(pred, One(a), &b[range]),
                (a, &[b]) => out.choose(pred, &a[range], One(b)),
                (a, b) => out.choose(pred, &a[range.clone()], &b[range]),
            }
        })
    })
}
