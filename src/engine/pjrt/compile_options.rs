//! Encodes the few fields that are needed of `CompileOptionsProto` (xla/pjrt/proto/compile_options.proto) in the wire
//! format of protocol buffers. It is written by hand to avoid a protobuf compiler at build time, and to have stable
//! bytes, because they are part of the cache key.

/// Field 3, `executable_build_options`.
const EXECUTABLE_BUILD_OPTIONS: u32 = 3;
/// Field 4, `compile_portable_executable`: the executable can run on any device.
const COMPILE_PORTABLE_EXECUTABLE: u32 = 4;
/// Field 7, `env_option_overrides`: map from an XLA debug option's name to its value.
const ENV_OPTION_OVERRIDES: u32 = 7;

/// XLA debug options that every program is compiled with; all of them are switched off.
///
/// - `xla_allow_excess_precision`: bf16 and f16 intermediates are rounded as the program says.
/// - `xla_cpu_enable_fast_min_max`: NaN passes through maximum and minimum, as StableHLO defines them.
/// - `xla_cpu_use_xnnpack`: in xla-cpu-pjrt 0.0.1, dots cache the packed right operand by its address, so that a weight
///   that was updated in place is multiplied with its old value. Newer plugins (API 0.106, 0.115) are correct with and
///   without the option; it can be removed together with support for API 0.81.
pub const SWITCHED_OFF: [&str; 3] =
    ["xla_allow_excess_precision", "xla_cpu_enable_fast_min_max", "xla_cpu_use_xnnpack"];

/// Encodes options for one replica and one partition of a portable executable, with the options in `switched_off` set
/// to false.
pub fn encode(switched_off: &[&str]) -> Vec<u8> {
    let mut build = Vec::new();
    varint_field(&mut build, 1, u64::MAX); // device_ordinal = -1: none
    varint_field(&mut build, 4, 1); // num_replicas
    varint_field(&mut build, 5, 1); // num_partitions

    let mut options = Vec::new();
    bytes_field(&mut options, EXECUTABLE_BUILD_OPTIONS, &build);
    varint_field(&mut options, COMPILE_PORTABLE_EXECUTABLE, 1);
    for name in switched_off {
        let mut value = Vec::new();
        varint_field(&mut value, 2, 0); // OptionOverrideProto.bool_field = false
        let mut entry = Vec::new();
        bytes_field(&mut entry, 1, name.as_bytes());
        bytes_field(&mut entry, 2, &value);
        bytes_field(&mut options, ENV_OPTION_OVERRIDES, &entry);
    }
    options
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint_field(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3);
    varint(out, value);
}

fn bytes_field(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    varint(out, u64::from(field) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_are_the_wire_format() {
        let bytes = super::encode(&super::SWITCHED_OFF);
        let build = [&[0x08][..], &[0xFF; 9], &[0x01, 0x20, 1, 0x28, 1]].concat();
        assert_eq!(bytes[..2], [0x1A, build.len() as u8]);
        assert_eq!(bytes[2..2 + build.len()], build);
        let rest = &bytes[2 + build.len()..];
        assert_eq!(rest[..2], [0x20, 1]);
        let mut entries = &rest[2..];
        for name in super::SWITCHED_OFF {
            let size = name.len() + 6;
            assert_eq!(entries[..4], [0x3A, size as u8, 0x0A, name.len() as u8]);
            assert_eq!(entries[4..4 + name.len()], *name.as_bytes());
            assert_eq!(entries[4 + name.len()..][..4], [0x12, 2, 0x10, 0]);
            entries = &entries[2 + size..];
        }
        assert!(entries.is_empty());
    }
}
