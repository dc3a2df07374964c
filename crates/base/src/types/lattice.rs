//! Promotion lattice of all element types: JAX's without weak types. Where the Python array API standard defines a
//! promotion, the two agree.

use super::{DType, Kind};
use crate::error;
use crate::error::Result;

impl DType {
    /// Least upper bound of two types in the lattice: pred is below integers, integers are below floats of any width,
    /// floats are below complex types. u64 and a signed integer give f64, since no integer type represents both. An
    /// error for an 8-bit float and another floating-point or complex type, and for a type of 2 or 4 bits and any other but pred.
    pub fn join(self, other: DType) -> Result<DType> {
        let rank = |dtype: DType| match dtype.kind() {
            Kind::Pred => 0,
            Kind::Signed | Kind::Unsigned => 1,
            Kind::Float | Kind::Float8 | Kind::Subbyte => 2,
            Kind::Complex => 3,
        };
        let (low, high) = if rank(self) <= rank(other) { (self, other) } else { (other, self) };
        match (low.kind(), high.kind()) {
            _ if low == high => Ok(low),
            (Kind::Pred, _) => Ok(high),
            (Kind::Subbyte, _) | (_, Kind::Subbyte) => self.promote(other),
            (Kind::Signed, Kind::Unsigned) | (Kind::Unsigned, Kind::Signed) => {
                Ok(low.promote(high).unwrap_or(DType::F64))
            }
            (Kind::Signed | Kind::Unsigned, Kind::Float | Kind::Float8 | Kind::Complex) => Ok(high),
            (Kind::Float8, _) | (_, Kind::Float8) => Err(error!(
                InvalidArgument,
                "{self} and {other} have no common dtype: 8-bit floats promote with pred and integers only; convert one of them"
            )),
            _ => low.promote(high),
        }
    }

    /// Returns true if the type is `to` or below it in the lattice.
    pub fn can_cast(self, to: DType) -> bool {
        self.join(to).is_ok_and(|join| join == to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_are_jaxs() {
        use DType::*;
        let rows = [
            (Pred, S8, Some(S8)),
            (Pred, F8E4M3FN, Some(F8E4M3FN)),
            (Pred, C64, Some(C64)),
            (S8, U8, Some(S16)),
            (S32, U32, Some(S64)),
            (S8, U64, Some(F64)),
            (S64, F16, Some(F16)),
            (S64, BF16, Some(BF16)),
            (U64, F8E5M2, Some(F8E5M2)),
            (S64, C64, Some(C64)),
            (F16, BF16, Some(F32)),
            (F64, C64, Some(C128)),
            (F8E5M2, F8E4M3FN, None),
            (F8E5M2, F32, None),
            (F8E5M2, C64, None),
        ];
        for (a, b, want) in rows {
            assert_eq!((a.join(b).ok(), b.join(a).ok()), (want, want), "{a} {b}");
        }
    }

    #[test]
    fn where_the_array_api_promotes_it_is_the_same() {
        for a in DType::ALL {
            for b in DType::ALL {
                assert!(a.promote(b).is_err() || a.promote(b).ok() == a.join(b).ok(), "{a} {b}");
            }
        }
    }

    #[test]
    fn casts_go_up_the_lattice() {
        assert!(DType::S8.can_cast(DType::S64) && !DType::S64.can_cast(DType::S8));
        assert!(DType::S64.can_cast(DType::F16) && !DType::F16.can_cast(DType::S64));
        assert!(!DType::U64.can_cast(DType::S64) && DType::BF16.can_cast(DType::C64));
    }
}
