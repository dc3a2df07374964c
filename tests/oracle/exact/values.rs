//! Contents of the tensors in exact programs: whole numbers that are exact in all their dtypes, and arbitrary bits,
//! which are only moved.

use crate::program::random_state;
use base::types::{DType, Kind, Scalar, ScalarValue, TensorType};

/// Bound of elements that may be any bits and are only moved.
pub const ANY: f64 = f64::INFINITY;

/// Chooses a dtype, half of the time one of the most common ones.
pub fn dtype(choice: u8) -> DType {
    const COMMON: [DType; 4] = [DType::S32, DType::F32, DType::S8, DType::F64];
    let choice = choice as usize;
    if choice < 128 { COMMON[choice % COMMON.len()] } else { DType::ALL[choice % DType::ALL.len()] }
}

/// Chooses a dtype of a program with NaN and infinities, which has no complex numbers: their products follow no rule.
pub fn special_dtype(choice: u8) -> DType {
    use DType::*;
    [F32, F32, F32, F64, F64, F16, BF16, S32][choice as usize % 8]
}

pub fn is_floating(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Float | Kind::Float8 | Kind::Complex) || dtype == DType::F4E2M1FN
}

/// Largest number up to which all whole numbers are exact in the dtype, so that sums and products that stay below it
/// are exact in any order. Infinite for integers, whose arithmetic wraps around and is always exact.
pub fn limit(dtype: DType) -> f64 {
    let bits = match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F32 => 24,
        // A complex product may be computed from products of sums.
        DType::C64 => 22,
        DType::F64 => 53,
        DType::C128 => 51,
        DType::F8E5M2 | DType::F8E5M2FNUZ => 3,
        DType::F8E3M4 => return 15.0,
        // It holds powers of two only, and no 0.
        DType::F8E8M0FNU => return -1.0,
        _ if dtype.is_float8() => 4,
        DType::F4E2M1FN => 2,
        _ => return f64::INFINITY,
    };
    2f64.powi(bits)
}

/// Largest absolute value of an integer dtype; infinite for other dtypes.
pub fn range(dtype: DType) -> f64 {
    let bits = dtype.bit_width() as i32;
    match dtype.wide().kind() {
        Kind::Pred => 1.0,
        Kind::Signed => 2f64.powi(bits - 1),
        Kind::Unsigned => 2f64.powi(bits),
        _ => f64::INFINITY,
    }
}

/// Returns the contents of a tensor and a bound on its elements. Most contents are small whole numbers; some integers
/// cover the whole range, and a few floats are arbitrary bits. With `specials`, half of the tensors of floats have NaN
/// and infinities, to which the bound does not apply.
pub fn content(ty: &TensorType, seed: u16, specials: bool) -> (Vec<u8>, f64) {
    let mut state = random_state(seed);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let is_integer = ty.dtype.is_integer() || (ty.dtype.is_subbyte() && !is_floating(ty.dtype));
    let wild = (is_integer && seed % 4 == 3) || (is_floating(ty.dtype) && seed % 16 == 15);
    if wild {
        return ((0..ty.size_bytes()).map(|_| next() as u8).collect(), ANY);
    }
    let bound = match ty.dtype.kind() {
        Kind::Pred => 1,
        Kind::Subbyte if ty.dtype == DType::U2 => 3,
        Kind::Subbyte if ty.dtype == DType::S2 => 1,
        Kind::Unsigned => 7,
        Kind::Float8 | Kind::Subbyte => 2,
        _ => 4,
    };
    let has_specials = specials && seed.is_multiple_of(2) && ty.dtype.kind() == Kind::Float;
    let bytes = (0..ty.elements()).flat_map(|_| {
        let random = next() as i64;
        let scalar = match ty.dtype.kind() {
            _ if has_specials && random % 6 == 0 => {
                ScalarValue::Float([f64::NAN, f64::INFINITY, f64::NEG_INFINITY][next() as usize % 3])
            }
            Kind::Pred | Kind::Unsigned => ScalarValue::Signed(random % (bound + 1)),
            Kind::Subbyte if ty.dtype.wide() == DType::U8 => ScalarValue::Signed(random % (bound + 1)),
            _ if ty.dtype == DType::F8E8M0FNU => ScalarValue::Signed(1 + random % bound),
            Kind::Complex => ScalarValue::Complex((random % 8 - 4) as f64, (next() % 8) as f64 - 4.0),
            _ => ScalarValue::Signed(random % (2 * bound) - bound),
        };
        let bits = Scalar::new(ty.dtype, scalar).expect("small numbers fit").bits();
        bits.to_le_bytes()[..ty.dtype.size_bytes()].to_vec()
    });
    (bytes.collect(), bound as f64)
}

