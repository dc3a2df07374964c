//! Arrays without array operands: constants and iota.

use super::array::Array;
use super::convert::convert;
use super::element::{by_width, element};
use super::shape::broadcast_to;
use crate::error::Result;
use crate::types::{DType, Dims, Scalar, TensorType};

/// Array with the scalar in every element.
pub fn full(ty: &TensorType, scalar: Scalar) -> Result<Array> {
    by_width!(ty.dtype, T => {
        let value: T = element(&scalar);
        Array::write_elementwise(ty, &|range, out| out.repeat(value, range.len()))
    })
}

/// Values 0, 1, 2, ... along an axis.
pub fn iota(ty: &TensorType, axis: usize) -> Result<Array> {
    let size = ty.dims[axis];
    let counted = TensorType::new(DType::S64, &[size]);
    let numbers = Array::write::<i64>(&counted, |out| out.generate(size as usize, |i| i as i64))?;
    // Followed by axes of size 1, so that broadcasting aligns the axis.
    let mut dims = Dims::from_elem(1, ty.dims.len() - axis);
    dims[0] = size;
    broadcast_to(&convert(&numbers, ty.dtype)?.reshape(&dims), ty)
}
#[cfg(test)]
mod tests {
    use super::super::testing::{apply, counted};
    use super::*;
    use crate::ir::{BinaryOp, Op};
    use crate::ops::creation::IotaAttributes;
    use crate::ops::evaluate;
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
        let run = |dims: &[i64], axis| {
            apply::<i32>(Op::Iota, &TensorType::new(DType::S32, dims), &IotaAttributes { axis }, &[])
        };
        assert_eq!(run(&[2, 3], 0), [0, 0, 0, 1, 1, 1]);
        assert_eq!(run(&[2, 3], 1), [0, 1, 2, 0, 1, 2]);
        assert_eq!(run(&[2, 2, 2], 1), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert!(run(&[0, 3], 1).is_empty());
        let bytes = apply::<u8>(Op::Iota, &TensorType::new(DType::U8, &[300]), &IotaAttributes { axis: 0 }, &[]);
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
