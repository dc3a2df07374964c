//! Values of a formula with their derivatives by one parameter, where these are wanted.

use crate::elementwise::formula::Expr;
use std::ops::{Add, Mul, Neg};

/// A value and its derivative by a parameter of the formula. `None` is the derivative of a value that does not depend
/// on the parameter, and of all values of a formula that has no use for derivatives; nothing is recorded for it.
#[derive(Clone, Copy)]
pub struct Dual<'f> {
    pub value: Expr<'f>,
    pub slope: Option<Expr<'f>>,
}

impl<'f> Dual<'f> {
    pub fn new(value: Expr<'f>, slope: Option<Expr<'f>>) -> Dual<'f> {
        Dual { value, slope }
    }

    /// A value that does not depend on the parameter.
    pub fn constant(value: Expr<'f>) -> Dual<'f> {
        Dual { value, slope: None }
    }

    /// The quotient of this value and another.
    pub fn over(self, other: Dual<'f>) -> Dual<'f> {
        let quotient = self.value / other.value;
        let change = sum(self.slope, other.slope.map(|slope| -(quotient * slope)));
        Dual { value: quotient, slope: change.map(|change| change / other.value) }
    }

    /// The polynomial `c[0] + c[1] self + ...`, by Horner's scheme.
    pub fn polynomial(self, coefficients: &[f64]) -> Dual<'f> {
        let value = self.value.polynomial(coefficients);
        let slope = self.slope.filter(|_| coefficients.len() > 1).map(|slope| {
            let derived: Vec<f64> = coefficients.iter().enumerate().skip(1).map(|(i, c)| i as f64 * c).collect();
            self.value.polynomial(&derived) * slope
        });
        Dual { value, slope }
    }
}

/// The sum of two derivatives.
fn sum<'f>(a: Option<Expr<'f>>, b: Option<Expr<'f>>) -> Option<Expr<'f>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

impl<'f> Add for Dual<'f> {
    type Output = Dual<'f>;

    fn add(self, other: Dual<'f>) -> Dual<'f> {
        Dual { value: self.value + other.value, slope: sum(self.slope, other.slope) }
    }
}

impl<'f> Mul for Dual<'f> {
    type Output = Dual<'f>;

    fn mul(self, other: Dual<'f>) -> Dual<'f> {
        let by_first = self.slope.map(|slope| slope * other.value);
        let by_second = other.slope.map(|slope| self.value * slope);
        Dual { value: self.value * other.value, slope: sum(by_first, by_second) }
    }
}

impl<'f> Neg for Dual<'f> {
    type Output = Dual<'f>;

    fn neg(self) -> Dual<'f> {
        Dual { value: -self.value, slope: self.slope.map(|slope| -slope) }
    }
}

impl<'f> Add<f64> for Dual<'f> {
    type Output = Dual<'f>;

    fn add(self, number: f64) -> Dual<'f> {
        Dual { value: self.value + number, ..self }
    }
}

impl<'f> Mul<f64> for Dual<'f> {
    type Output = Dual<'f>;

    fn mul(self, number: f64) -> Dual<'f> {
        Dual { value: self.value * number, slope: self.slope.map(|slope| slope * number) }
    }
}
