//! Loops of the steps, for f32 and f64.

use super::super::elementwise::{Kernel1, Kernel2};
use super::super::functions::Real;
use super::super::integer::Integer;
use super::super::shortcuts;
use super::super::wide::to_i32;
use super::super::writer::Writer;
use super::super::{binary, unary};
use bytemuck::Zeroable;
use ir::{BinaryFunction, BinaryOp, CompareOp, UnaryFunction, UnaryOp};
use std::ops::{self, BitAnd, BitOr, Not};

/// A loop over one operand and a constant.
pub type WithScalar<A, O> = fn(&[A], A, &mut Writer<O>);

/// Selects by a comparison of the first operand with a constant.
pub type SelectIf<T, B> = fn(&[T], T, [&[B]; 2], &mut Writer<B>);

/// Replaces elements by a comparison with a constant.
pub type Replace<T, B> = fn(&[T], &[B], T, B, &mut Writer<B>);

/// Bounds from below and from above, each with what replaces the elements at or beyond it.
pub type Bounds<T> = [(T, T); 2];

/// The unsigned integer with the width of a float: the type of masks, all of whose bits are equal, and of integers of
/// either sign.
pub trait Word: Integer + PartialOrd + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// All bits but the highest.
    const MAX_SIGNED: Self;
}

impl Word for u32 {
    const MAX_SIGNED: u32 = u32::MAX >> 1;
}

impl Word for u64 {
    const MAX_SIGNED: u64 = u64::MAX >> 1;
}

/// A float type in which functions are evaluated.
pub trait Lane: Real {
    /// Integers of this width.
    type Bits: Word;

    /// 0.
    const ZERO: Self;

    /// Returns the float whose bits are the low bits of `bits`.
    fn of_bits(bits: u64) -> Self;
    /// Returns the bits of the float.
    fn bits(self) -> Self::Bits;
    /// Comparison of integers, to a mask.
    fn integer_test(op: CompareOp, signed: bool) -> Kernel2<Self::Bits, Self::Bits>;
    /// Conversion from integers.
    fn of_integers(signed: bool) -> Kernel1<Self::Bits, Self>;
    /// Conversion to integers; None if it has no loop.
    fn to_integers(signed: bool) -> Option<Kernel1<Self, Self::Bits>>;
    /// Kernel of a function that has one.
    fn of_one(function: UnaryFunction) -> Option<Kernel1<Self, Self>>;
    /// Kernel of a function that has one.
    fn of_two(function: BinaryFunction) -> Option<Kernel2<Self, Self>>;
}

/// The kernel of a comparison: what a macro makes of its operator.
macro_rules! by_comparison {
    ($op:expr, $kernel:ident $(, $more:tt)?) => {
        match $op {
            CompareOp::Eq => $kernel!(== $(, $more)?),
            CompareOp::Ne => $kernel!(!= $(, $more)?),
            CompareOp::Lt => $kernel!(< $(, $more)?),
            CompareOp::Le => $kernel!(<= $(, $more)?),
            CompareOp::Gt => $kernel!(> $(, $more)?),
            CompareOp::Ge => $kernel!(>= $(, $more)?),
        }
    };
}

