//! Chapter Environments: options, scopes, counters.

use super::abi::arguments::{optional_text, out, owned_text, text};
use super::abi::guard::guard;
use super::abi::options;
use super::types::*;
use crate::env::{self, EnvironmentOptions};
use crate::error;
use crate::error::Result;
use std::ffi::c_char;
use std::num::NonZeroUsize;

/// Fills options with the defaults. `options->struct_size` is set by the caller before, and at most that many bytes are
/// written. INVALID_ARGUMENT if it is too small to hold itself. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_env_options_init(options: *mut lxla_env_options) -> lxla_status {
    guard("lxla_env_options_init", || {
        // SAFETY: the caller's promise, see `capi`.
        unsafe { options::init(options) }
    })
}

/// The caller's options; what its struct is too short for is the default.
unsafe fn read_options(options: *const lxla_env_options) -> Result<EnvironmentOptions> {
    // SAFETY: the caller's promise, see `capi`.
    let given = unsafe { options::read(options)? };
    let mut named = Vec::new();
    for (name, switch) in [("use_native_for_cpu_tensor", given.use_native_for_cpu_tensor), ("donation", given.donation)]
    {
        match switch {
            0 => {}
            1 => named.push((name, "true".to_string())),
            2 => named.push((name, "false".to_string())),
            other => return Err(error!(InvalidArgument, "options.{name}: {other} given; want 0, 1 or 2")),
        }
    }
    match given.mixed_device_policy {
        0 => {}
        policy @ 1..=3 => {
            named.push(("mixed_device_policy", ["error", "copy", "scalar"][policy as usize - 1].to_string()));
        }
        other => return Err(error!(InvalidArgument, "options.mixed_device_policy: {other} given; want 0 to 3")),
    }
    if given.max_program_ops > 0 {
        named.push(("max_program_ops", given.max_program_ops.to_string()));
    }
    let device_count = usize::try_from(given.device_count)
        .map_err(|_| error!(InvalidArgument, "options.device_count: {} given; want 0 or more", given.device_count))?;
    Ok(EnvironmentOptions {
        // SAFETY: the caller's promise, see `capi`.
        plugin_path: unsafe { optional_text("options.plugin_path", given.plugin_path)? }.map(Into::into),
        // SAFETY: likewise.
        cache_dir: unsafe { optional_text("options.cache_dir", given.cache_dir)? }.map(Into::into),
        cache_capacity: NonZeroUsize::new(given.cache_capacity),
        device_count,
        named,
    })
}

/// Makes an environment: loads the plugin and starts a client of it. NULL options are the defaults. Gives one reference.
/// NOT_FOUND if there is no plugin: the message says where it looked and how to install one. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_env_create(options: *const lxla_env_options, out_env: *mut lxla_env) -> lxla_status {
    guard("lxla_env_create", || {
        // SAFETY: the caller's promise, see `capi`.
        let (options, place) = unsafe { (read_options(options)?, out("out_env", out_env)?) };
        place.set(lxla_env { id: env::create(options)? })
    })
}

/// Adds one reference. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_retain(env: lxla_env) -> lxla_status {
    guard("lxla_env_retain", || env::retain(env.id))
}

/// Takes one reference. After the last one, the environment's tensors can be read and released, and nothing else. Not for
/// the default environment (FAILED_PRECONDITION). Releasing id 0 does nothing. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_release(env: lxla_env) -> lxla_status {
    guard("lxla_env_release", || env::release(env.id))
}

/// The process's default environment, made on first use with default options. The environment's own handle: not to be
/// released. Any thread; all get the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_env_default(out_env: *mut lxla_env) -> lxla_status {
    guard("lxla_env_default", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_env", out_env)? };
        place.set(lxla_env { id: env::default()? })
    })
}

/// Makes `env` the calling thread's current environment until the matching `lxla_env_exit`. Scopes nest and count.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_enter(env: lxla_env) -> lxla_status {
    guard("lxla_env_enter", || env::enter(env.id))
}

/// Leaves the scope that the calling thread entered last. FAILED_PRECONDITION if that was of another environment, or none.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_exit(env: lxla_env) -> lxla_status {
    guard("lxla_env_exit", || env::exit(env.id))
}

/// The calling thread's current environment: its own handle, not to be released. FAILED_PRECONDITION outside any scope.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_env_current(out_env: *mut lxla_env) -> lxla_status {
    guard("lxla_env_current", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_env", out_env)? };
        let outside = || error!(FailedPrecondition, "this thread is in no environment's scope");
        place.set(lxla_env { id: env::current().ok_or_else(outside)? })
    })
}

