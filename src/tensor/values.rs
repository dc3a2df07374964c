//! Values and metadata of tensors, by tensor handles.

use crate::device::{Device, Place, TensorHandle, Value, common_device, device_of};
use crate::device_data::{DeviceData, State};
use base::error;
use base::error::Result;
use base::types::{TensorType, element_count};
use ir::Op;

/// State of a tensor's value. The numbers are those of `LXLA_STATE_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorState {
    /// Recorded, not yet run.
    Pending = 1,
    /// The buffer exists, or a run that computes it is under way.
    Ready = 2,
    /// A placeholder: it has no value.
    Placeholder = 3,
    /// A native tensor: its value is an array in host memory.
    Native = 4,
    /// The value is lost; reading it returns the error that lost it.
    Failed = 5,
}

/// Creates a tensor with a shape and no value.
pub fn placeholder(device: &'static Device, ty: TensorType, requires_grad: bool) -> Result<TensorHandle> {
    element_count(&ty.dims)?;
    let mut state = device.state();
    state.check_open()?;
    state.new_tensor_marked(Value::Data(DeviceData::new(ty, State::Placeholder)), requires_grad)
}

/// Creates a placeholder with the dtype, shape, device and requires_grad of `tensor`.
pub fn placeholder_like(tensor: TensorHandle) -> Result<TensorHandle> {
    let device = device_of("tensor", tensor)?;
    let (ty, requires_grad) = {
        let state = device.state();
        let slot = state.check("tensor", tensor)?;
        (state.ty(slot), state.requires_grad(slot))
    };
    placeholder(device, ty, requires_grad)
}

/// Creates a tensor with the current value and the mark of `tensor`. Copies nothing.
pub fn snapshot(tensor: TensorHandle) -> Result<TensorHandle> {
    let mut state = device_of("tensor", tensor)?.state();
    state.check_open()?;
    let slot = state.check("tensor", tensor)?;
    state.snapshot(slot)
}

/// Replaces the value of `dst` by the current value of `src`.
pub fn assign(dst: TensorHandle, src: TensorHandle) -> Result<()> {
    let device = common_device(&[("dst", dst), ("src", src)])?;
    let mut state = device.state();
    state.check_open()?;
    let (to, from) = (state.check("dst", dst)?, state.check("src", src)?);
    let (old, new) = (state.ty(to), state.ty(from));
    if old != new {
        return Err(error!(InvalidArgument, "src: it is {new}; dst is {old}, and wants the same dtype and shape"));
    }
    state.check_change(to)?;
    let value = state.value_to_share(from)?;
    let garbage = state.replace_value(to, value);
    drop(state);
    drop(garbage);
    Ok(())
}

/// Returns the tensor's dtype and shape.
pub fn ty(tensor: TensorHandle) -> Result<TensorType> {
    let state = device_of("tensor", tensor)?.state();
    Ok(state.ty(state.check("tensor", tensor)?))
}

/// Returns the number of the tensor's environment, and the tensor's device in it.
pub fn place(tensor: TensorHandle) -> Result<(u64, Place)> {
    let state = device_of("tensor", tensor)?.state();
    state.check("tensor", tensor)?;
    let owner = state.owner()?;
    Ok((owner.shared.number, owner.place))
}

/// Returns the state of the tensor's value. Does not wait.
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
        State::Donated(_) | State::Consumed(_) | State::Failed(_) | State::Abandoned => TensorState::Failed,
    })
}

/// Returns whether the tensor is marked as requiring gradients. The library stores the mark and does not use it.
pub fn requires_grad(tensor: TensorHandle) -> Result<bool> {
    let state = device_of("tensor", tensor)?.state();
    Ok(state.requires_grad(state.check("tensor", tensor)?))
}

/// Marks the tensor as requiring gradients, or removes the mark.
pub fn set_requires_grad(tensor: TensorHandle, on: bool) -> Result<()> {
    let mut state = device_of("tensor", tensor)?.state();
    let slot = state.check("tensor", tensor)?;
    state.set_requires_grad(slot, on);
    Ok(())
}

/// States that the size of an axis of a tensor from the host changes, up to `bound` (0: any size), or (-1) that it does
/// not.
pub fn set_dynamic(tensor: TensorHandle, axis: usize, bound: i64) -> Result<()> {
    let state = device_of("tensor", tensor)?.state();
    state.check_open()?;
    let slot = state.check("tensor", tensor)?;
    let ty = state.ty(slot);
    const WANTED: &str = "want a tensor of an XLA device with a value from the host";
    let found = match state.value(slot) {
        Value::Native(_) => Err("native"),
        Value::Pending(_) => Err("computed"),
        Value::Data(data) if data.is_placeholder() => Err("a placeholder"),
        Value::Data(data) if data.origin().is_some() => Err("computed or copied"),
        Value::Data(data) => Ok(data),
    };
    let data = found.map_err(|kind| error!(FailedPrecondition, "tensor: it is {kind}; {WANTED}"))?;
    let Some(&size) = ty.dims.get(axis) else {
        return Err(error!(InvalidArgument, "axis: {axis} given; {ty} has {} axes", ty.dims.len()));
    };
    if bound < -1 || bound > 0 && bound < size {
        return Err(error!(
            InvalidArgument,
            "bound: {bound} given; want at least the size {size} of axis {axis} of {ty}, 0 or -1"
        ));
    }
    data.state_axis(axis, (bound >= 0).then_some(bound));
    state.owner()?.shared.options.set_has_stated_axes();
    Ok(())
}
