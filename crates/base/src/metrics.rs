//! Counters of an environment.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// A counter of an environment. Its name is part of the C ABI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter { $($(#[$doc])* $name),* }

        impl Counter {
            /// All counters.
            pub const ALL: &[Counter] = &[$(Counter::$name),*];

            /// Name of the counter in the C ABI.
            pub fn name(self) -> &'static str {
                match self { $(Counter::$name => stringify!($name)),* }
            }
        }
    };
}

counters! {
    /// Steps: one for each device that `lxla_mark_step` stepped, and for each list of lazy tensors that
    /// `lxla_step_tensors` stepped.
    MarkStep,
    /// Steps and reads that repeated an earlier one, so that their programs did not have to be made again.
    RepeatedStep,
    /// Gradients that an earlier call recorded at the end of an equal trace, so that their operations were copied.
    RepeatedGradients,
    /// Programs found in the cache of compiled programs.
    CachedCompile,
    /// Programs compiled.
    UncachedCompile,
    /// Nanoseconds spent compiling.
    CompileNanoseconds,
    /// Programs loaded from the disk cache.
    PersistentCacheHit,
    /// Programs looked up in the disk cache and not found.
    PersistentCacheMiss,
    /// Executions of a program.
    ExecuteComputation,
    /// Copies from the host to a device.
    TransferToDevice,
    /// Copies from a device to the host.
    TransferFromDevice,
    /// Bytes copied from the host to devices.
    OutboundBytes,
    /// Bytes copied from devices to the host.
    InboundBytes,
    /// Buffers of tensors that executions were allowed to consume (donated).
    DonorsRequested,
    /// Buffers of tensors that were found consumed after an execution.
    DonatedBuffers,
    /// Buffers of tensors that a step freed because nothing used them any more and no output could reuse them.
    FreedEarly,
    /// Tensors transferred to another device without a copy, in the same memory.
    ZeroCopy,
    /// Bytes of tensors transferred without a copy.
    ZeroCopyBytes,
    /// Implicit copies between devices.
    MixedDeviceCopy,
    /// Bytes of implicit copies between devices.
    MixedDeviceBytes,
    /// Operations executed again although a partial sync had executed them before.
    RecomputedOps,
    /// Programs that were made for bounds of sizes, see the option `dynamic_sizes`.
    DynamicCompile,
    /// Runs that a program for bounds served.
    DynamicRun,
    /// Programs that were compiled for sizes that recur, although a program for bounds served them.
    DynamicExactCompile,
    /// Programs that were compiled for their sizes, since the programs that differ from them in sizes only could not be
    /// generalised.
    DynamicRefused,
    /// Executables in files whose program was compiled, since their code was not for this plugin and processor.
    ExecutableRecompiled,
    /// Tensors created.
    CreateTensor,
    /// Tensors whose last handle was released.
    DestroyTensor,
}

/// The counters of one environment. Any thread may update them.
#[derive(Default)]
pub struct Metrics {
    counts: [AtomicU64; Counter::ALL.len()],
}

impl Metrics {
    /// Adds `amount` to a counter.
    pub fn add(&self, counter: Counter, amount: u64) {
        self.counts[counter as usize].fetch_add(amount, Ordering::Relaxed);
    }

    /// Current value of a counter.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counts[counter as usize].load(Ordering::Relaxed)
    }

    /// Sets all counters to 0.
    pub fn reset(&self) {
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }
}
