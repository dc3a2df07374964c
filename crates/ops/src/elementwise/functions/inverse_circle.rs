//! Inverse circular functions, computed by atan2 of the sides of a right triangle, which is accurate for all angles.

use crate::elementwise::formula::Expr;

/// The inverse sine; NaN outside [-1, 1].
pub fn asin(x: Expr) -> Expr {
    x.atan2(other_side(x))
}

/// The inverse cosine; NaN outside [-1, 1].
pub fn acos(x: Expr) -> Expr {
    other_side(x).atan2(x)
}

/// The inverse tangent.
pub fn atan(x: Expr) -> Expr {
    x.atan2(1.0)
}

/// `sqrt((1 - x) (1 + x))`. `1 - x^2` would lose bits near 1, since the square is rounded.
fn other_side(x: Expr) -> Expr {
    ((1.0 - x) * (x + 1.0)).sqrt()
}
