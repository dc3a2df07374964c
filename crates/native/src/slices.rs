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
struct Slices<'a> {
    /// Shape of the array; `steps` are its strides in elements.
    dims: &'a [i64],
    steps: SmallVec<[usize; 4]>,
    /// Size of a slice along each axis of the array.
    sizes: SmallVec<[i64; 4]>,
    numbers: &'a DimensionNumbers,
    indices: &'a Array,
    /// The elements of `indices`. Values of u64 above `i64::MAX` become `i64::MAX`, which is out of range for every axis.
    starts: Cow<'a, [i64]>,
    /// Visits all slices: offsets in `indices` and in the batched array.
    batches: Walk<2>,
    /// Visits the elements of one slice: offsets in the array and in the batched array, relative to the start of the
    /// slice.
    window: Walk<2>,
}

/// Strides of `indices`, in elements. Axes of size 0 are treated as if their size were 1, so that different slices have
/// different offsets even if the index vectors are empty.
fn index_steps(indices: &Array) -> SmallVec<[usize; 4]> {
    let dims: SmallVec<[i64; 4]> = indices.ty().dims.iter().map(|&dim| dim.max(1)).collect();
    strides(&dims)
}

impl<'a> Slices<'a> {
    /// Slices of an array of shape `dims`; `side` is the shape of the batched array.
    fn new(dims: &'a [i64], side: &[i64], numbers: &'a DimensionNumbers, indices: &'a Array) -> Result<Slices<'a>> {
        let (steps, side_steps) = (strides(dims), strides(side));
        let index_steps = index_steps(indices);
        let window_axes = numbers.array_axes(dims.len());
        let mut sizes = SmallVec::from_elem(1, dims.len());
        for (&axis, &at) in window_axes.iter().zip(&numbers.window_dims) {
            sizes[axis] = side[at as usize];
        }
        let through = window_axes.iter().zip(&numbers.window_dims);
        let window =
            through.map(|(&axis, &at)| (side[at as usize] as usize, [steps[axis], side_steps[at as usize]])).collect();
        let from = numbers.indices_axes(indices.ty().dims.len()).into_iter().zip(numbers.batch_axes(side.len()));
        let batches = from.map(|(axis, at)| (side[at] as usize, [index_steps[axis], side_steps[at]])).collect();
        let walk = |axes: Vec<(usize, [usize; 2])>| Walk::new(axes.into_iter());
        let starts = starts(indices)?;
        Ok(Slices { dims, steps, sizes, numbers, indices, starts, batches: walk(batches), window: walk(window) })
    }

    /// Calls `visit` with the start of each slice along each axis of the array, and its offset in the batched array.
    fn each(&self, mut visit: impl FnMut(&[i64], usize)) {
        let (index_dims, index_steps) = (&self.indices.ty().dims, index_steps(self.indices));
        let step = index_steps.get(self.numbers.index_vector_dim as usize).copied().unwrap_or(0);
        let mut start: SmallVec<[i64; 4]> = SmallVec::from_elem(0, self.dims.len());
        self.batches.each(|[from, to]| {
            for (number, &axis) in self.numbers.index_map.iter().enumerate() {
                start[axis as usize] = self.starts[from + number * step];
            }
            for (&axis, &at) in self.numbers.batching_dims.iter().zip(&self.numbers.indices_batching_dims) {
                start[axis as usize] = (from / index_steps[at as usize] % index_dims[at as usize] as usize) as i64;
            }
            visit(&start, to);
        });
    }

    /// Largest start along an axis with which a slice fits; negative if the slice is larger than the array.
    fn last(&self, axis: usize) -> i64 {
        self.dims[axis] - self.sizes[axis]
    }

    /// Offset of the slice at `start`, clamped so that the slice lies within the array.
    fn clamped(&self, start: &[i64]) -> usize {
        (0..start.len()).map(|axis| start[axis].clamp(0, self.last(axis)) as usize * self.steps[axis]).sum()
    }

    /// Offset of the slice at `start`; None if the slice does not lie within the array.
    fn within(&self, start: &[i64]) -> Option<usize> {
        let fits = (0..start.len()).all(|axis| (0..=self.last(axis)).contains(&start[axis]));
        fits.then(|| self.clamped(start))
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
            return slices.each(|start, to| all[to] = x[slices.clamped(start)]);
        }
        slices.each(|start, to| scatter(x, slices.clamped(start), all, to, &slices.window));
    }))
}

/// Returns, for each element of the scatter updates of shape `side`, slice by slice, its offset in an array of shape
/// `dims` and its offset in the updates. Omits all elements of slices that do not lie within the array.
pub fn targets(dims: &[i64], side: &[i64], numbers: &DimensionNumbers, indices: &Array) -> Result<Vec<(usize, usize)>> {
    let slices = Slices::new(dims, side, numbers, indices)?;
    let mut targets = Vec::new();
    slices.each(|start, from| {
        if let Some(first) = slices.within(start) {
            slices.window.each(|[to, at]| targets.push((first + to, from + at)));
        }
    });
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
