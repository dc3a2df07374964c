//! By how much two evaluations of one operation differ, and by how much rounding lets them.
//!
//! The scale of an element is the error that one rounding of the operation and of each of its operands makes: a unit in
//! the last place of the result, and the change of the result when an operand moves by one of its own (which is large
//! where operands cancel, and at a jump). Sums are rounded once for each term, in an order that the device chooses:
//! their scale has the sum of the magnitudes of the terms, times the square root of their number. Errors of matrices
//! spread from one element to the others: their scale is that of the element with the largest one.

use super::rounding::Rounding;
use base::error::Result;
use base::types::{DType, Kind, TensorType, float_limits};
use native::{Array, convert};

/// Largest number of operands that are moved one by one.
const MOST_MOVED: usize = 4;

/// Number of directions in which matrices are moved.
const PATTERNS: u32 = 4;

/// An element of a result that differs by more than rounding.
pub struct Difference {
    /// Number of the result among those of the operation.
    pub result: usize,
    /// Flat index of the element that differs most, in relation to its scale.
    pub at: usize,
    /// Absolute difference; infinite if one of the values is not finite.
    pub difference: f64,
    /// The difference in units of the scale; infinite where the values have to be equal.
    pub rounding: f64,
    /// Number of elements that differ by more than the tolerance.
    pub count: usize,
}

/// The tolerance for results of a dtype, in units of the scale, if the caller gave none. Operations on narrow floats
/// are computed in f32 and rounded once.
fn default_tolerance(dtype: DType) -> f64 {
    let is_narrow = float_limits(dtype).is_some_and(|limits| limits.eps > 1e-4);
    if is_narrow { 4.0 } else { 32.0 }
}

/// Whether the arrays have the same bits.
pub fn are_same(a: &[Array], b: &[Array]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.bytes() == b.bytes())
}

/// Evaluation of an operation on inputs.
pub type Evaluate<'a> = dyn Fn(&[Array]) -> Result<Vec<Array>> + 'a;

/// Compares the results of an operation on a device with those of a native evaluation. Returns, for each result that
/// differs by more than the tolerance, the element that differs most, and the largest difference within the tolerance
/// in units of the scale. Elements without a finite scale are not compared.
pub fn compare(
    rounding: Rounding,
    device: &[Array],
    native: &[Array],
    inputs: &[Array],
    tolerance: Option<f64>,
    evaluate: &Evaluate,
) -> Result<(Vec<Difference>, f64)> {
    let (mut all, mut within) = (Vec::new(), 0.0f64);
    if are_same(device, native) {
        return Ok((all, within));
    }
    let scales = scales(rounding, native, inputs, evaluate)?;
    for (result, scale) in scales.iter().enumerate() {
        let ty = native[result].ty();
        let tolerance = tolerance.unwrap_or_else(|| default_tolerance(ty.dtype));
        // Denormal numbers are flushed to 0 by many devices.
        let floor = float_limits(ty.dtype).map_or(0.0, |limits| limits.smallest_normal);
        let (mut found, mut count): (Option<Difference>, usize) = (None, 0);
        for (at, (difference, scale)) in distances(&device[result], &native[result])?.into_iter().zip(scale).enumerate()
        {
            if difference == 0.0 || !scale.is_finite() {
                continue;
            }
            let rounding = difference / scale;
            if difference <= tolerance * scale + floor {
                within = within.max(if difference <= floor { 0.0 } else { rounding });
                continue;
            }
            count += 1;
            if found.as_ref().is_none_or(|found| rounding > found.rounding) {
                found = Some(Difference { result, at, difference, rounding, count: 0 });
            }
        }
        all.extend(found.map(|found| Difference { count, ..found }));
    }
    Ok((all, within))
}

/// The difference that is largest in units of its scale; the first of equal ones.
pub fn worst(found: Vec<Difference>) -> Option<Difference> {
    found.into_iter().reduce(|worst, found| if found.rounding > worst.rounding { found } else { worst })
}

