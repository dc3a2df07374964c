//! Chapter Devices: device names.

use super::abi::arguments::text;
use super::abi::guard::guard_into;
use super::abi::results::place;
use super::types::*;
use super::{LXLA_DEVICE_CPU, LXLA_DEVICE_MESH, LXLA_DEVICE_UNSPECIFIED, LXLA_DEVICE_XLA};
use crate::device::Device;
use crate::env::{self, DeviceKind, Environment};
use crate::error;
use crate::error::Result;
use std::ffi::c_char;
use std::sync::Arc;

/// Parses "cpu", "xla:N", "xla" (the same as "xla:0") or "mesh:N". INVALID_ARGUMENT for any other text. Does not check
/// that an environment has the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_device_parse(text: *const c_char, out_device: *mut lxla_device) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_device_parse", unsafe { place("out_device", out_device) }, || {
        // SAFETY: likewise.
        let given = unsafe { self::text("text", text)? };
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
        _ => Err(error!(InvalidArgument, "text: {given:?} is no device; want \"cpu\", \"xla:N\" or \"mesh:N\"")),
    }
}

/// Converts the kind of a caller's device.
pub(super) fn kind_of(device: lxla_device) -> Result<DeviceKind> {
    match device.kind {
        LXLA_DEVICE_UNSPECIFIED => Ok(DeviceKind::Unspecified),
        LXLA_DEVICE_CPU => Ok(DeviceKind::Cpu),
        LXLA_DEVICE_XLA => Ok(DeviceKind::Xla),
        LXLA_DEVICE_MESH => Ok(DeviceKind::Mesh),
        other => Err(error!(InvalidArgument, "device: kind {other} is no LXLA_DEVICE_* constant (0 to 3)")),
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
