//! The actions of random programs of real numbers.

use super::attention::rotated;
use super::bounded::{Bounded, Host, Rounding};
use super::functions::FUNCTIONS;
use super::systems::System;
use super::world::{Approximate, Outcome, Trio, wide};
use crate::exact::{Shape, convolution, equation};
use crate::program::in_words;
use crate::record::{self, binary, binary_in_place, binary_scalar, binary_scalar_in_place, on, reduce};
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, ReduceOp};
use lazyxla::device::TensorHandle;
use lazyxla::sync;
use lazyxla::tensor::{assign, create, shard, snapshot};
use ops::nn::AttentionOptions;
use ops::{creation, elementwise, linalg, nn, reduction, shape};
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt;

#[derive(Clone, Copy)]
pub struct Action {
    pub kind: Deed,
    pub tensors: [u16; 4],
    pub numbers: [u8; 4],
}

/// Formats on one line, also in pretty-printed programs.
impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?} of {:?} by {:?}", self.kind, self.tensors, self.numbers)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    Create,
    Step,
    StepSome,
    Read,
    Sync,
    Snapshot,
    Assign,
    Write,
    Release,
    Shard,
    Function,
    Binary,
    BinaryInPlace,
    Scalar,
    ScalarInPlace,
    Select,
    Convert,
    Move,
    Concatenate,
    Reduce,
    Cumulative,
    Moment,
    Softmax,
    LogSoftmax,
    LogSumExp,
    LayerNorm,
    RmsNorm,
    Rotary,
    Attention,
    Matmul,
    Einsum,
    Convolution,
    System,
}

const TABLE: &[(usize, Deed)] = &[
    (10, Deed::Create),
    (4, Deed::Step),
    (4, Deed::StepSome),
    (3, Deed::Read),
    (3, Deed::Sync),
    (3, Deed::Snapshot),
    (3, Deed::Assign),
    (1, Deed::Write),
    (4, Deed::Release),
    (12, Deed::Function),
    (8, Deed::Binary),
    (8, Deed::BinaryInPlace),
    (4, Deed::Scalar),
    (6, Deed::ScalarInPlace),
    (2, Deed::Select),
    (3, Deed::Convert),
    (5, Deed::Move),
    (1, Deed::Concatenate),
    (4, Deed::Reduce),
    (1, Deed::Cumulative),
    (3, Deed::Moment),
    (2, Deed::Softmax),
    (2, Deed::LogSoftmax),
    (2, Deed::LogSumExp),
    (2, Deed::LayerNorm),
    (1, Deed::RmsNorm),
    (1, Deed::Rotary),
    (2, Deed::Attention),
    (3, Deed::Matmul),
    (2, Deed::Einsum),
    (2, Deed::Convolution),
    (3, Deed::System),
];

/// Further actions of programs on a mesh.
const ON_MESH: (usize, Deed) = (10, Deed::Shard);

const DTYPES: [DType; 8] =
    [DType::F32, DType::F32, DType::F32, DType::F64, DType::F64, DType::F16, DType::BF16, DType::C64];
const SHAPE_OPERATIONS: [Shape; 9] = [
    Shape::Reshape,
    Shape::BroadcastTo,
    Shape::Transpose,
    Shape::Slice,
    Shape::Reverse,
    Shape::Roll,
    Shape::Repeat,
    Shape::ExpandDims,
    Shape::Tril,
];

pub fn action(is_on_mesh: bool) -> impl Strategy<Value = Action> {
    let further = is_on_mesh.then_some(ON_MESH);
    let kinds: Vec<Deed> = TABLE.iter().chain(&further).flat_map(|&(weight, kind)| vec![kind; weight]).collect();
    let (tensors, numbers) = (any::<[u16; 4]>(), any::<[u8; 4]>());
    (select(kinds), tensors, numbers).prop_map(|(kind, tensors, numbers)| Action { kind, tensors, numbers })
}

impl Deed {
    /// Returns true if the action has an effect on tensors that can be checked.
    pub fn is_seen(self) -> bool {
        !matches!(self, Deed::Step | Deed::StepSome | Deed::Read | Deed::Sync | Deed::Release)
    }
}

