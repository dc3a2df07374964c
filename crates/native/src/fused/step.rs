//! The steps of a function.

use super::super::elementwise::{Kernel1, Kernel2};
use super::lane::{Bounds, Lane, Replace, SelectIf, WithScalar};
use smallvec::SmallVec;

/// A step: its work, and the locations of its operands and of its result.
pub struct Step<T: Lane> {
    pub(super) work: Work<T>,
    pub(super) operands: SmallVec<[Location; 3]>,
    /// The register of the result, which is none of the operands.
    pub(super) to: usize,
}

/// Location of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    Input(usize),
    Register(usize),
}

impl Location {
    pub(super) fn register(self) -> Option<usize> {
        match self {
            Location::Register(register) => Some(register),
            Location::Input(_) => None,
        }
    }
}

/// Kind of the elements of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Float,
    /// Integer as wide as the floats.
    Integer {
        signed: bool,
    },
    Mask,
    /// Predicates as bytes: the result.
    Pred,
}

/// How a value is computed from others.
pub enum Work<T: Lane> {
    /// An array with an element for each one of the result.
    Input(usize),
    /// An array of a single element, repeated.
    Single(usize),
    /// These bits, repeated.
    Constant(u64),
    Map(Kernel1<T, T>),
    MapBits(Kernel1<T::Bits, T::Bits>),
    Zip(Kernel2<T, T>),
    ZipBits(Kernel2<T::Bits, T::Bits>),
    WithScalar(WithScalar<T, T>, T),
    /// Coefficients, the highest power first.
    Polynomial(Vec<T>),
    Test(Kernel2<T, T::Bits>),
    TestScalar(WithScalar<T, T::Bits>, T),
    ToBits(Kernel1<T, T::Bits>),
    Select,
    SelectIf(SelectIf<T, T::Bits>, T),
    /// The constants are those of the comparison and of the selection.
    Replace(Replace<T, T::Bits>, T, T::Bits),
    Clip(Bounds<T>),
    OfIntegers(Kernel1<T::Bits, T>),
    OfPreds,
    ToPreds,
    TestScalarToPreds(WithScalar<T, u8>, T),
    TestIntegersToPreds(Kernel2<T::Bits, u8>),
    SignBits,
}
