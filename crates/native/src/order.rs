//! The order of the elements of a dtype, and pairs of an element's rank and its index.

use super::element::Element;
use half::{bf16, f16};
use std::cmp::Ordering;

/// An ordered element type: a real number or pred. NaN is greater than every number, and zeros of both signs are equal.
pub trait Ordered: Element {
    /// Rank and index of an element, see [`Pair`].
    type Pair: Pair;

    /// An integer of the element's size.
    type Key: Element + Ord;

    /// Whether elements that differ may be equal in order: zeros, and NaN.
    const HAS_TIES: bool;

    /// An integer with the order of the element among those of its type. It is below 2^32 if the pair is an u64.
    fn rank(self) -> u64;

    /// An integer with the order of the element, in which -0 is below 0, and NaN above every number. It is sorted faster
    /// than the element.
    fn key(self) -> Self::Key;

    /// Returns the element with this key; a NaN without its sign.
    fn of_key(key: Self::Key) -> Self;

    /// Compares two elements.
    fn order(self, other: Self) -> Ordering;

    /// Returns true if the element is NaN.
    fn is_nan(self) -> bool {
        false
    }
}

macro_rules! ordered_integers {
    ($($T:ty: $Pair:ty),*) => {$(
        impl Ordered for $T {
            type Pair = $Pair;
            type Key = $T;
            const HAS_TIES: bool = false;

            fn rank(self) -> u64 {
                // Moves the least number of the type to 0.
                (i128::from(self) - i128::from(<$T>::MIN)) as u64
            }

            fn key(self) -> $T {
                self
            }

            fn of_key(key: $T) -> $T {
                key
            }

            fn order(self, other: $T) -> Ordering {
                self.cmp(&other)
            }
        }
    )*};
}

ordered_integers! { i8: u64, i16: u64, i32: u64, i64: Wide, u8: u64, u16: u64, u32: u64, u64: Wide }

macro_rules! ordered_floats {
    ($($T:ty: $Pair:ty, $Key:ty, $rank:ident, $Number:ty;)*) => {$(
        impl Ordered for $T {
            type Pair = $Pair;
            type Key = $Key;
            const HAS_TIES: bool = true;

            fn rank(self) -> u64 {
                $rank(<$Number>::from(self))
            }

            fn key(self) -> $Key {
                // Of two negative numbers, the one with the greater magnitude is less.
                let bits = self.to_bits() as $Key;
                if <$T>::is_nan(self) { bits & <$Key>::MAX } else { bits ^ ((bits >> (<$Key>::BITS - 1)) & <$Key>::MAX) }
            }

            fn of_key(key: $Key) -> $T {
                <$T>::from_bits((key ^ ((key >> (<$Key>::BITS - 1)) & <$Key>::MAX)) as _)
            }

            fn order(self, other: $T) -> Ordering {
                self.partial_cmp(&other).unwrap_or_else(|| Ordered::is_nan(self).cmp(&Ordered::is_nan(other)))
            }

            fn is_nan(self) -> bool {
                <$T>::is_nan(self)
            }
        }
    )*};
}

ordered_floats! {
    f16: u64, i16, rank_f32, f32;
    bf16: u64, i16, rank_f32, f32;
    f32: u64, i32, rank_f32, f32;
    f64: Wide, i64, rank_f64, f64;
}

fn rank_f32(x: f32) -> u64 {
    // The sum turns -0 into 0.
    let bits = (x + 0.0).to_bits();
    let negative = bits >> 31 == 1;
    u64::from(if x.is_nan() { u32::MAX } else { bits ^ if negative { u32::MAX } else { 1 << 31 } })
}

fn rank_f64(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    let negative = bits >> 63 == 1;
    if x.is_nan() { u64::MAX } else { bits ^ if negative { u64::MAX } else { 1 << 63 } }
}

/// Rank of an element and its index in its row, ordered by rank, then index. So an unstable sort, which needs no
/// memory, sorts them as a stable one.
pub trait Pair: Copy + Ord + Send + Sync {
    fn new(rank: u64, descending: bool, index: usize) -> Self;

    /// Index in the row.
    fn index(self) -> usize;
}

