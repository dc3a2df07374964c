//! Cumulative reductions along an axis by one operation, in one pass.

use super::array::Array;
use super::element::{Element, by_integer_width, unsupported};
use super::order::{Ordered, by_order};
use base::allocation::filled;
use base::error::Result;
use base::types::{DType, Kind, count};
use half::{bf16, f16};
use ir::BinaryOp;
use num_complex::Complex;
use std::cmp::Ordering;

/// Reduces the elements of `x` up to and including each one along an axis, or with `reverse` from each one on. `init`
/// is combined with the first of them. Returns None for operations and dtypes that have no kernel. Sums and products of
/// f32 are accumulated in f64, those of f64 with their rounding errors, so that errors do not grow with the length.
pub fn cumulative(op: BinaryOp, axis: usize, reverse: bool, x: &Array, init: &Array) -> Result<Option<Array>> {
    let (along, dtype) = (Along { axis, reverse }, x.ty().dtype);
    let made = match (op, dtype.kind()) {
        (BinaryOp::Add, Kind::Signed | Kind::Unsigned) => by_integer_width!(dtype, T => {
            along.scan(x, first::<T>(init), |sum, x: T| { *sum = sum.wrapping_add(x); *sum })
        }),
        (BinaryOp::Multiply, Kind::Signed | Kind::Unsigned) => by_integer_width!(dtype, T => {
            along.scan(x, first::<T>(init), |product, x: T| { *product = product.wrapping_mul(x); *product })
        }),
        (BinaryOp::Add, _) => return sums(along, x, init).transpose(),
        (BinaryOp::Multiply, _) => return products(along, x, init).transpose(),
        (BinaryOp::And, Kind::Pred) => along.scan(x, first::<u8>(init), |all, x: u8| {
            *all &= x;
            *all
        }),
        (BinaryOp::Or, Kind::Pred) => along.scan(x, first::<u8>(init), |any, x: u8| {
            *any |= x;
            *any
        }),
        (BinaryOp::Maximum | BinaryOp::Minimum, kind)
            if !matches!(kind, Kind::Complex | Kind::Float8 | Kind::Subbyte) =>
        {
            let is_maximum = op == BinaryOp::Maximum;
            by_order!(dtype, T => along.scan(x, first::<T>(init), |best, x: T| {
                if is_better(x, *best, is_maximum) {
                    *best = x;
                }
                *best
            }))
        }
        _ => return Ok(None),
    };
    made.map(Some)
}

/// Cumulative sums of floats and complex numbers; None for dtypes that have no kernel.
fn sums(along: Along, x: &Array, init: &Array) -> Option<Result<Array>> {
    Some(match x.ty().dtype {
        DType::F32 => along.scan(x, f64::from(first::<f32>(init)), added),
        DType::F64 => along.scan(x, (first::<f64>(init), 0.0), added_f64),
        DType::C64 => {
            let Complex { re, im } = first::<Complex<f32>>(init);
            along.scan(x, [f64::from(re), f64::from(im)], |[re, im], x: Complex<f32>| {
                Complex::new(added(re, x.re), added(im, x.im))
            })
        }
        DType::C128 => {
            let Complex { re, im } = first::<Complex<f64>>(init);
            along.scan(x, [(re, 0.0), (im, 0.0)], |[re, im], x: Complex<f64>| {
                Complex::new(added_f64(re, x.re), added_f64(im, x.im))
            })
        }
        _ => return None,
    })
}

/// Cumulative products of floats and complex numbers; None for dtypes that have no kernel.
fn products(along: Along, x: &Array, init: &Array) -> Option<Result<Array>> {
    let stays = |rounded: f32| rounded == 0.0 || rounded.is_infinite();
    Some(match x.ty().dtype {
        DType::F32 => along.scan(x, f64::from(first::<f32>(init)), |product, x: f32| {
            *product *= f64::from(x);
            settled(product, stays)
        }),
        DType::F64 => along.scan(x, (first::<f64>(init), 0.0), |product, x: f64| {
            *product = multiplied(*product, x);
            product.0 + product.1
        }),
        DType::C64 => {
            let Complex { re, im } = first::<Complex<f32>>(init);
            along.scan(x, Complex::new(f64::from(re), f64::from(im)), |product, x: Complex<f32>| {
                *product *= Complex::new(f64::from(x.re), f64::from(x.im));
                Complex::new(settled(&mut product.re, stays), settled(&mut product.im, stays))
            })
        }
        DType::C128 => {
            let Complex { re, im } = first::<Complex<f64>>(init);
            along.scan(x, [(re, 0.0), (im, 0.0)], |product, x: Complex<f64>| {
                *product = complex_multiplied(*product, x);
                Complex::new(product[0].0 + product[0].1, product[1].0 + product[1].1)
            })
        }
        _ => return None,
    })
}

