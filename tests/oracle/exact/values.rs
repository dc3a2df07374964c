//! What the tensors of exact programs hold: whole numbers that every dtype of theirs holds exactly, and bits that are only
//! moved.

use crate::program::random_state;
use lazyxla::types::{DType, Kind, Scalar, ScalarValue, TensorType};

pub const SHAPES: [&[i64]; 11] =
    [&[4], &[2, 3], &[], &[1], &[2, 2], &[4, 1], &[0], &[3], &[2, 1, 4], &[3, 2, 2], &[2, 0, 3]];

/// The bound of what may be any bits, and is only moved about.
pub const ANY: f64 = f64::INFINITY;

/// One in two is of the dtypes that are used most.
pub fn dtype(choice: u8) -> DType {
    const COMMON: [DType; 4] = [DType::S32, DType::F32, DType::S8, DType::F64];
    let choice = choice as usize;
    if choice < 128 { COMMON[choice % COMMON.len()] } else { DType::ALL[choice % DType::ALL.len()] }
}

pub fn shape(choice: u8) -> &'static [i64] {
    SHAPES[choice as usize % SHAPES.len()]
}

pub fn is_floating(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Float | Kind::Float8 | Kind::Complex)
}

/// Whole numbers up to this are elements of the dtype, every one, so that sums and products that stay below are exact in
/// whichever order. Integers wrap around, and are exact anyway.
pub fn limit(dtype: DType) -> f64 {
    let bits = match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F32 => 24,
        // A product of complex numbers may be made of products of sums.
        DType::C64 => 22,
        DType::F64 => 53,
        DType::C128 => 51,
        DType::F8E5M2 | DType::F8E5M2FNUZ => 3,
        DType::F8E3M4 => return 15.0,
        // Powers of two alone: it has no 0.
        DType::F8E8M0FNU => return -1.0,
        _ if dtype.is_float8() => 4,
        _ => return f64::INFINITY,
    };
    2f64.powi(bits)
}

/// The largest absolute value of an integer dtype; of others there is none.
pub fn range(dtype: DType) -> f64 {
    let bits = 8 * dtype.size_bytes() as i32;
    match dtype.kind() {
        Kind::Pred => 1.0,
        Kind::Signed => 2f64.powi(bits - 1),
        Kind::Unsigned => 2f64.powi(bits),
        _ => f64::INFINITY,
    }
}

/// Contents of a tensor, and what none of its elements exceeds: most are small whole numbers; some integers go over the
/// whole range, and a few floats are any bits.
pub fn content(ty: &TensorType, seed: u16) -> (Vec<u8>, f64) {
    let mut state = random_state(seed);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let wild = (ty.dtype.is_integer() && seed % 4 == 3) || (is_floating(ty.dtype) && seed % 16 == 15);
    if wild {
        return ((0..ty.size_bytes()).map(|_| next() as u8).collect(), ANY);
    }
    let bound = match ty.dtype.kind() {
        Kind::Pred => 1,
        Kind::Unsigned => 7,
        Kind::Float8 => 2,
        _ => 4,
    };
    let bytes = (0..ty.elements()).flat_map(|_| {
        let random = next() as i64;
        let scalar = match ty.dtype.kind() {
            Kind::Pred | Kind::Unsigned => ScalarValue::Signed(random % (bound + 1)),
            _ if ty.dtype == DType::F8E8M0FNU => ScalarValue::Signed(1 + random % bound),
            Kind::Complex => ScalarValue::Complex((random % 8 - 4) as f64, (next() % 8) as f64 - 4.0),
            _ => ScalarValue::Signed(random % (2 * bound) - bound),
        };
        let bits = Scalar::new(ty.dtype, scalar).expect("small numbers fit").bits();
        bits.to_le_bytes()[..ty.dtype.size_bytes()].to_vec()
    });
    (bytes.collect(), bound as f64)
}

/// Equal in every bit, but that 0 and -0 are one number to whoever adds whole numbers: XLA may turn x + 0 into x. And XLA
/// moves floats of 8 bits as f16, which makes every NaN a quiet one.
pub fn equal(dtype: DType, a: &[u8], b: &[u8]) -> bool {
    if a == b || !is_floating(dtype) {
        return a == b;
    }
    let part = dtype.real().size_bytes();
    let is_zero = |bytes: &[u8]| {
        dtype != DType::F8E8M0FNU && bytes[..part - 1].iter().all(|&byte| byte == 0) && bytes[part - 1] & 0x7F == 0
    };
    let is_nan = |bytes: &[u8]| is_nan_of_8_bits(dtype, bytes[0]);
    let is_same = |a: &[u8], b: &[u8]| a == b || (is_zero(a) && is_zero(b)) || (is_nan(a) && is_nan(b));
    a.chunks_exact(part).zip(b.chunks_exact(part)).all(|(a, b)| is_same(a, b))
}

fn is_nan_of_8_bits(dtype: DType, code: u8) -> bool {
    match dtype {
        DType::F8E5M2 => code & 0x7F > 0x7C,
        DType::F8E4M3 => code & 0x7F > 0x78,
        DType::F8E3M4 => code & 0x7F > 0x70,
        DType::F8E4M3FN => code & 0x7F == 0x7F,
        DType::F8E8M0FNU => code == 0xFF,
        // The others have one NaN.
        _ => false,
    }
}
