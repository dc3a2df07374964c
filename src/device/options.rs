//! Options of an environment that can be changed during its lifetime.

use super::dynamic_sizes::DynamicSizes;
use super::repeats::FEWEST;
use base::error;
use base::error::Result;
use base::threads::EnvironmentLimit;
use ir::Precision;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use timeline::Timeline;

/// Treatment of operations whose operands are on different devices.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixedDevicePolicy {
    /// Returns an error.
    Error = 1,
    /// Copies one operand, and counts the copy.
    Copy = 2,
    /// Treats cpu tensors with one element as scalars; returns an error otherwise.
    Scalar = 3,
}

/// Treatment of an operation when `max_pending_ops` operations are already pending.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingLimitPolicy {
    /// Rejects the operation.
    Error = 1,
    /// Steps the device first.
    Step = 2,
    /// Steps the device first, and earlier where the recording is a loop: see [`super::repeats`].
    Loop = 3,
}

/// Values that a read, a save and a sync of a list compute besides the listed ones and the live values on which these
/// depend.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadScope {
    /// The live values that share work with them, so that no operation is computed twice.
    Connected = 1,
    /// None.
    Listed = 2,
    /// All live values of the device.
    All = 3,
}

/// Names of all options.
pub const OPTION_NAMES: &str = "use_native_for_cpu_tensor, mixed_device_policy, donation, max_program_ops, \
     max_pending_ops, pending_limit_policy, timeline, check_nonfinite, read_scope, max_left_pending, step_before_call, \
     dynamic_sizes, dynamic_exact, matmul_precision, threads";

/// Options of an environment, readable and writable without a lock.
pub struct Options {
    use_native_for_cpu_tensor: AtomicBool,
    mixed_device_policy: AtomicU8,
    donation: AtomicBool,
    max_program_ops: AtomicUsize,
    max_pending_ops: AtomicUsize,
    pending_limit_policy: AtomicU8,
    free_ops: AtomicUsize,
    timeline: Arc<Timeline>,
    check_nonfinite: AtomicBool,
    read_scope: AtomicU8,
    max_left_pending: AtomicUsize,
    step_before_call: AtomicBool,
    dynamic_is_on: AtomicBool,
    dynamic_sizes: Mutex<Option<Arc<DynamicSizes>>>,
    dynamic_exact: AtomicBool,
    has_stated_axes: AtomicBool,
    matmul_precision: AtomicU8,
    threads: EnvironmentLimit,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            use_native_for_cpu_tensor: AtomicBool::new(true),
            mixed_device_policy: AtomicU8::new(MixedDevicePolicy::Scalar as u8),
            donation: AtomicBool::new(true),
            max_program_ops: AtomicUsize::new(16_384),
            max_pending_ops: AtomicUsize::new(100_000_000),
            pending_limit_policy: AtomicU8::new(PendingLimitPolicy::Error as u8),
            free_ops: AtomicUsize::new(100_000_000),
            timeline: Arc::default(),
            check_nonfinite: AtomicBool::new(false),
            read_scope: AtomicU8::new(ReadScope::Connected as u8),
            max_left_pending: AtomicUsize::new(4096),
            step_before_call: AtomicBool::new(false),
            dynamic_is_on: AtomicBool::new(false),
            dynamic_sizes: Mutex::new(None),
            dynamic_exact: AtomicBool::new(true),
            has_stated_axes: AtomicBool::new(false),
            matmul_precision: AtomicU8::new(Precision::HIGHEST.number()),
            threads: EnvironmentLimit::default(),
        }
    }
}

impl Options {
    /// Whether tensors on `cpu`, or created without a device, are evaluated eagerly.
    pub fn use_native_for_cpu_tensor(&self) -> bool {
        self.use_native_for_cpu_tensor.load(Ordering::Relaxed)
    }

    /// See [`MixedDevicePolicy`].
    pub fn mixed_device_policy(&self) -> MixedDevicePolicy {
        match self.mixed_device_policy.load(Ordering::Relaxed) {
            1 => MixedDevicePolicy::Error,
            2 => MixedDevicePolicy::Copy,
            _ => MixedDevicePolicy::Scalar,
        }
    }

    /// Whether steps may donate buffers.
    pub fn donation(&self) -> bool {
        self.donation.load(Ordering::Relaxed)
    }

    /// Maximum number of operations in one program.
    pub fn max_program_ops(&self) -> usize {
        self.max_program_ops.load(Ordering::Relaxed)
    }

    /// Maximum number of pending operations on a device. Exceeding it suggests that the caller forgot to step.
    pub fn max_pending_ops(&self) -> usize {
        self.max_pending_ops.load(Ordering::Relaxed)
    }

    /// See [`PendingLimitPolicy`].
    pub fn pending_limit_policy(&self) -> PendingLimitPolicy {
        match self.pending_limit_policy.load(Ordering::Relaxed) {
            2 => PendingLimitPolicy::Step,
            3 => PendingLimitPolicy::Loop,
            _ => PendingLimitPolicy::Error,
        }
    }

