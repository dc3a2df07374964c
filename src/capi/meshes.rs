//! Chapter Meshes: creation of meshes, tensors on a mesh, their shardings.

use super::abi::arguments::{optional_slice, tensor_type, texts};
use super::abi::guard::{guard, guard_into};
use super::abi::pointers::{Bytes, BytesMut, List, Out, OutList, OwnedText, Text};
use super::abi::references::References;
use super::abi::types::{lxla_device, lxla_env, lxla_mesh, lxla_status, lxla_tensor};
use super::constants::LXLA_DEVICE_MESH;
use crate::device::{Device, TensorHandle};
use crate::env::{self, Environment};
use crate::{sync, tensor};
use base::error;
use base::error::{Error, Result};
use mesh::{Mesh, MeshAxes, Sharding, picture};
use std::sync::{Arc, Weak};

/// Handles of all meshes.
static MESHES: References<OpenMesh> = References::new("mesh");

/// An open mesh of an environment; dropping it closes the mesh. Does not keep the environment alive.
struct OpenMesh {
    environment: Weak<Environment>,
    number: usize,
}

impl Drop for OpenMesh {
    fn drop(&mut self) {
        if let Some(environment) = self.environment.upgrade() {
            environment.close_mesh(self.number);
        }
    }
}

/// A mesh and its device, with a reference to its environment: while it is held, the environment is not destroyed.
pub(super) struct KeptMesh {
    /// Device of the tensors that are on the mesh.
    pub device: &'static Device,
    /// Axes and devices.
    pub mesh: Arc<Mesh>,
    _environment: Arc<Environment>,
}

/// Resolves the handle of a mesh, or returns an error that names the argument.
pub(super) fn resolve_mesh(argument: &str, mesh: lxla_mesh) -> Result<KeptMesh> {
    let open = MESHES.get(argument, mesh.id)?;
    let released = || error!(InvalidHandle, "{argument}: the environment of the mesh was released");
    let environment = open.environment.upgrade().ok_or_else(released)?;
    let device = environment.mesh(open.number as i32)?;
    let mesh = device.state().owner()?.mesh(argument)?.clone();
    Ok(KeptMesh { device, mesh, _environment: environment })
}

/// Creates a mesh: XLA devices of `env`, arranged along named axes. Tensors can be on the mesh as on a device. The mesh
/// has `rank` axes with the names `axis_names` (letters, digits and `_`, distinct) and the sizes `axis_sizes` (at least
/// 1). `ordinals` lists distinct devices `xla:N`, row-major over the axes; NULL: 0, 1, 2, ... INVALID_ARGUMENT if the
/// environment has too few devices (see `device_count` of `lxla_env_options`). Devices of other processes cannot be in
/// a mesh.
///
/// Operations, computations, steps and saves take tensors on the mesh (`lxla_mesh_device`) like tensors on any other
/// device, with their whole shapes. XLA's partitioner (Shardy) divides the work among the devices.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_mesh_create(
    env: lxla_env,
    axis_names: List<Text>,
    axis_sizes: List<i64>,
    rank: usize,
    ordinals: List<i32>,
    out_mesh: Out<lxla_mesh>,
) -> lxla_status {
    guard_into("lxla_mesh_create", out_mesh.named("out_mesh"), || {
        // Both lists are checked before the names are read.
        axis_names.get("axis_names", rank)?;
        let sizes = axis_sizes.get("axis_sizes", rank)?;
        let axes = MeshAxes::new(&texts("axis_names", axis_names, rank)?, sizes)?;
        let ordinals = optional_slice("ordinals", ordinals, axes.device_count())?;
        let environment = env::resolve(env.id)?;
        let number = environment.create_mesh(axes, ordinals)?;
        let open = OpenMesh { environment: Arc::downgrade(&environment), number };
        Ok(lxla_mesh { id: MESHES.insert(Arc::new(open)) })
    })
}

/// Adds one reference.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_mesh_retain(mesh: lxla_mesh) -> lxla_status {
    guard("lxla_mesh_retain", || MESHES.retain(mesh.id))
}

/// Removes one reference. After the last one, tensors on the mesh can only be read and released.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_mesh_release(mesh: lxla_mesh) -> lxla_status {
    guard("lxla_mesh_release", || MESHES.release(mesh.id))
}

/// Returns the mesh as a device of its environment, of kind `LXLA_DEVICE_MESH`. Every function that takes a device
/// accepts it: creation functions, `lxla_mark_step`, `lxla_load`, ... A tensor that is created without a sharding is
/// replicated: each device has a copy.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_mesh_device(mesh: lxla_mesh, out_device: Out<lxla_device>) -> lxla_status {
    guard_into("lxla_mesh_device", out_device.named("out_device"), || {
        resolve_mesh("mesh", mesh)?;
        let number = MESHES.get("mesh", mesh.id)?.number;
        Ok(lxla_device { kind: LXLA_DEVICE_MESH, ordinal: number as i32 })
    })
}

/// Returns the axes and devices of a mesh as JSON: `{"axes": [{"name": "data", "size": 2}, ...], "ordinals": [0, 1,
/// ...], "devices": 4}`, with ordinals row-major over the axes. The caller frees the text with `lxla_string_free`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_mesh_info(mesh: lxla_mesh, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_mesh_info", out_json.named("out_json"), || {
        let mesh = resolve_mesh("mesh", mesh)?.mesh;
        let axes: Vec<serde_json::Value> =
            mesh.axes.axes().iter().map(|axis| serde_json::json!({ "name": axis.name, "size": axis.size })).collect();
        let info = serde_json::json!({ "axes": axes, "ordinals": mesh.ordinals, "devices": mesh.ordinals.len() });
        OwnedText::new(info.to_string())
    })
}

