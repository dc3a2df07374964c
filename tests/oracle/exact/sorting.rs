//! Sorts and related operations, and cumulative reductions.

use super::action::Action;
use super::twin::{Outcome, Pair, Twin, World};
use super::values::{ANY, is_floating};
use crate::record::on;
use crate::scratch::traced;
use base::types::{DType, TensorType};
use ir::{CompareOp, ReduceOp};
use lazyxla::computation;
use lazyxla::device::TensorHandle;
use ops::{elementwise, reduction, sorting};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sorting {
    SortAlong,
    Argsort,
    TopK,
    ArgExtreme,
    Sort,
    Cumulative,
}

impl Sorting {
    pub const TABLE: &[(usize, Sorting)] = &[
        (2, Sorting::SortAlong),
        (2, Sorting::Argsort),
        (2, Sorting::TopK),
        (2, Sorting::ArgExtreme),
        (2, Sorting::Sort),
        (3, Sorting::Cumulative),
    ];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        if !a.is_whole() {
            return Ok(());
        }
        let ty = a.ty();
        let [first, second, third, _] = action.numbers;
        let rank = ty.dims.len().max(1) as i64;
        let axis = i64::from(first) % rank - rank * i64::from(first >= 128);
        let (up, index) = (second < 128, [DType::S32, DType::S64, DType::U8][third as usize % 3]);
        match self {
            Sorting::SortAlong => twin
                .moved(a.bound, |world| on([world.of(a)], |t, [x]| sorting::sort_along(t, x, axis, up, third >= 128))),
            // In an order that is not stable, the indices of equal elements are not defined.
            Sorting::Argsort => {
                twin.computed(16.0, |world| on([world.of(a)], |t, [x]| sorting::argsort(t, x, axis, up, true, index)))
            }
            Sorting::ArgExtreme => twin.computed(16.0, |world| {
                on([world.of(a)], |t, [x]| reduction::arg_extreme(t, x, axis, third >= 128, up, index))
            }),
            Sorting::TopK => {
                let k = i64::from(second) % 4;
                let act =
                    |world: World| on([world.of(a)], |t, [x]| sorting::top_k(t, x, k, axis, up, index)).map(Vec::from);
                twin.several(act, |i, _| Some([a.bound, 16.0][i]))
            }
            Sorting::Sort => sort(twin, action, a, axis, up),
            Sorting::Cumulative => {
                let op = ReduceOp::ALL[second as usize % ReduceOp::ALL.len()];
                let length = ty.dims.get((axis.rem_euclid(rank)) as usize).copied().unwrap_or(1);
                let bound = reduced(op, a, length as usize);
                twin.computed(bound, |world| {
                    on([world.of(a)], |t, [x]| reduction::cumulative(t, op, x, axis, third >= 128))
                })
            }
        }
    }
}

/// Bound of the reduction of `count` elements.
pub fn reduced(op: ReduceOp, a: Pair, count: usize) -> f64 {
    match op {
        // The maximum of no floats is infinite.
        ReduceOp::Max | ReduceOp::Min if count == 0 => ANY,
        ReduceOp::Sum => a.bound * count.max(1) as f64,
        ReduceOp::Product if is_floating(a.dtype()) => (2.0 * a.bound).max(1.0).powi(count as i32),
        ReduceOp::Product => ANY,
        _ => a.bound,
    }
}

/// Sorts two tensors of one shape together, by the first one.
fn sort(twin: &mut Twin, action: &Action, a: Pair, axis: i64, up: bool) -> Outcome {
    let dims = a.ty().dims;
    let b = twin.pick_where(action.tensors[1], |pair| pair.ty().dims == dims).unwrap_or(a);
    let scalars = [a, a, b, b].map(|pair| TensorType::new(pair.dtype(), &[]));
    let op = if up { CompareOp::Lt } else { CompareOp::Gt };
    let act = |world: World| {
        let compare = |p: &[TensorHandle]| on([p[0], p[1]], |t, [x, y]| elementwise::compare(t, op, x, y));
        let comes_first = traced(world.device, &scalars, &[&compare])?;
        computation::sort(&comes_first, &[world.of(a), world.of(b)], axis, true)
    };
    twin.several(act, |i, _| Some([a.bound, b.bound][i]))
}
