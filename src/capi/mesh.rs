//! Chapter Operations on meshes: sharding constraints, shard_map, collectives.

use super::abi::arguments::texts;
use super::abi::guard::guard_into;
use super::abi::pointers::{List, Out, OutList, Text};
use super::abi::results::check_count;
use super::abi::types::{lxla_computation, lxla_device, lxla_env, lxla_mesh, lxla_status, lxla_tensor};
use super::computation::computation_of;
use super::device::kept_device;
use super::meshes::resolve_mesh;
use super::tensor::handles;
use crate::computation;
use crate::tensor::{create_on_mesh, record_collective, record_on_mesh};
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::ReduceOp;
use mesh::{MeshAxes, Sharding};

/// Records x, a tensor on a mesh, with a constraint on its sharding, which does not change its values. `sharding` has
/// one entry for each axis of x, separated by commas: the mesh axes that split it, major to minor (`"data+model,-"`),
/// or `-` for an axis that is not split. `""` splits no axis. XLA chooses the shardings of values without a constraint.
/// The buffer of the result has this sharding. Tangents and cotangents get the same constraint; a batch axis is not
/// split.
///
/// INVALID_ARGUMENT if x is not on a mesh, if the text does not parse (the message has the position of the error), or
/// if the size of an axis is not divisible by the number of its pieces.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_sharding_constraint(
    x: lxla_tensor,
    sharding: Text,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_sharding_constraint", out_tensor.named("out_tensor"), || {
        let given = sharding.get("sharding")?;
        record_on_mesh(x.into(), |trace, x, axes| {
            let sharding = Sharding::parse("sharding", given, axes, trace.ty(x).dims.len())?;
            ops::mesh::sharding_constraint(trace, x, axes, &sharding)
        })
    })
}

/// Records `shard_map` of JAX: every device of the mesh applies `body` to its pieces of the arguments.
/// `in_shardings[i]` is the sharding of `args[i]`, in the syntax of `lxla_sharding_constraint`. Parameter i of the body
/// has the type of one piece: trace the body on placeholders of the mesh's device with the shapes of pieces. The
/// results of the devices are the pieces of `out_results[i]`, with sharding `out_shardings[i]`. Captured values are
/// replicated: every device gets the whole value. Devices exchange pieces by `lxla_all_reduce` and the other
/// collectives, which are allowed in such a body only.
///
/// Devices that differ only on mesh axes that a sharding does not name hold the same piece. The body must return equal
/// values on them for a result. This is not checked: if they differ, the tensor has the value of any one of them.
///
/// Derivatives follow JAX's `shard_map` with `check_vma=False`: tangents are computed by a `shard_map` of the body with
/// tangents. In the backward pass, the cotangent of a result is divided by the number of devices that hold the same
/// piece; the cotangent of an argument or captured value is summed over the devices that hold the same piece. In the
/// body, the transpose of a sum over devices is a sum over devices. Residuals stay on the devices that computed them:
/// each is an array with one row for each device. With `lxla_computation_vmap`, the batch is an axis of every piece,
/// and is not split.
///
/// INVALID_ARGUMENT if the number or type of arguments, shardings or results does not fit the body; if a tensor is not
/// on this mesh; if the body contains a sharding constraint or another `lxla_shard_map`, or was traced on a mesh with
/// other axes.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_shard_map(
    body: lxla_computation,
    mesh: lxla_mesh,
    in_shardings: List<Text>,
    args: List<lxla_tensor>,
    n_args: usize,
    out_shardings: List<Text>,
    out_results: OutList<lxla_tensor>,
    n_results: usize,
) -> lxla_status {
    guard_into("lxla_shard_map", out_results.list("out_results", n_results), || {
        // Strings are read after the counts are checked: a wrong count is an error, not a read past the end of a list.
        in_shardings.get("in_shardings", n_args)?;
        out_shardings.get("out_shardings", n_results)?;
        let args = handles("args", args, n_args)?;
        let (body, mesh) = (computation_of("body", body)?, resolve_mesh("mesh", mesh)?.mesh);
        if n_args != body.parameters().len() {
            return Err(error!(
                InvalidArgument,
                "n_args: {n_args} given; body has {} parameters",
                body.parameters().len()
            ));
        }
        check_count("out_results", n_results, body.results().len())?;
        let (inputs, outputs) = (
            shardings("in_shardings", &texts("in_shardings", in_shardings, n_args)?, &mesh.axes, body.parameters())?,
            shardings("out_shardings", &texts("out_shardings", out_shardings, n_results)?, &mesh.axes, body.results())?,
        );
        computation::shard_map(&body, &mesh, &inputs, &args, &outputs)
    })
}

/// Parses one sharding for each of these types.
fn shardings(name: &str, texts: &[&str], axes: &MeshAxes, types: &[TensorType]) -> Result<Vec<Sharding>> {
    let one = |(i, (text, ty)): (usize, (&&str, &TensorType))| {
        Sharding::parse(&format!("{name}[{i}]"), text, axes, ty.dims.len())
    };
    texts.iter().zip(types).enumerate().map(one).collect()
}

