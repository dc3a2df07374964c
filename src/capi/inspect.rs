//! Chapter Inspection: what a step or sync would run.

use super::LXLA_DEVICE_XLA;
use super::abi::arguments::{out, owned_text};
use super::abi::guard::{guard, guard_into};
use super::abi::results::output;
use super::device::{KeptDevice, kept_device, kind_of};
use super::tensor::handles;
use super::types::*;
use crate::env::DeviceKind;
use crate::error;
use crate::error::Result;
use crate::sync;
use std::ffi::c_char;

/// Writes 32 bytes to `out_hash`: the blake3 hash of the cache key of the programs that a sync of these tensors would
/// run, or with `n` 0 of those that a step of the device would run now, including donors. The hash is the same in every
/// process, except among processes that run together (`process_count`), where each process has its own. Runs nothing;
/// reads the plugin's file on first use. The tensors must be lazy and on one device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_graph_hash(
    env: lxla_env,
    device: lxla_device,
    tensors: *const lxla_tensor,
    n: usize,
    out_hash: *mut u8,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`; 32 bytes have no alignment.
    guard_into("lxla_graph_hash", unsafe { output("out_hash", out_hash.cast::<[u8; 32]>()) }, || {
        // SAFETY: likewise.
        let tensors = unsafe { handles("tensors", tensors, n)? };
        if tensors.is_empty() {
            return sync::step_hash(one_device(env, device)?.device);
        }
        sync::graph_hash(&tensors)
    })
}

/// Returns the StableHLO text of the programs that a sync of these tensors would compile, and runs nothing. The
/// tensors must be lazy and on one device. Placeholders become parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_stablehlo(
    tensors: *const lxla_tensor,
    n: usize,
    out_text: *mut *mut c_char,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_stablehlo", unsafe { output("out_text", out_text) }, || {
        // SAFETY: likewise.
        let tensors = unsafe { handles("tensors", tensors, n)? };
        sync::stablehlo(&tensors).and_then(owned_text)
    })
}

/// Returns the StableHLO text of the programs that a step of the device would compile now, with donated parameters
/// marked, and runs nothing. "" if nothing is pending.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_step_stablehlo(
    env: lxla_env,
    device: lxla_device,
    out_text: *mut *mut c_char,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_step_stablehlo", unsafe { output("out_text", out_text) }, || {
        let target = one_device(env, device)?;
        sync::step_stablehlo(target.device).and_then(owned_text)
    })
}

/// Returns the device memory of the programs that a sync of these tensors would run, or with `n` 0 of those that a
/// step of the device would run now. Compiles them and runs nothing; the next step finds them in the cache. A value
/// that a loop or an in-place operation updates in place counts in `alias_bytes`, not in `temp_bytes`. The tensors
/// must be lazy and on one device. UNIMPLEMENTED if the plugin does not report memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_compiled_memory(
    env: lxla_env,
    device: lxla_device,
    tensors: *const lxla_tensor,
    n: usize,
    out_stats: *mut lxla_memory_stats,
) -> lxla_status {
    guard("lxla_compiled_memory", || {
        // SAFETY: the caller's promise, see `capi`.
        let tensors = unsafe { handles("tensors", tensors, n)? };
        // SAFETY: likewise.
        unsafe { out("out_stats", out_stats)? };
        // SAFETY: checked just now; only the first field is read, which the caller has set.
        let size = unsafe { (&raw const (*out_stats).struct_size).read() };
        if size < size_of::<usize>() {
            return Err(error!(
                InvalidArgument,
                "out_stats: struct_size is {size}; set it to sizeof(lxla_memory_stats)"
            ));
        }
        let memory = if tensors.is_empty() {
            sync::step_memory(one_device(env, device)?.device)?
        } else {
            sync::memory(&tensors)?
        };
        let stats = lxla_memory_stats {
            struct_size: size,
            argument_bytes: memory.arguments,
            output_bytes: memory.outputs,
            alias_bytes: memory.aliases,
            temp_bytes: memory.temporaries,
            code_bytes: memory.code,
        };
        let known = size.min(size_of::<lxla_memory_stats>());
        // SAFETY: the caller guarantees that its struct has `size` bytes, and the source has at least `known`.
        unsafe { std::ptr::copy_nonoverlapping((&raw const stats).cast::<u8>(), out_stats.cast::<u8>(), known) };
        Ok(())
    })
}

/// Resolves a caller's device argument to one XLA device; unspecified is xla:0.
fn one_device(env: lxla_env, device: lxla_device) -> Result<KeptDevice> {
    let named = match kind_of(device)? {
        DeviceKind::Cpu => {
            return Err(error!(InvalidArgument, "device: cpu has no steps; name a device xla:N"));
        }
        DeviceKind::Unspecified => lxla_device { kind: LXLA_DEVICE_XLA, ordinal: device.ordinal },
        _ => device,
    };
    kept_device(env, named)
}
