//! Collectives: operations among the devices of a group, which differ only on some mesh axes. They are recorded in the
//! body of a `shard_map`, on the pieces of one device.

use super::attributes::{group_size, names};

use crate::control::regions::scalar;
use crate::creation::constants::nothing;
use crate::emit::{Emitter, emit, mlir};
use base::error;
use base::error::Result;
use ir::{NodeId, Op, ReduceOp, Trace, attributes};
use mesh::MeshAxes;

use crate::elementwise::wide;
use crate::reduction::reduce::{check, counted};

use base::types::{Kind, TensorType, element_count, normalize_axis};

attributes! {
    /// Attributes of `all_reduce`.
    pub struct AllReduceAttributes {
        /// Names and sizes of the axes of the mesh.
        pub mesh: MeshAxes,
        /// Axes of the mesh on which the devices of a group differ.
        pub axes: Vec<usize>,
    }

    /// Attributes of `all_gather` and `reduce_scatter`.
    pub struct AlongAttributes {
        /// Names and sizes of the axes of the mesh.
        pub mesh: MeshAxes,
        /// Axes of the mesh on which the devices of a group differ, major to minor in the order of the pieces.
        pub axes: Vec<usize>,
        /// Axis of the array along which pieces are concatenated or split.
        pub axis: usize,
    }

    /// Attributes of `all_to_all`.
    pub struct AllToAllAttributes {
        /// Names and sizes of the axes of the mesh.
        pub mesh: MeshAxes,
        /// Axes of the mesh on which the devices of a group differ, major to minor in the order of the pieces.
        pub axes: Vec<usize>,
        /// Axis of the operand that is split.
        pub split_axis: usize,
        /// Axis along which the received pieces are concatenated.
        pub concat_axis: usize,
    }
}

/// Records the reduction of `x` over the devices that differ only on `axes` of the mesh. 8-bit floats are reduced in
/// f32; pred is summed in s64.
pub fn all_reduce(trace: &mut Trace, op: ReduceOp, x: NodeId, mesh: &MeshAxes, axes: &[usize]) -> Result<NodeId> {
    let size = group_size("axes", mesh, axes)?;
    if wide::is_any(trace, &[x]) {
        return wide::in_wide(trace, [x], |trace, [x]| all_reduce(trace, op, x, mesh, axes));
    }
    let x = counted(trace, op, x);
    let ty = trace.ty(x);
    check(op, &ty)?;
    if size == 1 || ty.elements() == 0 {
        return Ok(x);
    }
    let attributes = AllReduceAttributes { mesh: mesh.clone(), axes: axes.to_vec() };
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::AllReduce(op), ty.dtype, shape, &[x], &attributes))
}

/// Records the values of the devices that differ only on `axes` of the mesh, concatenated along an axis.
pub fn all_gather(trace: &mut Trace, x: NodeId, mesh: &MeshAxes, axes: &[usize], axis: i64) -> Result<NodeId> {
    let size = group_size("axes", mesh, axes)?;
    let ty = trace.ty(x);
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    if size == 1 {
        return Ok(x);
    }
    let mut dims = ty.dims;
    dims[axis] = dims[axis].saturating_mul(size as i64);
    if element_count(&dims)? == 0 {
        return nothing(trace, &TensorType { dtype: ty.dtype, dims });
    }
    let attributes = AlongAttributes { mesh: mesh.clone(), axes: axes.to_vec(), axis };
    let shape = trace.intern(&dims);
    Ok(trace.operation_with_attributes(Op::AllGather, ty.dtype, shape, &[x], &attributes))
}

/// Records this device's piece, along an axis, of the reduction of `x` over the devices that differ only on `axes` of
/// the mesh. 8-bit floats are reduced in f32; pred is summed in s64.
pub fn reduce_scatter(
    trace: &mut Trace,
    op: ReduceOp,
    x: NodeId,
    mesh: &MeshAxes,
    axes: &[usize],
    axis: i64,
) -> Result<NodeId> {
    let size = group_size("axes", mesh, axes)?;
    if wide::is_any(trace, &[x]) {
        return wide::in_wide(trace, [x], |trace, [x]| reduce_scatter(trace, op, x, mesh, axes, axis));
    }
    let x = counted(trace, op, x);
    let ty = trace.ty(x);
    check(op, &ty)?;
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    let piece = divided("axis", &ty, axis, mesh, axes, size)?;
    if size == 1 {
        return Ok(x);
    }
    let mut dims = ty.dims;
    dims[axis] = piece;
    if element_count(&dims)? == 0 {
        return nothing(trace, &TensorType { dtype: ty.dtype, dims });
    }
    let attributes = AlongAttributes { mesh: mesh.clone(), axes: axes.to_vec(), axis };
    let shape = trace.intern(&dims);
    Ok(trace.operation_with_attributes(Op::ReduceScatter(op), ty.dtype, shape, &[x], &attributes))
}

/// Records an exchange among the devices that differ only on `axes` of the mesh: `x` is split along one axis, and the
/// pieces received from all of them are concatenated along another.
pub fn all_to_all(
    trace: &mut Trace,
    x: NodeId,
    mesh: &MeshAxes,
    axes: &[usize],
    split_axis: i64,
    concat_axis: i64,
) -> Result<NodeId> {
    let size = group_size("axes", mesh, axes)?;
    let ty = trace.ty(x);
    let split_axis = normalize_axis("split_axis", split_axis, ty.dims.len())?;
    let concat_axis = normalize_axis("concat_axis", concat_axis, ty.dims.len())?;
    let piece = divided("split_axis", &ty, split_axis, mesh, axes, size)?;
    if size == 1 {
        return Ok(x);
    }
    let mut dims = ty.dims;
    dims[split_axis] = piece;
    dims[concat_axis] = dims[concat_axis].saturating_mul(size as i64);
    if element_count(&dims)? == 0 {
        return nothing(trace, &TensorType { dtype: ty.dtype, dims });
    }
    let attributes = AllToAllAttributes { mesh: mesh.clone(), axes: axes.to_vec(), split_axis, concat_axis };
    let shape = trace.intern(&dims);
    Ok(trace.operation_with_attributes(Op::AllToAll, ty.dtype, shape, &[x], &attributes))
}

