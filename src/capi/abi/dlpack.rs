//! DLPack's structs: export and import of memory in both of its forms.

use super::arguments::ranked;
use super::borrowed::wait_until_unused;
use super::pointers::{Dlpack, List};
use crate::device::{Device, TensorHandle};
use crate::sync;
use base::allocation::with_room;
use base::call;
use base::error;
use base::error::Result;
use base::io::dlpack::{self, HOST, IS_COPIED, READ_ONLY, Tensor, VERSION};
use base::types::{DType, SharedBytes, TensorType, count, element_count};
use engine::exceptions::catching_to_log;
use native::Array;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use base::io::dlpack::{Managed, Unversioned};

/// One of DLPack's structs that transfer ownership of memory: versioned or unversioned.
pub trait Carrier: Sized + 'static {
    /// Creates a struct that describes a tensor, with the library's deleter; the context is set later.
    fn of(tensor: Tensor, is_copied: bool) -> Self;
    /// Returns an error unless the version is supported.
    fn check_version(&self) -> Result<()>;
    fn tensor(&mut self) -> &mut Tensor;
    fn context(&mut self) -> &mut *mut c_void;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Carrier for Managed {
    fn of(tensor: Tensor, is_copied: bool) -> Managed {
        let flags = READ_ONLY | if is_copied { IS_COPIED } else { 0 };
        let (manager_ctx, deleter) = (std::ptr::null_mut(), Some(delete::<Managed> as _));
        Managed { version: VERSION, manager_ctx, deleter, flags, dl_tensor: tensor }
    }

    fn check_version(&self) -> Result<()> {
        if self.version.major != VERSION.major {
            let (major, minor) = (self.version.major, self.version.minor);
            return Err(error!(Unimplemented, "managed: DLPack {major}.{minor} given; want {}.x", VERSION.major));
        }
        Ok(())
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.dl_tensor
    }

    fn context(&mut self) -> &mut *mut c_void {
        &mut self.manager_ctx
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Managed)> {
        self.deleter
    }
}

impl Carrier for Unversioned {
    fn of(tensor: Tensor, _: bool) -> Unversioned {
        Unversioned { dl_tensor: tensor, manager_ctx: std::ptr::null_mut(), deleter: Some(delete::<Unversioned> as _) }
    }

    fn check_version(&self) -> Result<()> {
        Ok(())
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.dl_tensor
    }

    fn context(&mut self) -> &mut *mut c_void {
        &mut self.manager_ctx
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Unversioned)> {
        self.deleter
    }
}

