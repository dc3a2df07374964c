//! A buffer of the crate's client.

use crate::{Client, check_device, element_type, error, failed};
use base::allocation::zeroed_bytes;
use base::error::{Error, Result};
use base::types::TensorType;
use engine::{Buffer, HostCopy, exit};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xla::PjRtBuffer;

/// Owns a buffer. Its bytes are counted until it is consumed or dropped. The crate does not tell whether a buffer was
/// consumed, so the engine notes it.
pub(super) struct XlaRsBuffer {
    client: Arc<Client>,
    /// None only while it is dropped.
    inner: Option<PjRtBuffer>,
    ty: TensorType,
    is_consumed: AtomicBool,
}

impl XlaRsBuffer {
    /// Takes a buffer of this type.
    pub fn new(client: &Arc<Client>, inner: PjRtBuffer, ty: TensorType) -> XlaRsBuffer {
        client.count(ty.size_bytes() as u64, 0);
        XlaRsBuffer { client: client.clone(), inner: Some(inner), ty, is_consumed: AtomicBool::new(false) }
    }

    /// Copies row-major `data` into a new buffer.
    pub fn from_host(client: &Arc<Client>, ty: &TensorType, data: &[u8]) -> Result<XlaRsBuffer> {
        let _inside = exit::enter()?;
        let element = element_type(ty.dtype);
        let dims: Vec<usize> = ty.dims.iter().map(|&dim| dim as usize).collect();
        let inner = client.inner.buffer_from_host_raw_bytes(element, data, &dims, None).map_err(failed)?;
        Ok(XlaRsBuffer::new(client, inner, ty.clone()))
    }

    pub fn inner(&self) -> &PjRtBuffer {
        self.inner.as_ref().expect("it is there until the drop")
    }

    /// Whether the buffer belongs to this client.
    pub fn belongs_to(&self, client: &Arc<Client>) -> bool {
        Arc::ptr_eq(&self.client, client)
    }

    /// Notes that a run consumed the buffer.
    pub fn consume(&self) {
        if !self.is_consumed.swap(true, Ordering::SeqCst) {
            self.client.count(0, self.ty.size_bytes() as u64);
        }
    }

    /// Asks the runtime whether the content is still there, by copying it: for runs that failed.
    pub fn is_lost(&self) -> bool {
        self.inner().to_literal_sync().is_err()
    }

    /// A copy on the same device.
    pub fn copied(&self) -> Result<XlaRsBuffer> {
        let device = self.client.inner.addressable_devices().into_iter().next();
        let device = device.ok_or_else(|| error!(Internal, "the client of the engine xla-rs has no device"))?;
        let inner = self.inner().copy_to_device(device).map_err(failed)?;
        Ok(XlaRsBuffer::new(&self.client, inner, self.ty.clone()))
    }

    fn check_live(&self) -> Result<()> {
        if self.is_deleted() { Err(error!(DataLoss, "a consumed buffer is read")) } else { Ok(()) }
    }
}

impl Buffer for XlaRsBuffer {
    fn tensor_type(&self) -> &TensorType {
        &self.ty
    }

    fn device(&self) -> usize {
        0
    }

    fn is_deleted(&self) -> bool {
        self.is_consumed.load(Ordering::SeqCst)
    }

    fn failure(&self) -> Option<Error> {
        None
    }

    fn read(&self, destination: &mut [u8]) -> Result<()> {
        if destination.len() != self.ty.size_bytes() {
            return Err(error!(Internal, "read of {} into {} bytes", self.ty, destination.len()));
        }
        self.check_live()?;
        let _inside = exit::enter()?;
        // The crate's copy into given memory knows no preds and no complex numbers.
        self.inner().to_literal_sync().and_then(|literal| literal.copy_untyped_to(destination)).map_err(failed)
    }

    fn start_host_copy(self: Arc<Self>) -> Result<Box<dyn HostCopy>> {
        self.check_live()?;
        Ok(Box::new(Copied { buffer: self, bytes: None }))
    }

    fn copy_to_device(&self, device: usize) -> Result<Arc<dyn Buffer>> {
        check_device(device)?;
        self.check_live()?;
        let _inside = exit::enter()?;
        Ok(Arc::new(self.copied()?))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for XlaRsBuffer {
    fn drop(&mut self) {
        self.consume();
        // At process exit the runtime may be gone, so nothing is freed.
        match exit::enter() {
            Ok(_inside) => drop(self.inner.take()),
            Err(_) => std::mem::forget(self.inner.take()),
        }
    }
}

/// A copy to the host, made when it is asked for.
struct Copied {
    buffer: Arc<XlaRsBuffer>,
    bytes: Option<Vec<u8>>,
}

impl HostCopy for Copied {
    fn bytes(&mut self) -> Result<&[u8]> {
        if self.bytes.is_none() {
            let mut bytes = zeroed_bytes(self.buffer.ty.size_bytes())?;
            self.buffer.read(&mut bytes)?;
            self.bytes = Some(bytes);
        }
        Ok(self.bytes.as_deref().unwrap_or_default())
    }
}
