//! Chapter Files: saving and loading.

use super::abi::arguments::{out, owned_text, slice, text};
use super::abi::guard::guard;
use super::abi::references::References;
use super::device::kept_device;
use super::tensor::handles;
use super::types::*;
use crate::device::TensorHandle;
use crate::error::Result;
use crate::sync::Ticket;
use crate::{io, sync};
use std::ffi::c_char;
use std::path::Path;

/// All tickets that somebody has.
static TICKETS: References<Ticket> = References::new("ticket");

/// Names and tensors of a save.
unsafe fn listed<'a>(
    names: *const *const c_char,
    tensors: *const lxla_tensor,
    n: usize,
) -> Result<(Vec<&'a str>, Vec<TensorHandle>)> {
    // SAFETY: the caller's promise, see `capi`.
    let (names, tensors) = unsafe { (slice("names", names, n)?, handles("tensors", tensors, n)?) };
    // SAFETY: likewise.
    let names = names.iter().enumerate().map(|(i, &name)| unsafe { text(&format!("names[{i}]"), name) });
    Ok((names.collect::<Result<_>>()?, tensors))
}

/// Writes `n` tensors to a safetensors file, each under its name, and returns when the file and its name are on the disk. They
/// may be of several devices and environments, and pending: then they are computed as by `lxla_sync`. Nothing is donated,
/// whatever the options. The file appears whole or not at all: it is written under a temporary name in the same folder
/// (`.NAME.*.tmp`), and renamed. What a save of that name has left because its process was killed is removed.
/// Saves to the same path that are still under way in the background end first.
///
/// Symbolic links are followed. A file that is replaced keeps its mode and access control list and, as far as this process may
/// give files away, its owner and group (if not the group, then group and others keep the rights that both had); a new one has
/// mode 666 less the umask.
///
/// A placeholder, or what depends on one, is FAILED_PRECONDITION, and nothing is computed; a name given twice, a c128 tensor
/// (the format has none), or a path to a directory, device, FIFO or socket is INVALID_ARGUMENT; a path that cannot be written
/// gives an error that names it. Then what was there under the path is as it was, with one exception: if the folder could
/// not be brought to the disk after the file was renamed, the message says that the new file is in place. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_save(
    path: *const c_char,
    names: *const *const c_char,
    tensors: *const lxla_tensor,
    n: usize,
) -> lxla_status {
    guard("lxla_save", || {
        // SAFETY: the caller's promise, see `capi`.
        let (path, (names, tensors)) = unsafe { (text("path", path)?, listed(names, tensors, n)?) };
        sync::save(Path::new(path), &names, &tensors)
    })
}

/// As `lxla_save`, but the file is written by a background thread. It will hold the values of now: the caller may step,
/// overwrite and release the tensors at once. Blocks while more than 4 GB of earlier saves are on their way. What can be
/// checked now is; what fails later is told by `lxla_save_wait`. A process that returns from main or calls exit waits for it,
/// up to a minute. A relative path is resolved now. Gives one reference to a ticket. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_save_async(
    path: *const c_char,
    names: *const *const c_char,
    tensors: *const lxla_tensor,
    n: usize,
    out_ticket: *mut lxla_save_ticket,
) -> lxla_status {
    guard("lxla_save_async", || {
        // SAFETY: the caller's promise, see `capi`.
        let (path, (names, tensors), place) =
            unsafe { (text("path", path)?, listed(names, tensors, n)?, out("out_ticket", out_ticket)?) };
        let ticket = sync::save_async(Path::new(path), &names, &tensors)?;
        place.set(lxla_save_ticket { id: TICKETS.insert(ticket) })
    })
}

/// Whether a save has ended, well or badly: 1 or 0. Does not wait. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_save_done(ticket: lxla_save_ticket, out_done: *mut i32) -> lxla_status {
    guard("lxla_save_done", || {
        // SAFETY: the caller's promise, see `capi`.
        let place = unsafe { out("out_done", out_done)? };
        place.set(i32::from(TICKETS.get("ticket", ticket.id)?.is_done()))
    })
}

/// How many bytes of tensors were handed to the file system, and how many there are in all. Does not wait. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_save_progress(
    ticket: lxla_save_ticket,
    out_written_bytes: *mut u64,
    out_total_bytes: *mut u64,
) -> lxla_status {
    guard("lxla_save_progress", || {
        // SAFETY: the caller's promise, see `capi`.
        let (written, total) =
            unsafe { (out("out_written_bytes", out_written_bytes)?, out("out_total_bytes", out_total_bytes)?) };
        let progress = TICKETS.get("ticket", ticket.id)?.progress();
        written.set(progress.0)?;
        total.set(progress.1)
    })
}

/// Blocks until a save has ended: OK when the file is on the disk, else why it is not. May be called again. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_wait(ticket: lxla_save_ticket) -> lxla_status {
    guard("lxla_save_wait", || TICKETS.get("ticket", ticket.id)?.wait())
}

/// Adds one reference. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_ticket_retain(ticket: lxla_save_ticket) -> lxla_status {
    guard("lxla_save_ticket_retain", || TICKETS.retain(ticket.id))
}

/// Takes one reference. The save goes on without its ticket. Releasing id 0 does nothing. Any thread.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_ticket_release(ticket: lxla_save_ticket) -> lxla_status {
    guard("lxla_save_ticket_release", || TICKETS.release(ticket.id))
}

/// A new tensor with the values that a safetensors file has under `name`. NOT_FOUND if there is no such file or name,
/// DATA_LOSS if the file is damaged, RESOURCE_EXHAUSTED if the tensor does not fit the host's memory, UNIMPLEMENTED if the library
/// has not its dtype, INVALID_ARGUMENT if it has more than 64 axes or the path is that of no regular file. Reads the file's
/// header and that tensor only. Gives one reference. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_load(
    env: lxla_env,
    device: lxla_device,
    path: *const c_char,
    name: *const c_char,
    out_tensor: *mut lxla_tensor,
) -> lxla_status {
    guard("lxla_load", || {
        // SAFETY: the caller's promise, see `capi`.
        let (path, name, place) = unsafe { (text("path", path)?, text("name", name)?, out("out_tensor", out_tensor)?) };
        let target = kept_device(env, device)?;
        place.set(sync::load(target.device, Path::new(path), name)?.into())
    })
}

/// What a safetensors file has: a JSON object of names, each with "dtype" (as "f32") and "dims", in the order of their
/// content. The caller frees it with `lxla_string_free`. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lxla_file_names(path: *const c_char, out_json: *mut *mut c_char) -> lxla_status {
    guard("lxla_file_names", || {
        // SAFETY: the caller's promise, see `capi`.
        let (path, place) = unsafe { (text("path", path)?, out("out_json", out_json)?) };
        place.set(owned_text(io::names(Path::new(path))?))
    })
}
