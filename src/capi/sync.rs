//! Chapter Sync: steps, syncs and waits.

use super::abi::guard::guard;
use super::device::kind_of;
use super::tensor::handles;
use super::types::*;
use crate::device::Device;
use crate::env::{self, DeviceKind};
use crate::error;
use crate::error::Result;
use crate::sync;

/// What is done to the devices that a sync means (no device named is every XLA device, cpu is none of them): to all of
/// them, also if one fails; then the first failure.
fn on_devices(env: lxla_env, device: lxla_device, passes: &[&dyn Fn(&'static Device) -> Result<()>]) -> Result<()> {
    let environment = env::resolve(env.id)?;
    let devices = match kind_of(device)? {
        DeviceKind::Unspecified => environment.devices_in_use().to_vec(),
        DeviceKind::Cpu => Vec::new(),
        DeviceKind::Xla => vec![environment.device(DeviceKind::Xla, device.ordinal)?],
    };
    let results = passes.iter().flat_map(|pass| devices.iter().map(move |&device| pass(device)));
    results.collect::<Vec<Result<()>>>().into_iter().collect()
}

/// The step: runs everything that is pending on a device (UNSPECIFIED: on every XLA device; CPU: nothing to do), and gives
/// the old buffers of what it overwrites to the new values, if nothing can see them any more. What depends on a placeholder
/// stays pending. With `wait` 1, returns when the device has finished, with its failure if there was one.
///
/// If compiling or starting fails, every tensor is as it was, and the next step tries again; a buffer that the plugin had
/// consumed all the same is lost, and reading it says so. What fails later is reported by whatever waits for it or reads it.
/// Any thread; steps of one device follow one another, and recording goes on meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_mark_step(env: lxla_env, device: lxla_device, wait: i32) -> lxla_status {
    guard("lxla_mark_step", || {
        if !(0..=1).contains(&wait) {
            return Err(error!(InvalidArgument, "wait: {wait} given; want 0 or 1"));
        }
        let passes: &[&dyn Fn(&'static Device) -> Result<()>] = &[&sync::mark_step, &sync::wait];
        on_devices(env, device, &passes[..1 + wait as usize])
    })
}

/// Blocks until everything that was enqueued on a device has ended (UNSPECIFIED: on every XLA device). The first failure
/// that nobody has waited for before. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_wait(env: lxla_env, device: lxla_device) -> lxla_status {
    guard("lxla_wait", || on_devices(env, device, &[&sync::wait]))
}

/// Computes the listed tensors, and every live pending tensor that they need, and nothing else. Never donates, since other
/// pending work may still read what it reads. Does not wait. FAILED_PRECONDITION if one depends on a placeholder: then
/// nothing is computed. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_sync(tensors: *const lxla_tensor, n: usize) -> lxla_status {
    guard("lxla_sync", || {
        // SAFETY: the caller's promise, see `capi`.
        sync::sync(&unsafe { handles("tensors", tensors, n)? })
    })
}
