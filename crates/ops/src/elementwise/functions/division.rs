//! Floor division and modulo, as in Python and NumPy.

use crate::elementwise::formula::Expr;
use base::types::Kind;

/// Whether the floored quotient is less than the truncated one: the remainder is not 0, and its sign differs from the
/// divisor's.
fn is_below<'f>(remainder: Expr<'f>, b: Expr<'f>) -> Expr<'f> {
    (remainder.lt(0.0) ^ b.lt(0.0)) & remainder.ne(0.0)
}

/// The floor division of integers. Division by 0 is 0, as in NumPy; the lowest value divided by -1 is itself.
pub fn integer_floor_divide<'f>(a: Expr<'f>, b: Expr<'f>) -> Expr<'f> {
    let mut quotient = a / b;
    if quotient.dtype().kind() == Kind::Signed {
        quotient = is_below(a - quotient * b, b).select(quotient - 1.0, quotient);
    }
    b.eq(0.0).select(0.0, quotient)
}

/// The modulo of integers; 0 for divisor 0, as in NumPy.
pub fn integer_modulo<'f>(a: Expr<'f>, b: Expr<'f>) -> Expr<'f> {
    let mut remainder = a % b;
    if remainder.dtype().kind() == Kind::Signed {
        remainder = is_below(remainder, b).select(remainder + b, remainder);
    }
    b.eq(0.0).select(0.0, remainder)
}

/// The floor division of floats as in Python and NumPy: the exact remainder is subtracted first, so that the quotient
/// is an integer up to rounding. For divisor 0, it is the plain quotient, infinite or NaN.
pub fn floor_divide<'f>(a: Expr<'f>, b: Expr<'f>) -> Expr<'f> {
    let remainder = a % b;
    let quotient = (a - remainder) / b;
    let quotient = is_below(remainder, b).select(quotient - 1.0, quotient);
    let floor = quotient.floor();
    let nearest = (quotient - floor).gt(0.5).select(floor + 1.0, floor);

    let plain = a / b;
    let signed_zero = a.number(0.0).with_sign_of(plain);
    let result = quotient.eq(0.0).select(signed_zero, nearest);
    b.eq(0.0).select(plain, result)
}

/// The modulo of floats, with the divisor's sign even if it is 0; NaN for divisor 0.
pub fn modulo<'f>(a: Expr<'f>, b: Expr<'f>) -> Expr<'f> {
    let remainder = a % b;
    let result = is_below(remainder, b).select(remainder + b, remainder);
    remainder.eq(0.0).select(b.number(0.0).with_sign_of(b), result)
}
