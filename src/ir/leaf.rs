//! The data of leaves. A trace keeps it, and never looks into it.

use crate::types::TensorType;
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};

/// Data that a leaf of a trace stands for: device data, or a parameter of a computation. Compared by address.
pub trait LeafData: Any + Send + Sync {
    /// Dtype and shape of the leaf.
    fn ty(&self) -> &TensorType;
    /// The place that remembers the leaf's node.
    fn place(&self) -> &LeafPlace;
}

/// The node of a leaf in the trace that made it last, remembered beside the data so that equal leaves are equal nodes.
pub struct LeafPlace(AtomicU64);

impl Default for LeafPlace {
    fn default() -> LeafPlace {
        LeafPlace(AtomicU64::new(u64::MAX))
    }
}

impl LeafPlace {
    /// The node in the trace of this epoch; none if another trace or epoch made a leaf since.
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
