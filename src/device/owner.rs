//! Environment and location of a device: which XLA devices hold the buffers of its tensors.

use super::Place;
use super::shared::Shared;
use base::allocation::zeroed_bytes;
use base::error;
use base::error::Result;
use base::metrics::Counter;
use base::types::TensorType;
use engine::{Buffer, MemoryStatistics, PaddedBuffer, ShardedBuffer};
use mesh::{Mesh, Placement, Sharding, take_piece};
use std::sync::Arc;
use std::time::Instant;

/// Environment and location of a device.
#[derive(Clone)]
pub struct Owner {
    /// State shared by the environment's devices.
    pub shared: Arc<Shared>,
    /// Location of the device's tensors.
    pub place: Place,
    /// Devices over which the tensors are distributed, if the location is a mesh.
    pub mesh: Option<Arc<Mesh>>,
}

impl Owner {
    /// Ordinals of the XLA devices that hold buffers; none for cpu.
    pub fn ordinals(&self) -> &[usize] {
        match (&self.place, &self.mesh) {
            (_, Some(mesh)) => &mesh.ordinals,
            (Place::Xla(ordinal), None) => std::slice::from_ref(ordinal),
            (Place::Cpu | Place::Mesh(_), None) => &[],
        }
    }

    /// Ordinal of the XLA device; for a mesh, of its first device, where runs of partitioned programs ignore it.
    pub fn ordinal(&self) -> usize {
        self.ordinals()[0]
    }

    /// Transfers host values to the device. On a mesh, splits them by `sharding` (None: replicated).
    pub fn transfer(&self, ty: &TensorType, data: &[u8], sharding: Option<&Sharding>) -> Result<Arc<dyn Buffer>> {
        let sent = match &self.mesh {
            None => self.send(self.ordinal(), ty, data)?,
            Some(mesh) => {
                let sharding = sharding.cloned().unwrap_or_else(|| Sharding::replicated(ty.dims.len()));
                self.split(mesh, ty, data, sharding)?
            }
        };
        Ok(sent)
    }

    fn send(&self, ordinal: usize, ty: &TensorType, data: &[u8]) -> Result<Arc<dyn Buffer>> {
        let mut span = self.shared.timeline().span("transfer", "to device");
        span.number("bytes", data.len() as u64);
        let engine = &self.shared.runtime().engine;
        let sent = self.shared.with_memory(data.len() as u64, || engine.transfer_to_device(ordinal, ty, data))?;
        self.shared.metrics.add(Counter::TransferToDevice, 1);
        self.shared.metrics.add(Counter::OutboundBytes, data.len() as u64);
        Ok(sent)
    }

    /// Transfers to each device of the mesh its piece. Allocates memory for one piece at a time, and none for pieces
    /// that are contiguous in `data`.
    fn split(&self, mesh: &Arc<Mesh>, ty: &TensorType, data: &[u8], sharding: Sharding) -> Result<Arc<dyn Buffer>> {
        let piece = TensorType::new(ty.dtype, &sharding.piece_dims("sharding", &mesh.axes, &ty.dims)?);
        let (size, element) = (piece.size_bytes(), ty.dtype.size_bytes());
        let is_contiguous = piece.dims.iter().zip(&ty.dims).skip(1).all(|(piece, whole)| piece == whole);
        let row = ty.dims.iter().skip(1).product::<i64>() as usize * element;
        let mut copy = if is_contiguous { Vec::new() } else { zeroed_bytes(size)? };
        let mut copied = None;
        let mut pieces = Vec::with_capacity(mesh.ordinals.len());
        for (position, &ordinal) in mesh.ordinals.iter().enumerate() {
            let offsets = sharding.offsets(&mesh.axes, position, &piece.dims);
            let bytes = if is_contiguous {
                let start = offsets.first().map_or(0, |&first| first as usize * row);
                &data[start..start + size]
            } else {
                if copied.as_ref() != Some(&offsets) {
                    take_piece(data, &ty.dims, element, &offsets, &piece.dims, &mut copy);
                    copied = Some(offsets);
                }
                &copy[..]
            };
            pieces.push(self.send(ordinal, &piece, bytes)?);
        }
        let placement = Placement { mesh: mesh.clone(), sharding };
        Ok(ShardedBuffer::new(ty.clone(), placement, pieces)?)
    }

