//! Operations that move elements and compute nothing.

use super::action::Action;
use super::twin::{MOST_ELEMENTS, Outcome, Pair, Twin, World};
use crate::scratch::Scratch;
use lazyxla::device::TensorHandle;
use lazyxla::error::Result;
use lazyxla::tensor;
use lazyxla::types::TensorType;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Movement {
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

impl Movement {
    pub const TABLE: &[(usize, Movement)] = &[
        (3, Movement::Reshape),
        (3, Movement::BroadcastTo),
        (3, Movement::Transpose),
        (3, Movement::Slice),
        (2, Movement::SliceAxis),
        (2, Movement::Reverse),
        (1, Movement::Flip),
        (2, Movement::Roll),
        (1, Movement::Tile),
        (1, Movement::Repeat),
        (1, Movement::Squeeze),
        (1, Movement::ExpandDims),
        (1, Movement::Tril),
        (1, Movement::Triu),
        (3, Movement::Pad),
        (3, Movement::Concatenate),
        (2, Movement::Stack),
        (2, Movement::Split),
    ];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        let (ty, numbers) = (a.ty(), action.numbers);
        let axis = i64::from(numbers[0]) % ty.dims.len().max(1) as i64;
        match self {
            Movement::Concatenate | Movement::Stack => {
                let [b, c] = [1, 2].map(|i| twin.pick_like(action.tensors[i], a));
                if [a, b, c].iter().map(|pair| pair.ty().elements()).sum::<usize>() > MOST_ELEMENTS {
                    return Ok(());
                }
                let bound = a.bound.max(b.bound).max(c.bound);
                let list = |world: World| [a, b, c].map(|pair| world.of(pair));
                if let Movement::Stack = self {
                    return twin.moved(bound, |world| tensor::stack(&list(world), axis));
                }
                twin.moved(bound, |world| tensor::concatenate(&list(world), axis))
            }
            Movement::Split => {
                let size = ty.dims.get(axis as usize).copied().unwrap_or(2);
                let first = i64::from(numbers[1]) % (size + 1);
                let sizes = [first, size - first];
                let sizes = (numbers[2] < 128).then_some(&sizes[..]);
                let count = 1 + numbers[1] as usize % 3;
                let act = |world: World| tensor::split(world.of(a), sizes, count, axis);
                twin.several(act, |_, _| Some(a.bound))
            }
            Movement::Pad => pad(twin, a, &ty, numbers),
            _ => {
                let wanted = twin.home.shape(numbers[0]);
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
            Movement::Reshape => tensor::reshape(x, wanted),
            Movement::BroadcastTo => tensor::broadcast_to(x, wanted),
            Movement::Transpose => {
                let turned: Vec<i64> = (0..rank as i64).map(|i| (i + first) % rank as i64).collect();
                tensor::transpose(x, &turned)
            }
            Movement::Slice => {
                let part = |axis: usize| i64::from(numbers[axis % 4]);
                let starts: Vec<i64> = (0..rank).map(|i| part(i) % (ty.dims[i] + 1)).collect();
                let limits: Vec<i64> =
                    (0..rank).map(|i| starts[i] + part(i) / 16 % (ty.dims[i] - starts[i] + 1)).collect();
                let strides: Vec<i64> = (0..rank).map(|i| 1 + part(i) % 3).collect();
                tensor::slice(x, &starts, &limits, Some(&strides))
            }
            Movement::SliceAxis => {
                tensor::slice_axis(x, axis, second % 8 - 4, third % 8 - 2, [1, 2, -1, -2][first as usize / 64])
            }
            Movement::Reverse => tensor::reverse(x, &some),
            Movement::Flip => tensor::flip(x, &some),
            Movement::Roll => tensor::roll(x, &vec![third % 9 - 4; some.len()], &some),
            Movement::Tile => {
                let repeats: Vec<i64> = (0..rank as i64 + third % 2).map(|i| second >> (2 * (i % 4)) & 3).collect();
                tensor::tile(x, &repeats)
            }
            Movement::Repeat => tensor::repeat(x, second % 4, axis),
            Movement::Squeeze => tensor::squeeze(x, &ones()),
            Movement::ExpandDims => tensor::expand_dims(x, &[first % (rank as i64 + 1)]),
            Movement::Tril => tensor::tril(x, second % 5 - 2),
            Movement::Triu => tensor::triu(x, second % 5 - 2),
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
        tensor::pad(world.of(a), value, &low, &high, Some(&interior))
    })
}
