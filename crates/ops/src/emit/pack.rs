//! Scalars that are passed to a program as parameters.

use base::types::{DType, Scalar, TensorType};

/// Scalar parameters of one dtype, packed into one vector: many scalar parameters would make XLA slow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedScalars {
    /// Dtype of the scalars.
    pub dtype: DType,
    /// Indices of the packed scalar slots, in the order of the vector.
    pub slots: Vec<usize>,
}

impl PackedScalars {
    /// Type of the vector. Scalars of 2 and 4 bits are bytes in it, as inside of programs: a vector of their dtype would
    /// be packed.
    pub fn ty(&self) -> TensorType {
        let dtype = match self.dtype {
            DType::S2 | DType::S4 => DType::S8,
            other if other.is_subbyte() => DType::U8,
            other => other,
        };
        TensorType::new(dtype, &[self.slots.len() as i64])
    }

    /// Bytes of the vector for a run with these scalars.
    pub fn bytes(&self, scalars: &[Scalar]) -> Vec<u8> {
        let size = self.dtype.size_bytes();
        self.slots.iter().flat_map(|&slot| scalars[slot].bits().to_le_bytes().into_iter().take(size)).collect()
    }
}

/// Groups the varying scalar slots by dtype.
pub fn gather(scalars: &[Scalar], varying: &[bool]) -> Vec<PackedScalars> {
    let mut packs: Vec<PackedScalars> = Vec::new();
    for slot in (0..scalars.len()).filter(|&i| varying[i]) {
        let dtype = scalars[slot].dtype();
        match packs.iter_mut().find(|pack| pack.dtype == dtype) {
            Some(pack) => pack.slots.push(slot),
            None => packs.push(PackedScalars { dtype, slots: vec![slot] }),
        }
    }
    packs
}
