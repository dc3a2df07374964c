//! Shardings and manual computations. On one device a sharding changes nothing. On a mesh it becomes a constraint, and
//! a manual computation a `shard_map`, in which axes that stay automatic are not split.

use super::super::importer::Importer;
use super::super::mesh::{FileMesh, Manual, manual_axes, shardings};
use super::super::regions::block;
use super::{Call, Results, applied};
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::NodeId;
use mesh::Sharding;
use mlir::{Attribute, Dictionary};
use std::sync::Arc;

/// Records an operation of Shardy.
pub fn record(name: &str, call: Call) -> Result<Results> {
    match name {
        "sharding_constraint" | "reshard" => {
            let sharding = call.attributes.get("sharding");
            constrained(call, sharding)
        }
        "propagation_barrier" | "sharding_group" => operands(call),
        "manual_computation" => manual_computation(call),
        "named_computation" => inlined(call),
        _ => Err(error!(Unimplemented, "sdy.{name} is not supported")),
    }
}

/// An annotation that changes no value: the operands themselves.
fn operands(call: Call) -> Result<Results> {
    Ok(call.operands[..call.operation.results.len().min(call.operands.len())].into())
}

/// A custom call that states a sharding or a layout.
pub fn annotation(call: Call) -> Result<Results> {
    let sharding = stated(&call.operation.attributes);
    constrained(call, sharding)
}

/// Returns the sharding that attributes state; None if they state none, or one of several values.
fn stated(attributes: &Dictionary) -> Option<&Attribute> {
    let found = attributes.get("sdy.sharding").or_else(|| attributes.get("mhlo.sharding"))?;
    match (shardings(Some(found)), found) {
        ([only], _) => Some(only),
        ([], found) => Some(found),
        _ => None,
    }
}

/// Records the operand with a sharding.
fn constrained(call: Call, sharding: Option<&Attribute>) -> Result<Results> {
    match (call.operands, sharding) {
        ([x], Some(sharding)) => Ok(Results::from_slice(&[call.importer.constraint(*x, sharding)?])),
        _ => operands(call),
    }
}

impl Importer<'_> {
    /// Records a value of a function with the sharding that its attributes state.
    pub fn placed(&mut self, x: NodeId, attributes: Option<&Dictionary>) -> Result<NodeId> {
        match attributes.and_then(stated) {
            Some(sharding) => self.constraint(x, sharding),
            None => Ok(x),
        }
    }

    /// Records a value with a constraint on its sharding, if there is a mesh and if its axes divide the value evenly.
    /// A constraint in a manual computation is on axes that stay automatic, which are not split there.
    fn constraint(&mut self, x: NodeId, sharding: &Attribute) -> Result<NodeId> {
        let Some(target) = self.placing.target.clone().filter(|_| self.placing.manual.is_none()) else {
            return Ok(x);
        };
        let dims = self.trace.ty(x).dims;
        let sharding = match sharding {
            Attribute::Record(record) => {
                self.placing.mesh(self.module, record.fields.get("mesh_or_ref"))?.sharding(sharding, |_| true)?
            }
            Attribute::String(text) => {
                std::str::from_utf8(text).ok().and_then(|text| Sharding::of_tiles(text, &target, dims.len()))
            }
            _ => None,
        };
        match sharding {
            Some(sharding) if sharding.piece_dims("sharding", &target, &dims).is_ok() => {
                ops::mesh::sharding_constraint(&mut self.trace, x, &target, &sharding)
            }
            _ => Ok(x),
        }
    }

    /// Number of devices that the module was exported for, as far as it says so.
    pub fn devices(&self) -> i64 {
        let number = |name: &str| match self.module.attributes.get(name) {
            Some(Attribute::Integer(number, _)) => *number,
            _ => 1,
        };
        number("mhlo.num_partitions").saturating_mul(number("mhlo.num_replicas"))
    }
}

/// A change between whole arrays and the parts of each device, as older exports write manual computations: the parts
/// are the arrays on one device.
pub fn parts(call: Call) -> Result<Results> {
    match call.importer.devices() {
        1 => operands(call),
        several => Err(error!(
            Unimplemented,
            "parts of arrays on {several} devices without an sdy.manual_computation; export the program with Shardy"
        )),
    }
}

