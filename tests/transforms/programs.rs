//! Random programs of f64 values. `nested.rs` has their nested computations.

use crate::common::Random;
use base::types::{DType, ScalarValue, TensorType};
use ir::{
    BinaryOp, Body, CompareOp, FftOp, NodeId, ReduceOp, SpecialOp, Trace, UnaryFunction, UnaryOp, take_closed_body,
};
use ops::{control, creation, elementwise, indexing, linalg, nn, reduction, shape, sorting};
use std::sync::Arc;

/// Records random operations. All values in the pool are f64.
pub struct Maker<'a> {
    pub random: &'a mut Random,
    pub trace: Trace,
    pub(super) pool: Vec<NodeId>,
    /// How deep computations may nest.
    pub(super) depth: usize,
    /// Whether discontinuous operations (comparisons, sorts, extremes) get operands whose elements differ by more than
    /// rounding.
    pub(super) avoids_ties: bool,
}

pub fn f64s(dims: &[i64]) -> TensorType {
    TensorType::new(DType::F64, dims)
}

/// Shapes of parameters.
pub(super) const SHAPES: [&[i64]; 7] = [&[], &[3], &[2, 3], &[3, 2], &[1, 3], &[2, 2], &[4]];

/// A random computation of one to three parameters, with one or two results. With `avoids_ties`, another rounding of
/// its arithmetic changes its results little: see [`Maker`].
pub fn computation(random: &mut Random, length: usize, depth: usize, avoids_ties: bool) -> Arc<Body> {
    let count = 1 + random.below(3);
    let types: Vec<TensorType> = (0..count).map(|_| f64s(SHAPES[random.below(SHAPES.len())])).collect();
    let results = 1 + random.below(2);
    let mut trace = Trace::new();
    let parameters: Vec<NodeId> = types.iter().map(|ty| trace.parameter(ty.clone())).collect();
    let mut maker = Maker { random, trace, pool: parameters.clone(), depth, avoids_ties };
    for _ in 0..length {
        maker.grow();
    }
    let results: Vec<NodeId> = (0..results).map(|_| maker.any()).collect();
    take_closed_body(&maker.trace, &parameters, &[], &results).unwrap()
}

