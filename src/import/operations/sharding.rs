//! Shardings and collectives. On one device a sharding changes nothing, and a group of devices has one member.

use super::super::importer::Importer;
use super::super::regions::block;
use super::{Call, Results, single};
use crate::error;
use crate::error::Result;
use crate::ir::NodeId;
use crate::mlir::Attribute;
use crate::ops;
use crate::types::{Scalar, ScalarValue};

/// Number of devices that the module was exported for, as far as it says so.
fn devices(importer: &Importer) -> i64 {
    let number = |name: &str| match importer.module.attributes.get(name) {
        Some(Attribute::Integer(number, _)) => *number,
        _ => 1,
    };
    number("mhlo.num_partitions").saturating_mul(number("mhlo.num_replicas"))
}

/// An error if the module is for several devices.
fn check_one_device(importer: &Importer) -> Result<()> {
    match devices(importer) {
        1 => Ok(()),
        several => Err(error!(Unimplemented, "the module is for {several} devices; it is imported for one")),
    }
}

/// Records an operation of Shardy.
pub fn record(name: &str, call: Call) -> Result<Results> {
    match name {
        "sharding_constraint" | "reshard" | "propagation_barrier" | "sharding_group" => constraint(call),
        "manual_computation" | "named_computation" => manual_computation(call),
        _ => Err(error!(Unimplemented, "sdy.{name} is not supported")),
    }
}

/// A constraint on a sharding, or another annotation that changes no value: the operands themselves.
pub fn constraint(call: Call) -> Result<Results> {
    Ok(call.operands[..call.operation.results.len().min(call.operands.len())].into())
}

/// A change between whole arrays and the parts of each device, which are the same on one device.
pub fn parts(call: Call) -> Result<Results> {
    check_one_device(call.importer)?;
    constraint(call)
}

/// `sdy.manual_computation` on one device: its region is applied to whole arrays.
fn manual_computation(call: Call) -> Result<Results> {
    check_one_device(call.importer)?;
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

/// Records a collective of StableHLO: on one device, the identity, or the number 0 of the device.
pub fn collective(name: &str, mut call: Call) -> Result<Results> {
    match name {
        "partition_id" | "replica_id" => {
            check_one_device(call.importer)?;
            let zero = Scalar::new(call.stated_dtype(0)?, ScalarValue::Unsigned(0))?;
            Ok(single(ops::creation::constant(call.trace(), &[], zero)))
        }
        "all_gather"
        | "all_reduce"
        | "all_to_all"
        | "collective_broadcast"
        | "cross-replica-sum"
        | "reduce_scatter" => {
            check_one_device(call.importer)?;
            check_groups(&call)?;
            Ok(call.operands.into())
        }
        "collective_permute" => {
            check_one_device(call.importer)?;
            match call.attributes.integers("source_target_pairs")?[..] {
                [0, 0] => Ok(call.operands.into()),
                [] => call.operands.iter().map(|&x| zeros(call.importer, x)).collect(),
                ref pairs => Err(error!(InvalidArgument, "attribute source_target_pairs: {pairs:?} on one device")),
            }
        }
        _ => super::unknown(),
    }
}

/// Records zeros of the type of a value: what a device gets that none sends to.
fn zeros(importer: &mut Importer, x: NodeId) -> Result<NodeId> {
    let ty = importer.trace.ty(x);
    ops::creation::full(&mut importer.trace, &ty, ScalarValue::Unsigned(0))
}

/// An error unless every group of devices has one member.
fn check_groups(call: &Call) -> Result<()> {
    match call.attributes.optional_integers("replica_groups")? {
        Some(groups) if groups.iter().any(|&device| device != 0) || groups.len() > 1 => {
            Err(error!(Unimplemented, "groups of several devices, {groups:?}, in a module for one"))
        }
        _ => Ok(()),
    }
}
