//! Conversion to another dtype. Floats are truncated to integers and saturate at the range of the type; NaN becomes 0.
//! Complex numbers become their real part. Conversion to pred is `x != 0`. Integers of 2 and 4 bits wrap and saturate
//! as wider ones do.

use super::array::Array;
use super::element::Element;
use super::elementwise::{map, map_to_half};
use super::half_floats::Half;
use super::wide::to_i32;
use super::writer::Writer;
use base::error::Result;
use base::types::{DType, TensorType, float8, integer_limits};
use half::{bf16, f16};
use num_complex::Complex;

/// Converts all elements to `dtype`.
pub fn convert(x: &Array, dtype: DType) -> Result<Array> {
    let from = x.ty().dtype;
    if from == dtype {
        return Ok(x.clone());
    }
    let ty = &TensorType { dtype, dims: x.ty().dims.clone() };
    if dtype.is_minifloat() {
        return to_minifloat(ty, x);
    }
    if dtype.is_subbyte() {
        return to_subbyte(ty, x);
    }
    match from {
        DType::Pred | DType::U8 | DType::U4 | DType::U2 => integer::u8(ty, x),
        DType::U16 => integer::u16(ty, x),
        DType::U32 => integer::u32(ty, x),
        DType::U64 => integer::u64(ty, x),
        DType::S8 | DType::S4 | DType::S2 => integer::i8(ty, x),
        DType::S16 => integer::i16(ty, x),
        DType::S32 => integer::i32(ty, x),
        DType::S64 => integer::i64(ty, x),
        DType::F32 => float::f32(ty, x),
        DType::F64 => float::f64(ty, x),
        DType::F16 => convert(&widened::<f16>(x)?, dtype),
        DType::BF16 => convert(&widened::<bf16>(x)?, dtype),
        DType::C64 | DType::C128 => complex(ty, x),
        _ => convert(&of_minifloat(x)?, dtype),
    }
}

fn to_minifloat(ty: &TensorType, x: &Array) -> Result<Array> {
    match x.ty().dtype {
        DType::F32 => encoded(ty, x, |x: f32| x.into()),
        DType::F64 => encoded(ty, x, |x: f64| x),
        DType::S64 => encoded(ty, x, i64::sticky),
        DType::U64 => encoded(ty, x, u64::sticky),
        DType::S32 | DType::U32 | DType::C128 => to_minifloat(ty, &convert(x, DType::F64)?),
        _ => to_minifloat(ty, &convert(x, DType::F32)?),
    }
}

/// Converts to integers of 2 or 4 bits by way of those of 8 bits.
fn to_subbyte(ty: &TensorType, x: &Array) -> Result<Array> {
    let from = x.ty().dtype;
    let bytes = convert(x, ty.dtype.wide())?;
    let is_rounded = from.real().is_float() || from.is_minifloat();
    let limits = integer_limits(ty.dtype).expect("the type is an integer");
    let dtype = ty.dtype;
    if !is_rounded {
        return Array::from_bytes(ty, bytes.bytes());
    }
    let (least, most) = (limits.min as i8, limits.max as i8);
    let clamped = |byte: u8| match dtype.wide() {
        DType::S8 => (byte as i8).clamp(least, most) as u8,
        _ => byte.min(most as u8),
    };
    let bytes = bytes.bytes();
    Array::write_elementwise::<u8>(ty, &|range, out| {
        let bytes = &bytes[range];
        out.generate(bytes.len(), |i| clamped(bytes[i]));
    })
}

fn encoded<T: Element>(ty: &TensorType, x: &Array, number: impl Fn(T) -> f64 + Sync) -> Result<Array> {
    let (format, x) = (float8::format(ty.dtype), x.elements::<T>());
    Array::write_elementwise::<u8>(ty, &|range, out| {
        let x = &x[range];
        out.generate(x.len(), |i| format.encode(number(x[i])));
    })
}

/// Integers as floats that are exact, or rounded to odd. Rounding these to fewer digits equals rounding the integer (no
/// double rounding).
trait Sticky: Copy {
    /// The integer in f64.
    fn sticky(self) -> f64;

    /// The integer in f32.
    #[inline(always)]
    fn odd_f32(self) -> f32 {
        odd_f32(self.sticky())
    }
}