    /// Copies a buffer of one device, or a replicated buffer, to the device; on a mesh, to each of its devices. Returns
    /// None if the buffer is split or padded: its content must then be transferred through the host.
    pub fn copy(&self, buffer: &Arc<dyn Buffer>) -> Result<Option<Arc<dyn Buffer>>> {
        let is_split = buffer.placement().is_some_and(|placement| !placement.sharding.is_replicated());
        if is_split || buffer.as_any().is::<PaddedBuffer>() {
            return Ok(None);
        }
        let copies = self.ordinals().iter().map(|&ordinal| {
            let mut span = self.shared.timeline().span("transfer", "copy");
            let bytes = buffer.tensor_type().size_bytes() as u64;
            span.number("bytes", bytes);
            self.shared.with_memory(bytes, || buffer.copy_to_device(ordinal))
        });
        let mut copies = copies.collect::<Result<Vec<_>>>()?;
        self.shared.metrics.add(Counter::TransferToDevice, copies.len() as u64);
        let Some(mesh) = &self.mesh else { return Ok(copies.pop()) };
        let ty = buffer.tensor_type().clone();
        let placement = Placement { mesh: mesh.clone(), sharding: Sharding::replicated(ty.dims.len()) };
        Ok(Some(ShardedBuffer::new(ty, placement, copies)?))
    }

    /// Blocks until all work enqueued on the device has ended. Returns its first error.
    pub fn wait(&self) -> Result<()> {
        let _span = self.shared.timeline().sync_span("wait", "wait");
        self.wait_for(u64::MAX)
    }

    /// Does what [`Owner::wait`] does, for the work with numbers up to `last`.
    pub fn wait_for(&self, last: u64) -> Result<()> {
        let engine = &self.shared.runtime().engine;
        let waited: Vec<Result<()>> = self.ordinals().iter().map(|&ordinal| engine.wait_for(ordinal, last)).collect();
        waited.into_iter().collect()
    }

    /// Waits for the work with numbers up to `last`, at most until `deadline`. Returns whether it has ended.
    pub fn has_ended_by(&self, last: u64, deadline: Instant) -> bool {
        let _span = self.shared.timeline().sync_span("wait", "wait");
        let engine = &self.shared.runtime().engine;
        self.ordinals().iter().all(|&ordinal| engine.has_ended_by(ordinal, last, deadline))
    }

    /// Memory statistics of each XLA device, with its ordinal. UNIMPLEMENTED for cpu, and if the plugin has none.
    pub fn memory_statistics(&self) -> Result<Vec<(usize, MemoryStatistics)>> {
        if self.ordinals().is_empty() {
            return Err(error!(Unimplemented, "device: {} has no memory statistics; name a device xla:N", self.place));
        }
        let engine = &self.shared.runtime().engine;
        let of = |&ordinal: &usize| -> Result<(usize, MemoryStatistics)> {
            let statistics = engine.memory_statistics(ordinal);
            let statistics = statistics.map_err(|e| e.context(format_args!("memory statistics of xla:{ordinal}")))?;
            Ok((ordinal, statistics))
        };
        self.ordinals().iter().map(of).collect()
    }

    /// Mesh of the device, or an error that names the argument.
    pub fn mesh(&self, argument: &str) -> Result<&Arc<Mesh>> {
        self.mesh.as_ref().ok_or_else(|| error!(InvalidArgument, "{argument}: it is on {}; want a mesh", self.place))
    }
}
