//! Indices, sorts, windows, convolutions and random bits. Integers of parameters are from -4 to 11, so that indices are
//! negative, valid, beyond a size and beyond a bound.

use crate::harness::{check, check_near, input};
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, DimensionNumbers, ReduceOp, ScatterOp, Window};
use ops::control::{Applied, bodies};
use ops::nn::ConvolutionOptions;
use ops::random::RngAlgorithm;
use ops::{creation, elementwise, indexing, nn, random, reduction, shape, sorting};

const F32: DType = DType::F32;
const S32: DType = DType::S32;

#[test]
fn takes() {
    check("take", &[9, 6], &|t, n| {
        let (x, at) = (input(t, F32, &[n[0], 3]), input(t, S32, &[n[1]]));
        let (small, unsigned) = (input(t, DType::S8, &[2, n[1]]), input(t, DType::U32, &[n[1]]));
        let fixed = input(t, S32, &[4]);
        let rows = indexing::take(t, x, at, 0)?;
        let columns = indexing::take(t, x, small, 1)?;
        let again = indexing::take(t, x, small, 0)?;
        let natural = indexing::take(t, x, unsigned, 0)?;
        let few = indexing::take(t, x, fixed, 0)?;
        Ok((vec![x, at, small, unsigned, fixed], vec![rows, columns, again, natural, few]))
    });
    check("take_along_axis", &[9, 6], &|t, n| {
        let (x, at) = (input(t, F32, &[n[0], 3, n[1]]), input(t, S32, &[n[0], 5, n[1]]));
        let along = input(t, S32, &[n[0], 3, 2]);
        let one = indexing::take_along_axis(t, x, at, 1)?;
        let other = indexing::take_along_axis(t, x, along, 2)?;
        Ok((vec![x, at, along], vec![one, other]))
    });
    check("gather", &[9, 6], &|t, n| {
        let (x, at) = (input(t, F32, &[n[0], 7, n[1]]), input(t, S32, &[n[1], 2]));
        let numbers = DimensionNumbers {
            window_dims: vec![1, 2, 3],
            index_map: vec![1, 0],
            index_vector_dim: 1,
            ..DimensionNumbers::default()
        };
        let parts = indexing::gather(t, x, at, &numbers, &[2, 3, n[1]], false)?;
        Ok((vec![x, at], vec![parts]))
    });
}

#[test]
fn scatters() {
    check("segment", &[9, 6], &|t, n| {
        let (x, ids) = (input(t, F32, &[n[0], n[1]]), input(t, S32, &[n[0]]));
        let fixed = indexing::segment_reduce(t, ReduceOp::Sum, x, ids, 7)?;
        let free = indexing::segment_reduce(t, ReduceOp::Max, x, ids, n[1])?;
        Ok((vec![x, ids], vec![fixed, free]))
    });
    check("scatter", &[9, 6], &|t, n| {
        let (x, at) = (input(t, F32, &[n[0], 7, n[1]]), input(t, S32, &[n[1], 2]));
        let updates = input(t, F32, &[n[1], 2, 3, n[1]]);
        let numbers = DimensionNumbers {
            window_dims: vec![1, 2, 3],
            index_map: vec![1, 0],
            index_vector_dim: 1,
            ..DimensionNumbers::default()
        };
        let body = bodies::combine(BinaryOp::Add, F32)?;
        let applied = Applied { body: &body, captures: &[] };
        let made = indexing::scatter(t, &applied, &[x], at, &[updates], &numbers, Default::default())?;
        Ok((vec![x, at, updates], made))
    });
    check("scatter_along", &[9, 6], &|t, n| {
        let (x, at) = (input(t, F32, &[n[0], n[1]]), input(t, S32, &[n[0], n[1]]));
        let updates = input(t, F32, &[n[0], n[1]]);
        let sum = indexing::scatter_along(t, ScatterOp::Sum, x, at, updates, 1)?;
        let most = indexing::scatter_along(t, ScatterOp::Max, x, at, updates, 0)?;
        let unsigned = elementwise::convert(t, at, DType::U32);
        let row = shape::slice(t, unsigned, &[0, 0], &[n[0], 1], &[1, 1])?;
        let row = shape::reshape(t, row, &[n[0]])?;
        let put = indexing::index_combine(t, ScatterOp::Sum, x, 0, row, updates)?;
        Ok((vec![x, at, updates], vec![sum, most, put]))
    });
}

