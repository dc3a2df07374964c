//! Chapter Environments: options, scopes, counters.

use super::abi::arguments::{optional_text, switch};
use super::abi::callbacks::asker;
use super::abi::guard::{guard, guard_into};
use super::abi::key_value::optional_store;
use super::abi::options;
use super::abi::pointers::{In, Out, OwnedText, Text};
use super::abi::types::{lxla_env, lxla_env_options, lxla_memory_fn, lxla_status};
use super::constants::{LXLA_MIXED_COPY, LXLA_MIXED_ERROR, LXLA_MIXED_SCALAR};
use crate::device::DynamicSizes;
use crate::env::{self, EnvironmentOptions};
use base::error;
use base::error::Result;
use base::threads;
use engine::{EngineKind, PluginOptions, Processes};
use std::num::NonZeroUsize;

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_options_init(options: Out<lxla_env_options>) -> lxla_status {
    guard("lxla_env_options_init", || options::init(options))
}

/// Converts the caller's options. Fields beyond `struct_size` have their defaults.
fn read_options(options: In<lxla_env_options>) -> Result<EnvironmentOptions> {
    let given = options::read(options)?;
    let mut named = Vec::new();
    for (name, given) in [("use_native_for_cpu_tensor", given.use_native_for_cpu_tensor), ("donation", given.donation)]
    {
        if let Some(is_on) = switch(&format!("options.{name}"), given)? {
            named.push((name, is_on.to_string()));
        }
    }
    match given.mixed_device_policy {
        0 => {}
        LXLA_MIXED_ERROR => named.push(("mixed_device_policy", "error".to_string())),
        LXLA_MIXED_COPY => named.push(("mixed_device_policy", "copy".to_string())),
        LXLA_MIXED_SCALAR => named.push(("mixed_device_policy", "scalar".to_string())),
        other => {
            const WANTED: &str = "one of LXLA_MIXED_*, or 0 for the default";
            return Err(error!(InvalidArgument, "options.mixed_device_policy: {other} given; want {WANTED}"));
        }
    }
    if given.max_program_ops > 0 {
        named.push(("max_program_ops", given.max_program_ops.to_string()));
    }
    if let Some(sizes) = optional_text("options.dynamic_sizes", given.dynamic_sizes)? {
        DynamicSizes::parse(sizes).map_err(|e| e.context("options.dynamic_sizes"))?;
        named.push(("dynamic_sizes", sizes.to_string()));
    }
    match given.threads {
        0 => {}
        threads if threads > 0 => named.push(("threads", threads.to_string())),
        negative => return Err(error!(InvalidArgument, "options.threads: {negative} given; want 0 or more")),
    }
    let device_count = usize::try_from(given.device_count)
        .map_err(|_| error!(InvalidArgument, "options.device_count: {} given; want 0 or more", given.device_count))?;
    let engine = optional_text("options.engine", given.engine)?;
    Ok(EnvironmentOptions {
        engine: engine.map(|name| EngineKind::named("options.engine", name)).transpose()?,
        plugin_path: optional_text("options.plugin_path", given.plugin_path)?.map(Into::into),
        cache_dir: optional_text("options.cache_dir", given.cache_dir)?.map(Into::into),
        cache_capacity: NonZeroUsize::new(given.cache_capacity),
        device_count,
        processes: read_processes(&given)?,
        plugin_options: read_plugin_options(&given)?,
        named,
    })
}

/// Parses the options of the plugin; none if the text is NULL.
fn read_plugin_options(given: &lxla_env_options) -> Result<PluginOptions> {
    const ARGUMENT: &str = "options.plugin_options";
    match optional_text(ARGUMENT, given.plugin_options)? {
        Some(text) => PluginOptions::parse(text).map_err(|e| e.context(ARGUMENT)),
        None => Ok(PluginOptions::default()),
    }
}

/// Converts the options for several processes; None if `process_count` is at most 1.
fn read_processes(given: &lxla_env_options) -> Result<Option<Processes>> {
    if given.process_count < 0 {
        return Err(error!(InvalidArgument, "options.process_count: {} given; want 0 or more", given.process_count));
    }
    let (id, count) = (given.process_id, given.process_count.max(1));
    if !(0..count).contains(&id) {
        return Err(error!(InvalidArgument, "options.process_id: {id} given; want 0 to {}", count - 1));
    }
    match optional_store(given.key_value_store)? {
        _ if count == 1 => Ok(None),
        Some(store) => Ok(Some(Processes { id, count, store })),
        None => Err(error!(
            InvalidArgument,
            "options.key_value_store: it is NULL; want a store that the {count} processes share"
        )),
    }
}

