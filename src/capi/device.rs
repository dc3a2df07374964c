//! Chapter Devices: device names, memory statistics, plugins.

use super::abi::guard::guard_into;
use super::abi::pointers::{Out, OwnedText, Text};
use super::abi::types::{lxla_device, lxla_env, lxla_status};
use super::constants::{LXLA_DEVICE_CPU, LXLA_DEVICE_MESH, LXLA_DEVICE_UNSPECIFIED, LXLA_DEVICE_XLA};
use crate::device::{Device, Place};
use crate::env::{self, DeviceKind, Environment};
use base::error;
use base::error::Result;
use engine::{self, MemoryStatistics, PluginInfo};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Parses "cpu", "xla:N", "xla" (the same as "xla:0") or "mesh:N". INVALID_ARGUMENT for any other text. Does not check
/// that an environment has the device.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_device_parse(text: Text, out_device: Out<lxla_device>) -> lxla_status {
    guard_into("lxla_device_parse", out_device.named("out_device"), || {
        let given = text.get("text")?;
        parse(given)
    })
}

fn parse(given: &str) -> Result<lxla_device> {
    let (kind, number) = given.split_once(':').unwrap_or((given, "0"));
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let ordinal = number.parse::<i32>().ok().filter(|_| digits);
    match (kind, ordinal) {
        ("cpu", Some(0)) => Ok(lxla_device { kind: LXLA_DEVICE_CPU, ordinal: 0 }),
        ("xla", Some(ordinal)) => Ok(lxla_device { kind: LXLA_DEVICE_XLA, ordinal }),
        ("mesh", Some(ordinal)) if given != "mesh" => Ok(lxla_device { kind: LXLA_DEVICE_MESH, ordinal }),
        _ => Err(error!(InvalidArgument, "text: {given:?} is not a device; want \"cpu\", \"xla:N\" or \"mesh:N\"")),
    }
}

/// Returns the statistics of a device's memory that its plugin reports, as a JSON object: `bytes_in_use`, and those of
/// these that the plugin knows: `peak_bytes_in_use`, `num_allocs`, `largest_alloc_size`, `bytes_limit`,
/// `bytes_reserved`, `peak_bytes_reserved`, `bytes_reservable_limit`, `largest_free_block_bytes`, `pool_bytes`,
/// `peak_pool_bytes`. They are those of the whole device, as PJRT defines them; the counters `LiveBytes` and
/// `PeakLiveBytes` are those of the environment. For a mesh: `{"devices": [{"device": "xla:0", "bytes_in_use": ...},
/// ...]}`, row-major over the axes. UNSPECIFIED is xla:0. Starts the plugin on first use. The caller frees the text
/// with `lxla_string_free`.
///
/// UNIMPLEMENTED if the plugin has no statistics (CPU plugins), and for cpu.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_device_memory_stats(
    env: lxla_env,
    device: lxla_device,
    out_json: Out<OwnedText>,
) -> lxla_status {
    guard_into("lxla_device_memory_stats", out_json.named("out_json"), || {
        let named = match kind_of(device)? {
            DeviceKind::Unspecified => lxla_device { kind: LXLA_DEVICE_XLA, ..device },
            _ => device,
        };
        let kept = kept_device(env, named)?;
        let owner = kept.device.state().owner()?.clone();
        let mut all = owner.memory_statistics()?;
        if !matches!(owner.place, Place::Mesh(_)) {
            let (_, statistics) = all.remove(0);
            return OwnedText::new(Value::from(statistics_json(&statistics)).to_string());
        }
        let with_name = |(ordinal, statistics): &(usize, MemoryStatistics)| {
            let mut map = statistics_json(statistics);
            map.insert("device".to_string(), format!("xla:{ordinal}").into());
            Value::from(map)
        };
        let devices: Vec<Value> = all.iter().map(with_name).collect();
        OwnedText::new(json!({ "devices": devices }).to_string())
    })
}

