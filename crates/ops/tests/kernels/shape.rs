//! Rearrangements of elements.

use crate::common::apply;
use base::types::TensorType;
use base::types::{Axes, DType, Dims};
use ir::Op;
use native::testing::{array, counted, row as line};
use native::{Array, row, stack};
use ops::shape::{ConcatenateAttributes, PadAttributes, ReverseAttributes, SliceAttributes, TransposeAttributes};

fn s32(dims: &[i64]) -> TensorType {
    TensorType::new(DType::S32, dims)
}

#[test]
fn broadcasts_repeat_axes() {
    let to = |x: &Array, dims: &[i64]| apply::<i32>(Op::BroadcastTo, &s32(dims), &(), &[x]);
    assert_eq!(to(&counted(&[2, 1]), &[2, 2, 3]), [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
    assert_eq!(to(&array(&[], &[7]), &[3]), [7, 7, 7]);
    assert_eq!(to(&counted(&[3]), &[2, 3]), [0, 1, 2, 0, 1, 2]);
    assert!(to(&counted(&[1, 3]), &[0, 3]).is_empty());
}

#[test]
fn transposes_of_any_rank() {
    let run = |dims: &[i64], axes: &[i64]| {
        let out: Vec<i64> = axes.iter().map(|&axis| dims[axis as usize]).collect();
        let attributes = TransposeAttributes { permutation: Axes::from_slice(axes) };
        apply::<i32>(Op::Transpose, &s32(&out), &attributes, &[&counted(dims)])
    };
    assert_eq!(run(&[2, 3], &[1, 0]), [0, 3, 1, 4, 2, 5]);
    assert_eq!(run(&[2, 2, 2], &[0, 2, 1]), [0, 2, 1, 3, 4, 6, 5, 7]);
    assert_eq!(run(&[2, 2, 2], &[2, 0, 1]), [0, 2, 4, 6, 1, 3, 5, 7]);
    assert!(run(&[0, 3], &[1, 0]).is_empty());
    let (rows, columns) = (300, 170);
    let turned = run(&[rows, columns], &[1, 0]);
    assert!((0..turned.len()).all(|i| {
        let (row, column) = (i as i64 / rows, i as i64 % rows);
        i64::from(turned[i]) == column * columns + row
    }));
}

#[test]
fn reverses_along_any_axes() {
    let run = |dims: &[i64], axes: &[i64]| {
        let attributes = ReverseAttributes { axes: Axes::from_slice(axes) };
        apply::<i32>(Op::Reverse, &s32(dims), &attributes, &[&counted(dims)])
    };
    assert_eq!(run(&[2, 3], &[0]), [3, 4, 5, 0, 1, 2]);
    assert_eq!(run(&[2, 3], &[1]), [2, 1, 0, 5, 4, 3]);
    assert_eq!(run(&[2, 3], &[0, 1]), [5, 4, 3, 2, 1, 0]);
    assert_eq!(run(&[2, 2, 2], &[0, 2]), [5, 4, 7, 6, 1, 0, 3, 2]);
    assert_eq!(run(&[2, 2, 2], &[1]), [2, 3, 0, 1, 6, 7, 4, 5]);
    assert_eq!(run(&[3, 1], &[0, 1]), [2, 1, 0]);
    assert!(run(&[0, 3], &[0, 1]).is_empty());
}

#[test]
fn slices_with_strides() {
    let x = counted(&[4, 5]);
    let run = |out: &[i64], starts: &[i64], limits: &[i64], strides: &[i64]| {
        let [starts, limits, strides] = [starts, limits, strides].map(Dims::from_slice);
        apply::<i32>(Op::Slice, &s32(out), &SliceAttributes { starts, limits, strides }, &[&x])
    };
    assert_eq!(run(&[2, 2], &[1, 1], &[4, 5], &[2, 3]), [6, 9, 16, 19]);
    assert!(run(&[0, 0], &[4, 5], &[4, 5], &[1, 1]).is_empty());
    assert!(run(&[4, 0], &[0, 2], &[4, 2], &[1, 1]).is_empty());
    assert_eq!(run(&[1, 5], &[3, 0], &[4, 5], &[4, 1]), [15, 16, 17, 18, 19]);
}

#[test]
fn concatenation_promotes() {
    let (a, b) = (array(&[2, 1], &[1i8, 2]), array(&[2, 2], &[200u8, 201, 202, 203]));
    let none = array::<i8>(&[2, 0], &[]);
    let ty = TensorType::new(DType::S16, &[2, 3]);
    let along = |axis| ConcatenateAttributes { axis };
    assert_eq!(apply::<i16>(Op::Concatenate, &ty, &along(1), &[&a, &none, &b]), [1, 200, 201, 2, 202, 203]);
    let (a, b) = (line(&[1, 2]), line(&[3, 4]));
    assert_eq!(apply::<i32>(Op::Concatenate, &s32(&[4]), &along(0), &[&a, &b]), [1, 2, 3, 4]);
}

#[test]
fn padding_before_after_and_between() {
    let pad = |dims: &[i64], out: &[i64], low: &[i64], high: &[i64], interior: &[i64]| {
        let [low, high, interior] = [low, high, interior].map(Dims::from_slice);
        let operands = [&counted(dims), &array(&[], &[9])];
        apply::<i32>(Op::Pad, &s32(out), &PadAttributes { low, high, interior }, &operands)
    };
    assert_eq!(pad(&[3], &[8], &[1], &[2], &[1]), [9, 0, 9, 1, 9, 2, 9, 9]);
    assert_eq!(pad(&[4], &[2], &[-1], &[-1], &[0]), [1, 2]);
    assert_eq!(pad(&[4], &[4], &[-1], &[1], &[0]), [1, 2, 3, 9]);
    assert_eq!(pad(&[3], &[3], &[-1], &[-1], &[1]), [9, 1, 9]);
    assert_eq!(pad(&[3], &[2], &[-2], &[-1], &[1]), [1, 9]);
    assert_eq!(pad(&[2], &[2], &[5], &[-5], &[0]), [9, 9]);
    assert_eq!(pad(&[0], &[2], &[1], &[1], &[3]), [9, 9]);
    assert_eq!(pad(&[2, 2], &[3, 3], &[1, 0], &[0, 1], &[0, 0]), [9, 9, 9, 0, 1, 9, 2, 3, 9]);
}

#[test]
fn reversals_of_any_axes() {
    let x = counted(&[2, 3, 2]);
    let along = |axes: &[i64]| ReverseAttributes { axes: Axes::from_slice(axes) };
    let run = |axes: &[i64]| apply::<i32>(Op::Reverse, x.ty(), &along(axes), &[&x]);
    assert_eq!(run(&[1]), [4, 5, 2, 3, 0, 1, 10, 11, 8, 9, 6, 7]);
    assert_eq!(run(&[0, 1, 2]), (0..12).rev().collect::<Vec<i32>>());
    let none = array::<i32>(&[3, 0], &[]);
    assert!(apply::<i32>(Op::Reverse, none.ty(), &along(&[0]), &[&none]).is_empty());
}

#[test]
fn rows_and_stacks_are_inverse() {
    let x = counted(&[3, 2, 2]);
    let rows: Vec<Array> = (0..3).map(|i| row(&x, i).unwrap()).collect();
    assert_eq!(rows[1].elements::<i32>(), [4, 5, 6, 7]);
    let back = stack(&rows).unwrap();
    assert_eq!((back.ty(), back.bytes()), (x.ty(), x.bytes()));
}
