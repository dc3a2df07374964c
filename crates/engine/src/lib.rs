//! Execution engines. An engine compiles StableHLO text, owns buffers, and executes programs; it is independent of
//! tensors, traces and steps. [`start`] is the factory.
//!
//! It uses `base` and `mesh`.

pub mod cpu;
pub mod exceptions;
pub mod host_calls;
pub mod kernels;
pub mod padded;
mod partitions;
mod pjrt;
mod plugin_info;
mod plugin_options;
mod processes;
mod profiler;
mod registry;
pub mod sharded;

pub use padded::{Digit, PaddedBuffer, Padding};
pub use partitions::Partitions;
pub use pjrt::{exit, settings};
pub use plugin_info::PluginInfo;
pub use plugin_options::{DEVICE_COUNT, OptionValue, PluginOptions};
pub use processes::{KeyValueStore, Processes};
pub use profiler::{Profile, Profiler};
pub use registry::{EngineKind, Start, register, start};
pub use sharded::ShardedBuffer;

use base::error;
use base::error::{Error, Result};
use base::types::{SharedBytes, TensorType};
use mesh::{Placement, Sharding};
use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Options for starting an engine.
#[derive(Clone, Default)]
pub struct EngineOptions {
    /// Engine to start.
    pub kind: EngineKind,
    /// Path of the PJRT plugin; None: found by the rules of the C header.
    pub plugin_path: Option<PathBuf>,
    /// Folder of the disk cache, in which the hash of the plugin's file may be remembered.
    pub cache_folder: Option<PathBuf>,
    /// Number of devices of this process; 0 means the plugin's default, but one device on CPU plugins.
    pub device_count: usize,
    /// Id, number and store of the processes that run the same program together, if there are several.
    pub processes: Option<Processes>,
    /// Options of the caller for the plugin's client.
    pub plugin_options: PluginOptions,
}

/// Finds the PJRT plugins of this machine, and loads each in a process of its own to tell what it is. Starts no client.
pub fn plugins() -> Result<Vec<PluginInfo>> {
    pjrt::plugins()
}

/// Makes process exit call `run` once, while engines can still be used. `progress` returns a number that changes while
/// `run` makes progress; as long as it changes, the time limit of process exit does not apply.
pub fn register_last_work(run: fn(), progress: fn() -> u64) {
    pjrt::register_last_work(run, progress);
}

/// Calls `run` at the end of the process, when all work in flight has ended. It must not use an engine.
pub fn register_ending(run: fn()) {
    pjrt::register_ending(run);
}

/// Number of runs and copies that were enqueued on any device of the process.
static ENQUEUED: AtomicU64 = AtomicU64::new(0);

/// Returns the number of a run or copy that is enqueued now, from 1. Called under the lock under which it is listed.
pub fn count_enqueued() -> u64 {
    ENQUEUED.fetch_add(1, Ordering::Relaxed) + 1
}

/// Returns the number of the run or copy that was enqueued last; 0 if there was none.
pub fn enqueued() -> u64 {
    ENQUEUED.load(Ordering::Relaxed)
}

/// A client of an accelerator runtime with its devices, numbered from 0. All methods are thread-safe.
pub trait Engine: Send + Sync {
    /// Name of the platform: `cpu`, `cuda`, ...
    fn platform(&self) -> &str;

    /// Number of devices of this process.
    fn device_count(&self) -> usize;

    /// Number of this process among those that run the program together, from 0.
    fn process_index(&self) -> i32 {
        0
    }

    /// Whether programs can call functions of this process, by the custom call of [`host_calls`].
    fn calls_host(&self) -> bool {
        false
    }

    /// The profiler of the runtime, if it has one.
    fn profiler(&self) -> Option<Arc<dyn Profiler>> {
        None
    }

    /// Bytes that differ whenever executables compiled by this engine might differ: platform, versions, the plugin's
    /// file, flags, devices, compile options. Stable across processes.
    fn fingerprint(&self) -> Result<Vec<u8>>;

    /// Copies row-major `data`, of exactly the type's size, into a new buffer. `data` may be reused on return.
    fn transfer_to_device(&self, device: usize, ty: &TensorType, data: &[u8]) -> Result<Arc<dyn Buffer>>;

    /// Creates a buffer that aliases host memory (zero-copy import). `memory` is row-major and has exactly the type's
    /// size. The engine keeps it alive until nothing uses it any more; no run may consume the buffer. Returns None if
    /// the engine cannot alias the memory, which is not an error: the content must then be transferred.
    fn alias_on_device(&self, _: usize, _: &TensorType, _: &Arc<dyn SharedBytes>) -> Result<Option<Arc<dyn Buffer>>> {
        Ok(None)
    }