#[test]
fn dynamic_slices() {
    check("dynamic_slice", &[9, 6], &|t, n| {
        let x = input(t, S32, &[n[0] + 2, 10, n[1]]);
        let starts = [0; 3].map(|_| input(t, S32, &[]));
        let fixed = indexing::dynamic_slice(t, x, &starts, &[2, 4, n[1]])?;
        let free = indexing::dynamic_slice(t, x, &starts, &[n[0], n[1], n[1]])?;
        let small = starts.map(|start| elementwise::convert(t, start, DType::U8));
        let one = indexing::dynamic_slice(t, x, &small, &[1, 1, 1])?;
        Ok(([&[x], &starts[..]].concat(), vec![fixed, free, one]))
    });
    check("dynamic_update_slice", &[9, 6], &|t, n| {
        let (cache, prompt) = (input(t, F32, &[10, 3]), input(t, F32, &[n[0], 3]));
        let starts = [0; 2].map(|_| input(t, S32, &[]));
        let filled = indexing::dynamic_update_slice(t, cache, prompt, &starts)?;
        let (x, row) = (input(t, F32, &[n[0] + 2, n[1]]), input(t, F32, &[2, n[1]]));
        let written = indexing::dynamic_update_slice(t, x, row, &starts)?;
        let part = input(t, F32, &[n[0], n[1]]);
        let most = indexing::dynamic_update_slice(t, x, part, &starts)?;
        Ok(([&[cache, prompt, x, row, part], &starts[..]].concat(), vec![filled, written, most]))
    });
}

#[test]
fn sorts() {
    check("sort", &[9, 6], &|t, n| {
        let (x, whole) = (input(t, F32, &[n[0], n[1]]), input(t, S32, &[n[0], n[1]]));
        let up = sorting::sort_along(t, x, 0, false, true)?;
        let down = sorting::sort_along(t, x, 1, true, true)?;
        let order = sorting::argsort(t, whole, 1, false, true, S32)?;
        let merged = shape::reshape(t, whole, &[n[0] * n[1]])?;
        let all = sorting::sort_along(t, merged, 0, true, true)?;
        Ok((vec![x, whole], vec![up, down, order, all]))
    });
    check("sort_complex", &[9], &|t, n| {
        let (x, y) = (input(t, F32, &[n[0], 4]), input(t, F32, &[n[0], 4]));
        let complex = elementwise::complex(t, x, y)?;
        let sorted = sorting::sort_along(t, complex, 0, false, true)?;
        let beside = sorting::sort_along(t, complex, 1, false, true)?;
        Ok((vec![x, y], vec![sorted, beside]))
    });
    for largest in [false, true] {
        check("top_k", &[9, 6], &|t, n| {
            let (x, whole) = (input(t, F32, &[n[0], n[1]]), input(t, S32, &[n[0] + 2, 3]));
            // NaN among the numbers.
            let root = elementwise::binary(t, BinaryOp::Divide, x, x)?;
            let numbers = elementwise::binary(t, BinaryOp::Multiply, root, x)?;
            let [values, places] = sorting::top_k(t, numbers, 2, 1, largest, S32)?;
            let [few, at] = sorting::top_k(t, whole, 2, 0, largest, S32)?;
            Ok((vec![x, whole], vec![values, places, few, at]))
        });
    }
}