    /// Number of pending operations up to which recording needs no decision about a step: [`Options::max_pending_ops`],
    /// and at most [`FEWEST`] under the policy [`PendingLimitPolicy::Loop`].
    #[inline]
    pub fn free_ops(&self) -> usize {
        self.free_ops.load(Ordering::Relaxed)
    }

    /// Whether syncs check their results for NaNs and infinities.
    pub fn check_nonfinite(&self) -> bool {
        self.check_nonfinite.load(Ordering::Relaxed)
    }

    /// See [`ReadScope`].
    pub fn read_scope(&self) -> ReadScope {
        match self.read_scope.load(Ordering::Relaxed) {
            2 => ReadScope::Listed,
            3 => ReadScope::All,
            _ => ReadScope::Connected,
        }
    }

    /// Number of operations that reads may leave pending; the next read computes all live values if there are more.
    pub fn max_left_pending(&self) -> usize {
        self.max_left_pending.load(Ordering::Relaxed)
    }

    /// Whether a call of a computation first steps what earlier calls left pending.
    pub fn step_before_call(&self) -> bool {
        self.step_before_call.load(Ordering::Relaxed)
    }

    /// Bounds for programs whose sizes change; None if every program is compiled for its sizes.
    #[inline]
    pub fn dynamic_sizes(&self) -> Option<Arc<DynamicSizes>> {
        if self.dynamic_is_on.load(Ordering::Acquire) { self.dynamic_sizes.lock().clone() } else { None }
    }

    /// Says that the caller stated of an axis of a tensor that its size changes.
    pub fn set_has_stated_axes(&self) {
        self.has_stated_axes.store(true, Ordering::Relaxed);
    }

    /// Whether an axis of a tensor may be stated to change.
    #[inline]
    pub fn has_stated_axes(&self) -> bool {
        self.has_stated_axes.load(Ordering::Relaxed)
    }

    /// Whether a size that recurs gets a program of its own.
    pub fn dynamic_exact(&self) -> bool {
        self.dynamic_exact.load(Ordering::Relaxed)
    }

    /// Precision of products and convolutions that state none.
    pub fn matmul_precision(&self) -> Precision {
        Precision::from_number(self.matmul_precision.load(Ordering::Relaxed)).unwrap_or(Precision::HIGHEST)
    }

    /// Number of threads of native kernels; 0 for all processors.
    #[inline]
    pub fn threads(&self) -> usize {
        self.threads.get()
    }

    /// The timeline of the environment, of which the option `timeline` keeps the last events.
    #[inline]
    pub(super) fn timeline(&self) -> &Arc<Timeline> {
        &self.timeline
    }

    /// Sets [`Options::free_ops`] after a change of what it depends on.
    fn set_free_ops(&self) {
        // Of two threads that change both options at once, the second one here sees both changes.
        static CHANGE: Mutex<()> = Mutex::new(());
        let _change = CHANGE.lock();
        let most = self.max_pending_ops();
        let free = if self.pending_limit_policy() == PendingLimitPolicy::Loop { most.min(FEWEST) } else { most };
        self.free_ops.store(free, Ordering::Relaxed);
    }

