//! Values of XLA devices as arrays of the host.

use crate::device::Owner;
use crate::device_data::Hold;
use base::error::Result;
use base::metrics::Counter;
use base::types::{SharedBytes, TensorType};
use native::Array;
use std::sync::Arc;

/// Returns the data of an XLA device as an array, and whether it was copied. The array aliases the memory if that is
/// host memory. The data is held while it is read or aliased, so that no step consumes it.
pub(super) fn array_of(hold: Hold, owner: &Owner) -> Result<(Array, bool)> {
    let ty = hold.data().ty().clone();
    let mut span = owner.shared.timeline().sync_span("transfer", "from device");
    span.number("bytes", ty.size_bytes() as u64);
    let buffer = hold.data().buffer()?.clone();
    let array = match buffer.clone().share()? {
        Some(memory) => {
            let memory = Arc::new(Borrowed { memory, _hold: hold });
            if let Some(array) = Array::shared(&ty, memory.clone()) {
                span.rename("share");
                count_shared(owner, &ty);
                return Ok((array, false));
            }
            Array::from_bytes(&ty, memory.bytes())?
        }
        None => Array::from_bytes(&ty, buffer.start_host_copy()?.bytes()?)?,
    };
    count_read(owner, array.bytes().len());
    Ok((array, true))
}

/// Counts a value that was copied to the host.
pub(super) fn count_read(owner: &Owner, bytes: usize) {
    owner.shared.metrics.add(Counter::TransferFromDevice, 1);
    owner.shared.metrics.add(Counter::InboundBytes, bytes as u64);
}

/// Counts a value that two devices share.
pub(super) fn count_shared(owner: &Owner, ty: &TensorType) {
    owner.shared.metrics.add(Counter::ZeroCopy, 1);
    owner.shared.metrics.add(Counter::ZeroCopyBytes, ty.size_bytes() as u64);
}

/// Memory of a device that is aliased by arrays. While one of them is alive, no step consumes it.
struct Borrowed {
    memory: Arc<dyn SharedBytes>,
    _hold: Hold,
}

// SAFETY: delegates to `memory`, which upholds the contract.
unsafe impl SharedBytes for Borrowed {
    fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }
}