fn statistics_json(statistics: &[(&'static str, i64)]) -> Map<String, Value> {
    statistics.iter().map(|&(name, value)| (name.to_string(), value.into())).collect()
}

/// Returns the PJRT plugins that can be found on this machine, as a JSON array in the order of the search. Creates no
/// client. Each file is loaded and initialized in a process of its own, by the program `lazyxla-probe` that is
/// installed with the library, several at a time. A plugin that hangs is stopped after 10 seconds (or
/// `LXLA_PROBE_TIMEOUT`, a variable, in seconds); one that hangs, crashes or ends its process has an `error`, and does
/// no harm here. Each element:
///
/// - `path`: the file. Files that are found twice are listed once.
/// - `found`: `LXLA_PJRT_PLUGIN`, `PJRT_NAMES_AND_LIBRARY_PATHS` or `TPU_LIBRARY_PATH`: the variable that names the
///   file. `entry_point`: a Python distribution with an entry point in the group `jax_plugins` or `xla_plugins`.
///   `package`: a distribution without one, by the name of the file. `namespace`: a folder in `jax_plugins` or
///   `xla_plugins`. `folder`: a folder that was searched.
/// - `folder`: folder that was searched: `lazyxla` beside the library, `build/plugins` (for a library inside the source
///   tree), those in `LXLA_PLUGIN_DIRS` and `PYTHONPATH`, and the folders of packages of `VIRTUAL_ENV`, `CONDA_PREFIX`,
///   each Python in `PATH`, and the user. null if a variable names the file. Python is not started.
/// - `name`: name in the variable, of the entry point or of the folder in the namespace, or null.
/// - `package`: name and version of the distribution, or null.
/// - `default`: whether an environment without `plugin_path` uses it.
/// - `api_version`: version of its PJRT API as "major.minor", or null if it was not reached.
/// - `platform`: "cuda" or "rocm" if its attributes say so; null otherwise: PJRT tells the platform of clients only.
/// - `error`: why it cannot be used; null if it was loaded and initialized. Creating a client may fail all the same.
///
/// RESOURCE_EXHAUSTED if the process has no file descriptors left to search with.
/// NOT_FOUND if a plugin was found, but not `lazyxla-probe`: it is named by `LXLA_PROBE`, or is beside the library. The
/// caller frees the text with `lxla_string_free`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_plugin_list(out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_plugin_list", out_json.named("out_json"), || {
        let plugins: Vec<Value> = engine::plugins()?.iter().map(plugin_json).collect();
        OwnedText::new(Value::from(plugins).to_string())
    })
}

fn plugin_json(plugin: &PluginInfo) -> Value {
    json!({
        "path": plugin.path.to_string_lossy(),
        "found": plugin.found,
        "folder": plugin.folder.as_ref().map(|folder| folder.to_string_lossy()),
        "name": plugin.name,
        "package": plugin.package,
        "default": plugin.is_default,
        "api_version": plugin.api_version.map(|(major, minor)| format!("{major}.{minor}")),
        "platform": plugin.platform,
        "error": plugin.error,
    })
}

/// Converts the kind of a caller's device.
pub(super) fn kind_of(device: lxla_device) -> Result<DeviceKind> {
    match device.kind {
        LXLA_DEVICE_UNSPECIFIED => Ok(DeviceKind::Unspecified),
        LXLA_DEVICE_CPU => Ok(DeviceKind::Cpu),
        LXLA_DEVICE_XLA => Ok(DeviceKind::Xla),
        LXLA_DEVICE_MESH => Ok(DeviceKind::Mesh),
        other => Err(error!(InvalidArgument, "device: kind {other} is not an LXLA_DEVICE_* constant (valid: 0 to 3)")),
    }
}

/// A device, with a reference to its environment: while it is held, the environment is not destroyed and its device not
/// reused.
pub(super) struct KeptDevice {
    /// Resolved device.
    pub device: &'static Device,
    _environment: Arc<Environment>,
}

/// Resolves a caller's environment and device.
pub(super) fn kept_device(env: lxla_env, device: lxla_device) -> Result<KeptDevice> {
    let kind = kind_of(device)?;
    let environment = env::resolve(env.id)?;
    Ok(KeptDevice { device: environment.device(kind, device.ordinal)?, _environment: environment })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_exactly() {
        assert_eq!(parse("xla:3").unwrap(), lxla_device { kind: LXLA_DEVICE_XLA, ordinal: 3 });
        assert_eq!(parse("xla").unwrap(), lxla_device { kind: LXLA_DEVICE_XLA, ordinal: 0 });
        assert_eq!(parse("mesh:2").unwrap(), lxla_device { kind: LXLA_DEVICE_MESH, ordinal: 2 });
        assert_eq!(parse("cpu").unwrap(), lxla_device { kind: LXLA_DEVICE_CPU, ordinal: 0 });
        for bad in
            ["", "xla:", "xla:-1", "xla:+1", "xla:99999999999", "cpu:1", "gpu:0", " xla:0", "xla:0 ", "XLA:0", "mesh"]
        {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