/// Records the reduction of x over groups of devices by `op`, one of `LXLA_REDUCE_*`; every device of a group gets the
/// result. A group consists of the devices that differ only on the mesh axes listed in `axes` (`"data"`,
/// `"data+model"`). Dtypes are those of `lxla_reduce`; pred is summed in s64, 8-bit floats are reduced in f32, f16 and
/// bf16 in their own dtype.
///
/// Like all collectives, for the body of a `lxla_shard_map`: INVALID_ARGUMENT if x is computed from values of tensors,
/// without a placeholder. Outside of such a body a collective has no value: reading it is FAILED_PRECONDITION, and
/// steps leave it pending.
///
/// All devices of a group must reach the collective: it may block forever in a branch or loop whose condition differs
/// between devices.
///
/// The cotangent of x is the sum of the cotangents of the group. For a maximum or minimum, the devices whose element is
/// the result share it evenly. UNIMPLEMENTED for the derivative of a product.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_all_reduce(op: i32, x: lxla_tensor, axes: Text, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_all_reduce", out_tensor.named("out_tensor"), || {
        let op = ReduceOp::from_number(op)?;
        let axes = axes.get("axes")?;
        record_collective(x.into(), |trace, x, mesh| {
            ops::mesh::all_reduce(trace, op, x, mesh, &mesh.parse_list("axes", axes)?)
        })
    })
}

/// Records the concatenation along `axis` of the values that x has on the devices of a group; every device of the group
/// gets the result. Groups are as in `lxla_all_reduce`; their devices are ordered by their position along `axes`, the
/// first of which is the major one. All dtypes. The cotangent of x is a `lxla_reduce_scatter` of sums.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_all_gather(x: lxla_tensor, axes: Text, axis: i64, out_tensor: Out<lxla_tensor>) -> lxla_status {
    guard_into("lxla_all_gather", out_tensor.named("out_tensor"), || {
        let axes = axes.get("axes")?;
        record_collective(x.into(), |trace, x, mesh| {
            ops::mesh::all_gather(trace, x, mesh, &mesh.parse_list("axes", axes)?, axis)
        })
    })
}

/// Records the reduction of x over groups of devices, as `lxla_all_reduce`, split along `axis` into one piece for each
/// device of the group, in the order of `lxla_all_gather`; each device gets its piece. The size of the axis must be
/// divisible by the number of devices of a group. The cotangent of x for SUM is a `lxla_all_gather`; UNIMPLEMENTED for
/// the derivative of another `op`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_reduce_scatter(
    op: i32,
    x: lxla_tensor,
    axes: Text,
    axis: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_reduce_scatter", out_tensor.named("out_tensor"), || {
        let op = ReduceOp::from_number(op)?;
        let axes = axes.get("axes")?;
        record_collective(x.into(), |trace, x, mesh| {
            ops::mesh::reduce_scatter(trace, op, x, mesh, &mesh.parse_list("axes", axes)?, axis)
        })
    })
}

/// Records an exchange of pieces within groups of devices (as in `lxla_all_reduce`): each device splits its x along
/// `split_axis` into one piece for each device of the group, in the order of `lxla_all_gather`, sends each of them its
/// piece, and concatenates the pieces that it receives along `concat_axis`. All dtypes. The cotangent of x is the
/// exchange with `split_axis` and `concat_axis` swapped.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_all_to_all(
    x: lxla_tensor,
    axes: Text,
    split_axis: i64,
    concat_axis: i64,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_all_to_all", out_tensor.named("out_tensor"), || {
        let axes = axes.get("axes")?;
        record_collective(x.into(), |trace, x, mesh| {
            ops::mesh::all_to_all(trace, x, mesh, &mesh.parse_list("axes", axes)?, split_axis, concat_axis)
        })
    })
}

/// Records the value that x has on another device. `axis` names one axis of the mesh. `pairs` lists `n_pairs` pairs, 2
/// `n_pairs` entries: the position of a source along that axis, then the position of its target. The target gets the x
/// of the source; devices that are not a target get zeros. A position may be a source at most once, and a target at
/// most once. All dtypes. The cotangent of x goes from the targets back to the sources.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_collective_permute(
    x: lxla_tensor,
    axis: Text,
    pairs: List<i64>,
    n_pairs: usize,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_collective_permute", out_tensor.named("out_tensor"), || {
        let (axis, positions) = (axis.get("axis")?, pairs.get("pairs", n_pairs.saturating_mul(2))?);
        let pairs: Vec<(i64, i64)> = positions.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        record_collective(x.into(), |trace, x, mesh| {
            let axes = mesh.parse_list("axis", axis)?;
            match *axes {
                [axis] => ops::mesh::collective_permute(trace, x, mesh, axis, &pairs),
                _ => Err(error!(InvalidArgument, "axis: {axis:?} are {} axes; want one", axes.len())),
            }
        })
    })
}

/// Records, on `device` (the device of a mesh), the position of each device of the mesh along the listed `axes`: an s32
/// scalar from 0 to the product of their sizes minus 1, row-major with the first axis as the major one. For the body of
/// a `lxla_shard_map`, as `lxla_all_reduce`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_axis_index(
    env: lxla_env,
    device: lxla_device,
    axes: Text,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_axis_index", out_tensor.named("out_tensor"), || {
        let axes = axes.get("axes")?;
        let target = kept_device(env, device)?;
        create_on_mesh(target.device, |trace, mesh| ops::mesh::axis_index(trace, mesh, &mesh.parse_list("axes", axes)?))
    })
}
