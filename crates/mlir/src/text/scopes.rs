//! Names of values. A region sees the names of the regions around it; the body of a function sees its own only.

use super::super::Value;
use rustc_hash::FxHashMap;

/// Values with one name: the results of an operation, `%name#0` to `%name#N`.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The first value.
    pub first: Value,
    /// The number of values.
    pub count: u32,
}

/// Names of values.
#[derive(Default)]
pub struct Scopes<'t> {
    /// Names that are visible.
    visible: FxHashMap<&'t str, Group>,
    /// Names of the regions being read, in the order of their definitions.
    order: Vec<&'t str>,
    /// Names that a function hides.
    hidden: Vec<FxHashMap<&'t str, Group>>,
}

/// A region being read.
pub struct Scope {
    /// Number of names before it.
    before: usize,
    isolated: bool,
}

impl<'t> Scopes<'t> {
    /// Enters a region. An isolated one does not see the names around it.
    pub fn enter(&mut self, isolated: bool) -> Scope {
        if isolated {
            self.hidden.push(std::mem::take(&mut self.visible));
        }
        Scope { before: self.order.len(), isolated }
    }

    /// Leaves a region.
    pub fn leave(&mut self, scope: Scope) {
        if scope.isolated {
            self.order.truncate(scope.before);
            self.visible = self.hidden.pop().unwrap_or_default();
            return;
        }
        for name in self.order.drain(scope.before..) {
            self.visible.remove(name);
        }
    }

    /// Defines a name; false if it is defined already.
    pub fn define(&mut self, name: &'t str, group: Group) -> bool {
        let new = self.visible.insert(name, group).is_none();
        if new {
            self.order.push(name);
        }
        new
    }

    /// Returns the values with a name.
    pub fn get(&self, name: &str) -> Option<Group> {
        self.visible.get(name).copied()
    }
}