/// Size of one of `size` equal pieces of an axis; an error if there are none.
fn divided(name: &str, x: &TensorType, axis: usize, mesh: &MeshAxes, axes: &[usize], size: usize) -> Result<i64> {
    let (dim, size) = (x.dims[axis], size as i64);
    if dim % size != 0 {
        return Err(error!(
            InvalidArgument,
            "{name}: x is {x}; axis {axis}, of size {dim}, has no {size} equal pieces, one for each device along {}",
            names(mesh, axes)
        ));
    }
    Ok(dim / size)
}

/// Attribute of a collective among the partitions of one program, as JAX writes it.
pub(super) const CHANNEL: &str = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";

/// Attribute with the positions of the devices of each group.
fn groups(mesh: &MeshAxes, axes: &[usize]) -> String {
    let groups = mesh.groups(axes);
    format!("replica_groups = dense<{groups:?}> : tensor<{}x{}xi64>", groups.len(), mesh.size_of(axes))
}

/// Writes `%v = "stablehlo.name"(%x) <{attributes}>`, up to the region or the types.
fn open(e: &mut Emitter, at: usize, name: &str, attributes: &str) {
    let (x, result) = (e.name(e.instruction(at).operands[0]), e.name_of(at));
    open_named(e, &result, &x, name, attributes);
}

fn open_named(e: &mut Emitter, result: &str, x: &str, name: &str, attributes: &str) {
    emit!(e, "    {result} = \"stablehlo.{name}\"({x}) <{{{attributes}}}>");
}

/// Writes a collective that combines elements. Plugins lose NaN in maxima and minima over devices, so an additional sum
/// carries it.
fn combine(e: &mut Emitter, at: usize, op: ReduceOp, name: &str, attributes: &str) {
    let ty = e.instruction(at).ty.clone();
    if !matches!(op, ReduceOp::Max | ReduceOp::Min) || ty.dtype.kind() != Kind::Float {
        open(e, at, name, attributes);
        close_with_region(e, at, op);
        return;
    }
    let operand = e.instruction(at).operands[0];
    let (x, from) = (e.name(operand), e.values[operand].ty.clone());
    let (extreme, sum) = (e.temporary(), e.temporary());
    open_named(e, &extreme, &x, name, attributes);
    close_with_region(e, at, op);
    let marked = e.nan_or_zero(&x, &from);
    open_named(e, &sum, &marked, name, attributes);
    close_with_region(e, at, ReduceOp::Sum);
    let made = e.nan_or(&sum, &extreme, &ty);
    e.rename(at, made);
}

/// Types of the operand and the result, as a function type.
fn types(e: &Emitter, at: usize) -> String {
    let value = e.instruction(at);
    format!("({}) -> {}", mlir(&e.values[value.operands[0]].ty), mlir(&value.ty))
}

/// Writes the region that combines two elements, and the types.
fn close_with_region(e: &mut Emitter, at: usize, op: ReduceOp) {
    let element = mlir(&scalar(e.instruction(at).ty.dtype));
    let [lhs, rhs, both] = ["lhs", "rhs", "both"].map(|name| format!("%{name}{at}"));
    emit!(e, "    ({{\n    ^bb0({lhs}: {element}, {rhs}: {element}):");
    emit!(e, "    {both} = stablehlo.{} {lhs}, {rhs} : {element}", op.name());
    emit!(e, "    stablehlo.return {both} : {element}\n    }}) : {}", types(e, at));
}

pub(super) fn lower_all_reduce(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let Op::AllReduce(op) = value.op else { return };
    let AllReduceAttributes { mesh, axes } = value.attributes();
    combine(e, at, op, "all_reduce", &format!("{CHANNEL}, {}, use_global_device_ids", groups(&mesh, &axes)));
}

pub(super) fn lower_reduce_scatter(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let Op::ReduceScatter(op) = value.op else { return };
    let AlongAttributes { mesh, axes, axis } = value.attributes();
    let groups = groups(&mesh, &axes);
    let attributes = format!("{CHANNEL}, {groups}, scatter_dimension = {axis} : i64, use_global_device_ids");
    combine(e, at, op, "reduce_scatter", &attributes);
}

pub(super) fn lower_all_gather(e: &mut Emitter, at: usize) {
    let AlongAttributes { mesh, axes, axis } = e.instruction(at).attributes();
    let groups = groups(&mesh, &axes);
    let attributes = format!("all_gather_dim = {axis} : i64, {CHANNEL}, {groups}, use_global_device_ids");
    open(e, at, "all_gather", &attributes);
    emit!(e, "    : {}", types(e, at));
}

pub(super) fn lower_all_to_all(e: &mut Emitter, at: usize) {
    let AllToAllAttributes { mesh, axes, split_axis, concat_axis } = e.instruction(at).attributes();
    let (groups, count) = (groups(&mesh, &axes), mesh.size_of(&axes));
    let attributes = format!(
        "{CHANNEL}, concat_dimension = {concat_axis} : i64, {groups}, split_count = {count} : i64, \
         split_dimension = {split_axis} : i64"
    );
    open(e, at, "all_to_all", &attributes);
    emit!(e, "    : {}", types(e, at));
}
