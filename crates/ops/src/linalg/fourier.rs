//! Fourier transforms.

use crate::creation::constants::full;
use crate::definition::EvalContext;
use crate::emit::{Emitter, Extent, emit, mlir};
use base::error;
use base::error::Result;
use ir::{FftOp, NodeId, Op, Trace, attributes};
use native::{self, Array};

use base::types::{DType, Dims, Kind, ScalarValue, TensorType, element_count};

attributes! {
    /// Attributes of `fft`.
    pub struct FftAttributes {
        /// The transform.
        pub op: FftOp,
        /// Lengths of the transformed axes: of the result for IRFFT, and of the operand otherwise.
        pub lengths: Vec<i64>,
    }
}

/// Records a Fourier transform of the last one to three axes. `lengths` are those of the result for IRFFT, and of the
/// operand otherwise.
pub fn fft(trace: &mut Trace, op: FftOp, x: NodeId, lengths: &[i64]) -> Result<NodeId> {
    let ty = infer(op, &trace.ty(x), lengths)?;
    if ty.elements() == 0 {
        return full(trace, &ty, ScalarValue::Unsigned(0));
    }
    let shape = trace.intern(&ty.dims);
    let attributes = FftAttributes { op, lengths: lengths.to_vec() };
    Ok(trace.operation_with_attributes(Op::Fft, ty.dtype, shape, &[x], &attributes))
}

/// Default lengths of a transform of the last `count` axes.
pub fn fft_lengths(op: FftOp, x: &TensorType, count: usize) -> Result<Vec<i64>> {
    check_count(x, count)?;
    let mut lengths = x.dims[x.dims.len() - count..].to_vec();
    if op == FftOp::Irfft {
        lengths[count - 1] = 2 * (lengths[count - 1] - 1).max(0);
    }
    Ok(lengths)
}

fn check_count(x: &TensorType, count: usize) -> Result<()> {
    if !(1..=3).contains(&count) || count > x.dims.len() {
        let most = x.dims.len().min(3);
        return Err(error!(InvalidArgument, "n_lengths: {count} given; x is {x}, want 1 to {most}"));
    }
    Ok(())
}

fn infer(op: FftOp, x: &TensorType, lengths: &[i64]) -> Result<TensorType> {
    let fits =
        if op == FftOp::Rfft { matches!(x.dtype, DType::F32 | DType::F64) } else { x.dtype.kind() == Kind::Complex };
    if !fits {
        let wanted = if op == FftOp::Rfft { "f32 and f64" } else { "complex numbers" };
        return Err(error!(InvalidArgument, "x: {} takes {wanted}, not {x}", op.name()));
    }
    check_count(x, lengths.len())?;
    let first = x.dims.len() - lengths.len();
    let mut dims = Dims::from_slice(&x.dims);
    for (i, &length) in lengths.iter().enumerate() {
        let axis = first + i;
        let is_half = op == FftOp::Irfft && axis == x.dims.len() - 1;
        if length < 0 || (if is_half { half(length) } else { length }) != x.dims[axis] {
            let wanted = if is_half { "half of it, and 1, elements" } else { "as many elements" };
            return Err(error!(
                InvalidArgument,
                "lengths: lengths[{i}] is {length}; x is {x}, want {wanted} on axis {axis}"
            ));
        }
        dims[axis] = length;
    }
    let last = dims.len() - 1;
    let dtype = match (op, x.dtype) {
        (FftOp::Rfft, DType::F32) => DType::C64,
        (FftOp::Rfft, _) => DType::C128,
        (FftOp::Irfft, dtype) => dtype.real(),
        (_, dtype) => dtype,
    };
    if op == FftOp::Rfft {
        dims[last] = half(dims[last]);
    }
    element_count(&dims)?;
    Ok(TensorType { dtype, dims })
}

/// Number of elements of the RFFT of `length` reals.
fn half(length: i64) -> i64 {
    if length == 0 { 0 } else { length / 2 + 1 }
}

pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let FftAttributes { op, lengths } = value.attributes();
    let attributes = format!(", type = {}, length = {lengths:?}", op.name());
    if e.extent == Extent::Device {
        return e.one_operand(at, "fft", &attributes);
    }
    // XLA may assign the layout of a neighboring collective to the transform, and its CPU backend then fails at run
    // time.
    let (operand, ty) = (value.operands[0], &e.values[value.operands[0]].ty);
    let x = e.name(operand);
    let x = e.stored_row_major(&x, ty);
    let made = e.temporary();
    emit!(e, "    {made} = stablehlo.fft {x}{attributes} : ({}) -> {}", mlir(ty), mlir(&value.ty));
    let made = e.stored_row_major(&made, &value.ty);
    e.rename(at, made);
}

pub(super) fn native_fft(cx: &EvalContext) -> Result<Array> {
    let FftAttributes { op, lengths } = cx.attributes();
    native::fft(op, cx.ty, lengths.len(), cx.operands[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_halves_and_wholes() {
        let run = |op, dtype, dims: &[i64], lengths: &[i64]| infer(op, &TensorType::new(dtype, dims), lengths);
        let ty = |dtype, dims: &[i64]| TensorType::new(dtype, dims);
        assert_eq!(run(FftOp::Fft, DType::C64, &[2, 4, 5], &[4, 5]).unwrap(), ty(DType::C64, &[2, 4, 5]));
        assert_eq!(run(FftOp::Rfft, DType::F64, &[4, 5], &[4, 5]).unwrap(), ty(DType::C128, &[4, 3]));
        assert_eq!(run(FftOp::Irfft, DType::C64, &[4, 3], &[4, 5]).unwrap(), ty(DType::F32, &[4, 5]));
        assert_eq!(run(FftOp::Irfft, DType::C64, &[3], &[4]).unwrap(), ty(DType::F32, &[4]));
        assert_eq!(run(FftOp::Rfft, DType::F32, &[0], &[0]).unwrap(), ty(DType::C64, &[0]));
        for lengths in [&[][..], &[5, 5], &[2, 4, 5, 1], &[-5]] {
            assert!(run(FftOp::Fft, DType::C64, &[1, 2, 4, 5], lengths).is_err(), "{lengths:?}");
        }
        let e = run(FftOp::Irfft, DType::C64, &[3], &[3]).unwrap_err();
        assert!(e.message.contains("lengths[0] is 3; x is c64[3]"), "{e}");
        let e = run(FftOp::Rfft, DType::BF16, &[3], &[3]).unwrap_err();
        assert!(e.message.contains("RFFT takes f32 and f64, not bf16[3]"), "{e}");
        assert_eq!(fft_lengths(FftOp::Irfft, &ty(DType::C64, &[4, 3]), 2).unwrap(), [4, 4]);
    }
}
