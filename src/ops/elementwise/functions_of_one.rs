//! Elementwise functions of one operand without a StableHLO operation: the formulas for floats, which are one node
//! (`function.rs`), and the operations recorded for other dtypes. At NaN, infinities and zeros, lazy and eager results
//! are those of NumPy.

use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, NodeId, Op, Trace, UnaryFunction, UnaryOp};
use crate::ops::creation::constants::every;
use crate::ops::elementwise::binary::binary;
use crate::ops::elementwise::bits::bitcast_convert;
use crate::ops::elementwise::compare_select::compare_scalar;
use crate::ops::elementwise::complex::{complex, imag, real};
use crate::ops::elementwise::formula::{Formula, in_wide};
use crate::ops::elementwise::signs::{signbit, with_sign_of};
use crate::ops::elementwise::{bessel, erf_inv, float8, gamma, hyperbolic, inverse_circle};
use crate::ops::refuse;
use crate::types::{DType, Kind, ScalarValue};

/// Records an elementwise function.
pub fn unary_function(trace: &mut Trace, function: UnaryFunction, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    match function {
        UnaryFunction::IsNan => either_part(trace, x, |trace, x| crate::ops::compare(trace, CompareOp::Ne, x, x)),
        UnaryFunction::IsInf => either_part(trace, x, is_inf),
        UnaryFunction::Signbit => signbit(trace, x),
        UnaryFunction::Trunc => trunc(trace, x),
        UnaryFunction::Log2 | UnaryFunction::Log10 => match ty.dtype.kind() {
            Kind::Float | Kind::Float8 => node(trace, function, x),
            Kind::Complex => complex_logarithm(trace, function, x),
            _ => Err(refuse(function.name(), "x", &ty, "floats and complex numbers")),
        },
        UnaryFunction::Conj => match ty.dtype.kind() {
            Kind::Complex => {
                let (re, im) = (real(trace, x)?, imag(trace, x)?);
                let opposite = crate::ops::unary(trace, UnaryOp::Negate, im)?;
                complex(trace, re, opposite)
            }
            Kind::Pred => Err(refuse("conj", "x", &ty, "integers, floats and complex numbers")),
            _ => Ok(x),
        },
        _ if ty.dtype.is_float() => node(trace, function, x),
        _ => Err(refuse(function.name(), "x", &ty, "floats")),
    }
}

/// Records a function of floats as one node of f32 or f64.
fn node(trace: &mut Trace, function: UnaryFunction, x: NodeId) -> Result<NodeId> {
    in_wide(trace, x, |f, x| {
        let node = *f.trace.node(x);
        Ok(f.trace.operation(Op::UnaryFunction(function), node.dtype, node.shape, &[x]))
    })
}

/// Records the formula of a function of f32 or f64.
pub(in crate::ops) fn formula(f: &mut Formula, function: UnaryFunction, x: NodeId) -> Result<NodeId> {
    match function {
        UnaryFunction::Log2 | UnaryFunction::Log10 => logarithm(f, function, x),
        UnaryFunction::Sinh => hyperbolic::sinh(f, x),
        UnaryFunction::Cosh => hyperbolic::cosh(f, x),
        UnaryFunction::Asinh => hyperbolic::asinh(f, x),
        UnaryFunction::Acosh => hyperbolic::acosh(f, x),
        UnaryFunction::Atanh => hyperbolic::atanh(f, x),
        UnaryFunction::Asin => inverse_circle::asin(f, x),
        UnaryFunction::Acos => inverse_circle::acos(f, x),
        UnaryFunction::Atan => inverse_circle::atan(f, x),
        UnaryFunction::Lgamma => gamma::lgamma(f, x),
        UnaryFunction::Digamma => gamma::digamma(f, x),
        UnaryFunction::Trigamma => gamma::trigamma(f, x),
        UnaryFunction::BesselI0e => bessel::bessel_i0e(f, x),
        UnaryFunction::BesselI1e => bessel::bessel_i1e(f, x),
        UnaryFunction::ErfInv => inverse_of_erf(f, x),
        UnaryFunction::Trunc => truncated(f, x),
        UnaryFunction::IsNan | UnaryFunction::IsInf | UnaryFunction::Signbit | UnaryFunction::Conj => {
            unreachable!("{} is recorded as other operations", function.name())
        }
    }
}

/// Records a predicate of floats; for complex numbers, true if it holds for either part; for integers and pred, false.
fn either_part(trace: &mut Trace, x: NodeId, is: impl Fn(&mut Trace, NodeId) -> Result<NodeId>) -> Result<NodeId> {
    match trace.node(x).dtype.kind() {
        Kind::Float => is(trace, x),
        Kind::Float8 => float8::in_f32(trace, [x], |trace, [x]| is(trace, x)),
        Kind::Complex => {
            let (re, im) = (real(trace, x)?, imag(trace, x)?);
            let (re, im) = (is(trace, re)?, is(trace, im)?);
            binary(trace, BinaryOp::Or, re, im)
        }
        Kind::Pred | Kind::Signed | Kind::Unsigned => every(trace, x, false),
    }
}

