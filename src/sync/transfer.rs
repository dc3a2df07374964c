//! Transfers values between the host and devices, and between devices.

use super::arrays::{array_of, count_read, count_shared};
use super::exhausted::explain;
use super::partial::sync_on;
use crate::device::{Device, Owner, Place, TensorHandle, Value, device_of, scopes};
use crate::device_data::{DeviceData, Hold, Origin, State};
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use mesh::Sharding;
use native::Array;
use std::sync::Arc;
use std::time::Instant;

/// Returns a new tensor with host values. The transfer has completed on return.
pub fn from_host(device: &'static Device, ty: &TensorType, data: &[u8]) -> Result<TensorHandle> {
    check_pred(ty, data)?;
    let owner = device.open_owner()?;
    let value = value_of_host(device, &owner, ty, data, None)?;
    device.state().new_tensor_of(value)
}

/// Replaces a tensor's value by host values. On a mesh, they get the sharding of the replaced value; if that is
/// pending, they are replicated.
pub fn write(tensor: TensorHandle, data: &[u8]) -> Result<()> {
    let device = device_of("dst", tensor)?;
    let (owner, ty, old) = {
        let state = device.state();
        state.check_open()?;
        let slot = state.check("dst", tensor)?;
        state.check_change(slot)?;
        (state.owner()?.clone(), state.ty(slot), state.data(slot))
    };
    check_size(&ty, data.len())?;
    check_pred(&ty, data)?;
    let sharding = old.filter(|_| owner.mesh.is_some()).map(|old| old.sharding());
    let value = value_of_host(device, &owner, &ty, data, sharding.as_ref())?;
    let garbage = {
        let mut state = device.state();
        let slot = state.check("dst", tensor)?;
        state.replace_value(slot, value)
    };
    drop(garbage);
    Ok(())
}

/// Converts host values to an array (cpu) or device data (XLA).
fn value_of_host(
    device: &Device,
    owner: &Owner,
    ty: &TensorType,
    data: &[u8],
    sharding: Option<&Sharding>,
) -> Result<Value> {
    match owner.place {
        Place::Cpu => {
            let copy = || Array::from_bytes(ty, data);
            owner.shared.with_memory(data.len() as u64, copy).map(Value::Native)
        }
        Place::Xla(_) | Place::Mesh(_) => upload(device, owner, ty, data, sharding).map(Value::Data),
    }
}

/// Transfers host values to an XLA device or a mesh.
pub(super) fn upload(
    device: &Device,
    owner: &Owner,
    ty: &TensorType,
    data: &[u8],
    sharding: Option<&Sharding>,
) -> Result<Arc<DeviceData>> {
    let sent = owner.transfer(ty, data, sharding);
    Ok(DeviceData::ready(sent.map_err(|e| explain(e, device, Some(data.len() as u64)))?))
}

/// A PJRT plugin accepts any byte as a bool, and computes nonsense with bytes other than 0 and 1.
pub fn check_pred(ty: &TensorType, data: &[u8]) -> Result<()> {
    if ty.dtype == DType::Pred
        && let Some(at) = data.iter().position(|&byte| byte > 1)
    {
        return Err(error!(InvalidArgument, "data: element {at} of {ty} is {}; pred takes 0 or 1", data[at]));
    }
    Ok(())
}

/// Returns an error unless the size is that of the type.
pub fn check_size(ty: &TensorType, size_bytes: usize) -> Result<()> {
    if ty.size_bytes() != size_bytes {
        return Err(error!(InvalidArgument, "size_bytes: {size_bytes} given; {ty} has {} bytes", ty.size_bytes()));
    }
    Ok(())
}

/// Copies a tensor's values to the host, row-major. Computes pending values first, and waits.
pub fn read(tensor: TensorHandle, destination: &mut [u8]) -> Result<()> {
    refuse_in_trace()?;
    let device = device_of("tensor", tensor)?;
    let ty = {
        let state = device.state();
        state.ty(state.check("tensor", tensor)?)
    };
    check_size(&ty, destination.len())?;
    match materialize(device, tensor)? {
        Materialized::Native(array) => destination.copy_from_slice(array.bytes()),
        Materialized::Device(hold, owner) => {
            let mut span = owner.shared.timeline().sync_span("transfer", "from device");
            span.number("bytes", destination.len() as u64);
            read_data(hold.data(), destination).map_err(|e| explain(e, device, None))?;
            count_read(&owner, destination.len());
        }
    }
    Ok(())
}

/// Returns an error while this thread traces a computation.
pub(super) fn refuse_in_trace() -> Result<()> {
    scopes::refuse("tensor: its value is needed")
}

fn read_data(data: &DeviceData, destination: &mut [u8]) -> Result<()> {
    let buffer = data.buffer()?;
    buffer.read(destination).inspect_err(|_| {
        // The value is lost only if its computation failed; otherwise just this copy failed.
        if let Some(failure) = buffer.failure() {
            data.set_state(State::Failed(failure));
        }
    })
}

/// Materialized value of a tensor.
pub enum Materialized {
    /// Array in host memory.
    Native(Array),
    /// Data of an XLA device, held so that no step consumes it while it is read.
    Device(Hold, Owner),
}