    /// Compiles a module whose `main` has this signature. `origin` is the program from which the text was lowered, for
    /// engines that interpret it; other engines ignore it. If the compiler chose a sharding that whole mesh axes cannot
    /// express, the output is listed in [`Executable::unknown_outputs`].
    fn compile(&self, text: &str, signature: Signature, origin: &dyn Any) -> Result<Arc<dyn Executable>>;

    /// Loads the output of [`Executable::serialize`], which may come from another process with an engine with the same
    /// fingerprint.
    fn deserialize(&self, bytes: &[u8], signature: Signature) -> Result<Arc<dyn Executable>>;

    /// Blocks until all work enqueued on `device` has ended. Returns its first error.
    fn wait(&self, device: usize) -> Result<()>;

    /// Does what [`Engine::wait`] does, for the work with numbers up to `last` ([`count_enqueued`]). An engine that
    /// does not number its work waits for all.
    fn wait_for(&self, device: usize, _last: u64) -> Result<()> {
        self.wait(device)
    }

    /// Waits for the work on `device` with numbers up to `last`, at most until `deadline`. Returns whether it has
    /// ended. An engine whose waits have no limit returns true; then the next wait blocks.
    fn has_ended_by(&self, _device: usize, _last: u64, _deadline: Instant) -> bool {
        true
    }

    /// Drops `run` when the work that was enqueued on the device so far has ended; at once if the engine cannot tell.
    fn when_ended(&self, _device: usize, run: Box<dyn Any + Send>) {
        drop(run);
    }

    /// Maximum number of bytes that the device can allocate in addition to what it holds, and the source of that limit.
    /// None if the limit is unknown, or `needed` is too small to be checked.
    fn memory_limit(&self, _needed: u64) -> Option<(u64, &'static str)> {
        None
    }

    /// Statistics of a device's memory, as its runtime reports them. UNIMPLEMENTED if it reports none.
    fn memory_statistics(&self, _device: usize) -> Result<MemoryStatistics> {
        Err(error!(Unimplemented, "the engine has no memory statistics"))
    }

    /// Memory held by buffers.
    fn memory(&self) -> Memory;

    /// Resets the peak to the bytes that are live now.
    fn reset_peak(&self);
}

/// Memory held by an engine's buffers, as counted by the library (a donated buffer counts once, as the output).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes held now.
    pub live: u64,
    /// Maximum of the bytes held so far.
    pub peak: u64,
}

/// Names and values of a device's memory statistics, in bytes or counts. Those that the runtime does not know are left
/// out.
pub type MemoryStatistics = Vec<(&'static str, i64)>;

/// Parameters and outputs of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Types of the parameters; of the whole arrays if the program is partitioned.
    pub parameters: Vec<TensorType>,
    /// Types of the outputs; of the whole arrays if the program is partitioned.
    pub outputs: Vec<TensorType>,
    /// Indices of the parameters that the program may consume, ascending.
    pub donors: Vec<usize>,
    /// How the program is partitioned over the devices of a mesh. None for a program of one device.
    pub partitions: Option<Partitions>,
}

/// Device memory of a compiled program in bytes, as reported by the runtime. For a partitioned program, the memory of
/// one device of its mesh: every device needs as much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramMemory {
    /// Size of the arguments.
    pub arguments: u64,
    /// Size of the outputs, including those that alias arguments.
    pub outputs: u64,
    /// Size of the outputs that alias donated arguments.
    pub aliases: u64,
    /// Size of the temporary memory that is needed during execution.
    pub temporaries: u64,
    /// Size of the program itself.
    pub code: u64,
}

/// Operations and bytes of one run of a compiled program, as the runtime estimates them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramCost {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes that are read and written.
    pub bytes: f64,
}

/// A compiled program. It can run on any device of its engine, or, if it is partitioned, on the devices of its mesh.
pub trait Executable: Send + Sync {
    /// Signature with which the program was compiled.
    fn signature(&self) -> &Signature;

    /// Shardings of the outputs of a partitioned program: those that the signature states, and those that the compiler
    /// chose. Empty for a program of one device.
    fn output_shardings(&self) -> &[Sharding] {
        &[]
    }

    /// Outputs whose sharding the compiler chose, but not by whole axes of the mesh. A program that has such outputs
    /// cannot run. It must be compiled again with a stated sharding for these.
    fn unknown_outputs(&self) -> &[usize] {
        &[]
    }

