//! StableHLO of the decompositions of matrices: calls of their native evaluation on engines that can call it, programs
//! of other operations elsewhere.

use super::decomposition::{Matrices, QrAttributes, SvdAttributes};
use super::portable;
use crate::control::lower::apply;
use crate::emit::Emitter;
use crate::host_call::lower_native;
use base::types::{DType, TensorType};
use ir::Op;

/// Writes a decomposition.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let a = &e.values[value.operands[0]].ty;
    if !e.calls_host {
        let body = portable::body(value, a).expect("it was recorded for matrices of this type");
        let (name, (operands, _)) = (e.name_of(at), e.listed(&value.operands));
        apply(e, &name, &body, &operands);
        return;
    }
    let of = Matrices::of("", "a", a).expect("it was recorded");
    let (rows, columns, least, dtype) = (of.rows, of.columns, of.least(), a.dtype);
    let results: Vec<TensorType> = match value.op {
        Op::Qr => {
            let QrAttributes { full, reflectors } = value.attributes();
            let inner = if full { rows } else { least };
            let q = of.ty(dtype, &[rows, inner]);
            match reflectors {
                true => vec![q, a.clone(), of.ty(dtype, &[least])],
                false => vec![q, of.ty(dtype, &[inner, columns])],
            }
        }
        Op::Lu => vec![a.clone(), of.ty(DType::S32, &[least]), of.ty(DType::S32, &[rows])],
        Op::Ldl => vec![a.clone(), of.ty(DType::S32, &[rows])],
        Op::Svd => {
            let SvdAttributes { full, vectors } = value.attributes();
            let values = of.ty(dtype.real(), &[least]);
            let [of_u, of_v] = if full { [rows, columns] } else { [least; 2] };
            match vectors {
                true => vec![of.ty(dtype, &[rows, of_u]), values, of.ty(dtype, &[of_v, columns])],
                false => vec![values],
            }
        }
        Op::Eigh => vec![of.ty(dtype.real(), &[rows]), a.clone()],
        Op::Eig => {
            let complex = if dtype.real() == DType::F64 { DType::C128 } else { DType::C64 };
            vec![of.ty(complex, &[rows]), of.ty(complex, &[rows, rows])]
        }
        Op::Schur => vec![a.clone(), a.clone()],
        _ => vec![of.ty(dtype, &[columns, rows])],
    };
    lower_native(e, at, &results);
}