/// Scales of the elements of the results.
fn scales(rounding: Rounding, native: &[Array], inputs: &[Array], evaluate: &Evaluate) -> Result<Vec<Vec<f64>>> {
    let own = |result: &Array| -> Result<Vec<f64>> {
        let eps = float_limits(result.ty().dtype).map_or(0.0, |limits| limits.eps);
        let scale = |x: f64| if x.is_finite() { eps * x } else { 0.0 };
        Ok(magnitudes(result)?.into_iter().map(scale).collect())
    };
    let mut scales: Vec<Vec<f64>> = native.iter().map(own).collect::<Result<_>>()?;
    match rounding {
        Rounding::Kernel => {}
        Rounding::Norm(matrices) => {
            // A matrix of bad condition may stay as far from a singular one in some directions.
            add_moves(&mut scales, native, inputs, PATTERNS, evaluate)?;
            for (scale, result) in scales.iter_mut().zip(native) {
                let length = result.ty().dims.last().map_or(1.0, |&length| length as f64);
                let each = (scale.len() / matrices).max(1);
                for matrix in scale.chunks_mut(each) {
                    let largest = matrix.iter().copied().fold(0.0, f64::max);
                    matrix.iter_mut().for_each(|scale| *scale += length.sqrt() * largest);
                }
            }
        }
        Rounding::Sum => {
            let terms = sized(inputs, 0, evaluate, |_| 1.0)?;
            add_terms(&mut scales, native, inputs, 0, Some(&terms), evaluate)?;
        }
        Rounding::Selected => {
            // An input that is also the first one stays as it is: no sum of magnitudes then.
            let terms = if inputs.len() < 3 { None } else { Some(sized(inputs, 1, evaluate, |_| 1.0)?) };
            add_terms(&mut scales, native, inputs, 1, terms.as_deref(), evaluate)?;
            add_moves(&mut scales, native, inputs, 1, evaluate)?;
        }
        Rounding::Fold(terms) => {
            add_moves(&mut scales, native, inputs, 1, evaluate)?;
            scales.iter_mut().flatten().for_each(|scale| *scale *= (terms.max(1) as f64).sqrt());
        }
        Rounding::Element => add_moves(&mut scales, native, inputs, 1, evaluate)?,
    }
    Ok(scales)
}

/// Adds the sums of the magnitudes of the terms, times the square roots of their numbers. `terms` are the sums where
/// all terms are 1. The first `fixed` inputs hold no terms. Without `terms`, the magnitudes of all inputs are added.
fn add_terms(
    scales: &mut [Vec<f64>],
    native: &[Array],
    inputs: &[Array],
    fixed: usize,
    terms: Option<&[Array]>,
    evaluate: &Evaluate,
) -> Result<()> {
    let sums = sized(inputs, fixed, evaluate, |x| x)?;
    // The number of terms is at most that of elements, also where a product of ones overflows.
    let most = inputs.iter().map(|input| input.ty().elements()).max().unwrap_or(1) as f64;
    let mut total = 0.0;
    for input in inputs {
        total += magnitudes(input)?.iter().sum::<f64>();
    }
    for (result, scale) in scales.iter_mut().enumerate() {
        let Some(limits) = float_limits(native[result].ty().dtype) else { continue };
        let own = magnitudes(&native[result])?;
        let (sums, terms) = match terms {
            Some(terms) => (magnitudes(&sums[result])?, magnitudes(&terms[result])?),
            None => (vec![total; own.len()], vec![most; own.len()]),
        };
        for (((scale, sum), terms), own) in scale.iter_mut().zip(sums).zip(terms).zip(own) {
            // A sum that is not finite itself has no error of rounding; one whose terms overflow may have any.
            let count = if terms.is_nan() { most } else { terms.clamp(1.0, most.max(1.0)) };
            *scale += match own.is_finite() {
                true if sum.is_nan() => f64::INFINITY,
                true => limits.eps * count.sqrt() * sum,
                false => 0.0,
            };
        }
    }
    Ok(())
}

