//! Encodes the few fields that are needed of `CompileOptionsProto` (xla/pjrt/proto/compile_options.proto).

use base::protobuf::{bytes, number, packed};

/// Field 3, `executable_build_options`.
const EXECUTABLE_BUILD_OPTIONS: u64 = 3;
/// Field 4, `compile_portable_executable`: the executable can run on any device.
const COMPILE_PORTABLE_EXECUTABLE: u64 = 4;
/// Field 7, `env_option_overrides`: map from an XLA debug option's name to its value.
const ENV_OPTION_OVERRIDES: u64 = 7;

/// XLA debug options that every program is compiled with; all of them are switched off.
///
/// - `xla_allow_excess_precision`: bf16 and f16 intermediates are rounded as the program says.
/// - `xla_cpu_enable_fast_min_max`: NaN passes through maximum and minimum, as StableHLO defines them.
/// - `xla_cpu_use_xnnpack`: in xla-cpu-pjrt 0.0.1, dots cache the packed right operand by its address, so that a weight
///   that was updated in place is multiplied with its old value. Newer plugins (API 0.106, 0.115) are correct with and
///   without the option; it can be removed together with support for API 0.81.
pub const SWITCHED_OFF: [&str; 3] =
    ["xla_allow_excess_precision", "xla_cpu_enable_fast_min_max", "xla_cpu_use_xnnpack"];

/// Fields of `ExecutableBuildOptionsProto`.
mod build {
    pub const DEVICE_ORDINAL: u64 = 1;
    pub const NUM_REPLICAS: u64 = 4;
    pub const NUM_PARTITIONS: u64 = 5;
    pub const USE_SPMD_PARTITIONING: u64 = 6;
    pub const DEVICE_ASSIGNMENT: u64 = 9;
    pub const ALLOW_SPMD_SHARDING_PROPAGATION_TO_OUTPUT: u64 = 12;
    pub const ALLOW_SPMD_SHARDING_PROPAGATION_TO_PARAMETERS: u64 = 18;
    pub const USE_SHARDY_PARTITIONER: u64 = 19;
}

/// Encodes options for one replica and one partition, with the options in `switched_off` set to false. The executable
/// runs on the device with the global id `device_id` only, or on the device that each execution names if it is None.
///
/// An execution that names a device is slower: XLA's plugins then copy the executable's compile options, which include
/// the shapes of all parameters.
pub fn encode(switched_off: &[&str], device_id: Option<i32>) -> Vec<u8> {
    let (mut build, mut portable) = (build_options(1), Vec::new());
    match device_id {
        Some(id) => build.extend(bytes(build::DEVICE_ASSIGNMENT, &device_assignment(&[id]))),
        None => portable = number(COMPILE_PORTABLE_EXECUTABLE, 1),
    }
    [bytes(EXECUTABLE_BUILD_OPTIONS, &build), portable, switch_off(switched_off)].concat()
}

/// Partitioning of a program.
pub struct Partitioning {
    /// Global id of the device of each partition.
    pub device_ids: Vec<i32>,
    /// Number of parameters. The program states the sharding of each of them.
    pub parameters: usize,
    /// For each output, whether the partitioner chooses its sharding.
    pub chosen_outputs: Vec<bool>,
}

/// Encodes options for one replica of a program that Shardy partitions, with the options in `switched_off` set to
/// false. The executable runs on the given devices only.
pub fn encode_partitioned(switched_off: &[&str], partitioning: &Partitioning) -> Vec<u8> {
    let build = [
        build_options(partitioning.device_ids.len() as u64),
        number(build::USE_SPMD_PARTITIONING, 1),
        bytes(build::DEVICE_ASSIGNMENT, &device_assignment(&partitioning.device_ids)),
        packed(
            build::ALLOW_SPMD_SHARDING_PROPAGATION_TO_OUTPUT,
            partitioning.chosen_outputs.iter().map(|&chosen| chosen.into()),
        ),
        packed(build::ALLOW_SPMD_SHARDING_PROPAGATION_TO_PARAMETERS, std::iter::repeat_n(0, partitioning.parameters)),
        number(build::USE_SHARDY_PARTITIONER, 1),
    ];
    [bytes(EXECUTABLE_BUILD_OPTIONS, &build.concat()), switch_off(switched_off)].concat()
}

