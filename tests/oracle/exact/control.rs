//! Traced computations in random programs, with and without captures; the native and the lazy run each trace them on
//! their own device.

use super::action::Action;
use super::elementwise::{EXACT, bound};
use super::twin::{Outcome, Pair, Twin, World, exact};
use super::values::ANY;
use crate::record::{binary, binary_scalar, on, reduce, unary};
use crate::scratch::{Recorded, Scratch, traced};
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, ReduceOp, UnaryOp};
use lazyxla::computation::{self, Computation};
use lazyxla::device::TensorHandle;
use lazyxla::tensor;
use ops::elementwise;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    Call,
    Branch,
    Case,
    While,
    Scan,
}

impl Control {
    pub const TABLE: &[(usize, Control)] =
        &[(6, Control::Call), (3, Control::Branch), (2, Control::Case), (2, Control::While), (3, Control::Scan)];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        let ty = a.ty();
        let [first, second, ..] = action.numbers;
        if !a.is_whole() {
            return Ok(());
        }
        match self {
            Control::Call => call(twin, action, a),
            Control::Branch => branch(twin, action, a, &ty),
            Control::Case => {
                let fits = |pair: Pair| pair.dtype().is_integer() && pair.ty().dims.is_empty();
                let index = twin.pick_where(action.tensors[1], fits);
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let index = match index {
                        Some(index) => world.of(index),
                        None => scratch.scalar(world.device, DType::S32, i64::from(first % 5) - 1)?,
                    };
                    case(world, index, world.of(a), &ty)
                };
                twin.several(act, |_, dtype| exact(2.0 * a.bound, dtype))
            }
            Control::While => {
                let times = i64::from(second % 5);
                let most = (first >= 128).then_some(i64::from(first % 8));
                let act = |world: World| repeated(world, world.of(a), &ty, times, most);
                twin.several(act, |i, dtype| exact([16.0, a.bound * 16.0, 1.0][i], dtype))
            }
            Control::Scan => scan(twin, a, &ty, first >= 128),
        }
    }
}

/// Traces `p (op) captured`.
fn with_capture(op: BinaryOp, like: TensorHandle, captured: TensorHandle) -> Result<Computation> {
    let mut scratch = Scratch::default();
    let p = scratch.keep(tensor::placeholder_like(like)?);
    let result = scratch.keep(binary(op, p, captured)?);
    Computation::trace(&[p], &[result])
}

/// Applies a computation that captured one tensor to another.
fn call(twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
    let b = twin.pick_like(action.tensors[1], a);
    let op = EXACT[action.numbers[0] as usize % EXACT.len()];
    let dtype = a.dtype().promote(b.dtype()).unwrap_or(a.dtype());
    if !b.is_whole() {
        return Ok(());
    }
    twin.computed(bound(op, dtype, a.bound, b.bound), |world| {
        Ok(with_capture(op, world.of(a), world.of(b))?.call(&[world.of(a)])?[0])
    })
}

/// Selects one of two tensors by a branch within the program.
fn branch(twin: &mut Twin, action: &Action, a: Pair, ty: &TensorType) -> Outcome {
    let b = twin.pick_where(action.tensors[1], |pair| pair.ty() == *ty).unwrap_or(a);
    let scalar = TensorType::new(DType::Pred, &[]);
    let pred = twin.pick_where(action.tensors[2], |pair| pair.ty() == scalar);
    if ty.dtype.kind() == Kind::Complex || !b.is_whole() {
        return Ok(());
    }
    let chosen = i64::from(action.numbers[0] % 2);
    twin.moved(a.bound.max(b.bound), |world| {
        let mut scratch = Scratch::default();
        let pred = match pred {
            Some(pred) => world.of(pred),
            None => scratch.scalar(world.device, DType::Pred, chosen)?,
        };
        let (a, b) = (world.of(a), world.of(b));
        let (first, second) = (with_capture(BinaryOp::Maximum, a, a)?, given(a)?);
        // The argument is a if pred is true, and b otherwise: the first branch returns max(a, a) = a, the second b.
        let greater = scratch.keep(on([pred, a, b], |t, [pred, a, b]| elementwise::select(t, pred, a, b))?);
        Ok(computation::branch(pred, &first, &second, &[greater])?[0])
    })
}

/// Traces the identity.
fn given(like: TensorHandle) -> Result<Computation> {
    let mut scratch = Scratch::default();
    let p = scratch.keep(tensor::placeholder_like(like)?);
    Computation::trace(&[p], &[p])
}

/// Applies one of x, x + x and -x.
fn case(world: World, index: TensorHandle, x: TensorHandle, ty: &TensorType) -> Result<Vec<TensorHandle>> {
    let types = std::slice::from_ref(ty);
    let same = traced(world.device, types, &[&|p| tensor::snapshot(p[0])])?;
    let twice = traced(world.device, types, &[&|p| binary(BinaryOp::Add, p[0], p[0])])?;
    let negated = traced(world.device, types, &[&|p| unary(UnaryOp::Negate, p[0])])?;
    computation::case(index, &[Arc::new(same), Arc::new(twice), Arc::new(negated)], &[x])
}

/// Doubles x `times` times in a loop; returns the number of iterations and the result.
fn repeated(
    world: World,
    x: TensorHandle,
    ty: &TensorType,
    times: i64,
    most: Option<i64>,
) -> Result<Vec<TensorHandle>> {
    let types = [TensorType::new(DType::S32, &[]), ty.clone()];
    let times = ScalarValue::Signed(times);
    let below: Recorded = &|p| on([p[0]], |t, [x]| elementwise::compare_scalar(t, CompareOp::Lt, x, times, false));
    let next: Recorded = &|p| binary_scalar(BinaryOp::Add, p[0], ScalarValue::Signed(1), false);
    let twice: Recorded = &|p| binary(BinaryOp::Add, p[1], p[1]);
    let (goes_on, body) = (traced(world.device, &types, &[below])?, traced(world.device, &types, &[next, twice])?);
    let mut scratch = Scratch::default();
    let start = scratch.scalar(world.device, DType::S32, 0)?;
    match most {
        Some(most) => computation::while_bounded(&goes_on, &body, &[start, x], most),
        None => computation::while_loop(&goes_on, &body, &[start, x]),
    }
}

/// Computes cumulative sums along the leading axis.
fn scan(twin: &mut Twin, a: Pair, ty: &TensorType, reverse: bool) -> Outcome {
    let Some(&length) = ty.dims.first() else { return Ok(()) };
    if ty.dtype == DType::Pred || a.bound == ANY {
        return Ok(());
    }
    twin.computed(a.bound * (1 + length) as f64, |world| {
        let mut scratch = Scratch::default();
        // Zeros in a slice's shape.
        let none = scratch.keep(binary(BinaryOp::Subtract, world.of(a), world.of(a))?);
        let start = scratch.keep(reduce(ReduceOp::Sum, none, &[0], false)?);
        let p = scratch.keep(tensor::placeholder_like(start)?);
        let x = scratch.keep(tensor::placeholder_like(start)?);
        let sum = scratch.keep(binary(BinaryOp::Add, p, x)?);
        let body = Computation::trace(&[p, x], &[sum, sum])?;
        let results = computation::scan(&body, &[start], &[world.of(a)], length, reverse)?;
        scratch.keep(results[0]);
        Ok(results[1])
    })
}
