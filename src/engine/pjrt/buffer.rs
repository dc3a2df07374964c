//! A buffer on a PJRT device.

use super::api::{Args, call, function};
use super::client::Client;
use super::event::Event;
use super::{exit, layout, sys};
use crate::allocation::zeroed_bytes;
use crate::engine::{Buffer, HostCopy};
use crate::error;
use crate::error::{Error, Result};
use crate::types::{SharedBytes, TensorType};
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Axes of a buffer, fastest in memory first.
type AxisOrder = SmallVec<[i64; 8]>;

/// Owns a `PJRT_Buffer`. Its bytes are counted in the client's [`crate::engine::Memory`] until it is consumed or dropped.
pub struct PjrtBuffer {
    client: Arc<Client>,
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
    /// Takes a buffer over, whose bytes the client has counted already.
    ///
    /// # Safety
    /// `raw` is a buffer of this client, of this type, that nobody else destroys.
    pub unsafe fn new(client: Arc<Client>, raw: *mut sys::PJRT_Buffer, ty: TensorType, device: usize) -> PjrtBuffer {
        PjrtBuffer { client, raw, ty, device, counted: AtomicBool::new(true) }
    }

    pub(super) fn raw(&self) -> *mut sys::PJRT_Buffer {
        self.raw
    }

    /// Whether it is of this client.
    pub(super) fn belongs_to(&self, client: &Arc<Client>) -> bool {
        Arc::ptr_eq(&self.client, client)
    }

    /// Takes its bytes out of the count, once, and gives how many they were.
    pub(super) fn uncount(&self) -> u64 {
        if self.counted.swap(false, Ordering::Relaxed) { self.ty.size_bytes() as u64 } else { 0 }
    }

    fn ready_event(&self) -> Result<Event> {
        let mut args = Args::<sys::PJRT_Buffer_ReadyEvent_Args>::new(self.client.api);
        args.buffer = self.raw;
        call!(self.client.api, PJRT_Buffer_ReadyEvent, args)?;
        // SAFETY: the plugin gave us the event to own.
        Ok(unsafe { Event::new(self.client.api, args.event) })
    }

    /// Its bytes in host memory that we may read in place, if they lie there in row-major order.
    pub(super) fn host_pointer(&self) -> Option<*const u8> {
        if !self.client.host_readable || !self.is_row_major() {
            return None;
        }
        let mut args = Args::<sys::PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>::new(self.client.api);
        args.buffer = self.raw;
        call!(self.client.api, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, args).ok()?;
        (!args.device_memory_ptr.is_null()).then_some(args.device_memory_ptr.cast_const().cast())
    }

    fn is_row_major(&self) -> bool {
        self.ty.dims.len() < 2 || self.minor_to_major().is_some_and(|order| layout::is_row_major(&order))
    }

    /// The order of its axes in memory, fastest first; none when it is tiled or the plugin does not say.
    fn minor_to_major(&self) -> Option<AxisOrder> {
        let mut args = Args::<sys::PJRT_Buffer_GetMemoryLayout_Args>::new(self.client.api);
        args.buffer = self.raw;
        call!(self.client.api, PJRT_Buffer_GetMemoryLayout, args).ok()?;
        if args.layout.type_ != sys::PJRT_Buffer_MemoryLayout_Type_Tiled {
            return None;
        }
        // SAFETY: the layout says that it is of this kind.
        let tiled = unsafe { args.layout.value.tiled };
        if tiled.num_tiles != 0 || tiled.minor_to_major_size != self.ty.dims.len() {
            return None;
        }
        // SAFETY: the plugin gave pointer and length, which live as long as the buffer.
        let order = unsafe { std::slice::from_raw_parts(tiled.minor_to_major, tiled.minor_to_major_size) };
        Some(SmallVec::from_slice(order))
    }

    /// How to copy to the host: the order to ask the plugin for, and the order to undo afterwards. A plain layout is copied
    /// as it lies and put in order by us: the CPU plugin ignores a request for another order (see the engine's tests).
    /// Tiles are the plugin's business; it is asked for row-major.
    fn host_order(&self) -> (Option<AxisOrder>, Option<AxisOrder>) {
        match self.minor_to_major() {
            Some(order) => (None, Some(order).filter(|order| !layout::is_row_major(order))),
            None => (Some((0..self.ty.dims.len() as i64).rev().collect()), None),
        }
    }

