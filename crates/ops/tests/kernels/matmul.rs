//! Matrix products.

use crate::common::apply;
use base::types::{DType, TensorType};
use ir::Op;
use native::testing::{array, counted, numbers};
use native::{Array, convert};

fn product(a: &Array, b: &Array, dims: &[i64]) -> Vec<i32> {
    apply(Op::Matmul, &TensorType::new(DType::S32, dims), &(), &[a, b])
}

#[test]
fn vectors_matrices_and_batches() {
    let (m, v) = (counted(&[2, 3]), counted(&[3]));
    assert_eq!(product(&v, &v, &[]), [5]);
    assert_eq!(product(&m, &v, &[2]), [5, 14]);
    assert_eq!(product(&v, &counted(&[3, 2]), &[2]), [10, 13]);
    assert_eq!(product(&m, &counted(&[3, 2]), &[2, 2]), [10, 13, 28, 40]);
    assert_eq!(product(&counted(&[2, 1, 3]), &counted(&[3, 1]), &[2, 1, 1]), [5, 14]);
    assert_eq!(product(&m, &counted(&[2, 3, 1]), &[2, 2, 1]), [5, 14, 14, 50]);
    assert_eq!(product(&v, &counted(&[2, 3, 1]), &[2, 1]), [5, 14]);
    let (a, b) = (counted(&[2, 1, 1, 2]), counted(&[3, 2, 1]));
    assert_eq!(product(&a, &b, &[2, 3, 1, 1]), [1, 3, 5, 3, 13, 23]);
    assert_eq!(product(&counted(&[2, 1, 2]), &counted(&[2, 2]), &[2, 1, 2]), [2, 3, 6, 11]);
}

#[test]
fn nothing_to_multiply() {
    let none = |dims: &[i64]| array::<i32>(dims, &[]);
    assert_eq!(product(&none(&[2, 0]), &none(&[0, 3]), &[2, 3]), [0; 6]);
    assert!(product(&none(&[0, 3]), &none(&[3, 0]), &[0, 0]).is_empty());
    assert!(product(&none(&[0, 2, 3]), &counted(&[1, 3, 2]), &[0, 2, 2]).is_empty());
    let floats = array::<f32>(&[2, 0], &[]);
    let ty = TensorType::new(DType::F32, &[2, 2]);
    assert_eq!(apply::<f32>(Op::Matmul, &ty, &(), &[&floats, &floats.reshape(&[0, 2])]), [0.0; 4]);
}

#[test]
fn every_dtype_agrees_and_promotes() {
    for dtype in numbers() {
        let [a, b] = [[2, 3], [3, 2]].map(|dims| convert(&counted(&dims), dtype).unwrap());
        let ty = TensorType::new(dtype, &[2, 2]);
        let result = ops::evaluate(Op::Matmul, &ty, &[], None, &[&a, &b]).unwrap();
        let result = convert(&result, DType::S32).unwrap();
        assert_eq!(result.elements::<i32>(), [10, 13, 28, 40], "{dtype}");
    }
    let (a, b) = (array(&[1, 1], &[100i8]), array(&[1, 1], &[200u8]));
    assert_eq!(apply::<i16>(Op::Matmul, &TensorType::new(DType::S16, &[1, 1]), &(), &[&a, &b]), [20_000]);
}

#[test]
fn large_matrices_by_vectors() {
    let (rows, depth) = (1100i64, 1000);
    let x: Vec<f32> = (0..rows * depth).map(|i| (i % 13) as f32 - 6.0).collect();
    let y: Vec<f32> = (0..depth).map(|i| (i % 5) as f32).collect();
    let ty = TensorType::new(DType::F32, &[rows]);
    let result: Vec<f32> = apply(Op::Matmul, &ty, &(), &[&array(&[rows, depth], &x), &array(&[depth], &y)]);
    for (row, sum) in x.chunks(depth as usize).zip(result) {
        assert_eq!(sum, row.iter().zip(&y).map(|(x, y)| x * y).sum::<f32>());
    }
}

#[test]
fn large_products_on_several_threads() {
    let n = 330i64;
    let x: Vec<f64> = (0..n * n).map(|i| (i % 13) as f64 - 6.0).collect();
    let ty = TensorType::new(DType::F64, &[n, n]);
    let result: Vec<f64> = apply(Op::Matmul, &ty, &(), &[&array(&[n, n], &x), &array(&[n, n], &x)]);
    let n = n as usize;
    for (i, j) in [(0, 0), (1, 199), (150, 3), (329, 329)] {
        let want: f64 = (0..n).map(|k| x[i * n + k] * x[k * n + j]).sum();
        assert_eq!(result[i * n + j], want);
    }
}