/// For elements of at most 32 bits, in rows of at most 2^32.
impl Pair for u64 {
    fn new(rank: u64, descending: bool, index: usize) -> u64 {
        let rank = if descending { u64::from(!(rank as u32)) } else { rank };
        rank << 32 | index as u64
    }

    fn index(self) -> usize {
        self as u32 as usize
    }
}

/// For elements of 64 bits, in rows of at most 2^32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wide {
    high: u32,
    low: u32,
    index: u32,
}

impl Pair for Wide {
    fn new(rank: u64, descending: bool, index: usize) -> Wide {
        let rank = if descending { !rank } else { rank };
        Wide { high: (rank >> 32) as u32, low: rank as u32, index: index as u32 }
    }

    fn index(self) -> usize {
        self.index as usize
    }
}

/// In a row of any length.
impl Pair for (u64, usize) {
    fn new(rank: u64, descending: bool, index: usize) -> (u64, usize) {
        (if descending { !rank } else { rank }, index)
    }

    fn index(self) -> usize {
        self.1
    }
}

/// Largest length of a row in which an index has 32 bits.
pub const MOST_SHORT: usize = 1 << 32;

/// Evaluates an expression with `$T` defined as the type of a dtype whose elements are ordered.
macro_rules! by_order {
    ($dtype:expr, $T:ident => $body:expr) => {
        by_order!($dtype, $T => $body, Pred u8, S8 i8, S16 i16, S32 i32, S64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
                  F16 f16, BF16 bf16, F32 f32, F64 f64)
    };
    ($dtype:expr, $T:ident => $body:expr, $($member:ident $Type:ty),*) => {
        match $dtype {
            $(DType::$member => {
                type $T = $Type;
                $body
            })*
            dtype => Err(unsupported("an order", dtype)),
        }
    };
}
pub(super) use by_order;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_elements() {
        fn check<T: Ordered + std::fmt::Debug>(ascending: &[T]) {
            for pair in ascending.windows(2) {
                assert!(pair[0].key() < pair[1].key(), "{pair:?}");
            }
            for x in ascending {
                assert!(T::of_key(x.key()) == *x || x.is_nan() && T::of_key(x.key()).is_nan());
            }
        }
        check(&[f32::NEG_INFINITY, f32::MIN, -1e-45, -0.0, 0.0, 1e-45, f32::MAX, f32::INFINITY, f32::NAN]);
        check(&[f64::NEG_INFINITY, -5e-324, -0.0, 0.0, 5e-324, f64::MAX, f64::INFINITY, f64::NAN]);
        check(&[f16::NEG_INFINITY, f16::MIN, f16::NEG_ZERO, f16::ZERO, f16::MAX, f16::INFINITY, f16::NAN]);
        check(&[bf16::NEG_INFINITY, bf16::NEG_ONE, bf16::NEG_ZERO, bf16::ZERO, bf16::ONE, bf16::NAN]);
        assert!((-f64::NAN).key() > f64::INFINITY.key() && (-f32::NAN).key() > f32::INFINITY.key());
        check(&[i64::MIN, 0, i64::MAX]);
    }

    #[test]
    fn ranks_have_the_order_of_elements() {
        fn check<T: Ordered>(ascending: &[T]) {
            for pair in ascending.windows(2) {
                assert_eq!(pair[0].rank().cmp(&pair[1].rank()), pair[0].order(pair[1]));
            }
        }
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i32::MIN, -1, 0, 1, i32::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[0u8, 1, u8::MAX]);
        check(&[0u64, 1, u64::MAX]);
        check(&[f32::NEG_INFINITY, f32::MIN, -1e-45, -0.0, 0.0, 1e-45, f32::MAX, f32::INFINITY, f32::NAN, -f32::NAN]);
        check(&[f64::NEG_INFINITY, -5e-324, -0.0, 0.0, 5e-324, f64::MAX, f64::INFINITY, -f64::NAN, f64::NAN]);
        check(&[bf16::NEG_INFINITY, bf16::NEG_ONE, bf16::NEG_ZERO, bf16::ZERO, bf16::ONE, bf16::NAN]);
    }
}
