//! Collectives of StableHLO: on a mesh those of the library, along the axes that their groups of devices are. On one
//! device a collective is the identity, and the number of the device is 0.

use super::super::mesh::{FileMesh, Groups, Manual};
use super::reducers::operation;
use super::reduction::reduction;
use super::{Call, Results, single};
use base::error;
use base::error::Result;
use base::types::{DType, Scalar, ScalarValue, TensorType};
use ir::NodeId;
use mesh::MeshAxes;
use mlir::{Attribute, Record, Type};
use native::Array;
use std::sync::Arc;

/// Records a collective.
pub fn record(name: &str, call: Call) -> Result<Results> {
    check_replicas(&call)?;
    match name {
        "replica_id" => first_device(call),
        "partition_id" => partition_id(call),
        "all_reduce" | "cross-replica-sum" => all_reduce(call),
        "reduce_scatter" => reduce_scatter(call),
        "all_gather" => {
            let axis = call.attributes.integer("all_gather_dim").unwrap_or(0);
            each(call, |call, x, along| ops::mesh::all_gather(call.trace(), x, &along.mesh, &along.axes, axis))
        }
        "all_to_all" => all_to_all(call),
        "collective_broadcast" => each(call, broadcast),
        "collective_permute" => permute(call),
        _ => super::unknown(),
    }
}

/// The axes of a mesh along which a collective exchanges values.
struct Along {
    mesh: MeshAxes,
    axes: Vec<usize>,
}

/// An error for a module of several replicas, each of which has inputs of its own.
fn check_replicas(call: &Call) -> Result<()> {
    match call.importer.module.attributes.get("mhlo.num_replicas") {
        Some(Attribute::Integer(replicas, _)) if *replicas != 1 => {
            Err(error!(Unimplemented, "the module is for {replicas} replicas with inputs of their own"))
        }
        _ => Ok(()),
    }
}

/// The number 0.
fn first_device(mut call: Call) -> Result<Results> {
    let zero = Scalar::new(call.stated_dtype(0)?, ScalarValue::Unsigned(0))?;
    Ok(single(ops::creation::constant(call.trace(), &[], zero)))
}

/// The mesh of the module along whose axes the values of devices differ, with the wanted mesh; None on one device.
fn meshes(call: &Call) -> Result<Option<(Arc<FileMesh>, MeshAxes)>> {
    let placing = &call.importer.placing;
    match (&placing.manual, &placing.target) {
        (Some(Manual::Whole), _) => return Ok(None),
        // A module need not state its number of devices.
        (Some(Manual::Pieces(mesh)), Some(target)) => return Ok(Some((mesh.clone(), target.clone()))),
        _ => {}
    }
    let Some(target) = placing.target.clone().filter(|_| call.importer.devices() > 1) else {
        return match call.importer.devices() {
            1 => Ok(None),
            several => Err(error!(
                Unimplemented,
                "the module is for {several} devices; give a mesh with its axes as options.mesh"
            )),
        };
    };
    Ok(Some((placing.mesh(call.importer.module, None)?, target)))
}

/// The position of the device in the mesh of the module.
fn partition_id(mut call: Call) -> Result<Results> {
    let Some((file, target)) = meshes(&call)? else { return first_device(call) };
    let dtype = call.stated_dtype(0)?;
    let axes = file.numbers(0..file.axes.len());
    let mut index = ops::mesh::axis_index(call.trace(), &target, &axes)?;
    if !file.has_ordered_devices() {
        let ids = (0..file.device_count()).map(|position| file.id(position) as i32).collect::<Vec<i32>>();
        index = chosen(&mut call, &ids, index)?;
    }
    Ok(single(ops::elementwise::convert(call.trace(), index, dtype)))
}

/// The element of a table at an index.
fn chosen(call: &mut Call, table: &[i32], index: NodeId) -> Result<NodeId> {
    let ty = TensorType::new(DType::S32, &[table.len() as i64]);
    let table = call.importer.constant(&Array::from_bytes(&ty, bytemuck::cast_slice(table))?);
    let found = ops::indexing::dynamic_slice(call.trace(), table, &[index], &[1])?;
    ops::shape::reshape(call.trace(), found, &[])
}

/// Kind of the numbers in the groups of a collective, by StableHLO's rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    /// Replicas, of which the module has one: each device is alone.
    Replicas,
    /// Replicas with all of their devices.
    ReplicasOfDevices,
    /// Devices.
    Devices,
}

/// Whether the devices of one replica exchange values: through a channel.
fn has_channel(call: &Call) -> bool {
    call.attributes.integer("channel_id").is_ok_and(|channel| channel > 0)
}

