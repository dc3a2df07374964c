//! Elementwise functions of one operand without a StableHLO operation: the formulas for floats, which are one node
//! (`function.rs`), and the operations recorded for other dtypes. At NaN, infinities and zeros, lazy and eager results
//! are those of NumPy.

use crate::error::Result;
use crate::ir::{NodeId, Op, Trace, UnaryFunction};
use crate::ops::creation::constants::every;
use crate::ops::elementwise::formula::{Expr, in_wide, record};
use crate::ops::elementwise::signs::signbit;
use crate::ops::elementwise::{bessel, erf_inv, float8, gamma, hyperbolic, inverse_circle};
use crate::ops::refuse;
use crate::types::{DType, Kind};
use std::f64::consts::{LOG2_E, LOG10_E};

/// Records an elementwise function.
pub fn unary_function(trace: &mut Trace, function: UnaryFunction, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    match function {
        UnaryFunction::IsNan => either_part(trace, x, |x| x.ne(x)),
        UnaryFunction::IsInf => either_part(trace, x, |x| x.is_infinite()),
        UnaryFunction::Signbit => signbit(trace, x),
        UnaryFunction::Trunc => trunc(trace, x),
        UnaryFunction::Log2 | UnaryFunction::Log10 => match ty.dtype.kind() {
            Kind::Float | Kind::Float8 => node(trace, function, x),
            Kind::Complex => complex_logarithm(trace, function, x),
            _ => Err(refuse(function.name(), "x", &ty, "floats and complex numbers")),
        },
        UnaryFunction::Conj => match ty.dtype.kind() {
            Kind::Complex => record(trace, [x], |[x]| x.real().complex(-x.imag())),
            Kind::Pred => Err(refuse("conj", "x", &ty, "integers, floats and complex numbers")),
            _ => Ok(x),
        },
        _ if ty.dtype.is_float() => node(trace, function, x),
        _ => Err(refuse(function.name(), "x", &ty, "floats")),
    }
}

impl Expr<'_> {
    /// Records an elementwise function by [`unary_function`].
    pub(in crate::ops) fn function(self, function: UnaryFunction) -> Self {
        self.apply(|trace, x| unary_function(trace, function, x))
    }
}

/// Records a function of floats as one node of f32 or f64.
fn node(trace: &mut Trace, function: UnaryFunction, x: NodeId) -> Result<NodeId> {
    in_wide(trace, x, |x| x.operation(Op::UnaryFunction(function)))
}

/// The formula of a function of f32 or f64.
pub(in crate::ops) fn formula(function: UnaryFunction, x: Expr) -> Expr {
    match function {
        UnaryFunction::Log2 | UnaryFunction::Log10 => logarithm(function, x),
        UnaryFunction::Sinh => hyperbolic::sinh(x),
        UnaryFunction::Cosh => hyperbolic::cosh(x),
        UnaryFunction::Asinh => hyperbolic::asinh(x),
        UnaryFunction::Acosh => hyperbolic::acosh(x),
        UnaryFunction::Atanh => hyperbolic::atanh(x),
        UnaryFunction::Asin => inverse_circle::asin(x),
        UnaryFunction::Acos => inverse_circle::acos(x),
        UnaryFunction::Atan => inverse_circle::atan(x),
        UnaryFunction::Lgamma => gamma::lgamma(x),
        UnaryFunction::Digamma => gamma::digamma(x),
        UnaryFunction::Trigamma => gamma::trigamma(x),
        UnaryFunction::BesselI0e => bessel::bessel_i0e(x),
        UnaryFunction::BesselI1e => bessel::bessel_i1e(x),
        UnaryFunction::ErfInv => erf_inv::erf_inv(x),
        UnaryFunction::Trunc => truncated(x),
        UnaryFunction::IsNan | UnaryFunction::IsInf | UnaryFunction::Signbit | UnaryFunction::Conj => {
            unreachable!("{} is recorded as other operations", function.name())
        }
    }
}

/// Records a predicate of floats; for complex numbers, true if it holds for either part; for integers and pred, false.
fn either_part(trace: &mut Trace, x: NodeId, is: for<'f> fn(Expr<'f>) -> Expr<'f>) -> Result<NodeId> {
    match trace.node(x).dtype.kind() {
        Kind::Float => record(trace, [x], |[x]| is(x)),
        Kind::Float8 => record(trace, [x], |[x]| is(x.convert(DType::F32))),
        Kind::Complex => record(trace, [x], |[x]| is(x.real()) | is(x.imag())),
        Kind::Pred | Kind::Signed | Kind::Unsigned => every(trace, x, false),
    }
}

/// Records `x` rounded toward 0, with the sign of `x`.
fn trunc(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    match ty.dtype.kind() {
        Kind::Signed | Kind::Unsigned => Ok(x),
        Kind::Float8 => float8::in_f32(trace, [x], |trace, [x]| trunc(trace, x)),
        Kind::Float => record(trace, [x], |[x]| x.operation(Op::UnaryFunction(UnaryFunction::Trunc))),
        Kind::Pred | Kind::Complex => Err(refuse("trunc", "x", &ty, "integers and floats")),
    }
}

fn truncated(x: Expr) -> Expr {
    x.abs().floor().with_sign_of(x)
}

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
fn logarithm(function: UnaryFunction, x: Expr) -> Expr {
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

/// Records log2 or log10 of complex numbers, part by part: a product with a complex constant would turn an infinite
/// part into NaN.
fn complex_logarithm(trace: &mut Trace, function: UnaryFunction, x: NodeId) -> Result<NodeId> {
    let by = if function == UnaryFunction::Log2 { LOG2_E } else { LOG10_E };
    record(trace, [x], |[x]| {
        let natural = x.log();
        (natural.real() * by).complex(natural.imag() * by)
    })
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