fn is_inf(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let size = crate::ops::unary(trace, UnaryOp::Abs, x)?;
    compare_scalar(trace, CompareOp::Eq, size, ScalarValue::Float(f64::INFINITY), false)
}

/// Records `x` rounded toward 0, with the sign of `x`.
fn trunc(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    match ty.dtype.kind() {
        Kind::Signed | Kind::Unsigned => Ok(x),
        Kind::Float8 => float8::in_f32(trace, [x], |trace, [x]| trunc(trace, x)),
        Kind::Float => {
            let node = *trace.node(x);
            Ok(trace.operation(Op::UnaryFunction(UnaryFunction::Trunc), node.dtype, node.shape, &[x]))
        }
        Kind::Pred | Kind::Complex => Err(refuse("trunc", "x", &ty, "integers and floats")),
    }
}

/// Records the inverse error function, infinite at the ends of its domain.
fn inverse_of_erf(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let inside = erf_inv::erf_inv(f.trace, x)?;
    let end = f.times(x, f64::INFINITY)?;
    let size = f.unary(UnaryOp::Abs, x)?;
    let is_end = f.compare(CompareOp::Eq, size, 1.0)?;
    f.select(is_end, end, inside)
}

fn truncated(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let size = f.unary(UnaryOp::Abs, x)?;
    let below = f.unary(UnaryOp::Floor, size)?;
    with_sign_of(f.trace, below, x)
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

/// Records log2 or log10 of `x = 2^k m`, with m between the square roots of a half and of 2, as `k + log2(m)` (scaled
/// for log10): logarithms of powers of two are exact in base 2, and a large `k` costs no bits of the term in `m`. For
/// arguments that are not positive and finite, the result is that of [`UnaryOp::Log`].
fn logarithm(f: &mut Formula, function: UnaryFunction, x: NodeId) -> Result<NodeId> {
    let dtype = f.trace.node(x).dtype;
    let (parts, bits) = if dtype == DType::F64 { (PARTS_F64, DType::S64) } else { (PARTS_F32, DType::S32) };
    let int = |value: i64| ScalarValue::Signed(value);
    let is_small = f.compare(CompareOp::Lt, x, parts.tiny)?;
    let lifted = f.times(x, 2f64.powi(parts.lift))?;
    let normal = f.select(is_small, lifted, x)?;

    let code = bitcast_convert(f.trace, normal, bits)?;
    let above = f.with_scalar(BinaryOp::Subtract, code, int(parts.root_half))?;
    let exponent = f.with_scalar(BinaryOp::ShiftRightArithmetic, above, int(parts.mantissa))?;
    let rest = f.with_scalar(BinaryOp::And, above, int((1 << parts.mantissa) - 1))?;
    let code = f.with_scalar(BinaryOp::Add, rest, int(parts.root_half))?;
    let m = bitcast_convert(f.trace, code, dtype)?;

    let k = crate::ops::convert(f.trace, exponent, dtype);
    let taken = f.plus(k, -f64::from(parts.lift))?;
    let k = f.select(is_small, taken, k)?;
    let natural = f.unary(UnaryOp::Log, m)?;
    let sum = if function == UnaryFunction::Log2 {
        let small = f.times(natural, std::f64::consts::LOG2_E)?;
        f.add(k, small)?
    } else {
        let (small, large, rest) =
            (f.times(natural, std::f64::consts::LOG10_E)?, f.times(k, parts.high)?, f.times(k, parts.low)?);
        let small = f.add(small, rest)?;
        f.add(large, small)?
    };

    let is_positive = f.compare(CompareOp::Gt, x, 0.0)?;
    let is_finite = f.unary(UnaryOp::IsFinite, x)?;
    let has_one = f.binary(BinaryOp::And, is_positive, is_finite)?;
    let none = f.unary(UnaryOp::Log, x)?;
    f.select(has_one, sum, none)
}

/// Records log2 or log10 of complex numbers, part by part: a product with a complex constant would turn an infinite
/// part into NaN.
fn complex_logarithm(trace: &mut Trace, function: UnaryFunction, x: NodeId) -> Result<NodeId> {
    let by = if function == UnaryFunction::Log2 { std::f64::consts::LOG2_E } else { std::f64::consts::LOG10_E };
    let natural = crate::ops::unary(trace, UnaryOp::Log, x)?;
    let (re, im) = (real(trace, natural)?, imag(trace, natural)?);
    let mut f = Formula { trace };
    let (re, im) = (f.times(re, by)?, f.times(im, by)?);
    complex(trace, re, im)
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
