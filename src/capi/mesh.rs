//! Chapter Operations on meshes: sharding constraints, computations on the pieces of each device, collectives.

use super::abi::arguments::{slice, text};
use super::abi::guard::guard_into;
use super::abi::results::{check_count, place, places};
use super::computation::computation_of;
use super::device::kept_device;
use super::places::resolve_mesh;
use super::tensor::handles;
use super::types::*;
use crate::computation;
use crate::error;
use crate::error::Result;
use crate::ir::ReduceOp;
use crate::mesh::{MeshAxes, Sharding};
use crate::ops;
use crate::tensor::{create_on_mesh, record_collective, record_on_mesh};
use crate::types::TensorType;
use std::ffi::c_char;

/// Records x, a tensor on a mesh, with a sharding: one entry for each axis of x, separated by commas, with the axes of
/// the mesh that split it, major to minor (`"data+model,-"`), or `-`. `""` splits no axis. The result has the values of
/// x; the compiler places it as stated, and chooses how what is computed before and after is placed. A result of a step
/// that is a constraint has its sharding. Tangents and cotangents get the same constraint; a batch axis is not split.
///
/// INVALID_ARGUMENT if x is not on a mesh, if the text does not parse (the message says where), or if the size of an
/// axis is not a multiple of the number of its pieces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_sharding_constraint(
    x: lxla_tensor,
    sharding: *const c_char,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_sharding_constraint", unsafe { place("out_tensor", out_tensor) }, || {
        // SAFETY: likewise.
        let given = unsafe { text("sharding", sharding)? };
        record_on_mesh(x.into(), |trace, x, axes| {
            let sharding = Sharding::parse("sharding", given, axes, trace.ty(x).dims.len())?;
            ops::sharding_constraint(trace, x, axes, &sharding)
        })
    })
}

/// Records the application of `body` by every device of a mesh to its pieces of the arguments, as `shard_map` of JAX.
/// `in_shardings[i]` says how `args[i]` is split, as in `lxla_sharding_constraint`; parameter i of the body has the
/// type of one piece, so the body is traced on placeholders of the mesh's device with the shapes of pieces. The results
/// of the devices are the pieces of `out_results[i]`, split as `out_shardings[i]` says. Values that the body captured
/// are given whole to every device. Pieces are exchanged by `lxla_all_reduce` and the other collectives, which only
/// such a body may have.
///
/// Where an axis of the mesh is in no entry of a sharding, the devices along it have the same piece. For a result this
/// is not checked: if the devices return different values there, the value of the tensor is any of them.
///
/// Derivatives have the conventions of JAX's `shard_map` with `check_vma=False`. The body with tangents is applied in
/// the same way. In the backward pass, the cotangent of a result is divided by the number of devices that hold a copy
/// of it, and the cotangent of an argument, or of a captured value, is the sum over the devices that hold a copy.
/// Inside, the transpose of a sum over devices is a sum over devices. Values that the backward pass reads are kept
/// where they were computed, each as an array with one row for each device. Over a batch (`lxla_computation_vmap`), the
/// batch is an axis of every piece, and is not split.
///
/// INVALID_ARGUMENT if the number or type of arguments, pieces, shardings or results does not fit; if the tensors are
/// not on this mesh; if the body has a sharding constraint or a `lxla_shard_map` of its own, or was traced on a mesh
/// with other axes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_shard_map(
    body: lxla_computation,
    mesh: lxla_mesh,
    in_shardings: *const *const c_char,
    args: *const lxla_tensor,
    n_args: usize,
    out_shardings: *const *const c_char,
    out_results: *mut lxla_tensor,
    n_results: usize,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_shard_map", unsafe { places("out_results", out_results, n_results) }, || {
        // SAFETY: likewise.
        let (inputs, args, outputs) = unsafe {
            (
                slice("in_shardings", in_shardings, n_args)?,
                handles("args", args, n_args)?,
                slice("out_shardings", out_shardings, n_results)?,
            )
        };
        let (body, mesh) = (computation_of("body", body)?, resolve_mesh("mesh", mesh)?.mesh);
        if n_args != body.parameters().len() {
            return Err(error!(
                InvalidArgument,
                "n_args: {n_args} given; body has {} parameters",
                body.parameters().len()
            ));
        }
        check_count("out_results", n_results, body.results().len())?;
        // SAFETY: likewise.
        let (inputs, outputs) = unsafe {
            (
                shardings("in_shardings", inputs, &mesh.axes, body.parameters())?,
                shardings("out_shardings", outputs, &mesh.axes, body.results())?,
            )
        };
        computation::shard_map(&body, &mesh, &inputs, &args, &outputs)
    })
}

/// Reads one sharding for each value of these types.
unsafe fn shardings(
    name: &str,
    texts: &[*const c_char],
    axes: &MeshAxes,
    types: &[TensorType],
) -> Result<Vec<Sharding>> {
    let one = |(i, (&start, ty)): (usize, (&*const c_char, &TensorType))| {
        let name = format!("{name}[{i}]");
        // SAFETY: the caller's promise.
        Sharding::parse(&name, unsafe { text(&name, start)? }, axes, ty.dims.len())
    };
    texts.iter().zip(types).enumerate().map(one).collect()
}