/// Compares tensors bit by bit, with two exceptions: 0 equals -0, since XLA may replace x + 0 by x; and NaNs of 8-bit
/// floats are equal, since XLA moves these as f16, which makes every NaN quiet.
///
/// On a mesh, all NaNs are equal, and denormal floats equal 0. The partitioner moves elements between devices by sums
/// in which the other devices' terms are 0 (for gathers, concatenations and updates along a split axis). These sums
/// make NaNs quiet, and the plugin flushes denormal numbers to 0. Only floats of arbitrary bits, which are not operands
/// of arithmetic, have such elements.
pub fn equal(dtype: DType, a: &[u8], b: &[u8], is_on_mesh: bool) -> bool {
    if a == b || !is_floating(dtype) {
        return a == b;
    }
    let part = dtype.real().size_bytes();
    let unsigned = u8::MAX >> (9 - dtype.bit_width().min(8));
    let is_zero = |bytes: &[u8]| {
        dtype != DType::F8E8M0FNU && bytes[..part - 1].iter().all(|&byte| byte == 0) && bytes[part - 1] & unsigned == 0
    };
    let is_nan = |bytes: &[u8]| is_nan_of_8_bits(dtype, bytes[0]);
    let is_summed = |a: &[u8], b: &[u8]| is_on_mesh && summed(dtype.real(), a) == summed(dtype.real(), b);
    let is_same =
        |a: &[u8], b: &[u8]| a == b || (is_zero(a) && is_zero(b)) || (is_nan(a) && is_nan(b)) || is_summed(a, b);
    a.chunks_exact(part).zip(b.chunks_exact(part)).all(|(a, b)| is_same(a, b))
}

/// Bits of a float after a sum with 0: one NaN stands for all, and 0 for denormal numbers and both zeros. Denormal f16
/// numbers are kept, since they are normal in f32, in which f16 is summed.
fn summed(dtype: DType, bytes: &[u8]) -> u64 {
    let bits = bytes.iter().rev().fold(0u64, |bits, &byte| (bits << 8) | u64::from(byte));
    let mantissa_bits = match dtype {
        DType::F16 => 10,
        DType::BF16 => 7,
        DType::F32 => 23,
        DType::F64 => 52,
        _ => return bits,
    };
    let mantissa = (1u64 << mantissa_bits) - 1;
    let exponent = (1u64 << (8 * bytes.len() - 1)) - 1 - mantissa;
    match bits & exponent {
        0 if dtype != DType::F16 => 0,
        known if known == exponent && bits & mantissa != 0 => exponent | 1,
        _ => bits,
    }
}

fn is_nan_of_8_bits(dtype: DType, code: u8) -> bool {
    match dtype {
        DType::F8E5M2 => code & 0x7F > 0x7C,
        DType::F8E4M3 => code & 0x7F > 0x78,
        DType::F8E3M4 => code & 0x7F > 0x70,
        DType::F8E4M3FN => code & 0x7F == 0x7F,
        DType::F8E8M0FNU => code == 0xFF,
        // The other dtypes have a single NaN.
        _ => false,
    }
}
