//! Operations that read and write at indices. Any existing integers serve as indices, so many are out of bounds.

use super::action::Action;
use super::elementwise::bound;
use super::sorting::reduced;
use super::twin::{MOST_ELEMENTS, Outcome, Pair, Twin, World, exact};
use super::values::{ANY, is_floating, limit, range};
use crate::record::{binary, on};
use crate::scratch::{Scratch, of_two_scalars};
use base::error::Result;
use base::types::{DType, Kind, TensorType, integer_limits};
use ir::{BinaryOp, DimensionNumbers, ReduceOp, ScatterOp};
use lazyxla::computation;
use lazyxla::device::TensorHandle;
use lazyxla::tensor::{record_list, snapshot};
use ops::indexing::{self, IndexHints};
use ops::{elementwise, shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Indexing {
    Take,
    TakeAlongAxis,
    IndexCombine,
    ScatterAlong,
    DynamicSlice,
    UpdateSlice,
    Gather,
    Scatter,
    Segment,
}

impl Indexing {
    pub const TABLE: &[(usize, Indexing)] = &[
        (4, Indexing::Take),
        (3, Indexing::TakeAlongAxis),
        (4, Indexing::IndexCombine),
        (4, Indexing::ScatterAlong),
        (3, Indexing::DynamicSlice),
        (5, Indexing::UpdateSlice),
        (4, Indexing::Gather),
        (5, Indexing::Scatter),
        (4, Indexing::Segment),
    ];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        let ty = a.ty();
        let [first, second, ..] = action.numbers;
        let axis = i64::from(first) % ty.dims.len().max(1) as i64;
        match self {
            Indexing::DynamicSlice => {
                let sizes: Vec<i64> = ty.dims.iter().map(|dim| (dim + 1) / 2).collect();
                let given = given_start(twin, action);
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let starts = starts(world, &mut scratch, &ty, second, given)?;
                    record_list([("x", world.of(a))], ("starts", &starts), |t, [x], starts| {
                        indexing::dynamic_slice(t, x, starts, &sizes)
                    })
                };
                twin.moved(a.bound, act)
            }
            Indexing::UpdateSlice => {
                let b = twin.pick_like(action.tensors[1], a);
                let given = given_start(twin, action);
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let starts = starts(world, &mut scratch, &ty, second, given)?;
                    let operands = [("x", world.of(a)), ("update", world.of(b))];
                    record_list(operands, ("starts", &starts), |t, [x, update], starts| {
                        indexing::dynamic_update_slice(t, x, update, starts)
                    })
                };
                twin.moved(a.bound.max(b.bound), act)
            }
            Indexing::Take => {
                let fits = |pair: Pair| second == 0 || pair.dtype().is_integer();
                let indices = twin.pick_where(action.tensors[1], fits).unwrap_or(a);
                if ty.elements() * indices.ty().elements() > MOST_ELEMENTS {
                    return Ok(());
                }
                twin.moved(a.bound, |world| taken(world.of(a), world.of(indices), axis))
            }
            Indexing::TakeAlongAxis | Indexing::ScatterAlong => self.along(twin, action, a, axis),
            Indexing::IndexCombine => {
                let fits = |pair: Pair| pair.dtype().is_integer() && pair.ty().dims.len() == 1;
                let Some(indices) = twin.pick_where(action.tensors[1], fits) else { return Ok(()) };
                let count = indices.ty().elements();
                if ty.elements() * count > MOST_ELEMENTS {
                    return Ok(());
                }
                let (op, bound) = combined(second, a, a.bound, count);
                let act = |world: World| {
                    // As many slices as there are indices, taken from the reversed tensor.
                    let mut scratch = Scratch::default();
                    let turned = scratch.keep(on([world.of(a)], |t, [x]| shape::reverse(t, x, &[axis]))?);
                    let source = scratch.keep(taken(turned, world.of(indices), axis)?);
                    on([world.of(a), world.of(indices), source], |t, [x, indices, source]| {
                        indexing::index_combine(t, op, x, axis, indices, source)
                    })
                };
                if let ScatterOp::Copy = op { twin.moved(bound, act) } else { twin.computed(bound, act) }
            }
            Indexing::Gather | Indexing::Scatter => self.placed(twin, action, a),
            Indexing::Segment => segment(twin, action, a),
        }
    }

    /// Actions with one index for each element.
    fn along(self, twin: &mut Twin, action: &Action, a: Pair, axis: i64) -> Outcome {
        if !a.is_whole() || a.dtype().kind() == Kind::Complex {
            return Ok(());
        }
        let rank = a.ty().dims.len();
        let fits = |pair: Pair| pair.dtype().is_integer() && pair.ty().dims.len() == rank;
        // Without another tensor, the elements themselves are the indices.
        let other = if action.numbers[2] < 128 { None } else { twin.pick_where(action.tensors[1], fits) };
        let indices = move |world: World, scratch: &mut Scratch| -> Result<TensorHandle> {
            match other {
                Some(other) => Ok(world.of(other)),
                None => Ok(scratch.keep(converted(world.of(a), DType::S32)?)),
            }
        };
        let index = other.unwrap_or(a);
        if other.is_none() && a.bound >= range(DType::S32) && is_floating(a.dtype()) {
            return Ok(());
        }
        if let Indexing::TakeAlongAxis = self {
            return twin.moved(a.bound, |world| {
                let mut scratch = Scratch::default();
                let indices = indices(world, &mut scratch)?;
                on([world.of(a), indices], |t, [x, indices]| indexing::take_along_axis(t, x, indices, axis))
            });
        }
        if index.bound > limit(a.dtype()) {
            return Ok(());
        }
        let (op, bound) = combined(action.numbers[1], a, index.bound, index.ty().elements());
        twin.computed(bound, |world| {
            let mut scratch = Scratch::default();
            let indices = indices(world, &mut scratch)?;
            let updates = scratch.keep(converted(indices, a.dtype())?);
            on([world.of(a), indices, updates], |t, [x, indices, updates]| {
                indexing::scatter_along(t, op, x, indices, updates, axis)
            })
        })
    }

    /// Gather and scatter with random dimension numbers.
    fn placed(self, twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
        let ty = a.ty();
        let fits = |pair: Pair| pair.dtype().is_integer();
        let Some(indices) = twin.pick_where(action.tensors[1], fits) else { return Ok(()) };
        let index_type = indices.ty();
        if ty.elements() * index_type.elements() > MOST_ELEMENTS {
            return Ok(());
        }
        let (numbers, sizes) = dimension_numbers(&ty, &index_type, action.numbers);
        let slices = |world: World| {
            on([world.of(a), world.of(indices)], |t, [x, indices]| {
                indexing::gather(t, x, indices, &numbers, &sizes, false)
            })
        };
        if let Indexing::Gather = self {
            return twin.moved(a.bound, slices);
        }
        let combiner = match action.numbers[3] % 4 {
            0 => None,
            1 if ty.dtype == DType::Pred => Some(BinaryOp::Xor),
            1 => Some(BinaryOp::Add),
            2 if ty.dtype.kind() != Kind::Complex => Some(BinaryOp::Maximum),
            // Subtraction depends on the order: updates apply in the order of the indices.
            _ => Some(BinaryOp::Subtract),
        };
        let all = a.bound * index_type.elements() as f64;
        let bound = combiner.map(|op| bound(op, ty.dtype, a.bound, all));
        let act = |world: World| {
            let mut scratch = Scratch::default();
            let updates = scratch.keep(slices(world)?);
            let combiner = of_two_scalars(world.device, ty.dtype, |old, new| match combiner {
                Some(op) => binary(op, old, new),
                None => snapshot(new),
            })?;
            let list = [world.of(a)];
            computation::scatter(&combiner, &list, world.of(indices), &[updates], &numbers, IndexHints::default())
        };
        twin.several(act, |_, dtype| bound.map_or(Some(a.bound), |bound| exact(bound, dtype)))
    }
}

