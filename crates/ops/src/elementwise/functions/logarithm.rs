//! Logarithms to base 2 and 10.

use crate::elementwise::formula::Expr;
use base::types::DType;
use ir::UnaryFunction;
use std::f64::consts::{LOG2_E, LOG10_E};

/// Constants for splitting a float of one width into mantissa and exponent for a logarithm.
struct Parts {
    /// Number of mantissa bits.
    mantissa: i64,
    /// Bits of the square root of a half.
    root_half: i64,
    /// Smallest normal number; subnormal ones are multiplied by 2^`lift`.
    tiny: f64,
    lift: i32,
    /// log10(2) as a sum of two parts; the product of `high` and any exponent is exact.
    high: f64,
    low: f64,
}

const PARTS_F32: Parts = Parts {
    mantissa: 23,
    root_half: 0x3F35_04F3,
    tiny: f32::MIN_POSITIVE as f64,
    lift: 24,
    high: 0.301_025_390_625,
    low: 4.605_038_981_195_214e-6,
};
const PARTS_F64: Parts = Parts {
    mantissa: 52,
    root_half: 0x3FE6_A09E_667F_3BCD,
    tiny: f64::MIN_POSITIVE,
    lift: 54,
    high: 0.301_029_995_663_839_14,
    low: 1.420_502_322_726_61e-13,
};

/// log2 or log10 of `x = 2^k m`, with m between the square roots of a half and of 2, as `k + log2(m)` (scaled for
/// log10): logarithms of powers of two are exact in base 2, and a large `k` costs no bits of the term in `m`. For
/// arguments that are not positive and finite, the result is that of the natural logarithm.
pub fn logarithm(function: UnaryFunction, x: Expr) -> Expr {
    let (parts, bits) = if x.is_double() { (PARTS_F64, DType::S64) } else { (PARTS_F32, DType::S32) };
    let is_small = x.lt(parts.tiny);
    let normal = is_small.select(x * 2f64.powi(parts.lift), x);

    let above = normal.bits(bits) - parts.root_half;
    let k = above.shift_right_arithmetic(parts.mantissa).convert(x.dtype());
    let k = is_small.select(k - f64::from(parts.lift), k);
    let m = ((above & ((1 << parts.mantissa) - 1)) + parts.root_half).bits(x.dtype());

    let sum = if function == UnaryFunction::Log2 {
        k + m.log() * LOG2_E
    } else {
        k * parts.high + (m.log() * LOG10_E + k * parts.low)
    };
    (x.gt(0.0) & x.is_finite()).select(sum, x.log())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_log10_of_2_make_it_up() {
        for (parts, bits) in [(&PARTS_F32, 8), (&PARTS_F64, 12)] {
            let sum = parts.high + parts.low;
            assert!((sum - std::f64::consts::LOG10_2).abs() < 1e-16, "{sum}");
            let width = parts.mantissa + 1 - bits;
            let scaled = parts.high * 2f64.powi(width as i32 + 1);
            assert_eq!(scaled, scaled.round(), "the first part has more than {width} bits");
        }
        assert_eq!(PARTS_F32.root_half, i64::from(std::f32::consts::FRAC_1_SQRT_2.to_bits()));
        assert_eq!(PARTS_F64.root_half, std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64);
    }
}