macro_rules! lane {
    ($T:ident, $Bits:ident, $Signed:ident, $module:ident, $to_signed:expr) => {
        impl Lane for $T {
            type Bits = $Bits;
            const ZERO: $T = 0.0;

            fn of_bits(bits: u64) -> $T {
                $T::from_bits(bits as $Bits)
            }

            fn bits(self) -> $Bits {
                self.to_bits()
            }

            fn integer_test(op: CompareOp, signed: bool) -> Kernel2<$Bits, $Bits> {
                macro_rules! tested {
                                    ($op:tt, $I:ident) => {
                                        |a, b, out| out.compute_two(a, b, |a, b| mask::<$T>((a as $I) $op (b as $I)))
                                    };
                                }
                if signed { by_comparison!(op, tested, $Signed) } else { by_comparison!(op, tested, $Bits) }
            }

            fn of_integers(signed: bool) -> Kernel1<$Bits, $T> {
                if signed {
                    |x, out| out.compute(x, |x| x as $Signed as $T)
                } else {
                    |x, out| out.compute(x, |x| x as $T)
                }
            }

            fn to_integers(signed: bool) -> Option<Kernel1<$T, $Bits>> {
                if signed { Some(|x, out| out.compute(x, |x| $to_signed(x) as $Bits)) } else { None }
            }

            fn of_one(function: UnaryFunction) -> Option<Kernel1<$T, $T>> {
                shortcuts::$module::of_one(function)
            }

            fn of_two(function: BinaryFunction) -> Option<Kernel2<$T, $T>> {
                shortcuts::$module::of_two(function)
            }
        }
    };
}

lane! { f32, u32, i32, single, to_i32 }
lane! { f64, u64, i64, double, |x: f64| x as i64 }

/// Returns a mask: all bits set if `is`, else none.
#[inline(always)]
pub fn mask<T: Lane>(is: bool) -> T::Bits {
    if is { !T::Bits::zeroed() } else { T::Bits::zeroed() }
}

/// The bits of `a` where the mask is set, else those of `b`.
#[inline(always)]
fn blend<B: Word>(mask: B, a: B, b: B) -> B {
    (a & mask) | (b & !mask)
}

/// Kernel of an operation; None if floats do not support it.
pub fn map<T: Lane>(op: UnaryOp) -> Option<Kernel1<T, T>> {
    use UnaryOp::*;
    Some(match op {
        Negate => |x, out| out.compute(x, |x| -x),
        Abs => |x, out| out.compute(x, T::abs),
        Sqrt => |x, out| out.compute(x, T::sqrt),
        Floor => |x, out| out.compute(x, T::floor),
        RoundNearestEven => |x, out| out.compute(x, T::round_to_even),
        _ => return unary::float(op),
    })
}

/// Kernel of an operation; None if floats do not support it.
pub fn zip<T: Lane>(op: BinaryOp) -> Option<Kernel2<T, T>> {
    use BinaryOp::*;
    Some(match op {
        Add => |a, b, out| out.compute_two(a, b, ops::Add::add),
        Subtract => |a, b, out| out.compute_two(a, b, ops::Sub::sub),
        Multiply => |a, b, out| out.compute_two(a, b, ops::Mul::mul),
        Divide => |a, b, out| out.compute_two(a, b, ops::Div::div),
        Maximum => |a, b, out| out.compute_two(a, b, T::greater),
        Minimum => |a, b, out| out.compute_two(a, b, T::smaller),
        _ => return binary::float(op),
    })
}

/// Loop of an operation on an operand and a constant, which may be on the left; None if it has none.
pub fn with_scalar<T: Lane>(op: BinaryOp, on_left: bool) -> Option<WithScalar<T, T>> {
    macro_rules! with {
        ($x:ident, $c:ident => $value:expr) => {
            |$x, $c, out| {
                out.compute(
                    $x,
                    #[inline(always)]
                    |$x| $value,
                )
            }
        };
    }
    use BinaryOp::*;
    Some(match (op, on_left) {
        (Add, _) => with!(x, c => x + c),
        (Multiply, _) => with!(x, c => x * c),
        (Subtract, false) => with!(x, c => x - c),
        (Subtract, true) => with!(x, c => c - x),
        (Divide, false) => with!(x, c => x / c),
        (Divide, true) => with!(x, c => c / x),
        (Maximum, false) => with!(x, c => x.greater(c)),
        (Maximum, true) => with!(x, c => c.greater(x)),
        (Minimum, false) => with!(x, c => x.smaller(c)),
        (Minimum, true) => with!(x, c => c.smaller(x)),
        _ => return None,
    })
}