/// Sets an option: `use_native_for_cpu_tensor` (true|false), `mixed_device_policy` (error|copy|scalar), `donation`
/// (true|false), `max_program_ops` (a number), `max_pending_ops` (a number: recording more without a step meets the
/// policy; 100 million by default), `pending_limit_policy` (error: RESOURCE_EXHAUSTED, the default; step: the recording
/// call steps the device first, as `lxla_mark_step` would, and fails if that does). Goes before the options of `lxla_env_create`, and those before environment
/// variables (`LXLA_DONATION` and so on). NOT_FOUND for another name, INVALID_ARGUMENT for another value. Any thread; counts
/// from the next call on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_env_set_option(env: lxla_env, name: *const c_char, value: *const c_char) -> lxla_status {
    guard("lxla_env_set_option", || {
        // SAFETY: the caller's promise, see `capi`.
        let (name, value) = unsafe { (text("name", name)?, text("value", value)?) };
        env::resolve(env.id)?.options().set(name, value)
    })
}

/// An option's value, as `lxla_env_set_option` takes it. The caller frees it with `lxla_string_free`. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_env_get_option(
    env: lxla_env,
    name: *const c_char,
    out_text: *mut *mut c_char,
) -> lxla_status {
    guard("lxla_env_get_option", || {
        // SAFETY: the caller's promise, see `capi`.
        let (name, place) = unsafe { (text("name", name)?, out("out_text", out_text)?) };
        place.set(owned_text(env::resolve(env.id)?.options().get(name)?))
    })
}

/// How many XLA devices the environment has: `xla:0` to `xla:count-1`. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_env_device_count(env: lxla_env, out_count: *mut i32) -> lxla_status {
    guard("lxla_env_device_count", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_count", out_count)? };
        place.set(env::resolve(env.id)?.devices()?.len() as i32)
    })
}

/// One count since the environment was made or its metrics were reset. Any thread; NOT_FOUND for an unknown name.
///
/// `MarkStep` steps · `CachedCompile`, `UncachedCompile` programs found compiled, and compiled · `CompileNanoseconds` time
/// spent compiling · `PersistentCacheHit`, `PersistentCacheMiss` programs loaded from the disk cache, and not found there ·
/// `ExecuteComputation` runs · `TransferToDevice`, `TransferFromDevice` copies · `OutboundBytes`, `InboundBytes` bytes host
/// to device, and device to host · `DonorsRequested` tensors' buffers that runs were allowed to consume · `DonatedBuffers`
/// tensors' buffers found consumed after a run · `FreedEarly` tensors' buffers that a step freed, since nothing needed them
/// any more and no output could take them over · `ZeroCopy`, `ZeroCopyBytes` tensors that another device took over in the same
/// memory, and their bytes: no copy, so neither a transfer nor bytes out or in · `MixedDeviceCopy`,
/// `MixedDeviceBytes` implicit copies between devices, and their bytes · `RecomputedOps`
/// operations run again that a partial sync had run before · `CreateTensor`, `DestroyTensor` tensors made, and ended ·
/// `CachedPrograms`, `CachedVariants` programs in memory now, and what was compiled of them (for other constants and
/// donors) · `LiveBytes`, `PeakLiveBytes` bytes held by the environment's buffers now, and at most.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_env_counter(env: lxla_env, name: *const c_char, out_value: *mut u64) -> lxla_status {
    guard("lxla_env_counter", || {
        // SAFETY: the caller's promise, see `capi`.
        let (name, place) = unsafe { (text("name", name)?, out("out_value", out_value)?) };
        place.set(env::resolve(env.id)?.counter(name)?)
    })
}

/// All counters, options, the platform and the number of devices, as one JSON object. The caller frees it with
/// `lxla_string_free`. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_env_metrics_json(env: lxla_env, out_text: *mut *mut c_char) -> lxla_status {
    guard("lxla_env_metrics_json", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_text", out_text)? };
        place.set(owned_text(env::resolve(env.id)?.metrics_json()))
    })
}

/// Sets all counters to 0, and the peak of live bytes to what is live. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_metrics_reset(env: lxla_env) -> lxla_status {
    guard("lxla_env_metrics_reset", || {
        env::resolve(env.id)?.reset_metrics();
        Ok(())
    })
}
