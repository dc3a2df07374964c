//! Evaluation of a device: lazy (recorded operations run at the next sync) or eager (the call that records them runs
//! them). An eager device also has the leaves of its trace here.

use super::Place;
use super::work::Input;
use crate::device_data::{DeviceData, State};
use crate::ir::Mark;
use crate::native::Array;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};

/// Time at which a device evaluates recorded operations.
// The state of a device is stored once, so that the size of the larger variant does not matter.
#[allow(clippy::large_enum_variant)]
pub enum Evaluation {
    /// At a sync, on an XLA device or a mesh.
    Lazy,
    /// By the call that records it, in host memory, unless it depends on a placeholder.
    Eager(Eager),
}

/// Leaves of the trace of an eager device.
#[derive(Default)]
pub struct Eager {
    /// Arrays of the trace's leaves, used while nothing depends on a placeholder.
    pub(super) inputs: Vec<Input>,
    /// End of the part of the trace that depends on placeholders.
    pub(super) kept: Mark,
    /// Leaves of the arrays on which placeholder-dependent operations depend, by address.
    arrays: ArrayLeaves,
}

impl Evaluation {
    /// Returns the evaluation of a device at this place.
    pub fn at(place: Place) -> Evaluation {
        match place {
            Place::Cpu => Evaluation::Eager(Eager::default()),
            Place::Xla(_) | Place::Mesh(_) => Evaluation::Lazy,
        }
    }

    fn eager(&mut self) -> &mut Eager {
        match self {
            Evaluation::Eager(eager) => eager,
            Evaluation::Lazy => unreachable!("a lazy device has no arrays"),
        }
    }

    /// Adds the array of a leaf that was just recorded.
    #[inline]
    pub fn add(&mut self, input: Input) {
        self.eager().inputs.push(input);
    }

    /// Returns the data of an array's leaf.
    pub fn leaf_data(&mut self, array: &Array) -> Arc<DeviceData> {
        self.eager().arrays.of(array)
    }
}

/// Maps arrays to their leaves, so that an array has at most one leaf. A live leaf keeps its memory alive, so that no
/// other array has the same address; entries of dropped leaves are ignored.
#[derive(Default)]
struct ArrayLeaves {
    known: FxHashMap<usize, Weak<DeviceData>>,
    prune_at: usize,
}

impl ArrayLeaves {
    fn of(&mut self, array: &Array) -> Arc<DeviceData> {
        let address = array.address().addr();
        let known = self.known.get(&address).and_then(Weak::upgrade);
        if let Some(data) = known.filter(|data| data.ty() == array.ty()) {
            return data;
        }
        if self.known.len() >= self.prune_at {
            self.known.retain(|_, data| data.strong_count() > 0);
            self.prune_at = (2 * self.known.len()).max(64);
        }
        let data = DeviceData::new(array.ty().clone(), State::Host(array.clone()));
        self.known.insert(address, Arc::downgrade(&data));
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{DType, TensorType};

    fn array() -> Array {
        Array::from_bytes(&TensorType::new(DType::F32, &[2]), &[0; 8]).unwrap()
    }

    #[test]
    fn one_array_is_one_leaf_as_long_as_the_leaf_lives() {
        let mut leaves = ArrayLeaves::default();
        let (a, b) = (array(), array());
        let first = leaves.of(&a);
        assert!(Arc::ptr_eq(&first, &leaves.of(&a)));
        assert!(!Arc::ptr_eq(&first, &leaves.of(&b)));
        drop(first);
        assert_eq!(leaves.of(&a).ty(), a.ty());
        for _ in 0..1000 {
            leaves.of(&array());
        }
        assert!(leaves.known.len() <= 128, "{}", leaves.known.len());
    }
}