impl Action {
    pub fn act(&self, world: &mut Approximate) -> Outcome {
        let [first, second, ..] = self.numbers;
        if let Deed::Create = self.kind {
            let (native, home) = (world.native, world.home);
            let ty = TensorType::new(DTYPES[first as usize % DTYPES.len()], &home.shape(second));
            let (bytes, bounded) = world.content(&ty, self.tensors[0]).map_err(in_words)?;
            let sharding = world.draw(&ty.dims, self.tensors[1]);
            return world.both(ty.dtype, Ok(bounded), |n| {
                if n { sync::from_host(native, &ty, &bytes) } else { home.upload(&ty, &bytes, sharding.as_ref()) }
            });
        }
        if let Deed::Step = self.kind {
            return sync::mark_step(world.home.device).map_err(in_words);
        }
        let Some(a) = world.pick(self.tensors[0]) else { return Ok(()) };
        match self.kind {
            Deed::Read => world.compare(&a),
            Deed::Snapshot => world.again(&a),
            Deed::Release => world.release(self.tensors[0] as usize % world.count()),
            Deed::Shard => {
                let home = world.home;
                let Some(sharding) = world.draw(&a.ty.dims, self.tensors[1]) else { return Ok(()) };
                world.both(a.ty.dtype, a.bounded.moved(snapshot), |n| {
                    if n { snapshot(a.native) } else { shard(a.lazy, home.device, &sharding) }
                })
            }
            Deed::Write => {
                let (bytes, bounded) = world.content(&a.ty, self.tensors[1]).map_err(in_words)?;
                world.in_place(&a, Ok(bounded), |n| sync::write(a.of(n), &bytes))
            }
            Deed::StepSome => {
                let picked = self.tensors[..1 + self.numbers[0] as usize % 3].iter();
                let some: Vec<_> = picked.filter_map(|&i| world.pick(i)).map(|trio| trio.lazy).collect();
                sync::step_tensors(&some, self.numbers[1] < 32).map_err(in_words)
            }
            Deed::Sync => {
                let b = world.pick(self.tensors[1]).unwrap_or(a.clone());
                sync::sync(&[a.lazy, b.lazy]).map_err(in_words)
            }
            Deed::Assign => {
                let b = world.pick_where(self.tensors[1], |trio| trio.ty == a.ty).unwrap_or(a.clone());
                world.in_place(&a, b.bounded.moved(snapshot), |n| assign(a.of(n), b.of(n)))
            }
            Deed::Binary | Deed::BinaryInPlace | Deed::Matmul | Deed::Einsum | Deed::Convolution => {
                self.of_two(world, &a)
            }
            Deed::Select => self.select(world, &a),
            Deed::Concatenate => {
                let b = world.pick_where(self.tensors[1], |trio| trio.ty.dtype == a.ty.dtype).unwrap_or(a.clone());
                let joined = |x, y| on([x, y], |t, list| shape::concatenate(t, &list, 0));
                let join = |x: &Host, y: &Host| Host::new(joined(x.handle(), y.handle()));
                let (x, y) = (&a.bounded, &b.bounded);
                let bounded =
                    join(&x.value, &y.value).and_then(|value| Ok(Bounded { value, error: join(&x.error, &y.error)? }));
                world.both(a.ty.dtype, bounded, |n| joined(a.of(n), b.of(n)))
            }
            _ => self.of_one(world, &a),
        }
    }

    fn of_one(&self, world: &mut Approximate, a: &Trio) -> Outcome {
        let [first, second, third, _] = self.numbers;
        let (dtype, x) = (a.ty.dtype, &a.bounded);
        let r = Rounding::of(dtype);
        let rank = a.ty.dims.len();
        let is_complex = dtype.kind() == Kind::Complex;
        match self.kind {
            Deed::Scalar | Deed::ScalarInPlace => {
                // Every dtype represents this value exactly.
                let value = f64::from(second as i8) / 16.0;
                let op = [BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Subtract, BinaryOp::Divide][first as usize % 4];
                let bounded = of_scalar(world, a, op, value, r);
                let scalar = ScalarValue::Float(value);
                if let Deed::Scalar = self.kind {
                    return world.both(dtype, bounded, |n| binary_scalar(op, a.of(n), scalar, false));
                }
                world.in_place(a, bounded, |n| binary_scalar_in_place(op, a.of(n), scalar, false))
            }
            Deed::Move => {
                let operation = SHAPE_OPERATIONS[third as usize % SHAPE_OPERATIONS.len()];
                let wanted = &*world.home.shape(first);
                let act = |x: TensorHandle| operation.of_one(x, &a.ty, wanted, self.numbers);
                world.both(dtype, x.moved(act), |n| act(a.of(n)))
            }
            Deed::Cumulative if rank > 0 => {
                let (axis, reverse) = (i64::from(first) % rank as i64, second >= 128);
                let act = |x| on([x], |t, [x]| reduction::cumulative(t, ReduceOp::Sum, x, axis, reverse));
                world.both(dtype, x.linear(a.ty.dims[axis as usize] as f64, r, act), |n| act(a.of(n)))
            }
            Deed::System => self.system(world, a),
            Deed::Reduce if is_complex => self.reduce(world, a, ReduceOp::Sum),
            Deed::Reduce => {
                let op = [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min, ReduceOp::Product][first as usize % 4];
                self.reduce(world, a, op)
            }
            _ if is_complex => Ok(()),
            Deed::Function => {
                let function = FUNCTIONS[first as usize % FUNCTIONS.len()];
                world.both(dtype, x.function(function, r), |n| function.0.act(a.of(n)))
            }
            Deed::Convert => {
                let to = DTYPES[first as usize % 7];
                let of_target = Rounding::of(to);
                let bounded = x.moved(snapshot).and_then(|x| x.rounded(1.0, of_target));
                world.both(to, bounded, |n| on([a.of(n)], |t, [x]| Ok(elementwise::convert(t, x, to))))
            }
            _ => self.composed(world, a),
        }
    }