/// Encodes the fields of `ExecutableBuildOptionsProto` that every program has.
fn build_options(partitions: u64) -> Vec<u8> {
    let no_device = -1i64;
    let device = number(build::DEVICE_ORDINAL, no_device as u64);
    [device, number(build::NUM_REPLICAS, 1), number(build::NUM_PARTITIONS, partitions)].concat()
}

/// Encodes a `DeviceAssignmentProto` of one replica.
fn device_assignment(device_ids: &[i32]) -> Vec<u8> {
    let replica_device_ids = |&id: &i32| packed(1, [i64::from(id) as u64]);
    let computation_devices = device_ids.iter().flat_map(|id| bytes(3, &replica_device_ids(id)));
    let counts = [number(1, 1), number(2, device_ids.len() as u64)]; // replica_count, computation_count
    counts.into_iter().flatten().chain(computation_devices).collect()
}

/// Encodes the entries of `env_option_overrides` that set these options to false.
fn switch_off(names: &[&str]) -> Vec<u8> {
    let value = number(2, 0); // OptionOverrideProto.bool_field = false
    let entry = |name: &&str| bytes(ENV_OPTION_OVERRIDES, &[bytes(1, name.as_bytes()), bytes(2, &value)].concat());
    names.iter().flat_map(entry).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_are_the_wire_format() {
        let bytes = super::encode(&super::SWITCHED_OFF, None);
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

    #[test]
    fn an_executable_of_one_device_has_an_assignment_and_is_not_portable() {
        let assignment = [0x08, 1, 0x10, 1, 0x1A, 3, 0x0A, 1, 5];
        let build = [&[0x08][..], &[0xFF; 9], &[0x01, 0x20, 1, 0x28, 1, 0x4A, assignment.len() as u8], &assignment];
        let build = build.concat();
        let bytes = super::encode(&["x"], Some(5));
        assert_eq!(bytes[..2], [0x1A, build.len() as u8]);
        assert_eq!(bytes[2..2 + build.len()], build);
        assert_eq!(bytes[2 + build.len()..], [0x3A, 7, 0x0A, 1, b'x', 0x12, 2, 0x10, 0]);
    }

    #[test]
    fn partitioned_programs_have_devices_and_flags() {
        let bytes = super::encode_partitioned(
            &["x"],
            &super::Partitioning { device_ids: vec![3, 200], parameters: 3, chosen_outputs: vec![true, false] },
        );
        let assignment = [0x08, 1, 0x10, 2, 0x1A, 3, 0x0A, 1, 3, 0x1A, 4, 0x0A, 2, 0xC8, 1];
        let build = [
            &[0x08][..],
            &[0xFF; 9],
            &[0x01, 0x20, 1, 0x28, 2, 0x30, 1, 0x4A, assignment.len() as u8],
            &assignment,
            &[0x62, 2, 1, 0, 0x92, 1, 3, 0, 0, 0, 0x98, 1, 1],
        ]
        .concat();
        assert_eq!(bytes[..2], [0x1A, build.len() as u8]);
        assert_eq!(bytes[2..2 + build.len()], build);
        assert_eq!(bytes[2 + build.len()..], [0x3A, 7, 0x0A, 1, b'x', 0x12, 2, 0x10, 0]);

        let none = super::Partitioning { device_ids: vec![0], parameters: 0, chosen_outputs: vec![] };
        let bytes = super::encode_partitioned(&[], &none);
        let end = [0x4A, 9, 0x08, 1, 0x10, 1, 0x1A, 3, 0x0A, 1, 0, 0x98, 1, 1];
        assert!(bytes.ends_with(&end), "empty lists are left out");
    }
}
