//! A tensor that is kept in a file.

use crate::error::{Error, Result, shown};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Dtypes of PyTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Element {
    U8,
    S8,
    S16,
    S32,
    S64,
    F16,
    F32,
    F64,
    C64,
    C128,
    Bool,
    BF16,
    U16,
    F8E4M3FN,
    F8E5M2,
}

impl Element {
    /// Dtype of a number of the schema (`ScalarType`); None if this reader does not know it.
    pub fn of_number(number: i64) -> Option<Element> {
        use Element::*;
        Some(match number {
            1 => U8,
            2 => S8,
            3 => S16,
            4 => S32,
            5 => S64,
            6 => F16,
            7 => F32,
            8 => F64,
            10 => C64,
            11 => C128,
            12 => Bool,
            13 => BF16,
            28 => U16,
            29 => F8E4M3FN,
            30 => F8E5M2,
            _ => return None,
        })
    }

    /// Dtype of a storage class of `torch`, as `FloatStorage`.
    pub fn of_storage(class: &str) -> Option<Element> {
        use Element::*;
        Some(match class {
            "ByteStorage" => U8,
            "CharStorage" => S8,
            "ShortStorage" => S16,
            "IntStorage" => S32,
            "LongStorage" => S64,
            "HalfStorage" => F16,
            "FloatStorage" => F32,
            "DoubleStorage" => F64,
            "ComplexFloatStorage" => C64,
            "ComplexDoubleStorage" => C128,
            "BoolStorage" => Bool,
            "BFloat16Storage" => BF16,
            _ => return None,
        })
    }

    /// Bytes of an element.
    pub fn size(self) -> usize {
        use Element::*;
        match self {
            U8 | S8 | Bool | F8E4M3FN | F8E5M2 => 1,
            S16 | F16 | BF16 | U16 => 2,
            S32 | F32 => 4,
            S64 | F64 | C64 => 8,
            C128 => 16,
        }
    }

    /// Whether the elements are floats.
    pub fn is_float(self) -> bool {
        use Element::*;
        matches!(self, F16 | F32 | F64 | BF16 | F8E4M3FN | F8E5M2)
    }
}

/// A tensor that is kept in a file: a part of a storage, with any strides. Tensors that share memory have one storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The dtype.
    pub element: Element,
    /// The sizes.
    pub sizes: Vec<i64>,
    /// The strides, in elements.
    pub strides: Vec<i64>,
    /// The first element in the storage.
    pub offset: i64,
    /// The bytes of the storage in the file.
    pub storage: Range<usize>,
    /// The checksum of the storage.
    pub crc: u32,
    /// Whether PyTorch computes a gradient by it.
    pub requires_grad: bool,
}

/// A tensor whose elements are repeated by strides of 0 may have this many times the bytes of the file, and
/// [`MOST_REPEATED`] bytes in any case.
const MOST_TIMES: usize = 64;
const MOST_REPEATED: usize = 1 << 20;

impl Stored {
    /// Checks that the elements lie within the storage.
    pub fn checked(self, file: usize) -> Result<Stored> {
        let wrong = |reason: String| Error::invalid(reason);
        if self.sizes.len() != self.strides.len() {
            return Err(wrong(format!("{} sizes and {} strides are given", self.sizes.len(), self.strides.len())));
        }
        if self.sizes.len() > 64 {
            return Err(wrong(format!("{} axes are given; want at most 64", self.sizes.len())));
        }
        if let Some(negative) = self.sizes.iter().chain(&self.strides).chain([&self.offset]).find(|&&n| n < 0) {
            return Err(wrong(format!("{negative} given as a size, a stride or an offset; want at least 0")));
        }
        let size = self.element.size();
        let outside = || {
            let (bytes, sizes, strides) = (self.storage.len(), &self.sizes, &self.strides);
            let offset = self.offset;
            wrong(format!(
                "sizes {sizes:?}, strides {strides:?} and offset {offset} of elements of {size} bytes lie outside of \
                 the storage, which has {bytes} bytes"
            ))
        };
        let mut count = 1usize;
        let mut last = Some(self.offset);
        for (&dim, &stride) in self.sizes.iter().zip(&self.strides) {
            count = usize::try_from(dim).ok().and_then(|dim| count.checked_mul(dim)).ok_or_else(outside)?;
            last = last.and_then(|last| (dim - 1).checked_mul(stride)?.checked_add(last));
        }
        if count == 0 {
            return Ok(self);
        }
        let end = last.and_then(|last| usize::try_from(last).ok()?.checked_add(1)?.checked_mul(size));
        if end.is_none_or(|end| end > self.storage.len()) {
            return Err(outside());
        }
        let bytes = count.checked_mul(size).ok_or_else(outside)?;
        if bytes > self.storage.len() && bytes > MOST_REPEATED.max(file.saturating_mul(MOST_TIMES)) {
            return Err(Error::unsupported(format!(
                "sizes {:?} with strides {:?} repeat a storage of {} bytes to {bytes} bytes",
                self.sizes,
                self.strides,
                self.storage.len()
            )));
        }
        Ok(self)
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.sizes.iter().map(|&dim| dim as usize).product()
    }

    /// Whether the elements lie in the order of the axes, without holes.
    pub fn is_row_major(&self) -> bool {
        let mut stride = 1i64;
        for (&dim, &given) in self.sizes.iter().zip(&self.strides).rev() {
            if dim != 1 && given != stride {
                return false;
            }
            stride = stride.saturating_mul(dim.max(1));
        }
        true
    }

    /// Whether two tensors are the same elements of one storage.
    pub fn is_same(&self, other: &Stored) -> bool {
        let place = |stored: &Stored| (stored.storage.clone(), stored.offset, stored.element, stored.sizes.clone());
        !self.storage.is_empty() && place(self) == place(other) && self.strides == other.strides
    }

    /// Checks that the storage is undamaged.
    pub fn verify(&self, file: &[u8]) -> Result<()> {
        match crc32fast::hash(&file[self.storage.clone()]) == self.crc {
            true => Ok(()),
            false => Err(Error::invalid("its storage is damaged: the checksum differs")),
        }
    }

    /// Returns the elements in the order of the axes: bytes of the file where they lie so, otherwise a copy.
    pub fn read<'f>(&self, file: &'f [u8]) -> Cow<'f, [u8]> {
        let storage = &file[self.storage.clone()];
        let size = self.element.size();
        let bytes = self.count() * size;
        if bytes == 0 {
            return Cow::Borrowed(&[]);
        }
        if self.is_row_major() {
            let first = self.offset as usize * size;
            return Cow::Borrowed(&storage[first..first + bytes]);
        }
        let mut made = Vec::with_capacity(bytes);
        let mut index = vec![0i64; self.sizes.len()];
        let mut at = self.offset;
        loop {
            let first = at as usize * size;
            made.extend_from_slice(&storage[first..first + size]);
            let Some(axis) = (0..index.len()).rev().find(|&axis| index[axis] + 1 < self.sizes[axis]) else { break };
            for (place, stride) in index.iter_mut().zip(&self.strides).skip(axis + 1) {
                at -= std::mem::take(place) * stride;
            }
            index[axis] += 1;
            at += self.strides[axis];
        }
        Cow::Owned(made)
    }
}

/// Adds a tensor; fails if the name is taken.
pub fn add(found: &mut BTreeMap<String, Stored>, name: &str, stored: Option<Stored>) -> Result<()> {
    let Some(stored) = stored else { return Ok(()) };
    match found.insert(name.to_string(), stored) {
        None => Ok(()),
        Some(_) => Err(Error::invalid(format!("two tensors have the name {}", shown(name)))),
    }
}
