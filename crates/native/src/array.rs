//! Immutable arrays in shared host memory.

use super::element::Element;
use super::parallel::each_piece;
use super::writer::Writer;
use base::error;
use base::error::{Error, Result};
use base::types::{DType, SharedBytes, TensorType};
use parking_lot::Mutex;
use std::alloc::{Layout, alloc, dealloc};
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

/// Alignment of the first element, in bytes: a cache line, and the alignment that XLA's CPU client requires to import
/// host memory without a copy.
const ALIGNMENT: usize = 64;

/// Alignment requested from the allocator. Larger alignments are much slower to allocate, so the block is
/// over-allocated and aligned here.
const GIVEN_ALIGNMENT: usize = 16;

/// Allocations of at least this many bytes ask the system for huge pages: the first touch of 4 KiB pages takes several
/// times as long as writing them. NumPy does so, too.
const HUGE_BYTES: usize = 1 << 22;

/// Size of a page.
const PAGE_BYTES: usize = 4096;

/// Arrays of at most this many bytes are stored inline, beside the reference count, in a single allocation.
const NEAR_BYTES: usize = 64;

/// Results of at least this many bytes are computed in pieces on several threads.
const PARALLEL_BYTES: usize = 1 << 21;

/// Size of one piece in bytes; several pieces fit in a cache.
const PIECE_BYTES: usize = 1 << 18;

/// Function that writes a range of elements. A trait object, so that the callers are compiled once per element type.
pub(super) type Fill<'a, T> = dyn Fn(Range<usize>, &mut Writer<T>) + Sync + 'a;

/// Like [`Fill`], for elements that may be partly written if it fails.
pub(super) type TryFill<'a, T> = dyn Fn(Range<usize>, &mut Writer<T>) -> Result<()> + Sync + 'a;

/// Elements of one dtype and shape in host memory, aligned to the size of an element. Immutable and shared: a clone is
/// another reference.
#[derive(Clone, Debug)]
pub struct Array(Arc<Storage>);

/// The type and the memory of the elements. Once an [`Array`] holds it, every byte is initialized and never changes.
struct Storage {
    ty: TensorType,
    bytes: usize,
    /// Memory outside of this struct, or None if the elements are in `near`.
    far: Option<Far>,
    near: UnsafeCell<[MaybeUninit<u8>; NEAR_BYTES + ALIGNMENT]>,
}

/// Memory outside of the storage itself.
enum Far {
    /// Allocated and owned by the storage.
    Block(Block),
    /// Owned by another object, kept alive by this reference.
    Shared(Arc<dyn SharedBytes>),
}

/// A heap allocation; `start` is the first address in it that is aligned to [`ALIGNMENT`].
struct Block {
    base: NonNull<u8>,
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns its memory, or shares memory that any thread may read.
unsafe impl Send for Storage {}
// SAFETY: once an array holds the storage, its memory is only read through shared references; before that, only the
// function that creates it has access.
unsafe impl Sync for Storage {}

impl Storage {
    #[allow(clippy::declare_interior_mutable_const)]
    const NOTHING_NEAR: UnsafeCell<[MaybeUninit<u8>; NEAR_BYTES + ALIGNMENT]> =
        UnsafeCell::new([MaybeUninit::uninit(); NEAR_BYTES + ALIGNMENT]);

    /// Storage over memory owned by another object.
    fn shared(ty: TensorType, memory: Arc<dyn SharedBytes>) -> Arc<Storage> {
        let bytes = memory.bytes().len();
        Arc::new(Storage { ty, bytes, far: Some(Far::Shared(memory)), near: Storage::NOTHING_NEAR })
    }

