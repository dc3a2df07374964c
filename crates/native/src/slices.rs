//! Slices whose starts are given by an array of indices: gather, and the positions that scatter updates.

use super::array::Array;
use super::element::{Element, by_width};
use super::shape::scatter;
use super::walk::{Walk, strides};
use base::allocation::with_room;
use base::error::Result;
use base::types::{DType, TensorType};
use bytemuck::Zeroable;
use ir::DimensionNumbers;
use smallvec::SmallVec;
use std::borrow::Cow;

/// Slices of an array, and their layout in the batched array: the output of gather or the updates of scatter.
pub(super) struct Slices<'a> {
    /// The elements of `indices`. Values of u64 above `i64::MAX` become `i64::MAX`, which is out of range for every axis.
    starts: Cow<'a, [i64]>,
    /// The axes of the array whose start an index vector states.
    parts: SmallVec<[Part; 4]>,
    /// Whether a slice fits into the array.
    fits: bool,
    /// Visits all slices: offsets in `indices` and in the batched array, and of their place along the batching axes of
    /// the array.
    batches: Walk<3>,
    /// Visits the elements of one slice: offsets in the array and in the batched array, relative to the start of the
    /// slice.
    window: Walk<2>,
}

/// An axis of the array whose start an index vector states.
struct Part {
    /// Offset of the start in the index vector.
    at: usize,
    /// Stride of the axis, in elements.
    step: usize,
    /// Largest start with which a slice fits; negative if the slice is larger than the array.
    last: i64,
}

/// Strides of `indices`, in elements. Axes of size 0 are treated as if their size were 1, so that different slices have
/// different offsets even if the index vectors are empty.
fn index_steps(indices: &Array) -> SmallVec<[usize; 4]> {
    let dims: SmallVec<[i64; 4]> = indices.ty().dims.iter().map(|&dim| dim.max(1)).collect();
    strides(&dims)
}

impl<'a> Slices<'a> {
    /// Slices of an array of shape `dims`; `side` is the shape of the batched array.
    pub fn new(dims: &[i64], side: &[i64], numbers: &DimensionNumbers, indices: &'a Array) -> Result<Slices<'a>> {
        let (steps, side_steps, index_steps) = (strides(dims), strides(side), index_steps(indices));
        let window_axes = numbers.array_axes(dims.len());
        let mut sizes: SmallVec<[i64; 4]> = SmallVec::from_elem(1, dims.len());
        for (&axis, &at) in window_axes.iter().zip(&numbers.window_dims) {
            sizes[axis] = side[at as usize];
        }
        let through = window_axes.iter().zip(&numbers.window_dims);
        let window = through.map(|(&axis, &at)| (side[at as usize] as usize, [steps[axis], side_steps[at as usize]]));
        let batching_step = |axis: usize| {
            let number = numbers.indices_batching_dims.iter().position(|&at| at as usize == axis);
            number.map_or(0, |number| steps[numbers.batching_dims[number] as usize])
        };
        let from = numbers.indices_axes(indices.ty().dims.len()).into_iter().zip(numbers.batch_axes(side.len()));
        let batches =
            from.map(|(axis, at)| (side[at] as usize, [index_steps[axis], side_steps[at], batching_step(axis)]));
        let step = index_steps.get(numbers.index_vector_dim as usize).copied().unwrap_or(0);
        let last = |axis: usize| dims[axis] - sizes[axis];
        let parts = numbers.index_map.iter().enumerate().map(|(number, &axis)| {
            let axis = axis as usize;
            Part { at: number * step, step: steps[axis], last: last(axis) }
        });
        Ok(Slices {
            starts: starts(indices)?,
            parts: parts.collect(),
            fits: (0..dims.len()).all(|axis| last(axis) >= 0),
            batches: Walk::new(batches),
            window: Walk::new(window),
        })
    }

    /// Calls `visit` with the offset of each slice in the array and in the batched array. Slices are moved so that they
    /// lie within the array.
    fn each_clamped(&self, mut visit: impl FnMut(usize, usize)) {
        let start = |part: &Part, from: usize| self.starts[from + part.at].clamp(0, part.last) as usize * part.step;
        match &self.parts[..] {
            [part] => self.batches.each(|[from, to, first]| visit(first + start(part, from), to)),
            parts => self.batches.each(|[from, to, first]| {
                visit(first + parts.iter().map(|part| start(part, from)).sum::<usize>(), to);
            }),
        }
    }

    /// Calls `visit` with the offset of each slice that lies within the array, in the array and in the batched array.
    fn each_within(&self, mut visit: impl FnMut(usize, usize)) {
        if !self.fits {
            return;
        }
        let start = |part: &Part, from: usize| {
            let start = self.starts[from + part.at];
            (0..=part.last).contains(&start).then(|| start as usize * part.step)
        };
        match &self.parts[..] {
            [part] => self.batches.each(|[from, to, first]| {
                if let Some(start) = start(part, from) {
                    visit(first + start, to);
                }
            }),
            parts => self.batches.each(|[from, to, first]| {
                if let Some(start) = parts.iter().map(|part| start(part, from)).sum::<Option<usize>>() {
                    visit(first + start, to);
                }
            }),
        }
    }

    /// Calls `visit` for each element of the slices that lie within the array, with its offset in the array and in the
    /// batched array.
    pub fn each_element(&self, mut visit: impl FnMut(usize, usize)) {
        if self.window.is_one() {
            self.each_within(visit);
        } else {
            self.each_within(|first, from| self.window.each(|[to, at]| visit(first + to, from + at)));
        }
    }
}

/// The elements of an integer or pred array.
fn starts(indices: &Array) -> Result<Cow<'_, [i64]>> {
    fn of<T: Element>(x: &Array, wide: impl Fn(T) -> i64) -> Result<Cow<'_, [i64]>> {
        let mut starts = with_room(x.ty().elements(), "the starts of slices")?;
        starts.extend(x.elements::<T>().iter().map(|&index| wide(index)));
        Ok(Cow::Owned(starts))
    }
    match indices.ty().dtype {
        DType::S64 => Ok(Cow::Borrowed(indices.elements())),
        DType::S32 => of(indices, |x: i32| x.into()),
        DType::S16 => of(indices, |x: i16| x.into()),
        DType::S8 => of(indices, |x: i8| x.into()),
        DType::U64 => of(indices, |x: u64| x.try_into().unwrap_or(i64::MAX)),
        DType::U32 => of(indices, |x: u32| x.into()),
        DType::U16 => of(indices, |x: u16| x.into()),
        _ => of(indices, |x: u8| x.into()),
    }
}

