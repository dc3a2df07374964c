//! 16-bit floats, which are computed in f32.

use super::element::Element;
use super::writer::Writer;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// A 16-bit float: stored as such, widened to f32 for computations, and rounded once.
pub trait Half: Element {
    /// Converts all elements to f32, which is exact. Both slices have the same length.
    fn widen(x: &[Self], out: &mut [f32]);

    /// Writes all elements, rounded to nearest, ties to even.
    fn narrow(x: &[f32], out: &mut Writer<Self>);

    /// Converts one element to f32.
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

/// Rounds to nearest, ties to even. Has no branches, so that loops are vectorized.
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
