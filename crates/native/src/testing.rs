//! Helpers for the tests of this crate and of crates above it: short ways to create arrays.

use super::array::Array;
use super::element::Element;
use base::types::{DType, TensorType};
use half::{bf16, f16};
use num_complex::Complex;

/// A Rust type that represents exactly one dtype.
pub trait Typed: Element {
    /// The dtype that the type represents.
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

/// Array with this shape and these elements.
pub fn array<T: Typed>(dims: &[i64], elements: &[T]) -> Array {
    Array::from_bytes(&TensorType::new(T::DTYPE, dims), bytemuck::cast_slice(elements)).unwrap()
}

/// Vector of these elements.
pub fn row<T: Typed>(elements: &[T]) -> Array {
    array(&[elements.len() as i64], elements)
}

/// Vector of pred, from 0 and 1.
pub fn preds(elements: &[u8]) -> Array {
    Array::from_bytes(&TensorType::new(DType::Pred, &[elements.len() as i64]), elements).unwrap()
}

/// s32 array of this shape with the elements 0, 1, 2, ...
pub fn counted(dims: &[i64]) -> Array {
    let elements: Vec<i32> = (0..base::types::count(dims) as i32).collect();
    array(dims, &elements)
}

/// All dtypes with arithmetic: all except pred, the 8-bit floats, and types of 2 and 4 bits.
pub fn numbers() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|dtype| *dtype != DType::Pred && !dtype.is_float8() && !dtype.is_subbyte())
}
