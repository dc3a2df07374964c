//! Reductions along axes.

use crate::common::apply;
use base::types::Axes;
use base::types::{DType, TensorType};
use half::{bf16, f16};
use ir::ReduceOp;
use ir::{Op, encode};
use native::testing::{Typed, array, counted, numbers, preds, row};
use native::{Array, convert};
use ops::evaluate;
use ops::reduction::ReduceAttributes;

fn over<T: Typed>(op: ReduceOp, x: &Array, axes: &[i64], dims: &[i64]) -> Vec<T> {
    let attributes = ReduceAttributes { axes: Axes::from_slice(axes) };
    apply(Op::Reduce(op), &TensorType::new(T::DTYPE, dims), &attributes, &[x])
}

#[test]
fn any_axes() {
    let x = counted(&[2, 3, 4]);
    assert_eq!(over::<i32>(ReduceOp::Sum, &x, &[0, 1, 2], &[]), [276]);
    assert_eq!(over::<i32>(ReduceOp::Sum, &x, &[2], &[2, 3]), [6, 22, 38, 54, 70, 86]);
    assert_eq!(over::<i32>(ReduceOp::Sum, &x, &[1], &[2, 1, 4]), [12, 15, 18, 21, 48, 51, 54, 57]);
    assert_eq!(over::<i32>(ReduceOp::Sum, &x, &[0, 2], &[3]), [60, 92, 124]);
    assert_eq!(over::<i32>(ReduceOp::Max, &x, &[0], &[3, 4]), (12..24).collect::<Vec<i32>>());
    assert_eq!(over::<i32>(ReduceOp::Min, &x, &[1, 2], &[2]), [0, 12]);
    assert_eq!(over::<i32>(ReduceOp::Sum, &counted(&[1, 3, 1]), &[0, 2], &[3]), [0, 1, 2]);
}

#[test]
fn empty_reductions_give_the_identity() {
    let floats = |op| over::<f32>(op, &array::<f32>(&[2, 0], &[]), &[1], &[2]);
    assert_eq!(floats(ReduceOp::Sum), [0.0; 2]);
    assert_eq!(floats(ReduceOp::Product), [1.0; 2]);
    assert_eq!(floats(ReduceOp::Max), [f32::NEG_INFINITY; 2]);
    assert_eq!(floats(ReduceOp::Min), [f32::INFINITY; 2]);
    assert_eq!(over::<i8>(ReduceOp::Max, &array::<i8>(&[0, 3], &[]), &[0], &[3]), [i8::MIN; 3]);
    assert_eq!(over::<u16>(ReduceOp::Min, &array::<u16>(&[0], &[]), &[0], &[]), [u16::MAX]);
    assert_eq!(over::<f16>(ReduceOp::Max, &array::<f16>(&[0], &[]), &[0], &[]), [f16::NEG_INFINITY]);
    assert!(over::<i32>(ReduceOp::Sum, &array::<i32>(&[0, 2], &[]), &[1], &[0]).is_empty());
}

#[test]
fn nan_wins_and_pred_is_logic() {
    for at in [0, 1, 50, 99] {
        let mut x = [1.0f32; 100];
        x[at] = f32::NAN;
        assert!(over::<f32>(ReduceOp::Max, &row(&x), &[0], &[])[0].is_nan());
        assert!(over::<f32>(ReduceOp::Min, &array(&[50, 2], &x), &[0], &[2])[at % 2].is_nan());
    }
    let ty = TensorType::new(DType::Pred, &[]);
    for (x, all, any) in [([0, 0], 0, 0), ([0, 1], 0, 1), ([1, 1], 1, 1)] {
        let run = |op| {
            let attributes = ReduceAttributes { axes: Axes::from_slice(&[0]) };
            apply::<u8>(Op::Reduce(op), &ty, &attributes, &[&preds(&x)])
        };
        assert_eq!((run(ReduceOp::All), run(ReduceOp::Any)), (vec![all], vec![any]));
    }
}

/// The larger number: the first NaN, and 0.0 of zeros with different signs.
fn greater(a: f64, b: f64) -> f64 {
    match a == b {
        true => f64::from_bits(a.to_bits() & b.to_bits()),
        false => {
            if a > b || a.is_nan() {
                a
            } else {
                b
            }
        }
    }
}

