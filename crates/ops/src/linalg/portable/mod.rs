//! Decompositions of matrices as programs of other operations, for devices whose programs cannot call the functions of
//! this process: GPUs, TPUs, and files that other systems run. All matrices of a batch are decomposed together.
//!
//! Loops go over columns or pairs of columns; what is left is matrix products. Their results satisfy the same
//! statements as those of the native kernels, but signs of vectors, and pivots among equal candidates, may differ.

mod blocks;
mod jacobi;
mod ldl;
mod lu;
mod qr;

use super::decomposition::{EighAttributes, LdlAttributes, PinvAttributes, QrAttributes, SvdAttributes};
use crate::elementwise::convert::convert;
use crate::elementwise::formula::widened;
use base::error::Result;
use base::types::TensorType;
use ir::{Body, Instruction, NodeId, Op, Trace, take_closed_body};
use std::sync::Arc;

pub use jacobi::swept;

/// Returns the program of a decomposition of matrices of a type: a body with the operand as its parameter, and the
/// results of the operation. f16 and bf16 are computed in f32 and rounded once.
pub fn body(decomposition: &Instruction, a: &TensorType) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let parameter = trace.parameter(a.clone());
    let wide = convert(&mut trace, parameter, widened(a.dtype));
    let results = results(&mut trace, decomposition, wide)?;
    let computed = widened(a.dtype);
    let narrowed: Vec<NodeId> = results
        .into_iter()
        .map(|node| if trace.node(node).dtype == computed { convert(&mut trace, node, a.dtype) } else { node })
        .collect();
    take_closed_body(&trace, &[parameter], &[], &narrowed)
}

/// Returns the program of a solution from LDL factors, pivots and right-hand sides of these types.
pub fn body_of_ldl_solve(solution: &Instruction, types: [&TensorType; 3]) -> Result<Arc<Body>> {
    let LdlAttributes { hermitian } = solution.attributes();
    let mut trace = Trace::new();
    let parameters = types.map(|ty| trace.parameter(ty.clone()));
    let [factors, pivots, b] = parameters;
    let [factors, b] = [factors, b].map(|id| convert(&mut trace, id, widened(types[2].dtype)));
    let x = ldl::ldl_solve(&mut trace, factors, pivots, b, hermitian)?;
    let x = convert(&mut trace, x, types[2].dtype);
    take_closed_body(&trace, &parameters, &[], &[x])
}

fn results(trace: &mut Trace, decomposition: &Instruction, a: NodeId) -> Result<Vec<NodeId>> {
    Ok(match decomposition.op {
        Op::Qr => match decomposition.attributes() {
            QrAttributes { reflectors: true, .. } => qr::reflectors(trace, a)?.to_vec(),
            QrAttributes { full, .. } => qr::qr(trace, a, full)?.to_vec(),
        },
        Op::Lu => lu::lu(trace, a)?.to_vec(),
        Op::Ldl => {
            let LdlAttributes { hermitian } = decomposition.attributes();
            ldl::ldl(trace, a, hermitian)?.to_vec()
        }
        Op::Svd => match decomposition.attributes() {
            SvdAttributes { vectors: false, .. } => vec![jacobi::singular_values(trace, a)?],
            SvdAttributes { full, .. } => jacobi::svd(trace, a, full)?.to_vec(),
        },
        Op::Eigh => {
            let EighAttributes { lower } = decomposition.attributes();
            jacobi::eigh(trace, a, lower)?.to_vec()
        }
        Op::Pinv => {
            let PinvAttributes { tolerance } = decomposition.attributes();
            vec![jacobi::pinv(trace, a, f64::from_bits(tolerance as u64))?]
        }
        op => unreachable!("asked for {op:?}"),
    })
}
