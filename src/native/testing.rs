//! Short ways to write arrays down, for tests.

use super::array::Array;
use super::element::Element;
use crate::ir::Op;
use crate::ops::evaluate;
use crate::types::{DType, TensorType};
use half::{bf16, f16};
use num_complex::Complex;

/// A Rust type that is that of one dtype.
pub trait Typed: Element {
    /// The dtype.
    const DTYPE: DType;
}

macro_rules! typed {
    ($($T:ty: $dtype:ident),* $(,)?) => {
        $(impl Typed for $T { const DTYPE: DType = DType::$dtype; })*
    };
}

typed! {
    i8: S8, i16: S16, i32: S32, i64: S64, u8: U8, u16: U16, u32: U32, u64: U64, f16: F16, bf16: BF16, f32: F32, f64: F64,
    Complex<f32>: C64, Complex<f64>: C128,
}

/// These elements in this shape.
pub fn array<T: Typed>(dims: &[i64], elements: &[T]) -> Array {
    Array::from_bytes(&TensorType::new(T::DTYPE, dims), bytemuck::cast_slice(elements)).unwrap()
}

/// These elements in a row.
pub fn row<T: Typed>(elements: &[T]) -> Array {
    array(&[elements.len() as i64], elements)
}

/// Truth values in a row.
pub fn preds(elements: &[u8]) -> Array {
    Array::from_bytes(&TensorType::new(DType::Pred, &[elements.len() as i64]), elements).unwrap()
}

/// 0, 1, 2, ... in this shape.
pub fn counted(dims: &[i64]) -> Array {
    let elements: Vec<i32> = (0..crate::types::count(dims) as i32).collect();
    array(dims, &elements)
}

/// What an operation gives, as elements of a type.
pub fn apply<T: Element>(op: Op, ty: &TensorType, attributes: &[i64], operands: &[&Array]) -> Vec<T> {
    let result = evaluate(op, ty, attributes, None, operands).unwrap();
    assert_eq!(result.ty(), ty);
    result.elements().to_vec()
}

/// The same for operations that keep type and shape.
pub fn same<T: Typed>(op: Op, operands: &[&Array]) -> Vec<T> {
    apply(op, operands[0].ty(), &[], operands)
}

/// All dtypes with numbers in them that are computed with.
pub fn numbers() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|dtype| *dtype != DType::Pred && !dtype.is_float8())
}
