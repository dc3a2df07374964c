//! Operations on tensors of several devices, by the option `mixed_device_policy`. Tensors of two environments never
//! mix.

use super::results::{Locked, create, to_record};
use crate::device::{Device, Handles, MixedDevicePolicy, Place, TensorHandle, Value, device_of};
use crate::sync;
use base::call;
use base::error;
use base::error::{Error, Result};
use base::log::{Level, log};
use base::metrics::Counter;
use base::types::{Scalar, TensorType};
use ir::NodeId;
use ops::creation;

/// An operand, with the device that it is on.
struct Operand<'a> {
    name: &'a str,
    handle: TensorHandle,
    device: &'static Device,
    place: Place,
}

/// Replacement for an operand that is not on the device of the operation.
enum Stand {
    /// A constant with the operand's value.
    Constant(TensorType, Scalar),
    /// A copy of the operand's value.
    Copy(Value),
}

/// Returns the nodes of operands that are on several devices, and the locked state of the device on which the operation
/// is recorded: the device of `dst` if there is one, else the first XLA device among the operands. Returns the error
/// `apart` if the option does not allow the operands together.
#[cold]
pub fn bring_together(named: &[(&str, TensorHandle)], apart: Error) -> Result<(Locked, Vec<NodeId>)> {
    let operands = named.iter().map(|&(name, handle)| find(name, handle)).collect::<Result<Vec<Operand>>>()?;
    let first = &operands[0];
    let owner = first.device.state().owner()?.clone();
    for operand in &operands {
        if operand.device.state().owner()?.shared.number != owner.shared.number {
            return Err(apart);
        }
    }
    operands.iter().try_for_each(|operand| operand.device.state().check_open())?;
    let policy = owner.shared.options.mixed_device_policy();
    let target =
        if first.name == "dst" { first } else { operands.iter().find(|o| o.place != Place::Cpu).unwrap_or(first) };
    let mut stands = Vec::with_capacity(operands.len());
    for operand in &operands {
        let is_there = std::ptr::eq(operand.device, target.device);
        stands.push(if is_there { None } else { Some(stand_for(operand, target, policy, &apart)?) });
    }
    let mut state = to_record(target.device)?;
    let nodes = operands.iter().zip(stands).map(|(operand, stand)| match stand {
        None => state.operand(operand.name, operand.handle),
        Some(Stand::Constant(ty, scalar)) => Ok(creation::constant(&mut state.trace, &ty.dims, scalar)),
        Some(Stand::Copy(value)) => Ok(state.operand_of(value)),
    });
    let nodes = nodes.collect::<Result<Vec<NodeId>>>()?;
    Ok((state, nodes))
}

fn find<'a>(name: &'a str, handle: TensorHandle) -> Result<Operand<'a>> {
    let device = device_of(name, handle)?;
    let state = device.state();
    state.check(name, handle)?;
    Ok(Operand { name, handle, device, place: state.owner()?.place })
}

/// Returns tensors on an XLA device with the values of native tensors of the same environment. Fails if the policy does
/// not allow that.
pub fn brought(
    target: &'static Device,
    policy: MixedDevicePolicy,
    named: &[(&str, TensorHandle)],
    apart: &Error,
) -> Result<Handles> {
    let owner = target.state().owner()?.clone();
    let target = Operand { name: "target", handle: TensorHandle(0), device: target, place: owner.place };
    let mut made = Handles(Vec::with_capacity(named.len()));
    for &(name, handle) in named {
        made.0.push(match stand_for(&find(name, handle)?, &target, policy, apart)? {
            Stand::Constant(ty, scalar) => {
                create(target.device, |trace| Ok(creation::constant(trace, &ty.dims, scalar)))?
            }
            Stand::Copy(value) => {
                let mut state = target.device.state();
                state.check_open()?;
                state.new_tensor_of(value)?
            }
        });
    }
    Ok(made)
}

/// Returns the replacement for an operand that the policy allows, else the error `apart`.
fn stand_for(operand: &Operand, target: &Operand, policy: MixedDevicePolicy, apart: &Error) -> Result<Stand> {
    match policy {
        MixedDevicePolicy::Error => Err(apart.clone()),
        MixedDevicePolicy::Scalar => match constant(operand, target) {
            Some((ty, scalar)) => Ok(Stand::Constant(ty, scalar)),
            None => Err(only_scalars(operand, apart)),
        },
        MixedDevicePolicy::Copy => Ok(Stand::Copy(copied(operand, target)?)),
    }
}

/// Returns the one element of a native tensor as a constant, to be recorded on an XLA device.
fn constant(operand: &Operand, target: &Operand) -> Option<(TensorType, Scalar)> {
    let state = operand.device.state();
    let slot = state.check(operand.name, operand.handle).ok()?;
    match state.value(slot) {
        Value::Native(array) if target.place != Place::Cpu && array.ty().elements() == 1 => {
            Some((array.ty().clone(), Scalar::from_bytes(array.ty().dtype, array.bytes())))
        }
        _ => None,
    }
}

fn only_scalars(operand: &Operand, apart: &Error) -> Error {
    let ty = super::ty(operand.handle).map_or_else(|_| "released".to_string(), |ty| ty.to_string());
    error!(
        InvalidArgument,
        "{}; mixed_device_policy is scalar, which copies native tensors of one element only, and {} is {ty}",
        apart.message,
        operand.name
    )
}

/// Copies an operand to the target's device; counts the copy and reports it to the log.
fn copied(operand: &Operand, target: &Operand) -> Result<Value> {
    let value = sync::value_on(target.device, sync::materialize(operand.device, operand.handle)?)?;
    let ty = match &value {
        Value::Data(data) => data.ty().clone(),
        Value::Native(array) => array.ty().clone(),
        Value::Pending(_) => unreachable!("a copy is not a pending value"),
    };
    let bytes = ty.size_bytes() as u64;
    let owner = target.device.state().owner()?.clone();
    owner.shared.metrics.add(Counter::MixedDeviceCopy, 1);
    owner.shared.metrics.add(Counter::MixedDeviceBytes, bytes);
    log(Level::Information, || {
        let call = call::current().unwrap_or("an operation");
        format!("{call}: {} ({ty}, {bytes} bytes) is copied from {} to {}", operand.name, operand.place, target.place)
    });
    Ok(value)
}
