//! Row-by-row iteration over arrays with arbitrary strides: broadcasts, permutations and slices differ only in the
//! strides.

use smallvec::SmallVec;

/// Iterates over the offsets in `N` arrays of each element of a result, in row-major order. Axes that are contiguous in
/// all arrays are merged; the last axis is the row.
pub struct Walk<const N: usize> {
    /// Sizes and strides of the axes before the row.
    axes: SmallVec<[(usize, [usize; N]); 4]>,
    row: usize,
    steps: [usize; N],
}

impl<const N: usize> Walk<N> {
    /// Walk over axes of these sizes, each with its stride in each array.
    pub fn new(axes: impl Iterator<Item = (usize, [usize; N])>) -> Walk<N> {
        let mut merged: SmallVec<[(usize, [usize; N]); 4]> = SmallVec::new();
        for (size, steps) in axes.filter(|axis| axis.0 != 1) {
            match merged.last_mut() {
                Some((outer, outer_steps)) if (0..N).all(|i| outer_steps[i] == steps[i] * size) => {
                    (*outer, *outer_steps) = (*outer * size, steps);
                }
                _ => merged.push((size, steps)),
            }
        }
        let (row, steps) = merged.pop().unwrap_or((1, [1; N]));
        Walk { axes: merged, row, steps }
    }

    /// Walk over arrays of the shapes `operands`, broadcast to `dims`.
    pub fn broadcasts(dims: &[i64], operands: [&[i64]; N]) -> Walk<N> {
        let own = operands.map(strides);
        let step = |operand: usize, axis: usize| match (axis + operands[operand].len()).checked_sub(dims.len()) {
            Some(at) if operands[operand][at] != 1 => own[operand][at],
            _ => 0,
        };
        Walk::new((0..dims.len()).map(|axis| (dims[axis] as usize, std::array::from_fn(|i| step(i, axis)))))
    }

    /// Whether there is one element, at the start of each array.
    pub fn is_one(&self) -> bool {
        self.axes.is_empty() && self.row == 1
    }

    /// Number of elements of a row.
    pub fn row(&self) -> usize {
        self.row
    }

    /// Strides within a row.
    pub fn steps(&self) -> [usize; N] {
        self.steps
    }

    /// Sizes and strides of all axes, the row last.
    pub fn axes(&self) -> impl Iterator<Item = (usize, [usize; N])> + '_ {
        self.axes.iter().copied().chain([(self.row, self.steps)])
    }

    /// Calls `visit` with the offset of each element in each array.
    pub fn each(&self, mut visit: impl FnMut([usize; N])) {
        self.each_row(|places| {
            (0..self.row).for_each(|i| visit(std::array::from_fn(|n| places[n] + i * self.steps[n])));
        });
    }

    /// Calls `visit` with the offset of the start of each row in each array.
    pub fn each_row(&self, mut visit: impl FnMut([usize; N])) {
        let rows: usize = self.axes.iter().map(|axis| axis.0).product();
        let mut counters: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.axes.len());
        let mut places = [0; N];
        for _ in 0..if self.row == 0 { 0 } else { rows } {
            visit(places);
            for (counter, (size, steps)) in counters.iter_mut().zip(&self.axes).rev() {
                *counter += 1;
                (0..N).for_each(|i| places[i] += steps[i]);
                if *counter < *size {
                    break;
                }
                *counter = 0;
                (0..N).for_each(|i| places[i] -= steps[i] * size);
            }
        }
    }
}

/// Strides of a row-major array, in elements.
pub fn strides(dims: &[i64]) -> SmallVec<[usize; 4]> {
    let mut strides = SmallVec::from_elem(1, dims.len());
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis] as usize;
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places<const N: usize>(walk: &Walk<N>) -> Vec<[usize; N]> {
        let mut places = vec![];
        walk.each_row(|start| places.push(start));
        places
    }

    #[test]
    fn axes_that_can_be_one_are_one() {
        let walk = Walk::broadcasts(&[2, 3, 4], [&[2, 3, 4], &[1]]);
        assert_eq!((walk.row(), walk.steps(), places(&walk)), (24, [1, 0], vec![[0, 0]]));
        let walk = Walk::broadcasts(&[2, 1, 4], [&[4], &[2, 1, 1]]);
        assert_eq!((walk.row(), walk.steps(), places(&walk)), (4, [1, 0], vec![[0, 0], [0, 1]]));
        let walk = Walk::broadcasts(&[], [&[]]);
        assert_eq!((walk.row(), places(&walk)), (1, vec![[0]]));
    }

    #[test]
    fn rows_come_in_order_and_nothing_has_none() {
        let walk = Walk::broadcasts(&[2, 3, 2], [&[2, 1, 2], &[3, 1]]);
        assert_eq!(places(&walk), [[0, 0], [0, 1], [0, 2], [2, 0], [2, 1], [2, 2]]);
        for dims in [[0, 3], [3, 0]] {
            assert!(places(&Walk::broadcasts(&dims, [&[1, 1], &dims])).is_empty());
        }
    }
}
