//! Derivative and batching of solutions from LDL factors.

use super::batch::by_merged_columns;
use super::decomposition::LdlAttributes;
use super::derivative::conjugate;
use super::ldl::solved;
use crate::rules::Site;
use base::error;
use base::error::{Error, Result};
use ir::NodeId;

/// Tangent of the solution: that of the right-hand side, solved.
pub fn jvp(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    if operand != 2 {
        return Err(not_by_factors());
    }
    let operands = [site.operands[0], site.operands[1], tangent];
    let attributes = site.attributes();
    Ok(Some(solved(site.trace, operands, attributes)))
}

/// Cotangent of the right-hand side: the transpose of a symmetric matrix is the matrix, that of a Hermitian one its
/// conjugate.
pub fn vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    if operand != 2 {
        return Err(not_by_factors());
    }
    let attributes: LdlAttributes = site.attributes();
    let [factors, pivots] = [site.operands[0], site.operands[1]];
    if !attributes.hermitian {
        return Ok(Some(solved(site.trace, [factors, pivots, cotangent], attributes)));
    }
    let side = conjugate(site.trace, cotangent)?;
    let x = solved(site.trace, [factors, pivots, side], attributes);
    conjugate(site.trace, x).map(Some)
}

fn not_by_factors() -> Error {
    error!(
        Unimplemented,
        "ldl_solve has no derivative by factors; lxla_solve has one by the matrix, and lxla_stop_gradient takes the \
         factors as constants"
    )
}

/// Batches a solution. For one matrix and a batch of right-hand sides, the batch is merged into their columns.
pub fn batch(site: &mut Site, mapped: &[bool], size: i64) -> Result<NodeId> {
    let attributes: LdlAttributes = site.attributes();
    if mapped[0] || mapped[1] {
        let mut all = [0, 1, 2].map(|operand| site.operands[operand]);
        for (operand, id) in all.iter_mut().enumerate() {
            *id = site.mapped_operand(operand, mapped, size)?;
        }
        return Ok(solved(site.trace, all, attributes));
    }
    let [factors, pivots, b] = [0, 1, 2].map(|operand| site.operands[operand]);
    by_merged_columns(site.trace, b, 0, |trace, sides| Ok(solved(trace, [factors, pivots, sides], attributes)))
}