impl Maker<'_> {
    /// A value of the pool; late ones are likelier.
    pub(super) fn any(&mut self) -> NodeId {
        let from = if self.random.coin() { self.pool.len() / 2 } else { 0 };
        self.pool[from + self.random.below(self.pool.len() - from)]
    }

    fn dims(&self, id: NodeId) -> Vec<i64> {
        self.trace.ty(id).dims.to_vec()
    }

    /// A value with at least one axis, and one of its axes.
    fn with_axis(&mut self) -> (NodeId, i64) {
        let x = self.any();
        let rank = self.dims(x).len();
        if rank == 0 {
            let x = shape::reshape(&mut self.trace, x, &[1]).unwrap();
            return (x, 0);
        }
        (x, self.random.below(rank) as i64)
    }

    /// Values of one shape with `x`.
    fn like(&mut self, x: NodeId) -> NodeId {
        let y = self.any();
        self.shaped(y, &self.dims(x))
    }

    /// Values of a shape, made from those of `x`.
    pub(super) fn shaped(&mut self, x: NodeId, dims: &[i64]) -> NodeId {
        let t = &mut self.trace;
        if t.ty(x).dims.as_slice() == dims {
            return x;
        }
        let axes: Vec<i64> = (0..t.ty(x).dims.len() as i64).collect();
        let mean = reduction::mean(t, x, &axes, false).unwrap();
        shape::broadcast_to(t, mean, dims).unwrap()
    }

    /// Adds another number to each element, where the maker avoids ties.
    fn apart(&mut self, x: NodeId) -> NodeId {
        if !self.avoids_ties {
            return x;
        }
        let dims = self.dims(x);
        let shift = ScalarValue::Float(self.random.unit() - 0.5);
        let mut sum = elementwise::binary_scalar(&mut self.trace, BinaryOp::Add, x, shift, false).unwrap();
        for axis in 0..dims.len() {
            let by = ScalarValue::Float(self.random.unit());
            let t = &mut self.trace;
            let places = creation::iota(t, &f64s(&dims), axis as i64).unwrap();
            let offsets = elementwise::binary_scalar(t, BinaryOp::Multiply, places, by, false).unwrap();
            sum = elementwise::binary(t, BinaryOp::Add, sum, offsets).unwrap();
        }
        sum
    }

    /// Values bounded by 1.
    pub(super) fn bounded(&mut self, x: NodeId) -> NodeId {
        elementwise::unary(&mut self.trace, UnaryOp::Tanh, x).unwrap()
    }

    /// Records one random operation and adds its results to the pool.
    pub(super) fn grow(&mut self) {
        let made = match self.random.below(if self.depth > 0 { 34 } else { 28 }) {
            0..=3 => vec![self.unary()],
            4..=8 => vec![self.binary()],
            9 => vec![self.select()],
            10 => vec![self.scalar()],
            11..=14 => vec![self.rearranged()],
            15..=17 => vec![self.reduced()],
            18 | 19 => vec![self.product()],
            20 => vec![self.cumulative()],
            21 => vec![self.sorted()],
            22 | 23 => vec![self.indexed()],
            24 => vec![self.normalized()],
            25 => vec![self.complex()],
            26 => vec![self.solved()],
            27 => vec![self.marked()],
            28 => self.call(),
            29 | 30 => self.branches(),
            31 | 32 => self.scan(),
            _ => self.while_loop(),
        };
        for id in made {
            if self.trace.ty(id).elements() <= 64 {
                let id = if self.random.below(3) == 0 { self.bounded(id) } else { id };
                self.pool.push(id);
            }
        }
    }

    fn unary(&mut self) -> NodeId {
        let x = self.any();
        let pick = self.random.below(16);
        let x = if pick == 4 || pick == 5 { self.apart(x) } else { x };
        let t = &mut self.trace;
        match pick {
            0 => elementwise::unary(t, UnaryOp::Sine, x),
            1 => elementwise::unary(t, UnaryOp::Cosine, x),
            2 => elementwise::unary(t, UnaryOp::Logistic, x),
            3 => elementwise::unary(t, UnaryOp::Negate, x),
            4 => elementwise::unary(t, UnaryOp::Abs, x),
            5 => elementwise::unary(t, UnaryOp::Floor, x),
            6 => elementwise::special(t, SpecialOp::Erf, x),
            7 => elementwise::special(t, SpecialOp::NormalCdf, x),
            8 => elementwise::unary_function(t, UnaryFunction::Atan, x),
            9 => elementwise::unary_function(t, UnaryFunction::Asinh, x),
            10 => {
                let x = elementwise::unary(t, UnaryOp::Tanh, x).unwrap();
                elementwise::unary(t, UnaryOp::Exponential, x)
            }
            11 => {
                let x = elementwise::unary(t, UnaryOp::Tanh, x).unwrap();
                elementwise::unary(t, UnaryOp::ExponentialMinusOne, x)
            }
            12 | 13 => {
                let square = elementwise::binary(t, BinaryOp::Multiply, x, x).unwrap();
                let positive =
                    elementwise::binary_scalar(t, BinaryOp::Add, square, ScalarValue::Float(0.5), false).unwrap();
                let op = [UnaryOp::Sqrt, UnaryOp::Rsqrt, UnaryOp::Log, UnaryOp::Cbrt][self.random.below(4)];
                elementwise::unary(t, op, positive)
            }
            _ => elementwise::unary(t, UnaryOp::Tanh, x),
        }
        .unwrap()
    }

    fn binary(&mut self) -> NodeId {
        let a = self.any();
        let b = if self.random.coin() { self.like(a) } else { self.any() };
        let b = if elementwise::binary(&mut self.trace, BinaryOp::Add, a, b).is_ok() { b } else { self.like(a) };
        let pick = self.random.below(8);
        let b = if pick == 3 || pick == 4 { self.apart(b) } else { b };
        let t = &mut self.trace;
        let made = match pick {
            0 => BinaryOp::Subtract,
            1 | 2 => BinaryOp::Multiply,
            3 => BinaryOp::Maximum,
            4 => BinaryOp::Minimum,
            5 => {
                let b = elementwise::unary(t, UnaryOp::Tanh, b).unwrap();
                let b = elementwise::binary_scalar(t, BinaryOp::Add, b, ScalarValue::Float(2.0), false).unwrap();
                return elementwise::binary(t, BinaryOp::Divide, a, b).unwrap();
            }
            6 => {
                let b = elementwise::unary(t, UnaryOp::Exponential, b).unwrap();
                return elementwise::binary(t, BinaryOp::Atan2, a, b).unwrap();
            }
            _ => BinaryOp::Add,
        };
        let result = elementwise::binary(t, made, a, b).unwrap();
        if made == BinaryOp::Multiply { self.bounded(result) } else { result }
    }

    fn scalar(&mut self) -> NodeId {
        let x = self.any();
        let value = ScalarValue::Float(self.random.unit() * 2.0 - 1.0);
        let op = [BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Subtract, BinaryOp::Maximum][self.random.below(4)];
        let on_left = self.random.coin();
        elementwise::binary_scalar(&mut self.trace, op, x, value, on_left).unwrap()
    }

    pub(super) fn pred(&mut self, like: NodeId) -> NodeId {
        let (a, b) = (self.like(like), self.like(like));
        let b = self.apart(b);
        let op = [CompareOp::Lt, CompareOp::Ge][self.random.below(2)];
        elementwise::compare(&mut self.trace, op, a, b).unwrap()
    }

    fn select(&mut self) -> NodeId {
        let a = self.any();
        let (pred, b) = (self.pred(a), self.like(a));
        elementwise::select(&mut self.trace, pred, a, b).unwrap()
    }

    fn rearranged(&mut self) -> NodeId {
        let (x, axis) = self.with_axis();
        let dims = self.dims(x);
        let rank = dims.len();
        let pick = self.random.below(8);
        let other = self.any();
        let other = self.shaped(other, &dims);
        let t = &mut self.trace;
        let at = axis as usize;
        match pick {
            0 => shape::reshape(t, x, &[dims.iter().product()]),
            1 => shape::transpose(t, x, &(0..rank as i64).rev().collect::<Vec<_>>()),
            2 => shape::reverse(t, x, &[axis]),
            3 => {
                let (mut starts, limits, mut strides) = (vec![0; rank], dims.clone(), vec![1; rank]);
                starts[at] = (dims[at] - 1).min(1);
                strides[at] = 2;
                shape::slice(t, x, &starts, &limits, &strides)
            }
            4 => shape::concatenate(t, &[x, other, x], axis),
            5 => {
                let (mut low, mut interior) = (vec![0; rank], vec![0; rank]);
                low[at] = if dims[at] > 1 { -1 } else { 1 };
                interior[at] = 1;
                shape::pad_scalar(t, x, ScalarValue::Float(0.25), &low, &vec![1; rank], &interior)
            }
            6 => shape::broadcast_to(t, x, &[&[2], &dims[..]].concat()),
            _ => shape::roll(t, x, &[1], &[axis]),
        }
        .unwrap()
    }

    fn reduced(&mut self) -> NodeId {
        let (x, axis) = self.with_axis();
        let keep = self.random.coin();
        let pick = self.random.below(7);
        let x = if pick < 2 { self.apart(x) } else { x };
        let t = &mut self.trace;
        match pick {
            0 => reduction::reduce(t, ReduceOp::Max, x, &[axis], keep),
            1 => reduction::reduce(t, ReduceOp::Min, x, &[axis], keep),
            2 => {
                let x = elementwise::unary(t, UnaryOp::Tanh, x).unwrap();
                reduction::reduce(t, ReduceOp::Product, x, &[axis], keep)
            }
            3 => reduction::logsumexp(t, x, &[axis], keep),
            4 => reduction::variance(t, x, &[axis], 0.0, keep),
            5 => reduction::mean(t, x, &[axis], keep),
            _ => reduction::reduce(t, ReduceOp::Sum, x, &[axis], keep),
        }
        .unwrap()
    }

    fn product(&mut self) -> NodeId {
        let (x, _) = self.with_axis();
        let x = self.bounded(x);
        let dims = self.dims(x);
        let last = dims[dims.len() - 1];
        let y = self.any();
        let shape: Vec<i64> = match self.random.below(3) {
            0 => vec![last],
            1 => vec![last, 2],
            _ => vec![1, last, 3],
        };
        let row: Vec<NodeId> = (0..last).map(|i| self.scaled(y, 1.0 + i as f64 / 3.0, &[])).collect();
        let column = shape::stack(&mut self.trace, &row, 0).unwrap();
        let dims = if shape.len() == 1 { vec![last] } else { vec![last, 1] };
        let column = shape::reshape(&mut self.trace, column, &dims).unwrap();
        let y = shape::broadcast_to(&mut self.trace, column, &shape).unwrap();
        linalg::matmul(&mut self.trace, x, y).unwrap()
    }

    fn scaled(&mut self, x: NodeId, by: f64, dims: &[i64]) -> NodeId {
        let x = self.shaped(x, dims);
        elementwise::binary_scalar(&mut self.trace, BinaryOp::Multiply, x, ScalarValue::Float(by), false).unwrap()
    }

    fn cumulative(&mut self) -> NodeId {
        let (x, axis) = self.with_axis();
        let x = self.bounded(x);
        let op = [ReduceOp::Sum, ReduceOp::Product, ReduceOp::Max][self.random.below(3)];
        let reverse = self.random.coin();
        let x = if op == ReduceOp::Max { self.apart(x) } else { x };
        reduction::cumulative(&mut self.trace, op, x, axis, reverse).unwrap()
    }

    fn sorted(&mut self) -> NodeId {
        let (x, axis) = self.with_axis();
        let descending = self.random.coin();
        let x = self.apart(x);
        sorting::sort_along(&mut self.trace, x, axis, descending, true).unwrap()
    }

    /// An s32 scalar that depends on a value, from -1 to 3.
    pub(super) fn number(&mut self) -> NodeId {
        let x = self.any();
        let x = self.shaped(x, &[]);
        let x = self.apart(x);
        let t = &mut self.trace;
        let x = elementwise::unary(t, UnaryOp::Sine, x).unwrap();
        let x = elementwise::binary_scalar(t, BinaryOp::Multiply, x, ScalarValue::Float(2.0), false).unwrap();
        let x = elementwise::binary_scalar(t, BinaryOp::Add, x, ScalarValue::Float(1.0), false).unwrap();
        let x = elementwise::unary(t, UnaryOp::Floor, x).unwrap();
        elementwise::convert(t, x, DType::S32)
    }

    fn indexed(&mut self) -> NodeId {
        let (x, axis) = self.with_axis();
        let dims = self.dims(x);
        let number = self.number();
        let part = self.any();
        let pick = self.random.below(4);
        let at = axis as usize;
        let zero = creation::full(&mut self.trace, &TensorType::new(DType::S32, &[]), ScalarValue::Signed(0)).unwrap();
        let mut starts = vec![zero; dims.len()];
        starts[at] = number;
        let mut sizes = dims.clone();
        sizes[at] = (dims[at] - 1).max(1);
        match pick {
            0 => indexing::dynamic_slice(&mut self.trace, x, &starts, &sizes),
            1 => {
                let part = self.shaped(part, &sizes);
                indexing::dynamic_update_slice(&mut self.trace, x, part, &starts)
            }
            2 => indexing::take(&mut self.trace, x, number, axis),
            _ => {
                let x = self.apart(x);
                let order = sorting::argsort(&mut self.trace, x, axis, false, true, DType::S32).unwrap();
                indexing::take_along_axis(&mut self.trace, x, order, axis)
            }
        }
        .unwrap()
    }

    fn normalized(&mut self) -> NodeId {
        let (x, axis) = self.with_axis();
        if self.random.coin() {
            nn::softmax(&mut self.trace, x, axis).unwrap()
        } else {
            nn::log_softmax(&mut self.trace, x, axis).unwrap()
        }
    }

    fn complex(&mut self) -> NodeId {
        let (a, _) = self.with_axis();
        let b = self.like(a);
        let pick = self.random.below(4);
        let last = *self.dims(a).last().expect("an axis");
        let t = &mut self.trace;
        let z = elementwise::complex(t, a, b).unwrap();
        let z = match pick {
            0 => linalg::fft(t, FftOp::Fft, z, &[last]).unwrap(),
            1 => elementwise::unary(t, UnaryOp::Sine, z).unwrap(),
            2 => elementwise::binary(t, BinaryOp::Multiply, z, z).unwrap(),
            _ => {
                let half = linalg::fft(t, FftOp::Rfft, a, &[last]).unwrap();
                return elementwise::imag(t, half).unwrap();
            }
        };
        if self.random.coin() { elementwise::real(t, z) } else { elementwise::imag(t, z) }.unwrap()
    }

    /// The Cholesky factor of a matrix that is positive definite, by which something is solved.
    fn solved(&mut self) -> NodeId {
        let (x, b) = (self.any(), self.any());
        let (x, b) = (self.bounded(x), self.shaped(b, &[3, 2]));
        let square = self.shaped(x, &[3, 3]);
        let t = &mut self.trace;
        let row = creation::iota(t, &f64s(&[3, 3]), 1).unwrap();
        let skewed = elementwise::binary(t, BinaryOp::Multiply, square, row).unwrap();
        let transposed = shape::transpose(t, skewed, &[1, 0]).unwrap();
        let product = linalg::matmul(t, skewed, transposed).unwrap();
        let eye = creation::eye(t, DType::F64, 3, 3, 0).unwrap();
        let matrix = elementwise::binary(t, BinaryOp::Add, product, eye).unwrap();
        let factor = linalg::cholesky(t, matrix, true).unwrap();
        linalg::matmul(t, factor, b).unwrap()
    }

    fn marked(&mut self) -> NodeId {
        let x = self.any();
        let t = &mut self.trace;
        match self.random.below(3) {
            0 => control::stop_gradient(t, x).unwrap(),
            1 => control::checkpoint_name(t, x, "kept").unwrap(),
            _ => control::optimization_barrier(t, &[x]).unwrap()[0],
        }
    }
}
