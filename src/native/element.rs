//! Element types as Rust types, and choosing one by dtype.

use crate::error;
use crate::error::Error;
use crate::types::{DType, Scalar};
use bytemuck::Pod;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::writer::Writer;

/// What arrays hold. Pred is held as `u8`, 0 or 1; what only moves elements takes any unsigned integer of their width.
pub trait Element: Pod + Send + Sync + PartialEq {}

impl<T: Pod + Send + Sync + PartialEq> Element for T {}

/// The element that a scalar holds.
pub fn element<T: Element>(scalar: &Scalar) -> T {
    let bytes = scalar.bits().to_le_bytes();
    // As numbers, so that it is right on a big-endian machine, too, but for complex numbers.
    bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])
}

/// What inference does not let through.
#[cold]
pub fn unsupported(name: &str, dtype: DType) -> Error {
    error!(Internal, "{name} of {dtype} has no native kernel")
}

/// Evaluates an expression with `$T` an unsigned integer as wide as the elements of a dtype.
macro_rules! by_width {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype.size_bytes() {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            _ => {
                type $T = u128;
                $body
            }
        }
    };
}
pub(super) use by_width;

/// The same for integers.
macro_rules! by_integer_width {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype.size_bytes() {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            _ => {
                type $T = u64;
                $body
            }
        }
    };
}
pub(super) use by_integer_width;

/// A float of 16 bits: stored, widened to compute, rounded once.
pub trait Half: Element {
    /// All as f32, which is exact. Both slices are as long.
    fn widen(x: &[Self], out: &mut [f32]);

    /// Writes all, rounded to nearest, ties to even.
    fn narrow(x: &[f32], out: &mut Writer<Self>);

    /// One, as f32.
    fn wide(self) -> f32;
}

impl Half for f16 {
    fn widen(x: &[f16], out: &mut [f32]) {
        x.convert_to_f32_slice(out);
    }

    fn narrow(x: &[f32], out: &mut Writer<f16>) {
        out.repeat_mut(f16::ZERO, x.len()).convert_from_f32_slice(x);
    }

    fn wide(self) -> f32 {
        self.to_f32()
    }
}

impl Half for bf16 {
    fn widen(x: &[bf16], out: &mut [f32]) {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = f32::from_bits(u32::from(x.to_bits()) << 16));
    }

    fn narrow(x: &[f32], out: &mut Writer<bf16>) {
        out.map(x, round_to_bf16);
    }

    fn wide(self) -> f32 {
        self.to_f32()
    }
}

/// Without a branch, so that loops of it become vectors.
#[inline(always)]
fn round_to_bf16(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
    let nan = bits >> 16 | 0x40;
    bf16::from_bits(if x.is_nan() { nan } else { rounded } as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    fn narrowed<H: Half>(x: &[f32]) -> Vec<H> {
        let mut slots = vec![MaybeUninit::uninit(); x.len()];
        let mut writer = Writer::new(&mut slots);
        H::narrow(x, &mut writer);
        writer.finish().to_vec()
    }

    #[test]
    fn halves_come_back_and_round_to_even() {
        for bits in 0..=u16::MAX {
            let (h, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            let mut wide = [0.0; 2];
            f16::widen(&[h], &mut wide[..1]);
            bf16::widen(&[b], &mut wide[1..]);
            assert_eq!(wide[0].to_bits(), h.to_f32().to_bits());
            assert!(narrowed::<f16>(&wide[..1])[0] == h || h.is_nan());
            assert!(narrowed::<bf16>(&wide[1..])[0] == b || b.is_nan());
        }
        for i in 0..100_000u32 {
            let x = f32::from_bits(i.wrapping_mul(2_654_435_761));
            assert_eq!(narrowed::<bf16>(&[x])[0].to_bits(), bf16::from_f32(x).to_bits(), "{x:?}");
        }
    }
}
