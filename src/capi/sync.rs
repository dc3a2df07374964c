//! Chapter Sync: steps, syncs and waits.

use super::abi::arguments::{deadline, flag};
use super::abi::callbacks::teller;
use super::abi::guard::{guard, guard_into};
use super::abi::pointers::{List, Out};
use super::abi::types::{lxla_device, lxla_env, lxla_ready_fn, lxla_status, lxla_tensor};
use super::device::kind_of;
use super::tensor::handles;
use crate::device::Device;
use crate::env::{self, DeviceKind};
use crate::sync;
use base::error::Result;

/// Returns the devices selected by a caller's device argument: every XLA device in use and every mesh for UNSPECIFIED,
/// none for CPU.
fn selected(env: lxla_env, device: lxla_device) -> Result<Vec<&'static Device>> {
    let environment = env::resolve(env.id)?;
    Ok(match kind_of(device)? {
        DeviceKind::Unspecified => environment.lazy_devices(),
        DeviceKind::Cpu => Vec::new(),
        kind @ (DeviceKind::Xla | DeviceKind::Mesh) => vec![environment.device(kind, device.ordinal)?],
    })
}

/// Calls each of `passes` with the devices selected by a caller's device argument. Goes on after a failure; returns the
/// first failure.
fn on_devices(env: lxla_env, device: lxla_device, passes: &[&dyn Fn(&'static Device) -> Result<()>]) -> Result<()> {
    let devices = selected(env, device)?;
    let results = passes.iter().flat_map(|pass| devices.iter().map(move |&device| pass(device)));
    results.collect::<Vec<Result<()>>>().into_iter().collect()
}

/// Runs all pending operations of a device: compiles them, unless the program is cached, and enqueues it. UNSPECIFIED
/// selects every XLA device and every mesh, CPU no device. Donates the buffers of values that nothing can read any more
/// (option `donation`). Operations that depend on a placeholder stay pending. With `wait` 1, blocks until the device
/// has finished and returns its failure, as `lxla_wait`; with `wait` 0, returns when the work is enqueued. At
/// most 16 runs and copies are in flight on a device: a further step first waits for the oldest.
///
/// If compiling fails, the values that cannot be compiled are searched for by compiling parts of the step (at most 64):
/// they and what depends on them stay pending, the others are computed, and the error names them with dtype, shape and
/// operation. If none fails alone, or if enqueuing fails, no tensor changes. The next step tries again; a buffer that
/// the plugin consumed nevertheless is lost, and reading it returns the error. A failure during execution is reported
/// by the next wait, or by the next read of any affected tensor. Steps of one device run one after another; other
/// threads may record meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_mark_step(env: lxla_env, device: lxla_device, wait: i32) -> lxla_status {
    guard("lxla_mark_step", || {
        let wait = flag("wait", wait)?;
        let passes: &[&dyn Fn(&'static Device) -> Result<()>] = &[&sync::mark_step, &sync::wait];
        on_devices(env, device, &passes[..1 + usize::from(wait)])
    })
}

/// Blocks until all work enqueued on a device has finished. UNSPECIFIED selects every XLA device and every mesh, CPU no
/// device. Returns the first failure that no earlier wait reported.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_wait(env: lxla_env, device: lxla_device) -> lxla_status {
    guard("lxla_wait", || on_devices(env, device, &[&sync::wait]))
}

/// Returns the number of runs and copies that this process has enqueued on devices, for `lxla_wait_for`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_enqueued(out_number: Out<u64>) -> lxla_status {
    guard_into("lxla_enqueued", out_number.named("out_number"), || Ok(engine::enqueued()))
}

/// Waits as `lxla_wait`, but for at most `timeout_ms` milliseconds, and for no more than the first `enqueued` runs and
/// copies of the process (`lxla_enqueued`). A frontend that checks for interrupts of its user calls it in a loop with
/// one number: then work that other threads enqueue meanwhile does not prolong the loop. `out_done` is 1 if this work
/// has ended on the device, else 0. If it has ended, returns the first failure that no earlier wait reported. With
/// `timeout_ms` 0, does not wait. INVALID_ARGUMENT if it is negative. The work goes on in any case. CPU plugins run
/// short programs before `lxla_mark_step` returns. The engine xla-rs waits without a limit.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_wait_for(
    env: lxla_env,
    device: lxla_device,
    enqueued: u64,
    timeout_ms: i64,
    out_done: Out<i32>,
) -> lxla_status {
    guard_into("lxla_wait_for", out_done.named("out_done"), || {
        let deadline = deadline("timeout_ms", timeout_ms)?;
        sync::wait_for(&selected(env, device)?, enqueued, deadline)
    })
}