/// Records the reduction of x by `op`, one of `LXLA_REDUCE_*`, over the devices that differ only on the axes of the
/// mesh that `axes` lists (`"data"`, `"data+model"`): each of them gets the result. As the other collectives, recorded
/// in the body of a `lxla_shard_map`: INVALID_ARGUMENT if x is computed from values of tensors alone. A collective has
/// no value outside of such a body: reading it is FAILED_PRECONDITION, and steps leave it pending. The dtypes are those
/// of `lxla_reduce`; pred is summed in s64, 8-bit floats are reduced in f32, f16 and bf16 in their own dtype.
///
/// All devices must reach a collective: one in a branch or loop whose condition differs between devices may never
/// return.
///
/// The cotangent of x is the sum of the cotangents over the same devices; that of a maximum or minimum is shared evenly
/// by the devices whose element is the result. UNIMPLEMENTED for the derivative of a product.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_all_reduce(
    op: i32,
    x: lxla_tensor,
    axes: *const c_char,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_all_reduce", unsafe { place("out_tensor", out_tensor) }, || {
        let op = ReduceOp::from_number(op)?;
        // SAFETY: likewise.
        let axes = unsafe { text("axes", axes)? };
        record_collective(x.into(), |trace, x, mesh| {
            ops::all_reduce(trace, op, x, mesh, &mesh.parse_list("axes", axes)?)
        })
    })
}

/// Records the values that x has on the devices that differ only on the axes of the mesh that `axes` lists,
/// concatenated along `axis`: each of these devices gets them all. They are ordered by the position along `axes`, of
/// which the first is the major one. All dtypes. The cotangent of x is a `lxla_reduce_scatter` of sums.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_all_gather(
    x: lxla_tensor,
    axes: *const c_char,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_all_gather", unsafe { place("out_tensor", out_tensor) }, || {
        // SAFETY: likewise.
        let axes = unsafe { text("axes", axes)? };
        record_collective(x.into(), |trace, x, mesh| {
            ops::all_gather(trace, x, mesh, &mesh.parse_list("axes", axes)?, axis)
        })
    })
}

/// Records one piece of `lxla_all_reduce` for each device: the reduction is split along `axis` into equal pieces, one
/// for each of the devices that differ only on the axes of the mesh that `axes` lists, in the order of
/// `lxla_all_gather`. The cotangent of x for SUM is a `lxla_all_gather`; UNIMPLEMENTED for the derivative of another
/// `op`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_reduce_scatter(
    op: i32,
    x: lxla_tensor,
    axes: *const c_char,
    axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_reduce_scatter", unsafe { place("out_tensor", out_tensor) }, || {
        let op = ReduceOp::from_number(op)?;
        // SAFETY: likewise.
        let axes = unsafe { text("axes", axes)? };
        record_collective(x.into(), |trace, x, mesh| {
            ops::reduce_scatter(trace, op, x, mesh, &mesh.parse_list("axes", axes)?, axis)
        })
    })
}

/// Records an exchange among the devices that differ only on the axes of the mesh that `axes` lists: each splits its x
/// along `split_axis` into equal pieces, one for each of them in the order of `lxla_all_gather`, and concatenates the
/// pieces that it receives along `concat_axis`. All dtypes. The cotangent of x is the exchange back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_all_to_all(
    x: lxla_tensor,
    axes: *const c_char,
    split_axis: i64,
    concat_axis: i64,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_all_to_all", unsafe { place("out_tensor", out_tensor) }, || {
        // SAFETY: likewise.
        let axes = unsafe { text("axes", axes)? };
        record_collective(x.into(), |trace, x, mesh| {
            ops::all_to_all(trace, x, mesh, &mesh.parse_list("axes", axes)?, split_axis, concat_axis)
        })
    })
}

/// Records the value that x has on another device. `axis` is one axis of the mesh. `pairs` has 2 `n_pairs` entries: for
/// each pair the position along that axis of a source, then of its target, which gets the x of the source. A position
/// is at most once a source and at most once a target. Devices that are no target get zeros. All dtypes. The cotangent
/// of x goes from the targets back to the sources.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_collective_permute(
    x: lxla_tensor,
    axis: *const c_char,
    pairs: *const i64,
    n_pairs: usize,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_collective_permute", unsafe { place("out_tensor", out_tensor) }, || {
        // SAFETY: likewise.
        let (axis, positions) = unsafe { (text("axis", axis)?, slice("pairs", pairs, n_pairs.saturating_mul(2))?) };
        let pairs: Vec<(i64, i64)> = positions.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        record_collective(x.into(), |trace, x, mesh| {
            let axes = mesh.parse_list("axis", axis)?;
            match *axes {
                [axis] => ops::collective_permute(trace, x, mesh, axis, &pairs),
                _ => Err(error!(InvalidArgument, "axis: {axis:?} are {} axes; want one", axes.len())),
            }
        })
    })
}

/// Records the position of each device along the axes of the mesh that `axes` lists, an s32 scalar: 0 to the product of
/// their sizes minus 1, counted with the first axis as the major one. `device` is a mesh's. As the collectives, for the
/// body of a `lxla_shard_map`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_axis_index(
    env: lxla_env,
    device: lxla_device,
    axes: *const c_char,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    // SAFETY: the caller's promise, see `capi`.
    guard_into("lxla_axis_index", unsafe { place("out_tensor", out_tensor) }, || {
        // SAFETY: likewise.
        let axes = unsafe { text("axes", axes)? };
        let target = kept_device(env, device)?;
        create_on_mesh(target.device, |trace, mesh| ops::axis_index(trace, mesh, &mesh.parse_list("axes", axes)?))
    })
}
