//! Precision of products and convolutions: what an operation states, or what an environment chooses for operations that
//! state nothing.

use crate::attributes::{Attributes, Words};
use base::types::DType;
use std::fmt;

/// How much a product may lose of one operand. Names and order are StableHLO's.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Whatever the device computes fastest.
    Default,
    /// More than that.
    High,
    /// All that the dtype holds.
    Highest,
}

impl Level {
    /// All levels, ordered by number.
    pub const ALL: [Level; 3] = [Level::Default, Level::High, Level::Highest];

    /// Keyword in StableHLO.
    pub fn keyword(self) -> &'static str {
        match self {
            Level::Default => "DEFAULT",
            Level::High => "HIGH",
            Level::Highest => "HIGHEST",
        }
    }
}

/// An algorithm of `dot_general`, by its parts in StableHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Name, of the types of lhs, rhs and sums, and of the number of operations.
    pub name: &'static str,
    /// Type to which the operands are rounded.
    pub operands: &'static str,
    /// Type of the sums.
    pub sums: &'static str,
    /// Number of products of parts of the operands that make one product.
    pub operations: i64,
    /// Dtypes of operands that it takes.
    takes: &'static [DType],
    /// Dtypes of results that it makes.
    makes: &'static [DType],
}

macro_rules! algorithms {
    ($($name:literal: $operands:literal, $sums:literal, $operations:literal, $takes:expr => $makes:expr;)*) => {
        &[$(Algorithm {
            name: $name,
            operands: $operands,
            sums: $sums,
            operations: $operations,
            takes: &$takes,
            makes: &$makes,
        }),*]
    };
}

/// Algorithms that XLA knows, except for the algorithms of 8-bit floats, whose products are computed in f32. Their order
/// is part of keys.
pub const ALGORITHMS: &[Algorithm] = algorithms! {
    "f16_f16_f16": "f16", "f16", 1, [DType::F16] => [DType::F16];
    "f16_f16_f32": "f16", "f32", 1, [DType::F16] => [DType::F16, DType::F32];
    "bf16_bf16_bf16": "bf16", "bf16", 1, [DType::BF16, DType::F32] => [DType::BF16];
    "bf16_bf16_f32": "bf16", "f32", 1, [DType::BF16, DType::F32] => [DType::BF16, DType::F32];
    "bf16_bf16_f32_x3": "bf16", "f32", 3, [DType::F32] => [DType::F32];
    "bf16_bf16_f32_x6": "bf16", "f32", 6, [DType::F32] => [DType::F32];
    "bf16_bf16_f32_x9": "bf16", "f32", 9, [DType::F32] => [DType::F32];
    "tf32_tf32_f32": "tf32", "f32", 1, [DType::F32] => [DType::F32];
    "tf32_tf32_f32_x3": "tf32", "f32", 3, [DType::F32] => [DType::F32];
    "f32_f32_f32": "f32", "f32", 1, [DType::F32] => [DType::F32];
    "f64_f64_f64": "f64", "f64", 1, [DType::F64] => [DType::F64];
};

impl Algorithm {
    /// Whether it computes products of operands of one dtype into another.
    pub fn suits(&self, operands: DType, result: DType) -> bool {
        self.takes.contains(&operands) && self.makes.contains(&result)
    }
}

/// Precision of a product or a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Levels of both operands.
    Levels([Level; 2]),
    /// An algorithm.
    Algorithm(&'static Algorithm),
}

/// Number of the first algorithm among all precisions.
const FIRST_ALGORITHM: usize = 10;

impl Precision {
    /// All that the dtypes hold, in both operands.
    pub const HIGHEST: Precision = Precision::Levels([Level::Highest; 2]);

