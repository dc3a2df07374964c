//! Evaluation of a device: lazy (recorded operations run at the next sync) or eager (the call that records them runs
//! them).

use super::Place;
use crate::device_data::{DeviceData, State};
use native::Array;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};

/// Time at which a device evaluates recorded operations.
#[derive(Clone, Copy)]
pub enum Evaluation {
    /// At a sync, on an XLA device or a mesh.
    Lazy,
    /// By the call that records it, in host memory, unless it depends on a placeholder.
    Eager,
}

impl Evaluation {
    /// Evaluation of a device at this place.
    pub fn at(place: Place) -> Evaluation {
        match place {
            Place::Cpu => Evaluation::Eager,
            Place::Xla(_) | Place::Mesh(_) => Evaluation::Lazy,
        }
    }
}

/// Maps arrays to the data of their leaves, so that an array has at most one leaf. A live leaf keeps its memory alive,
/// so that no other array has the same address; entries of dropped leaves are ignored.
#[derive(Default)]
pub struct ArrayLeaves {
    known: FxHashMap<usize, Weak<DeviceData>>,
    prune_at: usize,
}

impl ArrayLeaves {
    /// Data of the leaf of an array.
    pub fn of(&mut self, array: &Array) -> Arc<DeviceData> {
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
    use base::types::{DType, TensorType};

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
