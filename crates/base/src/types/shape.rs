//! Shapes: dimensions, element counts, NumPy broadcasting.

use super::DType;
use crate::error;
use crate::error::{Error, Result};
use smallvec::SmallVec;
use std::fmt;

/// Maximum rank of a tensor, the same as NumPy's.
pub const MAX_RANK: usize = 64;

/// Sizes of a tensor's axes, major to minor. Empty for a scalar (rank 0).
pub type Dims = SmallVec<[i64; 4]>;

/// A list of axes of a tensor.
pub type Axes = SmallVec<[i64; 4]>;

/// Element type and shape of a tensor. Displayed as in XLA: `f32[128,64]`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The element type.
    pub dtype: DType,
    /// Sizes of the axes, major to minor.
    pub dims: Dims,
}

impl TensorType {
    /// Creates a type from an element type and a shape.
    #[inline]
    pub fn new(dtype: DType, dims: &[i64]) -> TensorType {
        TensorType { dtype, dims: dims_of(dims) }
    }

    /// Number of elements. Never overflows, because [`element_count`] checked the dimensions when the tensor was
    /// created.
    #[inline]
    pub fn elements(&self) -> usize {
        count(&self.dims)
    }

    /// Number of bytes of all elements in host memory.
    #[inline]
    pub fn size_bytes(&self) -> usize {
        self.elements() * self.dtype.size_bytes()
    }

    /// Number of bytes of all elements on a device, where elements of 2 and 4 bits are packed.
    #[inline]
    pub fn packed_bytes(&self) -> usize {
        if self.dtype.is_subbyte() {
            (self.elements() * self.dtype.bit_width() as usize).div_ceil(8)
        } else {
            self.size_bytes()
        }
    }
}

impl Clone for TensorType {
    #[inline]
    fn clone(&self) -> TensorType {
        TensorType::new(self.dtype, &self.dims)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype)?;
        for (i, dim) in self.dims.iter().enumerate() {
            write!(f, "{}{dim}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}

/// Copies dimensions. Ranks up to 4 are copied without a call of a general copy function, whose cost would be
/// noticeable in every operation on small arrays.
#[inline]
pub fn dims_of(dims: &[i64]) -> Dims {
    let few = match *dims {
        [] => [0; 4],
        [a] => [a, 0, 0, 0],
        [a, b] => [a, b, 0, 0],
        [a, b, c] => [a, b, c, 0],
        [a, b, c, d] => [a, b, c, d],
        _ => return Dims::from_slice(dims),
    };
    Dims::from_buf_and_len(few, dims.len())
}

/// Number of elements, for dimensions that [`element_count`] has checked.
#[inline]
pub fn count(dims: &[i64]) -> usize {
    // Without a loop for few axes, which would be noticeable in every operation on small arrays.
    match *dims {
        [] => 1,
        [n] => n as usize,
        [m, n] => (m * n) as usize,
        _ => dims.iter().product::<i64>() as usize,
    }
}

/// Returns the number of elements after checking `dims`: at most [`MAX_RANK`] axes, no negative size, and at most
/// `i64::MAX` bytes if the elements had 16 bytes each. Axes of size 0 count as size 1 in the last check.
pub fn element_count(dims: &[i64]) -> Result<usize> {
    check_rank(dims)?;
    if let Some(axis) = dims.iter().position(|&d| d < 0) {
        return Err(error!(InvalidArgument, "dims: dims[{axis}] is {}; a dimension cannot be negative", dims[axis]));
    }
    // Checked even if an axis has size 0: a reduction may remove that axis, and XLA rejects such shapes.
    dims.iter()
        .try_fold(1i64, |n, &d| n.checked_mul(d.max(1)))
        .filter(|n| *n <= i64::MAX / 16)
        .map(|_| count(dims))
        .ok_or_else(|| error!(InvalidArgument, "dims: {dims:?} has more elements than an address space has bytes"))
}

/// Returns an error if there are more than [`MAX_RANK`] axes.
#[inline]
pub fn check_rank(dims: &[i64]) -> Result<()> {
    if dims.len() > MAX_RANK { Err(too_high(dims.len())) } else { Ok(()) }
}

#[cold]
fn too_high(rank: usize) -> Error {
    error!(InvalidArgument, "rank: the result would be of rank {rank}; want at most {MAX_RANK}")
}

/// Shape to which `lhs` and `rhs` broadcast by NumPy's rules; None if they are incompatible.
pub fn broadcast(lhs: &[i64], rhs: &[i64]) -> Option<Dims> {
    let rank = lhs.len().max(rhs.len());
    let at = |dims: &[i64], axis: usize| match (axis + dims.len()).checked_sub(rank) {
        Some(own) => dims[own],
        None => 1,
    };
    (0..rank)
        .map(|axis| match (at(lhs, axis), at(rhs, axis)) {
            (a, b) if a == b => Some(a),
            (1, b) => Some(b),
            (a, 1) => Some(a),
            _ => None,
        })
        .collect()
}

/// Converts `axis`, which counts from the end if negative, to an axis in `0..rank`; INVALID_ARGUMENT if it is out of
/// range.
pub fn normalize_axis(name: &str, axis: i64, rank: usize) -> Result<usize> {
    let rank = rank as i64;
    let from_start = if axis < 0 { axis.saturating_add(rank) } else { axis };
    if (0..rank).contains(&from_start) {
        Ok(from_start as usize)
    } else {
        Err(error!(
            InvalidArgument,
            "{name}: axis {axis} is out of range for rank {rank} (want {} to {})",
            -rank,
            rank - 1
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_is_numpys() {
        let b = |l: &[i64], r: &[i64]| broadcast(l, r).map(|d| d.to_vec());
        assert_eq!(b(&[2, 1, 3], &[4, 1]), Some(vec![2, 4, 3]));
        assert_eq!(b(&[], &[5]), Some(vec![5]));
        assert_eq!(b(&[0, 1], &[1, 7]), Some(vec![0, 7]));
        assert_eq!(b(&[2], &[3]), None);
        assert_eq!(b(&[0], &[3]), None);
    }

    #[test]
    fn counts_are_checked() {
        assert_eq!(element_count(&[]).unwrap(), 1);
        assert_eq!(element_count(&[7, 0]).unwrap(), 0);
        assert!(element_count(&[1 << 40, 1 << 40, 0]).is_err());
        assert!(element_count(&[-1]).is_err());
        assert!(element_count(&[1 << 40, 1 << 40]).is_err());
        assert!(element_count(&[i64::MAX]).is_err());
        assert!(element_count(&[1; MAX_RANK]).is_ok());
        assert!(element_count(&[1; MAX_RANK + 1]).is_err());
    }

    #[test]
    fn axes_count_from_both_ends() {
        assert_eq!(normalize_axis("axis", -1, 3).unwrap(), 2);
        assert_eq!(normalize_axis("axis", 0, 1).unwrap(), 0);
        assert!(normalize_axis("axis", 3, 3).is_err());
        assert!(normalize_axis("axis", i64::MIN, 3).is_err());
        assert!(normalize_axis("axis", 0, 0).is_err());
    }
}