    /// One `PJRT_Buffer_ToHostBuffer`; `minor_to_major` none means as it lies. `destination` stays where it is until the
    /// event is ready.
    fn transfer_to_host(&self, destination: &mut [u8], minor_to_major: Option<&[i64]>) -> Result<Event> {
        let api = self.client.api;
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
        // SAFETY: the plugin gave us the event to own.
        Ok(unsafe { Event::new(api, args.event) })
    }
}

/// The device's own memory, read in place.
struct InPlace {
    buffer: Arc<PjrtBuffer>,
    /// Made if the plugin does not tell the pointer a second time.
    copy: Option<PluginCopy>,
}

impl HostCopy for InPlace {
    fn bytes(&mut self) -> Result<&[u8]> {
        let _inside = exit::enter()?;
        self.buffer.ready_event()?.wait()?;
        let Some(source) = self.buffer.host_pointer() else {
            return self.copy.insert(PluginCopy::start(self.buffer.clone())?).bytes();
        };
        // SAFETY: the buffer is ready, row-major and of its type's size; it is kept alive, and whoever started this copy
        // has seen to it that no run consumes it meanwhile.
        Ok(unsafe { std::slice::from_raw_parts(source, self.buffer.ty.size_bytes()) })
    }
}

/// The device's own memory, as long as somebody needs it.
struct Shared {
    _buffer: Arc<PjrtBuffer>,
    start: *const u8,
    size: usize,
}

// SAFETY: the memory is only read, see `share`.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

// SAFETY: the buffer was ready when this was made, is kept alive, and whoever asked for this has seen to it that no run
// consumes it meanwhile; nothing else writes to a buffer, or moves it.
unsafe impl SharedBytes for Shared {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the buffer is row-major and of its type's size.
        unsafe { std::slice::from_raw_parts(self.start, self.size) }
    }
}

/// A copy that the plugin is making.
struct PluginCopy {
    /// The source, alive until the copy has ended.
    buffer: Arc<PjrtBuffer>,
    bytes: Vec<u8>,
    event: Event,
    /// The order to undo; none when that is done.
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
        Ok(&self.bytes)
    }
}

impl Drop for PluginCopy {
    fn drop(&mut self) {
        // The plugin writes to `bytes` until the event is ready.
        let _ = self.event.wait();
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
        let mut args = Args::<sys::PJRT_Buffer_IsDeleted_Args>::new(self.client.api);
        args.buffer = self.raw;
        call!(self.client.api, PJRT_Buffer_IsDeleted, args).is_ok() && args.is_deleted
    }

    fn failure(&self) -> Option<Error> {
        let _inside = exit::enter().ok()?;
        self.ready_event().ok()?.wait().err()
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
            // SAFETY: the buffer is ready, row-major and of its type's size; `self` keeps it alive, and whoever holds it for
            // reading has seen to it that no run consumes it meanwhile.
            destination.copy_from_slice(unsafe { std::slice::from_raw_parts(source, destination.len()) });
            return Ok(());
        }
        let (asked, reorder) = self.host_order();
        match reorder {
            None => self.transfer_to_host(destination, asked.as_deref())?.wait(),
            Some(order) => {
                let mut raw = zeroed_bytes(destination.len())?;
                self.transfer_to_host(&mut raw, asked.as_deref())?.wait()?;
                layout::to_row_major(&self.ty, &order, &raw, destination);
                Ok(())
            }
        }
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
        let mut args = Args::<sys::PJRT_Buffer_CopyToDevice_Args>::new(self.client.api);
        args.buffer = self.raw;
        args.dst_device = self.client.device(device)?;
        call!(self.client.api, PJRT_Buffer_CopyToDevice, args)?;
        self.client.count(self.ty.size_bytes() as u64, 0);
        // SAFETY: the plugin gave us a new buffer of the same type to own.
        let copy = unsafe { PjrtBuffer::new(self.client.clone(), args.dst_buffer, self.ty.clone(), device) };
        self.client.in_flight(device, copy.ready_event()?);
        Ok(Arc::new(copy))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for PjrtBuffer {
    fn drop(&mut self) {
        let freed = self.uncount();
        self.client.count(0, freed);
        let Ok(_inside) = exit::enter() else {
            return;
        };
        let mut args = Args::<sys::PJRT_Buffer_Destroy_Args>::new(self.client.api);
        args.buffer = self.raw;
        let _ = call!(self.client.api, PJRT_Buffer_Destroy, args);
    }
}
