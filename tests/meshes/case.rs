//! One case: an operation on operands that are drawn and split at random, with a result that is split at random.

use crate::common::Random;
use crate::devices::random_sharding;
use base::types::{DType, Kind, ScalarValue, TensorType};
use ir::{Body, NodeId, Trace, UnaryOp, take_closed_body};
use lowering::transform::{self, Transformer, Wanted};
use mesh::{MeshAxes, Sharding};
use native::{self, Array};
use ops::{creation, elementwise};
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Sizes of axes. Most are divisible by sizes of mesh axes.
const SIZES: [i64; 7] = [1, 2, 3, 4, 6, 8, 12];
/// Maximum number of elements of an operand.
pub const MOST_ELEMENTS: i64 = 600;

/// A case: its random numbers, operands and trace.
pub struct Case<'a> {
    pub random: &'a mut Random,
    pub trace: Trace,
    /// Axes of the mesh.
    pub axes: &'a MeshAxes,
    /// Permitted difference of floats, relative to the largest magnitude in the results, or to 1 if that is greater; 0
    /// unless the operation rounds.
    pub tolerance: f64,
    /// Whether operands are split; otherwise every device has them whole, and nothing constrains them.
    splits_operands: bool,
    /// Whether results are constrained to a random sharding.
    splits_results: bool,
    parameters: Vec<NodeId>,
    inputs: Vec<Array>,
    shardings: Vec<Sharding>,
    /// Operands, attributes and shardings for the report of a failure.
    text: String,
}

/// A recorded case.
pub struct Made {
    pub body: Arc<Body>,
    pub inputs: Vec<Array>,
    pub shardings: Vec<Sharding>,
    pub tolerance: f64,
    pub text: String,
}

