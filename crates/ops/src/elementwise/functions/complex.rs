//! Complex functions as XLA computes them: the formulas of the native kernels, recorded on real and imaginary parts.

use crate::elementwise::formula::Expr;
use base::types::DType;
use ir::UnaryOp;
use native::complex_functions::{self as formulas, Part, Parts};

/// The formula of a function of complex numbers; none for an operation that XLA computes.
pub fn formula(op: UnaryOp, z: Expr) -> Option<Expr> {
    let parts = [z.real(), z.imag()];
    let [re, im] = match op {
        UnaryOp::Abs => return Some(formulas::size(parts)),
        UnaryOp::Sign => formulas::sign(parts),
        UnaryOp::Exponential => formulas::exp(parts),
        UnaryOp::ExponentialMinusOne => formulas::exp_minus_one(parts),
        UnaryOp::Log => formulas::log(parts),
        UnaryOp::LogPlusOne => formulas::log_plus_one(parts),
        UnaryOp::Logistic => formulas::logistic(parts),
        UnaryOp::Tanh => formulas::tanh(parts),
        UnaryOp::Tan => formulas::tan(parts),
        UnaryOp::Sqrt => formulas::sqrt(parts),
        UnaryOp::Rsqrt => formulas::rsqrt(parts),
        UnaryOp::Sine => formulas::sin(parts),
        UnaryOp::Cosine => formulas::cos(parts),
        _ => return None,
    };
    Some(re.complex(im))
}

/// The formula of a power of complex numbers.
pub fn power<'f>(base: Expr<'f>, exponent: Expr<'f>) -> Expr<'f> {
    let parts = |z: Expr<'f>| -> Parts<Expr<'f>> {
        let wide = z.convert(DType::C128);
        [wide.real(), wide.imag()]
    };
    let [re, im] = formulas::power(parts(base), parts(exponent));
    re.complex(im).convert(base.dtype())
}

impl<'f> Part for Expr<'f> {
    type Mask = Expr<'f>;

    fn is_double(self) -> bool {
        Expr::is_double(self)
    }

    fn number(self, value: f64) -> Expr<'f> {
        Expr::number(self, value)
    }

    fn when(self, mask: Expr<'f>, other: Expr<'f>) -> Expr<'f> {
        mask.select(self, other)
    }

    fn equals(self, other: Expr<'f>) -> Expr<'f> {
        self.eq(other)
    }

    fn is_below(self, other: Expr<'f>) -> Expr<'f> {
        self.lt(other)
    }

    fn is_finite(self) -> Expr<'f> {
        Expr::is_finite(self)
    }

    fn greater(self, other: Expr<'f>) -> Expr<'f> {
        self.max(other)
    }

    fn smaller(self, other: Expr<'f>) -> Expr<'f> {
        self.min(other)
    }

    fn with_sign_of(self, other: Expr<'f>) -> Expr<'f> {
        self.with_sign_of(other)
    }

    fn abs(self) -> Expr<'f> {
        Expr::abs(self)
    }

    fn exp(self) -> Expr<'f> {
        Expr::exp(self)
    }

    fn exp_minus_one(self) -> Expr<'f> {
        Expr::exp_minus_one(self)
    }

    fn log(self) -> Expr<'f> {
        Expr::log(self)
    }

    fn log_plus_one(self) -> Expr<'f> {
        Expr::log_plus_one(self)
    }

    fn sqrt(self) -> Expr<'f> {
        Expr::sqrt(self)
    }

    fn sin(self) -> Expr<'f> {
        Expr::sin(self)
    }

    fn cos(self) -> Expr<'f> {
        Expr::cos(self)
    }

    fn atan2(self, x: Expr<'f>) -> Expr<'f> {
        Expr::atan2(self, x)
    }
}
