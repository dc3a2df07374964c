//! Elements of constants.

use super::bytes::Cursor;
use super::numbers::stored_bytes;
use super::reader::Reader;
use crate::{Attribute, Data, Dense, Element, TensorShape, Type};
use base::error::Result;
use base::types::DType;
use std::sync::Arc;

/// Returns a constant, whose elements stay where they are in the file. Truth values are unpacked.
pub fn dense(reader: &Reader, ty: Arc<Type>, content: Cursor) -> Result<Attribute> {
    let Type::Tensor(shape) = &*ty else {
        return Err(reader.error("a constant that is not a tensor"));
    };
    let (Some(count), Some(size)) = (element_count(shape), stored_bytes(&shape.element)) else {
        return Err(reader.error(format_args!("a constant of type {}", shortened(shape))));
    };
    let data = if shape.element == Element::DType(DType::Pred) {
        truth_values(count, content)
    } else if content.remaining() == size {
        Some(Data::Splat(content.rest().into()))
    } else {
        let owner = reader.tables().file.owner.clone();
        let whole = count.checked_mul(size) == Some(content.remaining());
        whole.then(|| Data::Whole { owner, bytes: content.range() })
    };
    let Some(data) = data else {
        let bytes = content.remaining();
        return Err(content.error(format_args!("a constant of type {} with {bytes} bytes", shortened(shape))));
    };
    Ok(Attribute::Dense(Arc::new(Dense { ty, data })))
}

/// Number of elements; None if a size is free, or there are too many.
fn element_count(shape: &TensorShape) -> Option<usize> {
    let sizes = || shape.dims.iter().map(|&size| usize::try_from(size).ok());
    if sizes().any(|size| size == Some(0)) {
        return sizes().collect::<Option<Vec<_>>>().map(|_| 0);
    }
    sizes().try_fold(1_usize, |count, size| count.checked_mul(size?))
}

/// The type of a constant, for messages.
fn shortened(shape: &TensorShape) -> String {
    base::error::shortened(&shape.to_string(), 200).into_owned()
}

/// Returns truth values as bytes of 0 and 1. They are stored as bits, the first in the lowest bit of the first byte;
/// all of them as one byte 0xFF or 0; and by versions of MLIR between those as bytes.
fn truth_values(count: usize, content: Cursor) -> Option<Data> {
    let stored = content.rest();
    let bit = |i: usize| stored[i / 8] >> (i % 8) & 1;
    let values: Vec<u8> = if stored == [0xFF] {
        return Some(Data::Splat([1].into()));
    } else if stored.len() == count.div_ceil(8) && stored.len() != count {
        (0..count).map(bit).collect()
    } else if stored.len() == 1 {
        return Some(Data::Splat([u8::from(stored[0] != 0)].into()));
    } else if stored.len() == count {
        stored.iter().map(|&value| u8::from(value != 0)).collect()
    } else {
        return None;
    };
    Some(Data::Whole { bytes: 0..values.len(), owner: Arc::new(values) })
}
