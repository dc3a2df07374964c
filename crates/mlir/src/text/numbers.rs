//! Numbers of the text as numbers of an element type.

use super::super::Element;
use base::types::{DType, Kind, float8};
use half::{bf16, f16};

/// Number of bits of an integer type, and whether it is unsigned; None for other types.
fn integer_type(element: &Element) -> Option<(u32, bool)> {
    match element {
        Element::DType(DType::Pred) => Some((1, true)),
        Element::DType(dtype) => match dtype.wide().kind() {
            Kind::Signed => Some((dtype.bit_width(), false)),
            Kind::Unsigned => Some((dtype.bit_width(), true)),
            _ => None,
        },
        Element::Index => Some((64, false)),
        Element::Other(name) => {
            let bits = name.trim_start_matches(['s', 'u', 'i']).parse().ok()?;
            (name.contains('i') && (1..=64).contains(&bits)).then_some((bits, name.starts_with('u')))
        }
    }
}

/// Returns an integer of a type, sign-extended unless the type is unsigned. As in MLIR, a type without a sign takes the
/// numbers of the unsigned type too: 255 is -1 in i8. None if the number does not fit.
pub fn whole(text: &str, negative: bool, element: &Element) -> Option<i64> {
    let (bits, unsigned) = integer_type(element)?;
    let digits = match text.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => text.parse(),
    };
    let value = i128::from(digits.ok()?);
    let value = if negative { -value } else { value };
    let least = if unsigned { 0 } else { -1 << (bits - 1) };
    if value < least || value >= 1 << bits {
        return None;
    }
    let unused = 64 - bits;
    let value = value as i64;
    Some(if unsigned { value } else { value << unused >> unused })
}

/// Returns the number of a decimal fraction; None if it is beyond the numbers of 64 bits.
pub fn decimal(text: &str, negative: bool) -> Option<f64> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some(if negative { -value } else { value })
}

/// Returns the floating-point number with these bits; None if they are too many, or the type is not a real type.
pub fn float_from_bits(dtype: DType, bits: u64) -> Option<f64> {
    if dtype.bit_width() < 64 && bits >> dtype.bit_width() != 0 {
        return None;
    }
    Some(match dtype {
        DType::F64 => f64::from_bits(bits),
        DType::F32 => f32::from_bits(bits as u32).into(),
        DType::F16 => f16::from_bits(bits as u16).into(),
        DType::BF16 => bf16::from_bits(bits as u16).into(),
        _ if dtype.is_minifloat() => float8::format(dtype).decode(bits as u8).into(),
        _ => return None,
    })
}

/// Returns the bits of a floating-point number rounded to a type; None if the type is not a real type.
pub fn bits_of_float(dtype: DType, value: f64) -> Option<u64> {
    Some(match dtype {
        DType::F64 => value.to_bits(),
        DType::F32 => (value as f32).to_bits().into(),
        DType::F16 => f16::from_f64_const(value).to_bits().into(),
        DType::BF16 => bf16::from_f64_const(value).to_bits().into(),
        // A format without zero: MLIR takes the least number.
        DType::F8E8M0FNU if value == 0.0 => 0,
        _ if dtype.is_minifloat() => float8::format(dtype).encode(value).into(),
        _ => return None,
    })
}

/// Returns a floating-point number rounded to a type.
pub fn rounded(value: f64, element: &Element) -> f64 {
    let Element::DType(dtype) = *element else { return value };
    bits_of_float(dtype, value).and_then(|bits| float_from_bits(dtype, bits)).unwrap_or(value)
}
