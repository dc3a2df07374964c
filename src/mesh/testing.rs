//! Helpers for tests: random numbers, and a writer of protocol buffers.

use super::sharding::{Sharding, Split};

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

/// Encodes a varint.
pub fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Encodes a field that holds a number.
pub fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// Encodes a field that holds a message, a string or a packed list.
pub fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint((field << 3) | 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// Encodes a packed list of numbers.
pub fn packed(field: u64, values: &[usize]) -> Vec<u8> {
    let values: Vec<Vec<u8>> = values.iter().map(|&value| varint(value as u64)).collect();
    bytes(field, &values.concat())
}

/// Decodes hexadecimal digits.
pub fn hex(digits: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    digits.as_bytes().chunks(2).map(|pair| (digit(pair[0]) << 4) | digit(pair[1])).collect()
}
