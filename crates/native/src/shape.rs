//! Operations that move elements: broadcast, transpose, reverse, slice, concatenate, pad.

use super::array::Array;
use super::element::{Element, by_width};
use super::tiles::Tiles;
use super::walk::{Walk, strides};
use super::writer::Writer;
use base::error::Result;
use base::types::TensorType;

/// Minimum number of elements for which a transposition uses tiles.
const MANY: usize = 1 << 14;

/// Broadcasts `x` to the shape of `ty`, by NumPy's rules.
pub fn broadcast_to(x: &Array, ty: &TensorType) -> Result<Array> {
    if x.ty().dims == ty.dims {
        return Ok(x.clone());
    }
    gather(ty, x, 0, &Walk::broadcasts(&ty.dims, [&x.ty().dims]))
}

/// Permutes the axes: axis i of the result is axis `axes[i]` of `x`.
pub fn transpose(ty: &TensorType, axes: &[i64], x: &Array) -> Result<Array> {
    let steps = strides(&x.ty().dims);
    let walk = axes.iter().map(|&axis| (x.ty().dims[axis as usize] as usize, [steps[axis as usize]]));
    gather(ty, x, 0, &Walk::new(walk))
}

/// Reverses the elements along `axes`.
pub fn reverse(axes: &[i64], x: &Array) -> Result<Array> {
    let ty = x.ty();
    let steps = strides(&ty.dims);
    let is_reversed = |axis: usize| axes.contains(&(axis as i64));
    // Offset of an element in `x`: that of the last element along the reversed axes, plus the steps along the other
    // axes, minus the steps along the reversed ones.
    let last: usize = (0..ty.dims.len())
        .filter(|&axis| is_reversed(axis))
        .map(|axis| (ty.dims[axis] - 1).max(0) as usize * steps[axis])
        .sum();
    let step = |axis: usize| if is_reversed(axis) { [0, steps[axis]] } else { [steps[axis], 0] };
    let walk = Walk::new((0..ty.dims.len()).map(|axis| (ty.dims[axis] as usize, step(axis))));
    let (row, [on, back]) = (walk.row(), walk.steps());
    by_width!(ty.dtype, T => Array::write::<T>(ty, |out| {
        let x = x.elements::<T>();
        walk.each_row(|[forth, less]| {
            let start = last + forth - less;
            if back == 0 && on == 1 {
                out.copy(&x[start..][..row]);
            } else {
                out.generate(row, |i| x[start + i * on - i * back]);
            }
        });
    }))
}

/// Slices `x` from `starts` on, with strides `by`.
pub fn slice(ty: &TensorType, starts: &[i64], by: &[i64], x: &Array) -> Result<Array> {
    let rank = ty.dims.len();
    let steps = strides(&x.ty().dims);
    let start = (0..rank).map(|axis| starts[axis] as usize * steps[axis]).sum();
    let walk = Walk::new((0..rank).map(|axis| (ty.dims[axis] as usize, [by[axis] as usize * steps[axis]])));
    gather(ty, x, start, &walk)
}

/// Reads the elements of `x` that `walk` visits, relative to offset `start`, into an array of type `ty`.
pub fn gather(ty: &TensorType, x: &Array, start: usize, walk: &Walk<1>) -> Result<Array> {
    by_width!(ty.dtype, T => {
        // `start` is beyond the end only if nothing is read.
        let x = x.elements::<T>().get(start..).unwrap_or_default();
        Array::write(ty, |out| {
            match if out.remaining() < MANY { None } else { Tiles::of(walk) } {
                Some(tiles) => tiles.fill(x, out),
                None => rows(x, walk, out),
            }
        })
    })
}

fn rows<T: Element>(x: &[T], walk: &Walk<1>, out: &mut Writer<T>) {
    let (row, [step]) = (walk.row(), walk.steps());
    match step {
        0 => walk.each_row(|[at]| out.repeat(x[at], row)),
        1 => walk.each_row(|[at]| out.copy(&x[at..][..row])),
        _ => walk.each_row(|[at]| out.generate(row, |i| x[at + i * step])),
    }
}

/// Concatenates along `axis`. The parts have the dtype of the result.
pub fn concatenate(ty: &TensorType, axis: usize, parts: &[Array]) -> Result<Array> {
    let before: i64 = ty.dims[..axis].iter().product();
    let after: i64 = ty.dims[axis + 1..].iter().product();
    by_width!(ty.dtype, T => Array::write::<T>(ty, |out| {
        for i in 0..before as usize {
            for part in parts {
                let chunk = (part.ty().dims[axis] * after) as usize;
                out.copy(&part.elements()[i * chunk..][..chunk]);
            }
        }
    }))
}

/// Slice `i` along the first axis, without that axis.
pub fn row(x: &Array, i: usize) -> Result<Array> {
    let ty = TensorType::new(x.ty().dtype, &x.ty().dims[1..]);
    gather(&ty, x, i * ty.elements(), &Walk::broadcasts(&ty.dims, [&ty.dims]))
}

/// Stacks arrays of one type along a new first axis. There must be at least one.
pub fn stack(rows: &[Array]) -> Result<Array> {
    let mut ty = rows[0].ty().clone();
    ty.dims.insert(0, rows.len() as i64);
    by_width!(ty.dtype, T => Array::write::<T>(&ty, |out| rows.iter().for_each(|row| out.copy(row.elements()))))
}

/// Pads `x` with `value`: before its elements (`low`), between them (`interior`), and behind them up to the shape of
/// `ty`.
pub fn pad(ty: &TensorType, low: &[i64], interior: &[i64], x: &Array, value: &Array) -> Result<Array> {
    let rank = ty.dims.len();
    let (from, to) = (strides(&x.ty().dims), strides(&ty.dims));
    // The elements of each axis that appear in the result: the first one, their number, and the position of the first
    // one in the result.
    let mut axes = Vec::with_capacity(rank);
    let (mut first, mut place) = (0, 0);
    for axis in 0..rank {
        let (low, step) = (low[axis], interior[axis] + 1);
        let (size, wanted) = (x.ty().dims[axis], ty.dims[axis]);
        let start = if low < 0 { (-low + step - 1) / step } else { 0 };
        let end = if wanted > low { ((wanted - low - 1) / step + 1).min(size) } else { 0 };
        axes.push(((end - start).max(0) as usize, [from[axis], to[axis] * step as usize]));
        if start < end {
            first += start as usize * from[axis];
            place += (low + start * step) as usize * to[axis];
        }
    }
    let walk = Walk::new(axes.into_iter());
    by_width!(ty.dtype, T => Array::write::<T>(ty, |out| {
        let all = out.repeat_mut(value.elements()[0], ty.elements());
        scatter(x.elements(), first, all, place, &walk);
    }))
}

/// Copies the elements of `x` from `first` on to `all` from `place` on, in the order of `walk`.
pub fn scatter<T: Element>(x: &[T], first: usize, all: &mut [T], place: usize, walk: &Walk<2>) {
    let row = walk.row();
    match walk.steps() {
        [1, 1] => walk.each_row(|[from, to]| all[place + to..][..row].copy_from_slice(&x[first + from..][..row])),
        [a, b] => walk.each_row(|[from, to]| {
            (0..row).for_each(|i| all[place + to + i * b] = x[first + from + i * a]);
        }),
    }
}
