//! Quantized element types, which are kept as text. VHLO and MLIR's `quant` have the same encoding.

use super::reader::Reader;
use crate::error::Result;
use crate::mlir::{Element, Type};
use std::sync::Arc;

/// Reads a type of the `quant` dialect.
pub fn ty(reader: &mut Reader) -> Result<Type> {
    match reader.varint()? {
        4 => uniform(reader),
        5 => uniform_by_axis(reader),
        code => Err(reader.unimplemented(format_args!("type {code} of quant"))),
    }
}

/// Reads a quantized element type.
pub fn uniform(reader: &mut Reader) -> Result<Type> {
    let flags = reader.varint()?;
    let (storage, expressed) = (reader.element()?, reader.element()?);
    let (scale, zero) = (reader.double()?, reader.svarint()?);
    let (low, high) = (reader.svarint()?, reader.svarint()?);
    let storage = storage_text(flags, &storage, low, high);
    reader.other_type(format!("!quant.uniform<{storage}:{expressed}, {}>", scale_text(scale, zero)))
}

/// Reads an element type that is quantized differently along an axis.
pub fn uniform_by_axis(reader: &mut Reader) -> Result<Type> {
    let flags = reader.varint()?;
    let (storage, expressed) = (reader.element()?, reader.element()?);
    let axis = reader.varint()?;
    let (low, high) = (reader.svarint()?, reader.svarint()?);
    let scales = reader.list(Reader::double)?;
    let zeros = reader.integers()?;
    let pairs = scales.iter().zip(&zeros).map(|(&scale, &zero)| scale_text(scale, zero)).collect::<Vec<_>>().join(",");
    let storage = storage_text(flags, &storage, low, high);
    reader.other_type(format!("!quant.uniform<{storage}:{expressed}:{axis}, {{{pairs}}}>"))
}

/// Writes the type of quantized values, with their range if it differs from the range of the storage type.
fn storage_text(flags: u64, storage: &Element, low: i64, high: i64) -> Arc<str> {
    let signed = flags & 1 == 1;
    let text = storage.to_string();
    let text = match signed {
        true => text,
        false => format!("u{}", text.trim_start_matches('u')),
    };
    let bits: u32 = text.trim_start_matches(['u', 'i']).parse().unwrap_or(0);
    let range = match (signed, bits) {
        (true, 1..=63) => Some((-1 << (bits - 1), (1 << (bits - 1)) - 1)),
        (false, 1..=62) => Some((0, (1 << bits) - 1)),
        _ => None,
    };
    if range == Some((low, high)) { text.into() } else { format!("{text}<{low}:{high}>").into() }
}

/// Writes a scale, and a zero point that is not 0.
fn scale_text(scale: f64, zero: i64) -> String {
    if zero == 0 { format!("{scale:?}") } else { format!("{scale:?}:{zero}") }
}
