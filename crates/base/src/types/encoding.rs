//! The words of a program's encoding, shared, with their hash.

use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Immutable words with a hash that is computed once. Clones share the words; comparing an encoding with its clone
/// compares addresses.
#[derive(Clone, Debug)]
pub struct Encoding {
    words: Arc<[u32]>,
    mark: u32,
    hash: u64,
}

impl Encoding {
    /// Encoding of these words.
    pub fn new(words: Vec<u32>) -> Encoding {
        let mut hasher = FxHasher::default();
        words.hash(&mut hasher);
        Encoding { words: words.into(), mark: 0, hash: hasher.finish() }
    }

    /// The same words with a mark, which makes them another encoding.
    pub fn marked(&self, mark: u32) -> Encoding {
        let mut hasher = FxHasher::default();
        (self.hash, mark).hash(&mut hasher);
        Encoding { words: self.words.clone(), mark, hash: hasher.finish() }
    }

    /// The mark; 0 if it has none.
    pub fn mark(&self) -> u32 {
        self.mark
    }

    /// Words from which the hash was computed; compared when hashes are equal.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

impl PartialEq for Encoding {
    fn eq(&self, other: &Encoding) -> bool {
        let is_same = || Arc::ptr_eq(&self.words, &other.words) || self.words == other.words;
        self.mark == other.mark && self.hash == other.hash && is_same()
    }
}

impl Eq for Encoding {}

impl Hash for Encoding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_compared_by_their_words() {
        let one = Encoding::new(vec![1, 2, 3]);
        assert_eq!(one, one.clone());
        assert_eq!(one, Encoding::new(vec![1, 2, 3]));
        assert_ne!(one, Encoding::new(vec![1, 2]));
        // Another hash, which only an error could give, does not make equal words equal; words decide when hashes
        // agree.
        let collided = Encoding { words: vec![7].into(), mark: 0, hash: one.hash };
        assert_ne!(one, collided);
    }

    #[test]
    fn marks_make_other_encodings() {
        let one = Encoding::new(vec![1, 2, 3]);
        assert_eq!(one.marked(4), Encoding::new(vec![1, 2, 3]).marked(4));
        assert_ne!(one.marked(4), one);
        assert_ne!(one.marked(4), one.marked(5));
        assert_eq!((one.mark(), one.marked(4).mark(), one.marked(4).words()), (0, 4, one.words()));
    }
}
