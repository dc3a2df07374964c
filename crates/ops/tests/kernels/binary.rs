//! Elementwise operations of two operands.

use crate::common::{apply, same};
use base::types::{DType, TensorType};
use base::types::{Scalar, ScalarValue};
use half::f16;
use ir::BinaryOp;
use ir::BinaryOp::*;
use ir::Op;
use native::testing::{Typed, array, numbers, preds, row};
use native::{Array, convert};
use ops::evaluate;

fn two<T: Typed>(op: BinaryOp, a: &[T], b: &[T]) -> Vec<T> {
    same(Op::Binary(op), &[&row(a), &row(b)])
}

#[test]
fn integers_wrap_and_divide_by_zero() {
    assert_eq!(two(Add, &[i8::MAX], &[1]), [i8::MIN]);
    assert_eq!(two(Multiply, &[u64::MAX], &[u64::MAX]), [1]);
    assert_eq!(two(Divide, &[7, i32::MIN, -7, 5], &[0, -1, 2, 2]), [-1, i32::MIN, -3, 2]);
    assert_eq!(two(Remainder, &[7, i32::MIN, -7, 5], &[0, -1, 2, 2]), [7, 0, -1, 1]);
    assert_eq!(two(Divide, &[7u16], &[0]), [u16::MAX]);
    assert_eq!(two(Remainder, &[7u16], &[0]), [7]);
}

#[test]
fn integer_powers() {
    assert_eq!(two(Power, &[2i32, 3, -2, 0, 0, 7], &[10, 4, 3, 0, 5, 0]), [1024, 81, -8, 1, 0, 1]);
    assert_eq!(two(Power, &[2i64, 1, -1, -1, 0], &[-1, -5, -3, -4, -1]), [0, 1, -1, 1, 0]);
    assert_eq!(two(Power, &[3u8], &[200]), [(0..200).fold(1u8, |p, _| p.wrapping_mul(3))]);
}

#[test]
fn shifts_beyond_the_width() {
    let (a, b) = ([-128i8, -128, 127, 1, -1], [1, 8, 8, 7, -1]);
    assert_eq!(two(ShiftLeft, &a, &b), [0, 0, 0, -128, 0]);
    assert_eq!(two(ShiftRightArithmetic, &a, &b), [-64, -1, 0, 0, -1]);
    assert_eq!(two(ShiftRightLogical, &a, &b), [64, 0, 0, 0, 0]);
    assert_eq!(two(ShiftRightArithmetic, &[0x8000_0000u32], &[4]), [0xF800_0000]);
}

#[test]
fn floats_keep_nan_and_order_zeros() {
    let same_bits = |a: Vec<f32>, b: [f32; 2]| assert_eq!(a[0].to_bits(), b[0].to_bits(), "{a:?}");
    for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
        same_bits(two(Maximum, &[a], &[b]), [0.0; 2]);
        same_bits(two(Minimum, &[a], &[b]), [-0.0; 2]);
    }
    for op in [Maximum, Minimum] {
        assert!(two(op, &[f64::NAN, 1.0], &[1.0, f64::NAN]).iter().all(|x| x.is_nan()));
    }
    assert_eq!(two(Maximum, &[1.0f32, -5.0], &[2.0, -6.0]), [2.0, -5.0]);
    assert_eq!(two(Remainder, &[-5.5f32, 5.5], &[2.0, -2.0]), [-1.5, 1.5]);
    assert_eq!(two(Power, &[2.0f64, 0.0], &[-1.0, 0.0]), [0.5, 1.0]);
    assert_eq!(two(Atan2, &[-0.0f64], &[-1.0]), [-std::f64::consts::PI]);
}

#[test]
fn pred_is_logic() {
    let (a, b) = (preds(&[0, 0, 1, 1]), preds(&[0, 1, 0, 1]));
    let run = |op| apply::<u8>(Op::Binary(op), a.ty(), &(), &[&a, &b]);
    assert_eq!((run(And), run(Minimum)), (vec![0, 0, 0, 1], vec![0, 0, 0, 1]));
    assert_eq!((run(Or), run(Maximum)), (vec![0, 1, 1, 1], vec![0, 1, 1, 1]));
    assert_eq!(run(Xor), [0, 1, 1, 0]);
}

#[test]
fn every_dtype_of_numbers_adds_and_multiplies() {
    for dtype in numbers() {
        let x = convert(&row(&[3i32, 5, 2]), dtype).unwrap();
        for (op, want) in [(Add, [6, 10, 4]), (Multiply, [9, 25, 4]), (Subtract, [0; 3]), (Divide, [1; 3])] {
            let result = evaluate(Op::Binary(op), x.ty(), &[], None, &[&x, &x]).unwrap();
            assert_eq!(convert(&result, DType::S32).unwrap().elements::<i32>(), want, "{op:?} {dtype}");
        }
    }
}

#[test]
fn operands_broadcast_and_promote() {
    let add = |a: &Array, b: &Array, dims: &[i64]| {
        apply::<i32>(Op::Binary(Add), &TensorType::new(DType::S32, dims), &(), &[a, b])
    };
    let (column, line) = (array(&[2, 1], &[10, 20]), array(&[3], &[1, 2, 3]));
    assert_eq!(add(&column, &line, &[2, 3]), [11, 12, 13, 21, 22, 23]);
    assert_eq!(add(&line, &column, &[2, 3]), [11, 12, 13, 21, 22, 23]);
    assert_eq!(add(&array(&[], &[5]), &line, &[3]), [6, 7, 8]);
    assert_eq!(add(&array(&[1, 1], &[5]), &array(&[], &[7]), &[1, 1]), [12]);
    assert!(add(&array::<i32>(&[0, 3], &[]), &line, &[0, 3]).is_empty());
    assert!(add(&array::<i32>(&[2, 0], &[]), &column, &[2, 0]).is_empty());
    assert_eq!(add(&row(&[1i8, -1]), &row(&[200u8, 1]), &[2]), [201, 0]);
    // Rows too long to be expanded by the broadcast.
    let (long, column) = (array(&[1, 100], &[1; 100]), array(&[3, 1], &[10, 20, 30]));
    let sums = add(&long, &column, &[3, 100]);
    assert!((0..300).all(|i| sums[i] == 11 + 10 * (i as i32 / 100)));
}

#[test]
fn scalars_stand_on_either_side() {
    let scalar = |dtype, v| Some(Scalar::new(dtype, ScalarValue::Float(v)).unwrap());
    for count in [0, 1, 16, 17, 1000] {
        let x: Vec<f32> = (0..count).map(|i| i as f32).collect();
        let run = |op| evaluate(op, row(&x).ty(), &[], scalar(DType::F32, 2.0), &[&row(&x)]).unwrap();
        let (right, left) = (run(Op::BinaryScalar(Subtract)), run(Op::ScalarBinary(Subtract)));
        assert!(right.elements::<f32>().iter().zip(&x).all(|(y, x)| *y == x - 2.0));
        assert!(left.elements::<f32>().iter().zip(&x).all(|(y, x)| *y == 2.0 - x));
    }
    let x = row(&[f16::from_f32(1.5); 300]);
    let y = evaluate(Op::BinaryScalar(Multiply), x.ty(), &[], scalar(DType::F16, 3.0), &[&x]).unwrap();
    assert_eq!(y.elements::<f16>(), [f16::from_f32(4.5); 300]);
}
