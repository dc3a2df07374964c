//! Operations on complex numbers. Everything beyond addition, subtraction and multiplication is computed in f64, for
//! c64 too.

use super::array::Array;
use super::complex_functions as formulas;
use super::element::Element;
use super::element::unsupported;
use super::elementwise::{Kernel1, Kernel2, Source, map, zip};
use super::roots;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::{BinaryOp, UnaryOp};
use num_complex::{Complex, Complex64};
use std::ops::{Add, Mul, Neg, Sub};

/// A complex element type, with conversions to and from c128.
trait Number: Element + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self> {
    type Part: Element;
    fn wide(self) -> Complex64;
    fn narrow(value: Complex64) -> Self;
    fn part(value: f64) -> Self::Part;
}

impl Number for Complex<f32> {
    type Part = f32;

    fn wide(self) -> Complex64 {
        Complex64::new(self.re.into(), self.im.into())
    }

    fn narrow(value: Complex64) -> Self {
        Complex::new(value.re as f32, value.im as f32)
    }

    fn part(value: f64) -> f32 {
        value as f32
    }
}

impl Number for Complex64 {
    type Part = f64;

    fn wide(self) -> Complex64 {
        self
    }

    fn narrow(value: Complex64) -> Self {
        value
    }

    fn part(value: f64) -> f64 {
        value
    }
}

/// Applies `op` elementwise.
pub fn unary(op: UnaryOp, ty: &TensorType, x: &Array) -> Result<Array> {
    let dtype = x.ty().dtype;
    match (dtype, op) {
        (DType::C64, UnaryOp::Abs) => {
            map::<Complex<f32>, f32>(ty, x, |x, out| out.compute(x, |x| roots::hypot(x.re, x.im)))
        }
        (DType::C128, UnaryOp::Abs) => map(ty, x, abs::<Complex64>()),
        (DType::C64, _) => map(ty, x, function::<Complex<f32>>(op).ok_or_else(|| unsupported(op.name(), dtype))?),
        _ => map(ty, x, function::<Complex64>(op).ok_or_else(|| unsupported(op.name(), dtype))?),
    }
}

/// Applies `op` elementwise to two operands.
pub fn binary(op: BinaryOp, ty: &TensorType, a: Source, b: Source) -> Result<Array> {
    let refuse = || unsupported(op.name(), ty.dtype);
    match ty.dtype {
        DType::C64 => zip(ty, a, b, function_of_two::<Complex<f32>>(op).ok_or_else(refuse)?),
        _ => zip(ty, a, b, function_of_two::<Complex64>(op).ok_or_else(refuse)?),
    }
}

/// Builds complex numbers from real and imaginary parts, which broadcast to `ty`.
pub fn complex(ty: &TensorType, real: &Array, imag: &Array) -> Result<Array> {
    let (a, b) = (Source::Array(real), Source::Array(imag));
    match ty.dtype {
        DType::C64 => zip::<f32, Complex<f32>>(ty, a, b, |a, b, out| out.zip(a, b, Complex::new)),
        _ => zip::<f64, Complex64>(ty, a, b, |a, b, out| out.zip(a, b, Complex::new)),
    }
}

/// Real part of each element.
pub fn real(ty: &TensorType, x: &Array) -> Result<Array> {
    match ty.dtype {
        DType::F32 => map::<Complex<f32>, f32>(ty, x, |x, out| out.map(x, |x| x.re)),
        _ => map::<Complex64, f64>(ty, x, |x, out| out.map(x, |x| x.re)),
    }
}

/// Imaginary part of each element.
pub fn imag(ty: &TensorType, x: &Array) -> Result<Array> {
    match ty.dtype {
        DType::F32 => map::<Complex<f32>, f32>(ty, x, |x, out| out.map(x, |x| x.im)),
        _ => map::<Complex64, f64>(ty, x, |x, out| out.map(x, |x| x.im)),
    }
}

fn abs<C: Number>() -> Kernel1<C, C::Part> {
    |x, out| {
        out.map(x, |x| {
            let x = x.wide();
            C::part(x.re.hypot(x.im))
        })
    }
}