/// The smaller number: the first NaN, and -0.0 of zeros with different signs.
fn smaller(a: f64, b: f64) -> f64 {
    match a == b {
        true => f64::from_bits(a.to_bits() | b.to_bits()),
        false => {
            if a < b || a.is_nan() {
                a
            } else {
                b
            }
        }
    }
}

#[test]
fn extremes_are_those_of_one_after_the_other() {
    let special = [1.0f64, -1.0, 0.0, -0.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let mut state = 1u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % below
    };
    for (rows, columns) in [(1, 17), (1, 100), (1, 3001), (150, 40), (70, 2500), (3, 5)].repeat(8) {
        let kinds = 1 + random(special.len());
        let x: Vec<f64> = (0..rows * columns).map(|_| special[random(kinds)]).collect();
        for (op, better) in [(ReduceOp::Max, greater as fn(f64, f64) -> f64), (ReduceOp::Min, smaller)] {
            let best = |x: &mut dyn Iterator<Item = f64>| x.reduce(better).unwrap();
            let same = |got: &[f64], want: &[f64]| {
                let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
                assert_eq!(bits(got), bits(want), "{op:?} {rows} {columns}");
            };
            let dims = [rows as i64, columns as i64];
            same(&over(op, &array(&dims, &x), &[0, 1], &[]), &[best(&mut x.iter().copied())]);
            let of_columns: Vec<f64> =
                (0..columns).map(|i| best(&mut x.iter().copied().skip(i).step_by(columns))).collect();
            same(&over(op, &array(&dims, &x), &[0], &dims[1..]), &of_columns);
            let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
            let of_rows: Vec<f64> = x.chunks(columns).map(|row| best(&mut row.iter().copied())).collect();
            let got: Vec<f32> = over(op, &array(&dims, &narrow), &[1], &dims[..1]);
            same(&got.iter().map(|&x| x.into()).collect::<Vec<f64>>(), &of_rows);
        }
    }
}

#[test]
fn large_sums_are_accurate() {
    for dims in [vec![3_000_001], vec![1500, 2000]] {
        let x: Vec<f32> = (0..base::types::count(&dims)).map(|i| 0.1 + (i % 7) as f32 * 1e-3).collect();
        let truth: f64 = x.iter().map(|&x| f64::from(x)).sum();
        let axes: Vec<i64> = (0..dims.len() as i64).collect();
        let sum = over::<f32>(ReduceOp::Sum, &array(&dims, &x), &axes, &[])[0];
        assert!((f64::from(sum) - truth).abs() < 1e-6 * truth, "{sum} {truth}");
        if let [rows, columns] = dims[..] {
            let sums = over::<f32>(ReduceOp::Sum, &array(&dims, &x), &[0], &[columns]);
            for (column, &sum) in sums.iter().enumerate() {
                let of = (0..rows as usize).map(|row| f64::from(x[row * columns as usize + column]));
                let truth: f64 = of.sum();
                assert!((f64::from(sum) - truth).abs() < 1e-6 * truth, "{sum} {truth}");
            }
        }
    }
}

#[test]
fn every_dtype_and_halves_accumulate_wide() {
    for dtype in numbers() {
        let x = convert(&row(&[1i32, 2, 3, 2, 1]), dtype).unwrap();
        let run = |op| {
            let ty = TensorType::new(dtype, &[]);
            let words = encode(&ReduceAttributes { axes: Axes::from_slice(&[0]) });
            let result = evaluate(Op::Reduce(op), &ty, &words, None, &[&x]).unwrap();
            convert(&result, DType::S32).unwrap().elements::<i32>()[0]
        };
        assert_eq!((run(ReduceOp::Sum), run(ReduceOp::Product)), (9, 12), "{dtype}");
        if !matches!(dtype, DType::C64 | DType::C128) {
            assert_eq!((run(ReduceOp::Max), run(ReduceOp::Min)), (3, 1), "{dtype}");
        }
    }
    assert_eq!(over::<bf16>(ReduceOp::Sum, &row(&[bf16::ONE; 1000]), &[0], &[])[0].to_f32(), 1000.0);
    assert_eq!(over::<i8>(ReduceOp::Sum, &row(&[100i8; 3]), &[0], &[]), [44]);
}
