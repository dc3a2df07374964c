//! Slices and elements at indices.

use crate::common::apply;
use base::types::{DType, TensorType};
use ir::Op;
use native::Array;
use native::testing::{array, counted, row};
use ops::indexing::TakeAttributes;

fn s32(dims: &[i64]) -> TensorType {
    TensorType::new(DType::S32, dims)
}

#[test]
fn starts_are_clamped() {
    let x = counted(&[3, 4]);
    let slice = |i: i64, j: i64| {
        let (i, j) = (array(&[], &[i]), array(&[], &[j]));
        apply::<i32>(Op::DynamicSlice, &s32(&[2, 2]), &(), &[&x, &i, &j])
    };
    assert_eq!(slice(1, 1), [5, 6, 9, 10]);
    assert_eq!(slice(i64::MAX, i64::MIN), [4, 5, 8, 9]);
    let (top, left) = (array(&[], &[u64::MAX]), array(&[], &[0u64]));
    assert_eq!(apply::<i32>(Op::DynamicSlice, &s32(&[1, 2]), &(), &[&x, &top, &left]), [8, 9]);
    let update = array(&[2, 1], &[70, 80]);
    let (i, j) = (array(&[], &[9i8]), array(&[], &[1i8]));
    let updated = apply::<i32>(Op::DynamicUpdateSlice, x.ty(), &(), &[&x, &update, &i, &j]);
    assert_eq!(updated, [0, 1, 2, 3, 4, 70, 6, 7, 8, 80, 10, 11]);
    let none = array::<i32>(&[0, 4], &[]);
    assert_eq!(apply::<i32>(Op::DynamicUpdateSlice, x.ty(), &(), &[&x, &none, &i, &j]), x.elements::<i32>());
}

#[test]
fn taken_indices_wrap_once_and_are_clamped() {
    let x = counted(&[2, 3]);
    let take = |axis, dims: &[i64], indices: &Array| {
        apply::<i32>(Op::Take, &s32(dims), &TakeAttributes { axis }, &[&x, indices])
    };
    assert_eq!(take(1, &[2, 5], &row(&[0i8, -1, -3, -4, 100])), [0, 2, 0, 0, 2, 3, 5, 3, 3, 5]);
    assert_eq!(take(0, &[2, 1, 3], &array(&[2, 1], &[1u64, u64::MAX])), [3, 4, 5, 3, 4, 5]);
    assert_eq!(take(1, &[2], &array(&[], &[1i64])), [1, 4]);
    assert!(take(0, &[0, 3], &array::<i32>(&[0], &[])).is_empty());
}

#[test]
fn many_indices_are_taken_in_order() {
    let x = counted(&[2, 7]);
    // Indices are read 1,024 at a time.
    let many: Vec<i32> = (0..2 * 1024 + 1).map(|i| i % 9 - 1).collect();
    let taken = apply::<i32>(Op::Take, &s32(&[2, many.len() as i64]), &TakeAttributes { axis: 1 }, &[&x, &row(&many)]);
    let want = |first: i32| many.iter().map(move |&i| first + if i < 0 { 6 } else { i.min(6) });
    assert_eq!(taken, want(0).chain(want(7)).collect::<Vec<_>>());
}
