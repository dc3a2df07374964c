//! Attributes of operations: structs, which traces and encoded programs store as integer words. Each operation declares
//! its struct with [`attributes!`] beside its definition.

use super::members::{FftOp, Transposition};
use base::types::{DType, Dims, TensorType, dims_of};
use mesh::{MeshAxes, Sharding};
use smallvec::SmallVec;

/// Encoded attributes.
pub type Words = SmallVec<[i64; 8]>;

/// A value with an encoding as integer words: the attributes of an operation, or one field of them.
pub trait Attributes: Sized {
    /// Appends the words of the value.
    fn write(&self, words: &mut Words);

    /// Reads the words that [`Attributes::write`] appended, and advances past them.
    fn read(words: &mut &[i64]) -> Self;
}

/// Returns the words of `attributes`.
pub fn encode(attributes: &impl Attributes) -> Words {
    let mut words = Words::new();
    attributes.write(&mut words);
    words
}

/// Returns the attributes with these words. Panics if they are the words of attributes of another type.
pub fn decode<A: Attributes>(mut words: &[i64]) -> A {
    let attributes = A::read(&mut words);
    debug_assert!(words.is_empty(), "the attributes of another operation");
    attributes
}

/// Declares structs of attributes, whose fields are encoded in order. A struct may derive more than the traits given
/// here.
#[macro_export]
macro_rules! attributes {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident { $($(#[$field_doc:meta])* $field_vis:vis $field:ident: $ty:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Eq)]
            $vis struct $name { $($(#[$field_doc])* $field_vis $field: $ty),* }

            impl $crate::Attributes for $name {
                fn write(&self, words: &mut $crate::Words) {
                    $($crate::Attributes::write(&self.$field, words);)*
                }

                fn read(words: &mut &[i64]) -> $name {
                    $(let $field = $crate::Attributes::read(words);)*
                    $name { $($field),* }
                }
            }
        )*
    };
}

pub use attributes;

fn next(words: &mut &[i64]) -> i64 {
    let (first, rest) = words.split_first().expect("the words of these attributes");
    *words = rest;
    *first
}

impl Attributes for () {
    fn write(&self, _: &mut Words) {}

    fn read(_: &mut &[i64]) {}
}

impl Attributes for i64 {
    fn write(&self, words: &mut Words) {
        words.push(*self);
    }

    fn read(words: &mut &[i64]) -> i64 {
        next(words)
    }
}

impl Attributes for usize {
    fn write(&self, words: &mut Words) {
        words.push(*self as i64);
    }

    fn read(words: &mut &[i64]) -> usize {
        next(words) as usize
    }
}

impl Attributes for bool {
    fn write(&self, words: &mut Words) {
        words.push(i64::from(*self));
    }

    fn read(words: &mut &[i64]) -> bool {
        next(words) == 1
    }
}

impl Attributes for String {
    fn write(&self, words: &mut Words) {
        self.len().write(words);
        words.extend(self.as_bytes().chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            i64::from_le_bytes(word)
        }));
    }

    fn read(words: &mut &[i64]) -> String {
        let length = usize::read(words);
        let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| next(words).to_le_bytes()).collect();
        bytes.truncate(length);
        String::from_utf8(bytes).expect("the words of a string")
    }
}

/// Encodes members of enums as their numbers.
#[macro_export]
macro_rules! members {
    ($($name:ident),* $(,)?) => {
        $(impl $crate::Attributes for $name {
            fn write(&self, words: &mut $crate::Words) {
                words.push(*self as i64);
            }

            fn read(words: &mut &[i64]) -> $name {
                let number = <i64 as $crate::Attributes>::read(words);
                $name::from_number(number as i32).expect("the number of a member")
            }
        })*
    };
}

members!(DType, FftOp, Transposition);

impl Attributes for MeshAxes {
    fn write(&self, words: &mut Words) {
        self.to_string().write(words);
    }

    fn read(words: &mut &[i64]) -> MeshAxes {
        String::read(words).parse().expect("the text of a mesh")
    }
}

impl Attributes for Sharding {
    fn write(&self, words: &mut Words) {
        self.words().collect::<Vec<i64>>().write(words);
    }

    fn read(words: &mut &[i64]) -> Sharding {
        Sharding::from_words(&Vec::<i64>::read(words))
    }
}

impl<A: Attributes> Attributes for Vec<A> {
    fn write(&self, words: &mut Words) {
        self.len().write(words);
        self.iter().for_each(|item| item.write(words));
    }

    fn read(words: &mut &[i64]) -> Vec<A> {
        (0..usize::read(words)).map(|_| A::read(words)).collect()
    }
}

impl Attributes for Dims {
    #[inline]
    fn write(&self, words: &mut Words) {
        words.push(self.len() as i64);
        // Word by word: a copy of variable length takes longer for so few.
        self.iter().for_each(|&dim| words.push(dim));
    }

    #[inline]
    fn read(words: &mut &[i64]) -> Dims {
        let length = next(words) as usize;
        let (dims, rest) = words.split_at(length);
        *words = rest;
        dims_of(dims)
    }
}

impl<A: Attributes, const N: usize> Attributes for [A; N] {
    fn write(&self, words: &mut Words) {
        self.iter().for_each(|item| item.write(words));
    }

    fn read(words: &mut &[i64]) -> [A; N] {
        std::array::from_fn(|_| A::read(words))
    }
}

impl Attributes for TensorType {
    fn write(&self, words: &mut Words) {
        self.dtype.write(words);
        self.dims.write(words);
    }

    fn read(words: &mut &[i64]) -> TensorType {
        let dtype = DType::read(words);
        TensorType { dtype, dims: Dims::read(words) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    attributes! {
        struct Everything {
            flag: bool,
            count: usize,
            text: String,
            types: Vec<TensorType>,
            pair: [i64; 2],
            op: FftOp,
        }
    }

    #[test]
    fn attributes_are_read_back() {
        for text in ["", "a", "exactly8", "größer {x = \"\\\"\"}"] {
            let attributes = Everything {
                flag: true,
                count: 3,
                text: text.to_string(),
                types: vec![TensorType::new(DType::F32, &[2, 0, 5]), TensorType::new(DType::C128, &[])],
                pair: [-1, i64::MAX],
                op: FftOp::Irfft,
            };
            assert_eq!(decode::<Everything>(&encode(&attributes)), attributes);
        }
    }
}
