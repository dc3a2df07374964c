//! Scalars that are parameters.

use crate::types::{DType, Scalar, TensorType};

/// Those of one dtype, in one vector: many scalar parameters would make XLA slow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    /// Their dtype.
    pub dtype: DType,
    /// Which holes, in the order of the vector.
    pub holes: Vec<usize>,
}

impl Pack {
    /// The vector's type.
    pub fn ty(&self) -> TensorType {
        TensorType::new(self.dtype, &[self.holes.len() as i64])
    }

    /// The vector's bytes for a run with these scalars.
    pub fn bytes(&self, scalars: &[Scalar]) -> Vec<u8> {
        let size = self.dtype.size_bytes();
        self.holes.iter().flat_map(|&hole| scalars[hole].bits().to_le_bytes().into_iter().take(size)).collect()
    }
}

/// The varying holes, by dtype.
pub fn gather(scalars: &[Scalar], varying: &[bool]) -> Vec<Pack> {
    let mut packs: Vec<Pack> = Vec::new();
    for hole in (0..scalars.len()).filter(|&i| varying[i]) {
        let dtype = scalars[hole].dtype();
        match packs.iter_mut().find(|pack| pack.dtype == dtype) {
            Some(pack) => pack.holes.push(hole),
            None => packs.push(Pack { dtype, holes: vec![hole] }),
        }
    }
    packs
}