macro_rules! exact {
    ($($T:ident)*) => {$(
        impl Sticky for $T {
            #[inline(always)]
            fn sticky(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn odd_f32(self) -> f32 {
                self.into()
            }
        }
    )*};
}

exact! { u8 u16 i8 i16 }

/// Rounds an integer to an odd multiple of 2^11, unless it is a multiple.
macro_rules! odd {
    ($x:ident) => {
        ($x & !0x7FF) | if $x & 0x7FF == 0 { 0 } else { 0x800 }
    };
}

macro_rules! inexact {
    ($($T:ident, $x:ident: $sticky:expr;)*) => {$(
        impl Sticky for $T {
            #[inline(always)]
            fn sticky(self) -> f64 {
                let $x = self;
                $sticky
            }
        }
    )*};
}

inexact! {
    u32, x: x.into();
    i32, x: x.into();
    u64, x: (if x < 1 << 48 { x } else { odd!(x) }) as f64;
    i64, x: (if x.unsigned_abs() < 1 << 48 { x } else { odd!(x) }) as f64;
}

/// Rounds to odd: toward 0, with the last bit set if the value is inexact. Rounding the result once more to a narrower
/// type then equals rounding `x` directly (no double rounding).
#[inline(always)]
fn odd_f32(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    let toward_zero = near.to_bits() - u32::from(back.abs() > x.abs());
    f32::from_bits(toward_zero | u32::from(back != x))
}

fn of_minifloat(x: &Array) -> Result<Array> {
    let format = float8::format(x.ty().dtype);
    let ty = TensorType { dtype: DType::F32, dims: x.ty().dims.clone() };
    let numbers: Vec<f32> = (0..=u8::MAX).map(|code| format.decode(code)).collect();
    let x = x.elements::<u8>();
    Array::write_elementwise(&ty, &|range, out| {
        let x = &x[range];
        out.generate(x.len(), |i| numbers[usize::from(x[i])]);
    })
}

fn widened<H: Half>(x: &Array) -> Result<Array> {
    let ty = TensorType { dtype: DType::F32, dims: x.ty().dims.clone() };
    let x = x.elements::<H>();
    Array::write_elementwise(&ty, &|range, out| H::widen(&x[range.clone()], out.repeat_mut(0.0, range.len())))
}

fn complex(ty: &TensorType, x: &Array) -> Result<Array> {
    type C64 = Complex<f32>;
    type C128 = Complex<f64>;
    match (x.ty().dtype, ty.dtype) {
        (DType::C64, DType::C128) => map(ty, x, |x: &[C64], out| out.map(x, |x| C128::new(x.re.into(), x.im.into()))),
        (DType::C128, DType::C64) => map(ty, x, |x: &[C128], out| out.map(x, |x| C64::new(x.re as f32, x.im as f32))),
        (DType::C64, DType::Pred) => map(ty, x, |x: &[C64], out| out.map(x, |x| u8::from(x != C64::ZERO))),
        (DType::C128, DType::Pred) => map(ty, x, |x: &[C128], out| out.map(x, |x| u8::from(x != C128::ZERO))),
        (from, to) => {
            let real = &TensorType { dtype: from.real(), dims: ty.dims.clone() };
            let parts = match from {
                DType::C64 => map(real, x, |x: &[C64], out| out.map(x, |x| x.re)),
                _ => map(real, x, |x: &[C128], out| out.map(x, |x| x.re)),
            };
            convert(&parts?, to)
        }
    }
}

/// Conversions from integers. They wrap, so the signedness of the target does not matter.
mod integer {
    use super::*;

    macro_rules! from {
        ($($T:ident)*) => {$(
            pub fn $T(ty: &TensorType, x: &Array) -> Result<Array> {
                fn to_f32(x: &[$T], out: &mut Writer<f32>) {
                    out.map(x, |x| x as f32)
                }
                match ty.dtype {
                    DType::Pred => map(ty, x, |x: &[$T], out| out.map(x, |x| u8::from(x != 0))),
                    DType::S8 | DType::U8 => map(ty, x, |x: &[$T], out| out.map(x, |x| x as u8)),
                    DType::S16 | DType::U16 => map(ty, x, |x: &[$T], out| out.map(x, |x| x as u16)),
                    DType::S32 | DType::U32 => map(ty, x, |x: &[$T], out| out.map(x, |x| x as u32)),
                    DType::S64 | DType::U64 => map(ty, x, |x: &[$T], out| out.map(x, |x| x as u64)),
                    DType::F16 => map_to_half::<$T, f16>(ty, x, to_f32),
                    DType::BF16 => map_to_half::<$T, bf16>(ty, x, |x, out| out.map(x, $T::odd_f32)),
                    DType::F32 => map(ty, x, to_f32),
                    DType::F64 => map(ty, x, |x: &[$T], out| out.map(x, |x| x as f64)),
                    DType::C64 => map(ty, x, |x: &[$T], out| out.map(x, |x| Complex::new(x as f32, 0.0))),
                    _ => map(ty, x, |x: &[$T], out| out.map(x, |x| Complex::new(x as f64, 0.0))),
                }
            }
        )*};
    }

    from! { u8 u16 u32 u64 i8 i16 i32 i64 }
}

/// Conversions from floats.
mod float {
    use super::*;

    macro_rules! from {
        ($T:ident, $to_f32:expr, $to_i32:expr) => {
            pub fn $T(ty: &TensorType, x: &Array) -> Result<Array> {
                match ty.dtype {
                    DType::Pred => map(ty, x, |x: &[$T], out| out.map(x, |x| u8::from(x != 0.0))),
                    DType::S8 => map(ty, x, |x: &[$T], out| out.compute(x, |x| truncated(x, -128.0, 127.0) as i8)),
                    DType::S16 => {
                        map(ty, x, |x: &[$T], out| out.compute(x, |x| truncated(x, -32768.0, 32767.0) as i16))
                    }
                    DType::S32 => map(ty, x, |x: &[$T], out| out.compute(x, $to_i32)),
                    DType::S64 => map(ty, x, |x: &[$T], out| out.map(x, |x| x as i64)),
                    DType::U8 => map(ty, x, |x: &[$T], out| out.compute(x, |x| truncated(x, 0.0, 255.0) as u8)),
                    DType::U16 => map(ty, x, |x: &[$T], out| out.compute(x, |x| truncated(x, 0.0, 65535.0) as u16)),
                    DType::U32 => {
                        map(ty, x, |x: &[$T], out| out.compute(x, |x| truncated(x, 0.0, u32::MAX.into()) as u32))
                    }
                    DType::U64 => map(ty, x, |x: &[$T], out| out.map(x, |x| x as u64)),
                    DType::F16 => map_to_half::<$T, f16>(ty, x, $to_f32),
                    DType::BF16 => map_to_half::<$T, bf16>(ty, x, $to_f32),
                    DType::F32 => map(ty, x, |x: &[$T], out| out.map(x, |x| x as f32)),
                    DType::F64 => map(ty, x, |x: &[$T], out| out.map(x, |x| x as f64)),
                    DType::C64 => map(ty, x, |x: &[$T], out| out.map(x, |x| Complex::new(x as f32, 0.0))),
                    _ => map(ty, x, |x: &[$T], out| out.map(x, |x| Complex::new(x as f64, 0.0))),
                }
            }
        };
    }

    from!(f32, |x, out| out.copy(x), to_i32);
    from!(f64, |x, out| out.map(x, odd_f32), |x| truncated(x, i32::MIN.into(), i32::MAX.into()) as i32);

    /// Truncates toward 0 and clamps to the bounds, which must fit 32 bits; 0 for NaN. Equivalent to `as`, which the
    /// compiler does not vectorize.
    #[inline(always)]
    fn truncated(x: impl Into<f64>, low: f64, high: f64) -> i64 {
        // 1.5 * 2^52: after adding it the low bits of the encoding hold the integer.
        const LOW_BITS: f64 = 6_755_399_441_055_744.0;
        let x = x.into().trunc();
        let x = if x > high { high } else { x };
        let x = if x < low { low } else { x };
        let x = if x.is_nan() { 0.0 } else { x };
        (x + LOW_BITS).to_bits() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Typed, array, preds, row};
    use super::*;

    fn to<T: Typed>(x: &Array) -> Vec<T> {
        convert(x, T::DTYPE).unwrap().elements().to_vec()
    }

    #[test]
    fn floats_saturate_and_truncate() {
        let x = row(&[1.9f32, -1.9, 1e10, -1e10, f32::NAN, f32::INFINITY, -0.5]);
        assert_eq!(to::<i8>(&x), [1, -1, 127, -128, 0, 127, 0]);
        assert_eq!(to::<i32>(&x), [1, -1, i32::MAX, i32::MIN, 0, i32::MAX, 0]);
        assert_eq!(to::<i64>(&x), [1, -1, 10_000_000_000, -10_000_000_000, 0, i64::MAX, 0]);
        assert_eq!(to::<u8>(&x), [1, 0, 255, 0, 0, 255, 0]);
        assert_eq!(to::<u64>(&x), [1, 0, 10_000_000_000, 0, 0, u64::MAX, 0]);
        let halves: Vec<f16> = to(&x);
        assert_eq!(to::<i8>(&row(&halves)), [1, -1, 127, -128, 0, 127, 0]);
    }

    #[test]
    fn integers_wrap_and_round() {
        assert_eq!(to::<i8>(&row(&[300i32, -1, 128])), [44, -1, -128]);
        assert_eq!(to::<u64>(&row(&[-1i8])), [u64::MAX]);
        assert_eq!(to::<f32>(&row(&[u64::MAX, 16_777_217])), [18_446_744_073_709_551_615.0, 16_777_216.0]);
        assert_eq!(to::<f16>(&row(&[65_519i32, 65_520])), [f16::MAX, f16::INFINITY]);
    }

    #[test]
    fn f64_is_rounded_once() {
        let just_above_the_middle = 1.0 + f64::powi(2.0, -11) + f64::powi(2.0, -40);
        let x = row(&[just_above_the_middle, 1.0 + f64::powi(2.0, -11), 65_519.999, 1e300, -1e-300, f64::NAN]);
        let halves: Vec<f16> = to(&x);
        assert_eq!(halves[..2], [f16::from_bits(0x3C01), f16::ONE]);
        assert_eq!(halves[2..5], [f16::MAX, f16::INFINITY, f16::NEG_ZERO]);
        assert!(halves[5].is_nan());
        assert_eq!(to::<bf16>(&row(&[1.0 + f64::powi(2.0, -8) + f64::powi(2.0, -40)])), [bf16::from_bits(0x3F81)]);
        for i in 0..100_000u64 {
            let x = f64::from_bits(0x3E00_0000_0000_0000 + i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (3 << 55));
            let error = |bits: u16| (f16::from_bits(bits).to_f64() - x).abs();
            let got = to::<f16>(&row(&[x]))[0].to_bits();
            assert!([got + 1, got.max(1) - 1].iter().all(|&other| error(got) <= error(other)), "{x} to {got:#x}");
        }
    }

    #[test]
    fn integers_of_few_bits_wrap_and_saturate() {
        let codes = |x: &Array, dtype| convert(x, dtype).unwrap().bytes().to_vec();
        let whole = row(&[300i32, -9, 8, -8, 15, -1]);
        assert_eq!(codes(&whole, DType::S4), [252, 7, 248, 248, 255, 255]);
        assert_eq!(codes(&whole, DType::U4), [12, 7, 8, 8, 15, 15]);
        assert_eq!(codes(&whole, DType::S2), [0, 255, 0, 0, 255, 255]);
        assert_eq!(codes(&whole, DType::U2), [0, 3, 0, 0, 3, 3]);
        let floats = row(&[7.9f32, 1e9, -8.9, -1e9, f32::NAN, -0.9, 2.5]);
        assert_eq!(codes(&floats, DType::S4), [7, 7, 248, 248, 0, 0, 2]);
        assert_eq!(codes(&floats, DType::U4), [7, 15, 0, 0, 0, 0, 2]);
        assert_eq!(codes(&floats, DType::F4E2M1FN), [7, 7, 15, 15, 8, 10, 4]);
        let all = convert(
            &Array::from_bytes(
                &TensorType::new(DType::F4E2M1FN, &[16]),
                &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            )
            .unwrap(),
            DType::F32,
        )
        .unwrap();
        assert_eq!(all.elements::<f32>()[..8], [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!(all.elements::<f32>()[9..], [-0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]);
    }

    #[test]
    fn pred_and_complex() {
        let truth = |x: &Array| convert(x, DType::Pred).unwrap().bytes().to_vec();
        assert_eq!(truth(&row(&[0i64, 256, -1])), [0, 1, 1]);
        assert_eq!(truth(&row(&[0.0f32, -0.0, f32::NAN, 1e-45])), [0, 0, 1, 1]);
        let z = row(&[Complex::new(0.0f32, 1.0), Complex::new(2.5, -1.0), Complex::new(0.0, 0.0)]);
        assert_eq!(truth(&z), [1, 1, 0]);
        assert_eq!(to::<i32>(&z), [0, 2, 0]);
        assert_eq!(to::<Complex<f64>>(&z)[1], Complex::new(2.5, -1.0));
        assert_eq!(to::<Complex<f32>>(&row(&[7u8]))[0], Complex::new(7.0, 0.0));
        assert_eq!(to::<f64>(&preds(&[0, 1])), [0.0, 1.0]);
    }

    #[test]
    fn every_dtype_to_every_other() {
        // F8E8M0FNU cannot represent 0.
        let with_zero = || DType::ALL.into_iter().filter(|dtype| *dtype != DType::F8E8M0FNU);
        for from in with_zero() {
            for via in with_zero() {
                let x = convert(&array(&[2, 2], &[0i32, 1, 1, 0]), from).unwrap();
                let y = convert(&convert(&x, via).unwrap(), DType::S32).unwrap();
                assert_eq!(y.elements::<i32>(), [0, 1, 1, 0], "{from} {via}");
            }
        }
        let none = convert(&array::<f32>(&[0, 3], &[]), DType::BF16).unwrap();
        assert_eq!(*none.ty(), TensorType::new(DType::BF16, &[0, 3]));
    }
}
