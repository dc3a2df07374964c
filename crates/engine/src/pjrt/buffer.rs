//! A buffer on a PJRT device.

use super::api::{Args, call, function};
use super::client::Client;
use super::event::Event;
use super::{exit, layout, sys};
use crate::{Buffer, HostCopy, Tell};
use base::allocation::zeroed_bytes;
use base::error;
use base::error::{Error, Result};
use base::types::{SharedBytes, TensorType};
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Axes of a buffer in minor-to-major order (fastest-varying in memory first).
type AxisOrder = SmallVec<[i64; 8]>;

/// Owns a `PJRT_Buffer`. Its bytes are counted in the client's [`crate::Memory`] until it is consumed or
/// dropped.
pub struct PjrtBuffer {
    /// None in a shell: a buffer that was destroyed, whose object is kept for a new one.
    client: Option<Arc<Client>>,
    raw: *mut sys::PJRT_Buffer,
    ty: TensorType,
    device: usize,
    counted: AtomicBool,
}

// SAFETY: PJRT buffers may be used from any thread.
unsafe impl Send for PjrtBuffer {}
// SAFETY: as above.
unsafe impl Sync for PjrtBuffer {}

impl PjrtBuffer {
    /// Takes ownership of a buffer whose bytes the client has already counted.
    ///
    /// # Safety
    /// `raw` is a buffer of this client, with this type, that is not destroyed elsewhere.
    pub unsafe fn new(client: Arc<Client>, raw: *mut sys::PJRT_Buffer, ty: TensorType, device: usize) -> PjrtBuffer {
        PjrtBuffer { client: Some(client), raw, ty, device, counted: AtomicBool::new(true) }
    }

    /// Destroys the plugin's buffer. Returns the client; None if this is a shell.
    fn destroy(&mut self) -> Option<Arc<Client>> {
        let client = self.client.take()?;
        if *self.counted.get_mut() {
            client.count(0, self.ty.packed_bytes() as u64);
        }
        if let Ok(_inside) = exit::enter() {
            let mut args = Args::<sys::PJRT_Buffer_Destroy_Args>::new(client.api);
            args.buffer = self.raw;
            let _ = call!(client.api, PJRT_Buffer_Destroy, args);
        }
        Some(client)
    }

    pub(super) fn raw(&self) -> *mut sys::PJRT_Buffer {
        self.raw
    }

    /// Client of the buffer.
    pub(super) fn client(&self) -> &Arc<Client> {
        self.client.as_ref().expect("shells are not used")
    }

    /// Whether the buffer belongs to this client.
    pub(super) fn belongs_to(&self, client: &Arc<Client>) -> bool {
        Arc::ptr_eq(self.client(), client)
    }

    /// Stops counting the buffer's bytes. Returns their number, or 0 if they are no longer counted.
    pub(super) fn uncount(&self) -> u64 {
        if self.counted.swap(false, Ordering::Relaxed) { self.ty.packed_bytes() as u64 } else { 0 }
    }

    /// Whether a run of this library has consumed the buffer. Unlike [`Buffer::is_deleted`], does not ask the plugin.
    pub(super) fn is_consumed(&self) -> bool {
        !self.counted.load(Ordering::Relaxed)
    }

    fn ready_event(&self) -> Result<Event> {
        let mut args = Args::<sys::PJRT_Buffer_ReadyEvent_Args>::new(self.client().api);
        args.buffer = self.raw;
        call!(self.client().api, PJRT_Buffer_ReadyEvent, args)?;
        // SAFETY: the plugin transferred ownership of the event.
        Ok(unsafe { Event::new(self.client().api, args.event) })
    }

    /// Pointer to the content, if it is row-major in readable host memory, and not packed.
    pub(super) fn host_pointer(&self) -> Option<*const u8> {
        if !self.client().host_readable || self.ty.dtype.is_subbyte() || !self.is_row_major() {
            return None;
        }
        let mut args = Args::<sys::PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>::new(self.client().api);
        args.buffer = self.raw;
        call!(self.client().api, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, args).ok()?;
        (!args.device_memory_ptr.is_null()).then_some(args.device_memory_ptr.cast_const().cast())
    }

