//! Chapter Inspection: what a step or sync would run.

use super::abi::guard::guard_into;
use super::abi::pointers::{List, Out, OutList, OwnedText};
use super::abi::types::{lxla_device, lxla_env, lxla_memory_stats, lxla_status, lxla_tensor};
use super::constants::LXLA_DEVICE_XLA;
use super::device::{KeptDevice, kept_device, kind_of};
use super::tensor::handles;
use crate::env::DeviceKind;
use crate::sync;
use base::error;
use base::error::Result;

/// Writes 32 bytes to `out_hash`: the blake3 hash of the cache key of the programs that a sync of these tensors would
/// run, or with `n` 0 of those that a step of the device would run now, including donors. The hash is the same in every
/// process, except among processes that run together (`process_count`), where each process has its own. Runs nothing;
/// reads the plugin's file on first use. The tensors must be lazy and on one device.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_graph_hash(
    env: lxla_env,
    device: lxla_device,
    tensors: List<lxla_tensor>,
    n: usize,
    out_hash: OutList<u8>,
) -> lxla_status {
    guard_into("lxla_graph_hash", out_hash.list("out_hash", 32), || {
        let tensors = handles("tensors", tensors, n)?;
        if tensors.is_empty() {
            return sync::step_hash(one_device(env, device)?.device);
        }
        sync::graph_hash(&tensors)
    })
}

/// Returns the StableHLO text of the programs that a sync of these tensors would compile, and runs nothing. The
/// tensors must be lazy and on one device. Placeholders become parameters.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_stablehlo(tensors: List<lxla_tensor>, n: usize, out_text: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_stablehlo", out_text.named("out_text"), || {
        let tensors = handles("tensors", tensors, n)?;
        sync::stablehlo(&tensors).and_then(OwnedText::new)
    })
}

/// Returns the StableHLO text of the programs that a step of the device would compile now, with donated parameters
/// marked, and runs nothing. "" if nothing is pending.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_step_stablehlo(env: lxla_env, device: lxla_device, out_text: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_step_stablehlo", out_text.named("out_text"), || {
        let target = one_device(env, device)?;
        sync::step_stablehlo(target.device).and_then(OwnedText::new)
    })
}

/// Returns the device memory of the programs that a sync of these tensors would run, or with `n` 0 of those that a
/// step of the device would run now. Compiles them and runs nothing; the next step finds them in the cache. A value
/// that a loop or an in-place operation updates in place counts in `alias_bytes`, not in `temp_bytes`. The tensors
/// must be lazy and on one device. UNIMPLEMENTED if the plugin does not report memory.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_compiled_memory(
    env: lxla_env,
    device: lxla_device,
    tensors: List<lxla_tensor>,
    n: usize,
    out_stats: Out<lxla_memory_stats>,
) -> lxla_status {
    guard_into("lxla_compiled_memory", out_stats.versioned("out_stats"), || {
        let tensors = handles("tensors", tensors, n)?;
        let memory = if tensors.is_empty() {
            sync::step_memory(one_device(env, device)?.device)?
        } else {
            sync::memory(&tensors)?
        };
        Ok(lxla_memory_stats {
            struct_size: size_of::<lxla_memory_stats>(),
            argument_bytes: memory.arguments,
            output_bytes: memory.outputs,
            alias_bytes: memory.aliases,
            temp_bytes: memory.temporaries,
            code_bytes: memory.code,
        })
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
