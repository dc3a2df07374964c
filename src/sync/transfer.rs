//! Moving values between the host and devices.

use super::exhausted::explain;
use super::partial::sync_on;
use crate::device::{Device, Owner, TensorHandle, Value, device_of};
use crate::device_data::{DeviceData, Hold, State};
use crate::error;
use crate::error::Result;
use crate::metrics::Counter;
use crate::types::{DType, TensorType};
use std::sync::Arc;

/// A new tensor with the host's values, transferred before it returns.
pub fn from_host(device: &'static Device, ty: &TensorType, data: &[u8]) -> Result<TensorHandle> {
    let owner = {
        let state = device.state();
        state.check_open()?;
        state.owner()?.clone()
    };
    let value = upload(device, &owner, ty, data)?;
    device.state().new_tensor_of(Value::Data(value))
}

/// Gives a tensor the host's values in place of its own.
pub fn write(tensor: TensorHandle, data: &[u8]) -> Result<()> {
    let device = device_of("dst", tensor)?;
    let (owner, ty) = {
        let state = device.state();
        state.check_open()?;
        let slot = state.check("dst", tensor)?;
        (state.owner()?.clone(), state.ty(slot))
    };
    check_size(&ty, data.len())?;
    let value = upload(device, &owner, &ty, data)?;
    let garbage = {
        let mut state = device.state();
        let slot = state.check("dst", tensor)?;
        state.replace_value(slot, Value::Data(value))
    };
    drop(garbage);
    Ok(())
}

fn upload(device: &Device, owner: &Owner, ty: &TensorType, data: &[u8]) -> Result<Arc<DeviceData>> {
    // A plugin takes any byte for a bool, and computes with it as no bool behaves.
    if ty.dtype == DType::Pred
        && let Some(at) = data.iter().position(|&byte| byte > 1)
    {
        return Err(error!(InvalidArgument, "data: element {at} of {ty} is {}; pred takes 0 or 1", data[at]));
    }
    let sent = owner.shared.engine.transfer_to_device(owner.ordinal, ty, data);
    let buffer = sent.map_err(|e| explain(e, device, data.len() as u64))?;
    owner.shared.metrics.add(Counter::TransferToDevice, 1);
    owner.shared.metrics.add(Counter::OutboundBytes, data.len() as u64);
    Ok(DeviceData::ready(buffer))
}

fn check_size(ty: &TensorType, size_bytes: usize) -> Result<()> {
    if ty.size_bytes() != size_bytes {
        return Err(error!(InvalidArgument, "size_bytes: {size_bytes} given; {ty} has {} bytes", ty.size_bytes()));
    }
    Ok(())
}

/// Copies a tensor's values to the host, row-major. Computes them first if they are pending, and waits.
pub fn read(tensor: TensorHandle, destination: &mut [u8]) -> Result<()> {
    let device = device_of("tensor", tensor)?;
    let ty = {
        let state = device.state();
        state.ty(state.check("tensor", tensor)?)
    };
    check_size(&ty, destination.len())?;
    let (hold, owner) = settled(device, tensor)?;
    let buffer = hold.data().buffer()?;
    if let Err(error) = buffer.read(destination) {
        // Only a value whose making failed is lost; what failed may also have been this one copy.
        if let Some(failure) = buffer.failure() {
            hold.data().set_state(State::Failed(failure));
        }
        return Err(error);
    }
    owner.shared.metrics.add(Counter::TransferFromDevice, 1);
    owner.shared.metrics.add(Counter::InboundBytes, destination.len() as u64);
    Ok(())
}

/// The data of a tensor, computed if it was pending, and held so that no step consumes it while it is read.
pub(super) fn settled(device: &'static Device, tensor: TensorHandle) -> Result<(Hold, Owner)> {
    loop {
        let (hold, owner) = {
            let state = device.state();
            let slot = state.check("tensor", tensor)?;
            (state.data(slot).map(|data| data.hold()), state.owner()?.clone())
        };
        match hold {
            None => sync_on(device, &[(0, tensor)])?,
            Some(hold) => match hold.data().settled() {
                // The sync that was to fill it failed; the tensor is pending again.
                State::Abandoned => continue,
                _ => return Ok((hold, owner)),
            },
        }
    }
}

/// A new tensor with the same value on another device of the same environment; on its own device, a snapshot.
pub fn to_device(tensor: TensorHandle, target: &'static Device) -> Result<TensorHandle> {
    let source = device_of("tensor", tensor)?;
    if std::ptr::eq(source, target) {
        let mut state = source.state();
        state.check_open()?;
        let slot = state.check("tensor", tensor)?;
        let value = state.value(slot).clone();
        return state.new_tensor_of(value);
    }
    let (target_place, source_place) = (target.state().place(), source.state().place());
    if target_place.map(|(env, _)| env) != source_place.map(|(env, _)| env) {
        return Err(error!(InvalidArgument, "device: it belongs to another environment than the tensor"));
    }
    let (hold, owner) = settled(source, tensor)?;
    let ordinal = target_place.map_or(0, |(_, ordinal)| ordinal);
    let size = hold.data().ty().size_bytes() as u64;
    let copy = hold.data().buffer()?.copy_to_device(ordinal).map_err(|e| explain(e, target, size))?;
    owner.shared.metrics.add(Counter::TransferToDevice, 1);
    let mut state = target.state();
    state.check_open()?;
    state.new_tensor_of(Value::Data(DeviceData::ready(copy)))
}