/// Reductions of segments, of which some have no slice.
fn segment(twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
    let [first, second, ..] = action.numbers;
    let Some(&slices) = a.ty().dims.first() else { return Ok(()) };
    let fits = |pair: Pair| pair.dtype().is_integer() && pair.ty().dims[..] == [slices];
    let Some(ids) = twin.pick_where(action.tensors[1], fits) else { return Ok(()) };
    let op = ReduceOp::ALL[first as usize % ReduceOp::ALL.len()];
    // Of a segment without slices, the largest and the smallest element are the ends of the dtype's range.
    let is_extreme = matches!(op, ReduceOp::Max | ReduceOp::Min);
    if !a.is_whole() || is_extreme && is_floating(a.dtype()) {
        return Ok(());
    }
    let bound = if is_extreme { range(a.dtype()) } else { reduced(op, a, slices as usize) };
    let count = i64::from(second % 6);
    twin.computed(bound, |world| {
        on([world.of(a), world.of(ids)], |t, [x, ids]| indexing::segment_reduce(t, op, x, ids, count))
    })
}

fn taken(x: TensorHandle, indices: TensorHandle, axis: i64) -> Result<TensorHandle> {
    on([x, indices], |t, [x, indices]| indexing::take(t, x, indices, axis))
}

fn converted(x: TensorHandle, to: DType) -> Result<TensorHandle> {
    on([x], |t, [x]| Ok(elementwise::convert(t, x, to)))
}

