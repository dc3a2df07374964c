//! Attributes of operations by their types, with errors that name them.

use super::sizes::integers_of;
use super::types::dtype_of;
use base::error;
use base::error::{Error, Result, limited};
use base::types::{DType, Scalar, TensorType, element_count};
use mlir::{Attribute, Data, Dense, Dictionary, Element, Operation, Type};
use native::Array;

/// Attributes of one operation.
#[derive(Clone, Copy)]
pub struct Attributes<'m>(pub &'m Dictionary);

impl<'m> Attributes<'m> {
    /// Returns the attributes of an operation.
    pub fn of(operation: &'m Operation) -> Attributes<'m> {
        Attributes(&operation.attributes)
    }

    /// Returns the attribute with a name; None if there is none.
    pub fn get(self, name: &str) -> Option<&'m Attribute> {
        self.0.get(name)
    }

    fn wanted(self, name: &str) -> Result<&'m Attribute> {
        self.get(name).ok_or_else(|| error!(InvalidArgument, "attribute {name}: it is missing"))
    }

    /// An integer.
    pub fn integer(self, name: &str) -> Result<i64> {
        match self.wanted(name)? {
            Attribute::Integer(value, _) => Ok(*value),
            Attribute::Dense(dense) => match integers_of_dense(dense)?[..] {
                [only] => Ok(only),
                ref all => Err(error!(InvalidArgument, "attribute {name}: {} integers; want one", all.len())),
            },
            other => Err(unexpected(name, other, "an integer")),
        }
    }

    /// A number.
    pub fn float(self, name: &str) -> Result<f64> {
        match self.wanted(name)? {
            Attribute::Float(value, _) => Ok(*value),
            other => Err(unexpected(name, other, "a floating-point number")),
        }
    }

    /// `true` or `false`; `absent` if the attribute is missing.
    pub fn bool(self, name: &str, absent: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(absent),
            Some(Attribute::Unit) => Ok(true),
            Some(Attribute::Bool(value)) => Ok(*value),
            Some(Attribute::Integer(value, Element::DType(DType::Pred))) => Ok(*value != 0),
            Some(other) => Err(unexpected(name, other, "true or false")),
        }
    }

    /// A list of integers or of truth values, from a dense tensor in row-major order too; None if it is missing.
    pub fn optional_integers(self, name: &str) -> Result<Option<Vec<i64>>> {
        let Some(attribute) = self.get(name) else { return Ok(None) };
        match attribute {
            Attribute::Integers(list) => Ok(Some(list.to_vec())),
            Attribute::Numbers(list) => {
                integers_of_dense(&Dense::of_numbers(list)).map(Some).map_err(|e| e.context(name))
            }
            Attribute::Dense(dense) => integers_of_dense(dense).map(Some).map_err(|e| e.context(name)),
            Attribute::Array(list) => list
                .iter()
                .map(|element| match element {
                    Attribute::Integer(value, _) => Ok(*value),
                    Attribute::Bool(value) => Ok((*value).into()),
                    other => Err(unexpected(name, other, "integers")),
                })
                .collect::<Result<Vec<i64>>>()
                .map(Some),
            other => Err(unexpected(name, other, "a list of integers")),
        }
    }

    /// Like [`Attributes::optional_integers`]; an error if the attribute is missing.
    pub fn integers(self, name: &str) -> Result<Vec<i64>> {
        self.wanted(name)?;
        Ok(self.optional_integers(name)?.unwrap_or_default())
    }

    /// A list of integers; `count` times `absent` if the attribute is missing or an empty list.
    pub fn integers_or(self, name: &str, count: usize, absent: i64) -> Result<Vec<i64>> {
        match self.optional_integers(name)? {
            Some(list) if list.len() == count => Ok(list),
            Some(list) if !list.is_empty() => {
                Err(error!(InvalidArgument, "attribute {name}: {} integers; want {count}", list.len()))
            }
            _ => Ok(vec![absent; count]),
        }
    }

    /// The keyword of a case of an enumeration; None if the attribute is missing.
    pub fn optional_keyword(self, name: &str) -> Result<Option<&'m str>> {
        match self.get(name) {
            None => Ok(None),
            Some(Attribute::Enum(keyword)) => Ok(Some(keyword)),
            Some(Attribute::String(bytes)) => Ok(std::str::from_utf8(bytes).ok()),
            Some(other) => Err(unexpected(name, other, "a keyword")),
        }
    }

    /// The keyword of a case of an enumeration.
    pub fn keyword(self, name: &str) -> Result<&'m str> {
        self.wanted(name)?;
        Ok(self.optional_keyword(name)?.unwrap_or_default())
    }

    /// The name of a function.
    pub fn symbol(self, name: &str) -> Result<&'m str> {
        match self.wanted(name)? {
            Attribute::Symbol(parts) if parts.len() == 1 => Ok(&parts[0]),
            Attribute::String(bytes) => {
                std::str::from_utf8(bytes).map_err(|_| error!(InvalidArgument, "attribute {name}: it is not UTF-8"))
            }
            other => Err(unexpected(name, other, "the name of a function")),
        }
    }

    /// A string; None if the attribute is missing.
    pub fn optional_text(self, name: &str) -> Result<Option<&'m str>> {
        match self.get(name) {
            None => Ok(None),
            Some(Attribute::String(bytes)) => std::str::from_utf8(bytes)
                .map(Some)
                .map_err(|_| error!(InvalidArgument, "attribute {name}: it is not UTF-8")),
            Some(other) => Err(unexpected(name, other, "a string")),
        }
    }
}

