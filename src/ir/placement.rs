//! How slices lie in an array: the dimension numbers of gather and of scatter, which differ in their names only. "Side by
//! side" below is the result of a gather, and the updates of a scatter.

/// Dimension numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Axes of what is side by side that go through one slice, ascending; the others go from slice to slice.
    pub window_dims: Vec<i64>,
    /// Axes of the array, ascending, on which a slice is one element, and which are not there side by side.
    pub collapsed_dims: Vec<i64>,
    /// Axes of the array, ascending, on which a slice is at the place that it has on an axis of the indices.
    pub batching_dims: Vec<i64>,
    /// Those axes of the indices.
    pub indices_batching_dims: Vec<i64>,
    /// Which axis of the array each element of an index vector is for. On the others slices start at 0.
    pub index_map: Vec<i64>,
    /// The axis of the indices that goes through an index vector; their rank if each index is alone.
    pub index_vector_dim: i64,
}

impl Placement {
    /// As attributes of a node.
    pub fn to_attributes(&self) -> Vec<i64> {
        let mut attributes = vec![self.index_vector_dim];
        for list in self.lists() {
            attributes.push(list.len() as i64);
            attributes.extend_from_slice(list);
        }
        attributes
    }

    /// From what [`Placement::to_attributes`] gave.
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

    /// The axes of an array of this rank that a slice goes through, in order.
    pub fn array_axes(&self, rank: usize) -> Vec<usize> {
        let is_given = |axis: &i64| self.collapsed_dims.contains(axis) || self.batching_dims.contains(axis);
        (0..rank as i64).filter(|axis| !is_given(axis)).map(|axis| axis as usize).collect()
    }

    /// The axes of indices of this rank that go from slice to slice, in order.
    pub fn indices_axes(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|&axis| axis as i64 != self.index_vector_dim).collect()
    }

    /// The axes that go from slice to slice, side by side, where there are so many axes.
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