fn listed(call: &Call) -> Result<Listed> {
    let by_pieces = matches!(&*call.operation.name, "stablehlo.all_to_all" | "stablehlo.collective_broadcast");
    let is_global = call.attributes.bool("use_global_device_ids", false)?;
    match (has_channel(call), by_pieces || is_global) {
        (true, true) => Ok(Listed::Devices),
        (true, false) => Ok(Listed::ReplicasOfDevices),
        (false, _) if is_global => Err(error!(InvalidArgument, "use_global_device_ids without a channel")),
        (false, _) => Ok(Listed::Replicas),
    }
}

/// Reads the groups of devices of a collective; None if each device is alone.
fn along(call: &Call) -> Result<Option<Along>> {
    let (ids, size) = match call.attributes.get("replica_groups") {
        Some(Attribute::Record(record)) => return along_named(call, record),
        Some(Attribute::Dense(dense)) => {
            let size = match &*dense.ty {
                Type::Tensor(shape) => shape.dims.last().map_or(0, |&size| usize::try_from(size).unwrap_or(0)),
                _ => 0,
            };
            (call.attributes.integers("replica_groups")?, size)
        }
        None => (Vec::new(), 0),
        Some(_) => return Err(error!(InvalidArgument, "attribute replica_groups: want a table of devices")),
    };
    if ids.contains(&-1) {
        return Err(error!(Unimplemented, "groups of devices of different sizes"));
    }
    let listed = listed(call)?;
    if listed != Listed::Devices && !matches!(ids[..], [] | [0]) {
        return Err(error!(InvalidArgument, "attribute replica_groups: {ids:?} of replicas; the module has one"));
    }
    if listed == Listed::Replicas || listed == Listed::Devices && size == 1 {
        return Ok(None);
    }
    let Some((file, target)) = meshes(call)? else {
        return match ids[..] {
            [] | [0] => Ok(None),
            _ => Err(error!(Unimplemented, "groups of several devices, {ids:?}, in a part for one")),
        };
    };
    let axes = match ids.is_empty() || listed == Listed::ReplicasOfDevices {
        true => file.numbers(0..file.axes.len()),
        false => file.numbers(file.axes_of(&Groups { ids, size })?),
    };
    Ok(Some(Along { mesh: target, axes }))
}

/// Reads `#stablehlo.replica_group_mesh_axes`.
fn along_named(call: &Call, record: &Record) -> Result<Option<Along>> {
    let Some((_, target)) = meshes(call)? else { return Ok(None) };
    if listed(call)? != Listed::Devices {
        return Err(error!(InvalidArgument, "groups along axes of a mesh are of devices; want a channel"));
    }
    let file = call.importer.placing.mesh(call.importer.module, record.fields.get("mesh"))?;
    let Some(Attribute::Array(list)) = record.fields.get("axes") else {
        return Err(error!(InvalidArgument, "attribute replica_groups: it names no axes"));
    };
    let mut axes = Vec::new();
    for axis in list.iter() {
        let Attribute::Record(axis) = axis else { continue };
        match (axis.fields.get("name"), axis.fields.get("sub_axis_info")) {
            (Some(Attribute::String(name)), None) => axes.push(file.find(name)?),
            _ => return Err(error!(Unimplemented, "groups of devices along a part of an axis")),
        }
    }
    Ok(Some(Along { mesh: target, axes: file.numbers(axes) }))
}

/// Records a collective of each operand.
fn each(mut call: Call, record: impl Fn(&mut Call, NodeId, &Along) -> Result<NodeId>) -> Result<Results> {
    let Some(along) = along(&call)? else { return Ok(call.operands.into()) };
    let operands = call.operands;
    operands.iter().map(|&x| record(&mut call, x, &along)).collect()
}

/// The operation by which a collective combines elements of `x`.
fn combination(call: &mut Call, x: NodeId) -> Result<ir::ReduceOp> {
    if call.operation.regions.is_empty() {
        return Ok(ir::ReduceOp::Sum);
    }
    let dtype = call.ty(x).dtype;
    let region = call.scalar_region(0, &[x, x])?;
    let op = operation(&region.body).and_then(|op| reduction(op, dtype));
    op.ok_or_else(|| error!(Unimplemented, "it combines elements by a computation of several operations"))
}

fn all_reduce(call: Call) -> Result<Results> {
    each(call, |call, x, along| {
        let op = combination(call, x)?;
        ops::mesh::all_reduce(call.trace(), op, x, &along.mesh, &along.axes)
    })
}

