//! Inverse circular functions, computed by atan2 of the sides of a right triangle, which is accurate for all angles.

use crate::error::Result;
use crate::ir::{BinaryOp, NodeId, UnaryOp};
use crate::ops::elementwise::formula::Formula;

/// Records the inverse sine; NaN outside [-1, 1].
pub fn asin(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let other = other_side(f, x)?;
    f.binary(BinaryOp::Atan2, x, other)
}

/// Records the inverse cosine; NaN outside [-1, 1].
pub fn acos(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let other = other_side(f, x)?;
    f.binary(BinaryOp::Atan2, other, x)
}

/// Records the inverse tangent.
pub fn atan(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    f.with(BinaryOp::Atan2, x, 1.0)
}

/// Records `sqrt((1 - x) (1 + x))`. `1 - x^2` would lose bits near 1, since the square is rounded.
fn other_side(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let below = f.of(1.0, BinaryOp::Subtract, x)?;
    let above = f.plus(x, 1.0)?;
    let product = f.multiply(below, above)?;
    f.unary(UnaryOp::Sqrt, product)
}
