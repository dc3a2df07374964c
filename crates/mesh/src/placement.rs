//! A mesh with its devices, and the placement of an array on it.

use super::axes::MeshAxes;
use super::sharding::Sharding;
use base::error;
use base::error::Result;
use std::sync::Arc;

/// A mesh: named axes, and the engine's device at each position.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mesh {
    /// Names and sizes of the axes.
    pub axes: MeshAxes,
    /// Ordinal N of the device xla:N at each position, all distinct.
    pub ordinals: Vec<usize>,
}

impl Mesh {
    /// Creates a mesh of the devices with these ordinals, by position; None means 0, 1, 2, ... `device_count` is the
    /// number of devices of the environment. Errors name the arguments `axis_sizes`, `ordinals` and `ordinals[i]`.
    pub fn new(axes: MeshAxes, ordinals: Option<&[i32]>, device_count: usize) -> Result<Mesh> {
        let wanted = axes.device_count();
        if wanted > device_count {
            return Err(error!(
                InvalidArgument,
                "axis_sizes: {axes} needs {wanted} devices; this environment has {device_count}"
            ));
        }
        let ordinals = match ordinals {
            None => (0..wanted).collect(),
            Some(ordinals) => checked(ordinals, wanted, device_count)?,
        };
        Ok(Mesh { axes, ordinals })
    }
}

/// Checks and converts a list of `wanted` distinct ordinals.
fn checked(ordinals: &[i32], wanted: usize, device_count: usize) -> Result<Vec<usize>> {
    if ordinals.len() != wanted {
        let given = ordinals.len();
        return Err(error!(InvalidArgument, "ordinals: {given} given; want {wanted}, one for each device of the mesh"));
    }
    let mut positions = vec![None; device_count];
    let mut devices = Vec::with_capacity(wanted);
    for (position, &ordinal) in ordinals.iter().enumerate() {
        let Some(device) = usize::try_from(ordinal).ok().filter(|&device| device < device_count) else {
            let last = device_count - 1;
            return Err(error!(InvalidArgument, "ordinals[{position}]: {ordinal} given; want 0 to {last}"));
        };
        if let Some(first) = positions[device].replace(position) {
            return Err(error!(
                InvalidArgument,
                "ordinals[{position}]: xla:{device} is given at positions {first} and {position}; want each device once"
            ));
        }
        devices.push(device);
    }
    Ok(devices)
}

/// Mesh and sharding of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    /// Mesh whose devices hold the pieces.
    pub mesh: Arc<Mesh>,
    /// Division of the array among the mesh's devices.
    pub sharding: Sharding,
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::Code;

    fn mesh(ordinals: Option<&[i32]>, device_count: usize) -> Result<Mesh> {
        Mesh::new("data=2,model=2".parse().unwrap(), ordinals, device_count)
    }

    #[test]
    fn ordinals_are_the_first_devices_or_those_given() {
        assert_eq!(mesh(None, 4).unwrap().ordinals, [0, 1, 2, 3]);
        assert_eq!(mesh(None, 9).unwrap().ordinals, [0, 1, 2, 3]);
        assert_eq!(mesh(Some(&[7, 0, 3, 2]), 8).unwrap().ordinals, [7, 0, 3, 2]);
    }

    #[test]
    fn wrong_ordinals_are_refused() {
        let of = |ordinals: Option<&[i32]>, device_count| {
            let error = mesh(ordinals, device_count).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            error.message.to_string()
        };
        let too_few = "axis_sizes: data=2,model=2 needs 4 devices; this environment has 3";
        assert_eq!(of(None, 3), too_few);
        assert_eq!(of(Some(&[0, 1, 2, 2]), 3), too_few);
        assert_eq!(of(None, 0), "axis_sizes: data=2,model=2 needs 4 devices; this environment has 0");
        assert_eq!(of(Some(&[0, 1]), 4), "ordinals: 2 given; want 4, one for each device of the mesh");
        assert_eq!(of(Some(&[0, -1, 2, 3]), 4), "ordinals[1]: -1 given; want 0 to 3");
        assert_eq!(of(Some(&[0, 1, 4, 3]), 4), "ordinals[2]: 4 given; want 0 to 3");
        let twice = "ordinals[3]: xla:1 is given at positions 1 and 3; want each device once";
        assert_eq!(of(Some(&[0, 1, 2, 1]), 4), twice);
    }
}
