//! Filling and counting.

use crate::common::apply;
use base::types::ScalarValue;
use base::types::{DType, Scalar, TensorType};
use ir::{BinaryOp, Op};
use native::testing::counted;
use ops::creation::IotaAttributes;
use ops::evaluate;

#[test]
fn full_has_the_scalar_everywhere() {
    for dtype in DType::ALL {
        let one = Scalar::new(dtype, ScalarValue::Signed(1)).unwrap();
        let ty = TensorType::new(dtype, &[2, 3]);
        let x = evaluate(Op::Full, &ty, &[], Some(one), &[]).unwrap();
        let size = dtype.size_bytes();
        assert!(x.bytes().chunks(size).all(|bytes| bytes == &one.bits().to_le_bytes()[..size]), "{dtype}");
    }
    assert!(evaluate(Op::Full, &TensorType::new(DType::F32, &[]), &[], None, &[]).is_err());
}

#[test]
fn iota_counts_along_any_axis() {
    let run =
        |dims: &[i64], axis| apply::<i32>(Op::Iota, &TensorType::new(DType::S32, dims), &IotaAttributes { axis }, &[]);
    assert_eq!(run(&[2, 3], 0), [0, 0, 0, 1, 1, 1]);
    assert_eq!(run(&[2, 3], 1), [0, 1, 2, 0, 1, 2]);
    assert_eq!(run(&[2, 2, 2], 1), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert!(run(&[0, 3], 1).is_empty());
    let bytes = apply::<u8>(Op::Iota, &TensorType::new(DType::U8, &[300]), &IotaAttributes { axis: 0 }, &[]);
    assert_eq!(bytes[255..258], [255, 0, 1]);
}

#[test]
fn what_is_no_operation_on_arrays_is_refused() {
    let x = counted(&[2]);
    for op in [Op::Leaf, Op::Call, Op::Result, Op::Binary(BinaryOp::Add)] {
        assert!(evaluate(op, x.ty(), &[0], None, &[&x]).is_err(), "{op:?}");
    }
    assert!(evaluate(Op::Reshape, &TensorType::new(DType::S32, &[2, 1]), &[], None, &[&x]).is_ok());
}