    /// Allocates uninitialized memory; the caller holds the only reference.
    fn new(ty: &TensorType) -> Result<Arc<Storage>> {
        let bytes = ty.size_bytes();
        let far =
            if bytes <= NEAR_BYTES { None } else { Some(Far::Block(Block::new(bytes).ok_or_else(|| exhausted(ty))?)) };
        // Its layout is a constant, while that of `Arc::new_uninit` is computed.
        let storage = Arc::new(MaybeUninit::<Storage>::uninit());
        let place = Arc::as_ptr(&storage).cast::<Storage>().cast_mut();
        // Initialized field by field: moving a whole `Storage` would copy the uninitialized inline memory.
        // SAFETY: nothing else refers to the new storage. Every field is written except the inline memory, which may
        // stay uninitialized.
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
        // SAFETY: the next aligned address is less than ALIGNMENT bytes away, and the inline memory has ALIGNMENT spare
        // bytes.
        unsafe { near.add(near.align_offset(ALIGNMENT)) }
    }

    /// The memory as uninitialized elements.
    ///
    /// # Safety
    /// The storage owns the memory, and nothing else accesses it while the slice is alive.
    #[allow(clippy::mut_from_ref)]
    unsafe fn slots<T: Element>(&self) -> &mut [MaybeUninit<T>] {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let start = self.start().cast::<MaybeUninit<T>>();
        // SAFETY: the memory is aligned for every element type and holds that many elements; `MaybeUninit` needs no
        // initialization; the inline memory is in an `UnsafeCell`, the heap block is not part of `self`, and the caller
        // has exclusive access.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), self.bytes / size_of::<T>()) }
    }
}

impl Block {
    /// Allocates `bytes` bytes, aligned to [`ALIGNMENT`]; None if memory is exhausted.
    fn new(bytes: usize) -> Option<Block> {
        let size = bytes.checked_add(ALIGNMENT - GIVEN_ALIGNMENT)?;
        let layout = Layout::from_size_align(size, GIVEN_ALIGNMENT).ok()?;
        // SAFETY: the layout's size is not 0, since it includes the bytes for aligning.
        let base = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: aligning an address that is a multiple of GIVEN_ALIGNMENT skips at most the difference, which was
        // added to the size.
        let start = unsafe { base.add(base.align_offset(ALIGNMENT)) };
        if size >= HUGE_BYTES {
            let skipped = base.align_offset(PAGE_BYTES);
            // SAFETY: the whole pages from there on are in the allocation, and the advice does not change their
            // content. It is not an error if the system does not take it.
            unsafe { libc::madvise(base.add(skipped).as_ptr().cast(), size - skipped, libc::MADV_HUGEPAGE) };
        }
        Some(Block { base, start, layout })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `base` was returned by `alloc` with this layout, and nothing else frees it.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

// SAFETY: once an array holds the storage, all of its memory is initialized and neither changes nor moves.
unsafe impl SharedBytes for Storage {
    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: the storage has `self.bytes` initialized bytes.
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
    /// Copies `bytes`: the elements in row-major order and native byte order. For pred, nonzero bytes become 1; of types
    /// of 2 and 4 bits, only the low bits count. INVALID_ARGUMENT if `bytes` has another size than `ty`.
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
        if !ty.dtype.is_normalized(bytes) {
            let mut normal = bytes.to_vec();
            ty.dtype.normalize(&mut normal);
            return Array::write_bytes(ty, |out| out.copy(&normal));
        }
        Array::write_bytes(ty, |out| out.copy(bytes))
    }

    /// Creates an array over shared memory, without a copy. The elements are in row-major order; pred elements must be
    /// 0 or 1. Returns None if the memory is empty, has another size than `ty`, has elements of 2 or 4 bits that are not
    /// normalized, or is not aligned to the size of an element: kernels that only move elements take complex numbers as
    /// integers of their width.
    pub fn shared(ty: &TensorType, memory: Arc<dyn SharedBytes>) -> Option<Array> {
        let bytes = memory.bytes();
        let is_whole = bytes.len() == ty.size_bytes() && !bytes.is_empty();
        if !is_whole || !is_aligned(bytes.as_ptr(), ty.dtype) || !ty.dtype.is_normalized(bytes) {
            return None;
        }
        Some(Array(Storage::shared(ty.clone(), memory)))
    }

    /// The memory of the elements, to be shared with other owners.
    pub fn memory(&self) -> Arc<dyn SharedBytes> {
        self.0.clone()
    }

    /// Creates an array whose elements `fill` writes in row-major order. Panics unless `fill` writes all of them.
    pub(super) fn write<T: Element>(ty: &TensorType, fill: impl FnOnce(&mut Writer<T>)) -> Result<Array> {
        Array::make::<T>(ty, |slots| {
            let mut writer = Writer::new(slots);
            fill(&mut writer);
            writer.finish();
        })
    }

    /// Like [`Array::write`] in pieces of at most `size` elements, which are distributed over threads: `fill` is given
    /// the range of elements to write.
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

    /// Like [`Array::write_pieces`], with a piece size for operations that visit each element once; small arrays are
    /// one piece.
    pub(super) fn write_elementwise<T: Element>(ty: &TensorType, fill: &Fill<T>) -> Result<Array> {
        Array::write_pieces(ty, elementwise_piece::<T>(ty), fill)
    }

    /// Like [`Array::write_pieces`] for a `fill` that can fail, on several threads at once: one of the errors is
    /// returned.
    pub(super) fn try_write_pieces<T: Element>(ty: &TensorType, size: usize, fill: &TryFill<T>) -> Result<Array> {
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let made = Array::write_pieces(ty, size, &|range, out| {
            if let Err(error) = fill(range, out) {
                *failure.lock() = Some(error);
                out.repeat(T::zeroed(), out.remaining());
            }
        })?;
        match failure.into_inner() {
            Some(error) => Err(error),
            None => Ok(made),
        }
    }

    /// Like [`Array::write`], byte by byte.
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

    /// Creates arrays of these types, whose elements `fill` writes, or leaves zero. Those of pred must be 0 or 1.
    pub fn write_several(types: &[TensorType], fill: impl FnOnce(Vec<&mut [u8]>) -> Result<()>) -> Result<Vec<Array>> {
        let storages = types.iter().map(Storage::new).collect::<Result<Vec<_>>>()?;
        let memory = |storage: &Arc<Storage>| {
            // SAFETY: the storage is new, so that nothing else refers to its memory until `fill` has returned; all of
            // it is set to zero.
            unsafe {
                let start = storage.start().as_ptr();
                start.write_bytes(0, storage.bytes);
                std::slice::from_raw_parts_mut(start, storage.bytes)
            }
        };
        fill(storages.iter().map(memory).collect())?;
        Ok(storages.into_iter().map(Array).collect())
    }

    /// `fill` must initialize every slot; the callers above check it with [`Writer::finish`].
    fn make_slots<T: Element>(ty: &TensorType, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Result<Array> {
        let storage = Storage::new(ty)?;
        // SAFETY: the storage is new, and nothing else refers to it until `fill` has returned.
        fill(unsafe { storage.slots() });
        Ok(Array(storage))
    }

    /// The dtype and shape.
    #[inline]
    pub fn ty(&self) -> &TensorType {
        &self.0.ty
    }

    /// Number of bytes of all elements.
    #[inline]
    pub fn size_bytes(&self) -> usize {
        self.0.bytes
    }

    /// The elements in row-major order and native byte order.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// Address of the first element. It stays valid as long as any clone of the array is alive.
    pub fn address(&self) -> *const u8 {
        self.0.start().as_ptr()
    }

    /// Returns the same elements with another shape, without a copy. Panics if the number of elements differs.
    pub fn reshape(&self, dims: &[i64]) -> Array {
        self.with_type(self.reshaped(dims))
    }

    /// Reinterprets the bytes as another type. Copies them only if they are in shared memory that is not aligned for
    /// that type. Panics if the number of bytes differs.
    pub fn bitcast(&self, ty: &TensorType) -> Result<Array> {
        assert_eq!(ty.size_bytes(), self.size_bytes(), "{} as {ty}", self.ty());
        if !is_aligned(self.address(), ty.dtype) {
            return Array::write_bytes(ty, |out| out.copy(self.bytes()));
        }
        Ok(self.with_type(ty.clone()))
    }

    fn with_type(&self, ty: TensorType) -> Array {
        // Refer to shared memory directly, so that the new array does not also keep this storage alive.
        let memory = match &self.0.far {
            Some(Far::Shared(memory)) => memory.clone(),
            _ => self.memory(),
        };
        Array(Storage::shared(ty, memory))
    }

    /// Like [`Array::reshape`] for an array that is consumed; changes the type in place if this is the only reference.
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

    /// The elements as a slice of `T`. Panics unless `T` has the size of the dtype.
    #[inline]
    pub fn elements<T: Element>(&self) -> &[T] {
        const { assert!(align_of::<T>() <= size_of::<T>()) };
        assert_eq!(size_of::<T>(), self.ty().dtype.size_bytes(), "elements of {}", self.ty());
        // SAFETY: the memory is aligned to the size of an element, which is that of `T` and at least its alignment; it
        // has that many initialized bytes, and an element may have any bits.
        unsafe { std::slice::from_raw_parts(self.0.start().cast::<T>().as_ptr(), self.0.bytes / size_of::<T>()) }
    }
}

/// Whether an address is a multiple of the size of an element.
fn is_aligned(address: *const u8, dtype: DType) -> bool {
    address.addr().is_multiple_of(dtype.size_bytes())
}

/// Number of elements of a piece for operations that visit each element once.
pub(super) fn elementwise_piece<T>(ty: &TensorType) -> usize {
    if ty.size_bytes() < PARALLEL_BYTES { usize::MAX } else { PIECE_BYTES / size_of::<T>() }
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
    fn pieces_that_fail_on_several_threads_are_one_error() {
        let ty = TensorType::new(DType::S64, &[64]);
        let made = |fails: fn(usize) -> bool| {
            Array::try_write_pieces(&ty, 4, &|range, out: &mut Writer<i64>| {
                out.repeat(7, 1);
                if fails(range.start) {
                    return Err(error!(ResourceExhausted, "no memory for {}", range.start));
                }
                out.repeat(7, out.remaining());
                Ok(())
            })
        };
        assert_eq!(made(|_| false).unwrap().elements::<i64>(), [7; 64]);
        assert!(made(|start| start == 60).unwrap_err().message.contains("no memory for 60"));
        assert_eq!(made(|_| true).unwrap_err().code, error::Code::ResourceExhausted);
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
        // SAFETY: as for the memory that it is a part of.
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
    fn elements_are_aligned_whatever_memory_is_shared() {
        struct From(Array, usize);
        // SAFETY: as for the memory that it is a part of.
        unsafe impl SharedBytes for From {
            fn bytes(&self) -> &[u8] {
                &self.0.bytes()[self.1..][..32]
            }
        }
        let all = Array::from_bytes(&TensorType::new(DType::U8, &[48]), &(0..48).collect::<Vec<u8>>()).unwrap();
        let complex = TensorType::new(DType::C128, &[2]);
        for start in 0..=16 {
            let memory = Arc::new(From(all.clone(), start));
            assert_eq!(Array::shared(&complex, memory.clone()).is_some(), start % 16 == 0);
            let bytes = Array::shared(&TensorType::new(DType::U8, &[2, 16]), memory).unwrap();
            let whole = bytes.bitcast(&complex).unwrap();
            assert_eq!((whole.elements::<u128>().len(), whole.bytes()), (2, bytes.bytes()));
            assert_eq!(whole.address() == bytes.address(), start % 16 == 0, "a copy only where it is needed");
        }
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
        assert_eq!(e.code, base::error::Code::ResourceExhausted);
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