    fn system(&self, world: &mut Approximate, a: &Trio) -> Outcome {
        let (dtype, x) = (a.ty.dtype, &a.bounded);
        if a.ty.dims.len() < 2 || a.ty.elements() == 0 {
            return Ok(());
        }
        let system = [System::Solve, System::Inverse, System::Determinant][self.numbers[0] as usize % 3];
        let Ok(Some(multiple)) = x.multiple(dtype) else { return Ok(()) };
        world.both(dtype, x.system(system, multiple, dtype), |n| system.act(a.of(n), multiple))
    }

    fn axes(&self, a: &Trio) -> Vec<i64> {
        (0..a.ty.dims.len() as i64).filter(|axis| self.numbers[1] >> axis & 1 == 1).collect()
    }

    fn reduce(&self, world: &mut Approximate, a: &Trio, op: ReduceOp) -> Outcome {
        let (axes, keep, x) = (self.axes(a), self.numbers[2] >= 128, &a.bounded);
        let r = Rounding::of(a.ty.dtype);
        let bounded = match op {
            ReduceOp::Sum => x.sum(&axes, keep, r),
            ReduceOp::Product => x.reduced_product(&axes, keep, r),
            _ => x.extreme(op, &axes, keep),
        };
        world.both(a.ty.dtype, bounded, |n| reduce(op, a.of(n), &axes, keep))
    }

    /// Operations that compute in f32 or wider and round the result once.
    fn composed(&self, world: &mut Approximate, a: &Trio) -> Outcome {
        let [first, _, third, _] = self.numbers;
        let (dtype, x) = (a.ty.dtype, &a.bounded);
        let (inner, outer) = (Rounding::inner(dtype), Rounding::of(dtype));
        let (axes, keep, rank) = (self.axes(a), third >= 128, a.ty.dims.len() as i64);
        let axis = i64::from(first) % a.ty.dims.len().max(1) as i64;
        let rounded = |bounded: Result<Bounded>| bounded.and_then(|bounded| bounded.rounded(1.0, outer));
        if a.ty.dims.is_empty() || a.ty.elements() == 0 {
            return Ok(());
        }
        match self.kind {
            Deed::Softmax => {
                let bounded = rounded(x.softmax(axis, inner));
                world.both(dtype, bounded, |n| on([a.of(n)], |t, [x]| nn::softmax(t, x, axis)))
            }
            Deed::LogSoftmax => {
                let bounded = rounded(x.log_softmax(axis, inner));
                world.both(dtype, bounded, |n| on([a.of(n)], |t, [x]| nn::log_softmax(t, x, axis)))
            }
            Deed::LogSumExp => {
                let bounded = rounded(x.logsumexp(&axes, inner));
                world.both(dtype, bounded, |n| on([a.of(n)], |t, [x]| reduction::logsumexp(t, x, &axes, true)))
            }
            Deed::LayerNorm if !axes.is_empty() => {
                let bounded = rounded(x.layer_norm(&axes, 1e-3, inner));
                world.both(dtype, bounded, |n| on([a.of(n)], |t, [x]| nn::layer_norm(t, x, &axes, None, None, 1e-3)))
            }
            Deed::RmsNorm => {
                let bounded = rounded(x.rms_norm(rank - 1, 1e-3, inner));
                world.both(dtype, bounded, |n| on([a.of(n)], |t, [x]| nn::rms_norm(t, x, &[-1], None, 1e-3)))
            }
            Deed::Rotary if a.ty.dims[rank as usize - 1] % 2 == 0 => {
                let act = |x| on([x], |t, [x]| rotated(t, x, [0.625, 0.75], keep));
                world.both(dtype, rounded(x.rotary_embedding(keep, inner)), |n| act(a.of(n)))
            }
            Deed::Attention if rank > 1 => {
                let options = AttentionOptions { scale: Some(0.5), is_causal: keep };
                let bounded = rounded(x.attention(0.5, keep, [inner, outer]));
                world.both(dtype, bounded, |n| on([a.of(n)], |t, [x]| nn::attention(t, [x; 3], None, options)))
            }
            Deed::Moment if first < 86 => {
                let bounded = rounded(x.mean(&axes, keep, inner));
                world.both(dtype, bounded, |n| on([a.of(n)], |t, [x]| reduction::mean(t, x, &axes, keep)))
            }
            Deed::Moment if first < 172 => {
                let bounded = rounded(x.variance(&axes, 0.0, keep, inner));
                world.both(dtype, bounded, |n| on([a.of(n)], |t, [x]| reduction::variance(t, x, &axes, 0.0, keep)))
            }
            Deed::Moment => {
                let bounded = rounded(x.standard_deviation(&axes, 0.0, keep, inner));
                world.both(dtype, bounded, |n| {
                    on([a.of(n)], |t, [x]| reduction::standard_deviation(t, x, &axes, 0.0, keep))
                })
            }
            _ => Ok(()),
        }
    }

