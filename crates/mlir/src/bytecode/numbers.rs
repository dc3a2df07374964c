//! Numbers of element types: their sizes and their bytes.

use crate::Element;
use base::types::{DType, Kind, float8};

/// Bits of an integer type, and whether it is signed. MLIR's integers without a sign count as signed.
pub fn integer_bits(element: &Element) -> Option<(u32, bool)> {
    match element {
        Element::Index => Some((64, true)),
        Element::DType(DType::Pred) => Some((1, false)),
        Element::DType(dtype) => match dtype.wide().kind() {
            Kind::Signed => Some((dtype.bit_width(), true)),
            Kind::Unsigned => Some((dtype.bit_width(), false)),
            _ => None,
        },
        Element::Other(text) => {
            let (bits, signed) = match text.strip_prefix("ui") {
                Some(bits) => (bits, false),
                None => (text.strip_prefix('s').unwrap_or(text).strip_prefix('i')?, true),
            };
            Some((bits.parse().ok()?, signed))
        }
    }
}

/// Bytes of an element in a constant.
pub fn stored_bytes(element: &Element) -> Option<usize> {
    match element {
        Element::Index => Some(8),
        Element::DType(dtype) => Some(dtype.size_bytes()),
        Element::Other(text) if text.starts_with("f6") => Some(1),
        Element::Other(text) if &**text == "tf32" => Some(3),
        Element::Other(_) => integer_bits(element).map(|(bits, _)| bits.div_ceil(8) as usize),
    }
}

/// Returns an element of integer type or of pred.
pub fn integer(dtype: DType, bytes: &[u8]) -> i64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let unused = 64 - 8 * bytes.len();
    match dtype.wide().kind() {
        Kind::Signed => i64::from_le_bytes(word) << unused >> unused,
        _ => i64::from_le_bytes(word),
    }
}

/// Returns an element of floating-point type.
pub fn float(dtype: DType, bytes: &[u8]) -> f64 {
    let bits = integer(DType::U64, bytes) as u64;
    match dtype {
        DType::F64 => f64::from_bits(bits),
        DType::F32 => f32::from_bits(bits as u32).into(),
        DType::F16 => half::f16::from_bits(bits as u16).into(),
        DType::BF16 => half::bf16::from_bits(bits as u16).into(),
        float8 => float8::format(float8).decode(bits as u8).into(),
    }
}

/// Returns the bits of a number of floating-point type.
pub fn float_bits(dtype: DType, value: f64) -> u64 {
    match dtype {
        DType::F64 => value.to_bits(),
        DType::F32 => (value as f32).to_bits().into(),
        DType::F16 => half::f16::from_f64(value).to_bits().into(),
        DType::BF16 => half::bf16::from_f64(value).to_bits().into(),
        float8 => float8::format(float8).encode(value).into(),
    }
}