    /// Sets an option by name.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        let wrong = |wanted: &str| error!(InvalidArgument, "value: {value:?} is not a value of {name}; want {wanted}");
        let switch = || match value {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => Err(wrong("true or false")),
        };
        match name {
            "use_native_for_cpu_tensor" => self.use_native_for_cpu_tensor.store(switch()?, Ordering::Relaxed),
            "donation" => self.donation.store(switch()?, Ordering::Relaxed),
            "timeline" => self.timeline.keep(switch()?),
            "check_nonfinite" => self.check_nonfinite.store(switch()?, Ordering::Relaxed),
            "step_before_call" => self.step_before_call.store(switch()?, Ordering::Relaxed),
            "dynamic_exact" => self.dynamic_exact.store(switch()?, Ordering::Relaxed),
            "dynamic_sizes" => {
                let sizes = DynamicSizes::parse(value)?.map(Arc::new);
                let mut current = self.dynamic_sizes.lock();
                self.dynamic_is_on.store(sizes.is_some(), Ordering::Release);
                *current = sizes;
            }
            "threads" => {
                let threads = value.parse::<i32>().ok().filter(|&threads| threads >= 0);
                self.threads.set(threads.ok_or_else(|| wrong("a number of at least 0"))? as usize);
            }
            "matmul_precision" => {
                let names = || Precision::names().collect::<Vec<_>>().join(", ");
                let precision = Precision::parse(value).ok_or_else(|| wrong(&format!("one of {}", names())))?;
                self.matmul_precision.store(precision.number(), Ordering::Relaxed);
            }
            "read_scope" => {
                let scope = match value {
                    "connected" => ReadScope::Connected,
                    "listed" => ReadScope::Listed,
                    "all" => ReadScope::All,
                    _ => return Err(wrong("connected, listed or all")),
                };
                self.read_scope.store(scope as u8, Ordering::Relaxed);
            }
            "max_left_pending" => {
                let most = value.parse().map_err(|_| wrong("a number of at least 0"))?;
                self.max_left_pending.store(most, Ordering::Relaxed);
            }
            "mixed_device_policy" => {
                let policy = match value {
                    "error" => MixedDevicePolicy::Error,
                    "copy" => MixedDevicePolicy::Copy,
                    "scalar" => MixedDevicePolicy::Scalar,
                    _ => return Err(wrong("error, copy or scalar")),
                };
                self.mixed_device_policy.store(policy as u8, Ordering::Relaxed);
            }
            "pending_limit_policy" => {
                let policy = match value {
                    "error" => PendingLimitPolicy::Error,
                    "step" => PendingLimitPolicy::Step,
                    "loop" => PendingLimitPolicy::Loop,
                    _ => return Err(wrong("error, step or loop")),
                };
                self.pending_limit_policy.store(policy as u8, Ordering::Relaxed);
                self.set_free_ops();
            }
            "max_program_ops" | "max_pending_ops" => {
                let most = value.parse().ok().filter(|n| *n > 0).ok_or_else(|| wrong("a number of at least 1"))?;
                let option = if name == "max_program_ops" { &self.max_program_ops } else { &self.max_pending_ops };
                option.store(most, Ordering::Relaxed);
                self.set_free_ops();
            }
            _ => return Err(unknown(name)),
        }
        Ok(())
    }

    /// Returns the value of an option in the form accepted by [`Options::set`].
    pub fn get(&self, name: &str) -> Result<String> {
        match name {
            "use_native_for_cpu_tensor" => Ok(self.use_native_for_cpu_tensor().to_string()),
            "donation" => Ok(self.donation().to_string()),
            "timeline" => Ok(self.timeline.is_kept().to_string()),
            "check_nonfinite" => Ok(self.check_nonfinite().to_string()),
            "step_before_call" => Ok(self.step_before_call().to_string()),
            "dynamic_exact" => Ok(self.dynamic_exact().to_string()),
            "dynamic_sizes" => Ok(self.dynamic_sizes().map_or("off".to_string(), |sizes| sizes.to_string())),
            "threads" => Ok(self.threads().to_string()),
            "matmul_precision" => Ok(self.matmul_precision().name().to_string()),
            "max_left_pending" => Ok(self.max_left_pending().to_string()),
            "read_scope" => Ok(match self.read_scope() {
                ReadScope::Connected => "connected",
                ReadScope::Listed => "listed",
                ReadScope::All => "all",
            }
            .to_string()),
            "mixed_device_policy" => Ok(match self.mixed_device_policy() {
                MixedDevicePolicy::Error => "error",
                MixedDevicePolicy::Copy => "copy",
                MixedDevicePolicy::Scalar => "scalar",
            }
            .to_string()),
            "max_program_ops" => Ok(self.max_program_ops().to_string()),
            "max_pending_ops" => Ok(self.max_pending_ops().to_string()),
            "pending_limit_policy" => Ok(match self.pending_limit_policy() {
                PendingLimitPolicy::Error => "error",
                PendingLimitPolicy::Step => "step",
                PendingLimitPolicy::Loop => "loop",
            }
            .to_string()),
            _ => Err(unknown(name)),
        }
    }
}

fn unknown(name: &str) -> base::error::Error {
    error!(NotFound, "name: there is no option {name:?}; there are {OPTION_NAMES}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_read_and_the_rest_is_refused() {
        let options = Options::default();
        for name in OPTION_NAMES.split(", ") {
            let value = options.get(name).unwrap();
            options.set(name, &value).unwrap();
        }
        for (name, value) in [
            ("donation", "false"),
            ("mixed_device_policy", "copy"),
            ("max_program_ops", "7"),
            ("matmul_precision", "default"),
            ("threads", "3"),
            ("matmul_precision", "tf32_tf32_f32_x3"),
        ] {
            options.set(name, value).unwrap();
            assert_eq!(options.get(name).unwrap(), value);
        }
        for (name, value) in [("donation", "no"), ("max_program_ops", "0"), ("mixed_device_policy", ""), ("x", "true")]
            .into_iter()
            .chain([
                ("pending_limit_policy", "refuse"),
                ("read_scope", "some"),
                ("max_left_pending", "-1"),
                ("dynamic_sizes", "on"),
                ("matmul_precision", "HIGHEST"),
                ("threads", "-1"),
                ("threads", "many"),
                ("matmul_precision", "tf32"),
            ])
        {
            assert!(options.set(name, value).is_err(), "{name} {value}");
        }
        assert!(options.get("x").is_err());
        assert_eq!(options.mixed_device_policy(), MixedDevicePolicy::Copy);
    }
}
