//! A buffer on a PJRT device.

use super::api::{Args, call, function};
use super::client::Client;
use super::event::Event;
use super::{exit, layout, sys};
use crate::engine::Buffer;
use crate::error;
use crate::error::Result;
use crate::types::TensorType;
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    fn host_pointer(&self) -> Option<*const u8> {
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
    fn minor_to_major(&self) -> Option<SmallVec<[i64; 8]>> {
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

    /// Reads through the plugin. A plain layout is copied as it lies and put in order here: the CPU plugin ignores a
    /// request for another order (see the engine's test). Tiles are the plugin's business; it is asked for row-major.
    fn copy_to_host(&self, destination: &mut [u8]) -> Result<()> {
        match self.minor_to_major() {
            Some(order) if !layout::is_row_major(&order) => {
                let mut raw = vec![0; destination.len()];
                self.transfer_to_host(&mut raw, None)?;
                layout::to_row_major(&self.ty, &order, &raw, destination);
                Ok(())
            }
            Some(_) => self.transfer_to_host(destination, None),
            None => {
                let row_major: Vec<i64> = (0..self.ty.dims.len() as i64).rev().collect();
                self.transfer_to_host(destination, Some(&row_major))
            }
        }
    }

    /// One `PJRT_Buffer_ToHostBuffer`, waited for; `minor_to_major` none means as it lies.
    fn transfer_to_host(&self, destination: &mut [u8], minor_to_major: Option<&[i64]>) -> Result<()> {
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
        unsafe { Event::new(api, args.event) }.wait()
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

    fn wait(&self) -> Result<()> {
        let _inside = exit::enter()?;
        self.ready_event()?.wait()
    }

    fn read(&self, destination: &mut [u8]) -> Result<()> {
        let size = self.ty.size_bytes();
        if destination.len() != size {
            return Err(error!(Internal, "read of {} into {} bytes", self.ty, destination.len()));
        }
        let _inside = exit::enter()?;
        self.ready_event()?.wait()?;
        if size == 0 {
            return Ok(());
        }
        match self.host_pointer() {
            Some(source) => {
                // SAFETY: the buffer is ready, row-major and `size` bytes long; `self` keeps it alive, and whoever holds
                // it for reading has seen to it that no run consumes it meanwhile.
                let source = unsafe { std::slice::from_raw_parts(source, size) };
                destination.copy_from_slice(source);
                Ok(())
            }
            None => self.copy_to_host(destination),
        }
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