    fn is_row_major(&self) -> bool {
        self.ty.dims.len() < 2 || self.minor_to_major().is_some_and(|order| layout::is_row_major(&order))
    }

    /// Minor-to-major order of the axes; None if the layout is tiled or the plugin does not report it.
    fn minor_to_major(&self) -> Option<AxisOrder> {
        // The plugin's list of no axes may be null.
        if self.ty.dims.is_empty() {
            return Some(AxisOrder::new());
        }
        let mut args = Args::<sys::PJRT_Buffer_GetMemoryLayout_Args>::new(self.client().api);
        args.buffer = self.raw;
        call!(self.client().api, PJRT_Buffer_GetMemoryLayout, args).ok()?;
        if args.layout.type_ != sys::PJRT_Buffer_MemoryLayout_Type_Tiled {
            return None;
        }
        // SAFETY: the layout's type says that this field of the union is valid.
        let tiled = unsafe { args.layout.value.tiled };
        if tiled.num_tiles != 0 || tiled.minor_to_major_size != self.ty.dims.len() {
            return None;
        }
        // SAFETY: the plugin returned pointer and length, which are valid as long as the buffer.
        let order = unsafe { std::slice::from_raw_parts(tiled.minor_to_major, tiled.minor_to_major_size) };
        Some(SmallVec::from_slice(order))
    }

    /// Returns the axis order to request from the plugin for a copy to the host, and the order to convert from
    /// afterwards. An untiled layout is copied as it is and converted here, because the CPU plugin ignores a request
    /// for another order (see the engine's tests). For a tiled layout, row-major order is requested from the plugin.
    fn host_order(&self) -> (Option<AxisOrder>, Option<AxisOrder>) {
        match self.minor_to_major() {
            Some(order) => (None, Some(order).filter(|order| !layout::is_row_major(order))),
            None => (Some((0..self.ty.dims.len() as i64).rev().collect()), None),
        }
    }

    /// Starts a `PJRT_Buffer_ToHostBuffer`. `minor_to_major` is the requested order; None keeps the order of the
    /// buffer. `destination` must stay valid until the event is ready.
    fn transfer_to_host(&self, destination: &mut [u8], minor_to_major: Option<&[i64]>) -> Result<Event> {
        let api = self.client().api;
        let mut layout = Args::<sys::PJRT_Buffer_MemoryLayout>::new(api);
        let mut args = Args::<sys::PJRT_Buffer_ToHostBuffer_Args>::new(api);
        args.src = self.raw;
        args.dst = destination.as_mut_ptr().cast();
        args.dst_size = destination.len();
        if let Some(order) = minor_to_major {
            let mut tiled = Args::<sys::PJRT_Buffer_MemoryLayout_Tiled>::new(api);
            tiled.minor_to_major = order.as_ptr();
            tiled.minor_to_major_size = order.len();
            layout.type_ = sys::PJRT_Buffer_MemoryLayout_Type_Tiled;
            layout.value.tiled = *tiled;
            args.host_layout = layout.as_mut_ptr();
        }
        call!(api, PJRT_Buffer_ToHostBuffer, args)?;
        // SAFETY: the plugin transferred ownership of the event.
        Ok(unsafe { Event::new(api, args.event) })
    }
}

/// View of device memory that is read in place.
struct InPlace {
    buffer: Arc<PjrtBuffer>,
    /// Fallback copy, made if the plugin does not return the pointer a second time.
    copy: Option<PluginCopy>,
}

impl HostCopy for InPlace {
    fn bytes(&mut self) -> Result<&[u8]> {
        let _inside = exit::enter()?;
        self.buffer.ready_event()?.wait()?;
        let Some(source) = self.buffer.host_pointer() else {
            return self.copy.insert(PluginCopy::start(self.buffer.clone())?).bytes();
        };
        // SAFETY: the buffer is ready, row-major, and has its type's size. It is kept alive, and the caller that
        // started this copy ensures that no run consumes it meanwhile.
        Ok(unsafe { std::slice::from_raw_parts(source, self.buffer.ty.size_bytes()) })
    }
}

/// Device memory that is kept alive while it is shared.
struct Shared {
    _buffer: Arc<PjrtBuffer>,
    start: *const u8,
    size: usize,
}

