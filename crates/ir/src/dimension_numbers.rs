//! Dimension numbers of gather and scatter, which differ only in their names. "Result" below means the result of a
//! gather, or the updates of a scatter.

use super::attributes::attributes;

attributes! {
    /// Dimension numbers of a gather or scatter.
    #[derive(Default)]
    pub struct DimensionNumbers {
        /// Axes of the result that index into a slice, ascending. The other axes enumerate the slices.
        pub window_dims: Vec<i64>,
        /// Axes of the array collapsed (removed) from each slice, where its size is 1. Ascending.
        pub collapsed_dims: Vec<i64>,
        /// Batching axes of the array, ascending. On each of them, the position of a slice equals its position on the
        /// corresponding axis of the indices.
        pub batching_dims: Vec<i64>,
        /// Batching axes of the indices, in the order of `batching_dims`.
        pub indices_batching_dims: Vec<i64>,
        /// Axis of the array for each element of an index vector. On other axes, slices start at 0.
        pub index_map: Vec<i64>,
        /// Axis of the indices that contains the index vectors. Equal to the rank of the indices if each element is an
        /// index.
        pub index_vector_dim: i64,
    }
}

impl DimensionNumbers {
    /// Axes of an array of this rank that remain in a slice, ascending.
    pub fn array_axes(&self, rank: usize) -> Vec<usize> {
        let is_given = |axis: &i64| self.collapsed_dims.contains(axis) || self.batching_dims.contains(axis);
        (0..rank as i64).filter(|axis| !is_given(axis)).map(|axis| axis as usize).collect()
    }

    /// Axes of indices of this rank that enumerate the slices, ascending.
    pub fn indices_axes(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|&axis| axis as i64 != self.index_vector_dim).collect()
    }

    /// Axes of a result, or of updates, of this rank that correspond to the batching axes.
    pub fn batching_dims_of_slices(&self, rank: usize) -> Vec<usize> {
        let enumerating = self.batch_axes(rank);
        let place = |&axis: &i64| enumerating[axis as usize - usize::from(axis > self.index_vector_dim)];
        self.indices_batching_dims.iter().map(place).collect()
    }

    /// Axes of a result of this rank that enumerate the slices, ascending.
    pub fn batch_axes(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|&axis| !self.window_dims.contains(&(axis as i64))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_told_apart() {
        let numbers = DimensionNumbers {
            window_dims: vec![1, 2],
            collapsed_dims: vec![],
            batching_dims: vec![0],
            indices_batching_dims: vec![1],
            index_map: vec![2, 1],
            index_vector_dim: 3,
        };
        assert_eq!(numbers.array_axes(3), [1, 2]);
        assert_eq!(numbers.indices_axes(4), [0, 1, 2]);
        assert_eq!(numbers.batching_dims_of_slices(5), [3]);
        assert_eq!(numbers.batch_axes(4), [0, 3]);
    }
}
