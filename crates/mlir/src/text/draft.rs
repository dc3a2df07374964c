//! Operations while they are read.

use super::super::{Attribute, Location, Region, Type, Value};
use super::parser::Named;
use smallvec::SmallVec;
use std::sync::Arc;

/// An operation while it is read.
pub struct Draft {
    /// Dialect and name.
    pub name: Arc<str>,
    /// Offset of the name.
    pub at: usize,
    /// Operands.
    pub operands: SmallVec<[Value; 3]>,
    /// Attributes as in the text.
    pub attributes: Named,
    /// Regions.
    pub regions: Vec<Region>,
    /// Types of the results.
    pub results: SmallVec<[Arc<Type>; 1]>,
    /// The location, if the text has it before the end of the operation.
    pub location: Option<Location>,
}

impl Draft {
    /// Sets an attribute.
    pub fn set(&mut self, name: Arc<str>, value: Attribute) {
        self.attributes.push((name, value));
    }
}
