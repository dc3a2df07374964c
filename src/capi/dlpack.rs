//! Chapter DLPack: arrays shared with other libraries.

use super::abi::arguments::{flag, out, ranked, slice_mut};
use super::abi::guard::guard;
use super::device::kept_device;
use super::types::*;
use crate::allocation::with_room;
use crate::error;
use crate::error::Result;
use crate::io::dlpack::{self, Device, HOST, IS_COPIED, Managed, READ_ONLY, Tensor, Unversioned, VERSION};
use crate::later;
use crate::native::Array;
use crate::sync;
use crate::types::{DType, SharedBytes, TensorType, count, element_count};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A struct that hands memory over.
trait Carrier: Sized + 'static {
    /// One that describes a tensor; its deleter is ours, and its context is set later.
    fn of(tensor: Tensor, is_copied: bool) -> Self;
    /// An error unless its version is one that is known.
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

/// What keeps exported memory and the lists that describe it.
struct Export<M> {
    managed: M,
    _array: Array,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// The tensor's values of now as a `DLManagedTensorVersioned` (dlpack.h 1.x), computed if they are pending, on the host.
/// Row-major, with the flag READ_ONLY: the memory is shared with the library, and with no copy where the values lie in host
/// memory anyway (native tensors, the CPU plugin); elsewhere they are copied, and the flag IS_COPIED is set. No step consumes
/// the memory while the export lives (D5): in-place operations on the tensor go on, into other memory. The caller owns the
/// struct, and ends it with its `deleter`, on any thread. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tensor_to_dlpack(tensor: lxla_tensor, out_managed: *mut *mut c_void) -> lxla_status {
    guard("lxla_tensor_to_dlpack", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_managed", out_managed)? };
        let (array, is_copied) = sync::to_array(tensor.into())?;
        place.set(exported::<Managed>(array, is_copied)?.cast())
    })
}

/// As `lxla_tensor_to_dlpack`, but a `DLManagedTensor`, the struct of DLPack before 1.0, which older consumers take (in Python the
/// capsule `dltensor`). It has no flag for memory that is read-only: with `copy` 1 the consumer gets memory of its own, which
/// it may write to; with `copy` 0 the memory is shared as by `lxla_tensor_to_dlpack`, and the caller sees to it that the
/// consumer only reads (NumPy makes such arrays read-only, PyTorch does not). The caller owns the struct, and ends it with its
/// `deleter`, on any thread. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tensor_to_dlpack_unversioned(
    tensor: lxla_tensor,
    copy: i32,
    out_managed: *mut *mut c_void,
) -> lxla_status {
    guard("lxla_tensor_to_dlpack_unversioned", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_managed", out_managed)? };
        let copy = flag("copy", copy)?;
        let (mut array, is_copied) = sync::to_array(tensor.into())?;
        if copy && !is_copied {
            array = Array::from_bytes(array.ty(), array.bytes())?;
        }
        place.set(exported::<Unversioned>(array, copy)?.cast())
    })
}

fn exported<M: Carrier>(array: Array, is_copied: bool) -> Result<*mut M> {
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
    // SAFETY: it was a box a moment ago, and nobody else knows it.
    unsafe {
        *(*export).managed.context() = export.cast();
        Ok(&raw mut (*export).managed)
    }
}

unsafe extern "C" fn delete<M: Carrier>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    // SAFETY: the consumer calls this once, with what it was given, whose context is the box that it came from.
    drop(unsafe { Box::from_raw((*managed).context().cast::<Export<M>>()) });
}

/// A tensor with the values of a `DLManagedTensorVersioned` (dlpack.h 1.x) in host memory. With `copy` 0 a native tensor
/// shares the memory if it is row-major and aligned for its dtype, and so does one on a device that computes in host memory (the CPU plugin) if
/// it is aligned to 64 bytes: then nobody may change it until the `deleter` was called. Otherwise, and with `copy` 1, the values
/// are copied. On success the library owns the struct, and calls its `deleter` when nothing needs the memory any more, on
/// whatever thread that is, with no lock of the library held: it may call the library. On failure the struct is still the caller's. UNIMPLEMENTED for memory of other devices, several lanes and dtypes
/// that the library lacks; pred takes 0 or 1. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tensor_from_dlpack(
    env: lxla_env,
    device: lxla_device,
    managed: *mut c_void,
    copy: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard("lxla_tensor_from_dlpack", || unsafe { imported::<Managed>(env, device, managed.cast(), copy, out_tensor) })
}