/// The operations of a region, applied to the operands.
fn inlined(call: Call) -> Result<Results> {
    let block = block(call.operation, 0)?;
    if block.arguments.len() != call.operands.len() {
        let (given, wanted) = (call.operands.len(), block.arguments.len());
        return Err(error!(InvalidArgument, "{given} operands; its region has {wanted} arguments"));
    }
    for (&argument, &operand) in block.arguments.iter().zip(call.operands) {
        call.importer.define(argument, operand)?;
    }
    call.importer.block(block).map(Results::from_vec)
}

/// `sdy.manual_computation`: its region is applied by each device to its pieces; by one device, if all manual axes have
/// size 1.
fn manual_computation(call: Call) -> Result<Results> {
    let (ins, outs) = (shardings(call.attributes.get("in_shardings")), shardings(call.attributes.get("out_shardings")));
    let manual = manual_axes(call.attributes.get("manual_axes"));
    let meshes = ins.iter().chain(outs).filter_map(|sharding| match sharding {
        Attribute::Record(record) => record.fields.get("mesh_or_ref"),
        _ => None,
    });
    let mut named = meshes.peekable();
    let size = match named.peek() {
        None if manual.is_empty() => None,
        name => Some(call.importer.placing.mesh(call.importer.module, name.copied())?),
    };
    let split = match &size {
        Some(mesh) if mesh.size_of(&manual)? > 1 => mesh.clone(),
        _ => {
            return match call.importer.placing.manual {
                Some(Manual::Pieces(_)) => inlined(call),
                _ => within(call, Some(Manual::Whole), inlined),
            };
        }
    };
    if matches!(call.importer.placing.manual, Some(Manual::Pieces(_))) {
        return Err(error!(Unimplemented, "a manual computation in another one"));
    }
    if call.importer.placing.target.is_none() {
        return Err(error!(
            Unimplemented,
            "each of {} devices computes a part; give a mesh with the module's axes as options.mesh",
            split.device_count()
        ));
    }
    let is_manual = |name: &[u8]| manual.contains(&name);
    let all = |list: &[Attribute]| list.iter().map(|given| of_pieces(&split, given, is_manual)).collect();
    let (ins, outs): (Result<Vec<Sharding>>, Result<Vec<Sharding>>) = (all(ins), all(outs));
    let (ins, outs) = (ins?, outs?);
    within(call, Some(Manual::Pieces(split)), |call| mapped(call, &ins, &outs))
}

/// The sharding of an operand or a result of a manual computation by its manual axes.
fn of_pieces(mesh: &Arc<FileMesh>, sharding: &Attribute, is_manual: impl Fn(&[u8]) -> bool) -> Result<Sharding> {
    let Attribute::Record(record) = sharding else { return Err(error!(InvalidArgument, "a sharding of unknown form")) };
    let rank = match record.fields.get("dim_shardings") {
        Some(Attribute::Array(list)) => list.len(),
        _ => 0,
    };
    let is_part = || error!(Unimplemented, "a manual computation whose operands are split by parts of an axis");
    match mesh.sharding(sharding, &is_manual)? {
        Some(sharding) => Ok(sharding),
        None if mesh.sharding(sharding, |_| false)?.is_none() => Ok(Sharding::replicated(rank)),
        None => Err(is_part()),
    }
}

/// Records an operation at another place on the mesh.
fn within<'m>(
    call: Call<'_, 'm>,
    manual: Option<Manual>,
    record: impl FnOnce(Call<'_, 'm>) -> Result<Results>,
) -> Result<Results> {
    let Call { importer, operation, operands, attributes } = call;
    importer.placed_at(manual, |importer| record(Call { importer, operation, operands, attributes }))
}

/// Records the region as the body of a `shard_map`.
fn mapped(call: Call, ins: &[Sharding], outs: &[Sharding]) -> Result<Results> {
    let target = call.importer.placing.target.clone().expect("a manual computation of pieces has a mesh");
    if ins.len() != call.operands.len() {
        let (given, wanted) = (ins.len(), call.operands.len());
        return Err(error!(InvalidArgument, "attribute in_shardings: {given} given; want {wanted}"));
    }
    let piece = |(&x, sharding): (&NodeId, &Sharding)| {
        let ty = call.ty(x);
        Ok(TensorType::new(ty.dtype, &sharding.piece_dims("in_shardings", &target, &ty.dims)?))
    };
    let types = call.operands.iter().zip(ins).map(piece).collect::<Result<Vec<TensorType>>>()?;
    let region = call.importer.region(block(call.operation, 0)?, &types)?;
    let operands = call.operands;
    ops::mesh::shard_map(&mut call.importer.trace, &applied(&region), &target, ins, operands, outs)
        .map(Results::from_vec)
}