    fn of_two(&self, world: &mut Approximate, a: &Trio) -> Outcome {
        let b = world.pick(self.tensors[1]).unwrap_or(a.clone());
        let (x, y) = (&a.bounded, &b.bounded);
        let Ok(dtype) = a.ty.dtype.promote(b.ty.dtype) else { return Ok(()) };
        let r = Rounding::of(dtype);
        let terms = a.ty.elements().max(b.ty.elements()) as f64;
        match self.kind {
            Deed::Matmul => {
                let terms = a.ty.dims.last().copied().unwrap_or(1) as f64;
                let act = |x, y| on([x, y], |t, [x, y]| linalg::matmul(t, x, y));
                world.both(dtype, x.product(y, terms, r, act), |n| act(a.of(n), b.of(n)))
            }
            Deed::Einsum => {
                let text = equation(&a.ty, &b.ty, self.numbers[0]);
                let act = |x, y| on([x, y], |t, list| linalg::einsum(t, text, &list));
                world.both(dtype, x.product(y, terms, r, act), |n| act(a.of(n), b.of(n)))
            }
            Deed::Convolution => {
                let act = |x, y| convolution([x, y], [&a.ty, &b.ty], self.numbers);
                world.both(dtype, x.product(y, terms, r, act), |n| act(a.of(n), b.of(n)))
            }
            _ => {
                let (op, bounded) = match self.numbers[0] % 6 {
                    0 => (BinaryOp::Add, x.plus(y, r)),
                    1 => (BinaryOp::Subtract, x.minus(y, r)),
                    2 => (BinaryOp::Multiply, x.times(y, r)),
                    3 => (BinaryOp::Divide, x.over(y, r)),
                    _ if dtype.kind() == Kind::Complex => return Ok(()),
                    4 => (BinaryOp::Maximum, x.where_greater(y, [x, y], r)),
                    _ => (BinaryOp::Minimum, y.where_greater(x, [x, y], r)),
                };
                if let Deed::Binary = self.kind {
                    return world.both(dtype, bounded, |n| binary(op, a.of(n), b.of(n)));
                }
                if dtype != a.ty.dtype {
                    return Ok(());
                }
                world.in_place(a, bounded, |n| binary_in_place(op, a.of(n), b.of(n)))
            }
        }
    }

    /// Selects between two tensors by a comparison of two others.
    fn select(&self, world: &mut Approximate, a: &Trio) -> Outcome {
        let [b, x, y] = [1, 2, 3].map(|i| world.pick(self.tensors[i]).unwrap_or(a.clone()));
        let Ok(dtype) = a.ty.dtype.promote(b.ty.dtype) else { return Ok(()) };
        let Ok(compared) = x.ty.dtype.promote(y.ty.dtype) else { return Ok(()) };
        if compared.kind() == Kind::Complex || wide(a.ty.dtype) != wide(b.ty.dtype) {
            return Ok(());
        }
        let bounded = a.bounded.where_greater(&b.bounded, [&x.bounded, &y.bounded], Rounding::of(compared));
        let bounded = bounded.and_then(|bounded| bounded.rounded(0.0, Rounding::of(dtype)));
        world.both(dtype, bounded, |n| {
            let pred = Host::new(record::compare(CompareOp::Gt, x.of(n), y.of(n)))?;
            record::select(pred.handle(), a.of(n), b.of(n))
        })
    }
}

/// Bounds a binary operation with a scalar on the right.
fn of_scalar(world: &Approximate, a: &Trio, op: BinaryOp, value: f64, r: Rounding) -> Result<Bounded> {
    let native = world.native;
    let scalar = TensorType::new(DType::F64, &[]);
    let full = |value| Host::new(create(native, |t| creation::full(t, &scalar, ScalarValue::Float(value))));
    let y = Bounded { value: full(value)?, error: full(0.0)? };
    match op {
        BinaryOp::Add => a.bounded.plus(&y, r),
        BinaryOp::Subtract => a.bounded.minus(&y, r),
        BinaryOp::Multiply => a.bounded.times(&y, r),
        _ => a.bounded.over(&y, r),
    }
}
