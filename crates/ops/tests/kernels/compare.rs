//! Comparisons and selections.

use crate::common::apply;
use base::types::{DType, TensorType};
use half::bf16;
use ir::CompareOp;
use ir::Op;
use native::Array;
use native::testing::{array, preds, row};
use num_complex::Complex;

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
