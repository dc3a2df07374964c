//! Functions of one or two floats, under the same names for f32 and f64.

use super::element::Element;
use super::fast;
use super::fast64;
use super::inverse_circular;
use super::powers;
use super::roots;
use super::writer::Writer;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

/// A 32-bit or 64-bit float.
#[allow(missing_docs)]
pub trait Real:
    Element
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    fn atan2(self, other: Self) -> Self;
    fn greater(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
    fn abs(self) -> Self;
    fn sign(self) -> Self;
    fn exp(self) -> Self;
    fn exp_m1(self) -> Self;
    fn ln_1p(self) -> Self;
    fn logistic(self) -> Self;
    fn tanh(self) -> Self;
    fn sqrt(self) -> Self;
    fn rsqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn round_to_even(self) -> Self;
    fn round_away(self) -> Self;
    fn is_finite(self) -> bool;
    fn is_nan(self) -> bool;
    fn is_negative_zero(self) -> bool;
    fn logarithms(x: &[Self], out: &mut Writer<Self>);
    fn cube_roots(x: &[Self], out: &mut Writer<Self>);
    fn sines(x: &[Self], out: &mut Writer<Self>);
    fn cosines(x: &[Self], out: &mut Writer<Self>);
    fn tangents(x: &[Self], out: &mut Writer<Self>);
    fn powers(x: &[Self], y: &[Self], out: &mut Writer<Self>);
}

macro_rules! real {
    ($T:ident {
        atan2: $atan2:path,
        exp: $exp:path,
        exp_m1: $exp_m1:path,
        ln_1p: $ln_1p:path,
        tanh: $tanh:path,
        logistic: $logistic:path,
        logarithms: $logarithms:expr,
        cube_roots: $cube_roots:expr,
        sines: $sines:expr,
        cosines: $cosines:expr,
        tangents: $tangents:expr,
        powers: $powers:expr,
    }) => {
        impl Real for $T {
            #[inline(always)]
            fn atan2(self, other: $T) -> $T {
                $atan2(self, other)
            }
            #[inline(always)]
            fn greater(self, other: $T) -> $T {
                // For zeros with different signs this is 0.0.
                if self == other {
                    $T::from_bits(self.to_bits() & other.to_bits())
                } else if self > other || self.is_nan() {
                    self
                } else {
                    other
                }
            }
            #[inline(always)]
            fn smaller(self, other: $T) -> $T {
                // For zeros with different signs this is -0.0.
                if self == other {
                    $T::from_bits(self.to_bits() | other.to_bits())
                } else if self < other || self.is_nan() {
                    self
                } else {
                    other
                }
            }
            #[inline(always)]
            fn abs(self) -> $T {
                $T::abs(self)
            }
            #[inline(always)]
            fn sign(self) -> $T {
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    self
                }
            }
            #[inline(always)]
            fn exp(self) -> $T {
                $exp(self)
            }
            #[inline(always)]
            fn exp_m1(self) -> $T {
                $exp_m1(self)
            }
            #[inline(always)]
            fn ln_1p(self) -> $T {
                $ln_1p(self)
            }
            #[inline(always)]
            fn logistic(self) -> $T {
                $logistic(self)
            }
            #[inline(always)]
            fn tanh(self) -> $T {
                $tanh(self)
            }
            #[inline(always)]
            fn sqrt(self) -> $T {
                $T::sqrt(self)
            }
            #[inline(always)]
            fn rsqrt(self) -> $T {
                1.0 / $T::sqrt(self)
            }
            #[inline(always)]
            fn floor(self) -> $T {
                $T::floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> $T {
                $T::ceil(self)
            }
            #[inline(always)]
            fn round_to_even(self) -> $T {
                $T::round_ties_even(self)
            }
            #[inline(always)]
            fn round_away(self) -> $T {
                $T::round(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $T::is_finite(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $T::is_nan(self)
            }
            #[inline(always)]
            fn is_negative_zero(self) -> bool {
                self.to_bits() == $T::to_bits(-0.0)
            }
            fn logarithms(x: &[$T], out: &mut Writer<$T>) {
                $logarithms(x, out);
            }
            fn cube_roots(x: &[$T], out: &mut Writer<$T>) {
                $cube_roots(x, out);
            }
            fn sines(x: &[$T], out: &mut Writer<$T>) {
                $sines(x, out);
            }
            fn cosines(x: &[$T], out: &mut Writer<$T>) {
                $cosines(x, out);
            }
            fn tangents(x: &[$T], out: &mut Writer<$T>) {
                $tangents(x, out);
            }
            fn powers(x: &[$T], y: &[$T], out: &mut Writer<$T>) {
                $powers(x, y, out);
            }
        }
    };
}

real! {
    f32 {
        atan2: inverse_circular::single::atan2,
        exp: fast::exp,
        exp_m1: fast::exp_m1,
        ln_1p: fast::ln_1p,
        tanh: fast::tanh,
        logistic: fast::logistic,
        logarithms: fast::logarithms,
        cube_roots: roots::cube_roots,
        sines: fast::sines,
        cosines: fast::cosines,
        tangents: fast::tangents,
        powers: powers::powers,
    }
}
real! {
    f64 {
        atan2: inverse_circular::double::atan2,
        exp: fast64::exp,
        exp_m1: fast64::exp_m1,
        ln_1p: fast64::ln_1p,
        tanh: fast64::tanh,
        logistic: logistic,
        logarithms: fast64::logarithms,
        cube_roots: |x: &[f64], out: &mut Writer<f64>| out.compute(x, roots::cbrt64),
        sines: |x: &[f64], out: &mut Writer<f64>| out.map(x, f64::sin),
        cosines: |x: &[f64], out: &mut Writer<f64>| out.map(x, f64::cos),
        tangents: fast64::tangents,
        powers: powers::powers,
    }
}

/// `1 / (1 + e^-x)`, computed from `e^-|x|`, because `e^-x` overflows before the result rounds to 0.
#[inline(always)]
fn logistic(x: f64) -> f64 {
    let power = fast64::exp(-x.abs());
    (if x < 0.0 { power } else { 1.0 }) / (1.0 + power)
}
