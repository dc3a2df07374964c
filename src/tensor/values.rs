//! Tensors as handles on values.

use crate::device::{Device, Place, TensorHandle, Value, common_device, device_of};
use crate::device_data::{DeviceData, State};
use crate::error;
use crate::error::Result;
use crate::ir::Op;
use crate::types::{TensorType, element_count};

/// What a tensor's value is at the moment. The numbers are those of `LXLA_STATE_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorState {
    /// Recorded, not run.
    Pending = 1,
    /// It has its buffer, or a run that makes it is under way.
    Ready = 2,
    /// It never had a value.
    Placeholder = 3,
    /// It is an array of the host.
    Native = 4,
    /// It is lost; reading it says why.
    Failed = 5,
}

/// A tensor with a shape and no value.
pub fn placeholder(device: &'static Device, ty: TensorType, requires_grad: bool) -> Result<TensorHandle> {
    element_count(&ty.dims)?;
    let mut state = device.state();
    state.check_open()?;
    let handle = state.new_tensor_of(Value::Data(DeviceData::new(ty, State::Placeholder)))?;
    let slot = state.check("out_tensor", handle)?;
    state.set_requires_grad(slot, requires_grad);
    Ok(handle)
}

/// A placeholder with a tensor's dtype, shape, device and requires_grad.
pub fn placeholder_like(tensor: TensorHandle) -> Result<TensorHandle> {
    let device = device_of("tensor", tensor)?;
    let (ty, requires_grad) = {
        let state = device.state();
        let slot = state.check("tensor", tensor)?;
        (state.ty(slot), state.requires_grad(slot))
    };
    placeholder(device, ty, requires_grad)
}

/// A new tensor with the value that this one has now. Nothing is copied.
pub fn snapshot(tensor: TensorHandle) -> Result<TensorHandle> {
    let mut state = device_of("tensor", tensor)?.state();
    state.check_open()?;
    let slot = state.check("tensor", tensor)?;
    let value = state.value(slot).clone();
    let requires_grad = state.requires_grad(slot);
    let handle = state.new_tensor_of(value)?;
    let slot = state.check("out_tensor", handle)?;
    state.set_requires_grad(slot, requires_grad);
    Ok(handle)
}

/// `dst` takes the value that `src` has now.
pub fn assign(dst: TensorHandle, src: TensorHandle) -> Result<()> {
    let device = common_device(&[("dst", dst), ("src", src)])?;
    let mut state = device.state();
    state.check_open()?;
    let (to, from) = (state.check("dst", dst)?, state.check("src", src)?);
    let (old, new) = (state.ty(to), state.ty(from));
    if old != new {
        return Err(error!(InvalidArgument, "src: it is {new}; dst is {old}, and wants the same dtype and shape"));
    }
    let value = state.value(from).clone();
    let garbage = state.replace_value(to, value);
    drop(state);
    drop(garbage);
    Ok(())
}

/// Dtype and shape.
pub fn ty(tensor: TensorHandle) -> Result<TensorType> {
    let state = device_of("tensor", tensor)?.state();
    Ok(state.ty(state.check("tensor", tensor)?))
}

/// Number of the environment, and which of its devices it is on.
pub fn place(tensor: TensorHandle) -> Result<(u64, Place)> {
    let state = device_of("tensor", tensor)?.state();
    state.check("tensor", tensor)?;
    let owner = state.owner()?;
    Ok((owner.shared.number, owner.place))
}

/// What the value is at the moment. Does not wait.
pub fn state(tensor: TensorHandle) -> Result<TensorState> {
    let state = device_of("tensor", tensor)?.state();
    let slot = state.check("tensor", tensor)?;
    let data = match state.value(slot) {
        Value::Pending(id) if state.trace.node(*id).op == Op::Leaf => return Ok(TensorState::Ready),
        Value::Pending(_) => return Ok(TensorState::Pending),
        Value::Data(data) => data,
        Value::Native(_) => return Ok(TensorState::Native),
    };
    Ok(match data.state() {
        State::Placeholder => TensorState::Placeholder,
        State::Ready(_) | State::InFlight(_) | State::Host(_) => TensorState::Ready,
        State::Donated(_) | State::Failed(_) | State::Abandoned => TensorState::Failed,
    })
}

/// Whether the tensor is marked as requiring gradients. The library only carries the mark.
pub fn requires_grad(tensor: TensorHandle) -> Result<bool> {
    let state = device_of("tensor", tensor)?.state();
    Ok(state.requires_grad(state.check("tensor", tensor)?))
}

/// Marks the tensor.
pub fn set_requires_grad(tensor: TensorHandle, on: bool) -> Result<()> {
    let mut state = device_of("tensor", tensor)?.state();
    let slot = state.check("tensor", tensor)?;
    state.set_requires_grad(slot, on);
    Ok(())
}