fn reduce_scatter(call: Call) -> Result<Results> {
    let axis = call.attributes.integer("scatter_dimension").unwrap_or(0);
    each(call, |call, x, along| {
        let op = combination(call, x)?;
        ops::mesh::reduce_scatter(call.trace(), op, x, &along.mesh, &along.axes, axis)
    })
}

fn all_to_all(call: Call) -> Result<Results> {
    let number = |name: &str| call.attributes.integer(name).unwrap_or(0);
    let [split, concat, count] = ["split_dimension", "concat_dimension", "split_count"].map(number);
    each(call, |call, x, along| {
        let size = along.mesh.size_of(&along.axes);
        if usize::try_from(count).ok() != Some(size) {
            return Err(error!(
                InvalidArgument,
                "attribute split_count: {count} given; the groups have {size} devices"
            ));
        }
        ops::mesh::all_to_all(call.trace(), x, &along.mesh, &along.axes, split, concat)
    })
}

/// The values of all devices of a group, along a new first axis.
fn gathered(call: &mut Call, x: NodeId, along: &Along) -> Result<NodeId> {
    let row = ops::shape::expand_dims(call.trace(), x, &[0])?;
    ops::mesh::all_gather(call.trace(), row, &along.mesh, &along.axes, 0)
}

/// The value of the first device of each group.
fn broadcast(call: &mut Call, x: NodeId, along: &Along) -> Result<NodeId> {
    if call.attributes.bool("has_dynamic_root", false)? {
        return Err(error!(Unimplemented, "the device whose value is sent depends on data"));
    }
    let all = gathered(call, x, along)?;
    let first = ops::shape::slice_axis(call.trace(), all, 0, 0, 1, 1)?;
    ops::shape::squeeze(call.trace(), first, &[0])
}

/// `collective_permute`: along one axis, if all groups along it exchange values alike; otherwise each device chooses
/// among the values of all.
fn permute(mut call: Call) -> Result<Results> {
    let ids = call.attributes.integers("source_target_pairs").unwrap_or_default();
    let [x] = call.exactly()?;
    if ids.is_empty() {
        return zeros(&mut call, x).map(single);
    }
    let Some((file, target)) = meshes(&call)?.filter(|_| has_channel(&call)) else {
        return match ids.chunks(2).all(|pair| pair.first() == pair.last()) {
            true => Ok(single(x)),
            false => Err(error!(InvalidArgument, "attribute source_target_pairs: {ids:?} in a part for one device")),
        };
    };
    let positions = ids.iter().map(|&id| file.position(id)).collect::<Result<Vec<usize>>>()?;
    let pairs: Vec<[usize; 2]> = positions.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    let mut sources = vec![None; file.device_count()];
    let mut is_sent = vec![false; file.device_count()];
    for &[source, to] in &pairs {
        if sources[to].replace(source).is_some() || std::mem::replace(&mut is_sent[source], true) {
            return Err(error!(InvalidArgument, "attribute source_target_pairs: a device occurs twice on one side"));
        }
    }
    if let Some((axis, pairs)) = file.along_one_axis(&pairs) {
        let Some(&axis) = file.numbers([axis]).first() else { return Ok(single(x)) };
        return ops::mesh::collective_permute(call.trace(), x, &target, axis, &pairs).map(single);
    }
    let along = Along { axes: file.numbers(0..file.axes.len()), mesh: target };
    let all = gathered(&mut call, x, &along)?;
    let index = ops::mesh::axis_index(call.trace(), &along.mesh, &along.axes)?;
    let count = sources.len() as i32;
    // The row after those of the devices has zeros.
    let table: Vec<i32> = sources.iter().map(|source| source.map_or(count, |source| source as i32)).collect();
    let row = chosen(&mut call, &table, index)?;
    let none = zeros(&mut call, x)?;
    let none = ops::shape::expand_dims(call.trace(), none, &[0])?;
    let rows = ops::shape::concatenate(call.trace(), &[all, none], 0)?;
    let zero = ops::creation::constant(call.trace(), &[], Scalar::new(DType::S32, ScalarValue::Signed(0))?);
    let mut sizes = call.ty(rows).dims.to_vec();
    sizes[0] = 1;
    let mut starts = vec![zero; sizes.len()];
    starts[0] = row;
    let made = ops::indexing::dynamic_slice(call.trace(), rows, &starts, &sizes)?;
    ops::shape::squeeze(call.trace(), made, &[0]).map(single)
}

/// Zeros of the type of a value: the result of a device to which no device sends.
fn zeros(call: &mut Call, x: NodeId) -> Result<NodeId> {
    let ty = call.ty(x);
    ops::creation::full(call.trace(), &ty, ScalarValue::Unsigned(0))
}
