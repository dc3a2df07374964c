//! Elements of 4 bits in files: two in each byte, the first one in the low bits. In memory each has a byte.

/// Packs elements that come in pieces.
#[derive(Default)]
pub struct Packer {
    /// An element whose byte is not complete.
    first: Option<u8>,
}

impl Packer {
    /// Returns the bytes that the elements of a piece complete.
    pub fn pack(&mut self, elements: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(elements.len().div_ceil(2));
        for element in elements.iter().map(|element| element & 0xF) {
            match self.first.take() {
                None => self.first = Some(element),
                Some(first) => packed.push(first | element << 4),
            }
        }
        packed
    }
}

/// Unpacks elements in place: their bytes fill the first half of `bytes`, which has a byte for each element.
pub fn unpack(bytes: &mut [u8]) {
    for at in (0..bytes.len() / 2).rev() {
        let pair = bytes[at];
        bytes[2 * at] = pair & 0xF;
        bytes[2 * at + 1] = pair >> 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_back_from_pieces_of_any_length() {
        let elements: Vec<u8> = (0..38).map(|i: u8| i % 13).collect();
        for piece in 1..9 {
            let mut packer = Packer::default();
            let mut bytes: Vec<u8> = elements.chunks(piece).flat_map(|piece| packer.pack(piece)).collect();
            assert_eq!((bytes.len(), bytes[0]), (19, elements[0] | elements[1] << 4));
            bytes.resize(38, 0);
            unpack(&mut bytes);
            assert_eq!(bytes, elements);
        }
    }
}
