//! What an environment counted.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// A count of an environment. Its name is that of the C contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter { $($(#[$doc])* $name),* }

        impl Counter {
            /// Every counter.
            pub const ALL: &[Counter] = &[$(Counter::$name),*];

            /// Its name in the C contract.
            pub fn name(self) -> &'static str {
                match self { $(Counter::$name => stringify!($name)),* }
            }
        }
    };
}

counters! {
    /// Steps, one for each device that a `lxla_mark_step` stepped.
    MarkStep,
    /// Programs that were found compiled.
    CachedCompile,
    /// Programs that were compiled.
    UncachedCompile,
    /// Nanoseconds spent compiling.
    CompileNanoseconds,
    /// Programs that were loaded from the disk cache.
    PersistentCacheHit,
    /// Programs that the disk cache did not have.
    PersistentCacheMiss,
    /// Runs of a program.
    ExecuteComputation,
    /// Copies from the host to a device.
    TransferToDevice,
    /// Copies from a device to the host.
    TransferFromDevice,
    /// Bytes copied from the host to devices.
    OutboundBytes,
    /// Bytes copied from devices to the host.
    InboundBytes,
    /// Tensors' buffers that runs were allowed to consume.
    DonorsRequested,
    /// Tensors' buffers found consumed after a run.
    DonatedBuffers,
    /// Tensors' buffers that a step freed, since nothing needed them any more and no output could take them over.
    FreedEarly,
    /// Tensors that one device took over from another in the same memory.
    ZeroCopy,
    /// Their bytes.
    ZeroCopyBytes,
    /// Implicit copies between devices.
    MixedDeviceCopy,
    /// Bytes of implicit copies between devices.
    MixedDeviceBytes,
    /// Operations run again that a partial sync had run before.
    RecomputedOps,
    /// Tensors made.
    CreateTensor,
    /// Tensors whose last handle was released.
    DestroyTensor,
}

/// The counts of one environment. Any thread may add.
#[derive(Default)]
pub struct Metrics {
    counts: [AtomicU64; Counter::ALL.len()],
}

impl Metrics {
    /// Adds to a count.
    pub fn add(&self, counter: Counter, amount: u64) {
        self.counts[counter as usize].fetch_add(amount, Ordering::Relaxed);
    }

    /// A count.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counts[counter as usize].load(Ordering::Relaxed)
    }

    /// Sets all counts to 0.
    pub fn reset(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }
}
