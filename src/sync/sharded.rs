//! Tensors on meshes: creation from host memory, moves to a mesh, reads of single pieces.

use super::arrays::{array_of, count_read};
use super::exhausted::explain;
use super::transfer::{Materialized, check_pred, check_size, materialize, origin_of_copy, upload};
use crate::device::{Device, Owner, TensorHandle, Value, device_of, scopes};
use crate::device_data::{DeviceData, Hold};
use base::error;
use base::error::Result;
use base::types::TensorType;
use engine::ShardedBuffer;
use mesh::{Mesh, Sharding};
use std::sync::Arc;

/// Returns a new tensor on a mesh with host values, split by a sharding. The transfer has completed on return.
pub fn from_host_sharded(
    device: &'static Device,
    ty: &TensorType,
    data: &[u8],
    sharding: &Sharding,
) -> Result<TensorHandle> {
    check_size(ty, data.len())?;
    check_pred(ty, data)?;
    let owner = device.open_owner()?;
    let data = upload(device, &owner, ty, data, Some(sharding))?;
    device.state().new_tensor_of(Value::Data(data))
}

/// Returns a new tensor on a mesh with the value of a tensor on another device of the same environment. A placeholder
/// becomes a placeholder with this sharding.
pub fn shard(tensor: TensorHandle, target: &'static Device, sharding: &Sharding) -> Result<TensorHandle> {
    let source = device_of("x", tensor)?;
    let (ty, is_placeholder, from) = {
        let state = source.state();
        let slot = state.check("x", tensor)?;
        let is_placeholder = matches!(state.value(slot), Value::Data(data) if data.is_placeholder());
        (state.ty(slot), is_placeholder, state.place())
    };
    let owner = target.open_owner()?;
    if from.map(|(env, _)| env) != Some(owner.shared.number) {
        return Err(error!(InvalidArgument, "mesh: it belongs to another environment than x"));
    }
    sharding.piece_dims("sharding", &owner.mesh("mesh")?.axes, &ty.dims)?;
    let data = if is_placeholder {
        DeviceData::sharded_placeholder(ty, sharding.clone())
    } else {
        let (array, origin) = match materialize(source, tensor)? {
            Materialized::Native(array) => (array, None),
            Materialized::Device(hold, from) => {
                let origin = origin_of_copy(&hold, &from, &owner);
                (array_of(hold, &from)?.0, Some(origin))
            }
        };
        let data = upload(target, &owner, &ty, array.bytes(), Some(sharding))?;
        match origin {
            Some(origin) => DeviceData::with_origin(data, origin, 0),
            None => data,
        }
    };
    let mut state = target.state();
    state.check_open()?;
    state.new_tensor_of(Value::Data(data))
}

/// Returns the mesh and the sharding of a tensor's value. Computes a pending value first, because its sharding is
/// chosen when its program is compiled.
pub fn sharding_of(tensor: TensorHandle) -> Result<(Arc<Mesh>, Sharding)> {
    let device = device_of("x", tensor)?;
    {
        let state = device.state();
        let slot = state.check("x", tensor)?;
        let mesh = state.owner()?.mesh("x")?.clone();
        if let Value::Data(data) = state.value(slot)
            && data.is_placeholder()
        {
            return Ok((mesh, data.sharding()));
        }
    }
    match materialize(device, tensor)? {
        Materialized::Device(hold, owner) => {
            // Returns the error if the value is lost.
            hold.data().buffer()?;
            Ok((owner.mesh("x")?.clone(), hold.data().sharding()))
        }
        Materialized::Native(_) => Err(error!(Internal, "x: a native tensor on a mesh")),
    }
}

/// A device's piece of a tensor, held so that no step consumes it.
pub struct Piece {
    hold: Hold,
    owner: Owner,
    device: &'static Device,
    position: usize,
    /// Dtype and shape of the piece.
    pub ty: TensorType,
    /// Index of its first element in the tensor.
    pub offsets: Vec<i64>,
}

/// Returns the piece of a tensor that the device `xla:<ordinal>` holds. Computes a pending value first.
pub fn piece(tensor: TensorHandle, ordinal: i32) -> Result<Piece> {
    scopes::refuse("x: its value is needed")?;
    let (mesh, sharding) = sharding_of(tensor)?;
    let position = mesh.ordinals.iter().position(|&known| i64::try_from(known) == Ok(i64::from(ordinal)));
    let position = position.ok_or_else(|| {
        error!(InvalidArgument, "ordinal: {ordinal} given; the mesh {} has the devices {:?}", mesh.axes, mesh.ordinals)
    })?;
    let device = device_of("x", tensor)?;
    let Materialized::Device(hold, owner) = materialize(device, tensor)? else {
        return Err(error!(Internal, "x: a native tensor on a mesh"));
    };
    if hold.data().is_placeholder() {
        return Err(hold.data().unbound());
    }
    let whole = hold.data().ty();
    let ty = TensorType::new(whole.dtype, &sharding.piece_dims("x", &mesh.axes, &whole.dims)?);
    let offsets = sharding.offsets(&mesh.axes, position, &ty.dims);
    Ok(Piece { hold, owner, device, position, ty, offsets })
}

impl Piece {
    /// Copies the piece, row-major, to `destination`, which has exactly its size.
    pub fn read(&self, destination: &mut [u8]) -> Result<()> {
        let buffer = self.hold.data().buffer()?;
        let sharded = buffer.as_any().downcast_ref::<ShardedBuffer>();
        let sharded = sharded.ok_or_else(|| error!(Internal, "x: a buffer of one device on a mesh"))?;
        sharded.read_piece(self.position, destination).map_err(|e| explain(e, self.device, None))?;
        count_read(&self.owner, destination.len());
        Ok(())
    }
}
