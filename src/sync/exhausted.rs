//! What is said when a device's memory is exhausted: what was asked for, and what takes the room.

use crate::device::Device;
use crate::device_data::DeviceData;
use crate::error::{Code, Error};
use std::fmt::Write;

/// How many of the largest tensors are named.
const NAMED: usize = 5;

/// The same error; if it says that memory is exhausted, with the bytes asked for, where they are known, and the largest live tensors.
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
        let _ = write!(text, "{}{} with {size}", if i == 0 { ", the largest " } else { ", " }, data.ty());
    }
    Error::new(error.code, format!("{} ({text})", error.message))
}
