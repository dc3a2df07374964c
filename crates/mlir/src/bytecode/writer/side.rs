//! Operations of VHLO have types and attributes of their own; those of other dialects have builtin ones.

use super::super::forms::Dialect;

/// The dialect whose types and attributes an operation has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// VHLO's types and attributes.
    Vhlo,
    /// Types and attributes of MLIR's builtin dialect.
    Builtin,
}

impl Side {
    /// Returns the side of an operation of the module.
    pub fn of(name: &str) -> Side {
        match name.split_once('.') {
            Some(("stablehlo" | "func", _)) => Side::Vhlo,
            _ => Side::Builtin,
        }
    }

    /// Returns the dialect of the side's attributes and types.
    pub fn dialect(self) -> Dialect {
        match self {
            Side::Vhlo => Dialect::Vhlo,
            Side::Builtin => Dialect::Builtin,
        }
    }
}
