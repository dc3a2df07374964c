//! Elementwise functions of one operand without a StableHLO operation: the formulas for floats, which are one node
//! (`body.rs`), and the operations recorded for other dtypes. At NaN, infinities and zeros, lazy and eager
//! results are those of NumPy.

use crate::creation::constants::every;
use crate::elementwise::formula::{Expr, in_wide, record};
use crate::elementwise::functions::{
    airy, bessel, bessel_j, bessel_k, erf_inv, gamma, hyperbolic, inverse_circle, logarithm, of_complex,
};
use crate::elementwise::signs::signbit;
use crate::elementwise::wide;
use crate::infer::refuse;
use base::error::Result;
use base::types::{DType, Kind};
use ir::{NodeId, Op, Trace, UnaryFunction};
use std::f64::consts::{LOG2_E, LOG10_E};

/// Records an elementwise function.
pub fn unary_function(trace: &mut Trace, function: UnaryFunction, x: NodeId) -> Result<NodeId> {
    use UnaryFunction::{Acos, Acosh, Asin, Asinh, Atan, Atanh, Cosh, Sinh};
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
        Sinh | Cosh | Asin | Acos | Atan | Asinh | Acosh | Atanh => match ty.dtype.kind() {
            Kind::Float | Kind::Float8 | Kind::Complex => node(trace, function, x),
            _ => Err(refuse(function.name(), "x", &ty, "floats and complex numbers")),
        },
        _ if ty.dtype.is_float() => node(trace, function, x),
        _ => Err(refuse(function.name(), "x", &ty, "floats")),
    }
}

impl Expr<'_> {
    /// Records an elementwise function by [`unary_function`].
    pub(crate) fn function(self, function: UnaryFunction) -> Self {
        self.apply(|trace, x| unary_function(trace, function, x))
    }
}

/// Records a function of floats or complex numbers as one node of f32, f64, c64 or c128.
fn node(trace: &mut Trace, function: UnaryFunction, x: NodeId) -> Result<NodeId> {
    in_wide(trace, x, |x| x.operation(Op::UnaryFunction(function)))
}

/// The formula of a function of f32 or f64, or of complex numbers of these.
pub(crate) fn formula(function: UnaryFunction, x: Expr) -> Expr {
    match function {
        _ if x.dtype().kind() == Kind::Complex => of_complex::formula(function, x),
        UnaryFunction::Log2 | UnaryFunction::Log10 => logarithm::logarithm(function, x),
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
        UnaryFunction::BesselJ0 => bessel_j::bessel_j0(x),
        UnaryFunction::BesselJ1 => bessel_j::bessel_j1(x),
        UnaryFunction::BesselY0 => bessel_j::bessel_y0(x),
        UnaryFunction::BesselY1 => bessel_j::bessel_y1(x),
        UnaryFunction::BesselK0 => bessel_k::bessel_k(x, 0, false),
        UnaryFunction::BesselK1 => bessel_k::bessel_k(x, 1, false),
        UnaryFunction::BesselK0e => bessel_k::bessel_k(x, 0, true),
        UnaryFunction::BesselK1e => bessel_k::bessel_k(x, 1, true),
        UnaryFunction::AiryAi => airy::airy(x, false, 0),
        UnaryFunction::AiryAiPrime => airy::airy(x, false, 1),
        UnaryFunction::AiryBi => airy::airy(x, true, 0),
        UnaryFunction::AiryBiPrime => airy::airy(x, true, 1),
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
        Kind::Pred | Kind::Signed | Kind::Unsigned | Kind::Subbyte => every(trace, x, false),
    }
}

/// Records `x` rounded toward 0, with the sign of `x`.
fn trunc(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    match ty.dtype.kind() {
        Kind::Signed | Kind::Unsigned => Ok(x),
        Kind::Float8 | Kind::Subbyte => wide::in_wide(trace, [x], |trace, [x]| trunc(trace, x)),
        Kind::Float => record(trace, [x], |[x]| x.operation(Op::UnaryFunction(UnaryFunction::Trunc))),
        Kind::Pred | Kind::Complex => Err(refuse("trunc", "x", &ty, "integers and floats")),
    }
}

fn truncated(x: Expr) -> Expr {
    x.abs().floor().with_sign_of(x)
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
