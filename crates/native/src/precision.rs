//! Rounding to formats with fewer exponent or mantissa bits.

use super::array::Array;
use super::element::by_integer_width;
use super::elementwise::each;
use base::error::Result;

/// Rounds each float to a format with the given numbers of exponent and mantissa bits, to nearest, ties to even. Values
/// too large for the exponent become infinite; values below the smallest normal number become 0. `own` is the format of
/// the elements.
pub fn reduce_precision(x: &Array, own: (u32, u32), to: (u32, u32)) -> Result<Array> {
    by_integer_width!(x.ty().dtype, T => each::<T, T>(x.ty(), x, &|x| rounded(x, own, to) as T))
}

/// Rounds the encoding of one float; u64 has room for the encodings of all formats.
#[inline(always)]
fn rounded(x: impl Into<u64>, (exponent, mantissa): (u32, u32), (to_exponent, to_mantissa): (u32, u32)) -> u64 {
    let x = x.into();
    let sign = x & 1 << (exponent + mantissa);
    let size = x ^ sign;
    let infinity = ((1 << exponent) - 1) << mantissa;
    if size > infinity {
        // NaN stays unchanged.
        return x;
    }
    let cut = mantissa - to_mantissa;
    // A carry into the exponent gives the correct result.
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