#[test]
fn windows() {
    check("pool", &[9, 6], &|t, n| {
        let x = input(t, F32, &[n[0], 7, n[1] + 2]);
        let body = bodies::combine(BinaryOp::Maximum, F32)?;
        let init = creation::full(t, &TensorType::new(F32, &[]), ScalarValue::Float(f64::NEG_INFINITY))?;
        let pooled = |t: &mut ir::Trace, windows: &[Window]| {
            let applied = Applied { body: &body, captures: &[] };
            reduction::reduce_window(t, &applied, &[x], &[init], windows).map(|made| made[0])
        };
        let strided = Window { size: 3, stride: 2, low: 1, high: 1, ..Window::ONE };
        let batch = pooled(t, &[Window::ONE, strided, Window::ONE])?;
        let wide = Window { size: 3, low: 1, high: 2, ..Window::ONE };
        let along = pooled(t, &[Window::ONE, wide, wide])?;
        let dilated = pooled(t, &[Window::ONE, Window::ONE, Window { size: 2, dilation: 2, ..Window::ONE }])?;
        Ok((vec![x], vec![batch, along, dilated]))
    });
    check("select_and_scatter", &[9, 6], &|t, n| {
        let x = input(t, F32, &[n[0], 6, n[1] + 1]);
        let batch = input(t, F32, &[n[0], 3, n[1] + 1]);
        let source = input(t, F32, &[n[0], 6, n[1]]);
        let zero = creation::full(t, &TensorType::new(F32, &[]), ScalarValue::Signed(0))?;
        let mut inner = ir::Trace::new();
        let pair = [0; 2].map(|_| inner.parameter(TensorType::new(F32, &[])));
        let is = elementwise::compare(&mut inner, ir::CompareOp::Ge, pair[0], pair[1])?;
        let select = ir::take_closed_body(&inner, &pair, &[], &[is])?;
        let add = bodies::combine(BinaryOp::Add, F32)?;
        let [select, add] = [&select, &add].map(|body| Applied { body, captures: &[] });
        let two = Window { size: 2, stride: 2, ..Window::ONE };
        let of_batch =
            reduction::select_and_scatter(t, &select, &add, x, batch, zero, &[Window::ONE, two, Window::ONE])?;
        let next = Window { size: 2, ..Window::ONE };
        let along =
            reduction::select_and_scatter(t, &select, &add, x, source, zero, &[Window::ONE, Window::ONE, next])?;
        Ok((vec![x, batch, source], vec![of_batch, along]))
    });
}

#[test]
fn convolutions() {
    check("convolution", &[9, 6], &|t, n| {
        let (x, kernel) = (input(t, F32, &[n[0], 2, 7]), input(t, F32, &[4, 2, 3]));
        let one = ConvolutionOptions { feature_groups: 1, batch_groups: 1, ..Default::default() };
        let strided =
            ConvolutionOptions { window_strides: Some(&[2]), padding_low: Some(&[1]), padding_high: Some(&[1]), ..one };
        let batch = nn::convolution(t, x, kernel, &strided)?;
        let long = input(t, F32, &[n[0], 2, n[1] + 2]);
        let padded = ConvolutionOptions { padding_low: Some(&[1]), padding_high: Some(&[2]), ..one };
        let along = nn::convolution(t, long, kernel, &padded)?;
        let wide = input(t, F32, &[3, n[0], n[1]]);
        let features = input(t, F32, &[2, n[0], 2]);
        let next = ConvolutionOptions { padding_low: Some(&[1]), padding_high: Some(&[1]), ..one };
        let summed = nn::convolution(t, wide, features, &next)?;
        let grouped = input(t, F32, &[4, 1, 3]);
        let groups = nn::convolution(t, x, grouped, &ConvolutionOptions { feature_groups: 2, ..one })?;
        Ok((vec![x, kernel, long, wide, features, grouped], vec![batch, along, summed, groups]))
    });
}

#[test]
fn random_numbers() {
    check("random_bits", &[9, 6], &|t, n| {
        let (key, keys) = (input(t, DType::U32, &[2]), input(t, DType::U32, &[n[1], 2]));
        let draw = |t: &mut ir::Trace, key, dims: &[i64]| {
            random::random_bits(t, RngAlgorithm::ThreeFry, key, &TensorType::new(DType::U32, dims))
        };
        let flat = draw(t, key, &[n[0], 3])?;
        let long = random::random_bits(t, RngAlgorithm::ThreeFry, key, &TensorType::new(DType::U64, &[n[0]]))?;
        let split = random::random_split(t, RngAlgorithm::ThreeFry, key, n[0])?;
        // Positions depend on the sizes of the axes behind the first one.
        let rows = draw(t, key, &[2, n[0]])?;
        let both = draw(t, key, &[n[0], n[1], 3])?;
        let _ = keys;
        Ok((vec![key], vec![flat, long, split, rows, both]))
    });
    check_near("normal", &[9], &|t, n| {
        let key = input(t, DType::U32, &[2]);
        let made = random::random_normal(t, RngAlgorithm::ThreeFry, key, &TensorType::new(F32, &[n[0], 2]))?;
        Ok((vec![key], vec![made]))
    });
}
