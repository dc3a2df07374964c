//! Immutable arrays in shared host memory.

use super::element::Element;
use super::parallel::each_piece;
use super::writer::Writer;
use crate::error;
use crate::error::{Error, Result};
use crate::types::{DType, SharedBytes, TensorType};
use std::alloc::{Layout, alloc, dealloc};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// What the first element is aligned to: a cache line, and what XLA's CPU client wants to take memory over without a copy.
const ALIGNMENT: usize = 64;

/// What the allocator aligns to by itself. It is much faster at that than at more, so we align within a larger block.
const GIVEN_ALIGNMENT: usize = 16;

/// Arrays of at most so many bytes are held beside their reference count: one allocation is enough for them.
const NEAR_BYTES: usize = 64;

/// From how many bytes of a result on its pieces are shared out to threads.
const PARALLEL_BYTES: usize = 1 << 21;

/// Bytes of one piece: some of them fit a cache.
const PIECE_BYTES: usize = 1 << 18;

/// What writes a range of elements. Behind a pointer, so that there is one way to call it for each element type.
pub(super) type Fill<'a, T> = dyn Fn(Range<usize>, &mut Writer<T>) + Sync + 'a;

/// Elements of one type and shape in host memory, immutable and shared: a clone is another reference.
#[derive(Clone, Debug)]
pub struct Array(Arc<Storage>);

/// The type, and memory for the elements. Once an array has it, all of it is written, and nothing changes it.
struct Storage {
    ty: TensorType,
    bytes: usize,
    /// Where the elements are, unless they are near.
    far: Option<Far>,
    near: UnsafeCell<[MaybeUninit<u8>; NEAR_BYTES + ALIGNMENT]>,
}

/// Memory outside of the storage.
enum Far {
    /// The storage's own.
    Block(Block),
    /// Somebody else's.
    Shared(Arc<dyn SharedBytes>),
}

/// An allocation.
struct Block {
    base: NonNull<u8>,
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, or shares what anybody may read.
unsafe impl Send for Storage {}
// SAFETY: through a shared reference memory is only read, once an array has it; before, one function alone has it.
unsafe impl Sync for Storage {}

impl Storage {
    #[allow(clippy::declare_interior_mutable_const)]
    const NOTHING_NEAR: UnsafeCell<[MaybeUninit<u8>; NEAR_BYTES + ALIGNMENT]> =
        UnsafeCell::new([MaybeUninit::uninit(); NEAR_BYTES + ALIGNMENT]);

    /// Memory that others have, too.
    fn shared(ty: TensorType, memory: Arc<dyn SharedBytes>) -> Arc<Storage> {
        let bytes = memory.bytes().len();
        Arc::new(Storage { ty, bytes, far: Some(Far::Shared(memory)), near: Storage::NOTHING_NEAR })
    }

    /// Memory that is not written yet, of which nobody else knows.
    fn new(ty: &TensorType) -> Result<Arc<Storage>> {
        let bytes = ty.size_bytes();
        let far =
            if bytes <= NEAR_BYTES { None } else { Some(Far::Block(Block::new(bytes).ok_or_else(|| exhausted(ty))?)) };
        let storage = Arc::<Storage>::new_uninit();
        let place = Arc::as_ptr(&storage).cast::<Storage>().cast_mut();
        // Field by field: with the whole its near memory would be copied, in which there is nothing yet.
        // SAFETY: nobody else knows of the new storage. Every field is written but the near memory, which need not be.
        unsafe {
            (&raw mut (*place).ty).write(ty.clone());
            (&raw mut (*place).bytes).write(bytes);
            (&raw mut (*place).far).write(far);
            Ok(storage.assume_init())
        }
    }

    #[inline]
    fn start(&self) -> NonNull<u8> {
        match &self.far {
            Some(Far::Block(block)) => return block.start,
            Some(Far::Shared(memory)) => return NonNull::from(memory.bytes()).cast(),
            None => {}
        }
        let near = NonNull::from(&self.near).cast::<u8>();
        // SAFETY: less than ALIGNMENT bytes further the near memory is aligned, and it has as many to spare.
        unsafe { near.add(near.align_offset(ALIGNMENT)) }
    }

