//! All devices of the process, indexed by the table number in their tensors' handles.

use super::handle::TABLES;
use super::{Device, OperandName, TensorHandle};
use base::error;
use base::error::{Error, Result};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::OnceLock;

static DEVICES: [OnceLock<Device>; TABLES] = [const { OnceLock::new() }; TABLES];

/// Table numbers of devices whose environment was destroyed, and the first number that was never used.
static UNUSED: Mutex<(Vec<u32>, u32)> = Mutex::new((Vec::new(), 0));

/// Takes a device that belongs to no environment.
pub(super) fn take() -> Result<&'static Device> {
    let mut unused = UNUSED.lock();
    let table = match unused.0.pop() {
        Some(table) => table,
        None if (unused.1 as usize) < TABLES => {
            unused.1 += 1;
            unused.1 - 1
        }
        None => {
            return Err(error!(
                ResourceExhausted,
                "{TABLES} devices exist already; release environments, meshes and their tensors"
            ));
        }
    };
    Ok(DEVICES[table as usize].get_or_init(|| Device::new(table)))
}

/// All devices that exist.
pub(super) fn all() -> impl Iterator<Item = &'static Device> {
    DEVICES.iter().filter_map(OnceLock::get)
}

/// Returns a device for reuse after its environment and tensors were destroyed.
pub(super) fn give_back(table: u32) {
    UNUSED.lock().0.push(table);
}

#[cold]
fn invalid(argument: &str, handle: TensorHandle) -> Error {
    match handle.0 {
        0 => error!(InvalidHandle, "{argument}: the tensor handle is 0, which is none"),
        id => error!(InvalidHandle, "{argument}: {id:#x} is not a tensor handle, or the tensor was released"),
    }
}

impl Device {
    /// Returns the error for a handle that refers to no live tensor.
    pub(super) fn no_such_tensor(argument: &str, handle: TensorHandle) -> Error {
        invalid(argument, handle)
    }
}

/// Returns the device whose table a handle refers to. Does not check that the tensor is alive.
#[inline]
pub fn device_of(argument: &str, handle: TensorHandle) -> Result<&'static Device> {
    match DEVICES[handle.table() as usize].get() {
        Some(device) if handle.0 != 0 => Ok(device),
        _ => Err(invalid(argument, handle)),
    }
}

/// Returns the common device of these tensors, or an error that names one that differs.
#[inline]
pub fn common_device(operands: &[(&str, TensorHandle)]) -> Result<&'static Device> {
    let (first_name, first) = operands[0];
    let device = device_of(first_name, first)?;
    match operands[1..].iter().find(|(_, handle)| handle.table() != first.table() || handle.0 == 0) {
        None => Ok(device),
        Some(&other) => Err(differs(operands[0], other)),
    }
}

/// Does what [`common_device`] does, for a list of any length.
pub fn common_device_of_list(operands: &[(OperandName, TensorHandle)]) -> Result<&'static Device> {
    let unnamed: SmallVec<[(&str, TensorHandle); 16]> = operands.iter().map(|&(_, handle)| ("", handle)).collect();
    common_device(&unnamed).or_else(|_| with_names(operands, common_device))
}

/// Calls `action` with operands whose names are formatted, for functions that name them in their errors.
#[cold]
pub fn with_names<T>(operands: &[(OperandName, TensorHandle)], action: impl FnOnce(&[(&str, TensorHandle)]) -> T) -> T {
    let names: Vec<String> = operands.iter().map(|(name, _)| name.to_string()).collect();
    let named: Vec<(&str, TensorHandle)> =
        names.iter().zip(operands).map(|(name, &(_, handle))| (name.as_str(), handle)).collect();
    action(&named)
}

/// Returns the error for two tensors that cannot be combined: one is invalid, or they are on different devices or in
/// different environments.
#[cold]
fn differs(a: (&str, TensorHandle), b: (&str, TensorHandle)) -> Error {
    let place = |(name, handle): (&str, TensorHandle)| {
        let state = device_of(name, handle)?.state();
        state.check(name, handle)?;
        state.place().ok_or_else(|| invalid(name, handle))
    };
    match (place(a), place(b)) {
        (Err(error), _) | (_, Err(error)) => error,
        (Ok((env_a, _)), Ok((env_b, _))) if env_a != env_b => error!(
            InvalidArgument,
            "{} and {} belong to two environments; tensors of different environments never mix", a.0, b.0
        ),
        (Ok((_, on_a)), Ok((_, on_b))) => error!(
            InvalidArgument,
            "{} is on {on_a} and {} is on {on_b}; move one of them with lxla_tensor_to_device", a.0, b.0
        ),
    }
}
