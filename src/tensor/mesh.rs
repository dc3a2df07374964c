//! Tensors on meshes: sharding, and recording of operations that take the axes of the mesh.

use super::operands::operands;
use super::results::{Locked, Recorded, to_record};
use crate::device::{Device, TensorHandle, device_of};
use crate::sync;
use base::error;
use base::error::Result;
use ir::{NodeId, Trace};
use mesh::{Mesh, MeshAxes, Sharding};
use std::sync::Arc;

/// Returns a tensor on the mesh `target` with the value of `x` and this sharding. If `x` is on this mesh, records a
/// constraint.
pub fn shard(x: TensorHandle, target: &'static Device, sharding: &Sharding) -> Result<TensorHandle> {
    if !std::ptr::eq(device_of("x", x)?, target) {
        return sync::shard(x, target, sharding);
    }
    record_on_mesh(x, |trace, x, axes| ops::mesh::sharding_constraint(trace, x, axes, sharding))
}

/// Records an operation without operands that takes the axes of the mesh `device`.
pub fn create_on_mesh(
    device: &'static Device,
    operation: impl FnOnce(&mut Trace, &MeshAxes) -> Result<NodeId>,
) -> Result<TensorHandle> {
    let mut state = to_record(device)?;
    let mesh = state.mesh("device")?.clone();
    let made = operation(&mut state.trace, &mesh.axes)?;
    made.finish(state)
}

/// Records an operation on `x` that takes the axes of its mesh.
pub fn record_on_mesh(
    x: TensorHandle,
    operation: impl FnOnce(&mut Trace, NodeId, &MeshAxes) -> Result<NodeId>,
) -> Result<TensorHandle> {
    let (mut state, x, mesh) = operand_on_mesh(x)?;
    let made = operation(&mut state.trace, x, &mesh.axes)?;
    made.finish(state)
}

/// Records a collective on `x`. Fails for a value computed from tensor data alone: all devices have the same value, and
/// there are no pieces to exchange.
pub fn record_collective(
    x: TensorHandle,
    collective: impl FnOnce(&mut Trace, NodeId, &MeshAxes) -> Result<NodeId>,
) -> Result<TensorHandle> {
    let (mut state, x, mesh) = operand_on_mesh(x)?;
    if state.is_of_data(x) {
        return Err(error!(
            InvalidArgument,
            "x: {} has a value outside of the body of a lxla_shard_map; pass it as an argument to have its pieces there",
            state.trace.ty(x)
        ));
    }
    let made = collective(&mut state.trace, x, &mesh.axes)?;
    made.finish(state)
}

fn operand_on_mesh(x: TensorHandle) -> Result<(Locked, NodeId, Arc<Mesh>)> {
    let (state, [x]) = operands([("x", x)])?;
    let mesh = state.mesh("x")?.clone();
    Ok((state, x, mesh))
}
