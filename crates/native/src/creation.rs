//! Arrays without array operands: constants and iota.

use super::array::Array;
use super::convert::convert;
use super::element::{by_width, element};
use super::shape::broadcast_to;
use base::error::Result;
use base::types::{DType, Dims, Scalar, TensorType};

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
