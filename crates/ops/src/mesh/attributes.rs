//! The mesh of a program: the attributes of every mesh operation begin with it. Checks that mesh operations share.

use base::error;
use base::error::Result;
use base::types::{TensorType, element_count};
use ir::{Attributes, Body, Instruction, Op};
use mesh::{MeshAxes, Sharding};
use std::sync::Arc;

/// Mesh axes of the first mesh operation among these values and the bodies that they apply; None if there is none. All
/// mesh operations of a program have the mesh of its device.
pub fn mesh_of(values: &[Instruction]) -> Option<MeshAxes> {
    let is_of_mesh = |value: &&Instruction| value.op.is_collective() || value.op.is_sharding();
    if let Some(value) = values.iter().find(is_of_mesh) {
        return Some(MeshAxes::read(&mut &value.words[..]));
    }
    let mut applied = values.iter().flat_map(|value| &value.bodies);
    let body = applied.find(|body| body.has_collectives() || body.has_shardings())?;
    mesh_of(&body.decode().0)
}

/// First collective in these bodies and those that they apply, other than by `shard_map`, which gives it a value; None
/// if there is none.
pub fn collective_in<'a>(mut bodies: impl Iterator<Item = &'a Arc<Body>>) -> Option<Op> {
    let mut body = bodies.find(|body| body.has_collectives())?.clone();
    loop {
        let values = body.decode().0;
        if let Some(value) = values.iter().find(|value| value.op.is_collective()) {
            return Some(value.op);
        }
        let mut applied = values.iter().filter(|value| value.op != Op::ShardMap).flat_map(|value| &value.bodies);
        body = applied.find(|body| body.has_collectives())?.clone();
    }
}

/// Checks a list of axes of a mesh, and returns the number of devices of a group, which differ on these axes only.
pub(super) fn group_size(name: &str, mesh: &MeshAxes, axes: &[usize]) -> Result<usize> {
    let count = mesh.axes().len();
    for (i, &axis) in axes.iter().enumerate() {
        if axis >= count {
            return Err(error!(InvalidArgument, "{name}: axis {axis} given; the mesh {mesh} has {count} axes"));
        }
        if axes[..i].contains(&axis) {
            return Err(error!(InvalidArgument, "{name}: axis {} is given twice", mesh.axes()[axis].name));
        }
    }
    Ok(mesh.size_of(axes))
}

/// Names of mesh axes in the syntax of the C functions: `data+model`.
pub(super) fn names(mesh: &MeshAxes, axes: &[usize]) -> String {
    axes.iter().map(|&axis| mesh.axes()[axis].name.as_str()).collect::<Vec<&str>>().join("+")
}

/// Type of the whole array whose pieces have the type `piece`.
pub(super) fn whole(piece: &TensorType, sharding: &Sharding, mesh: &MeshAxes) -> Result<TensorType> {
    let mut ty = piece.clone();
    for (dim, pieces) in ty.dims.iter_mut().zip(sharding.pieces(mesh)) {
        *dim = dim.saturating_mul(pieces as i64);
    }
    element_count(&ty.dims)?;
    Ok(ty)
}

/// Mesh axes that split no axis of the array: devices that differ only on them hold the same piece.
pub(super) fn unsplit(mesh: &MeshAxes, sharding: &Sharding) -> Vec<usize> {
    let is_used = |axis: usize| sharding.splits().iter().flatten().any(|&used| usize::from(used) == axis);
    (0..mesh.axes().len()).filter(|&axis| !is_used(axis)).collect()
}
