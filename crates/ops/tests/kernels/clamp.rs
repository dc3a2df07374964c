//! Clamping.

use crate::common::apply;
use base::types::{DType, TensorType};
use ir::Op;
use native::testing::{array, row};

#[test]
fn where_bounds_cross_the_upper_one_wins_and_nan_stays() {
    let nan = f32::NAN;
    let (min, max) = (array(&[], &[2.0f32]), row(&[5.0f32, 1.0, nan, 3.0]));
    let x = row(&[7.0f32, 7.0, 7.0, nan]);
    let got: Vec<f32> = apply(Op::Clamp, x.ty(), &(), &[&min, &x, &max]);
    assert_eq!(got[..2], [5.0, 1.0]);
    assert!(got[2].is_nan() && got[3].is_nan());
    let wide = TensorType::new(DType::S16, &[2, 2]);
    let got: Vec<i16> =
        apply(Op::Clamp, &wide, &(), &[&array(&[2, 1], &[-1i8, 3]), &row(&[0u8, 200]), &array(&[], &[100u8])]);
    assert_eq!(got, [0, 100, 3, 100]);
}