    /// The memory, as slots for elements.
    ///
    /// # Safety
    /// The memory is the storage's own, and nobody else uses it as long as the slots are used.
    #[allow(clippy::mut_from_ref)]
    unsafe fn slots<T: Element>(&self) -> &mut [MaybeUninit<T>] {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let start = self.start().cast::<MaybeUninit<T>>();
        // SAFETY: the memory is aligned for every element and holds that many; nothing need be written in a
        // MaybeUninit; the near memory is in a cell, the far one is no part of `self`, and the caller alone uses it.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), self.bytes / size_of::<T>()) }
    }
}

impl Block {
    /// So many bytes, unless memory is exhausted.
    fn new(bytes: usize) -> Option<Block> {
        let size = bytes.checked_add(ALIGNMENT - GIVEN_ALIGNMENT)?;
        let layout = Layout::from_size_align(size, GIVEN_ALIGNMENT).ok()?;
        // SAFETY: the layout's size is not 0: there is always room to align in.
        let base = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: aligning a block that is aligned to GIVEN_ALIGNMENT takes at most the difference, which was added.
        let start = unsafe { base.add(base.align_offset(ALIGNMENT)) };
        Some(Block { base, start, layout })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `base` came from `alloc` with this layout, and nothing else frees it.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

// SAFETY: once an array has the storage, all of it is written, and nothing changes or moves it.
unsafe impl SharedBytes for Storage {
    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: the storage has that many bytes.
        unsafe { std::slice::from_raw_parts(self.start().as_ptr(), self.bytes) }
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:?}", self.bytes, self.start())
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

    /// An array in memory that it shares with others, where its elements lie in row-major order; pred is 0 or 1 there.
    /// None if they are not aligned for their type.
    pub fn shared(ty: &TensorType, memory: Arc<dyn SharedBytes>) -> Option<Array> {
        let bytes = memory.bytes();
        // A complex number is aligned as its parts are.
        let alignment = ty.dtype.size_bytes().min(size_of::<u64>());
        if bytes.len() != ty.size_bytes() || bytes.is_empty() || bytes.as_ptr().align_offset(alignment) != 0 {
            return None;
        }
        Some(Array(Storage::shared(ty.clone(), memory)))
    }

    /// Its memory, to be shared with others.
    pub fn memory(&self) -> Arc<dyn SharedBytes> {
        self.0.clone()
    }

    /// An array whose elements `fill` writes, in row-major order. It panics unless it has written all of them.
    pub(super) fn write<T: Element>(ty: &TensorType, fill: impl FnOnce(&mut Writer<T>)) -> Result<Array> {
        Array::make::<T>(ty, |slots| {
            let mut writer = Writer::new(slots);
            fill(&mut writer);
            writer.finish();
        })
    }

    /// The same by what may fail, and then leaves elements unwritten.
    pub(super) fn try_write<T: Element>(
        ty: &TensorType,
        fill: impl FnOnce(&mut Writer<T>) -> Result<()>,
    ) -> Result<Array> {
        let mut outcome = Ok(());
        let array = Array::make::<T>(ty, |slots| {
            let mut writer = Writer::new(slots);
            outcome = fill(&mut writer);
            if outcome.is_err() {
                writer.repeat(T::zeroed(), writer.remaining());
            }
            writer.finish();
        })?;
        outcome.map(|()| array)
    }

    /// The same, by pieces of at most `size` elements, which are shared out to threads: `fill` is given the range of
    /// elements to write.
    pub(super) fn write_pieces<T: Element>(ty: &TensorType, size: usize, fill: &Fill<T>) -> Result<Array> {
        Array::make::<T>(ty, |slots| {
            let piece = |start: usize, slots: &mut [MaybeUninit<T>]| {
                let mut writer = Writer::new(slots);
                fill(start..start + writer.remaining(), &mut writer);
                writer.finish();
            };
            if slots.len() <= size {
                return piece(0, slots);
            }
            each_piece(slots, size, &piece);
        })
    }

    /// The same, by pieces that suit what is done once to every element; small arrays are one piece.
    pub(super) fn write_elementwise<T: Element>(ty: &TensorType, fill: &Fill<T>) -> Result<Array> {
        let size = if ty.size_bytes() < PARALLEL_BYTES { usize::MAX } else { PIECE_BYTES / size_of::<T>() };
        Array::write_pieces(ty, size, fill)
    }

    /// The same, by its bytes.
    fn write_bytes(ty: &TensorType, fill: impl FnOnce(&mut Writer<u8>)) -> Result<Array> {
        Array::make_slots(ty, |slots| {
            let mut writer = Writer::new(slots);
            fill(&mut writer);
            writer.finish();
        })
    }

    fn make<T: Element>(ty: &TensorType, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Result<Array> {
        assert_eq!(size_of::<T>(), ty.dtype.size_bytes(), "elements of {ty}");
        Array::make_slots(ty, fill)
    }

    /// `fill` must write every slot: that is what its callers above prove, by [`Writer::finish`].
    fn make_slots<T: Element>(ty: &TensorType, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Result<Array> {
        let storage = Storage::new(ty)?;
        // SAFETY: the storage is new, and nobody else knows of it until `fill` is done.
        fill(unsafe { storage.slots() });
        Ok(Array(storage))
    }

    /// The element type and shape.
    #[inline]
    pub fn ty(&self) -> &TensorType {
        &self.0.ty
    }

    /// The elements in row-major order, as the machine has them in memory.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// Where the elements are. They stay there as long as any clone of the array lives.
    pub fn address(&self) -> *const u8 {
        self.0.start().as_ptr()
    }

    /// The same elements in another shape of as many.
    pub fn reshape(&self, dims: &[i64]) -> Array {
        self.with_type(self.reshaped(dims))
    }

    /// The same bytes as elements of another type.
    pub fn bitcast(&self, ty: &TensorType) -> Array {
        assert_eq!(ty.size_bytes(), self.ty().size_bytes(), "{} as {ty}", self.ty());
        self.with_type(ty.clone())
    }

    fn with_type(&self, ty: TensorType) -> Array {
        // What holds on to others' memory holds on to no more than that.
        let memory = match &self.0.far {
            Some(Far::Shared(memory)) => memory.clone(),
            _ => self.memory(),
        };
        Array(Storage::shared(ty, memory))
    }

    /// The same, of an array that is not needed any more.
    pub(super) fn into_shape(mut self, dims: &[i64]) -> Array {
        let ty = self.reshaped(dims);
        match Arc::get_mut(&mut self.0) {
            Some(alone) => alone.ty = ty,
            None => return self.reshape(dims),
        }
        self
    }

    fn reshaped(&self, dims: &[i64]) -> TensorType {
        let ty = TensorType::new(self.ty().dtype, dims);
        assert_eq!(ty.elements(), self.ty().elements(), "{} in the shape of {ty}", self.ty());
        ty
    }

    /// The elements as `T`, which must be as wide as the element type.
    #[inline]
    pub fn elements<T: Element>(&self) -> &[T] {
        assert_eq!(size_of::<T>(), self.ty().dtype.size_bytes(), "elements of {}", self.ty());
        bytemuck::cast_slice(self.bytes())
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
        for bytes in [0, 1, 64, 65, 100, 5000, 1 << 20] {
            let array = Array::from_bytes(&TensorType::new(DType::U8, &[bytes]), &vec![7; bytes as usize]).unwrap();
            assert_eq!(array.address() as usize % ALIGNMENT, 0);
            assert!(array.bytes().iter().all(|&byte| byte == 7));
        }
        assert!(Array::from_bytes(&ty, &data[1..]).is_err());
    }

    #[test]
    fn memory_is_shared_if_it_is_aligned() {
        let ty = TensorType::new(DType::S32, &[8]);
        let data: Vec<u8> = (0..32).collect();
        let array = Array::from_bytes(&ty, &data).unwrap();
        let other = Array::shared(&TensorType::new(DType::S16, &[4, 4]), array.memory()).unwrap();
        assert_eq!((other.address(), other.bytes()), (array.address(), &data[..]));
        drop(array);
        assert_eq!(other.bytes(), &data[..]);

        struct Behind(Arc<dyn SharedBytes>);
        // SAFETY: as what it is a part of.
        unsafe impl SharedBytes for Behind {
            fn bytes(&self) -> &[u8] {
                &self.0.bytes()[1..29]
            }
        }
        assert!(Array::shared(&TensorType::new(DType::S32, &[7]), Arc::new(Behind(other.memory()))).is_none());
        let bytes = Array::shared(&TensorType::new(DType::U8, &[28]), Arc::new(Behind(other.memory()))).unwrap();
        assert_eq!(bytes.bytes(), &data[1..29]);
        assert!(Array::shared(&ty, bytes.memory()).is_none(), "28 bytes are not 32");
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
            let array = Array::write_elementwise::<u32>(&ty, &|range, out| {
                out.generate(range.len(), |i| (range.start + i) as u32);
            });
            let array = array.unwrap();
            assert!(array.elements::<u32>().iter().enumerate().all(|(i, &x)| x == i as u32));
        }
    }
}
