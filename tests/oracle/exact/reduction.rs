//! Reductions over axes and windows.

use super::action::Action;
use super::sorting::reduced;
use super::twin::{Outcome, Pair, Twin, World, exact};
use super::values::{limit, range};
use crate::record::{binary, on, reduce};
use crate::scratch::{Recorded, Scratch, of_two_scalars, traced};
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, ReduceOp, Window};
use lazyxla::computation::{self, Computation};
use lazyxla::device::TensorHandle;
use ops::elementwise;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reduction {
    Reduce,
    ReduceWith,
    ReduceTwo,
    ReduceWindow,
    SelectAndScatter,
}

impl Reduction {
    pub const TABLE: &[(usize, Reduction)] = &[
        (6, Reduction::Reduce),
        (2, Reduction::ReduceWith),
        (2, Reduction::ReduceTwo),
        (4, Reduction::ReduceWindow),
        (2, Reduction::SelectAndScatter),
    ];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        if !a.is_whole() {
            return Ok(());
        }
        let ty = a.ty();
        let [first, second, third, _] = action.numbers;
        // Maximum number of elements of a window.
        let in_a_window = 3usize.pow(ty.dims.len() as u32);
        let axes: Vec<i64> = (0..ty.dims.len() as i64).filter(|axis| second >> axis & 1 == 1).collect();
        match self {
            Reduction::Reduce => {
                let op = ReduceOp::ALL[first as usize % ReduceOp::ALL.len()];
                let bound = reduced(op, a, ty.elements());
                twin.computed(bound, |world| reduce(op, world.of(a), &axes, third >= 128))
            }
            Reduction::ReduceTwo => reduce_two(twin, action, a, &axes),
            Reduction::ReduceWith => {
                let (op, specials) = (combiner(first, ty.dtype), twin.specials);
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let init = scratch.value(world.device, ty.dtype, neutral(op, ty.dtype, specials))?;
                    computation::reduce_with(&of_op(world, ty.dtype, op)?, &[world.of(a)], &[init], &axes)
                };
                let bound = folded(op, a, ty.elements());
                twin.several(act, |_, dtype| exact(bound, dtype))
            }
            Reduction::ReduceWindow => {
                let op = combiner(first, ty.dtype);
                let (windows, specials) = (windows(ty.dims.len(), action.numbers), twin.specials);
                let act = |world: World| reduce_window(world, a, op, &windows, specials);
                let bound = folded(op, a, in_a_window);
                twin.several(act, |_, dtype| exact(bound, dtype))
            }
            Reduction::SelectAndScatter => {
                if ty.dtype.kind() == Kind::Complex || ty.dtype == DType::Pred {
                    return Ok(());
                }
                let op = [CompareOp::Ge, CompareOp::Gt, CompareOp::Le][third as usize % 3];
                let windows = windows(ty.dims.len(), action.numbers).into_iter();
                let windows: Vec<Window> = windows.map(|w| Window { base_dilation: 1, dilation: 1, ..w }).collect();
                let specials = twin.specials;
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let maxima = reduce_window(world, a, BinaryOp::Maximum, &windows, specials)?.remove(0);
                    let source = scratch.keep(maxima);
                    let init = scratch.scalar(world.device, ty.dtype, 1)?;
                    let compare = |x, y| on([x, y], |t, [x, y]| elementwise::compare(t, op, x, y));
                    let select = of_two_scalars(world.device, ty.dtype, compare)?;
                    let add = of_op(world, ty.dtype, BinaryOp::Add)?;
                    computation::select_and_scatter(&select, &add, world.of(a), source, init, &windows)
                };
                twin.computed(1.0 + in_a_window as f64 * a.bound, act)
            }
        }
    }
}

/// Chooses an operation whose result does not depend on the order of elements.
fn combiner(choice: u8, dtype: DType) -> BinaryOp {
    use BinaryOp::*;
    let table: &[BinaryOp] = match dtype.kind() {
        Kind::Pred => &[Or, Xor, And],
        Kind::Complex => &[Add],
        _ if dtype.is_integer() => &[Add, Maximum, Minimum, Multiply, Xor],
        _ => &[Add, Maximum, Minimum],
    };
    table[choice as usize % table.len()]
}

