//! Immutable arrays in shared host memory.

use super::element::Element;
use super::writer::Writer;
use crate::error;
use crate::error::{Error, Result};
use crate::types::{DType, Dims, TensorType};
use rayon::prelude::*;
use std::alloc::{Layout, alloc, dealloc};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// What the first element is aligned to: a cache line, and what XLA's CPU client wants to take memory over without a copy.
const ALIGNMENT: usize = 64;

/// What the allocator aligns to by itself. It is much faster at that than at more, so we align within a larger block.
const GIVEN_ALIGNMENT: usize = 16;

/// From how many bytes of a result on its pieces are shared out to threads.
const PARALLEL_BYTES: usize = 1 << 20;

/// Bytes of one piece: some of them fit a cache.
const PIECE_BYTES: usize = 1 << 18;

/// Elements of one type and shape in host memory, immutable and shared: a clone is another reference.
#[derive(Clone, Debug)]
pub struct Array {
    ty: TensorType,
    storage: Arc<Storage>,
}

/// Memory for the elements. Whoever holds it in an [`Arc`] knows that all of it is written, and will not change.
#[derive(Debug)]
struct Storage {
    base: NonNull<u8>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it owns its memory, and nothing changes that once the storage is shared.
unsafe impl Send for Storage {}
// SAFETY: as above; all access through a shared reference is reading.
unsafe impl Sync for Storage {}

impl Storage {
    /// Memory that is not written yet.
    fn new(ty: &TensorType) -> Result<Storage> {
        let bytes = ty.size_bytes();
        let layout = Storage::layout(bytes).ok_or_else(|| exhausted(ty))?;
        // SAFETY: the layout's size is not 0: there is always room to align in.
        let base = NonNull::new(unsafe { alloc(layout) }).ok_or_else(|| exhausted(ty))?;
        let room = base.align_offset(ALIGNMENT);
        // SAFETY: aligning a block that is aligned to GIVEN_ALIGNMENT takes at most the difference, which the layout adds.
        let start = unsafe { base.add(room) };
        Ok(Storage { base, start, bytes })
    }

    fn layout(bytes: usize) -> Option<Layout> {
        let size = bytes.checked_add(ALIGNMENT - GIVEN_ALIGNMENT)?;
        Layout::from_size_align(size, GIVEN_ALIGNMENT).ok()
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        let layout = Storage::layout(self.bytes).expect("it was allocated with this layout");
        // SAFETY: `base` came from `alloc` with the same layout, and nothing else frees it.
        unsafe { dealloc(self.base.as_ptr(), layout) };
    }
}

#[cold]
fn exhausted(ty: &TensorType) -> Error {
    error!(ResourceExhausted, "no host memory for {ty}: {} bytes", ty.size_bytes())
}

impl Array {
    /// A copy of `bytes`: the elements in row-major order, as the machine has them in memory. In pred, what is not 0 is 1.
    pub fn from_bytes(ty: &TensorType, bytes: &[u8]) -> Result<Array> {
        if bytes.len() != ty.size_bytes() {
            return Err(error!(
                InvalidArgument,
                "data: {} bytes given for {ty}, which has {}",
                bytes.len(),
                ty.size_bytes()
            ));
        }
        if ty.dtype == DType::Pred {
            return Array::write::<u8>(ty, |out| out.map(bytes, |byte| u8::from(byte != 0)));
        }
        Array::write_bytes(ty, |out| out.copy(bytes))
    }

    /// An array whose elements `fill` writes, in row-major order. It panics unless it has written all of them.
    pub(super) fn write<T: Element>(ty: &TensorType, fill: impl FnOnce(&mut Writer<T>)) -> Result<Array> {
        Array::make::<T>(ty, |slots| {
            let mut writer = Writer::new(slots);
            fill(&mut writer);
            writer.finish();
        })
    }

    /// The same, by pieces of at most `size` elements, which are shared out to threads: `fill` is given the range of
    /// elements to write.
    pub(super) fn write_pieces<T: Element>(
        ty: &TensorType,
        size: usize,
        fill: impl Fn(Range<usize>, &mut Writer<T>) + Sync,
    ) -> Result<Array> {
        Array::make::<T>(ty, |slots| {
            let piece = |start: usize, slots: &mut [MaybeUninit<T>]| {
                let mut writer = Writer::new(slots);
                fill(start..start + writer.remaining(), &mut writer);
                writer.finish();
            };
            if slots.len() <= size {
                return piece(0, slots);
            }
            slots.par_chunks_mut(size).enumerate().for_each(|(i, slots)| piece(i * size, slots));
        })
    }

    /// The same, by pieces that suit what is done once to every element; small arrays are one piece.
    pub(super) fn write_elementwise<T: Element>(
        ty: &TensorType,
        fill: impl Fn(Range<usize>, &mut Writer<T>) + Sync,
    ) -> Result<Array> {
        let size = if ty.size_bytes() < PARALLEL_BYTES { usize::MAX } else { PIECE_BYTES / size_of::<T>() };
        Array::write_pieces(ty, size, fill)
    }

