//! Adds detail to out-of-memory errors: the bytes requested, and the largest live tensors.

use super::live::label_of;
use super::padded::Ready;
use super::plan::Plan;
use crate::device::Device;
use crate::device_data::DeviceData;
use base::error::{Code, Error};
use engine::kernels::is_of_kernel;
use std::fmt::Write;

/// Number of the largest tensors listed.
const NAMED: usize = 5;

/// Whether the device lacks memory. A kernel that lacks something says so itself.
fn is_of_device(error: &Error) -> bool {
    error.code == Code::ResourceExhausted && !is_of_kernel(error)
}

/// Returns the error with the requested bytes (if known) and the largest live tensors if the device lacks memory, and
/// unchanged otherwise.
pub fn explain(error: Error, device: &Device, asked: Option<u64>) -> Error {
    if !is_of_device(&error) {
        return error;
    }
    let live = device.state().live_data();
    let mut sizes: Vec<(usize, &DeviceData)> =
        live.iter().filter(|data| data.has_memory()).map(|data| (data.ty().size_bytes(), &**data)).collect();
    sizes.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let total: usize = sizes.iter().map(|(size, _)| size).sum();
    let asked = asked.map_or_else(String::new, |asked| format!("{asked} bytes were asked for; "));
    let mut text = format!("{asked}live tensors hold {total} bytes in {} buffers", sizes.len());
    for (i, (size, data)) in sizes.iter().take(NAMED).enumerate() {
        let label = label_of(data).suffix();
        let _ = write!(text, "{}{} with {size}{label}", if i == 0 { ", the largest " } else { ", " }, data.ty());
    }
    Error::new(error.code, format!("{} ({text})", error.message))
}

/// Like [`explain`], of a run of these programs: also names the one that needs most memory besides results and arguments.
pub fn explain_run(error: Error, device: &Device, plan: &Plan, compiled: &[Ready]) -> Error {
    if !is_of_device(&error) {
        return error;
    }
    let explained = explain(error, device, Some(plan.scheme.output_bytes));
    let largest = compiled.iter().map(|ready| &ready.compiled).max_by_key(|compiled| compiled.memory.temporaries);
    let Some(largest) = largest.filter(|largest| largest.memory.temporaries > 0) else { return explained };
    let (message, number, bytes) = (&explained.message, largest.known.number, largest.memory.temporaries);
    Error::new(
        explained.code,
        format!("{message}; besides, its program of compile {number} needs {bytes} bytes for temporaries"),
    )
}
