//! Polynomials of sizes with integer coefficients.

use smallvec::SmallVec;
use std::fmt;

/// Variables of a product, ascending; a variable occurs as often as its power. Empty for 1.
type Monomial = SmallVec<[u8; 4]>;

/// Number of variables up to which all corners of their sizes are looked at.
const MOST_CORNERS: usize = 8;

/// A polynomial of size variables, which are numbered from 0.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Form {
    /// Products with their coefficients, which are not 0; ascending by product.
    terms: SmallVec<[(Monomial, i64); 1]>,
}

impl Form {
    /// A number.
    pub fn constant(number: i64) -> Form {
        Form { terms: if number == 0 { SmallVec::new() } else { SmallVec::from_iter([(Monomial::new(), number)]) } }
    }

    /// A variable.
    pub fn variable(number: usize) -> Form {
        Form { terms: SmallVec::from_iter([(Monomial::from_slice(&[number as u8]), 1)]) }
    }

    /// The number, if the form has no variable.
    pub fn as_constant(&self) -> Option<i64> {
        match &self.terms[..] {
            [] => Some(0),
            [(product, number)] if product.is_empty() => Some(*number),
            _ => None,
        }
    }

    /// Whether it is this number for all sizes.
    pub fn is(&self, number: i64) -> bool {
        self.as_constant() == Some(number)
    }

    /// Whether no sizes up to these bounds give a larger value than the bounds.
    pub fn is_largest_at(&self, bounds: &[i64]) -> bool {
        let is_linear = |(product, _): &(Monomial, i64)| product.windows(2).all(|pair| pair[0] != pair[1]);
        if self.terms.iter().all(|(product, factor)| product.is_empty() || *factor > 0) {
            return true;
        }
        // A polynomial that is linear in each variable is largest at a corner.
        if bounds.len() > MOST_CORNERS || !self.terms.iter().all(is_linear) {
            return false;
        }
        let corner = |corner: usize| {
            let size = |(variable, &bound): (usize, &i64)| if corner >> variable & 1 == 1 { bound } else { 0 };
            self.at(&bounds.iter().enumerate().map(size).collect::<Vec<i64>>())
        };
        let last = (1 << bounds.len()) - 1;
        let largest = corner(last);
        largest.is_some() && (0..last).all(|number| corner(number).is_some_and(|value| Some(value) <= largest))
    }

    /// Value at these sizes; None if it overflows.
    pub fn at(&self, sizes: &[i64]) -> Option<i64> {
        self.terms.iter().try_fold(0i64, |sum, (product, factor)| {
            let term =
                product.iter().try_fold(*factor, |term, &variable| term.checked_mul(sizes[variable as usize]))?;
            sum.checked_add(term)
        })
    }

    /// Sum of two forms; None if a coefficient overflows.
    pub fn plus(&self, other: &Form) -> Option<Form> {
        let mut terms = self.terms.clone();
        terms.extend(other.terms.iter().cloned());
        Form::of(terms.into_vec())
    }

    /// Difference of two forms; None if a coefficient overflows.
    pub fn minus(&self, other: &Form) -> Option<Form> {
        self.plus(&other.times(&Form::constant(-1))?)
    }

    /// Product of two forms; None if a coefficient overflows.
    pub fn times(&self, other: &Form) -> Option<Form> {
        let mut terms = Vec::with_capacity(self.terms.len() * other.terms.len());
        for (a, factor) in &self.terms {
            for (b, other) in &other.terms {
                let mut product = a.clone();
                product.extend_from_slice(b);
                product.sort_unstable();
                terms.push((product, factor.checked_mul(*other)?));
            }
        }
        Form::of(terms)
    }

    /// The sum of these terms.
    fn of(mut terms: Vec<(Monomial, i64)>) -> Option<Form> {
        terms.sort_unstable();
        let mut sums: SmallVec<[(Monomial, i64); 1]> = SmallVec::new();
        for (product, factor) in terms {
            match sums.last_mut() {
                Some((last, sum)) if *last == product => *sum = sum.checked_add(factor)?,
                _ => sums.push((product, factor)),
            }
        }
        sums.retain(|(_, factor)| *factor != 0);
        Some(Form { terms: sums })
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return write!(f, "0");
        }
        // The constant comes last.
        for (i, (product, factor)) in self.terms.iter().rev().enumerate() {
            let sign = match (i, *factor < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            write!(f, "{sign}")?;
            let size = factor.unsigned_abs();
            if product.is_empty() || size != 1 {
                write!(f, "{size}{}", if product.is_empty() { "" } else { " " })?;
            }
            let names: Vec<String> = product.iter().map(|variable| format!("n{variable}")).collect();
            write!(f, "{}", names.join(" "))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(number: usize) -> Form {
        Form::variable(number)
    }

    #[test]
    fn forms_are_polynomials() {
        let two = Form::constant(2);
        let form = n(0).plus(&two).unwrap().times(&n(1)).unwrap().minus(&n(1)).unwrap();
        assert_eq!(form.at(&[5, 7]), Some(42));
        assert_eq!(form.to_string(), "n1 + n0 n1");
        assert_eq!(form, n(1).plus(&n(1).times(&n(0)).unwrap()).unwrap());
        assert!(form.minus(&form).unwrap().is(0) && two.is(2) && !form.is(42));
        assert!(form.is_largest_at(&[3, 4]) && !two.minus(&n(0)).unwrap().is_largest_at(&[3, 4]));
        // n0 (n1 - 1) is largest at the bounds, n0 - n1 is not, and squares are not looked at.
        assert!(n(0).times(&n(1)).unwrap().minus(&n(0)).unwrap().is_largest_at(&[3, 4]));
        assert!(!n(0).minus(&n(1)).unwrap().is_largest_at(&[9, 4]));
        assert!(!n(0).times(&n(0)).unwrap().minus(&n(0)).unwrap().is_largest_at(&[3]));
        assert_eq!(n(0).times(&Form::constant(i64::MAX)).unwrap().at(&[2]), None);
        assert_eq!(two.minus(&n(0)).unwrap().to_string(), "-n0 + 2");
    }
}