/// A tensor that is the start index of the first axis, in half of the cases where there is one.
fn given_start(twin: &mut Twin, action: &Action) -> Option<Pair> {
    let fits = |pair: Pair| pair.dtype().is_integer() && pair.ty().dims.is_empty();
    if action.numbers[2] < 128 { twin.pick_where(action.tensors[2], fits) } else { None }
}

/// One start index for each axis, in a dtype that varies: within the array, a little before or behind it, or far
/// outside. Those that are not within are clamped.
fn starts(
    world: World,
    scratch: &mut Scratch,
    ty: &TensorType,
    at: u8,
    given: Option<Pair>,
) -> Result<Vec<TensorHandle>> {
    const DTYPES: [DType; 6] = [DType::S32, DType::S64, DType::S8, DType::U8, DType::S16, DType::U16];
    let dtype = given.map_or(DTYPES[at as usize % DTYPES.len()], |given| given.dtype());
    let limits = integer_limits(dtype).expect("starts are integers");
    let mut starts = Vec::with_capacity(ty.dims.len());
    for axis in 0..ty.dims.len() {
        let part = at.rotate_right(3 * axis as u32);
        let start = (i64::from(part % 12) - 5) * if part % 8 == 7 { 1000 } else { 1 };
        starts.push(match given {
            Some(given) if axis == 0 => world.of(given),
            _ => scratch.scalar(
                world.device,
                dtype,
                start.max(limits.min).min(i64::try_from(limits.max).unwrap_or(i64::MAX)),
            )?,
        });
    }
    Ok(starts)
}

/// Chooses how updates are combined; returns it with the bound of the results.
pub fn combined(choice: u8, a: Pair, update: f64, count: usize) -> (ScatterOp, f64) {
    let op = ScatterOp::ALL[choice as usize % ScatterOp::ALL.len()];
    let bound = match op {
        ScatterOp::Copy => a.bound.max(update),
        _ if !a.is_whole() => ANY,
        ScatterOp::Max | ScatterOp::Min => a.bound.max(update),
        ScatterOp::Sum => a.bound + count as f64 * update,
        ScatterOp::Product => a.bound * (2.0 * update).powi(count as i32),
    };
    (op, bound)
}

/// Random dimension numbers and sizes for slices of a tensor, with scalar indices or index vectors, some with batching
/// axes.
fn dimension_numbers(x: &TensorType, indices: &TensorType, drawn: [u8; 4]) -> (DimensionNumbers, Vec<i64>) {
    let (rank, index_rank) = (x.dims.len() as i64, indices.dims.len() as i64);
    let [first, second, third, _] = drawn.map(i64::from);
    let vector = if index_rank > 0 && second % 2 == 0 { index_rank - 1 } else { index_rank };
    let length = indices.dims.get(vector as usize).copied().unwrap_or(1);
    let is_batched = rank > 1 && vector > 0 && third % 4 == 0 && x.dims[0] == indices.dims[0];
    let batches = i64::from(is_batched);
    // The elements of an index vector belong to consecutive axes, with wrap-around.
    let free = rank - batches;
    let index_map: Vec<i64> = (0..length.min(free + 1)).map(|i| batches + (first + i) % free.max(1)).collect();
    let mut collapsed: Vec<i64> = index_map.iter().copied().filter(|axis| third >> axis & 1 == 1).collect();
    collapsed.sort_unstable();
    collapsed.dedup();
    let size = |axis: i64| match x.dims[axis as usize] {
        _ if collapsed.contains(&axis) || axis < batches => 1,
        dim if index_map.contains(&axis) => dim.min(1 + second / 2 % 2),
        dim => dim,
    };
    let sizes: Vec<i64> = (0..rank).map(size).collect();
    let windows = rank - collapsed.len() as i64 - batches;
    let around = index_rank - i64::from(vector < index_rank);
    // The window axes come after the others, or before them.
    let offset = if first >= 128 { 0 } else { around };
    let numbers = DimensionNumbers {
        window_dims: (offset..offset + windows).collect(),
        collapsed_dims: collapsed,
        batching_dims: (0..batches).collect(),
        indices_batching_dims: (0..batches).collect(),
        index_map,
        index_vector_dim: vector,
    };
    (numbers, sizes)
}
