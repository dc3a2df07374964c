//! Reads `NamedShardingProto` (xla/xla_data.proto), the format of shardings in newer versions of XLA: it splits by
//! axes, or parts of axes, of a mesh that is part of the message.

use super::axes::MeshAxes;
use super::sharding::Sharding;
use super::tiles::Tiles;
use base::error;
use base::error::Result;
use base::protobuf::fields;

/// Fields of `NamedShardingProto`.
const TUPLE_SHARDINGS: u64 = 1;
const MESH: u64 = 2;
const DIM_SHARDINGS: u64 = 3;
const UNREDUCED_AXES: u64 = 5;
/// Fields of `MeshProto`, and of its `MeshAxis`.
const MESH_AXES: u64 = 1;
const MESH_DEVICE_IDS: u64 = 2;
const MESH_AXIS_SIZE: u64 = 2;
/// Field of `DimensionSharding`.
const DIMENSION_AXES: u64 = 1;
/// Fields of `AxisRefProto`, and of its `SubAxis`.
const AXIS_INDEX: u64 = 1;
const SUB_AXIS: u64 = 2;
const SUB_AXIS_PRE_SIZE: u64 = 1;
const SUB_AXIS_SIZE: u64 = 2;

/// Returns the sharding of an array of this rank; None if it is a tuple, on one device, a partial sum, or does not
/// split by whole axes of `axes`.
pub(super) fn sharding(proto: &[u8], axes: &MeshAxes, rank: usize) -> Result<Option<Sharding>> {
    let mut mesh = ProtoMesh::default();
    let mut dimensions = Vec::new();
    for field in fields(proto) {
        match field? {
            (TUPLE_SHARDINGS | UNREDUCED_AXES, _) => return Ok(None),
            (MESH, value) => mesh = ProtoMesh::read(value.bytes()?)?,
            (DIM_SHARDINGS, value) => dimensions.push(value.bytes()?),
            _ => {}
        }
    }
    if dimensions.len() > rank {
        let given = dimensions.len();
        return Err(error!(Internal, "the sharding of a result of rank {rank} has {given} dimensions"));
    }
    let mut splits = dimensions.into_iter().map(|dimension| mesh.split(dimension)).collect::<Result<Vec<_>>>()?;
    // A replicated array has no dimensions.
    splits.resize_with(rank, Vec::new);
    if mesh.sizes.is_empty() {
        // Without axes, a listed device holds the whole array alone.
        return Ok(mesh.devices.is_empty().then(|| Sharding::replicated(rank)));
    }
    match mesh.tiles(&splits, axes.device_count()) {
        Some(tiles) => Ok(tiles.sharding(axes)),
        None => Err(error!(Internal, "a result is on a mesh {:?} that does not fit {axes}", mesh.sizes)),
    }
}

/// Mesh of the module.
#[derive(Default)]
struct ProtoMesh {
    /// Sizes of the mesh's axes.
    sizes: Vec<usize>,
    /// Devices of the mesh; empty means 0, 1, 2, ...
    devices: Vec<usize>,
}

/// An axis of the module's mesh, or a part of one, as a digit of the device's index in that mesh: `index / stride %
/// size`.
struct Digit {
    /// Distance in the index between consecutive values of the digit.
    stride: usize,
    /// Number of values of the digit.
    size: usize,
}

impl ProtoMesh {
    fn read(proto: &[u8]) -> Result<ProtoMesh> {
        let mut mesh = ProtoMesh::default();
        for field in fields(proto) {
            match field? {
                (MESH_AXES, value) => mesh.sizes.push(number(value.bytes()?, MESH_AXIS_SIZE)?),
                (MESH_DEVICE_IDS, value) => value.push_to(&mut mesh.devices)?,
                _ => {}
            }
        }
        Ok(mesh)
    }

    /// Reads a `DimensionSharding`: the digits that split one axis of the array, major to minor.
    fn split(&self, dimension: &[u8]) -> Result<Vec<Digit>> {
        let mut digits = Vec::new();
        for field in fields(dimension) {
            if let (DIMENSION_AXES, value) = field? {
                digits.push(self.digit(value.bytes()?)?);
            }
        }
        Ok(digits)
    }

    /// Reads an `AxisRefProto`.
    fn digit(&self, reference: &[u8]) -> Result<Digit> {
        let axis = number(reference, AXIS_INDEX)?;
        let wrong = || error!(Internal, "a sharding refers to axis {axis} of a mesh {:?}", self.sizes);
        let whole = *self.sizes.get(axis).ok_or_else(wrong)?;
        let (mut pre_size, mut size) = (1, whole);
        for field in fields(reference) {
            if let (SUB_AXIS, value) = field? {
                pre_size = number(value.bytes()?, SUB_AXIS_PRE_SIZE)?;
                size = number(value.bytes()?, SUB_AXIS_SIZE)?;
            }
        }
        let part = pre_size.checked_mul(size).filter(|&part| part > 0 && whole % part == 0).ok_or_else(wrong)?;
        let minor = self.sizes[axis + 1..].iter().try_fold(whole / part, |product, &size| product.checked_mul(size));
        Ok(Digit { stride: minor.filter(|&minor| minor > 0).ok_or_else(wrong)?, size })
    }

    /// Returns the tiles into which these splits divide an array; None unless the mesh has the devices 0 to
    /// `device_count` - 1.
    fn tiles(&self, splits: &[Vec<Digit>], device_count: usize) -> Option<Tiles> {
        let own = self.sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
        if own != device_count {
            return None;
        }
        let devices = if self.devices.is_empty() { (0..device_count).collect() } else { self.devices.clone() };
        let count = |split: &Vec<Digit>| split.iter().try_fold(1usize, |count, digit| count.checked_mul(digit.size));
        let counts = splits.iter().map(count).collect::<Option<Vec<usize>>>()?;
        Tiles::new(counts, &devices, device_count, |device, axis| {
            splits[axis].iter().fold(0, |index, digit| index * digit.size + device / digit.stride % digit.size)
        })
    }
}

/// Number in a field of a message; 0 if the field is absent.
fn number(message: &[u8], field: u64) -> Result<usize> {
    let mut found = 0;
    for item in fields(message) {
        let (number, value) = item?;
        if number == field {
            found = value.number()? as usize;
        }
    }
    Ok(found)
}