impl<'a> Case<'a> {
    pub fn new(random: &'a mut Random, axes: &'a MeshAxes) -> Case<'a> {
        // One case of four splits only the results, one of five only the operands.
        let (splits_operands, splits_results) = match random.below(20) {
            0..5 => (false, true),
            5..9 => (true, false),
            _ => (true, true),
        };
        Case {
            random,
            trace: Trace::new(),
            axes,
            tolerance: 0.0,
            splits_operands,
            splits_results,
            parameters: Vec::new(),
            inputs: Vec::new(),
            shardings: Vec::new(),
            text: String::new(),
        }
    }

    /// Adds to the report of a failure.
    pub fn note(&mut self, text: &str) {
        write!(self.text, "; {text}").expect("a string grows");
    }

    /// One of several values.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.below(list.len())]
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.random.below((high - low + 1) as usize) as i64
    }

    /// Whether an event of probability 1 / `count` happens.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.random.below(count) == 0
    }

    /// The size of an axis, at most `most`.
    pub fn size(&mut self, most: i64) -> i64 {
        let fitting: Vec<i64> = SIZES.into_iter().filter(|&size| size <= most.max(1)).collect();
        self.pick(&fitting)
    }

    /// A shape of at most `most` elements.
    pub fn shape(&mut self, ranks: RangeInclusive<i64>, most: i64) -> Vec<i64> {
        let mut room = most;
        let mut dims = Vec::new();
        for _ in 0..self.between(*ranks.start(), *ranks.end()) {
            let size = self.size(room);
            room /= size;
            dims.push(size);
        }
        // The first sizes drawn are the largest.
        let order = self.permutation(dims.len());
        order.into_iter().map(|axis| dims[axis as usize]).collect()
    }

    /// The numbers below `count` in random order.
    pub fn permutation(&mut self, count: usize) -> Vec<i64> {
        let mut rest: Vec<i64> = (0..count as i64).collect();
        (0..count).map(|_| rest.remove(self.random.below(rest.len()))).collect()
    }

    /// `count` of the numbers below `of`, ascending.
    pub fn subset(&mut self, count: usize, of: usize) -> Vec<i64> {
        let mut chosen = self.permutation(of);
        chosen.truncate(count);
        chosen.sort_unstable();
        chosen
    }

    /// One of the axes of a tensor.
    pub fn axis(&mut self, dims: &[i64]) -> usize {
        self.random.below(dims.len())
    }

    /// At least one of the axes of a tensor, ascending.
    pub fn some_axes(&mut self, dims: &[i64]) -> Vec<i64> {
        let count = 1 + self.random.below(dims.len());
        self.subset(count, dims.len())
    }

    /// Padding that rounds a size up to a multiple of a random unit, which sizes of mesh axes often divide.
    pub fn up_to_multiple(&mut self, size: i64) -> i64 {
        let unit = self.pick(&[1, 2, 3, 4, 4, 6, 8]);
        (unit - size.rem_euclid(unit)) % unit
    }

    /// A dtype of elements that are moved.
    pub fn dtype(&mut self) -> DType {
        self.pick(&[
            DType::F64,
            DType::F64,
            DType::F64,
            DType::F64,
            DType::S32,
            DType::F32,
            DType::BF16,
            DType::U8,
            DType::Pred,
        ])
    }

    /// A dtype of elements that are added: their sums are exact.
    pub fn number_dtype(&mut self) -> DType {
        self.pick(&[DType::F64, DType::F64, DType::F64, DType::S32, DType::F32])
    }

    /// A parameter of small integers, split at random, and constrained to another sharding in some cases.
    pub fn operand(&mut self, dtype: DType, dims: &[i64]) -> NodeId {
        self.operand_of(dtype, dims, |random| match dtype.kind() {
            Kind::Pred => random.below(2) as f64,
            Kind::Unsigned => random.below(6) as f64,
            _ => random.below(7) as f64 - 3.0,
        })
    }

    /// A parameter whose elements `value` draws in row-major order.
    pub fn operand_of(&mut self, dtype: DType, dims: &[i64], mut value: impl FnMut(&mut Random) -> f64) -> NodeId {
        let ty = TensorType::new(DType::F64, dims);
        let values: Vec<f64> = (0..ty.elements()).map(|_| value(self.random)).collect();
        let array = Array::from_bytes(&ty, bytemuck::cast_slice(&values)).unwrap();
        self.parameter(native::convert(&array, dtype).unwrap())
    }

    fn parameter(&mut self, array: Array) -> NodeId {
        let ty = array.ty().clone();
        let sharding = match self.splits_operands {
            true => random_sharding(self.random, self.axes, &ty.dims),
            false => Sharding::replicated(ty.dims.len()),
        };
        write!(self.text, " {ty} split {:?}", sharding.text(self.axes)).expect("a string grows");
        let node = self.trace.parameter(ty);
        self.parameters.push(node);
        self.inputs.push(array);
        self.shardings.push(sharding.clone());
        if !self.splits_operands {
            return node;
        }
        // A body needs one constraint at least.
        match self.random.below(6) {
            0 | 1 => self.placed(node),
            2.. if !self.splits_results => {
                ops::mesh::sharding_constraint(&mut self.trace, node, self.axes, &sharding).unwrap()
            }
            _ => node,
        }
    }

    /// Constrains a value to a random sharding.
    pub fn placed(&mut self, id: NodeId) -> NodeId {
        let sharding = random_sharding(self.random, self.axes, &self.trace.ty(id).dims);
        write!(self.text, " then {:?}", sharding.text(self.axes)).expect("a string grows");
        ops::mesh::sharding_constraint(&mut self.trace, id, self.axes, &sharding).unwrap()
    }

    /// Makes this case constrain its results. For operations that may have no operand, and so no other constraint.
    pub fn split_results(&mut self) {
        self.splits_results = true;
    }

    /// A constant scalar.
    pub fn scalar(&mut self, dtype: DType, value: f64) -> NodeId {
        creation::full(&mut self.trace, &TensorType::new(dtype, &[]), ScalarValue::Float(value)).unwrap()
    }

    /// Cotangents of the operands of a computation, from a random cotangent of its result.
    pub fn gradients(
        &mut self,
        operands: &[NodeId],
        record: impl FnOnce(&mut Trace, &[NodeId]) -> NodeId,
    ) -> Vec<NodeId> {
        let mut inner = Trace::new();
        let leaves: Vec<NodeId> = operands.iter().map(|&id| inner.parameter(self.trace.ty(id))).collect();
        let result = record(&mut inner, &leaves);
        let ty = inner.ty(result);
        let body = take_closed_body(&inner, &leaves, &[], &[result]).unwrap();
        let all: Vec<usize> = (0..operands.len()).collect();
        let wanted = Wanted { parameters: &all, captures: false };
        let made = transform::vjp(&Transformer::default(), &body, &wanted).unwrap();
        let cotangent = self.operand(ty.dtype, &ty.dims);
        let passed = self.trace.replay(&made.forward, operands).unwrap().split_off(1);
        self.trace.replay(&made.backward, &[&passed[..], &[cotangent]].concat()).unwrap()
    }

    /// The case whose operation has these results.
    pub fn made(mut self, results: &[NodeId]) -> Made {
        self.note("results");
        let results: Vec<NodeId> = results.iter().map(|&id| self.result(id)).collect();
        Made {
            body: take_closed_body(&self.trace, &self.parameters, &[], &results).unwrap(),
            inputs: self.inputs,
            shardings: self.shardings,
            tolerance: self.tolerance,
            text: self.text,
        }
    }

    /// Constrains a result, if this case splits results. In three of four cases, an elementwise operation follows, so
    /// that the constraint is not the last operation of the body.
    fn result(&mut self, id: NodeId) -> NodeId {
        let ty = self.trace.ty(id);
        write!(self.text, " {ty}").expect("a string grows");
        let id = if self.splits_results { self.placed(id) } else { id };
        if self.one_in(4) {
            return id;
        }
        let op = if ty.dtype == DType::Pred { UnaryOp::Not } else { UnaryOp::Negate };
        elementwise::unary(&mut self.trace, op, id).unwrap()
    }
}
