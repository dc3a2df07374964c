//! Data of leaves, which the trace stores without using it.

use base::types::TensorType;
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};

/// Data of a leaf: device data, or a parameter of a computation. Compared by address.
pub trait LeafData: Any + Send + Sync {
    /// Dtype and shape of the leaf.
    fn ty(&self) -> &TensorType;
    /// Cache of the leaf's node.
    fn place(&self) -> &LeafPlace;
}

/// Node of a leaf in the trace that recorded it last. Stored beside the data, so that equal leaves are equal nodes.
pub struct LeafPlace(AtomicU64);

impl Default for LeafPlace {
    fn default() -> LeafPlace {
        LeafPlace(AtomicU64::new(u64::MAX))
    }
}

impl LeafPlace {
    /// Node in the trace of this epoch; None if another trace or epoch has recorded the leaf since.
    #[inline]
    pub(super) fn get(&self, epoch: u32) -> Option<u32> {
        let leaf = self.0.load(Ordering::Relaxed);
        (leaf >> 32 == u64::from(epoch)).then_some(leaf as u32)
    }

    /// Remembers the node in the trace of this epoch.
    #[inline]
    pub(super) fn set(&self, epoch: u32, id: u32) {
        self.0.store(u64::from(epoch) << 32 | u64::from(id), Ordering::Relaxed);
    }
}

/// A leaf without data: a parameter of a computation that is traced on its own.
pub(super) struct Parameter {
    pub(super) ty: TensorType,
    pub(super) place: LeafPlace,
}

impl LeafData for Parameter {
    fn ty(&self) -> &TensorType {
        &self.ty
    }

    fn place(&self) -> &LeafPlace {
        &self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_of_one_epoch() {
        let place = LeafPlace::default();
        assert_eq!(place.get(0), None);
        place.set(3, 8);
        assert_eq!((place.get(3), place.get(4)), (Some(8), None));
    }
}
