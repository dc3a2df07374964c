//! Operations that move elements and compute nothing.

use super::action::Action;
use super::twin::{MOST_ELEMENTS, Outcome, Pair, Twin, World};
use crate::record::on;
use crate::scratch::Scratch;
use base::error::Result;
use base::types::TensorType;
use lazyxla::device::TensorHandle;
use ops::{creation, shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    Reshape,
    BroadcastTo,
    Transpose,
    Slice,
    SliceAxis,
    Reverse,
    Flip,
    Roll,
    Tile,
    Repeat,
    Squeeze,
    ExpandDims,
    Tril,
    Triu,
    Pad,
    Concatenate,
    Stack,
    Split,
}

impl Shape {
    pub const TABLE: &[(usize, Shape)] = &[
        (3, Shape::Reshape),
        (3, Shape::BroadcastTo),
        (3, Shape::Transpose),
        (3, Shape::Slice),
        (2, Shape::SliceAxis),
        (2, Shape::Reverse),
        (1, Shape::Flip),
        (2, Shape::Roll),
        (1, Shape::Tile),
        (1, Shape::Repeat),
        (1, Shape::Squeeze),
        (1, Shape::ExpandDims),
        (1, Shape::Tril),
        (1, Shape::Triu),
        (3, Shape::Pad),
        (3, Shape::Concatenate),
        (2, Shape::Stack),
        (2, Shape::Split),
    ];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        let (ty, numbers) = (a.ty(), action.numbers);
        let axis = i64::from(numbers[0]) % ty.dims.len().max(1) as i64;
        match self {
            Shape::Concatenate | Shape::Stack => {
                let [b, c] = [1, 2].map(|i| twin.pick_like(action.tensors[i], a));
                if [a, b, c].iter().map(|pair| pair.ty().elements()).sum::<usize>() > MOST_ELEMENTS {
                    return Ok(());
                }
                let bound = a.bound.max(b.bound).max(c.bound);
                let list = |world: World| [a, b, c].map(|pair| world.of(pair));
                if let Shape::Stack = self {
                    return twin.moved(bound, |world| on(list(world), |t, list| shape::stack(t, &list, axis)));
                }
                twin.moved(bound, |world| on(list(world), |t, list| shape::concatenate(t, &list, axis)))
            }
            Shape::Split => {
                let size = ty.dims.get(axis as usize).copied().unwrap_or(2);
                let first = i64::from(numbers[1]) % (size + 1);
                let sizes = [first, size - first];
                let sizes = (numbers[2] < 128).then_some(&sizes[..]);
                let count = 1 + numbers[1] as usize % 3;
                let act = |world: World| {
                    on([world.of(a)], |t, [x]| match sizes {
                        Some(sizes) => shape::split(t, x, sizes, axis),
                        None => shape::split_equally(t, x, count, axis),
                    })
                };
                twin.several(act, |_, _| Some(a.bound))
            }
            Shape::Pad => pad(twin, a, &ty, numbers),
            _ => {
                let wanted = &*twin.home.shape(numbers[0]);
                twin.moved(a.bound, |world| self.of_one(world.of(a), &ty, wanted, numbers))
            }
        }
    }

    /// Applies the operation to one tensor of this type. Reshapes and broadcasts are to the shape `wanted`.
    pub fn of_one(self, x: TensorHandle, ty: &TensorType, wanted: &[i64], numbers: [u8; 4]) -> Result<TensorHandle> {
        let rank = ty.dims.len();
        let [first, second, third, _] = numbers.map(i64::from);
        let axis = first % rank.max(1) as i64;
        let some: Vec<i64> = (0..rank as i64).filter(|axis| second >> axis & 1 == 1).collect();
        let ones = || (0..rank as i64).filter(|&axis| ty.dims[axis as usize] == 1 || second == 0).collect::<Vec<_>>();
        match self {
            Shape::Reshape => on([x], |t, [x]| shape::reshape(t, x, wanted)),
            Shape::BroadcastTo => on([x], |t, [x]| shape::broadcast_to(t, x, wanted)),
            Shape::Transpose => {
                let turned: Vec<i64> = (0..rank as i64).map(|i| (i + first) % rank as i64).collect();
                on([x], |t, [x]| shape::transpose(t, x, &turned))
            }
            Shape::Slice => {
                let part = |axis: usize| i64::from(numbers[axis % 4]);
                let starts: Vec<i64> = (0..rank).map(|i| part(i) % (ty.dims[i] + 1)).collect();
                let limits: Vec<i64> =
                    (0..rank).map(|i| starts[i] + part(i) / 16 % (ty.dims[i] - starts[i] + 1)).collect();
                let strides: Vec<i64> = (0..rank).map(|i| 1 + part(i) % 3).collect();
                on([x], |t, [x]| shape::slice(t, x, &starts, &limits, &strides))
            }
            Shape::SliceAxis => {
                let (start, stop, step) = (second % 8 - 4, third % 8 - 2, [1, 2, -1, -2][first as usize / 64]);
                on([x], |t, [x]| shape::slice_axis(t, x, axis, start, stop, step))
            }
            Shape::Reverse => on([x], |t, [x]| shape::reverse(t, x, &some)),
            Shape::Flip => on([x], |t, [x]| shape::flip(t, x, &some)),
            Shape::Roll => on([x], |t, [x]| shape::roll(t, x, &vec![third % 9 - 4; some.len()], &some)),
            Shape::Tile => {
                let repeats: Vec<i64> = (0..rank as i64 + third % 2).map(|i| second >> (2 * (i % 4)) & 3).collect();
                on([x], |t, [x]| shape::tile(t, x, &repeats))
            }
            Shape::Repeat => on([x], |t, [x]| shape::repeat(t, x, second % 4, axis)),
            Shape::Squeeze => on([x], |t, [x]| shape::squeeze(t, x, &ones())),
            Shape::ExpandDims => on([x], |t, [x]| shape::expand_dims(t, x, &[first % (rank as i64 + 1)])),
            Shape::Tril => on([x], |t, [x]| creation::tril(t, x, second % 5 - 2)),
            Shape::Triu => on([x], |t, [x]| creation::triu(t, x, second % 5 - 2)),
            _ => unreachable!("of several tensors"),
        }
    }
}

fn pad(twin: &mut Twin, a: Pair, ty: &TensorType, numbers: [u8; 4]) -> Outcome {
    let rank = ty.dims.len();
    if ty.elements() * 4usize.pow(rank as u32) > MOST_ELEMENTS {
        return Ok(());
    }
    let [low, high, interior, _] = numbers.map(i64::from);
    let [low, high, interior] = [low % 5 - 2, high % 5 - 2, interior % 2].map(|value| vec![value; rank]);
    let dtype = ty.dtype;
    twin.moved(a.bound.max(1.0), |world| {
        let mut scratch = Scratch::default();
        let value = scratch.scalar(world.device, dtype, 1)?;
        on([world.of(a), value], |t, [x, value]| shape::pad(t, x, value, &low, &high, &interior))
    })
}