/// Creates an environment. NULL options select the defaults. If `plugin_path` is given, the plugin is loaded and its
/// client started during the call; otherwise the first use of an XLA device does so, and returns NOT_FOUND if there
/// is no plugin, with the searched locations and how to install one in the message.
///
/// With `process_count` of 2 or more, the plugin's client joins those of the other processes through `key_value_store`,
/// and creating it may wait for them. A plugin that supports one process only (CPU plugins) gets a client of this
/// process alone; a warning is logged if it rejects the options `node_id` and `num_nodes`.
///
/// INVALID_ARGUMENT if `plugin_options` is not a JSON object of options: the message has the offset of the first wrong
/// byte, or the name of the option.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_create(options: In<lxla_env_options>, out_env: Out<lxla_env>) -> lxla_status {
    guard_into("lxla_env_create", out_env.named("out_env"), || {
        let options = read_options(options)?;
        Ok(lxla_env { id: env::create(options)? })
    })
}

/// Adds one reference.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_retain(env: lxla_env) -> lxla_status {
    guard("lxla_env_retain", || env::retain(env.id))
}

/// Removes one reference. After the last one, tensors of the environment can only be read and released.
/// FAILED_PRECONDITION for the default environment.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_release(env: lxla_env) -> lxla_status {
    guard("lxla_env_release", || env::release(env.id))
}

/// Returns the default environment of the process, which is created with default options on first use. The handle is
/// borrowed: it must not be released.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_default(out_env: Out<lxla_env>) -> lxla_status {
    guard_into("lxla_env_default", out_env.named("out_env"), || Ok(lxla_env { id: env::default()? }))
}

/// Makes `env` the current environment of the calling thread until the matching `lxla_env_exit`. Scopes nest.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_enter(env: lxla_env) -> lxla_status {
    guard("lxla_env_enter", || env::enter(env.id))
}

/// Leaves the scope that the calling thread entered last. FAILED_PRECONDITION if it belongs to another environment,
/// or there is none. With id 0, leaves the innermost scope, whatever its environment.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_exit(env: lxla_env) -> lxla_status {
    guard("lxla_env_exit", || env::exit(env.id))
}

/// Returns the current environment of the calling thread. The handle is borrowed: it must not be released.
/// FAILED_PRECONDITION outside any scope.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_current(out_env: Out<lxla_env>) -> lxla_status {
    guard_into("lxla_env_current", out_env.named("out_env"), || {
        let outside = || error!(FailedPrecondition, "this thread is in no environment's scope");
        Ok(lxla_env { id: env::current().ok_or_else(outside)? })
    })
}