fn unexpected(name: &str, found: &Attribute, wanted: &str) -> Error {
    error!(InvalidArgument, "attribute {name}: {} given; want {wanted}", limited(format_args!("{found:?}")))
}

/// Returns the type of a constant's stored elements, and their bytes. A splat has one element, of rank 0.
fn stored(dense: &Dense) -> Result<(TensorType, &[u8])> {
    let Type::Tensor(shape) = &*dense.ty else {
        return Err(error!(Unimplemented, "a constant of type {}; want a tensor", dense.ty));
    };
    let dtype = dtype_of(&shape.element)?;
    element_count(&shape.dims)?;
    let is_splat = matches!(dense.data, Data::Splat(_));
    let ty = TensorType::new(dtype, if is_splat { &[] } else { &shape.dims });
    let bytes = dense.data.bytes();
    if bytes.len() != ty.size_bytes() {
        return Err(error!(InvalidArgument, "a constant of type {ty} has {} bytes", bytes.len()));
    }
    Ok((ty, bytes))
}

/// Returns the array of a constant. A splat has one element, of rank 0.
pub fn array_of(dense: &Dense) -> Result<Array> {
    let (ty, bytes) = stored(dense)?;
    Array::from_bytes(&ty, bytes)
}

/// Returns the element of a constant that is a scalar or a splat; None for any other.
pub fn scalar_of(dense: &Dense) -> Result<Option<Scalar>> {
    let (ty, bytes) = stored(dense)?;
    Ok(ty.dims.is_empty().then(|| Scalar::from_bytes(ty.dtype, bytes)))
}

fn integers_of_dense(dense: &Dense) -> Result<Vec<i64>> {
    let Type::Tensor(shape) = &*dense.ty else { return Err(error!(InvalidArgument, "{} given", dense.ty)) };
    let (ty, bytes) = stored(dense)?;
    let all = integers_of(ty.dtype, bytes)?;
    let count = element_count(&shape.dims)?;
    match all[..] {
        [only] if count <= super::sizes::Known::MOST_ELEMENTS => Ok(vec![only; count]),
        _ if all.len() == count => Ok(all),
        _ => Err(error!(InvalidArgument, "{count} equal integers; want at most 1024")),
    }
}
