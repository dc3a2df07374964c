//! A module in memory: operations with operands, results, attributes and regions.

use super::attribute::Dictionary;
use super::location::Location;
use super::types::Type;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// A value of a module: the result of an operation, or the argument of a block. Numbers are unique in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value(pub u32);

/// Version of the StableHLO of a portable artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

/// A module (`builtin.module`).
#[derive(Debug, Default)]
pub struct Module {
    /// What the file says of its writer, such as `StableHLO_v1.15.0` or `MLIR23.0.0git`; empty for text.
    pub producer: String,
    /// Version of the VHLO in the file; None if it holds no VHLO.
    pub version: Option<Version>,
    /// Attributes of the module.
    pub attributes: Dictionary,
    /// Operations of its body: functions (`func.func`), meshes (`sdy.mesh`).
    pub operations: Vec<Operation>,
    /// Types of the values, by their numbers.
    pub types: Vec<Arc<Type>>,
}

/// An operation. Operations of VHLO have the names and the attributes of StableHLO and of `func`; see `Attribute`.
#[derive(Debug, PartialEq)]
pub struct Operation {
    /// Dialect and name: `stablehlo.add`, `func.func`, `func.return`, `chlo.erf`.
    pub name: Arc<str>,
    /// Operands.
    pub operands: SmallVec<[Value; 3]>,
    /// Results.
    pub results: SmallVec<[Value; 1]>,
    /// Attributes, properties included.
    pub attributes: Dictionary,
    /// Regions.
    pub regions: Vec<Region>,
    /// Its place in the program that was exported.
    pub location: Location,
}

/// A region; without blocks if it is empty.
#[derive(Debug, Default, PartialEq)]
pub struct Region {
    /// Its blocks. Operations of StableHLO have one block in each region.
    pub blocks: Vec<Block>,
}

/// A block.
#[derive(Debug, Default, PartialEq)]
pub struct Block {
    /// Arguments.
    pub arguments: Vec<Value>,
    /// Operations; the last one returns or branches.
    pub operations: Vec<Operation>,
}

impl Module {
    /// Returns the type of a value.
    pub fn ty(&self, value: Value) -> &Arc<Type> {
        &self.types[value.0 as usize]
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}
