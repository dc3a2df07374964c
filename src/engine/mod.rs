//! What runs programs. An engine compiles StableHLO text, holds buffers, and executes; it knows nothing of tensors,
//! traces or steps. [`pjrt`] is the engine over any PJRT plugin.

pub mod cpu;
pub mod pjrt;

use crate::error::{Error, Result};
use crate::types::{SharedBytes, TensorType};
use std::any::Any;
use std::sync::Arc;

/// A client of some accelerator runtime with its devices, numbered from 0. Every method may be called from any thread.
pub trait Engine: Send + Sync {
    /// The runtime's name for what it runs on: `cpu`, `cuda`, ...
    fn platform(&self) -> &str;

    /// How many devices there are.
    fn device_count(&self) -> usize;

    /// Bytes that differ whenever an executable compiled by this engine might: platform, versions, the plugin's file,
    /// flags, devices, compile options. The same in every process.
    fn fingerprint(&self) -> Result<Vec<u8>>;

    /// Copies row-major `data`, of exactly the type's size, into a new buffer. `data` is free again on return.
    fn transfer_to_device(&self, device: usize, ty: &TensorType, data: &[u8]) -> Result<Arc<dyn Buffer>>;

    /// A buffer whose content is `memory`, which lies row-major and has exactly the type's size. The engine may take the
    /// memory as it is, and then keeps it until nothing uses it any more; no run may consume such a buffer. None if
    /// it cannot, which is no failure: then the content is to be transferred.
    fn lend_to_device(&self, _: usize, _: &TensorType, _: &Arc<dyn SharedBytes>) -> Result<Option<Arc<dyn Buffer>>> {
        Ok(None)
    }

    /// Compiles a module whose `main` has this signature. `origin` is what the text was lowered from, for an engine that
    /// interprets; others have no use for it.
    fn compile(&self, text: &str, signature: Signature, origin: &dyn Any) -> Result<Arc<dyn Executable>>;

    /// Loads what [`Executable::serialize`] gave, perhaps in another process of an engine with the same fingerprint.
    fn deserialize(&self, bytes: &[u8], signature: Signature) -> Result<Arc<dyn Executable>>;

    /// Blocks until everything enqueued on `device` has ended; the first failure among it.
    fn wait(&self, device: usize) -> Result<()>;

    /// The most bytes that a device can have at all besides what it holds, and what sets that limit; none if that is not
    /// known, or far from the `needed` bytes.
    fn memory_limit(&self, _needed: u64) -> Option<(u64, &'static str)> {
        None
    }

    /// Bytes held by buffers.
    fn memory(&self) -> Memory;

    /// Forgets the peak: it becomes what is live now.
    fn reset_peak(&self);
}

/// Bytes held by an engine's buffers, by our own accounting (a donated buffer counts once, as its output).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Now.
    pub live: u64,
    /// At most so far.
    pub peak: u64,
}

/// What a program takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Types of the parameters.
    pub parameters: Vec<TensorType>,
    /// Types of the outputs.
    pub outputs: Vec<TensorType>,
    /// Indices of the parameters that the program may consume, ascending.
    pub donors: Vec<usize>,
}

/// Bytes that a compiled program takes on its device, as the runtime says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramMemory {
    /// Its arguments.
    pub arguments: u64,
    /// Its outputs, those in arguments' memory among them.
    pub outputs: u64,
    /// Outputs that are written over consumed arguments.
    pub aliases: u64,
    /// What it needs besides while it runs.
    pub temporaries: u64,
    /// The program itself.
    pub code: u64,
}

/// A compiled program. Runs on any device of its engine.
pub trait Executable: Send + Sync {
    /// What it was compiled for.
    fn signature(&self) -> &Signature;

    /// Bytes from which it can be loaded again; UNIMPLEMENTED if the runtime has none.
    fn serialize(&self) -> Result<Vec<u8>>;

    /// What it takes of its device's memory.
    fn memory(&self) -> Result<ProgramMemory>;

    /// Enqueues one run. Refuses arguments whose type or device differs from the signature. `keep` lists the donors
    /// (indices of parameters) that this run must not consume. On failure no argument was consumed unless it says so
    /// by [`Buffer::is_deleted`].
    fn execute(&self, device: usize, arguments: &[Arc<dyn Buffer>], keep: &[usize]) -> Result<Execution>;
}

/// What one run gave.
pub struct Execution {
    /// One buffer per output, possibly still being computed.
    pub outputs: Vec<Arc<dyn Buffer>>,
    /// Indices of the arguments that were consumed.
    pub consumed: Vec<usize>,
}

/// A copy to the host under way; or the device's own memory, where that is the host's.
pub trait HostCopy: Send {
    /// Waits for the content, row-major; the failure of whatever should have made it.
    fn bytes(&mut self) -> Result<&[u8]>;
}

/// Memory of a device that holds, or will hold, one array.
pub trait Buffer: Send + Sync + Any {
    /// What it holds.
    fn tensor_type(&self) -> &TensorType;

    /// The device that it is on.
    fn device(&self) -> usize;

    /// Whether a run consumed it.
    fn is_deleted(&self) -> bool;

    /// Waits; the failure of whatever should have made it, if it failed. Not being able to ask is none.
    fn failure(&self) -> Option<Error>;

    /// Waits, then copies its content, row-major, to `destination`, which has exactly its size.
    fn read(&self, destination: &mut [u8]) -> Result<()>;

    /// Starts a copy of its content to the host. Until that is dropped, nothing may consume the buffer.
    fn start_host_copy(self: Arc<Self>) -> Result<Box<dyn HostCopy>>;

    /// Waits; its own memory, if that is host memory in which the content lies row-major. Until that is dropped, nothing
    /// may consume the buffer.
    fn share(self: Arc<Self>) -> Result<Option<Arc<dyn SharedBytes>>> {
        Ok(None)
    }

    /// Starts a copy to another device of the same engine.
    fn copy_to_device(&self, device: usize) -> Result<Arc<dyn Buffer>>;

    /// For the engine that made it.
    fn as_any(&self) -> &dyn Any;
}
