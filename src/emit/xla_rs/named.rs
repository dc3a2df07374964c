//! Values by name: what the lowerings of elementwise functions write, built instead.

use super::site::Site;
use crate::error;
use crate::error::{Error, Result};
use crate::ir::CompareOp;
use crate::types::TensorType;
use rustc_hash::FxHashMap;
use xla::XlaOp;

/// Values of a computation by the names that a lowering gives them.
pub struct Named<'a> {
    site: &'a Site<'a>,
    values: FxHashMap<String, XlaOp>,
    /// The first failure. What follows it is not built.
    failure: Option<Error>,
}

impl<'a> Named<'a> {
    /// Begins with these values.
    pub fn new(site: &'a Site<'a>, values: &[(&str, &XlaOp)]) -> Named<'a> {
        let values = values.iter().map(|&(name, value)| (name.to_string(), value.clone())).collect();
        Named { site, values, failure: None }
    }

    /// The value with a name.
    pub fn finish(mut self, name: &str) -> Result<XlaOp> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.value(name),
        }
    }

    fn value(&self, name: &str) -> Result<XlaOp> {
        let found = self.values.get(name).cloned();
        found.ok_or_else(|| error!(Internal, "a lowering names {name}, which was not built"))
    }

    fn define(&mut self, name: &str, make: impl FnOnce(&Named) -> Result<XlaOp>) {
        if self.failure.is_some() {
            return;
        }
        match make(self) {
            Ok(value) => drop(self.values.insert(name.to_string(), value)),
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// An elementwise operation with a result of this type.
    pub fn step(&mut self, name: &str, op: &str, operands: &[&str], ty: &TensorType) {
        self.define(name, |own| {
            let operands = operands.iter().map(|operand| own.value(operand)).collect::<Result<Vec<XlaOp>>>()?;
            match op {
                "convert" => own.site.convert(&operands[0], ty.dtype),
                _ => own.site.step(op, &operands.iter().collect::<Vec<&XlaOp>>(), ty),
            }
        });
    }

    /// A comparison; `how` is its direction.
    pub fn compare(&mut self, name: &str, how: &str, a: &str, b: &str) {
        self.define(name, |own| {
            let op = CompareOp::ALL.iter().find(|op| op.name() == how);
            let op = op.ok_or_else(|| error!(Internal, "there is no comparison {how}"))?;
            own.site.compare(*op, &own.value(a)?, &own.value(b)?)
        });
    }

    /// `pred ? on_true : on_false`.
    pub fn select(&mut self, name: &str, pred: &str, on_true: &str, on_false: &str) {
        self.define(name, |own| own.site.select(&own.value(pred)?, &own.value(on_true)?, &own.value(on_false)?));
    }

    /// A constant with every element equal to `bits`.
    pub fn constant(&mut self, name: &str, ty: &TensorType, bits: u128) {
        self.define(name, |own| own.site.constant(ty, bits));
    }
}
