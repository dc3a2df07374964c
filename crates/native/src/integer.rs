//! Operations on two integers. Signed integers are stored as unsigned ones of the same width. Separate signed kernels
//! exist only where the sign matters, and both kinds share one driver.

use super::element::Element;
use super::elementwise::Kernel2;
use ir::{BinaryOp, CompareOp};

/// An unsigned integer, which may also represent a signed one of the same width.
pub trait Integer: Element {
    /// Kernel of an arithmetic or bitwise operation; None if integers do not support it.
    fn arithmetic(op: BinaryOp, signed: bool) -> Option<Kernel2<Self, Self>>;

    /// Kernel of a comparison. `Gt` and `Ge` must already be expressed as `Lt` and `Le` with the operands swapped.
    fn comparison(op: CompareOp, signed: bool) -> Kernel2<Self, u8>;
}

/// `base` to the power of `exponent`, by repeated squaring; wraps on overflow.
macro_rules! power {
    ($base:expr, $exponent:expr) => {{
        let (mut result, mut base, mut left) = (1, $base, $exponent);
        while left > 0 {
            if left & 1 == 1 {
                result = base.wrapping_mul(result);
            }
            base = base.wrapping_mul(base);
            left >>= 1;
        }
        result
    }};
}

macro_rules! integers {
    ($($T:ident as $Signed:ident),*) => {$(
        impl Integer for $T {
            fn arithmetic(op: BinaryOp, signed: bool) -> Option<Kernel2<$T, $T>> {
                use BinaryOp::*;
                const WIDTH: $T = $T::BITS as $T;
                Some(match op {
                    Add => |a, b, out| out.zip(a, b, $T::wrapping_add),
                    Subtract => |a, b, out| out.zip(a, b, $T::wrapping_sub),
                    Multiply => |a, b, out| out.zip(a, b, $T::wrapping_mul),
                    And => |a, b, out| out.zip(a, b, |a, b| a & b),
                    Or => |a, b, out| out.zip(a, b, |a, b| a | b),
                    Xor => |a, b, out| out.zip(a, b, |a, b| a ^ b),
                    ShiftLeft => |a, b, out| out.zip(a, b, |a, b| if b < WIDTH { a << b } else { 0 }),
                    ShiftRightLogical => |a, b, out| out.zip(a, b, |a, b| if b < WIDTH { a >> b } else { 0 }),
                    // A shift by the width or more leaves only copies of the sign bit.
                    ShiftRightArithmetic => |a, b, out| out.zip(a, b, |a, b| (a as $Signed >> b.min(WIDTH - 1)) as $T),
                    Divide | Remainder | Power | Maximum | Minimum if signed => $Signed::ordered(op),
                    Divide => |a, b, out| out.zip(a, b, |a, b| if b == 0 { !0 } else { a / b }),
                    Remainder => |a, b, out| out.zip(a, b, |a, b| if b == 0 { a } else { a % b }),
                    Power => |a, b, out| out.zip(a, b, |a, b| power!(a, b)),
                    Maximum => |a, b, out| out.zip(a, b, $T::max),
                    Minimum => |a, b, out| out.zip(a, b, $T::min),
                    Atan2 => return None,
                })
            }

            fn comparison(op: CompareOp, signed: bool) -> Kernel2<$T, u8> {
                use CompareOp::*;
                match op {
                    Eq => |a, b, out| out.zip(a, b, |a, b| u8::from(a == b)),
                    Ne => |a, b, out| out.zip(a, b, |a, b| u8::from(a != b)),
                    Lt | Gt if signed => |a, b, out| out.zip(a, b, |a, b| u8::from((a as $Signed) < b as $Signed)),
                    Le | Ge if signed => |a, b, out| out.zip(a, b, |a, b| u8::from(a as $Signed <= b as $Signed)),
                    Lt | Gt => |a, b, out| out.zip(a, b, |a, b| u8::from(a < b)),
                    Le | Ge => |a, b, out| out.zip(a, b, |a, b| u8::from(a <= b)),
                }
            }
        }

        impl Signed<$T> for $Signed {
            fn ordered(op: BinaryOp) -> Kernel2<$T, $T> {
                match op {
                    BinaryOp::Divide => |a, b, out| out.zip(a, b, |a, b| {
                        if b == 0 { !0 } else { (a as $Signed).wrapping_div(b as $Signed) as $T }
                    }),
                    BinaryOp::Remainder => |a, b, out| out.zip(a, b, |a, b| {
                        if b == 0 { a } else { (a as $Signed).wrapping_rem(b as $Signed) as $T }
                    }),
                    // A negative exponent gives 0, except for the bases 1 and -1.
                    BinaryOp::Power => |a, b, out| out.zip(a, b, |a, b| match (b as $Signed >= 0, a as $Signed) {
                        (true, _) => power!(a, b),
                        (false, 1) => 1,
                        (false, -1) => if b & 1 == 0 { 1 } else { a },
                        (false, _) => 0,
                    }),
                    BinaryOp::Maximum => |a, b, out| out.zip(a, b, |a, b| (a as $Signed).max(b as $Signed) as $T),
                    _ => |a, b, out| out.zip(a, b, |a, b| (a as $Signed).min(b as $Signed) as $T),
                }
            }
        }
    )*};
}

/// Kernels of the arithmetic operations whose results depend on the sign.
trait Signed<T> {
    fn ordered(op: BinaryOp) -> Kernel2<T, T>;
}

integers! { u8 as i8, u16 as i16, u32 as i32, u64 as i64 }
