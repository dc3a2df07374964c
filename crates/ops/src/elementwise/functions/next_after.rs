//! The next representable number after a float.

use crate::elementwise::formula::Expr;
use base::types::DType;

/// The next number after `x` in the direction of `y`, for floats of one dtype of 16 bits or more: `y` where they are
/// equal, NaN where either is NaN. Computes with the bits as integers, because XLA treats denormal numbers as 0.
pub fn next_after<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    let dtype = x.dtype();
    let (bits, infinity) = match dtype {
        DType::F16 => (DType::S16, 0x7C00),
        DType::BF16 => (DType::S16, 0x7F80),
        DType::F32 => (DType::S32, 0x7F80_0000),
        _ => (DType::S64, 0x7FF0_0000_0000_0000_i64),
    };
    let (x, y) = (x.bits(bits), y.bits(bits));
    let sign = i64::MIN >> (64 - 8 * dtype.size_bytes());
    let (x_size, y_size) = (x & !sign, y & !sign);
    let (x_place, y_place) = (place(x, x_size), place(y, y_size));

    // A step up increases the magnitude unless x is negative. From 0, the step leads to the smallest magnitude with the
    // sign of y.
    let is_away = x_place.lt(y_place) ^ x.lt(0_i64);
    let step = is_away.select(x + 1_i64, x - 1_i64);
    let step = x_size.eq(0_i64).select((y & sign) | 1_i64, step);

    let next = x_place.eq(y_place).select(y, step);
    let next = y_size.gt(infinity).select(y, next);
    x_size.gt(infinity).select(x, next).bits(dtype)
}

/// An integer key in the order of the floats; it is 0 for both zeros.
fn place<'f>(bits: Expr<'f>, size: Expr<'f>) -> Expr<'f> {
    bits.lt(0_i64).select(-size, size)
}
