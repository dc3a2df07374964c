//! Which parameters a program may consume. Decided before the key, and part of it.

use crate::ir::{NodeId, ShapeId, Trace};
use crate::types::{DType, count};
use rustc_hash::FxHashMap;

/// What a buffer can be taken over for: its own type, or at least its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    dtype: DType,
    shape: ShapeId,
    /// Its size.
    pub bytes: usize,
}

impl Place {
    /// What the value of a node takes.
    pub fn of(trace: &Trace, id: NodeId) -> Place {
        let node = trace.node(id);
        let bytes = count(trace.dims(node.shape)) * node.dtype.size_bytes();
        Place { dtype: node.dtype, shape: node.shape, bytes }
    }
}

/// Of the parameters that nobody needs afterwards (`candidates`, ascending), those whose memory an output can take over:
/// first those that meet an output of their own type, then those that meet one of as many bytes. The engine would not
/// give up the others; they are simply freed after the run. Keeping them out of the key saves a compile.
pub fn useful(candidates: &[(usize, Place)], outputs: impl Iterator<Item = Place>) -> Vec<usize> {
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut free: FxHashMap<Place, usize> = FxHashMap::default();
    outputs.for_each(|output| *free.entry(output).or_default() += 1);
    let mut useful = Vec::with_capacity(candidates.len());
    let mut left = Vec::new();
    for &(candidate, place) in candidates {
        match free.get_mut(&place) {
            Some(count) if *count > 0 => {
                *count -= 1;
                useful.push(candidate);
            }
            _ => left.push((candidate, place.bytes)),
        }
    }
    let mut free_bytes: FxHashMap<usize, usize> = FxHashMap::default();
    free.iter().for_each(|(place, count)| *free_bytes.entry(place.bytes).or_default() += count);
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

    fn place(dtype: DType, shape: u32, elements: usize) -> Place {
        Place { dtype, shape: ShapeId(shape), bytes: elements * dtype.size_bytes() }
    }

    fn check(candidates: &[usize], parameters: &[Place], outputs: &[Place]) -> Vec<usize> {
        let candidates: Vec<(usize, Place)> = candidates.iter().map(|&i| (i, parameters[i])).collect();
        useful(&candidates, outputs.iter().copied())
    }

    #[test]
    fn a_donor_needs_an_output_of_its_bytes() {
        let f4 = place(DType::F32, 0, 4);
        let (f8, s22) = (place(DType::F32, 1, 8), place(DType::S32, 2, 4));
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
        let (s, f) = (place(DType::S32, 0, 4), place(DType::F32, 0, 4));
        assert_eq!(check(&[0, 1], &[s, f], &[f]), [1]);
    }
}
