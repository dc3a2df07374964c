//! Records operations of meshes, by tensor handles.

use super::operands::operands;
use super::recording::{finish, to_record};
use crate::device::{Device, TensorHandle, device_of};
use crate::error;
use crate::error::Result;
use crate::ir::{NodeId, ReduceOp, Trace};
use crate::mesh::{MeshAxes, Sharding};
use crate::ops;
use crate::sync;

/// Returns a tensor on the mesh `target` with the value of `x` and this sharding. On the mesh itself, records a
/// constraint.
pub fn shard(x: TensorHandle, target: &'static Device, sharding: &Sharding) -> Result<TensorHandle> {
    if !std::ptr::eq(device_of("x", x)?, target) {
        return sync::shard(x, target, sharding);
    }
    let mut state = to_record(target)?;
    let mesh = state.mesh("x")?.clone();
    let x = state.operand("x", x)?;
    let id = ops::sharding_constraint(&mut state.trace, x, &mesh.axes, sharding)?;
    finish(state, id)
}

/// Records `x` with a sharding, given as text.
pub fn sharding_constraint(x: TensorHandle, sharding: &str) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let mesh = state.mesh("x")?.clone();
    let rank = state.trace.ty(x).dims.len();
    let sharding = Sharding::parse("sharding", sharding, &mesh.axes, rank)?;
    let id = ops::sharding_constraint(&mut state.trace, x, &mesh.axes, &sharding)?;
    finish(state, id)
}

/// Records the reduction of `x` over the devices along axes of the mesh.
pub fn all_reduce(op: ReduceOp, x: TensorHandle, axes: &str) -> Result<TensorHandle> {
    collective(x, "axes", axes, |trace, x, mesh, axes| ops::all_reduce(trace, op, x, mesh, axes))
}

/// Records the values of the devices along axes of the mesh, concatenated.
pub fn all_gather(x: TensorHandle, axes: &str, axis: i64) -> Result<TensorHandle> {
    collective(x, "axes", axes, |trace, x, mesh, axes| ops::all_gather(trace, x, mesh, axes, axis))
}

/// Records one piece, for each device, of the reduction of `x` over the devices along axes of the mesh.
pub fn reduce_scatter(op: ReduceOp, x: TensorHandle, axes: &str, axis: i64) -> Result<TensorHandle> {
    collective(x, "axes", axes, |trace, x, mesh, axes| ops::reduce_scatter(trace, op, x, mesh, axes, axis))
}

/// Records an exchange of pieces among the devices along axes of the mesh.
pub fn all_to_all(x: TensorHandle, axes: &str, split_axis: i64, concat_axis: i64) -> Result<TensorHandle> {
    collective(x, "axes", axes, |trace, x, mesh, axes| ops::all_to_all(trace, x, mesh, axes, split_axis, concat_axis))
}

/// Records the value of another device along an axis of the mesh. `pairs` are a source and a target each.
pub fn collective_permute(x: TensorHandle, axis: &str, pairs: &[(i64, i64)]) -> Result<TensorHandle> {
    collective(x, "axis", axis, |trace, x, mesh, axes| match *axes {
        [axis] => ops::collective_permute(trace, x, mesh, axis, pairs),
        _ => Err(error!(InvalidArgument, "axis: {axis:?} are {} axes; want one", axes.len())),
    })
}

/// Records the position of each device along axes of the mesh.
pub fn axis_index(device: &'static Device, axes: &str) -> Result<TensorHandle> {
    let mut state = to_record(device)?;
    let mesh = state.mesh("device")?.clone();
    let axes = mesh.axes.parse_list("axes", axes)?;
    let id = ops::axis_index(&mut state.trace, &mesh.axes, &axes)?;
    finish(state, id)
}

/// Records a collective on `x` along the axes of its mesh that `text` lists, an argument of this name. Fails for a value
/// that is computed from data of tensors alone: it is the same on all devices, and has no pieces to exchange.
fn collective(
    x: TensorHandle,
    name: &str,
    text: &str,
    record: impl FnOnce(&mut Trace, NodeId, &MeshAxes, &[usize]) -> Result<NodeId>,
) -> Result<TensorHandle> {
    let (mut state, [x]) = operands([("x", x)])?;
    let mesh = state.mesh("x")?.clone();
    if state.is_of_data(x) {
        return Err(error!(
            InvalidArgument,
            "x: {} has a value outside of the body of a lxla_shard_map; pass it as an argument to have its pieces there",
            state.trace.ty(x)
        ));
    }
    let axes = mesh.axes.parse_list(name, text)?;
    let id = record(&mut state.trace, x, &mesh.axes, &axes)?;
    finish(state, id)
}
