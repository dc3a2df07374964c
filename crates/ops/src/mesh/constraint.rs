//! Sharding constraints: a value gets a stated sharding.

use crate::emit::{Emitter, emit, mlir};
use base::error;
use base::error::Result;
use ir::{Instruction, NodeId, Op, Trace, attributes};
use mesh::{MeshAxes, Sharding, Split};

use crate::rules::Site;
use base::types::TensorType;

attributes! {
    /// Attributes of `sharding_constraint`.
    pub struct ShardingConstraintAttributes {
        /// Mesh of the device that it is recorded on.
        pub mesh: MeshAxes,
        /// Sharding of the operand and the result.
        pub sharding: Sharding,
    }
}

/// Records `x` with a constraint on its sharding, which must split its axes into equal pieces.
pub fn sharding_constraint(trace: &mut Trace, x: NodeId, axes: &MeshAxes, sharding: &Sharding) -> Result<NodeId> {
    let ty = trace.ty(x);
    check_sharding("sharding", sharding, "x", &ty)?;
    sharding.piece_dims("x", axes, &ty.dims)?;
    let attributes = ShardingConstraintAttributes { mesh: axes.clone(), sharding: sharding.clone() };
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::ShardingConstraint, ty.dtype, shape, &[x], &attributes))
}

/// Sharding of a value that is a constraint; None for any other value.
pub fn stated_sharding(value: &Instruction) -> Option<Sharding> {
    let is_constraint = value.op == Op::ShardingConstraint;
    is_constraint.then(|| value.attributes::<ShardingConstraintAttributes>().sharding)
}

/// Returns an error unless the sharding has one entry for each axis of the value.
pub(super) fn check_sharding(name: &str, sharding: &Sharding, what: &str, ty: &TensorType) -> Result<()> {
    if sharding.rank() != ty.dims.len() {
        return Err(error!(
            InvalidArgument,
            "{name}: {} entries given; {what} is {ty}, of rank {}",
            sharding.rank(),
            ty.dims.len()
        ));
    }
    Ok(())
}

/// Type of one piece of a value.
pub(super) fn piece(name: &str, ty: &TensorType, sharding: &Sharding, mesh: &MeshAxes) -> Result<TensorType> {
    sharding.piece_dims(name, mesh, &ty.dims).map(|dims| TensorType::new(ty.dtype, &dims))
}

/// The sharding of a value with a new leading axis, which is not split.
pub(super) fn with_leading_axis(sharding: &Sharding) -> Sharding {
    let mut splits = sharding.splits().to_vec();
    splits.insert(0, Split::new());
    Sharding::new(splits)
}

/// Writes the constraint; nothing on a mesh of one device.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let x = e.name(value.operands[0]);
    let ShardingConstraintAttributes { mesh, sharding } = value.attributes();
    if mesh.device_count() == 1 {
        e.rename(at, x);
    } else {
        let (name, sharding) = (e.name_of(at), sharding.sdy(&mesh));
        emit!(e, "    {name} = sdy.sharding_constraint {x} {sharding} : {}", mlir(&value.ty));
    }
}

pub(super) fn constrained(site: &mut Site, x: NodeId) -> Result<NodeId> {
    let ShardingConstraintAttributes { mesh, sharding } = site.attributes();
    sharding_constraint(site.trace, x, &mesh, &sharding)
}

pub(super) fn batch(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let ShardingConstraintAttributes { mesh, sharding } = site.attributes();
    sharding_constraint(site.trace, site.operands[0], &mesh, &with_leading_axis(&sharding))
}