    /// Returns bytes from which the program can be loaded; UNIMPLEMENTED if the runtime does not support it.
    fn serialize(&self) -> Result<Vec<u8>>;

    /// Device memory that the program uses.
    fn memory(&self) -> Result<ProgramMemory>;

    /// Returns the runtime's estimate of the operations and bytes of one run; None if it has none.
    fn cost(&self) -> Option<ProgramCost> {
        None
    }

    /// Enqueues one run. Returns an error if the type or device of an argument does not match. `keep` lists the donors
    /// (indices of parameters, ascending) that this run must not consume. On failure, only arguments for which
    /// [`Buffer::is_deleted`] returns true were consumed.
    ///
    /// A partitioned program ignores `device`. Its arguments and outputs are [`ShardedBuffer`]s on the mesh of the
    /// signature, with the shardings of the signature and of [`Executable::output_shardings`].
    fn execute(&self, device: usize, arguments: &[&dyn Buffer], keep: &[usize]) -> Result<Execution>;
}

/// References to buffers, for [`Executable::execute`].
pub fn references(buffers: &[Arc<dyn Buffer>]) -> Vec<&dyn Buffer> {
    buffers.iter().map(|buffer| &**buffer).collect()
}

/// Drops a value that may own many buffers. The thread enters the plugin once, instead of once for each buffer.
pub fn free<T>(value: T) {
    pjrt::free(value);
}

/// Drops references to buffers. The content of buffers to which nothing else refers is freed now; the engine may keep
/// the objects for new buffers.
pub fn free_buffers(buffers: impl IntoIterator<Item = Arc<dyn Buffer>>) {
    pjrt::free_buffers(buffers);
}

/// Result of one run.
pub struct Execution {
    /// One buffer per output, whose computation may still be in progress.
    pub outputs: Vec<Arc<dyn Buffer>>,
    /// Indices of the arguments that were consumed.
    pub consumed: Vec<usize>,
}

/// A copy to the host in flight, or a view of device memory that is host memory.
pub trait HostCopy: Send {
    /// Waits for the content and returns it, row-major. Returns an error if the computation of the buffer failed.
    fn bytes(&mut self) -> Result<&[u8]>;
}

/// Function that gets the outcome of a computation, for [`Buffer::when_ready`].
pub type Tell = Box<dyn FnOnce(Result<()>) + Send>;

/// Device memory that holds, or will hold, one array.
pub trait Buffer: Send + Sync + Any {
    /// Type of the array.
    fn tensor_type(&self) -> &TensorType;

    /// Device of the buffer; the first device if it is on a mesh.
    fn device(&self) -> usize;

    /// Mesh and sharding of an array that is divided among the devices of a mesh; None for a buffer of one device.
    fn placement(&self) -> Option<&Placement> {
        None
    }

    /// Whether a run consumed the buffer.
    fn is_deleted(&self) -> bool;

    /// Waits until the buffer is ready or its computation has failed, at most until `deadline`. Returns whether it is.
    /// An engine whose waits have no limit returns true; then the next read waits.
    fn is_ready_by(&self, _deadline: Instant) -> bool {
        true
    }

    /// Waits until the buffer is ready. Returns the error of the computation that defines it, if it failed, and None if
    /// the status cannot be queried.
    fn failure(&self) -> Option<Error>;

    /// Calls `tell` once, when the buffer is ready or its computation has failed, on any thread, also if a run consumes
    /// the buffer meanwhile. `tell` returns soon, and does not call the engine. An engine whose waits have no limit, and
    /// a plugin that refuses callbacks, are waited for here.
    fn when_ready(&self, tell: Tell) {
        tell(self.failure().map_or(Ok(()), Err));
    }

    /// Waits until the buffer is ready, and copies its content, row-major, to `destination`, which has exactly its
    /// size.
    fn read(&self, destination: &mut [u8]) -> Result<()>;

    /// Starts a copy of the content to the host. Nothing may consume the buffer until the copy is dropped.
    fn start_host_copy(self: Arc<Self>) -> Result<Box<dyn HostCopy>>;

    /// Waits until the buffer is ready. Returns a view of its memory if that is host memory with row-major content.
    /// Nothing may consume the buffer until the view is dropped.
    fn share(self: Arc<Self>) -> Result<Option<Arc<dyn SharedBytes>>> {
        Ok(None)
    }

    /// Starts a copy to another device of the same engine.
    fn copy_to_device(&self, device: usize) -> Result<Arc<dyn Buffer>>;

    /// For downcasts by the engine that created the buffer.
    fn as_any(&self) -> &dyn Any;
}
