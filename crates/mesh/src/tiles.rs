//! Infers a sharding by whole mesh axes from the tile of an array on each device.

use super::axes::MeshAxes;
use super::sharding::{Sharding, Split, piece_count};

/// The tile of an array at each position.
pub(super) struct Tiles {
    /// Number of tiles along each axis of the array.
    counts: Vec<usize>,
    /// For each position, the index of its tile along each axis of the array (row-major).
    index: Vec<usize>,
}

impl Tiles {
    /// Creates tiles from a list of all positions in any order. `tile(i, axis)` is the index along `axis` of the tile
    /// at the i-th position of the list. None unless the list contains each of the `device_count` positions once.
    pub(super) fn new(
        counts: Vec<usize>,
        positions: &[usize],
        device_count: usize,
        tile: impl Fn(usize, usize) -> usize,
    ) -> Option<Tiles> {
        if positions.len() != device_count {
            return None;
        }
        let rank = counts.len();
        let mut index = vec![0; device_count * rank];
        let mut is_seen = vec![false; device_count];
        for (i, &position) in positions.iter().enumerate() {
            if position >= device_count || std::mem::replace(&mut is_seen[position], true) {
                return None;
            }
            for (axis, slot) in index[position * rank..][..rank].iter_mut().enumerate() {
                *slot = tile(i, axis);
            }
        }
        Some(Tiles { counts, index })
    }

    /// Returns the sharding by whole mesh axes that results in these tiles; None if there is none. Mesh axes of size 1
    /// never occur in it.
    pub(super) fn sharding(&self, axes: &MeshAxes) -> Option<Sharding> {
        let strides = axes.strides();
        let splits: Option<Vec<Split>> = (0..self.counts.len()).map(|axis| self.split(axes, &strides, axis)).collect();
        let splits = splits?;
        let mut is_used = vec![false; axes.axes().len()];
        let is_twice = |&mesh_axis: &u8| std::mem::replace(&mut is_used[usize::from(mesh_axis)], true);
        if splits.iter().flatten().any(is_twice) { None } else { Some(Sharding::new(splits)) }
    }

    /// Returns the mesh axes that split one axis of the array, major to minor; None if whole mesh axes do not result in
    /// these tiles.
    fn split(&self, axes: &MeshAxes, strides: &[usize], axis: usize) -> Option<Split> {
        // One step along a mesh axis that splits the array moves the tile index by the weight of that mesh axis. The
        // weight is the tile index at the position with coordinate 1 on this mesh axis and 0 on the others.
        let mut weights: Vec<(usize, u8)> = (0..axes.axes().len())
            .filter(|&mesh_axis| axes.axes()[mesh_axis].size > 1)
            .map(|mesh_axis| (self.tile(strides[mesh_axis], axis), mesh_axis as u8))
            .filter(|&(weight, _)| weight > 0)
            .collect();
        weights.sort_by_key(|&(weight, _)| std::cmp::Reverse(weight));
        let split: Split = weights.into_iter().map(|(_, mesh_axis)| mesh_axis).collect();
        if piece_count(axes, &split) != self.counts[axis] {
            return None;
        }
        let wanted = |position: usize| {
            split.iter().map(|&mesh_axis| usize::from(mesh_axis)).fold(0, |index, mesh_axis| {
                index * axes.axes()[mesh_axis].size + axes.coordinate(strides, position, mesh_axis)
            })
        };
        let is_explained = (0..axes.device_count()).all(|position| self.tile(position, axis) == wanted(position));
        is_explained.then_some(split)
    }

    /// Index of the position's tile along an axis of the array.
    fn tile(&self, position: usize, axis: usize) -> usize {
        self.index[position * self.counts.len() + axis]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Random;
    use super::*;

    #[test]
    fn shardings_are_found_from_their_tiles() {
        let mut random = Random(5);
        for mesh in ["a=2,b=2,c=2", "a=2,b=4,c=3", "a=4", "a=3,b=1,c=2,d=2"] {
            let axes: MeshAxes = mesh.parse().unwrap();
            // A mesh axis of size 1 has no effect on the tiles, so that it is not found.
            let mesh_axes: Vec<u8> =
                (0..axes.axes().len()).filter(|&axis| axes.axes()[axis].size > 1).map(|axis| axis as u8).collect();
            let positions: Vec<usize> = (0..axes.device_count()).collect();
            for _ in 0..200 {
                let rank = random.below(4);
                let wanted = random.sharding(&mesh_axes, rank);
                let tile = |position: usize, axis: usize| wanted.piece_index(&axes, position)[axis];
                let tiles = Tiles::new(wanted.pieces(&axes), &positions, positions.len(), tile).unwrap();
                assert_eq!(tiles.sharding(&axes), Some(wanted.clone()), "{mesh}: {}", wanted.text(&axes));
            }
        }
    }

    #[test]
    fn tiles_that_whole_axes_do_not_explain_have_no_sharding() {
        let of = |mesh: &str, counts: &[usize], tiles: &[&[usize]]| {
            let axes: MeshAxes = mesh.parse().unwrap();
            let positions: Vec<usize> = (0..tiles.len()).collect();
            let tile = |position: usize, axis: usize| tiles[position][axis];
            let tiles = Tiles::new(counts.to_vec(), &positions, axes.device_count(), tile)?;
            Some(tiles.sharding(&axes)?.text(&axes))
        };
        assert_eq!(of("a=4", &[4], &[&[0], &[1], &[2], &[3]]).as_deref(), Some("a"));
        assert_eq!(of("a=2,b=2", &[2, 2], &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]]).as_deref(), Some("a,b"));
        assert_eq!(of("a=4", &[2, 2], &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]]), None, "a part of an axis");
        assert_eq!(of("a=4", &[2], &[&[0], &[0], &[1], &[1]]), None, "a part of an axis, replicated");
        assert_eq!(of("a=2", &[2], &[&[1], &[0]]), None, "reversed");
        assert_eq!(of("a=3", &[3], &[&[0], &[2], &[1]]), None, "permuted");
        assert_eq!(of("a=2", &[2, 2], &[&[0, 0], &[1, 1]]), None, "one mesh axis along two axes");
        assert_eq!(of("a=2,b=2", &[4], &[&[0], &[1], &[3], &[2]]), None, "not a product");
        assert_eq!(of("a=2,b=2", &[2], &[&[0], &[1], &[1], &[0]]), None, "exclusive or");
        assert_eq!(of("a=2", &[2], &[&[0], &[1], &[1]]), None, "too many positions");
    }

    #[test]
    fn each_position_must_be_named_once() {
        let is_accepted = |positions: &[usize]| Tiles::new(vec![2], positions, 2, |i, _| i).is_some();
        assert!(is_accepted(&[0, 1]) && is_accepted(&[1, 0]));
        assert!(!is_accepted(&[0]) && !is_accepted(&[0, 0]) && !is_accepted(&[0, 2]) && !is_accepted(&[0, 1, 1]));
    }
}
