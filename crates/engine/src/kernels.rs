//! The callers' kernels: functions of this process that programs call by number. A kernel lives as long as its name is
//! registered, or a recorded operation, a computation or a plan of a step refers to it.

use super::host_calls::HostCall;
use base::error;
use base::error::{Error, Result};
use base::types::DType;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

/// Function of a kernel. Dropped with the kernel.
pub trait KernelFunction: Send + Sync {
    /// Makes a call of the kernel with this name for messages. Called on any thread, and by several at the same time.
    fn call(&self, target: &str, call: &mut HostCall) -> Result<()>;

    /// Says that the kernel was registered, or a call of it recorded: it belongs to the kernel from now on.
    fn take(&self) {}
}

impl<F: Fn(&str, &mut HostCall) -> Result<()> + Send + Sync> KernelFunction for F {
    fn call(&self, target: &str, call: &mut HostCall) -> Result<()> {
        self(target, call)
    }
}

/// A kernel.
pub struct Kernel {
    /// Name for messages.
    pub target: String,
    /// Number by which programs call it. Stable across processes for a kernel with a name.
    pub number: i64,
    /// Whether other processes can know it: by its name.
    pub is_named: bool,
    /// Whether calls keep the order of recording.
    pub ordered: bool,
    /// Whether calls must be neither merged nor dropped.
    pub has_effects: bool,
    function: Box<dyn KernelFunction>,
}

/// Properties of a new kernel.
pub struct NewKernel<'a> {
    /// Name for messages.
    pub target: &'a str,
    /// Bytes that identify the kernel among those that are alive; the name, if it has one.
    pub key: &'a [u8],
    /// Whether other processes can know it.
    pub is_named: bool,
    /// Whether calls keep the order of recording.
    pub ordered: bool,
    /// Whether calls must be neither merged nor dropped.
    pub has_effects: bool,
}

/// All kernels that are alive, by number.
static ALIVE: RwLock<Option<FxHashMap<i64, Weak<Kernel>>>> = RwLock::new(None);

impl Kernel {
    /// Creates a kernel. Its number is derived from the key, and from how many kernels of this key are alive: those of
    /// other environments, and those that were unregistered and are still needed.
    pub fn new(new: NewKernel, function: Box<dyn KernelFunction>) -> Arc<Kernel> {
        Kernel::new_among(ALIVE.write().get_or_insert_default(), new, function)
    }

    /// The kernel of a key that is alive; of several, the one with the first number. Creates one if none is alive, also
    /// if several threads ask at the same time.
    pub fn of_key_or_new(new: NewKernel, function: Box<dyn KernelFunction>) -> Arc<Kernel> {
        let mut alive = ALIVE.write();
        let alive = alive.get_or_insert_default();
        let known = alive.get(&number_of(new.key, 0)).and_then(Weak::upgrade);
        known.unwrap_or_else(|| Kernel::new_among(alive, new, function))
    }

    fn new_among(
        alive: &mut FxHashMap<i64, Weak<Kernel>>,
        new: NewKernel,
        function: Box<dyn KernelFunction>,
    ) -> Arc<Kernel> {
        let NewKernel { target, key, is_named, ordered, has_effects } = new;
        let is_free = |number: &i64| alive.get(number).is_none_or(|kernel| kernel.strong_count() == 0);
        let number = (0..).map(|copy| number_of(key, copy)).find(is_free).expect("a number that is free");
        let target = target.to_string();
        let kernel = Arc::new(Kernel { target, number, is_named, ordered, has_effects, function });
        alive.insert(number, Arc::downgrade(&kernel));
        kernel
    }

    /// Says that the kernel was registered, or a call of it recorded.
    pub fn take(&self) {
        self.function.take();
    }

    /// Calls the kernel. No lock is held meanwhile. The words of the call are the kernel's number, and the numbers of
    /// inputs and outputs that are the kernel's; other outputs say that the call has ended, and become 0.
    pub fn call(&self, call: &mut HostCall) -> Result<()> {
        let &[_, inputs, outputs] = call.words else { return Err(error!(Internal, "a call with {:?}", call.words)) };
        let HostCall { words, text, .. } = *call;
        let (own, others) = call.outputs.split_at_mut(outputs as usize);
        let mut given = HostCall { words, text, inputs: &call.inputs[..inputs as usize], outputs: own };
        self.function.call(&self.target, &mut given).map_err(|e| e.context(name_in_messages(&self.target)))?;
        others.iter_mut().for_each(|output| output.bytes.fill(0));
        for output in own.iter_mut().filter(|output| output.dtype == DType::Pred) {
            output.bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        Ok(())
    }

    /// The kernel that a body holds.
    pub fn of_held(held: Arc<dyn Any + Send + Sync>) -> Option<Arc<Kernel>> {
        held.downcast().ok()
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Kernel").field("target", &self.target).field("number", &self.number).finish_non_exhaustive()
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if let Some(alive) = ALIVE.write().as_mut()
            && alive.get(&self.number).is_some_and(|kernel| kernel.strong_count() == 0)
        {
            alive.remove(&self.number);
        }
    }
}

/// Number of a kernel. Not negative, so that it is a number in every notation.
fn number_of(key: &[u8], copy: u64) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&copy.to_le_bytes()).update(key);
    let bytes: [u8; 8] = hasher.finalize().as_bytes()[..8].try_into().expect("8 bytes");
    i64::from_le_bytes(bytes) & i64::MAX
}

fn name_in_messages(target: &str) -> String {
    format!("kernel {target}")
}

/// Whether an error, of which the plugin repeats code and message, is that of a kernel.
pub fn is_of_kernel(error: &Error) -> bool {
    let is_of = |kernel: &Arc<Kernel>| error.message.contains(&format!("{}: ", name_in_messages(&kernel.target)));
    // A kernel that is dropped here takes the lock.
    let alive: Vec<Arc<Kernel>> =
        ALIVE.read().iter().flat_map(|alive| alive.values()).filter_map(Weak::upgrade).collect();
    alive.iter().any(is_of)
}

/// Calls the kernel that a compiled program names by its number. It is alive, because the plan that runs the program
/// refers to it.
pub fn call_kernel(call: &mut HostCall) -> Result<()> {
    let number = *call.words.first().ok_or_else(|| error!(Internal, "no kernel is named"))?;
    let found = ALIVE.read().as_ref().and_then(|alive| alive.get(&number)?.upgrade());
    let kernel = found.ok_or_else(|| error!(FailedPrecondition, "the kernel is not registered in this process"))?;
    kernel.call(call)
}
