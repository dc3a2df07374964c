//! One operation on arrays.

use super::array::Array;
use super::binary::binary;
use super::compare::{compare, select};
use super::convert::convert;
use super::element::{by_width, element};
use super::elementwise::Source;
use super::indexing::{dynamic_slice, dynamic_update_slice, take};
use super::matmul::matmul;
use super::movement::{broadcast_to, concatenate, pad, slice, transpose};
use super::reduce::reduce;
use super::unary::unary;
use crate::error;
use crate::error::{Error, Result};
use crate::ir::{BinaryOp, CompareOp, Op};
use crate::types::{DType, Dims, Scalar, TensorType};

/// The result of an operation. `ty` is the type that inference gave for it; attributes, scalar and operands are those of
/// the node. Leaves, applications of traced computations and their results are no operations on arrays.
pub fn evaluate(
    op: Op,
    ty: &TensorType,
    attributes: &[i64],
    scalar: Option<Scalar>,
    operands: &[&Array],
) -> Result<Array> {
    match (op, operands) {
        (Op::Unary(op), [x]) => unary(op, ty, x),
        (Op::Binary(op), [a, b]) => two(op, ty, a, b),
        (Op::BinaryScalar(op), [x]) => binary(op, ty, Source::Array(x), Source::Scalar(given(scalar)?)),
        (Op::ScalarBinary(op), [x]) => binary(op, ty, Source::Scalar(given(scalar)?), Source::Array(x)),
        (Op::Compare(op), [a, b]) => comparison(op, ty, a, b),
        (Op::Select, [pred, a, b]) => select(ty, pred, a, b),
        (Op::Convert, [x]) => convert(x, ty.dtype),
        (Op::Reshape, [x]) => Ok(x.reshape(&ty.dims)),
        (Op::BroadcastTo, [x]) => broadcast_to(x, ty),
        (Op::Transpose, [x]) => transpose(ty, attributes, x),
        (Op::Reduce(op), [x]) => reduce(op, ty, attributes, x),
        (Op::Matmul, [a, b]) => matmul(ty, a, b),
        (Op::Slice, [x]) => slice(ty, attributes, x),
        (Op::Concatenate, parts) => concatenate(ty, attributes[0] as usize, parts),
        (Op::DynamicSlice, [x, starts @ ..]) => dynamic_slice(ty, x, starts),
        (Op::DynamicUpdateSlice, [x, update, starts @ ..]) => dynamic_update_slice(x, update, starts),
        (Op::Take, [x, indices]) => take(ty, attributes[0] as usize, x, indices),
        (Op::Pad, [x, value]) => pad(ty, attributes, x, value),
        (Op::Full, []) => full(ty, given(scalar)?),
        (Op::Iota, []) => iota(ty, attributes[0] as usize),
        _ => Err(error!(Internal, "{op:?} of {} arrays is no operation on arrays", operands.len())),
    }
}

/// What inference does not let through.
#[cold]
pub fn unsupported(name: &str, dtype: DType) -> Error {
    error!(Internal, "{name} of {dtype} has no native kernel")
}

fn given(scalar: Option<Scalar>) -> Result<Scalar> {
    scalar.ok_or_else(|| error!(Internal, "an operation with a scalar came without it"))
}

fn two(op: BinaryOp, ty: &TensorType, a: &Array, b: &Array) -> Result<Array> {
    if a.ty().dtype == ty.dtype && b.ty().dtype == ty.dtype {
        return binary(op, ty, Source::Array(a), Source::Array(b));
    }
    let (a, b) = (convert(a, ty.dtype)?, convert(b, ty.dtype)?);
    binary(op, ty, Source::Array(&a), Source::Array(&b))
}

fn comparison(op: CompareOp, ty: &TensorType, a: &Array, b: &Array) -> Result<Array> {
    if a.ty().dtype == b.ty().dtype {
        return compare(op, ty, a, b);
    }
    let dtype = a.ty().dtype.promote(b.ty().dtype)?;
    compare(op, ty, &convert(a, dtype)?, &convert(b, dtype)?)
}

fn full(ty: &TensorType, scalar: Scalar) -> Result<Array> {
    by_width!(ty.dtype, T => {
        let value: T = element(&scalar);
        Array::write_elementwise(ty, &|range, out| out.repeat(value, range.len()))
    })
}

/// 0, 1, 2, ... along an axis.
fn iota(ty: &TensorType, axis: usize) -> Result<Array> {
    let size = ty.dims[axis];
    let counted = TensorType::new(DType::S64, &[size]);
    let numbers = Array::write::<i64>(&counted, |out| out.generate(size as usize, |i| i as i64))?;
    // Beside axes of size 1, as broadcasting wants it.
    let mut dims = Dims::from_elem(1, ty.dims.len() - axis);
    dims[0] = size;
    broadcast_to(&convert(&numbers, ty.dtype)?.reshape(&dims), ty)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{apply, counted};
    use super::*;
    use crate::types::ScalarValue;

    #[test]
    fn full_has_the_scalar_everywhere() {
        for dtype in DType::ALL {
            let one = Scalar::new(dtype, ScalarValue::Signed(1)).unwrap();
            let ty = TensorType::new(dtype, &[2, 3]);
            let x = evaluate(Op::Full, &ty, &[], Some(one), &[]).unwrap();
            let size = dtype.size_bytes();
            assert!(x.bytes().chunks(size).all(|bytes| bytes == &one.bits().to_le_bytes()[..size]), "{dtype}");
        }
        assert!(evaluate(Op::Full, &TensorType::new(DType::F32, &[]), &[], None, &[]).is_err());
    }

    #[test]
    fn iota_counts_along_any_axis() {
        let run = |dims: &[i64], axis| apply::<i32>(Op::Iota, &TensorType::new(DType::S32, dims), &[axis], &[]);
        assert_eq!(run(&[2, 3], 0), [0, 0, 0, 1, 1, 1]);
        assert_eq!(run(&[2, 3], 1), [0, 1, 2, 0, 1, 2]);
        assert_eq!(run(&[2, 2, 2], 1), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert!(run(&[0, 3], 1).is_empty());
        let bytes = apply::<u8>(Op::Iota, &TensorType::new(DType::U8, &[300]), &[0], &[]);
        assert_eq!(bytes[255..258], [255, 0, 1]);
    }

    #[test]
    fn what_is_no_operation_on_arrays_is_refused() {
        let x = counted(&[2]);
        for op in [Op::Leaf, Op::Call, Op::Result, Op::Binary(BinaryOp::Add)] {
            assert!(evaluate(op, x.ty(), &[0], None, &[&x]).is_err(), "{op:?}");
        }
        assert!(evaluate(Op::Reshape, &TensorType::new(DType::S32, &[2, 1]), &[], None, &[&x]).is_ok());
    }
}
