//! Adds detail to out-of-memory errors: the bytes requested, and the largest live tensors.

use crate::device::Device;
use crate::device_data::DeviceData;
use crate::error::{Code, Error};
use std::fmt::Write;

/// Number of the largest tensors listed.
const NAMED: usize = 5;

/// Returns the error unchanged, or with the requested bytes (if known) and the largest live tensors if its code is
/// `ResourceExhausted`.
pub fn explain(error: Error, device: &Device, asked: Option<u64>) -> Error {
    if error.code != Code::ResourceExhausted {
        return error;
    }
    let live = device.state().live_data();
    let mut sizes: Vec<(usize, &DeviceData)> =
        live.iter().filter(|data| data.has_buffer()).map(|data| (data.ty().size_bytes(), &**data)).collect();
    sizes.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let total: usize = sizes.iter().map(|(size, _)| size).sum();
    let asked = asked.map_or_else(String::new, |asked| format!("{asked} bytes were asked for; "));
    let mut text = format!("{asked}live tensors hold {total} bytes in {} buffers", sizes.len());
    for (i, (size, data)) in sizes.iter().take(NAMED).enumerate() {
        let label = data.origin().map_or_else(String::new, |(origin, output)| origin.label_of(*output).suffix());
        let _ = write!(text, "{}{} with {size}{label}", if i == 0 { ", the largest " } else { ", " }, data.ty());
    }
    Error::new(error.code, format!("{} ({text})", error.message))
}