/// Comparison to a mask.
pub fn test<T: Lane>(op: CompareOp) -> Kernel2<T, T::Bits> {
    macro_rules! tested {
        ($op:tt) => {
            |a, b, out| out.compute_two(a, b, |a, b| mask::<T>(a $op b))
        };
    }
    by_comparison!(op, tested)
}

/// Comparison with a constant to a mask.
pub fn test_scalar<T: Lane>(op: CompareOp) -> WithScalar<T, T::Bits> {
    macro_rules! tested {
        ($op:tt) => {
            |x, c, out| out.compute(x, |x| mask::<T>(x $op c))
        };
    }
    by_comparison!(op, tested)
}

/// Comparison with a constant to pred.
pub fn test_scalar_to_preds<T: Lane>(op: CompareOp) -> WithScalar<T, u8> {
    macro_rules! tested {
        ($op:tt) => {
            |x, c, out| out.compute(x, |x| u8::from(x $op c))
        };
    }
    by_comparison!(op, tested)
}

/// Whether the magnitude is a constant, as pred.
pub fn magnitude_is<T: Lane>(x: &[T], c: T, out: &mut Writer<u8>) {
    out.compute(x, |x| u8::from(x.abs() == c));
}

/// Sign bits, as pred.
pub fn sign_bits<B: Word>(x: &[B], out: &mut Writer<u8>) {
    let magnitude = B::MAX_SIGNED;
    out.compute(x, |x| u8::from(x > magnitude));
}

/// Selection by a comparison with a constant.
pub fn select_if<T: Lane>(op: CompareOp) -> SelectIf<T, T::Bits> {
    macro_rules! selected {
        ($op:tt) => {
            |x, c, [a, b], out| out.compute_three(x, a, b, |x, a, b| blend(mask::<T>(x $op c), a, b))
        };
    }
    by_comparison!(op, selected)
}

/// Replaces the elements for which a comparison with a constant holds, or with `is_kept` those for which it does not.
/// The elements are passed as floats and as bits.
pub fn replace<T: Lane>(op: CompareOp, is_kept: bool) -> Replace<T, T::Bits> {
    macro_rules! replaced {
        ($op:tt) => {
            if is_kept {
                |x, bits, c, by, out| out.compute_two(x, bits, |x, bits| blend(mask::<T>(x $op c), bits, by))
            } else {
                |x, bits, c, by, out| out.compute_two(x, bits, |x, bits| blend(mask::<T>(x $op c), by, bits))
            }
        };
    }
    by_comparison!(op, replaced)
}

/// Replaces the elements at or below a bound, and those at or above another one. The elements are passed as floats and
/// as bits.
pub fn clip<T: Lane>(x: &[T], bits: &[T::Bits], [(least, low), (most, high)]: Bounds<T>, out: &mut Writer<T::Bits>) {
    let (low, high) = (low.bits(), high.bits());
    out.compute_two(x, bits, |x, bits| blend(mask::<T>(x <= least), low, blend(mask::<T>(x >= most), high, bits)));
}

/// Selection by a mask.
pub fn select<B: Word>(mask: &[B], a: &[B], b: &[B], out: &mut Writer<B>) {
    out.compute_three(mask, a, b, |mask, a, b| blend(mask, a, b));
}

pub fn is_finite<T: Lane>(x: &[T], out: &mut Writer<T::Bits>) {
    out.compute(x, |x| mask::<T>(x.is_finite()));
}

/// Inverts all bits, also those of a mask.
pub fn inverted<B: Word>(x: &[B], out: &mut Writer<B>) {
    out.compute(x, |x| !x);
}

/// Masks of pred.
pub fn of_preds<T: Lane>(x: &[u8], out: &mut Writer<T::Bits>) {
    out.compute(x, |x| mask::<T>(x != 0));
}

/// Pred of masks.
pub fn to_preds<B: Word>(x: &[B], out: &mut Writer<u8>) {
    out.compute(x, |x| u8::from(x != B::zeroed()));
}