/// As `lxla_tensor_from_dlpack`, of a `DLManagedTensor`, the struct of DLPack before 1.0, which older producers give (in Python
/// the capsule `dltensor`). As long as memory is shared, with `copy` 0, nobody may change it, as there. Gives one reference.
/// Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_tensor_from_dlpack_unversioned(
    env: lxla_env,
    device: lxla_device,
    managed: *mut c_void,
    copy: i32,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard("lxla_tensor_from_dlpack_unversioned", || unsafe {
        imported::<Unversioned>(env, device, managed.cast(), copy, out_tensor)
    })
}

/// See `lxla_tensor_from_dlpack`, whose caller's promise is this one's.
unsafe fn imported<M: Carrier>(
    env: lxla_env,
    device: lxla_device,
    managed: *mut M,
    copy: i32,
    out_tensor: *mut lxla_tensor,
) -> Result<()> {
    // SAFETY: the caller's promise, see `capi`.
    let (given, place) = unsafe { (&mut slice_mut("managed", managed, 1)?[0], out("out_tensor", out_tensor)?) };
    let copy = flag("copy", copy)?;
    let target = kept_device(env, device)?;
    given.check_version()?;
    // SAFETY: the caller's promise, see `capi`: what the struct points at is as it says.
    let import = unsafe { Import::of(given.tensor())? };
    let owned = Arc::new(Owned { managed, bytes: import.bytes(), is_ours: AtomicBool::new(false) });
    let may_share = import.is_row_major && !copy;
    let array = match may_share.then(|| Array::shared(&import.ty, owned.clone())).flatten() {
        Some(array) => array,
        None => import.copied()?,
    };
    let tensor = sync::from_array(target.device, array)?;
    owned.is_ours.store(true, Ordering::Relaxed);
    place.set(tensor.into())
}

/// A struct that was handed over, from the moment when that has succeeded.
struct Owned<M: Carrier> {
    managed: *mut M,
    bytes: *const [u8],
    is_ours: AtomicBool,
}

// SAFETY: the memory is only read, and the deleter may be called on any thread.
unsafe impl<M: Carrier> Send for Owned<M> {}
// SAFETY: as above.
unsafe impl<M: Carrier> Sync for Owned<M> {}

// SAFETY: the caller promised that nobody changes the memory until the deleter is called, which is when this is dropped.
unsafe impl<M: Carrier> SharedBytes for Owned<M> {
    fn bytes(&self) -> &[u8] {
        // SAFETY: as above; there are as many bytes as the struct says.
        unsafe { &*self.bytes }
    }
}

impl<M: Carrier> Drop for Owned<M> {
    fn drop(&mut self) {
        if !self.is_ours.load(Ordering::Relaxed) {
            return;
        }
        let managed = self.managed;
        // Where this thread is in a call, it may hold a lock; and the deleter may call the library.
        later::run_later(move || {
            // SAFETY: the struct is ours, and nothing uses it after this.
            unsafe {
                if let Some(deleter) = (*managed).deleter() {
                    deleter(managed);
                }
            }
        });
    }
}

/// What a struct says, checked.
struct Import {
    ty: TensorType,
    strides: Vec<i64>,
    is_row_major: bool,
    start: *const u8,
}

impl Import {
    /// Of a description that says the truth about its memory.
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

    /// The memory, if it is row-major; else nothing.
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
            // SAFETY: the struct says that there is an element at every index within its shape.
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
            // A broadcast axis has one element in memory, however long it is.
            let own = |(&dim, &stride): (&i64, &i64)| if stride == 0 { dim.min(1) } else { dim };
            let dims: Vec<i64> = self.ty.dims.iter().zip(&self.strides).map(own).collect();
            self.each(&dims, |element| wrong = wrong.or(Some(element[0]).filter(|&byte| byte > 1)));
        }
        wrong.map_or(Ok(()), |byte| {
            Err(error!(InvalidArgument, "managed: an element of {} is {byte}; pred takes 0 or 1", self.ty))
        })
    }
}