/// Sets an option from the next call on. NOT_FOUND for an unknown name, INVALID_ARGUMENT for an invalid value.
///
/// - `use_native_for_cpu_tensor`: true or false.
/// - `mixed_device_policy`: error, copy or scalar.
/// - `donation`: true or false.
/// - `max_program_ops`: a number, at least 1.
/// - `max_pending_ops`: maximum number of pending operations on a device, at least 1. Default 100000000.
/// - `pending_limit_policy`: what recording beyond `max_pending_ops` does: error (RESOURCE_EXHAUSTED, the default),
///   step (steps the device first, as `lxla_mark_step`, and fails if the step does; what depends on a placeholder
///   stays pending, and does not count), or loop (as step; also steps where 256 or more operations, constants and
///   inputs are pending and the last operations repeat the ones before, and from then on always at the same place of an
///   iteration, or of several short ones, so that a loop that neither steps nor reads compiles a few programs; less
///   often while each step compiles. A step before the limit that fails is logged, and what it could not compute stays
///   pending. Not for frontends that call `lxla_gradients`, since a step ends what it differentiates).
/// - `check_nonfinite`: true or false (default). With true, every step, sync and read that computes values on an XLA
///   device or a mesh waits for them and looks for NaNs and infinities. If an operation made one of finite operands, the
///   call fails with OUT_OF_RANGE, and the message names the first one as `lxla_find_nonfinite`, also in scans and
///   calls. All values are computed nevertheless, and can be read. Costs a copy of every floating result to the host
///   where it is not in host memory; and no buffer is donated, so that the operands are there: a step needs memory for
///   its old and its new values at once. Only after a NaN or an infinity was found in the results, the programs are
///   evaluated natively. Operations on `cpu` are not checked.
/// - `read_scope`: what a read, save or sync of XLA tensors computes besides its tensors and the live pending ones on
///   which they depend: connected (default: the live pending tensors that depend on an operation which it computes, with
///   what these need in turn, but not what depends on a placeholder or on lost data), listed (nothing), or all (all live
///   pending tensors of the device). If the program with them cannot be compiled or does not fit the memory, they stay
///   pending, and the call succeeds.
/// - `max_left_pending`: a number, at least 0. Default 4096. If a read, save or sync left more operations pending on a
///   device which could be computed, the next one computes all live tensors of the device.
/// - `step_before_call`: true or false (default). With true, a call of a computation first steps what earlier calls left
///   pending on the device, as `lxla_mark_step` without waiting, and fails if that step does.
/// - `dynamic_sizes`: `off` (default), or the bounds for programs whose sizes change: `buckets` (four in each doubling,
///   from 16: 16, 20, 24, 28, 32, 40, 48, ...), `powers` (powers of two, from 16), or ascending bounds of at least 1 as
///   128,256,1024 (beyond the last one, `buckets`). A program that comes again equal but for sizes is compiled for
///   bounds, and then serves every size up to them: its arguments are padded, and operations that padding would reach
///   are masked. Values, shapes and errors are those of the program for its sizes, up to the rounding of longer sums.
///   Programs on meshes, with kernels, or with an operation that cannot be computed for bounds are compiled for their
///   sizes; the log of compiles names the operation.
/// - `dynamic_exact`: true (default) or false. With true, sizes that recur get a program of their own, compiled in the
///   background, when their runs have lost more time to padding than a compile takes.
/// - `matmul_precision`: how products and convolutions that state no precision are computed: highest (default: all that
///   the dtype holds), high, default (the fastest of the device), or an algorithm of StableHLO for products of the dtypes
///   that it takes: f16_f16_f16, f16_f16_f32, bf16_bf16_bf16, bf16_bf16_f32, bf16_bf16_f32_x3, bf16_bf16_f32_x6,
///   bf16_bf16_f32_x9, tf32_tf32_f32, tf32_tf32_f32_x3, f32_f32_f32 or f64_f64_f64. Products of other dtypes keep full
///   precision; a convolution, which has no algorithms, has the least level that loses no more. Operations of imported
///   programs keep what they state; factorizations and solvers keep full precision. `cpu` and CPU plugins compute in full
///   precision whatever is asked, or refuse an algorithm (`docs/plugins.md`). Programs are compiled again after a change.
/// - `threads`: the most threads that one native kernel uses, the calling one among them; 0 (default) for all
///   processors. It holds for eager work on `cpu`, for executables on `cpu`, and for native kernels that programs of a
///   CPU plugin call (factorizations), where the least number of all environments of the process holds. Results do not
///   depend on it. `lxla_thread_limit` is the same for one thread. The threads of a plugin are its own: CPU plugins have
///   no option for them (`docs/plugins.md`).
/// - `timeline`: true or false (default): keeps the last 20000 events of a trace (`lxla_trace_start`) in memory, for
///   reports.
///
/// For true and false, 1 and 0 are also accepted; these texts are not the numbers of structs, where 0 is the default and
/// `LXLA_OFF` is 2. This call overrides the options of `lxla_env_create`, which override
/// environment variables (`LXLA_DONATION`, `LXLA_CHECK_NONFINITE` and so on).
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_set_option(env: lxla_env, name: Text, value: Text) -> lxla_status {
    guard("lxla_env_set_option", || {
        let (name, value) = (name.get("name")?, value.get("value")?);
        env::resolve(env.id)?.options().set(name, value)
    })
}

/// Returns the value of an option in the form that `lxla_env_set_option` accepts.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_get_option(env: lxla_env, name: Text, out_text: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_env_get_option", out_text.named("out_text"), || {
        let name = name.get("name")?;
        OwnedText::new(env::resolve(env.id)?.options().get(name)?)
    })
}

/// Limits the native kernels that calls of this thread run on `cpu` to `n` threads, the calling one among them; 0: as the
/// option `threads` of the environment says. Writes the limit before, 0 for none, to be set again. Results do not depend
/// on it. INVALID_ARGUMENT if `n` is negative.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_thread_limit(n: i32, out_before: Out<i32>) -> lxla_status {
    guard_into("lxla_thread_limit", out_before.named("out_before"), || match usize::try_from(n) {
        Ok(n) => Ok(threads::set_own(n) as i32),
        Err(_) => Err(error!(InvalidArgument, "n: {n} given; want 0 or more")),
    })
}

/// Returns the number of XLA devices of the environment, `xla:0` to `xla:count-1`. Starts the plugin on first use.
/// Devices of other processes are not counted, and have no ordinals here.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_device_count(env: lxla_env, out_count: Out<i32>) -> lxla_status {
    guard_into("lxla_env_device_count", out_count.named("out_count"), || {
        Ok(env::resolve(env.id)?.devices()?.len() as i32)
    })
}

