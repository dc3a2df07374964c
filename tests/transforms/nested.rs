//! Random operations that apply computations: calls, branches, scans and loops.

use crate::programs::{Maker, SHAPES, f64s};
use base::types::{ScalarValue, TensorType};
use ir::{BinaryOp, Body, CompareOp, NodeId, take_body};
use ops::control::{self, Applied, Checkpoint};
use ops::{creation, elementwise};
use std::sync::Arc;

impl Maker<'_> {
    /// Traces a computation of values of the pool in this trace, which captures others.
    fn traced(&mut self, parameters: &[TensorType], results: &[TensorType]) -> (Arc<Body>, Vec<NodeId>) {
        let leaves: Vec<NodeId> = parameters.iter().map(|ty| self.trace.parameter(ty.clone())).collect();
        let before = self.pool.len();
        let depth = self.depth;
        self.depth -= 1;
        self.pool.extend_from_slice(&leaves);
        for _ in 0..3 {
            self.grow();
        }
        let made: Vec<NodeId> = results
            .iter()
            .map(|ty| {
                let x = self.pool[before + self.random.below(self.pool.len() - before)];
                let x = self.shaped(x, &ty.dims);
                self.bounded(x)
            })
            .collect();
        self.pool.truncate(before);
        self.depth = depth;
        take_body(&self.trace, &leaves, &made).unwrap()
    }

    fn some_types(&mut self) -> Vec<TensorType> {
        (0..1 + self.random.below(2)).map(|_| f64s(SHAPES[self.random.below(SHAPES.len())])).collect()
    }

    fn arguments(&mut self, types: &[TensorType]) -> Vec<NodeId> {
        types
            .iter()
            .map(|ty| {
                let x = self.any();
                self.shaped(x, &ty.dims)
            })
            .collect()
    }

    pub(super) fn call(&mut self) -> Vec<NodeId> {
        let (types, results) = (self.some_types(), self.some_types());
        let (body, captures) = self.traced(&types, &results);
        let arguments = self.arguments(&types);
        let applied = Applied { body: &body, captures: &captures };
        let policy = match self.random.below(6) {
            0 => Checkpoint::SaveAll,
            1 => Checkpoint::SaveNone,
            2 => Checkpoint::SaveDots,
            _ => return control::call(&mut self.trace, &applied, &arguments).unwrap(),
        };
        control::checkpoint_call_of(&mut self.trace, &policy, &applied, &arguments)
    }

    pub(super) fn branches(&mut self) -> Vec<NodeId> {
        let (types, results) = (self.some_types(), self.some_types());
        let made: Vec<(Arc<Body>, Vec<NodeId>)> = (0..3).map(|_| self.traced(&types, &results)).collect();
        let arguments = self.arguments(&types);
        let branches: Vec<Applied> = made.iter().map(|(body, captures)| Applied { body, captures }).collect();
        if self.random.coin() {
            let number = self.number();
            return control::case(&mut self.trace, number, &branches, &arguments).unwrap();
        }
        let x = self.any();
        let x = self.shaped(x, &[]);
        let pred = self.pred(x);
        control::branch(&mut self.trace, pred, &branches[0], &branches[1], &arguments).unwrap()
    }

    pub(super) fn scan(&mut self) -> Vec<NodeId> {
        let (carry, slices, stacks) = (self.some_types(), self.some_types(), self.some_types());
        let (body, captures) = self.traced(&[&carry[..], &slices].concat(), &[&carry[..], &stacks].concat());
        let init = self.arguments(&carry);
        let stacked: Vec<TensorType> = slices.iter().map(|ty| f64s(&[&[3], &ty.dims[..]].concat())).collect();
        let arrays = self.arguments(&stacked);
        let reverse = self.random.coin();
        let applied = Applied { body: &body, captures: &captures };
        control::scan(&mut self.trace, &applied, &init, &arrays, 3, reverse).unwrap()
    }

    /// A loop that runs twice to four times. Without a bound it has no reverse mode, so its results pass a stopped
    /// gradient.
    pub(super) fn while_loop(&mut self) -> Vec<NodeId> {
        let types = self.some_types();
        let (body, captures) = self.traced(&types, &types);
        let init = self.arguments(&types);
        let count = f64s(&[]);
        let start = self.any();
        let start = self.shaped(start, &[]);
        let start = self.bounded(start);
        let t = &mut self.trace;
        let counter = t.parameter(count.clone());
        let values: Vec<NodeId> = types.iter().map(|ty| t.parameter(ty.clone())).collect();
        let limit = creation::full(t, &count, ScalarValue::Float(2.0)).unwrap();
        let more = elementwise::compare(t, CompareOp::Lt, counter, limit).unwrap();
        let (condition, _) = take_body(t, &[&[counter], &values[..]].concat(), &[more]).unwrap();
        let next = elementwise::binary_scalar(t, BinaryOp::Add, counter, ScalarValue::Float(1.0), false).unwrap();
        let made = control::call(t, &Applied { body: &body, captures: &captures }, &values).unwrap();
        let (body, captures) =
            take_body(t, &[&[counter], &values[..]].concat(), &[&[next], &made[..]].concat()).unwrap();
        let applied = [Applied { body: &condition, captures: &[] }, Applied { body: &body, captures: &captures }];
        let init = [&[start], &init[..]].concat();
        if self.random.coin() {
            let most = 1 + self.random.below(6) as i64;
            let results = control::while_bounded(t, &applied[0], &applied[1], &init, most).unwrap();
            return results[1..init.len()].to_vec();
        }
        let results = control::while_loop(t, &applied[0], &applied[1], &init).unwrap();
        results[1..].iter().map(|&id| control::stop_gradient(t, id).unwrap()).collect()
    }
}
