//! Values of other devices along one mesh axis, and the position of a device along mesh axes.

use super::attributes::group_size;

use super::collectives::CHANNEL;
use crate::creation::constants::full;
use crate::emit::{Emitter, emit, mlir};
use base::error;
use base::error::Result;
use ir::{NodeId, Op, Trace, attributes};
use mesh::MeshAxes;

use crate::tangents::zeros;
use base::types::{DType, ScalarValue, TensorType};

attributes! {
    /// Attributes of `collective_permute`.
    pub struct CollectivePermuteAttributes {
        /// Names and sizes of the axes of the mesh.
        pub mesh: MeshAxes,
        /// Axis of the mesh along which values move.
        pub axis: usize,
        /// Positions along that axis: a source and its target.
        pub pairs: Vec<[i64; 2]>,
    }

    /// Attributes of `axis_index`.
    pub struct AxisIndexAttributes {
        /// Names and sizes of the axes of the mesh.
        pub mesh: MeshAxes,
        /// Axes of the mesh, major to minor.
        pub axes: Vec<usize>,
    }
}

/// Records the value of the device at the source position along an axis of the mesh, on the device at the target
/// position. Devices that are not a target get zeros.
pub fn collective_permute(
    trace: &mut Trace,
    x: NodeId,
    mesh: &MeshAxes,
    axis: usize,
    pairs: &[(i64, i64)],
) -> Result<NodeId> {
    let size = group_size("axis", mesh, &[axis])? as i64;
    check_pairs(mesh, axis, size, pairs)?;
    let ty = trace.ty(x);
    if pairs.is_empty() {
        return zeros(trace, &ty);
    }
    if size == 1 || ty.elements() == 0 {
        return Ok(x);
    }
    let pairs = pairs.iter().map(|&(source, target)| [source, target]).collect();
    let attributes = CollectivePermuteAttributes { mesh: mesh.clone(), axis, pairs };
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::CollectivePermute, ty.dtype, shape, &[x], &attributes))
}

/// Returns an error unless the positions are in range, and no source and no target is given twice.
fn check_pairs(mesh: &MeshAxes, axis: usize, size: i64, pairs: &[(i64, i64)]) -> Result<()> {
    let (mut sources, mut targets) = (vec![None; size as usize], vec![None; size as usize]);
    for (i, &(source, target)) in pairs.iter().enumerate() {
        for (what, position, seen) in [("source", source, &mut sources), ("target", target, &mut targets)] {
            if !(0..size).contains(&position) {
                return Err(error!(
                    InvalidArgument,
                    "pairs: the {what} of pairs[{i}] is {position}; axis {} has the positions 0 to {}",
                    mesh.axes()[axis].name,
                    size - 1
                ));
            }
            if let Some(first) = seen[position as usize].replace(i) {
                return Err(error!(
                    InvalidArgument,
                    "pairs: {position} is the {what} of pairs[{first}] and of pairs[{i}]; want each {what} once"
                ));
            }
        }
    }
    Ok(())
}

/// Records the position of the device along axes of the mesh, counted row-major with the first axis as the major one.
pub fn axis_index(trace: &mut Trace, mesh: &MeshAxes, axes: &[usize]) -> Result<NodeId> {
    let ty = TensorType::new(DType::S32, &[]);
    if group_size("axes", mesh, axes)? == 1 {
        return full(trace, &ty, ScalarValue::Signed(0));
    }
    let attributes = AxisIndexAttributes { mesh: mesh.clone(), axes: axes.to_vec() };
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::AxisIndex, ty.dtype, shape, &[], &attributes))
}

pub(super) fn lower_permute(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let CollectivePermuteAttributes { mesh, axis, pairs } = value.attributes();
    let mut positions = Vec::new();
    for group in mesh.groups(&[axis]) {
        positions.extend(pairs.iter().map(|pair| pair.map(|position| group[position as usize])));
    }
    let (name, x, ty) = (e.name_of(at), e.name(value.operands[0]), mlir(&value.ty));
    let count = positions.len();
    emit!(
        e,
        "    {name} = \"stablehlo.collective_permute\"({x}) <{{{CHANNEL}, source_target_pairs = dense<{positions:?}> : \
         tensor<{count}x2xi64>}}> : ({ty}) -> {ty}"
    );
}

/// Writes the index as JAX does: from the number of the partition, which counts the devices of the mesh row-major.
pub(super) fn lower_index(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let AxisIndexAttributes { mesh, axes } = value.attributes();
    let unsigned = TensorType::new(DType::U32, &[]);
    let text = mlir(&unsigned);
    let device = e.temporary();
    emit!(e, "    {device} = stablehlo.partition_id : {text}");
    let minor = |axis: usize| mesh.axes()[axis + 1..].iter().map(|axis| axis.size as u128).product::<u128>();
    let mut index: Option<String> = None;
    for axis in axes {
        let size = e.constant(&unsigned, mesh.axes()[axis].size as u128);
        let stride = e.constant(&unsigned, minor(axis));
        let (row, mut own) = (e.temporary(), e.temporary());
        emit!(e, "    {row} = stablehlo.divide {device}, {stride} : {text}");
        emit!(e, "    {own} = stablehlo.remainder {row}, {size} : {text}");
        if let Some(major) = index {
            let (rows, sum) = (e.temporary(), e.temporary());
            emit!(e, "    {rows} = stablehlo.multiply {major}, {size} : {text}");
            emit!(e, "    {sum} = stablehlo.add {rows}, {own} : {text}");
            own = sum;
        }
        index = Some(own);
    }
    let index = index.expect("an index along at least one axis");
    emit!(e, "    {} = stablehlo.convert {index} : ({text}) -> {}", e.name_of(at), mlir(&value.ty));
}
