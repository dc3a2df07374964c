//! Casts between types of VHLO and builtin types: operations of other dialects, such as Shardy, have builtin types.

use super::side::Side;
use crate::{Module, Operation, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Which values are cast where.
pub struct Casts {
    /// Whose types the values have; empty if all have those of VHLO.
    sides: Vec<Side>,
    /// Values that are cast before an operation, by its address.
    before: FxHashMap<*const Operation, Vec<Value>>,
}

impl Casts {
    /// Decides where values of a module are cast: before the first use in a block.
    pub fn of(module: &Module) -> Casts {
        let mut casts = Casts { sides: Vec::new(), before: FxHashMap::default() };
        if any_foreign(&module.operations) {
            casts.sides = vec![Side::Vhlo; module.types.len()];
            casts.block(&module.operations, &mut FxHashSet::default());
        }
        casts
    }

    /// Returns whose type a value has.
    pub fn side(&self, value: Value) -> Side {
        self.sides.get(value.0 as usize).copied().unwrap_or(Side::Vhlo)
    }

    /// Returns the values that are cast before an operation.
    pub fn before(&self, operation: &Operation) -> &[Value] {
        self.before.get(&std::ptr::from_ref(operation)).map_or(&[], Vec::as_slice)
    }

    /// Number of values that operations of a block define, with casts.
    pub fn count(&self, operations: &[Operation]) -> u64 {
        operations.iter().map(|operation| (operation.results.len() + self.before(operation).len()) as u64).sum()
    }

    fn block(&mut self, operations: &[Operation], cast: &mut FxHashSet<Value>) {
        let mut new = Vec::new();
        for operation in operations {
            let side = Side::of(&operation.name);
            for &operand in &operation.operands {
                if self.side(operand) != side && cast.insert(operand) {
                    new.push(operand);
                    self.before.entry(std::ptr::from_ref(operation)).or_default().push(operand);
                }
            }
            let blocks = || operation.regions.iter().flat_map(|region| &region.blocks);
            let arguments = blocks().flat_map(|block| &block.arguments);
            for value in operation.results.iter().chain(arguments) {
                self.sides[value.0 as usize] = side;
            }
            blocks().for_each(|block| self.block(&block.operations, cast));
        }
        for value in new {
            cast.remove(&value);
        }
    }
}

fn any_foreign(operations: &[Operation]) -> bool {
    operations.iter().any(|operation| {
        let mut blocks = operation.regions.iter().flat_map(|region| &region.blocks);
        Side::of(&operation.name) == Side::Builtin || blocks.any(|block| any_foreign(&block.operations))
    })
}