/// Waits until a tensor's value is on its device or its computation has failed, for at most `timeout_ms` milliseconds:
/// then reading it does not wait. `out_ready` is 1 if it is, else 0. With a `timeout_ms` of 0, does not wait. A pending
/// value is computed first, as by `lxla_sync`, and the limit does not apply to that: to compiling, to syncs of other
/// threads that compute the tensor, and to the wait for the oldest of 16 runs in flight. A native tensor is ready. A
/// failure of the computation is reported by the next read. INVALID_ARGUMENT if `timeout_ms` is negative;
/// FAILED_PRECONDITION if the tensor depends on a placeholder, and the failure of the tensor if its value is lost.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_wait_for(tensor: lxla_tensor, timeout_ms: i64, out_ready: Out<i32>) -> lxla_status {
    guard_into("lxla_tensor_wait_for", out_ready.named("out_ready"), || {
        let deadline = deadline("timeout_ms", timeout_ms)?;
        sync::ready_by(tensor.into(), deadline)
    })
}

/// Calls `fn` once, when a tensor's value is on its device or its computation has failed. Does not wait for it. A pending
/// value is computed first, as by `lxla_sync`; an error of `lxla_sync` (a placeholder, a failed compile) is returned, and
/// `fn` is not called. The failure of a computation, and of a value that is lost, is passed to `fn`. What happens to the
/// tensor after this call changes nothing: it may be released or assigned, a step may donate its value, and its
/// environment may be released.
///
/// `fn` is called on a thread of the library, which calls such functions one after another; for a native tensor, too,
/// and never within this call. It may call the library, also this function. It should return soon, and not wait for
/// other work of a device, since other functions wait for it. No function is called once the process exits.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_on_ready(
    tensor: lxla_tensor,
    fn_: lxla_ready_fn,
    user: *mut std::ffi::c_void,
) -> lxla_status {
    guard("lxla_tensor_on_ready", || sync::on_ready(tensor.into(), teller(fn_, user)?))
}

/// Runs a step of some tensors: computes the listed tensors and all live pending tensors on which they depend, and
/// nothing else, as `lxla_sync`, but donates as `lxla_mark_step`: the buffers of values that nothing can read any more.
/// A buffer is not donated if a live tensor holds it, or if a tensor that stays pending still needs it. If nothing else
/// is pending on the device, it is the step that `lxla_mark_step` would make.
///
/// All tensors are on one device, else INVALID_ARGUMENT. Nothing is done for native tensors and for tensors that are
/// computed already. With `wait` 1, blocks until the device has finished and returns its failure, as `lxla_wait`; with
/// `wait` 0, and after a failure, returns when the work is enqueued. FAILED_PRECONDITION if a listed tensor depends on
/// a placeholder, and the failure of the tensor if its value is lost; nothing is computed then, as with `lxla_sync`. If
/// compiling fails, what can be compiled of the listed tensors and of what they depend on is computed, as with
/// `lxla_mark_step`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_step_tensors(tensors: List<lxla_tensor>, n: usize, wait: i32) -> lxla_status {
    guard("lxla_step_tensors", || {
        let wait = flag("wait", wait)?;
        let tensors = handles("tensors", tensors, n)?;
        sync::step_tensors(&tensors, wait)
    })
}

/// Enqueues the computation of the listed tensors and of all live pending tensors on which they depend, and nothing
/// else. Never donates: `lxla_step_tensors` does. Does not wait.
/// FAILED_PRECONDITION if a tensor depends on a placeholder; nothing is computed then.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_sync(tensors: List<lxla_tensor>, n: usize) -> lxla_status {
    guard("lxla_sync", || {
        let tensors = handles("tensors", tensors, n)?;
        sync::sync(&tensors)
    })
}
