//! Selections with a given size, advanced indexing with several arrays, and slice assignment.

use super::action::Action;
use super::indexing::combined;
use super::twin::{MOST_ELEMENTS, Outcome, Pair, Twin, World};
use crate::scratch::Scratch;
use lazyxla::device::TensorHandle;
use lazyxla::error::Result;
use lazyxla::ir::{CompareOp, ScatterOp};
use lazyxla::tensor;
use lazyxla::types::{DType, Kind, ScalarValue};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selection {
    Nonzero,
    MaskSelect,
    Unique,
    Searchsorted,
    Index,
    IndexPut,
    SliceAssign,
}

/// Bound of counts and positions.
const PLACES: f64 = MOST_ELEMENTS as f64;

impl Selection {
    pub const TABLE: &[(usize, Selection)] = &[
        (2, Selection::Nonzero),
        (2, Selection::MaskSelect),
        (2, Selection::Unique),
        (2, Selection::Searchsorted),
        (3, Selection::Index),
        (3, Selection::IndexPut),
        (3, Selection::SliceAssign),
    ];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        if !a.is_whole() {
            return Ok(());
        }
        let ty = a.ty();
        let [first, second, third, _] = action.numbers;
        let size = i64::from(first % 9);
        match self {
            Selection::Nonzero => {
                let act = |world: World| tensor::nonzero(world.of(a), size, 7, DType::S32, ty.dims.len());
                twin.several(act, |_, _| Some(PLACES))
            }
            Selection::MaskSelect => {
                if ty.dtype.kind() == Kind::Complex {
                    return Ok(());
                }
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let fill = scratch.scalar(world.device, ty.dtype, 1)?;
                    let zero = scratch.scalar(world.device, ty.dtype, 0)?;
                    let mask = scratch.keep(tensor::compare(CompareOp::Ne, world.of(a), zero)?);
                    tensor::mask_select(world.of(a), mask, size, fill, DType::S64)
                };
                twin.several(act, |i, _| Some([a.bound.max(1.0), PLACES][i]))
            }
            Selection::Unique => {
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let fill = match second % 2 {
                        0 => TensorHandle(0),
                        _ => scratch.scalar(world.device, ty.dtype, 1)?,
                    };
                    tensor::unique(world.of(a), size, fill, DType::S32, [true; 4])
                };
                twin.several(act, |i, _| Some(if i == 0 { a.bound.max(1.0) } else { PLACES }))
            }
            Selection::Searchsorted => {
                let b = twin.pick_like(action.tensors[1], a);
                if !b.is_whole() {
                    return Ok(());
                }
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let row = scratch.keep(tensor::reshape(world.of(a), &[ty.elements() as i64])?);
                    let sorted = scratch.keep(tensor::sort_along(row, 0, false, true)?);
                    tensor::searchsorted(sorted, world.of(b), second % 2 == 1, DType::S32)
                };
                twin.computed(PLACES, act)
            }
            Selection::Index | Selection::IndexPut => self.by_arrays(twin, action, a),
            Selection::SliceAssign => {
                let starts: Vec<i64> = ty.dims.iter().map(|dim| i64::from(first).min(*dim)).collect();
                let strides = vec![i64::from(second % 3) + 1; ty.dims.len()];
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let value = scratch.value(world.device, ty.dtype, ScalarValue::Unsigned(u64::from(third % 2)))?;
                    tensor::slice_assign(world.of(a), &starts, &ty.dims, Some(&strides), value)
                };
                twin.moved(a.bound.max(1.0), act)
            }
        }
    }

    /// Indexes with one or two arrays, on adjacent or separate axes.
    fn by_arrays(self, twin: &mut Twin, action: &Action, a: Pair) -> Outcome {
        let fits = |pair: Pair| pair.dtype().is_integer();
        let (i, j) = (twin.pick_where(action.tensors[1], fits), twin.pick_where(action.tensors[2], fits));
        let (Some(i), Some(j)) = (i, j) else { return Ok(()) };
        let ty = a.ty();
        let count = i.ty().elements().max(1) * j.ty().elements().max(1);
        if ty.elements().max(1) * count > MOST_ELEMENTS {
            return Ok(());
        }
        let pattern: &[usize] = match action.numbers[1] % 5 {
            0 => &[1],
            1 => &[0, 1],
            2 => &[1, 2],
            3 => &[1, 0, 2],
            _ => &[0, 1, 2],
        };
        let indices = |world: World| -> Vec<TensorHandle> {
            pattern.iter().map(|&which| [TensorHandle(0), world.of(i), world.of(j)][which]).collect()
        };
        if let Selection::Index = self {
            return twin.moved(a.bound, |world| tensor::index(world.of(a), &indices(world)));
        }
        let (op, bound) = combined(action.numbers[2], a, 1.0, count);
        let act = |world: World| -> Result<TensorHandle> {
            let mut scratch = Scratch::default();
            let value = scratch.scalar(world.device, ty.dtype, 1)?;
            tensor::index_put(op, world.of(a), &indices(world), value)
        };
        if let ScatterOp::Copy = op { twin.moved(bound, act) } else { twin.computed(bound, act) }
    }
}