/// Sets the function that frees memory when an allocation on a device of the environment fails; NULL removes it. For each
/// allocation that fails, `fn` is called once, on the thread whose call needs the memory, and perhaps on several threads
/// at a time. If it returns 1, the allocation is tried once more; it fails as without `fn` if that does not help either.
/// A language with a garbage collector collects there, and releases the handles of what it finds.
///
/// Asked for are the memory of runs and executables, of copies to and between devices, and of values that are created
/// or computed on `cpu`, except by in-place operations. `fn` is not called if a run has consumed its arguments, nor if
/// the device reports the lack only after the run was enqueued: CPU plugins allocate results while a program runs, so
/// that there `fn` is called only for programs that need 64 MB or more, before they run. `fn` may call the library to
/// release tensors, computations and the like; a step, sync or read fails there with FAILED_PRECONDITION. It must not
/// wait for a thread that is in a call of the library. A call of the former function may be in progress when this
/// returns, and `fn` may be called as long as the environment or a tensor of it exists.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_set_memory_callback(
    env: lxla_env,
    fn_: lxla_memory_fn,
    user: *mut std::ffi::c_void,
) -> lxla_status {
    guard("lxla_env_set_memory_callback", || {
        env::resolve(env.id)?.set_memory_callback(asker(fn_, user));
        Ok(())
    })
}

/// Returns the value of a counter, counted since the environment was created or its metrics were reset. NOT_FOUND for
/// an unknown name.
///
/// - `MarkStep`: steps, also those of lists of tensors.
/// - `RepeatedStep`: steps that recorded the same operations as an earlier one, so that their programs were known.
/// - `RepeatedGradients`: calls of `lxla_gradients` that took the same gradients of the same operations as an earlier
///   call, and copied the operations that it had recorded.
/// - `CachedCompile`, `UncachedCompile`: programs found in the memory cache, and programs compiled.
/// - `CompileNanoseconds`: time spent compiling.
/// - `PersistentCacheHit`, `PersistentCacheMiss`: programs found in the disk cache, and not found there.
/// - `ExecuteComputation`: executions of programs.
/// - `TransferToDevice`, `TransferFromDevice`: copies to and from devices.
/// - `OutboundBytes`, `InboundBytes`: bytes copied from host to device, and from device to host.
/// - `DonorsRequested`: tensor buffers that executions were allowed to consume.
/// - `DonatedBuffers`: tensor buffers found consumed after an execution.
/// - `FreedEarly`: tensor buffers freed by a step because nothing needed them and no output could reuse them.
/// - `ZeroCopy`, `ZeroCopyBytes`: values shared between devices in the same memory, and their bytes; they count
///   neither as transfers nor as outbound or inbound bytes.
/// - `MixedDeviceCopy`, `MixedDeviceBytes`: implicit copies between devices, and their bytes.
/// - `RecomputedOps`: operations run again after a partial sync had run them.
/// - `DynamicCompile`: programs made for bounds of sizes, by the option `dynamic_sizes`.
/// - `DynamicRun`: runs that a program for bounds served.
/// - `DynamicExactCompile`: programs compiled in the background for sizes that recur.
/// - `DynamicRefused`: programs compiled for their sizes, although they change.
/// - `ExecutableRecompiled`: executables in files whose program `lxla_executable_load` compiled.
/// - `CreateTensor`, `DestroyTensor`: tensors created and destroyed.
/// - `CachedPrograms`, `CachedVariants`: programs in the memory cache now, and their compiled variants (for different
///   constants and donors).
/// - `LiveBytes`, `PeakLiveBytes`: bytes held by the environment's buffers now, and their maximum.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_counter(env: lxla_env, name: Text, out_value: Out<u64>) -> lxla_status {
    guard_into("lxla_env_counter", out_value.named("out_value"), || {
        let name = name.get("name")?;
        env::resolve(env.id)?.counter(name)
    })
}

/// Returns all counters, all options, the platform and the number of devices as one JSON object. If `process_count` is
/// 2 or more, it also has `process_id` and `process_count`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_metrics_json(env: lxla_env, out_text: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_env_metrics_json", out_text.named("out_text"), || {
        OwnedText::new(env::resolve(env.id)?.metrics().to_string())
    })
}

/// Sets all counters to 0, and the peak of live bytes to the bytes that are live now.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_env_metrics_reset(env: lxla_env) -> lxla_status {
    guard("lxla_env_metrics_reset", || {
        env::resolve(env.id)?.reset_metrics();
        Ok(())
    })
}