/// Evaluates an operation on the magnitudes of the floating inputs, changed by `change`, except for the first ones.
fn sized(inputs: &[Array], fixed: usize, evaluate: &Evaluate, change: impl Fn(f64) -> f64) -> Result<Vec<Array>> {
    let mut inputs = inputs.to_vec();
    for input in inputs.iter_mut().skip(fixed).filter(|input| float_limits(input.ty().dtype).is_some()) {
        let sizes = magnitudes(input)?;
        // The terms of a complex sum are real then, so that they do not cancel.
        *input = match input.ty().dtype.kind() {
            Kind::Complex => changed(input, |i, _| if i % 2 == 0 { change(sizes[i / 2]) } else { 0.0 })?,
            _ => changed(input, |i, _| change(sizes[i]))?,
        };
    }
    evaluate(&inputs)
}

/// Adds the changes of the results when floating operands move by a unit in their last place, up and down, in some
/// patterns, and when their denormal numbers are flushed to 0.
fn add_moves(
    scales: &mut [Vec<f64>],
    native: &[Array],
    inputs: &[Array],
    patterns: u32,
    evaluate: &Evaluate,
) -> Result<()> {
    let floating: Vec<usize> = (0..inputs.len()).filter(|&i| float_limits(inputs[i].ty().dtype).is_some()).collect();
    let groups: Vec<Vec<usize>> = match floating.len() {
        0..=MOST_MOVED => floating.iter().map(|&input| vec![input]).collect(),
        _ => vec![floating.clone()],
    };
    for (group, pattern) in groups.iter().flat_map(|group| (0..patterns).map(move |pattern| (group, pattern))) {
        let by = |sign: f64| {
            moved(inputs, group, evaluate, &|ty: &TensorType, i: usize, x: f64| {
                let eps = float_limits(ty.dtype).map_or(0.0, |limits| limits.eps);
                x * (1.0 + sign * side(i, pattern) * eps)
            })
        };
        let (up, down) = (by(1.0)?, by(-1.0)?);
        for (result, scale) in scales.iter_mut().enumerate() {
            let up = distances(&up[result], &native[result])?;
            let down = distances(&down[result], &native[result])?;
            scale.iter_mut().zip(up.iter().zip(down)).for_each(|(scale, (up, down))| *scale += up.max(down));
        }
    }
    if floating.iter().map(|&input| has_denormal(&inputs[input])).collect::<Result<Vec<bool>>>()?.contains(&true) {
        let flush = |ty: &TensorType, _: usize, x: f64| if x.abs() < smallest_normal(ty) { 0.0 } else { x };
        let flushed = moved(inputs, &floating, evaluate, &flush)?;
        for (result, scale) in scales.iter_mut().enumerate() {
            let far = distances(&flushed[result], &native[result])?;
            scale.iter_mut().zip(far).for_each(|(scale, far)| *scale += far);
        }
    }
    Ok(())
}

/// Evaluates an operation with other elements of some floating inputs: `change` gets the type, and the number and the
/// value of each element.
fn moved(
    inputs: &[Array],
    which: &[usize],
    evaluate: &Evaluate,
    change: &dyn Fn(&TensorType, usize, f64) -> f64,
) -> Result<Vec<Array>> {
    let mut inputs = inputs.to_vec();
    for &input in which {
        let ty = inputs[input].ty().clone();
        inputs[input] = changed(&inputs[input], |i, x| change(&ty, i, x))?;
    }
    evaluate(&inputs)
}

/// Whether an element moves up or down. In the first pattern, neighbours that are compared with each other move apart;
/// the others are random.
fn side(i: usize, pattern: u32) -> f64 {
    let mut bits = (i as u32).wrapping_mul(0x9e37_79b9);
    if pattern > 0 {
        bits = bits.wrapping_add(pattern.wrapping_mul(0x85eb_ca6b));
        bits = (bits ^ bits >> 15).wrapping_mul(0x2c1b_3c6d);
        bits = (bits ^ bits >> 12).wrapping_mul(0x297a_2d39);
        bits ^= bits >> 15;
    }
    if bits >> 31 == 0 { 1.0 } else { -1.0 }
}

fn smallest_normal(ty: &TensorType) -> f64 {
    float_limits(ty.dtype).map_or(0.0, |limits| limits.smallest_normal)
}

fn has_denormal(x: &Array) -> Result<bool> {
    let least = smallest_normal(x.ty());
    Ok(parts(x)?.iter().any(|part| *part != 0.0 && part.abs() < least))
}

