//! Traced computations in random programs: lazily they are traced and applied; natively what they do is done.

use super::twin::{EXACT, MOST, Outcome, Pair, Twin, of};
use lazyxla::computation::{self, Computation};
use lazyxla::device::{self, TensorHandle};
use lazyxla::error::Result;
use lazyxla::ir::BinaryOp;
use lazyxla::tensor;
use lazyxla::types::{DType, TensorType};

/// Tensors that end with this.
struct Scratch(Vec<TensorHandle>);

impl Scratch {
    fn keep(&mut self, tensor: TensorHandle) -> TensorHandle {
        self.0.push(tensor);
        tensor
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for &tensor in &self.0 {
            let _ = device::release(tensor);
        }
    }
}

/// p (op) captured.
fn with_capture(op: BinaryOp, like: TensorHandle, captured: TensorHandle) -> Result<Computation> {
    let mut scratch = Scratch(Vec::new());
    let p = scratch.keep(tensor::placeholder_like(like)?);
    let result = scratch.keep(tensor::binary(op, p, captured)?);
    Computation::trace(&[p], &[result])
}

impl Twin<'_> {
    /// A computation that captured one tensor, applied to another.
    pub(super) fn apply(&mut self, a: Pair, b: Pair, op: u8) -> Outcome {
        let op = EXACT[op as usize % EXACT.len()];
        let bound = if op == BinaryOp::Multiply { a.bound * b.bound } else { a.bound + b.bound };
        let dtypes = [of(false, a), of(false, b)].map(|t| tensor::ty(t).map(|ty| ty.dtype));
        if dtypes.iter().any(|dtype| matches!(dtype, Ok(DType::F32))) && bound > MOST {
            return Ok(());
        }
        self.both(bound, |n| {
            if n {
                return tensor::binary(op, a.native, b.native);
            }
            Ok(with_capture(op, a.lazy, b.lazy)?.call(&[a.lazy])?[0])
        })
    }

    /// One of two tensors, chosen within the program.
    pub(super) fn branch(&mut self, pred: Pair, a: Pair, b: Pair) -> Outcome {
        let ty = |pair: Pair| tensor::ty(pair.native);
        if !matches!((ty(pred), ty(a), ty(b)), (Ok(p), Ok(a), Ok(b)) if p == TensorType::new(DType::Pred, &[]) && a == b)
        {
            return Ok(());
        }
        self.both(a.bound.max(b.bound), |n| {
            if n {
                return tensor::select(pred.native, a.native, b.native);
            }
            let (first, second) = (with_capture(BinaryOp::Maximum, a.lazy, a.lazy)?, given(a.lazy)?);
            // Of b the second gives b; the first, of b, the greater of a and b: so both are given a and b in turn.
            let mut scratch = Scratch(Vec::new());
            let greater = scratch.keep(tensor::select(pred.lazy, a.lazy, b.lazy)?);
            Ok(computation::branch(pred.lazy, &first, &second, &[greater])?[0])
        })
    }

    /// Sums along the leading axis.
    pub(super) fn scan(&mut self, a: Pair, reverse: bool) -> Outcome {
        let Ok(ty) = tensor::ty(a.native) else { return Ok(()) };
        let Some(&length) = ty.dims.first() else { return Ok(()) };
        let bound = a.bound * length.max(1) as f64;
        if ty.dtype == DType::Pred || (ty.dtype == DType::F32 && bound > MOST) {
            return Ok(());
        }
        let slice = TensorType::new(ty.dtype, &ty.dims[1..]);
        let zero = |n: bool, scratch: &mut Scratch| -> Result<TensorHandle> {
            // Nothing of the operand, in a slice's shape: from its own device.
            let none = scratch.keep(tensor::binary(BinaryOp::Subtract, of(n, a), of(n, a))?);
            let sum = scratch.keep(tensor::reduce(lazyxla::ir::ReduceOp::Sum, none, &[0], false)?);
            Ok(sum)
        };
        self.both(bound, |n| {
            let mut scratch = Scratch(Vec::new());
            let start = zero(n, &mut scratch)?;
            if n {
                return sums(a.native, start, &ty, reverse, &mut scratch);
            }
            let p = scratch.keep(tensor::placeholder_like(start)?);
            let x = scratch.keep(tensor::placeholder_like(start)?);
            let sum = scratch.keep(tensor::binary(BinaryOp::Add, p, x)?);
            let body = Computation::trace(&[p, x], &[sum, sum])?;
            let results = computation::scan(&body, &[start], &[a.lazy], length, reverse)?;
            scratch.keep(results[0]);
            debug_assert_eq!(tensor::ty(start)?, slice);
            Ok(results[1])
        })
    }
}

/// A computation that gives its parameter.
fn given(like: TensorHandle) -> Result<Computation> {
    let mut scratch = Scratch(Vec::new());
    let p = scratch.keep(tensor::placeholder_like(like)?);
    Computation::trace(&[p], &[p])
}

/// The same slice by slice.
fn sums(
    x: TensorHandle,
    start: TensorHandle,
    ty: &TensorType,
    reverse: bool,
    scratch: &mut Scratch,
) -> Result<TensorHandle> {
    let length = ty.dims[0];
    if length == 0 {
        return tensor::snapshot(x);
    }
    let mut sum = start;
    let mut rows = Vec::new();
    for i in 0..length {
        let at = if reverse { length - 1 - i } else { i };
        let (mut starts, mut limits) = (vec![0; ty.dims.len()], ty.dims.to_vec());
        (starts[0], limits[0]) = (at, at + 1);
        let cut = scratch.keep(tensor::slice(x, &starts, &limits, None)?);
        let slice = scratch.keep(tensor::reshape(cut, &ty.dims[1..])?);
        sum = scratch.keep(tensor::binary(BinaryOp::Add, sum, slice)?);
        let mut dims = ty.dims.to_vec();
        dims[0] = 1;
        rows.push(scratch.keep(tensor::reshape(sum, &dims)?));
    }
    if reverse {
        rows.reverse();
    }
    tensor::concatenate(&rows, 0)
}
