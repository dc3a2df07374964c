//! Dimension numbers of gather and scatter, which differ only in their names. "Result" below means the result of a
//! gather, or the updates of a scatter.

/// Dimension numbers of a gather or scatter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
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

impl Placement {
    /// Encodes the dimension numbers as attributes of a node.
    pub fn to_attributes(&self) -> Vec<i64> {
        let mut attributes = vec![self.index_vector_dim];
        for list in self.lists() {
            attributes.push(list.len() as i64);
            attributes.extend_from_slice(list);
        }
        attributes
    }

    /// Inverse of [`Placement::to_attributes`].
    pub fn from_attributes(attributes: &[i64]) -> Placement {
        let mut rest = &attributes[1..];
        let mut next = || {
            let (list, behind) = rest[1..].split_at(rest[0] as usize);
            rest = behind;
            list.to_vec()
        };
        Placement {
            index_vector_dim: attributes[0],
            window_dims: next(),
            collapsed_dims: next(),
            batching_dims: next(),
            indices_batching_dims: next(),
            index_map: next(),
        }
    }

    fn lists(&self) -> [&Vec<i64>; 5] {
        [&self.window_dims, &self.collapsed_dims, &self.batching_dims, &self.indices_batching_dims, &self.index_map]
    }

    /// Axes of an array of this rank that remain in a slice, ascending.
    pub fn array_axes(&self, rank: usize) -> Vec<usize> {
        let is_given = |axis: &i64| self.collapsed_dims.contains(axis) || self.batching_dims.contains(axis);
        (0..rank as i64).filter(|axis| !is_given(axis)).map(|axis| axis as usize).collect()
    }

    /// Axes of indices of this rank that enumerate the slices, ascending.
    pub fn indices_axes(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|&axis| axis as i64 != self.index_vector_dim).collect()
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
    fn attributes_come_back() {
        let placement = Placement {
            window_dims: vec![1, 2],
            collapsed_dims: vec![],
            batching_dims: vec![0],
            indices_batching_dims: vec![1],
            index_map: vec![2, 1],
            index_vector_dim: 3,
        };
        assert_eq!(Placement::from_attributes(&placement.to_attributes()), placement);
        assert_eq!(Placement::from_attributes(&Placement::default().to_attributes()), Placement::default());
        assert_eq!(placement.array_axes(3), [1, 2]);
        assert_eq!(placement.indices_axes(4), [0, 1, 2]);
        assert_eq!(placement.batch_axes(4), [0, 3]);
    }
}
