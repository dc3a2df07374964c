//! Comparisons and select.

use super::array::Array;
use super::convert::convert;
use super::element::unsupported;
use super::element::{Element, by_integer_width, by_width};
use super::elementwise::{Kernel2, Source, zip, zip_wide};
use super::integer::Integer;
use super::shape::broadcast_to;
use super::writer::One;
use crate::error::Result;
use crate::ir::CompareOp;
use crate::types::{DType, Kind, TensorType};
use half::{bf16, f16};
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

#[cfg(test)]
mod tests {
    use super::super::testing::{apply, array, preds, row};
    use super::*;
    use crate::ir::Op;

    fn all(a: &Array, b: &Array) -> Vec<Vec<u8>> {
        let ty = TensorType::new(DType::Pred, &a.ty().dims);
        CompareOp::ALL.iter().map(|&op| apply(Op::Compare(op), &ty, &(), &[a, b])).collect()
    }

    #[test]
    fn comparisons_of_every_kind() {
        // Rows: eq, ne, ge, gt, le, lt.
        let want = [[1, 0, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0]];
        assert_eq!(all(&row(&[1.0f32, 1.0, 3.0]), &row(&[1.0f32, 2.0, 2.0])), want);
        assert_eq!(all(&row(&[5i8, -1, 1]), &row(&[5i8, 1, -1])), want);
        assert_eq!(all(&row(&[5u8, 1, 255]), &row(&[5u8, 255, 1])), want);
        assert_eq!(all(&row(&[1.0, 1.0, 3.0].map(bf16::from_f32)), &row(&[1.0, 2.0, 2.0].map(bf16::from_f32))), want);
        assert_eq!(all(&preds(&[1, 0, 1]), &preds(&[1, 1, 0])), want);
        // Operands are promoted before they are compared.
        assert_eq!(all(&row(&[-1i8]), &row(&[255u8])), [[0], [1], [0], [0], [1], [1]]);
    }

    #[test]
    fn nan_is_unequal_and_has_no_order() {
        let nan = row(&[f64::NAN]);
        assert_eq!(all(&nan, &nan), [[0], [1], [0], [0], [0], [0]]);
        assert_eq!(all(&row(&[0.0f64]), &row(&[-0.0f64])), [[1], [0], [1], [0], [1], [0]]);
        let z = row(&[Complex::new(1.0f32, 2.0), Complex::new(1.0, f32::NAN)]);
        let ty = TensorType::new(DType::Pred, &[2]);
        assert_eq!(apply::<u8>(Op::Compare(CompareOp::Eq), &ty, &(), &[&z, &z]), [1, 0]);
        assert_eq!(apply::<u8>(Op::Compare(CompareOp::Ne), &ty, &(), &[&z, &z]), [0, 1]);
    }

    #[test]
    fn select_broadcasts_and_promotes_all_three() {
        let ty = TensorType::new(DType::S16, &[2, 2]);
        let (pred, a, b) = (preds(&[1, 0]), array(&[2, 1], &[1i8, 2]), array(&[], &[200u8]));
        assert_eq!(apply::<i16>(Op::Select, &ty, &(), &[&pred, &a, &b]), [1, 200, 2, 200]);
        for (pred, want) in [(0, [200, 200, 200, 200]), (1, [1, 1, 2, 2])] {
            assert_eq!(apply::<i16>(Op::Select, &ty, &(), &[&preds(&[pred]).reshape(&[]), &a, &b]), want);
        }
    }
}