fn first<T: Element>(init: &Array) -> T {
    init.elements::<T>()[0]
}

/// Adds to a sum, and returns it in f32. A sum that overflows in f32 stays infinite, as if it were accumulated in f32.
fn added(sum: &mut f64, x: f32) -> f32 {
    *sum += f64::from(x);
    settled(sum, f32::is_infinite)
}

/// Rounds to f32. A number for whose rounded value `stays` is true becomes that value.
fn settled(wide: &mut f64, stays: impl Fn(f32) -> bool) -> f32 {
    let rounded = *wide as f32;
    if stays(rounded) {
        *wide = f64::from(rounded);
    }
    rounded
}

/// Adds to a sum with the rounding errors of its additions (T. Dekker, 1971; A. Neumaier, 1974), and returns it. A sum
/// that is not finite has no error.
fn added_f64((sum, error): &mut (f64, f64), x: f64) -> f64 {
    let next = *sum + x;
    let part = next - *sum;
    let lost = (*sum - (next - part)) + (x - part);
    (*sum, *error) = (next, if next.is_finite() { *error + lost } else { 0.0 });
    *sum + *error
}

/// Multiplies a product with its rounding error (T. Dekker, 1971) by a number. There is no error where parts of it would
/// overflow or underflow.
fn multiplied((product, error): (f64, f64), x: f64) -> (f64, f64) {
    let next = product * x;
    let is_usual = |x: f64| (1e-140..1e140).contains(&x.abs());
    if !(is_usual(product) && is_usual(x)) {
        return ((product + error) * x, 0.0);
    }
    // Halves of 26 bits, whose products are exact.
    let halves = |x: f64| {
        let shifted = x * 134_217_729.0;
        let high = shifted - (shifted - x);
        (high, x - high)
    };
    let ((a, b), (c, d)) = (halves(product), halves(x));
    let lost = ((a * c - next) + a * d + b * c) + b * d;
    let error = lost + error * x;
    let sum = next + error;
    (sum, error - (sum - next))
}

/// Multiplies the parts of a complex product, with their rounding errors, by a number.
fn complex_multiplied([re, im]: [(f64, f64); 2], x: Complex<f64>) -> [(f64, f64); 2] {
    [total(multiplied(re, x.re), multiplied(im, -x.im)), total(multiplied(re, x.im), multiplied(im, x.re))]
}

/// The sum of two numbers with rounding errors. A sum that is not finite has no error.
fn total((a, error_of_a): (f64, f64), (b, error_of_b): (f64, f64)) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part) + error_of_a + error_of_b;
    let whole = sum + error;
    if whole.is_finite() { (whole, error - (whole - sum)) } else { (sum, 0.0) }
}

/// Whether a number takes the place of the best one so far. The first NaN stays; -0 is smaller than 0.
fn is_better<T: Ordered>(x: T, best: T, is_maximum: bool) -> bool {
    if best.is_nan() || x.is_nan() {
        return !best.is_nan();
    }
    match x.order(best) {
        Ordering::Greater => is_maximum,
        Ordering::Less => !is_maximum,
        Ordering::Equal => {
            if is_maximum {
                is_minus_zero(best)
            } else {
                is_minus_zero(x)
            }
        }
    }
}

/// Whether the bits of a float are those of -0. Integers that are equal have equal bits.
fn is_minus_zero<T: Element>(x: T) -> bool {
    matches!(bytemuck::bytes_of(&x), [rest @ .., 0x80] if rest.iter().all(|&byte| byte == 0))
}

/// An axis and a direction.
struct Along {
    axis: usize,
    reverse: bool,
}

