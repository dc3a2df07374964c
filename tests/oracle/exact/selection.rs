//! Selections with a given size, advanced indexing with several arrays, and slice assignment.

use super::action::Action;
use super::indexing::combined;
use super::twin::{MOST_ELEMENTS, Outcome, Pair, Twin, World};
use crate::record::on;
use crate::scratch::Scratch;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue};
use ir::{CompareOp, ScatterOp};
use lazyxla::device::TensorHandle;
use lazyxla::tensor::{numbered, record_optional};
use ops::{elementwise, indexing, shape, sorting};

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
                let act = |world: World| on([world.of(a)], |t, [x]| indexing::nonzero(t, x, size, 7, DType::S32));
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
                    let mask = on([world.of(a), zero], |t, [x, zero]| elementwise::compare(t, CompareOp::Ne, x, zero));
                    let operands = [world.of(a), scratch.keep(mask?), fill];
                    on(operands, |t, [x, mask, fill]| indexing::mask_select(t, x, mask, size, fill, DType::S64))
                        .map(Vec::from)
                };
                twin.several(act, |i, _| Some([a.bound.max(1.0), PLACES][i]))
            }
            Selection::Unique => {
                let act = |world: World| {
                    let mut scratch = Scratch::default();
                    let fill = match second % 2 {
                        0 => None,
                        _ => Some(scratch.scalar(world.device, ty.dtype, 1)?),
                    };
                    record_optional([("x", world.of(a))], [("fill", fill)], |t, [x], fill| {
                        sorting::unique(t, x, size, fill[0], DType::S32)
                    })
                    .map(Vec::from)
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
                    let row = on([world.of(a)], |t, [x]| shape::reshape(t, x, &[ty.elements() as i64]));
                    let sorted = on([scratch.keep(row?)], |t, [x]| sorting::sort_along(t, x, 0, false, true));
                    on([scratch.keep(sorted?), world.of(b)], |t, [sorted, values]| {
                        sorting::searchsorted(t, sorted, values, second % 2 == 1, DType::S32)
                    })
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
                    on([world.of(a), value], |t, [x, value]| {
                        indexing::slice_assign(t, x, &starts, &ty.dims, &strides, value)
                    })
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
        let indices = |world: World| -> Vec<Option<TensorHandle>> {
            pattern.iter().map(|&which| [None, Some(world.of(i)), Some(world.of(j))][which]).collect()
        };
        if let Selection::Index = self {
            return twin.moved(a.bound, |world| {
                record_optional([("x", world.of(a))], numbered("indices", &indices(world)), |t, [x], indices| {
                    indexing::index(t, x, indices)
                })
            });
        }
        let (op, bound) = combined(action.numbers[2], a, 1.0, count);
        let act = |world: World| -> Result<TensorHandle> {
            let mut scratch = Scratch::default();
            let value = scratch.scalar(world.device, ty.dtype, 1)?;
            let operands = [("x", world.of(a)), ("values", value)];
            record_optional(operands, numbered("indices", &indices(world)), |t, [x, values], indices| {
                indexing::index_put(t, op, x, indices, values)
            })
        };
        if let ScatterOp::Copy = op { twin.moved(bound, act) } else { twin.computed(bound, act) }
    }
}
