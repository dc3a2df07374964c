//! Selects the parameters that a program may donate. The selection is made before the cache lookup, and is part of the
//! key.

use super::shapes::ShapeId;
use super::trace::{NodeId, Trace};
use base::types::{DType, TensorType, count};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Dtype, shape and size of a buffer. A donor can be reused for an output of the same type, or at least of the same
/// size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferType {
    dtype: DType,
    shape: ShapeId,
    /// Size in bytes.
    pub bytes: usize,
}

impl BufferType {
    /// Type and size of a node's value.
    pub fn of(trace: &Trace, id: NodeId) -> BufferType {
        let node = trace.node(id);
        let bytes = count(trace.dims(node.shape)) * node.dtype.size_bytes();
        BufferType { dtype: node.dtype, shape: node.shape, bytes }
    }
}

/// Type of a buffer, by which memory is reused.
pub trait BufferKind: Copy + Eq + Hash {
    /// Size in bytes.
    fn bytes(&self) -> usize;
}

impl BufferKind for BufferType {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl BufferKind for &TensorType {
    fn bytes(&self) -> usize {
        self.size_bytes()
    }
}

/// Filters `candidates` (parameters without later uses, ascending) to those whose memory an output can reuse: first
/// those that match an output's type, then those that match an output's size. The engine would not consume the others;
/// they are freed after the run. Leaving them out of the key avoids a compile.
pub fn useful<T: BufferKind>(candidates: &[(usize, T)], outputs: impl Iterator<Item = T>) -> Vec<usize> {
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut free: FxHashMap<T, usize> = FxHashMap::default();
    outputs.for_each(|output| *free.entry(output).or_default() += 1);
    let mut useful = Vec::with_capacity(candidates.len());
    let mut left = Vec::new();
    for &(candidate, ty) in candidates {
        match free.get_mut(&ty) {
            Some(count) if *count > 0 => {
                *count -= 1;
                useful.push(candidate);
            }
            _ => left.push((candidate, ty.bytes())),
        }
    }
    let mut free_bytes: FxHashMap<usize, usize> = FxHashMap::default();
    free.iter().for_each(|(ty, count)| *free_bytes.entry(ty.bytes()).or_default() += count);
    for (candidate, bytes) in left {
        if let Some(count) = free_bytes.get_mut(&bytes).filter(|count| **count > 0) {
            *count -= 1;
            useful.push(candidate);
        }
    }
    useful.sort_unstable();
    useful
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dtype: DType, shape: u32, elements: usize) -> BufferType {
        BufferType { dtype, shape: ShapeId(shape), bytes: elements * dtype.size_bytes() }
    }

    fn check(candidates: &[usize], parameters: &[BufferType], outputs: &[BufferType]) -> Vec<usize> {
        let candidates: Vec<(usize, BufferType)> = candidates.iter().map(|&i| (i, parameters[i])).collect();
        useful(&candidates, outputs.iter().copied())
    }

    #[test]
    fn a_donor_needs_an_output_of_its_bytes() {
        let f4 = of(DType::F32, 0, 4);
        let (f8, s22) = (of(DType::F32, 1, 8), of(DType::S32, 2, 4));
        let parameters = [f4, f4, f8, s22];
        assert_eq!(check(&[0, 1, 2, 3], &parameters, &[f4]), [0]);
        assert_eq!(check(&[0, 1, 2, 3], &parameters, &[f4, f4, f4]), [0, 1, 3]);
        assert_eq!(check(&[1, 2, 3], &parameters, &[s22, f8]), [2, 3]);
        assert_eq!(check(&[3], &parameters, &[f4]), [3]);
        assert_eq!(check(&[], &parameters, &[f4]), [0; 0]);
        assert_eq!(check(&[0], &parameters, &[]), [0; 0]);
    }

    #[test]
    fn an_own_type_goes_before_equal_bytes() {
        let (s, f) = (of(DType::S32, 0, 4), of(DType::F32, 0, 4));
        assert_eq!(check(&[0, 1], &[s, f], &[f]), [1]);
    }
}
