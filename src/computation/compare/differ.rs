//! By how much two evaluations of one operation differ, and by how much rounding lets them.
//!
//! The scale of an element is the error that one rounding of the operation and of each of its operands makes: a unit in
//! the last place of the result, and the change of the result when an operand moves by one of its own (which is large
//! where operands cancel, and at a jump). Sums are rounded once for each term, in an order that the device chooses:
//! their scale has the sum of the magnitudes of the terms, times the square root of their number.

use crate::error::Result;
use crate::ir::{Op, ReduceOp};
use crate::native::{Array, convert};
use crate::types::{DType, Kind, TensorType, float_limits};

/// Largest number of operands that are moved one by one.
const MOST_MOVED: usize = 4;

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

/// How an operation rounds.
enum Rounding {
    /// Each element by itself.
    Element,
    /// Each element is a sum.
    Sum,
    /// Errors are in proportion to the largest element.
    Norm,
    /// Not known: the caller's code.
    Kernel,
}

fn rounding(op: Op) -> Rounding {
    match op {
        Op::Matmul
        | Op::DotGeneral
        | Op::Convolution
        | Op::Reduce(ReduceOp::Sum | ReduceOp::Product)
        | Op::ReduceWith
        | Op::ReduceWindow
        | Op::Scatter
        | Op::SelectAndScatter => Rounding::Sum,
        Op::Fft | Op::Cholesky | Op::TriangularSolve | Op::Qr | Op::Lu | Op::Svd | Op::Eigh | Op::Eig | Op::Pinv => {
            Rounding::Norm
        }
        Op::Kernel | Op::CustomCall => Rounding::Kernel,
        _ => Rounding::Element,
    }
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

/// Compares the results of an operation on a device with those of a native evaluation. Returns the element that differs
/// most, if it differs by more than the tolerance, and the largest difference within it in units of the scale.
pub fn compare(
    op: Op,
    device: &[Array],
    native: &[Array],
    inputs: &[Array],
    tolerance: Option<f64>,
    evaluate: &Evaluate,
) -> Result<(Option<Difference>, f64)> {
    if are_same(device, native) {
        return Ok((None, 0.0));
    }
    let scales = scales(op, native, inputs, evaluate)?;
    let (mut worst, mut within): (Option<Difference>, f64) = (None, 0.0);
    for (result, scale) in scales.iter().enumerate() {
        let ty = native[result].ty();
        let tolerance = tolerance.unwrap_or_else(|| default_tolerance(ty.dtype));
        // Denormal numbers are flushed to 0 by many devices.
        let floor = float_limits(ty.dtype).map_or(0.0, |limits| limits.smallest_normal);
        let (mut found, mut count): (Option<Difference>, usize) = (None, 0);
        for (at, (difference, scale)) in distances(&device[result], &native[result])?.into_iter().zip(scale).enumerate()
        {
            if difference == 0.0 || *scale == f64::INFINITY {
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
        if let Some(found) = found
            && worst.as_ref().is_none_or(|worst| found.rounding > worst.rounding)
        {
            worst = Some(Difference { count, ..found });
        }
    }
    Ok((worst, within))
}

/// Scales of the elements of the results.
fn scales(op: Op, native: &[Array], inputs: &[Array], evaluate: &Evaluate) -> Result<Vec<Vec<f64>>> {
    let own = |result: &Array| -> Result<Vec<f64>> {
        let eps = float_limits(result.ty().dtype).map_or(0.0, |limits| limits.eps);
        let scale = |x: f64| if x.is_finite() { eps * x } else { 0.0 };
        Ok(magnitudes(result)?.into_iter().map(scale).collect())
    };
    let mut scales: Vec<Vec<f64>> = native.iter().map(own).collect::<Result<_>>()?;
    match rounding(op) {
        Rounding::Kernel => {}
        Rounding::Norm => {
            for (scale, result) in scales.iter_mut().zip(native) {
                let largest = scale.iter().copied().fold(0.0, f64::max);
                let length = result.ty().dims.last().map_or(1.0, |&length| length as f64);
                scale.iter_mut().for_each(|scale| *scale += length.sqrt() * largest);
            }
        }
        Rounding::Sum => add_terms(&mut scales, native, inputs, evaluate)?,
        Rounding::Element => add_moves(&mut scales, native, inputs, evaluate)?,
    }
    Ok(scales)
}

/// Adds the sums of the magnitudes of the terms, times the square roots of their numbers.
fn add_terms(scales: &mut [Vec<f64>], native: &[Array], inputs: &[Array], evaluate: &Evaluate) -> Result<()> {
    let all: Vec<usize> = (0..inputs.len()).collect();
    let sums = moved(inputs, &all, evaluate, &|_: &TensorType, _: usize, x: f64| x.abs())?;
    let terms = moved(inputs, &all, evaluate, &|_: &TensorType, _: usize, _: f64| 1.0)?;
    // The number of terms is at most that of elements, also where a product of ones overflows.
    let most = inputs.iter().map(|input| input.ty().elements()).max().unwrap_or(1) as f64;
    for (result, scale) in scales.iter_mut().enumerate() {
        let Some(limits) = float_limits(native[result].ty().dtype) else { continue };
        let (sums, terms) = (magnitudes(&sums[result])?, magnitudes(&terms[result])?);
        let own = magnitudes(&native[result])?;
        for (((scale, sum), terms), own) in scale.iter_mut().zip(sums).zip(terms).zip(own) {
            // A sum that is not finite itself has no error of rounding; one whose terms overflow may have any.
            let count = if terms.is_nan() { most } else { terms.clamp(1.0, most) };
            *scale += if !own.is_finite() { 0.0 } else { limits.eps * count.sqrt() * sum };
        }
    }
    Ok(())
}

/// Adds the changes of the results when floating operands move by a unit in their last place, up and down, and when
/// their denormal numbers are flushed to 0.
fn add_moves(scales: &mut [Vec<f64>], native: &[Array], inputs: &[Array], evaluate: &Evaluate) -> Result<()> {
    let floating: Vec<usize> = (0..inputs.len()).filter(|&i| float_limits(inputs[i].ty().dtype).is_some()).collect();
    let groups: Vec<Vec<usize>> = match floating.len() {
        0..=MOST_MOVED => floating.iter().map(|&input| vec![input]).collect(),
        _ => vec![floating.clone()],
    };
    for group in &groups {
        let by = |sign: f64| {
            moved(inputs, group, evaluate, &|ty: &TensorType, i: usize, x: f64| {
                let eps = float_limits(ty.dtype).map_or(0.0, |limits| limits.eps);
                x * (1.0 + sign * side(i) * eps)
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

/// Whether an element moves up or down: neighbours that are compared with each other move apart.
fn side(i: usize) -> f64 {
    if (i as u32).wrapping_mul(0x9e37_79b9) >> 31 == 0 { 1.0 } else { -1.0 }
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
    use crate::native::testing::array;

    /// Compares what `evaluate` computes of the inputs with other values.
    fn differs(op: Op, device: &Array, inputs: &[Array], evaluate: &dyn Fn(&[Array]) -> Array) -> Option<Difference> {
        let evaluate = |inputs: &[Array]| -> Result<Vec<Array>> { Ok(vec![evaluate(inputs)]) };
        let native = evaluate(inputs).unwrap();
        compare(op, std::slice::from_ref(device), &native, inputs, None, &evaluate).unwrap().0
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
        let op = Op::Binary(crate::ir::BinaryOp::Subtract);
        let (a, b) = (floats(&[1.0, 3.0]), floats(&[0.999_999_9, 1.0]));
        let subtract = |x: &[Array]| by(x, |a, b| a - b);
        // The first difference is 1e-7: an ulp of the operands is as large.
        assert!(differs(op, &floats(&[2.4e-7, 2.0]), &[a.clone(), b.clone()], &subtract).is_none());
        let found = differs(op, &floats(&[1.2e-7, 2.001]), &[a, b], &subtract).unwrap();
        assert_eq!((found.result, found.at, found.count), (0, 1, 1));
        let floor = |x: &[Array]| by(x, |a, _| a.floor());
        let x = floats(&[1.0, 1.5]);
        assert!(
            differs(Op::Unary(crate::ir::UnaryOp::Floor), &floats(&[0.0, 1.0]), std::slice::from_ref(&x), &floor)
                .is_none()
        );
        let found = differs(Op::Unary(crate::ir::UnaryOp::Floor), &floats(&[1.0, 0.0]), &[x], &floor).unwrap();
        assert_eq!((found.at, found.difference), (1, 1.0));
    }

    #[test]
    fn the_scale_of_a_sum_is_that_of_its_terms() {
        let sum = |x: &[Array]| floats(&[x[0].elements::<f32>().iter().sum()]);
        let x = floats(&[1e4, 1.0, -1e4, 1e-3]);
        // The exact sum is 1.001; the error of an order may be some ulps of 1e4.
        assert!(differs(Op::Reduce(ReduceOp::Sum), &floats(&[1.01]), std::slice::from_ref(&x), &sum).is_none());
        assert!(differs(Op::Reduce(ReduceOp::Sum), &floats(&[2.0]), &[x], &sum).is_some());
    }

    #[test]
    fn infinities_nans_denormals_and_integers_are_compared() {
        let same = |x: &[Array]| x[0].clone();
        let op = Op::Unary(crate::ir::UnaryOp::Abs);
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
}
