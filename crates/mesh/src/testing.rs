//! Helpers for tests: random numbers, and messages of protocol buffers.

use super::sharding::{Sharding, Split};
use base::protobuf;

/// Pseudo-random numbers (SplitMix64) from a seed.
pub struct Random(pub u64);

impl Random {
    /// Number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((bits ^ (bits >> 31)) % end as u64) as usize
    }

    /// Sharding of this rank by some of `mesh_axes`, in any order.
    pub fn sharding(&mut self, mesh_axes: &[u8], rank: usize) -> Sharding {
        let mut left = mesh_axes.to_vec();
        let mut splits = vec![Split::new(); rank];
        while rank > 0 && !left.is_empty() {
            let axis = left.swap_remove(self.below(left.len()));
            // There is one number more than the tensor has axes: it leaves the mesh axis unused.
            if let Some(split) = splits.get_mut(self.below(rank + 1)) {
                split.push(axis);
            }
        }
        Sharding::new(splits)
    }
}

/// Encodes a packed list of numbers.
pub fn packed(field: u64, values: &[usize]) -> Vec<u8> {
    protobuf::packed(field, values.iter().map(|&value| value as u64))
}

/// Decodes hexadecimal digits.
pub fn hex(digits: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    digits.as_bytes().chunks(2).map(|pair| (digit(pair[0]) << 4) | digit(pair[1])).collect()
}
