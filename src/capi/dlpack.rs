//! Chapter DLPack: arrays shared with other libraries.

use super::abi::arguments::{flag, ranked, slice_mut};
use super::abi::guard::guard_into;
use super::abi::results::output;
use super::device::kept_device;
use super::tensor::wait_until_unused;
use super::types::*;
use crate::allocation::with_room;
use crate::call;
use crate::device::TensorHandle;
use crate::error;
use crate::error::Result;
use crate::io::dlpack::{self, Device, HOST, IS_COPIED, Managed, READ_ONLY, Tensor, Unversioned, VERSION};
use crate::native::Array;
use crate::sync;
use crate::types::{DType, SharedBytes, TensorType, count, element_count};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One of DLPack's structs that transfer ownership of memory: versioned or unversioned.
trait Carrier: Sized + 'static {
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

/// Returns the current values of a tensor in host memory as a `DLManagedTensorVersioned` (dlpack.h 1.x), row-major,
/// with the flag READ_ONLY. Computes a pending value first. The memory is shared with the library where the values
/// are in host memory (eager tensors, CPU plugins); otherwise they are copied, and the flag IS_COPIED is set. No step
/// donates the memory while the export lives; in-place operations give the tensor other memory. The caller owns the
/// struct, and must call its `deleter`, on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tensor_to_dlpack(tensor: lxla_tensor, out_managed: *mut *mut c_void) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_tensor_to_dlpack", unsafe { output("out_managed", out_managed) }, || {
        let (array, is_copied) = sync::to_array(tensor.into())?;
        exported::<Managed>(array, is_copied)
    })
}

/// As `lxla_tensor_to_dlpack`, but returns a `DLManagedTensor`, the struct of DLPack before 1.0 (in Python the
/// capsule `dltensor`). It has no read-only flag: with `copy` 1 the consumer gets memory of its own, which it may
/// write; with `copy` 0 the memory may be shared, and the caller must ensure that the consumer only reads it (NumPy
/// makes such arrays read-only, PyTorch does not).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tensor_to_dlpack_unversioned(
    tensor: lxla_tensor,
    copy: i32,
    out_managed: *mut *mut c_void,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_tensor_to_dlpack_unversioned", unsafe { output("out_managed", out_managed) }, || {
        let copy = flag("copy", copy)?;
        let (mut array, is_copied) = sync::to_array(tensor.into())?;
        if copy && !is_copied {
            array = Array::from_bytes(array.ty(), array.bytes())?;
        }
        exported::<Unversioned>(array, copy)
    })
}

/// Returns a struct that owns `array`, whose deleter frees both.
fn exported<M: Carrier>(array: Array, is_copied: bool) -> Result<*mut c_void> {
    let dims = &array.ty().dims;
    let tensor = Tensor {
        data: array.address().cast_mut().cast(),
        device: Device { device_type: HOST, device_id: 0 },
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

/// Returns a tensor with the values of a `DLManagedTensorVersioned` (dlpack.h 1.x) in host memory. With `copy` 0, the
/// memory is shared by an eager tensor if it is row-major and aligned to the size of an element (16 bytes for c128),
/// and by a tensor on a device that computes in host memory (CPU plugins) if it is also aligned to 64 bytes; it must
/// not be modified until the `deleter` is called. Otherwise, and with `copy` 1, the values are copied.
///
/// On success the library owns the struct, and calls its `deleter` when the memory is no longer needed, on any
/// thread, holding no lock of the library, so that the deleter may call the library. On failure the caller keeps the
/// struct. UNIMPLEMENTED for memory of other devices, more than one lane, and unsupported dtypes; INVALID_ARGUMENT
/// for an element of pred other than 0 and 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tensor_from_dlpack(
    env: lxla_env,
    device: lxla_device,
    managed: *mut c_void,
    copy: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_tensor_from_dlpack", unsafe { output("out_tensor", out_tensor) }, || {
        // SAFETY: likewise.
        unsafe { imported::<Managed>(env, device, managed.cast(), copy) }
    })
}

/// As `lxla_tensor_from_dlpack`, for a `DLManagedTensor`, the struct of DLPack before 1.0 (in Python the capsule
/// `dltensor`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tensor_from_dlpack_unversioned(
    env: lxla_env,
    device: lxla_device,
    managed: *mut c_void,
    copy: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_tensor_from_dlpack_unversioned", unsafe { output("out_tensor", out_tensor) }, || {
        // SAFETY: likewise.
        unsafe { imported::<Unversioned>(env, device, managed.cast(), copy) }
    })
}

/// Implements `lxla_tensor_from_dlpack`, with the same requirements.
unsafe fn imported<M: Carrier>(env: lxla_env, device: lxla_device, managed: *mut M, copy: i32) -> Result<TensorHandle> {
    // SAFETY: the caller's promise, see `capi`.
    let given = unsafe { &mut slice_mut("managed", managed, 1)?[0] };
    let copy = flag("copy", copy)?;
    let target = kept_device(env, device)?;
    given.check_version()?;
    // SAFETY: the caller's promise, see `capi`: the struct describes its memory correctly.
    let import = unsafe { Import::of(given.tensor())? };
    let owned = Arc::new(Owned { managed, bytes: import.bytes(), is_ours: AtomicBool::new(false) });
    let may_share = import.is_row_major && !copy;
    let array = match may_share.then(|| Array::shared(&import.ty, owned.clone())).flatten() {
        Some(array) => array,
        None => import.copied()?,
    };
    let tensor = sync::from_array(target.device, array).inspect_err(|_| wait_until_unused(&owned))?;
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
            // SAFETY: the library owns the struct, and does not use it after this.
            unsafe {
                if let Some(deleter) = (*managed).deleter() {
                    deleter(managed);
                }
            }
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
        // SAFETY: the caller's promise.
        let dims = unsafe { ranked("managed: shape", tensor.shape.cast_const(), rank)? };
        element_count(dims)?;
        let ty = TensorType::new(dlpack::dtype(tensor.dtype)?, dims);
        let row_major = || (0..rank).map(|axis| count(&dims[axis + 1..]) as i64).collect();
        let strides: Vec<i64> = match tensor.strides.is_null() {
            true => row_major(),
            // SAFETY: the caller's promise.
            false => unsafe { ranked("managed: strides", tensor.strides.cast_const(), rank)? }.to_vec(),
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
