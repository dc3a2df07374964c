//! Derivatives of elementwise functions without a StableHLO operation. A new function has an arm here.

use base::error::Result;
use ir::{BinaryFunction, Op, SpecialOp, UnaryFunction};

use crate::elementwise::derivative::extreme;
use crate::elementwise::formula::{Expr, Formula, record};
use crate::elementwise::functions::{airy, bessel_j, bessel_k, erf, igamma};
use crate::rules::{Factor, Site, no_derivative};
use base::types::Kind;
use std::f64::consts::{FRAC_2_SQRT_PI, LOG2_E, LOG10_E, PI};

/// Derivative of a function of one operand.
pub(crate) fn unary_factor(site: &mut Site, _: usize) -> Result<Factor> {
    let Op::UnaryFunction(function) = site.op else { unreachable!("asked for {:?}", site.op) };
    let (x, y) = (site.operands[0], site.result());
    let f = Formula::new(site.trace);
    let (x, y) = (f.operand(x), f.operand(y));
    use UnaryFunction::*;
    let factor = match function {
        IsNan | IsInf | Signbit | Trunc => return Ok(Factor::Zero),
        Conj => return Ok(Factor::One),
        Log2 => 1.0 / x * LOG2_E,
        Log10 => 1.0 / x * LOG10_E,
        Sinh => x.function(Cosh),
        Cosh => x.function(Sinh),
        Asin | Acos | Atan | Asinh | Acosh | Atanh if x.dtype().kind() == Kind::Complex => complex_slope(function, x),
        Asin => product_of_sides(x).rsqrt(),
        Acos => -product_of_sides(x).rsqrt(),
        Atan => 1.0 / (x * x + 1.0),
        // Without a square, which overflows.
        Asinh => 1.0 / x.function_with(BinaryFunction::Hypot, 1.0),
        Acosh => (x - 1.0).rsqrt() * (x + 1.0).rsqrt(),
        Atanh => 1.0 / product_of_sides(x),
        Lgamma => x.function(Digamma),
        Digamma => x.function(Trigamma),
        // The polygamma function of order 2.
        Trigamma => x.number(3.0).function_with(BinaryFunction::Zeta, x) * -2.0,
        ErfInv => (y * y).exp() * (1.0 / FRAC_2_SQRT_PI),
        BesselI0e => x.function(BesselI1e) - x.sign() * y,
        BesselI1e => bessel_i1e_slope(x, y),
        BesselJ0 => -x.function(BesselJ1),
        BesselJ1 => bessel_j::bessel_j1_slope(x, y),
        BesselY0 => -x.function(BesselY1),
        BesselY1 => bessel_j::bessel_y1_slope(x),
        BesselK0 => -x.function(BesselK1),
        BesselK1 => bessel_k::bessel_k1_slope(x, y),
        BesselK0e => bessel_k::bessel_k0e_slope(x),
        BesselK1e => bessel_k::bessel_k1e_slope(x),
        AiryAi => x.function(AiryAiPrime),
        AiryAiPrime => airy::second_derivative(x, x.function(AiryAi)),
        AiryBi => x.function(AiryBiPrime),
        AiryBiPrime => airy::second_derivative(x, x.function(AiryBi)),
    };
    Ok(Factor::Times(f.finish(factor)?))
}

/// The derivatives of inverse functions of complex numbers, as products of functions of `1 - z` and `1 + z`, or of
/// `1 - iz` and `1 + iz`: their parts have the signs of zeros that choose the side of a branch cut, and no square
/// overflows.
fn complex_slope<'f>(function: UnaryFunction, z: Expr<'f>) -> Expr<'f> {
    use UnaryFunction::*;
    let [re, im] = if matches!(function, Atan | Asinh) { [-z.imag(), z.real()] } else { [z.real(), z.imag()] };
    let (left, right) = ((1.0 - re).complex(-im), (re + 1.0).complex(im));
    match function {
        Atan | Atanh => 1.0 / left * (1.0 / right),
        Acos => -(left.rsqrt() * right.rsqrt()),
        Acosh => (re - 1.0).complex(im).rsqrt() * right.rsqrt(),
        _ => left.rsqrt() * right.rsqrt(),
    }
}

/// `(1 - x) (1 + x)`.
fn product_of_sides(x: Expr) -> Expr {
    (1.0 - x) * (x + 1.0)
}

