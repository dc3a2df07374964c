//! Rounding to formats with fewer bits.

use super::array::Array;
use super::element::by_integer_width;
use super::elementwise::each;
use crate::error::Result;

/// Every float rounded to a format with so many bits of exponent and of mantissa: to the nearest, ties to even. What is
/// too large for the exponent is infinite, what is too small for a normal number is 0. `own` is the elements' format.
pub fn reduce_precision(x: &Array, own: (u32, u32), to: (u32, u32)) -> Result<Array> {
    by_integer_width!(x.ty().dtype, T => each::<T, T>(x.ty(), x, &|x| rounded(x, own, to) as T))
}

/// The bits, in an integer in which all have room.
#[inline(always)]
fn rounded(x: impl Into<u64>, (exponent, mantissa): (u32, u32), (to_exponent, to_mantissa): (u32, u32)) -> u64 {
    let x = x.into();
    let sign = x & 1 << (exponent + mantissa);
    let size = x ^ sign;
    let infinity = ((1 << exponent) - 1) << mantissa;
    if size > infinity {
        // NaN.
        return x;
    }
    let cut = mantissa - to_mantissa;
    // A carry goes into the exponent, where it belongs.
    let nearest = if cut == 0 { size } else { (size + (1 << (cut - 1)) - 1 + (size >> cut & 1)) >> cut << cut };
    if to_exponent == exponent {
        return sign | nearest;
    }
    let bias = |bits: u32| (1u64 << (bits - 1)) - 1;
    let power = nearest >> mantissa;
    if power > bias(exponent) + bias(to_exponent) {
        sign | infinity
    } else if power <= bias(exponent) - bias(to_exponent) {
        sign
    } else {
        sign | nearest
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{apply, row};
    use crate::ir::Op;
    use half::{bf16, f16};

    fn f32s(x: &[f32], to: [i64; 2]) -> Vec<f32> {
        apply(Op::ReducePrecision, row(x).ty(), &to, &[&row(x)])
    }

    #[test]
    fn to_the_mantissa_of_bf16_is_to_bf16() {
        let x: Vec<f32> = (0..100_000u32).map(|i| f32::from_bits(i.wrapping_mul(2_654_435_761))).collect();
        for (x, got) in x.iter().zip(f32s(&x, [8, 7])) {
            let want = bf16::from_f32(*x).to_f32();
            assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{x:?} {got:?} {want:?}");
        }
    }

    #[test]
    fn to_the_format_of_f16_is_to_normal_numbers_of_f16() {
        let x: Vec<f32> = (0..100_000u32).map(|i| f32::from_bits(i.wrapping_mul(2_654_435_761))).collect();
        for (x, got) in x.iter().zip(f32s(&x, [5, 10])) {
            let want = f16::from_f32(*x).to_f32();
            let want = if want.abs() < 6.103_515_6e-5 { 0.0f32.copysign(want) } else { want };
            // What rounds up to the least normal number is it, here, and is below it, there.
            let near = x.abs() > 6.1e-5 && x.abs() < 6.104e-5;
            assert!(
                got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()) || near,
                "{x:?} {got:?} {want:?}"
            );
        }
    }

    #[test]
    fn edges() {
        assert_eq!(f32s(&[1.5, 2.5, 3.5, -0.0, f32::INFINITY], [8, 0]), [2.0, 2.0, 4.0, -0.0, f32::INFINITY]);
        assert_eq!(f32s(&[f32::MAX], [8, 0]), [f32::INFINITY]);
        assert!(f32s(&[f32::NAN], [1, 0])[0].is_nan() && f32s(&[f32::NAN], [8, 3])[0].is_nan());
        assert_eq!(
            f32s(&[0.5, 1.0, 1.99, 2.0, 4.0, -1.0], [1, 23]),
            [0.0, 0.0, 0.0, f32::INFINITY, f32::INFINITY, -0.0]
        );
    }
}
