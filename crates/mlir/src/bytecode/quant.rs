//! Quantized element types, which are kept as text. VHLO and MLIR's `quant` have the same encoding.

use super::reader::Reader;
use crate::{Element, Type};
use base::error::Result;
use std::sync::Arc;

/// Reads a quantized element type, which may differ along an axis.
pub fn read(reader: &mut Reader, by_axis: bool) -> Result<Type> {
    if by_axis { uniform_by_axis(reader) } else { uniform(reader) }
}

fn uniform(reader: &mut Reader) -> Result<Type> {
    let flags = reader.varint()?;
    let (storage, expressed) = (reader.element()?, reader.element()?);
    let (scale, zero) = (reader.double()?, reader.svarint()?);
    let (low, high) = (reader.svarint()?, reader.svarint()?);
    let storage = storage_text(flags, &storage, low, high);
    reader.other_type(format!("!quant.uniform<{storage}:{expressed}, {}>", scale_text(scale, zero)))
}

fn uniform_by_axis(reader: &mut Reader) -> Result<Type> {
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
    if full_range(signed, bits) == Some((low, high)) { text.into() } else { format!("{text}<{low}:{high}>").into() }
}

/// Returns the smallest and the largest integer of a number of bits.
fn full_range(signed: bool, bits: u32) -> Option<(i64, i64)> {
    match (signed, bits) {
        (true, 1..=63) => Some((-1 << (bits - 1), (1 << (bits - 1)) - 1)),
        (false, 1..=62) => Some((0, (1 << bits) - 1)),
        _ => None,
    }
}

/// Writes a scale, and a zero point that is not 0.
fn scale_text(scale: f64, zero: i64) -> String {
    if zero == 0 { format!("{scale:?}") } else { format!("{scale:?}:{zero}") }
}

/// A quantized element type.
pub struct Quantized {
    /// Whether the stored integers are signed.
    pub is_signed: bool,
    /// Number of their bits.
    pub bits: u32,
    /// Type of the numbers that they stand for.
    pub expressed: String,
    /// The axis along which scales differ.
    pub axis: Option<u64>,
    /// Scales and zero points: one, or one for each place along the axis.
    pub scales: Vec<(f64, i64)>,
    /// The smallest stored integer.
    pub low: i64,
    /// The largest stored integer.
    pub high: i64,
}

impl Quantized {
    /// Parses `!quant.uniform<i8<-127:127>:f32:1, {0.5:3, 0.25}>`, where the range and the axis may be left out.
    pub fn of_text(text: &str) -> Option<Quantized> {
        let text = text.strip_prefix("!quant.uniform<")?.strip_suffix('>')?;
        let (types, scales) = text.split_once(',')?;
        let (storage, rest, range) = match types.split_once('<') {
            Some((storage, rest)) => {
                let (range, rest) = rest.split_once(">:")?;
                let (low, high) = range.split_once(':')?;
                (storage, rest, Some((low.trim().parse().ok()?, high.trim().parse().ok()?)))
            }
            None => types.split_once(':').map(|(storage, rest)| (storage, rest, None))?,
        };
        let is_signed = !storage.starts_with('u');
        let bits: u32 = storage.trim_start_matches(['u', 'i']).parse().ok()?;
        let (low, high) = range.or_else(|| full_range(is_signed, bits))?;
        let (expressed, axis) = match rest.split_once(':') {
            Some((expressed, axis)) => (expressed, Some(axis.trim().parse().ok()?)),
            None => (rest, None),
        };
        let pair = |text: &str| match text.trim().split_once(':') {
            Some((scale, zero)) => Some((scale.trim().parse().ok()?, zero.trim().parse().ok()?)),
            None => Some((text.trim().parse().ok()?, 0)),
        };
        let listed = scales.trim().trim_start_matches('{').trim_end_matches('}');
        let scales = listed.split(',').map(pair).collect::<Option<Vec<_>>>()?;
        Some(Quantized { is_signed, bits, expressed: expressed.trim().into(), axis, scales, low, high })
    }
}