/// Dtype in which all values of a floating dtype are exact.
fn wide(dtype: DType) -> DType {
    if dtype.kind() == Kind::Complex { DType::C128 } else { DType::F64 }
}

/// The elements of a floating array; of a complex one, both parts of each.
fn parts(x: &Array) -> Result<Vec<f64>> {
    let wide = convert(x, wide(x.ty().dtype))?;
    Ok(wide.bytes().chunks_exact(8).map(|part| f64::from_ne_bytes(part.try_into().expect("8 bytes"))).collect())
}

/// The array with other elements, if it is floating: `change` gets the number and the value of each part.
fn changed(x: &Array, change: impl Fn(usize, f64) -> f64) -> Result<Array> {
    if float_limits(x.ty().dtype).is_none() {
        return Ok(x.clone());
    }
    let parts = parts(x)?;
    let bytes: Vec<u8> = parts.iter().enumerate().flat_map(|(i, &x)| change(i, x).to_ne_bytes()).collect();
    let ty = TensorType { dtype: wide(x.ty().dtype), dims: x.ty().dims.clone() };
    convert(&Array::from_bytes(&ty, &bytes)?, x.ty().dtype)
}

/// Absolute values of the elements; 0 for integers and pred.
fn magnitudes(x: &Array) -> Result<Vec<f64>> {
    let dtype = x.ty().dtype;
    Ok(match dtype.kind() {
        Kind::Complex => parts(x)?.chunks_exact(2).map(|pair| pair[0].hypot(pair[1])).collect(),
        _ if float_limits(dtype).is_some() => parts(x)?.into_iter().map(f64::abs).collect(),
        _ => vec![0.0; x.ty().elements()],
    })
}

/// Distances of the elements of two arrays of one type: 0 for equal numbers and for two NaNs, else infinite if one of
/// them is not finite.
pub fn distances(a: &Array, b: &Array) -> Result<Vec<f64>> {
    let dtype = a.ty().dtype;
    if float_limits(dtype).is_some() {
        let (a, b) = (parts(a)?, parts(b)?);
        let each: Vec<f64> = a.iter().zip(&b).map(|(&a, &b)| distance(a, b)).collect();
        return Ok(match dtype.kind() {
            Kind::Complex => each.chunks_exact(2).map(|pair| pair[0].hypot(pair[1])).collect(),
            _ => each,
        });
    }
    let (a, b) = (whole(a)?, whole(b)?);
    Ok(a.iter().zip(&b).map(|(&a, &b)| a.abs_diff(b) as f64).collect())
}

fn distance(a: f64, b: f64) -> f64 {
    match a == b || a.is_nan() && b.is_nan() {
        true => 0.0,
        false if a.is_finite() && b.is_finite() => (a - b).abs(),
        false => f64::INFINITY,
    }
}

/// The elements of an array of integers or pred.
fn whole(x: &Array) -> Result<Vec<i128>> {
    let is_signed = x.ty().dtype.kind() == Kind::Signed;
    let wide = convert(x, if is_signed { DType::S64 } else { DType::U64 })?;
    let of = |part: &[u8]| {
        let part: [u8; 8] = part.try_into().expect("8 bytes");
        if is_signed { i128::from(i64::from_ne_bytes(part)) } else { i128::from(u64::from_ne_bytes(part)) }
    };
    Ok(wide.bytes().chunks_exact(8).map(of).collect())
}