// SAFETY: the memory is only read, see `share`.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

// SAFETY: the buffer was ready when this was created, it is kept alive, and the caller of `share` ensures that no run
// consumes it meanwhile. Nothing else writes to a buffer or moves it.
unsafe impl SharedBytes for Shared {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the buffer is row-major and has its type's size.
        unsafe { std::slice::from_raw_parts(self.start, self.size) }
    }
}

/// A copy to the host in flight.
struct PluginCopy {
    /// Source of the copy, kept alive until the copy has ended.
    buffer: Arc<PjrtBuffer>,
    bytes: Vec<u8>,
    event: Event,
    /// Axis order to convert from; None once that is done or unnecessary.
    reorder: Option<AxisOrder>,
}

impl PluginCopy {
    fn start(buffer: Arc<PjrtBuffer>) -> Result<PluginCopy> {
        let (asked, reorder) = buffer.host_order();
        let mut bytes = zeroed_bytes(buffer.ty.size_bytes())?;
        let event = buffer.transfer_to_host(&mut bytes, asked.as_deref())?;
        Ok(PluginCopy { buffer, bytes, event, reorder })
    }
}

impl HostCopy for PluginCopy {
    fn bytes(&mut self) -> Result<&[u8]> {
        let _inside = exit::enter()?;
        self.event.wait()?;
        if let Some(order) = self.reorder.take() {
            let mut ordered = zeroed_bytes(self.bytes.len())?;
            layout::to_row_major(&self.buffer.ty, &order, &self.bytes, &mut ordered);
            self.bytes = ordered;
        }
        self.buffer.ty.dtype.normalize(&mut self.bytes);
        Ok(&self.bytes)
    }
}

impl Drop for PluginCopy {
    fn drop(&mut self) {
        // The plugin writes to `bytes` until the event is ready.
        match exit::enter() {
            Ok(_inside) => drop(self.event.wait()),
            Err(_) => std::mem::forget(std::mem::take(&mut self.bytes)),
        }
    }
}

impl Buffer for PjrtBuffer {
    fn tensor_type(&self) -> &TensorType {
        &self.ty
    }

    fn device(&self) -> usize {
        self.device
    }

    fn is_deleted(&self) -> bool {
        let Ok(_inside) = exit::enter() else {
            return false;
        };
        let mut args = Args::<sys::PJRT_Buffer_IsDeleted_Args>::new(self.client().api);
        args.buffer = self.raw;
        call!(self.client().api, PJRT_Buffer_IsDeleted, args).is_ok() && args.is_deleted
    }

    fn is_ready_by(&self, deadline: Instant) -> bool {
        // At the end of the process, and without an event, the read reports why.
        let Ok(_inside) = exit::enter() else { return true };
        self.ready_event().map_or(true, |event| event.has_ended_by(deadline))
    }

    fn failure(&self) -> Option<Error> {
        let _inside = exit::enter().ok()?;
        self.ready_event().ok()?.wait().err()
    }

    fn when_ready(&self, tell: Tell) {
        // At the end of the process, nobody is told.
        let Ok(_inside) = exit::enter() else { return };
        match self.ready_event() {
            Ok(event) => event.tell_when_ended(tell),
            Err(failure) => tell(Err(failure)),
        }
    }

    fn read(&self, destination: &mut [u8]) -> Result<()> {
        if destination.len() != self.ty.size_bytes() {
            return Err(error!(Internal, "read of {} into {} bytes", self.ty, destination.len()));
        }
        let _inside = exit::enter()?;
        self.ready_event()?.wait()?;
        if destination.is_empty() {
            return Ok(());
        }
        if let Some(source) = self.host_pointer() {
            // SAFETY: the buffer is ready, row-major, and has its type's size. `self` keeps it alive, and the caller's
            // hold ensures that no run consumes it meanwhile.
            destination.copy_from_slice(unsafe { std::slice::from_raw_parts(source, destination.len()) });
            return Ok(());
        }
        let (asked, reorder) = self.host_order();
        match reorder {
            None => self.transfer_to_host(destination, asked.as_deref())?.wait()?,
            Some(order) => {
                let mut raw = zeroed_bytes(destination.len())?;
                self.transfer_to_host(&mut raw, asked.as_deref())?.wait()?;
                layout::to_row_major(&self.ty, &order, &raw, destination);
            }
        }
        self.ty.dtype.normalize(destination);
        Ok(())
    }