    /// Names of the values of the option `matmul_precision`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ["highest", "high", "default"].into_iter().chain(ALGORITHMS.iter().map(|algorithm| algorithm.name))
    }

    /// The precision with one of [`Precision::names`].
    pub fn parse(name: &str) -> Option<Precision> {
        let level = |level: Level| Some(Precision::Levels([level; 2]));
        match name {
            "highest" => level(Level::Highest),
            "high" => level(Level::High),
            "default" => level(Level::Default),
            _ => ALGORITHMS.iter().find(|algorithm| algorithm.name == name).map(Precision::Algorithm),
        }
    }

    /// Name of a precision that [`Precision::parse`] returns.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Levels([Level::Highest, _]) => "highest",
            Precision::Levels([Level::High, _]) => "high",
            Precision::Levels([Level::Default, _]) => "default",
            Precision::Algorithm(algorithm) => algorithm.name,
        }
    }

    /// A number from 1 on, in keys and attributes.
    pub fn number(self) -> u8 {
        match self {
            Precision::Levels([lhs, rhs]) => 1 + 3 * lhs as u8 + rhs as u8,
            Precision::Algorithm(algorithm) => {
                let place = ALGORITHMS.iter().position(|known| known.name == algorithm.name);
                (FIRST_ALGORITHM + place.expect("one of the table")) as u8
            }
        }
    }

    /// The precision with this number; None for any other number.
    pub fn from_number(number: u8) -> Option<Precision> {
        let number = usize::from(number);
        match number.checked_sub(FIRST_ALGORITHM) {
            Some(place) => ALGORITHMS.get(place).map(Precision::Algorithm),
            None => {
                let pair = number.checked_sub(1)?;
                Some(Precision::Levels([Level::ALL[pair / 3], Level::ALL[pair % 3]]))
            }
        }
    }

    /// The precision for exchanged operands.
    pub fn exchanged(self) -> Precision {
        match self {
            Precision::Levels([lhs, rhs]) => Precision::Levels([rhs, lhs]),
            algorithm => algorithm,
        }
    }
}

impl fmt::Display for Precision {
    /// Writes the name, or the names of both levels if they differ.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Precision::Levels([lhs, rhs]) if lhs != rhs => {
                let name = |level: Level| Precision::Levels([level; 2]).name();
                write!(f, "{}, {}", name(*lhs), name(*rhs))
            }
            same => f.write_str(same.name()),
        }
    }
}

impl Attributes for Option<Precision> {
    fn write(&self, words: &mut Words) {
        words.push(self.map_or(0, |precision| precision.number().into()));
    }

    fn read(words: &mut &[i64]) -> Option<Precision> {
        let number = i64::read(words);
        (number != 0).then(|| Precision::from_number(number as u8).expect("the number of a precision"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::{decode, encode};

    #[test]
    fn precisions_have_names_and_numbers_of_their_own() {
        let all: Vec<Precision> = (0..=u8::MAX).filter_map(Precision::from_number).collect();
        assert_eq!(all.len(), 9 + ALGORITHMS.len());
        for (i, &precision) in all.iter().enumerate() {
            assert_eq!(usize::from(precision.number()), i + 1);
            assert_eq!(decode::<Option<Precision>>(&encode(&Some(precision))), Some(precision));
        }
        assert_eq!(decode::<Option<Precision>>(&encode(&None::<Precision>)), None);
        assert_eq!(Precision::Levels([Level::High, Level::Default]).to_string(), "high, default");
        assert_eq!(Precision::HIGHEST.to_string(), "highest");
        for name in Precision::names() {
            assert_eq!(Precision::parse(name).unwrap().name(), name);
        }
        assert!(Precision::parse("HIGHEST").is_none() && Precision::parse("").is_none());
    }

    #[test]
    fn algorithms_suit_their_dtypes() {
        let suits = |name: &str, operands: DType, result: DType| match Precision::parse(name) {
            Some(Precision::Algorithm(algorithm)) => algorithm.suits(operands, result),
            other => panic!("{other:?}"),
        };
        assert!(suits("tf32_tf32_f32", DType::F32, DType::F32));
        assert!(suits("bf16_bf16_f32", DType::BF16, DType::F32));
        for (operands, result) in [(DType::F64, DType::F64), (DType::S32, DType::S32), (DType::BF16, DType::F32)] {
            assert!(!suits("tf32_tf32_f32", operands, result));
        }
    }
}