impl Along {
    /// Steps through each line of the axis. `step` changes the state of its line, which is `start` before, and returns
    /// an element of the result.
    fn scan<T: Element, S: Copy>(&self, x: &Array, start: S, step: impl Fn(&mut S, T) -> T) -> Result<Array> {
        let dims = &x.ty().dims;
        let (length, lines) = (dims[self.axis] as usize, count(&dims[self.axis + 1..]));
        let mut states = filled(start, lines, "the states of a cumulative reduction")?;
        Array::write::<T>(x.ty(), |out| {
            let out = out.copy_mut(x.elements::<T>());
            for block in out.chunks_mut((length * lines).max(1)) {
                states.fill(start);
                let advance = |row: &mut [T]| {
                    row.iter_mut().zip(&mut states).for_each(|(element, state)| *element = step(state, *element));
                };
                match self.reverse {
                    true => block.chunks_mut(lines).rev().for_each(advance),
                    false => block.chunks_mut(lines).for_each(advance),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{array, counted, row};
    use super::*;

    fn sums(axis: usize, reverse: bool, x: &Array) -> Vec<i32> {
        let made = cumulative(BinaryOp::Add, axis, reverse, x, &array(&[], &[0i32])).unwrap().unwrap();
        assert_eq!(made.ty(), x.ty());
        made.elements::<i32>().to_vec()
    }

    #[test]
    fn lines_of_every_axis_are_reduced_in_both_directions() {
        let x = counted(&[2, 3, 2]); // 0 1 | 2 3 | 4 5, and 6 more
        assert_eq!(sums(0, false, &x), [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16]);
        assert_eq!(sums(1, false, &x), [0, 1, 2, 4, 6, 9, 6, 7, 14, 16, 24, 27]);
        assert_eq!(sums(2, false, &x), [0, 1, 2, 5, 4, 9, 6, 13, 8, 17, 10, 21]);
        assert_eq!(sums(1, true, &x), [6, 9, 6, 8, 4, 5, 24, 27, 18, 20, 10, 11]);
    }

    #[test]
    fn errors_of_sums_do_not_grow_with_the_length() {
        let tenth = vec![0.1f32; 1 << 20];
        let made = cumulative(BinaryOp::Add, 0, false, &row(&tenth), &array(&[], &[0f32])).unwrap().unwrap();
        let at = |i: usize| made.elements::<f32>()[i];
        assert_eq!([at(9), at((1 << 20) - 1)], [1.0, (f64::from(0.1f32) * 1048576.0) as f32]);
        let large = [1e17f64, 1.0, 1.0, -1e17, 1e308, 1e308, -1e308];
        let made = cumulative(BinaryOp::Add, 0, false, &row(&large), &array(&[], &[0f64])).unwrap().unwrap();
        let infinity = f64::INFINITY;
        assert_eq!(made.elements::<f64>(), [1e17, 1e17, 1e17 + 2.0, 2.0, 1e308, infinity, infinity]);
    }

    #[test]
    fn extremes_keep_nan_and_take_part_with_their_start() {
        let x = [1f32, -2.0, 3.0, f32::NAN, 9.0];
        let of = |op, init: f32| {
            let made = cumulative(op, 0, false, &row(&x), &array(&[], &[init])).unwrap().unwrap();
            made.elements::<f32>().to_vec()
        };
        let made = of(BinaryOp::Maximum, f32::NEG_INFINITY);
        assert!(made[..3] == [1.0, 1.0, 3.0] && made[3].is_nan() && made[4].is_nan());
        assert_eq!(of(BinaryOp::Minimum, 0.5)[..3], [0.5, -2.0, -2.0]);
    }

    #[test]
    fn products_keep_the_digits_of_f64() {
        let third = vec![1.0 + 1.0 / 3.0; 1 << 10];
        let factors: Vec<f64> = third.iter().map(|x| x * 0.75).chain([1e300, 1e-300, 1e300, 1e300, 1e-300]).collect();
        let made = cumulative(BinaryOp::Multiply, 0, false, &row(&factors), &array(&[], &[1f64])).unwrap().unwrap();
        let [.., last, a, b, c, d, e] = made.elements::<f64>() else { panic!() };
        // 4/3 in f64 times 3/4 is 1 - 2^-54, rounded to 1.
        assert!((last - 1.0).abs() < 1e-15, "{last}");
        assert!((a - 1e300).abs() < 1e285 && (b - 1.0).abs() < 1e-15 && (c - 1e300).abs() < 1e285);
        assert!(d.is_infinite() && e.is_infinite());
        let steps: Vec<f64> = (1..=1000).map(|i| 1.0 + 1e-3 / f64::from(i)).collect();
        let made = cumulative(BinaryOp::Multiply, 0, false, &row(&steps), &array(&[], &[1f64])).unwrap().unwrap();
        // The product of these doubles, computed by fractions and rounded once.
        assert_eq!(made.elements::<f64>()[999], 1.0075127292938064);
    }

    #[test]
    fn what_is_infinite_or_zero_in_f32_stays() {
        let of = |op, x: [f32; 4], init: f32| {
            let made = cumulative(op, 0, false, &row(&x), &array(&[], &[init])).unwrap().unwrap();
            made.elements::<f32>().to_vec()
        };
        let infinity = f32::INFINITY;
        assert_eq!(of(BinaryOp::Multiply, [1e-30, 1e-30, 1e30, 1e30], 1.0), [1e-30, 0.0, 0.0, 0.0]);
        assert_eq!(of(BinaryOp::Multiply, [1e30, 1e30, 1e-30, 1e-30], 1.0), [1e30, infinity, infinity, infinity]);
        assert_eq!(of(BinaryOp::Add, [3e38, 3e38, -3e38, 1.0], 0.0), [3e38, infinity, infinity, infinity]);
    }

    #[test]
    fn zeros_have_an_order() {
        let of = |op, x: [f64; 3], init: f64| {
            let made = cumulative(op, 0, false, &row(&x), &array(&[], &[init])).unwrap().unwrap();
            made.elements::<f64>().iter().map(|x| x.is_sign_negative()).collect::<Vec<bool>>()
        };
        assert_eq!(of(BinaryOp::Maximum, [-0.0, 0.0, -0.0], f64::NEG_INFINITY), [true, false, false]);
        assert_eq!(of(BinaryOp::Minimum, [0.0, -0.0, 0.0], f64::INFINITY), [false, true, true]);
    }

    #[test]
    fn complex_sums_are_those_of_the_parts() {
        let x = [Complex::new(1e8f32, 1.0), Complex::new(1.0, -1e8), Complex::new(-1e8, 1e8)];
        let init = array(&[], &[Complex::new(0f32, 0.0)]);
        let made = cumulative(BinaryOp::Add, 0, false, &row(&x), &init).unwrap().unwrap();
        assert_eq!(made.elements::<Complex<f32>>(), [x[0], Complex::new(1e8, -1e8), Complex::new(1.0, 1.0)]);
    }

    #[test]
    fn complex_products_do_not_lose_digits() {
        // Turns by a hundredth of a circle, whose powers are roots of 1.
        let n = 100_000;
        let angle = std::f64::consts::TAU / 100.0;
        let turn = Complex::new(angle.cos(), angle.sin());
        let one = Complex::new(1f64, 0.0);
        let made =
            cumulative(BinaryOp::Multiply, 0, false, &row(&vec![turn; n]), &array(&[], &[one])).unwrap().unwrap();
        let made = made.elements::<Complex<f64>>();
        // By squaring, whose few roundings are those of the factor.
        let mut power = turn;
        let mut exponent = 1;
        while exponent * 2 <= n {
            (power, exponent) = (power * power, exponent * 2);
            assert!((made[exponent - 1] - power).norm() < exponent as f64 * 4e-16, "{exponent}");
        }
        let narrow = |x: Complex<f64>| Complex::new(x.re as f32, x.im as f32);
        let (factors, init) = (vec![narrow(turn); 1000], array(&[], &[narrow(one)]));
        let made = cumulative(BinaryOp::Multiply, 0, false, &row(&factors), &init).unwrap().unwrap();
        let wide = Complex::new(f64::from(factors[0].re), f64::from(factors[0].im));
        assert_eq!(made.elements::<Complex<f32>>()[999], narrow(wide.powu(1000)));
        // i (1 + u), twice, and i (1 - u), twice, for u = 2^-27: 1 - 2^-53 + 2^-108, and 1 if every product is rounded.
        let of = |im: f64| Complex::new(0.0, im);
        let u = 2f64.powi(-27);
        let factors = [of(1.0 + u), of(1.0 + u), of(1.0 - u), of(1.0 - u)];
        let made = cumulative(BinaryOp::Multiply, 0, false, &row(&factors), &array(&[], &[one])).unwrap().unwrap();
        assert_eq!(made.elements::<Complex<f64>>()[3], Complex::new(1.0 - 2f64.powi(-53), 0.0));
        // A product that overflows in f32 stays infinite.
        let [large, small] = [1e30f32, 1e-30].map(|re| Complex::new(re, 0.0));
        let made = cumulative(BinaryOp::Multiply, 0, true, &row(&[small, large, large]), &init).unwrap().unwrap();
        assert_eq!(made.elements::<Complex<f32>>()[2], large);
        assert!(made.elements::<Complex<f32>>()[..2].iter().all(|x| x.re.is_infinite()));
    }

    #[test]
    fn what_has_no_kernel_is_left_to_others() {
        let one = Complex::new(1f64, 0.0);
        assert!(cumulative(BinaryOp::Maximum, 0, false, &row(&[one]), &array(&[], &[one])).unwrap().is_none());
    }
}