    fn start_host_copy(self: Arc<Self>) -> Result<Box<dyn HostCopy>> {
        let _inside = exit::enter()?;
        let in_place = self.ty.size_bytes() > 0 && self.host_pointer().is_some();
        Ok(if in_place { Box::new(InPlace { buffer: self, copy: None }) } else { Box::new(PluginCopy::start(self)?) })
    }

    fn share(self: Arc<Self>) -> Result<Option<Arc<dyn SharedBytes>>> {
        let _inside = exit::enter()?;
        self.ready_event()?.wait()?;
        let size = self.ty.size_bytes();
        let start = self.host_pointer().filter(|_| size > 0);
        Ok(start.map(|start| Arc::new(Shared { _buffer: self, start, size }) as Arc<dyn SharedBytes>))
    }

    fn copy_to_device(&self, device: usize) -> Result<Arc<dyn Buffer>> {
        let _inside = exit::enter()?;
        let mut args = Args::<sys::PJRT_Buffer_CopyToDevice_Args>::new(self.client().api);
        args.buffer = self.raw;
        args.dst_device = self.client().device(device)?;
        call!(self.client().api, PJRT_Buffer_CopyToDevice, args)?;
        self.client().count(self.ty.packed_bytes() as u64, 0);
        // SAFETY: the plugin transferred ownership of a new buffer of the same type.
        let copy = unsafe { PjrtBuffer::new(self.client().clone(), args.dst_buffer, self.ty.clone(), device) };
        self.client().in_flight(device, copy.ready_event()?);
        Ok(Arc::new(copy))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for PjrtBuffer {
    fn drop(&mut self) {
        self.destroy();
    }
}

/// Drops references to buffers. Those to which nothing else refers are destroyed, and kept as shells.
pub fn free_buffers(buffers: impl IntoIterator<Item = Arc<dyn Buffer>>) {
    let _inside = exit::enter();
    let buffers = buffers.into_iter();
    let mut shells: SmallVec<[Arc<PjrtBuffer>; 8]> = SmallVec::with_capacity(buffers.size_hint().0);
    for buffer in buffers {
        let any: Arc<dyn Any + Send + Sync> = buffer;
        if let Ok(mut buffer) = any.downcast::<PjrtBuffer>()
            && Arc::get_mut(&mut buffer).and_then(PjrtBuffer::destroy).is_some()
        {
            shells.push(buffer);
        }
    }
    if !shells.is_empty() {
        Shells::lock().keep(shells);
    }
}

/// Destroyed buffers to which nothing refers. A repeated step makes as many buffers as it frees, all at once, which is
/// slow in most allocators.
pub struct Shells(Vec<Arc<PjrtBuffer>>);

static SHELLS: Mutex<Shells> = Mutex::new(Shells(Vec::new()));

impl Shells {
    /// Maximum number of shells of the process: 2 MB.
    const MOST: usize = 1 << 14;

    /// The shells of all clients, which do not refer to their clients.
    pub fn lock() -> MutexGuard<'static, Shells> {
        SHELLS.lock()
    }

    fn keep(&mut self, shells: impl IntoIterator<Item = Arc<PjrtBuffer>>) {
        self.0.extend(shells);
        self.0.truncate(Shells::MOST);
    }

    /// Returns a buffer in a shell if there is one, or else in a new object.
    ///
    /// # Safety
    /// As for [`PjrtBuffer::new`].
    pub unsafe fn fill(
        &mut self,
        client: Arc<Client>,
        raw: *mut sys::PJRT_Buffer,
        ty: TensorType,
        device: usize,
    ) -> Arc<PjrtBuffer> {
        // SAFETY: the caller's promise.
        let buffer = unsafe { PjrtBuffer::new(client, raw, ty, device) };
        let Some(mut shell) = self.0.pop() else { return Arc::new(buffer) };
        *Arc::get_mut(&mut shell).expect("nothing else refers to a shell") = buffer;
        shell
    }
}