/// Identity element of an operation. Without `specials`, floats are finite and within their limit.
fn neutral(op: BinaryOp, dtype: DType, specials: bool) -> ScalarValue {
    let most = match dtype.kind() {
        Kind::Float if specials => f64::INFINITY,
        _ if dtype.is_integer() => range(dtype),
        _ => limit(dtype),
    };
    match (op, dtype.kind()) {
        (BinaryOp::Maximum, Kind::Unsigned) => ScalarValue::Unsigned(0),
        (BinaryOp::Minimum, Kind::Unsigned | Kind::Signed) => {
            let bits = 8 * dtype.size_bytes() - usize::from(dtype.kind() == Kind::Signed);
            ScalarValue::Unsigned(u64::MAX >> (64 - bits))
        }
        (BinaryOp::Maximum, _) => ScalarValue::Float(-most),
        (BinaryOp::Minimum, _) => ScalarValue::Float(most),
        (BinaryOp::Multiply | BinaryOp::And, _) => ScalarValue::Signed(1),
        _ => ScalarValue::Signed(0),
    }
}

/// Bound of the reduction of `count` elements; `count` may be 0.
fn folded(op: BinaryOp, a: Pair, count: usize) -> f64 {
    match op {
        BinaryOp::Add => a.bound * count.max(1) as f64,
        _ => limit(a.dtype()).min(range(a.dtype())),
    }
}

fn of_op(world: World, dtype: DType, op: BinaryOp) -> Result<Computation> {
    of_two_scalars(world.device, dtype, |x, y| binary(op, x, y))
}

/// Computes the sum of one tensor and the maximum of another in one reduction.
fn reduce_two(twin: &mut Twin, action: &Action, a: Pair, axes: &[i64]) -> Outcome {
    let dims = a.ty().dims;
    let fits = |pair: Pair| {
        pair.is_whole() && pair.ty().dims == dims && !matches!(pair.dtype().kind(), Kind::Complex | Kind::Pred)
    };
    let Some(b) = twin.pick_where(action.tensors[1], fits) else { return Ok(()) };
    if a.dtype() == DType::Pred {
        return Ok(());
    }
    let scalars = [a, b, a, b].map(|pair| TensorType::new(pair.dtype(), &[]));
    let specials = twin.specials;
    let act = |world: World| {
        let mut scratch = Scratch::default();
        let least = neutral(BinaryOp::Maximum, b.dtype(), specials);
        let inits = [scratch.scalar(world.device, a.dtype(), 0)?, scratch.value(world.device, b.dtype(), least)?];
        let sum: Recorded = &|p| binary(BinaryOp::Add, p[0], p[2]);
        let most: Recorded = &|p| binary(BinaryOp::Maximum, p[1], p[3]);
        let body = traced(world.device, &scalars, &[sum, most])?;
        computation::reduce_with(&body, &[world.of(a), world.of(b)], &inits, axes)
    };
    let most = limit(b.dtype()).min(range(b.dtype()));
    let bounds = [a.bound * a.ty().elements().max(1) as f64, most];
    twin.several(act, |i, dtype| exact(bounds[i], dtype))
}

/// Small windows, some with padding, strides and dilations.
fn windows(rank: usize, [_, second, third, fourth]: [u8; 4]) -> Vec<Window> {
    let window = |axis: usize| {
        let part = |number: u8| i64::from(number.rotate_right(3 * axis as u32));
        Window {
            size: 1 + part(second) % 3,
            stride: 1 + part(third) % 2,
            base_dilation: 1 + i64::from(part(third) % 7 == 6),
            dilation: 1 + i64::from(part(third) % 5 == 4),
            low: part(fourth) % 3 - i64::from(part(second) % 16 == 15),
            high: part(fourth) / 4 % 3,
        }
    };
    (0..rank).map(window).collect()
}

fn reduce_window(world: World, a: Pair, op: BinaryOp, windows: &[Window], specials: bool) -> Result<Vec<TensorHandle>> {
    let mut scratch = Scratch::default();
    let init = scratch.value(world.device, a.dtype(), neutral(op, a.dtype(), specials))?;
    computation::reduce_window(&of_op(world, a.dtype(), op)?, &[world.of(a)], &[init], windows)
}
