//! `shard_map`: every device of a mesh applies one computation to its pieces of the arguments.

use super::attributes::{mesh_of, whole};
use super::constraint::{check_sharding, piece};

use crate::control::apply::Applied;
use crate::control::lower::apply;
use crate::emit::{Emitter, Extent, emit, mlir};
use base::error;
use base::error::Result;
use ir::{Body, NodeId, Op, Trace, attributes};
use mesh::{MeshAxes, Sharding};

use base::types::{DType, TensorType};

attributes! {
    /// Attributes of `shard_map`.
    pub struct ShardMapAttributes {
        /// Names and sizes of the axes of the mesh.
        pub mesh: MeshAxes,
        /// Shardings of the arguments. Captures are not split.
        pub inputs: Vec<Sharding>,
        /// Shardings of the results.
        pub outputs: Vec<Sharding>,
    }
}

/// Records the application of a body by every device of a mesh to its pieces of the arguments, and to the whole
/// captures. The devices' results are the pieces of the results. Devices that hold the same piece of a result must
/// compute the same value; this is not checked.
pub fn shard_map(
    trace: &mut Trace,
    applied: &Applied,
    mesh: &MeshAxes,
    in_shardings: &[Sharding],
    args: &[NodeId],
    out_shardings: &[Sharding],
) -> Result<Vec<NodeId>> {
    let body = applied.body;
    check_body(body, mesh)?;
    check_count("args", args.len(), body.parameters().len(), "parameters")?;
    check_count("in_shardings", in_shardings.len(), body.parameters().len(), "parameters")?;
    for (i, (&arg, sharding)) in args.iter().zip(in_shardings).enumerate() {
        check_argument(i, &trace.ty(arg), sharding, mesh, &body.parameters()[i])?;
    }
    check_count("out_shardings", out_shardings.len(), body.results().len(), "results")?;
    let mut types = Vec::with_capacity(out_shardings.len());
    for (i, (ty, sharding)) in body.results().iter().zip(out_shardings).enumerate() {
        check_sharding(&format!("out_shardings[{i}]"), sharding, &format!("result {i} of body"), ty)?;
        types.push(whole(ty, sharding, mesh)?);
    }
    let operands = [args, applied.captures].concat();
    let attributes =
        ShardMapAttributes { mesh: mesh.clone(), inputs: in_shardings.to_vec(), outputs: out_shardings.to_vec() };
    Ok(trace.application(Op::ShardMap, &operands, &attributes, &[body], &types))
}

/// Returns an error if the body is for another mesh, or contains sharding constraints or `shard_map`.
fn check_body(body: &Body, mesh: &MeshAxes) -> Result<()> {
    if body.has_shardings() {
        return Err(error!(
            InvalidArgument,
            "body: it has a sharding constraint or a shard_map; a device has only its pieces, which it cannot split"
        ));
    }
    if body.has_collectives()
        && let Some(own) = mesh_of(&body.decode().0)
        && own != *mesh
    {
        return Err(error!(InvalidArgument, "body: its collectives are for the mesh {own}; want the mesh {mesh}"));
    }
    Ok(())
}

fn check_count(name: &str, given: usize, wanted: usize, what: &str) -> Result<()> {
    if given != wanted {
        return Err(error!(InvalidArgument, "{name}: {given} given; body has {wanted} {what}"));
    }
    Ok(())
}

/// Returns an error unless the pieces of an argument are what the body takes.
fn check_argument(i: usize, ty: &TensorType, sharding: &Sharding, mesh: &MeshAxes, wanted: &TensorType) -> Result<()> {
    check_sharding(&format!("in_shardings[{i}]"), sharding, &format!("args[{i}]"), ty)?;
    let piece = piece(&format!("args[{i}]"), ty, sharding, mesh)?;
    if piece != *wanted {
        return Err(error!(
            InvalidArgument,
            "args: args[{i}] is {ty}, in pieces {piece} by {:?}; body's parameter {i} is {wanted}",
            sharding.text(mesh)
        ));
    }
    Ok(())
}

/// Writes a manual computation, whose region calls the function of the body on the pieces. XLA inlines the call before
/// it partitions the program. On a mesh of one device the pieces are the arrays, and the call alone is written: XLA's
/// CPU backend lowers a manual computation only where it partitions.
pub(super) fn lower(e: &mut Emitter, at: usize) {
    let (value, name) = (e.instruction(at), e.name_of(at));
    let ShardMapAttributes { mesh, inputs, outputs } = value.attributes();
    let body = &value.bodies[0];
    let (mut operands, mut types) = e.listed(&value.operands);
    if mesh.device_count() == 1 {
        apply(e, &name, body, &operands);
        return;
    }
    let captures = body.captures().iter().map(|ty| Sharding::replicated(ty.dims.len()));
    let mut inputs: Vec<String> = inputs.into_iter().chain(captures).map(|sharding| sharding.sdy(&mesh)).collect();
    let axes: Vec<String> = mesh.axes().iter().map(|axis| format!("\"{}\"", axis.name)).collect();
    let inside: Vec<String> = (0..operands.len()).map(|i| format!("%in{at}_{i}")).collect();
    let pieces = body.parameters().iter().chain(body.captures());
    let mut typed: Vec<String> = inside.iter().zip(pieces).map(|(name, ty)| format!("{name}: {}", mlir(ty))).collect();
    if value.operands.iter().all(|&i| e.values[i].ty.elements() == 0) {
        // XLA's import of Shardy rejects manual computations without an operand that has elements, so a scalar is
        // added.
        let scalar = TensorType::new(DType::S32, &[]);
        operands.push(e.constant(&scalar, 0));
        types.push(mlir(&scalar));
        inputs.push(Sharding::replicated(0).sdy(&mesh));
        typed.push(format!("%in{at}_unused: {}", mlir(&scalar)));
    }
    emit!(
        e,
        "    {name}:{} = sdy.manual_computation({}) in_shardings=[{}] out_shardings=[{}] manual_axes={{{}}} ({}) {{",
        outputs.len(),
        operands.join(", "),
        inputs.join(", "),
        outputs.iter().map(|sharding| sharding.sdy(&mesh)).collect::<Vec<String>>().join(", "),
        axes.join(", "),
        typed.join(", ")
    );
    let outside = std::mem::replace(&mut e.extent, Extent::Pieces);
    let results = apply(e, &format!("%next{at}"), body, &inside);
    e.extent = outside;
    let pieces: Vec<String> = body.results().iter().map(mlir).collect();
    emit!(e, "    sdy.return {} : {}", results.join(", "), pieces.join(", "));
    let of = |(ty, sharding): (&TensorType, &Sharding)| {
        mlir(&whole(ty, sharding, &mesh).expect("inference checked the size"))
    };
    let wholes: Vec<String> = body.results().iter().zip(&outputs).map(of).collect();
    emit!(e, "    }} : ({}) -> ({})", types.join(", "), wholes.join(", "));
}
