//! Types of a module as types of the library.

use base::error;
use base::error::{Result, limited};
use base::types::{DType, Dims, TensorType, element_count};
use mlir::{Element, FREE, Module, TensorShape, Type, Value};

/// Returns the dtype of an element type; UNIMPLEMENTED if the library has none. `index` is s64.
pub fn dtype_of(element: &Element) -> Result<DType> {
    match element {
        Element::DType(dtype) => Ok(*dtype),
        Element::Index => Ok(DType::S64),
        Element::Other(text) => Err(error!(Unimplemented, "elements of type {text} are not supported")),
    }
}

/// The type of a value; an error unless it is a tensor.
pub fn shape_of(module: &Module, value: Value) -> Result<&TensorShape> {
    match &**module.ty(value) {
        Type::Tensor(shape) => Ok(shape),
        other => Err(error!(Unimplemented, "a value of type {}; want tensors", limited(other))),
    }
}

/// Whether a type has free sizes.
pub fn is_free(ty: &Type) -> bool {
    matches!(ty, Type::Tensor(shape) if shape.dims.contains(&FREE))
}

/// Returns an error unless a value of type `ty` is one that the module's type allows.
pub fn check_fits(shape: &TensorShape, ty: &TensorType) -> Result<()> {
    let fits = dtype_of(&shape.element)? == ty.dtype
        && shape.dims.len() == ty.dims.len()
        && shape.dims.iter().zip(&ty.dims).all(|(&stated, &size)| stated == FREE || stated == size)
        && shape.exceeded(&ty.dims).is_none();
    match fits {
        true => Ok(()),
        false => Err(error!(InvalidArgument, "the module states the type {shape} for a value of type {ty}")),
    }
}

/// Returns the type of a parameter; None if a size is free and no shape is given. Fails if the given shape does not
/// fit.
pub fn resolved(shape: &TensorShape, given: Option<&Dims>) -> Result<Option<TensorType>> {
    let dtype = dtype_of(&shape.element)?;
    let dims = given.unwrap_or(&shape.dims);
    let fits = dims.len() == shape.dims.len()
        && dims.iter().zip(&shape.dims).all(|(size, stated)| *stated == FREE || size == stated);
    if !fits {
        return Err(error!(InvalidArgument, "dims: {:?} given; the module has {shape}", dims.as_slice()));
    }
    if let Some((axis, bound)) = shape.exceeded(dims) {
        return Err(error!(
            InvalidArgument,
            "dims: {:?} given; the module has {shape}, want at most {bound} along axis {axis}",
            dims.as_slice()
        ));
    }
    if given.is_none() && dims.contains(&FREE) {
        return Ok(None);
    }
    element_count(dims)?;
    Ok(Some(TensorType { dtype, dims: dims.clone() }))
}
