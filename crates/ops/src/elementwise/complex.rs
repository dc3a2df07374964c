//! Complex numbers from and to real and imaginary parts.

use crate::creation::constants::full;
use crate::definition::EvalContext;
use crate::emit::{Emitter, emit, mlir};
use base::error;
use base::error::Result;
use ir::{NodeId, Op, Trace};
use native::{self, Array};

use crate::infer::{common_dims, common_dtype, refuse, typed};

use base::types::{DType, Kind, ScalarValue, TensorType};

/// Records complex numbers with the given real and imaginary parts.
pub fn complex(trace: &mut Trace, real: NodeId, imag: NodeId) -> Result<NodeId> {
    let ty = infer(&trace.ty(real), &trace.ty(imag))?;
    Ok(typed(trace, Op::Complex, &ty, &[real, imag]))
}

/// Records the real part; returns `x` itself if it is not complex.
pub fn real(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    if ty.dtype.kind() != Kind::Complex {
        return Ok(x);
    }
    Ok(typed(trace, Op::Real, &part(&ty), &[x]))
}

/// Records the imaginary part; 0 if `x` is not complex.
pub fn imag(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let ty = trace.ty(x);
    if ty.dtype.kind() != Kind::Complex {
        return full(trace, &ty, ScalarValue::Unsigned(0));
    }
    Ok(typed(trace, Op::Imag, &part(&ty), &[x]))
}

fn part(ty: &TensorType) -> TensorType {
    TensorType { dtype: ty.dtype.real(), dims: ty.dims.clone() }
}

fn infer(real: &TensorType, imag: &TensorType) -> Result<TensorType> {
    for (name, ty) in [("real", real), ("imag", imag)] {
        if ty.dtype.kind() != Kind::Float {
            return Err(refuse("complex", name, ty, "floats"));
        }
    }
    let dtype = match common_dtype(real, imag)? {
        DType::F32 => DType::C64,
        DType::F64 => DType::C128,
        other => {
            return Err(error!(InvalidArgument, "real, imag: there are no complex numbers of {other}; convert to f32"));
        }
    };
    let dims = common_dims(real, imag).map_err(|e| e.context("complex (lhs is real, rhs is imag)"))?;
    Ok(TensorType { dtype, dims })
}

pub(super) fn lower_complex(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let (name, parts) = (e.name_of(at), part(&value.ty));
    let (real, imag) = (e.cast(value.operands[0], &parts), e.cast(value.operands[1], &parts));
    emit!(e, "    {name} = stablehlo.complex {real}, {imag} : {}", mlir(&value.ty));
}

pub(super) fn native_complex(cx: &EvalContext) -> Result<Array> {
    let dtype = cx.ty.dtype.real();
    let (real, imag) = (native::convert(cx.operands[0], dtype)?, native::convert(cx.operands[1], dtype)?);
    native::complex(cx.ty, &real, &imag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_promote_and_broadcast() {
        let ty = |dtype, dims: &[i64]| TensorType::new(dtype, dims);
        let of = |real, imag| infer(&ty(real, &[2, 1]), &ty(imag, &[3])).map(|ty| ty.dtype).ok();
        assert_eq!(of(DType::F32, DType::BF16), Some(DType::C64));
        assert_eq!(of(DType::F32, DType::F64), Some(DType::C128));
        assert_eq!(of(DType::F16, DType::F16), None);
        assert_eq!(of(DType::S32, DType::F32), None);
        assert_eq!(of(DType::C64, DType::F32), None);
    }
}