/// `i0e(x) - y (sign(x) + 1 / x)`. Near 0, the result is `1/2 - |x|` to all bits, and is computed as such: `1 / x` may
/// overflow there, and cancels in the second derivative, which would keep half of the digits.
fn bessel_i1e_slope<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    let epsilon = if x.is_double() { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let size = x.abs();
    let is_near = size.le(epsilon.sqrt() / 4.0);
    let sum = x.sign() + 1.0 / is_near.select(1.0, x);
    is_near.select(0.5 - size, x.function(UnaryFunction::BesselI0e) - y * sum)
}

/// Derivative of a special function: a multiple of e^-x^2 or e^(-x^2/2); of erfcx, a function of its own.
pub(crate) fn special_factor(site: &mut Site, _: usize) -> Result<Factor> {
    let Op::Special(op) = site.op else { unreachable!("asked for {:?}", site.op) };
    let (scale, by) = match op {
        SpecialOp::Erf => (-1.0, FRAC_2_SQRT_PI),
        SpecialOp::Erfc => (-1.0, -FRAC_2_SQRT_PI),
        SpecialOp::NormalCdf => (-0.5, 1.0 / (2.0 * PI).sqrt()),
        SpecialOp::Erfcx => {
            let operands = [site.operands[0], site.result()];
            return record(site.trace, operands, |[x, y]| erf::erfcx_slope(x, y)).map(Factor::Times);
        }
    };
    record(site.trace, [site.operands[0]], |[x]| (x * x * scale).exp() * by).map(Factor::Times)
}

/// Partial derivatives of a function of two operands.
pub(crate) fn binary_factor(site: &mut Site, operand: usize) -> Result<Factor> {
    let Op::BinaryFunction(function) = site.op else { unreachable!("asked for {:?}", site.op) };
    let nodes = [site.operands[0], site.operands[1], site.result()];
    let f = Formula::new(site.trace);
    let [a, b, y] = nodes.map(|node| f.operand(node));
    let [own, other] = if operand == 0 { [a, b] } else { [b, a] };
    let factor = match (function, operand) {
        (BinaryFunction::FloorDivide, _) | (BinaryFunction::Copysign, 1) => return Ok(Factor::Zero),
        (BinaryFunction::Modulo, 0) => return Ok(Factor::One),
        (BinaryFunction::Modulo, _) => -(a / b).floor(),
        (BinaryFunction::Copysign, _) => a.sign() * a.number(1.0).function_with(function, b),
        // At the origin, the derivative is 0.
        (BinaryFunction::Hypot, _) => {
            let is_zero = y.eq(0.0);
            is_zero.select(0.0, own / is_zero.select(1.0, y))
        }
        (BinaryFunction::Logaddexp, _) if y.dtype().kind() == Kind::Complex => {
            let is_infinite = y.real().is_infinite();
            let is_largest = (is_infinite & own.real().eq(y.real())).select(y.real().sign().abs(), 0.0);
            // As below: the logistic function of the difference, of the power that does not overflow.
            let apart = is_infinite.select(0.0, own.real() - other.real());
            let (apart, falls) = (apart.complex(own.imag() - other.imag()), apart.lt(0.0));
            let power = falls.select(apart, -apart).exp();
            let share = falls.select(power, 1.0) / (power + 1.0);
            is_infinite.select(is_largest.complex(is_largest * 0.0), share)
        }
        // The logistic function of the difference, not e^(own - y): y is rounded. Where y is infinite, the derivative of
        // the maximum by the operand.
        (BinaryFunction::Logaddexp, _) => {
            y.function(UnaryFunction::IsInf).select(extreme(own, other, y), (own - other).logistic())
        }
        (BinaryFunction::NextAfter, _) => return Err(no_derivative("next_after")),
        (BinaryFunction::Polygamma, 0) => return Err(no_derivative("polygamma by its order")),
        (BinaryFunction::Polygamma, _) => (a + 1.0).function_with(function, b),
        (BinaryFunction::Zeta, 0) => return Err(no_derivative("zeta by its exponent")),
        (BinaryFunction::Zeta, _) => -(a * (a + 1.0).function_with(function, b)),
        (BinaryFunction::Igamma, 0) => a.function_with(BinaryFunction::IgammaGradA, b),
        (BinaryFunction::Igamma, _) => igamma::density(a, b),
        (BinaryFunction::Igammac, 0) => -a.function_with(BinaryFunction::IgammaGradA, b),
        (BinaryFunction::Igammac, _) => -igamma::density(a, b),
        (BinaryFunction::IgammaGradA, 0) => return Err(no_derivative("igamma_grad_a by a")),
        (BinaryFunction::IgammaGradA, _) => igamma::density_by_order(a, b),
    };
    Ok(Factor::Times(f.finish(factor)?))
}