/// Makes a kernel of a formula.
macro_rules! by_formula {
    ($formula:ident) => {
        |x, out| {
            out.map(x, |x| {
                let x = x.wide();
                let [re, im] = formulas::$formula([x.re, x.im]);
                C::narrow(Complex64::new(re, im))
            })
        }
    };
}

fn function<C: Number>(op: UnaryOp) -> Option<Kernel1<C, C>> {
    use UnaryOp::*;
    Some(match op {
        Negate => |x, out| out.map(x, |x| -x),
        Sign => by_formula!(sign),
        Exponential => by_formula!(exp),
        ExponentialMinusOne => by_formula!(exp_minus_one),
        Log => by_formula!(log),
        LogPlusOne => by_formula!(log_plus_one),
        Logistic => by_formula!(logistic),
        Tanh => by_formula!(tanh),
        Sqrt => by_formula!(sqrt),
        Rsqrt => by_formula!(rsqrt),
        Sine => by_formula!(sin),
        Cosine => by_formula!(cos),
        Tan => by_formula!(tan),
        _ => return None,
    })
}

fn function_of_two<C: Number>(op: BinaryOp) -> Option<Kernel2<C, C>> {
    Some(match op {
        BinaryOp::Add => |a, b, out| out.zip(a, b, |a, b| a + b),
        BinaryOp::Subtract => |a, b, out| out.zip(a, b, |a, b| a - b),
        BinaryOp::Multiply => |a, b, out| out.zip(a, b, |a, b| a * b),
        BinaryOp::Divide => |a, b, out| out.zip(a, b, |a, b| C::narrow(divide(a.wide(), b.wide()))),
        BinaryOp::Power => |a, b, out| out.zip(a, b, |a, b| C::narrow(power(a.wide(), b.wide()))),
        _ => return None,
    })
}

fn power(base: Complex64, exponent: Complex64) -> Complex64 {
    let [re, im] = formulas::power([base.re, base.im], [exponent.re, exponent.im]);
    Complex64::new(re, im)
}

/// Division by Smith's method, which overflows only if the result does; zero and infinite operands follow C99, annex G.
pub fn divide(a: Complex64, b: Complex64) -> Complex64 {
    let quotient = if b.re.abs() >= b.im.abs() {
        let ratio = b.im / b.re;
        let scale = b.re + b.im * ratio;
        Complex64::new((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale)
    } else {
        let ratio = b.re / b.im;
        let scale = b.re * ratio + b.im;
        Complex64::new((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale)
    };
    if quotient.re.is_nan() && quotient.im.is_nan() { at_the_edge(a, b).unwrap_or(quotient) } else { quotient }
}

/// Quotient for a zero divisor, or for one infinite and one finite operand; None for all other operands that give NaN.
fn at_the_edge(a: Complex64, b: Complex64) -> Option<Complex64> {
    let infinite = |x: Complex64| x.re.is_infinite() || x.im.is_infinite();
    let finite = |x: Complex64| x.re.is_finite() && x.im.is_finite();
    let direction = |x: Complex64| {
        let one = |part: f64| f64::from(u8::from(part.is_infinite())).copysign(part);
        Complex64::new(one(x.re), one(x.im))
    };
    let product = |a: Complex64, b: Complex64| (a.re * b.re + a.im * b.im, a.im * b.re - a.re * b.im);
    if b == Complex64::ZERO && !(a.re.is_nan() && a.im.is_nan()) {
        let infinity = f64::INFINITY.copysign(b.re);
        Some(Complex64::new(infinity * a.re, infinity * a.im))
    } else if infinite(a) && finite(b) {
        let (re, im) = product(direction(a), b);
        Some(Complex64::new(f64::INFINITY * re, f64::INFINITY * im))
    } else if infinite(b) && finite(a) {
        let (re, im) = product(a, direction(b));
        Some(Complex64::new(0.0 * re, 0.0 * im))
    } else {
        None
    }
}