/// Gathers slices of `x` into an array of type `ty`. Start indices are clamped so that the slices lie within `x`.
pub fn gather(ty: &TensorType, numbers: &DimensionNumbers, x: &Array, indices: &Array) -> Result<Array> {
    let slices = Slices::new(&x.ty().dims, &ty.dims, numbers, indices)?;
    by_width!(ty.dtype, T => Array::write::<T>(ty, |out| {
        let all = out.repeat_mut(T::zeroed(), ty.elements());
        let x = x.elements::<T>();
        if slices.window.is_one() {
            return slices.each_clamped(|from, to| all[to] = x[from]);
        }
        slices.each_clamped(|from, to| scatter(x, from, all, to, &slices.window));
    }))
}

/// Returns, for each element of the scatter updates of shape `side`, slice by slice, its offset in an array of shape
/// `dims` and its offset in the updates. Omits all elements of slices that do not lie within the array.
pub fn targets(dims: &[i64], side: &[i64], numbers: &DimensionNumbers, indices: &Array) -> Result<Vec<(usize, usize)>> {
    let mut targets = with_room(side.iter().product::<i64>() as usize, "the places of updates")?;
    Slices::new(dims, side, numbers, indices)?.each_element(|to, from| targets.push((to, from)));
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{array, counted, row};
    use super::*;
    use base::types::DType;

    fn of_rows() -> DimensionNumbers {
        DimensionNumbers {
            window_dims: vec![1],
            collapsed_dims: vec![0],
            index_map: vec![0],
            index_vector_dim: 1,
            ..Default::default()
        }
    }

    fn gathered(dims: &[i64], numbers: &DimensionNumbers, x: &Array, indices: &Array) -> Vec<i32> {
        gather(&TensorType::new(DType::S32, dims), numbers, x, indices).unwrap().elements().to_vec()
    }

    #[test]
    fn rows_come_side_by_side_and_are_clamped() {
        let x = counted(&[3, 4]);
        assert_eq!(gathered(&[3, 2], &of_rows(), &x, &row(&[2i8, -7, 99])), [8, 9, 0, 1, 8, 9]);
        assert_eq!(gathered(&[1, 4], &of_rows(), &x, &row(&[u64::MAX])), [8, 9, 10, 11]);
        assert!(gathered(&[0, 2], &of_rows(), &x, &row::<i8>(&[])).is_empty());
        assert!(gathered(&[2, 0], &of_rows(), &x, &row(&[0, 1])).is_empty());
    }

    #[test]
    fn index_vectors_may_lie_along_any_axis() {
        let x = counted(&[3, 4]);
        let numbers = DimensionNumbers {
            window_dims: vec![0, 1],
            index_map: vec![1, 0],
            index_vector_dim: 0,
            ..Default::default()
        };
        // Index vectors (1, 0) and (9, 2): column first.
        let indices = array(&[2, 2], &[1, 9, 0, 2]);
        assert_eq!(gathered(&[1, 2, 2], &numbers, &x, &indices), [1, 10, 2, 11]);
    }

    #[test]
    fn batches_are_at_their_own_place() {
        let x = counted(&[3, 4]);
        let numbers = DimensionNumbers {
            collapsed_dims: vec![0],
            batching_dims: vec![1],
            indices_batching_dims: vec![0],
            index_map: vec![0],
            index_vector_dim: 2,
            ..Default::default()
        };
        let indices = array(&[4, 2], &[0, 1, 0, 1, 2, 2, -1, 5]);
        assert_eq!(gathered(&[4, 2], &numbers, &x, &indices), [0, 4, 1, 5, 10, 10, 3, 11]);
    }

    #[test]
    fn targets_beyond_an_end_are_left_out_as_a_whole() {
        let numbers =
            DimensionNumbers { window_dims: vec![1], index_map: vec![0], index_vector_dim: 1, ..Default::default() };
        let indices = row(&[0, 3, -1, 2]);
        assert_eq!(targets(&[4], &[4, 2], &numbers, &indices).unwrap(), [(0, 0), (1, 1), (2, 6), (3, 7)]);
        assert!(targets(&[1], &[4, 2], &numbers, &indices).unwrap().is_empty());
    }
}