/// Materializes a tensor: returns its value, and computes it first if it is pending.
pub fn materialize(device: &'static Device, tensor: TensorHandle) -> Result<Materialized> {
    loop {
        let mut state = device.state();
        let slot = state.check("tensor", tensor)?;
        if let Value::Native(array) = state.value(slot) {
            return Ok(Materialized::Native(array.clone()));
        }
        let (data, owner) = (state.data(slot), state.owner()?.clone());
        let Some(hold) = data.map(|data| data.hold()) else {
            drop(state);
            sync_on(device, &[(0, tensor)])?;
            continue;
        };
        device.wait_until(&mut state, || !hold.data().is_in_flight());
        drop(state);
        // If the sync that was computing it failed, the tensor is pending again.
        if !matches!(hold.data().state(), State::Abandoned) {
            return Ok(Materialized::Device(hold, owner));
        }
    }
}

/// Computes a tensor if it is pending, and waits until the value is ready, at most until `deadline`. Returns whether it
/// is; true if its computation failed, which the next read reports.
pub fn ready_by(tensor: TensorHandle, deadline: Instant) -> Result<bool> {
    refuse_in_trace()?;
    match materialize(device_of("tensor", tensor)?, tensor)? {
        Materialized::Native(_) => Ok(true),
        Materialized::Device(hold, owner) => {
            let _span = owner.shared.timeline().sync_span("wait", "wait");
            Ok(hold.data().buffer()?.is_ready_by(deadline))
        }
    }
}

/// Returns a tensor's values as an array, and whether they were copied. Computes pending values first.
pub fn to_array(tensor: TensorHandle) -> Result<(Array, bool)> {
    refuse_in_trace()?;
    match materialize(device_of("tensor", tensor)?, tensor)? {
        Materialized::Native(array) => Ok((array, false)),
        Materialized::Device(hold, owner) => array_of(hold, &owner),
    }
}

/// Returns a new tensor with the values of an array.
pub fn from_array(device: &'static Device, array: Array) -> Result<TensorHandle> {
    let value = value_on(device, Materialized::Native(array))?;
    let mut state = device.state();
    state.check_open()?;
    state.new_tensor_of(value)
}

/// Returns a new tensor with the same value on another device of the same environment. On the tensor's own device, this
/// is a snapshot.
pub fn to_device(tensor: TensorHandle, target: &'static Device) -> Result<TensorHandle> {
    let source = device_of("tensor", tensor)?;
    if std::ptr::eq(source, target) {
        let mut state = source.state();
        state.check_open()?;
        let slot = state.check("tensor", tensor)?;
        return state.snapshot(slot);
    }
    refuse_in_trace()?;
    // Takes one lock after the other: a copy in the opposite direction takes them in the opposite order.
    let target_place = target.state().place();
    let source_place = source.state().place();
    if target_place.map(|(env, _)| env) != source_place.map(|(env, _)| env) {
        return Err(error!(InvalidArgument, "device: it belongs to another environment than the tensor"));
    }
    let value = value_on(target, materialize(source, tensor)?)?;
    let mut state = target.state();
    state.check_open()?;
    state.new_tensor_of(value)
}

/// Makes a value available on another device; on a mesh, replicated. Copies between XLA devices are enqueued, and not
/// waited for.
pub fn value_on(target: &'static Device, value: Materialized) -> Result<Value> {
    let owner = target.open_owner()?;
    match (value, owner.place) {
        (Materialized::Native(array), Place::Cpu) => Ok(Value::Native(array)),
        (Materialized::Native(array), Place::Xla(_)) => alias(target, &owner, &array).map(Value::Data),
        (Materialized::Native(array), Place::Mesh(_)) => {
            upload(target, &owner, array.ty(), array.bytes(), None).map(Value::Data)
        }
        (Materialized::Device(hold, from), Place::Cpu) => array_of(hold, &from).map(|(array, _)| Value::Native(array)),
        (Materialized::Device(hold, from), Place::Xla(_) | Place::Mesh(_)) => {
            let size = hold.data().ty().size_bytes() as u64;
            let origin = origin_of_copy(&hold, &from, &owner);
            let copy = owner.copy(hold.data().buffer()?).map_err(|e| explain(e, target, Some(size)))?;
            let data = match copy {
                Some(copy) => DeviceData::ready(copy),
                // The pieces of a split tensor are gathered on the host.
                None => {
                    let (array, _) = array_of(hold, &from)?;
                    upload(target, &owner, array.ty(), array.bytes(), None)?
                }
            };
            Ok(Value::Data(DeviceData::with_origin(data, origin, 0)))
        }
    }
}

/// Origin of a copy of the data that is held. Gradients cannot be followed through it.
pub(super) fn origin_of_copy(hold: &Hold, from: &Owner, to: &Owner) -> Arc<Origin> {
    Origin::of_copy(hold.shared(), Arc::new(format!("a copy from {} to {}", from.place, to.place)))
}

/// Makes an array available as data of an XLA device: aliases the host memory if the device can use it, and copies it
/// otherwise.
fn alias(target: &Device, owner: &Owner, array: &Array) -> Result<Arc<DeviceData>> {
    let engine = &owner.shared.runtime().engine;
    let aliased = engine.alias_on_device(owner.ordinal(), array.ty(), &array.memory());
    match aliased.map_err(|e| explain(e, target, Some(array.bytes().len() as u64)))? {
        Some(buffer) => {
            count_shared(owner, array.ty());
            Ok(DeviceData::aliased(buffer))
        }
        None => upload(target, owner, array.ty(), array.bytes(), None),
    }
}