    /// The same, by its bytes.
    fn write_bytes(ty: &TensorType, fill: impl FnOnce(&mut Writer<u8>)) -> Result<Array> {
        let mut storage = Storage::new(ty)?;
        let mut writer = Writer::new(storage.slots());
        fill(&mut writer);
        writer.finish();
        Ok(Array::of(ty, storage))
    }

    /// `fill` must write every slot: that is what its callers above prove, by [`Writer::finish`].
    fn make<T: Element>(ty: &TensorType, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Result<Array> {
        assert_eq!(size_of::<T>(), ty.dtype.size_bytes(), "elements of {ty}");
        let mut storage = Storage::new(ty)?;
        fill(storage.slots());
        Ok(Array::of(ty, storage))
    }

    fn of(ty: &TensorType, storage: Storage) -> Array {
        // Not `clone`, which copies dimension by dimension.
        let ty = TensorType { dtype: ty.dtype, dims: Dims::from_slice(&ty.dims) };
        Array { ty, storage: Arc::new(storage) }
    }

    /// The element type and shape.
    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    /// The elements in row-major order, as the machine has them in memory.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the storage has that many bytes, all written before the array was made, and none changed since.
        unsafe { std::slice::from_raw_parts(self.storage.start.as_ptr(), self.storage.bytes) }
    }

    /// Where the elements are. They stay there as long as any clone of the array lives.
    pub fn address(&self) -> *const u8 {
        self.storage.start.as_ptr()
    }

    /// The same elements in another shape of as many.
    pub fn reshape(&self, dims: &[i64]) -> Array {
        let ty = TensorType::new(self.ty.dtype, dims);
        assert_eq!(ty.elements(), self.ty.elements(), "{} in the shape of {ty}", self.ty);
        Array { ty, storage: self.storage.clone() }
    }

    /// The elements as `T`, which must be as wide as the element type.
    pub(super) fn elements<T: Element>(&self) -> &[T] {
        assert_eq!(size_of::<T>(), self.ty.dtype.size_bytes(), "elements of {}", self.ty);
        bytemuck::cast_slice(self.bytes())
    }
}

impl Storage {
    /// The memory, as slots for elements.
    fn slots<T: Element>(&mut self) -> &mut [MaybeUninit<T>] {
        let start = self.start.cast::<MaybeUninit<T>>();
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        // SAFETY: the memory is ours alone, aligned for every element, and holds that many; nothing need be written in
        // a MaybeUninit.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), self.bytes / size_of::<T>()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_copy_share_and_are_aligned() {
        let ty = TensorType::new(DType::S16, &[2, 3]);
        let data: Vec<u8> = (0..12).collect();
        let array = Array::from_bytes(&ty, &data).unwrap();
        assert_eq!((array.ty(), array.bytes()), (&ty, &data[..]));
        let flat = array.reshape(&[6]);
        assert_eq!((flat.address(), flat.ty().dims.to_vec()), (array.address(), vec![6]));
        for bytes in [0, 1, 64, 100, 5000, 1 << 20] {
            let array = Array::from_bytes(&TensorType::new(DType::U8, &[bytes]), &vec![7; bytes as usize]).unwrap();
            assert_eq!(array.address() as usize % ALIGNMENT, 0);
            assert!(array.bytes().iter().all(|&byte| byte == 7));
        }
        assert!(Array::from_bytes(&ty, &data[1..]).is_err());
    }

    #[test]
    fn pred_is_0_or_1() {
        let array = Array::from_bytes(&TensorType::new(DType::Pred, &[3]), &[0, 1, 200]).unwrap();
        assert_eq!(array.bytes(), [0, 1, 1]);
    }

    #[test]
    fn exhausted_memory_is_an_error() {
        let ty = TensorType::new(DType::C128, &[1 << 55]);
        let e = Array::write::<u128>(&ty, |out| out.repeat(0, 1 << 55)).unwrap_err();
        assert_eq!(e.code, crate::error::Code::ResourceExhausted);
        assert!(e.message.contains(&(1u64 << 59).to_string()), "{e}");
    }

    #[test]
    #[should_panic(expected = "written")]
    fn an_array_that_is_not_all_written_is_none() {
        let _ = Array::write::<u16>(&TensorType::new(DType::U16, &[3]), |out| out.repeat(0, 2));
    }

    #[test]
    fn pieces_cover_the_whole() {
        for count in [0usize, 1, 1000, 3_000_001] {
            let ty = TensorType::new(DType::U32, &[count as i64]);
            let array = Array::write_elementwise::<u32>(&ty, |range, out| {
                out.generate(range.len(), |i| (range.start + i) as u32);
            });
            let array = array.unwrap();
            assert!(array.elements::<u32>().iter().enumerate().all(|(i, &x)| x == i as u32));
        }
    }
}