/// Owner of exported memory and of the lists that describe it.
struct Export<M> {
    managed: M,
    _array: Array,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// Returns a struct that owns `array`, whose deleter frees both.
pub fn exported<M: Carrier>(array: Array, is_copied: bool) -> Result<*mut c_void> {
    let dims = &array.ty().dims;
    let tensor = Tensor {
        data: array.address().cast_mut().cast(),
        device: dlpack::Device { device_type: HOST, device_id: 0 },
        ndim: dims.len() as i32,
        dtype: dlpack::data_type(array.ty().dtype)?,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let managed = M::of(tensor, is_copied);
    let strides = (0..dims.len()).map(|axis| count(&dims[axis + 1..]) as i64).collect();
    let mut export = Box::new(Export { managed, shape: dims.to_vec(), strides, _array: array });
    let described = export.managed.tensor();
    (described.shape, described.strides) = (export.shape.as_mut_ptr(), export.strides.as_mut_ptr());
    let export = Box::into_raw(export);
    // SAFETY: the pointer comes from a box, and is not shared yet.
    unsafe {
        *(*export).managed.context() = export.cast();
        Ok((&raw mut (*export).managed).cast())
    }
}

unsafe extern "C" fn delete<M: Carrier>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    // SAFETY: the consumer calls this once, with the struct it received, whose context is the box of the export.
    drop(unsafe { Box::from_raw((*managed).context().cast::<Export<M>>()) });
}

/// Makes a tensor on `device` of a struct that the caller passes on, and owns the struct if that succeeds. The caller
/// promises that it describes its memory correctly.
pub fn imported<M: Carrier>(device: &'static Device, given: Dlpack<M>, copy: bool) -> Result<TensorHandle> {
    let managed = given.address()?;
    // SAFETY: not NULL, aligned, and not used by anyone else during the call by the caller's promise.
    let given = unsafe { &mut *managed };
    given.check_version()?;
    // SAFETY: the caller promises that the struct describes its memory correctly.
    let import = unsafe { Import::of(given.tensor())? };
    let owned = Arc::new(Owned { managed, bytes: import.bytes(), is_ours: AtomicBool::new(false) });
    let may_share = import.is_row_major && !copy;
    let array = match may_share.then(|| Array::shared(&import.ty, owned.clone())).flatten() {
        Some(array) => array,
        None => import.copied()?,
    };
    let tensor = sync::from_array(device, array).inspect_err(|_| wait_until_unused(&owned))?;
    owned.is_ours.store(true, Ordering::Relaxed);
    Ok(tensor)
}

/// Owner of an imported struct, once the import has succeeded (`is_ours`).
struct Owned<M: Carrier> {
    managed: *mut M,
    bytes: *const [u8],
    is_ours: AtomicBool,
}

// SAFETY: the memory is only read, and the deleter may be called on any thread.
unsafe impl<M: Carrier> Send for Owned<M> {}
// SAFETY: as above.
unsafe impl<M: Carrier> Sync for Owned<M> {}

// SAFETY: the caller guarantees that the memory is not modified until the deleter is called, when this is dropped.
unsafe impl<M: Carrier> SharedBytes for Owned<M> {
    fn bytes(&self) -> &[u8] {
        // SAFETY: as above; the struct gives the number of bytes.
        unsafe { &*self.bytes }
    }
}

impl<M: Carrier> Drop for Owned<M> {
    fn drop(&mut self) {
        if !self.is_ours.load(Ordering::Relaxed) {
            return;
        }
        let managed = self.managed;
        // Deferred: this thread may hold a lock, and the deleter may call the library.
        call::run_later(move || {
            type Deleter<M> = unsafe extern "C-unwind" fn(*mut M);
            // SAFETY: the library owns the struct. The type differs only in that exceptions may come out.
            let deleter = unsafe {
                let Some(deleter) = (*managed).deleter() else { return };
                std::mem::transmute::<unsafe extern "C" fn(*mut M), Deleter<M>>(deleter)
            };
            // SAFETY: as above; the struct is not used after this.
            catching_to_log("the deleter of an imported DLPack struct", move || unsafe { deleter(managed) });
        });
    }
}

/// Validated description of an imported array.
struct Import {
    ty: TensorType,
    strides: Vec<i64>,
    is_row_major: bool,
    start: *const u8,
}

impl Import {
    /// Validates a description, which must be correct about its memory.
    unsafe fn of(tensor: &Tensor) -> Result<Import> {
        if tensor.device.device_type != HOST {
            return Err(error!(
                Unimplemented,
                "managed: memory of device type {} given; want host memory ({HOST})", tensor.device.device_type
            ));
        }
        let rank =
            usize::try_from(tensor.ndim).map_err(|_| error!(InvalidArgument, "managed: rank {}", tensor.ndim))?;
        // SAFETY: the caller promises that the struct is correct.
        let (shape, given_strides) = unsafe { (List::at(tensor.shape), List::at(tensor.strides)) };
        let dims = ranked("managed: shape", shape, rank)?;
        element_count(dims)?;
        let ty = TensorType::new(dlpack::dtype(tensor.dtype)?, dims);
        let row_major = || (0..rank).map(|axis| count(&dims[axis + 1..]) as i64).collect();
        let strides: Vec<i64> = match given_strides.is_null() {
            true => row_major(),
            false => ranked("managed: strides", given_strides, rank)?.to_vec(),
        };
        if tensor.data.is_null() && ty.elements() > 0 {
            return Err(error!(NullArgument, "managed: its data is NULL, and it is {ty}"));
        }
        let start = tensor.data.cast_const().cast::<u8>().wrapping_add(tensor.byte_offset as usize);
        let import = Import { is_row_major: dlpack::is_row_major(dims, &strides), ty, strides, start };
        import.check_pred()?;
        Ok(import)
    }

    /// Returns the memory if it is row-major, else an empty range.
    fn bytes(&self) -> *const [u8] {
        let size = if self.is_row_major { self.ty.size_bytes() } else { 0 };
        let start = if size == 0 { NonNull::<u8>::dangling().as_ptr().cast_const() } else { self.start };
        std::ptr::slice_from_raw_parts(start, size)
    }

    /// Calls `visit` with the bytes of each element of an array of these dimensions, in row-major order.
    fn each(&self, dims: &[i64], mut visit: impl FnMut(&[u8])) {
        let size = self.ty.dtype.size_bytes();
        let mut place = vec![0; dims.len()];
        for _ in 0..count(dims) {
            let offset =
                place.iter().zip(&self.strides).fold(0i64, |sum, (index, stride)| sum.wrapping_add(index * stride));
            let element = self.start.wrapping_offset(offset as isize * size as isize);
            // SAFETY: the struct guarantees an element at every index within its shape.
            visit(unsafe { std::slice::from_raw_parts(element, size) });
            for axis in (0..dims.len()).rev() {
                place[axis] += 1;
                if place[axis] < dims[axis] {
                    break;
                }
                place[axis] = 0;
            }
        }
    }

    fn copied(&self) -> Result<Array> {
        let mut bytes = with_room(self.ty.size_bytes(), format_args!("managed: a copy of {}", self.ty))?;
        self.each(&self.ty.dims, |element| bytes.extend_from_slice(element));
        Array::from_bytes(&self.ty, &bytes)
    }

    fn check_pred(&self) -> Result<()> {
        let mut wrong = None;
        if self.ty.dtype == DType::Pred {
            // A broadcast axis (stride 0) has one element in memory, whatever its size.
            let own = |(&dim, &stride): (&i64, &i64)| if stride == 0 { dim.min(1) } else { dim };
            let dims: Vec<i64> = self.ty.dims.iter().zip(&self.strides).map(own).collect();
            self.each(&dims, |element| wrong = wrong.or(Some(element[0]).filter(|&byte| byte > 1)));
        }
        wrong.map_or(Ok(()), |byte| {
            Err(error!(InvalidArgument, "managed: an element of {} is {byte}; pred takes 0 or 1", self.ty))
        })
    }
}