/// Returns a tensor on `mesh` with the value of `x` and this sharding: a text with one entry for each axis of x,
/// separated by commas. An entry is `-` (not split) or the mesh axes that split the tensor's axis, major to minor,
/// joined by `+`: `"data,-"`, `"data+model,-,seq"`. Each mesh axis appears at most once. The empty text means
/// replicated.
///
/// If x is on cpu, on an XLA device or on another mesh of the same environment, its value is computed as by
/// `lxla_sync`, and copied through host memory. If x is on `mesh` itself, the result is recorded, as by
/// `lxla_sharding_constraint`. If x is a placeholder, the result is a placeholder with this sharding.
///
/// INVALID_ARGUMENT if the text does not parse (the message has the position of the error), if a mesh axis is unknown,
/// or if the size of an axis of x is not divisible by the number of its pieces.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_shard(
    x: lxla_tensor,
    mesh: lxla_mesh,
    sharding: Text,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_shard", out_tensor.named("out_tensor"), || {
        let given = sharding.get("sharding")?;
        let target = resolve_mesh("mesh", mesh)?;
        let rank = tensor::ty(x.into()).map_err(|e| renamed(&e))?.dims.len();
        let sharding = Sharding::parse("sharding", given, &target.mesh.axes, rank)?;
        tensor::shard(x.into(), target.device, &sharding)
    })
}

/// Replaces the name of the tensor argument in an error by `x`.
fn renamed(error: &Error) -> Error {
    Error::new(error.code, error.message.replacen("tensor:", "x:", 1))
}

/// Returns a tensor on `mesh` with the given sharding (as in `lxla_tensor_shard`) and a copy of host memory, as
/// `lxla_tensor_from_host`. Each piece is transferred to the devices that hold it, and nothing else.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_from_host_sharded(
    mesh: lxla_mesh,
    dtype: i32,
    dims: List<i64>,
    rank: usize,
    data: Bytes,
    size_bytes: usize,
    sharding: Text,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_tensor_from_host_sharded", out_tensor.named("out_tensor"), || {
        let (ty, given, bytes) =
            (tensor_type(dtype, dims, rank)?, sharding.get("sharding")?, data.get("data", size_bytes)?);
        let target = resolve_mesh("mesh", mesh)?;
        let sharding = Sharding::parse("sharding", given, &target.mesh.axes, rank)?;
        sync::from_host_sharded(target.device, &ty, bytes, &sharding)
    })
}

/// Returns the sharding of a tensor on a mesh in the syntax of `lxla_tensor_shard`, one entry for each axis. Computes a
/// pending tensor first, as `lxla_sync`. The result of a sharding constraint has that sharding, a result written over a
/// donated buffer has the sharding of the buffer, and XLA chooses the sharding of any other result. The caller frees
/// the text with `lxla_string_free`. INVALID_ARGUMENT if x is not on a mesh.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_sharding(x: lxla_tensor, out_text: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_tensor_sharding", out_text.named("out_text"), || {
        let (mesh, sharding) = sync::sharding_of(x.into())?;
        OwnedText::new(sharding.text(&mesh.axes))
    })
}

/// Returns a drawing, in lines of text, of the devices that hold each piece of a tensor on a mesh. Computes a pending
/// tensor first, as `lxla_sync`. The caller frees the text with `lxla_string_free`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_sharding_picture(x: lxla_tensor, out_text: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_tensor_sharding_picture", out_text.named("out_text"), || {
        let (mesh, sharding) = sync::sharding_of(x.into())?;
        OwnedText::new(picture(&sharding, &mesh, &tensor::ty(x.into())?.dims))
    })
}

/// Copies the piece of x that the device `xla:<ordinal>` holds to `dst`, row-major, and blocks until the copy is
/// complete. Computes a pending tensor first, as `lxla_sync`. INVALID_ARGUMENT if `size_bytes` is not the size of the
/// piece. Writes the index of the piece's first element in x to `out_offsets`, and the shape of the piece to
/// `out_dims`. Both have `capacity` entries, at least the rank of x, and may be NULL. With `dst` NULL and `size_bytes`
/// 0, copies nothing and writes only these two.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_tensor_shard_read(
    x: lxla_tensor,
    ordinal: i32,
    dst: BytesMut,
    size_bytes: usize,
    out_offsets: OutList<i64>,
    out_dims: OutList<i64>,
    capacity: usize,
) -> lxla_status {
    guard("lxla_tensor_shard_read", || {
        let handle: TensorHandle = x.into();
        let piece = sync::piece(handle, ordinal)?;
        let (ty, rank) = (&piece.ty, piece.offsets.len());
        if !(dst.is_null() && size_bytes == 0) && ty.size_bytes() != size_bytes {
            return Err(error!(
                InvalidArgument,
                "size_bytes: {size_bytes} given; the piece is {ty} and has {} bytes",
                ty.size_bytes()
            ));
        }
        if capacity < rank && !(out_offsets.is_null() && out_dims.is_null()) {
            return Err(error!(InvalidArgument, "capacity: {capacity} given; x has {rank} axes"));
        }
        // Both lists are validated before anything is written.
        let offsets = out_offsets.checked_list("out_offsets", if out_offsets.is_null() { 0 } else { rank })?;
        let dims = out_dims.checked_list("out_dims", if out_dims.is_null() { 0 } else { rank })?;
        let is_wanted = !dst.is_null();
        let destination = dst.get("dst", size_bytes)?;
        if is_wanted {
            piece.read(destination)?;
        }
        offsets.fill(piece.offsets.iter().copied());
        dims.fill(ty.dims.iter().copied());
        Ok(())
    })
}