/// The difference of an element of two arrays in units in the last place of the second; None for integers, and if one
/// of the elements is not finite.
pub fn ulps(difference: f64, native: &Array, at: usize) -> Result<Option<f64>> {
    let Some(limits) = float_limits(native.ty().dtype) else { return Ok(None) };
    if !difference.is_finite() {
        return Ok(None);
    }
    let size = magnitudes(native)?[at].max(limits.smallest_normal);
    Ok(Some(difference / (limits.eps * size.log2().floor().exp2())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use native::testing::array;

    /// Compares what `evaluate` computes of the inputs with other values.
    fn differs(
        rounding: Rounding,
        device: &Array,
        inputs: &[Array],
        evaluate: &dyn Fn(&[Array]) -> Array,
    ) -> Option<Difference> {
        let evaluate = |inputs: &[Array]| -> Result<Vec<Array>> { Ok(vec![evaluate(inputs)]) };
        let native = evaluate(inputs).unwrap();
        worst(compare(rounding, std::slice::from_ref(device), &native, inputs, None, &evaluate).unwrap().0)
    }

    fn floats(values: &[f32]) -> Array {
        array(&[values.len() as i64], values)
    }

    fn by(x: &[Array], f: impl Fn(f32, f32) -> f32) -> Array {
        let pairs = x[0].elements::<f32>().iter().zip(x[x.len() - 1].elements::<f32>());
        floats(&pairs.map(|(&a, &b)| f(a, b)).collect::<Vec<f32>>())
    }

    #[test]
    fn cancellation_and_jumps_are_rounding_and_other_values_are_not() {
        let op = Rounding::Element;
        let (a, b) = (floats(&[1.0, 3.0]), floats(&[0.999_999_9, 1.0]));
        let subtract = |x: &[Array]| by(x, |a, b| a - b);
        // The first difference is 1e-7: an ulp of the operands is as large.
        assert!(differs(op, &floats(&[2.4e-7, 2.0]), &[a.clone(), b.clone()], &subtract).is_none());
        let found = differs(op, &floats(&[1.2e-7, 2.001]), &[a, b], &subtract).unwrap();
        assert_eq!((found.result, found.at, found.count), (0, 1, 1));
        let floor = |x: &[Array]| by(x, |a, _| a.floor());
        let x = floats(&[1.0, 1.5]);
        assert!(differs(op, &floats(&[0.0, 1.0]), std::slice::from_ref(&x), &floor).is_none());
        let found = differs(op, &floats(&[1.0, 0.0]), &[x], &floor).unwrap();
        assert_eq!((found.at, found.difference), (1, 1.0));
    }

    #[test]
    fn the_scale_of_a_sum_is_that_of_its_terms() {
        let sum = |x: &[Array]| floats(&[x[0].elements::<f32>().iter().sum()]);
        let x = floats(&[1e4, 1.0, -1e4, 1e-3]);
        // The exact sum is 1.001; the error of an order may be some ulps of 1e4.
        assert!(differs(Rounding::Sum, &floats(&[1.01]), std::slice::from_ref(&x), &sum).is_none());
        assert!(differs(Rounding::Sum, &floats(&[2.0]), &[x], &sum).is_some());
    }

    #[test]
    fn infinities_nans_denormals_and_integers_are_compared() {
        let same = |x: &[Array]| x[0].clone();
        let op = Rounding::Element;
        let x = floats(&[f32::NAN, f32::INFINITY, 1e-40]);
        assert!(differs(op, &floats(&[-f32::NAN, f32::INFINITY, 0.0]), std::slice::from_ref(&x), &same).is_none());
        let found = differs(op, &floats(&[1.0, f32::MAX, 0.0]), &[x], &same).unwrap();
        assert_eq!((found.at, found.count, found.difference), (0, 2, f64::INFINITY));
        let big = array(&[2], &[i64::MAX, 5]);
        let found = differs(op, &array(&[2], &[i64::MAX - 1, 5]), &[big], &same).unwrap();
        assert_eq!((found.at, found.difference, found.rounding), (0, 1.0, f64::INFINITY));
        let wanted = ulps(2f64.powi(-22), &floats(&[1.5]), 0).unwrap();
        assert_eq!(wanted, Some(2.0));
    }

    #[test]
    fn factors_that_are_combined_round_once_each() {
        let product = |x: &[Array]| floats(&[x[0].elements::<f32>().iter().product()]);
        let x = floats(&vec![1.0 + 1e-3; 4096]);
        let exact = (1.0 + 1e-3f32).powi(4096);
        // Each factor may have moved by an ulp of its own, to the same side.
        let device = floats(&[exact * (1.0 + 1e-4)]);
        assert!(differs(Rounding::Element, &device, std::slice::from_ref(&x), &product).is_some());
        assert!(differs(Rounding::Fold(4096), &device, std::slice::from_ref(&x), &product).is_none());
        assert!(differs(Rounding::Fold(4096), &floats(&[exact * 1.01]), &[x], &product).is_some());
    }

    #[test]
    fn complex_terms_do_not_cancel_in_the_scale() {
        let number = |parts: &[f32]| {
            let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_ne_bytes()).collect();
            Array::from_bytes(&TensorType::new(DType::C64, &[parts.len() as i64 / 2]), &bytes).unwrap()
        };
        let squares = |x: &[Array]| {
            let parts = parts(&x[0]).unwrap();
            let square = |sum: (f64, f64), z: &[f64]| (sum.0 + z[0] * z[0] - z[1] * z[1], sum.1 + 2.0 * z[0] * z[1]);
            let (real, imaginary) = parts.chunks(2).fold((0.0, 0.0), square);
            number(&[real as f32, imaginary as f32])
        };
        // The sum of 1 and i squared is 0, of terms of magnitude 1.
        let x = number(&[1.0, 0.0, 0.0, 1.0]);
        assert!(differs(Rounding::Sum, &number(&[1e-7, 0.0]), std::slice::from_ref(&x), &squares).is_none());
        assert!(differs(Rounding::Sum, &number(&[1e-3, 0.0]), &[x], &squares).is_some());
    }

    #[test]
    fn elements_that_select_are_no_terms() {
        // Adds the second input to the place of the largest element of the first.
        let scatter = |x: &[Array]| {
            let by = x[0].elements::<f32>();
            let most = (0..by.len()).max_by(|&a, &b| by[a].total_cmp(&by[b])).unwrap();
            let mut out = vec![0.0; by.len()];
            out[most] = x[1].elements::<f32>().iter().chain(x[2].elements::<f32>()).sum();
            floats(&out)
        };
        let inputs = [floats(&[-9.0, 1.0]), floats(&[1e4, -1e4, 1.0]), floats(&[0.0])];
        assert!(differs(Rounding::Selected, &floats(&[0.0, 1.001]), &inputs, &scatter).is_none());
        assert!(differs(Rounding::Selected, &floats(&[0.0, 2.0]), &inputs, &scatter).is_some());
        assert!(differs(Rounding::Selected, &floats(&[0.001, 1.0]), &inputs, &scatter).is_some());
    }

    #[test]
    fn scales_that_are_not_finite_find_nothing() {
        let both = |x: &[Array]| floats(&[x[0].elements::<f32>()[0], x[0].elements::<f32>().iter().sum()]);
        // The logarithm of the magnitudes would be NaN.
        let logs = |x: &[Array]| {
            let sum: f32 = both(x).elements::<f32>().iter().map(|x| (-x).ln()).sum();
            floats(&[sum])
        };
        let x = floats(&[-2.0, -1.0]);
        let value = logs(std::slice::from_ref(&x)).elements::<f32>()[0];
        let above = floats(&[f32::from_bits(value.to_bits() + 1)]);
        assert!(differs(Rounding::Sum, &above, &[x], &logs).is_none());
    }

    #[test]
    fn the_scale_of_a_matrix_grows_with_its_condition() {
        // Solves [[1, 1], [1, 1 + d]] x = b by Cramer's rule: the condition is 4 / d.
        let solve = |x: &[Array]| {
            let (a, b) = (x[0].elements::<f32>().to_vec(), x[1].elements::<f32>().to_vec());
            let of = |i: usize| f64::from(a[i]);
            let determinant = of(0) * of(3) - of(1) * of(2);
            let (b0, b1) = (f64::from(b[0]), f64::from(b[1]));
            floats(&[
                ((b0 * of(3) - of(1) * b1) / determinant) as f32,
                ((of(0) * b1 - b0 * of(2)) / determinant) as f32,
            ])
        };
        let with = |d: f32| [array(&[2, 2], &[1.0, 1.0, 1.0, 1.0 + d]), floats(&[1.0, 2.0])];
        let near = |x: &[Array]| floats(&solve(x).elements::<f32>().iter().map(|x| x * 1.001).collect::<Vec<f32>>());
        let (bad, good) = (with(1e-3), with(1.0));
        assert!(differs(Rounding::Norm(1), &near(&bad), &bad, &solve).is_none());
        assert!(differs(Rounding::Norm(1), &near(&good), &good, &solve).is_some());
    }
}
