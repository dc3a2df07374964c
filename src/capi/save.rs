//! Chapter Files: saving and loading.

use super::abi::arguments::{switch, texts};
use super::abi::guard::{guard, guard_into};
use super::abi::options;
use super::abi::pointers::{In, List, Out, OwnedText, Text};
use super::abi::references::References;
use super::abi::types::{lxla_device, lxla_env, lxla_save_options, lxla_save_ticket, lxla_status, lxla_tensor};
use super::device::kept_device;
use super::tensor::handles;
use crate::device::TensorHandle;
use crate::sync::{self, Ticket};
use base::error;
use base::error::{Result, quoted};
use base::io::{self, About};
use std::path::Path;

/// Handles of all tickets.
static TICKETS: References<Ticket> = References::new("ticket");

/// Converts the names and tensors of a save.
fn listed<'a>(
    names: List<'a, Text<'a>>,
    tensors: List<lxla_tensor>,
    n: usize,
) -> Result<(Vec<&'a str>, Vec<TensorHandle>)> {
    // In this order: `handles` reports a number of tensors for which there is no memory before names are read.
    let tensors = handles("tensors", tensors, n)?;
    Ok((texts("names", names, n)?, tensors))
}

/// Sets all fields after `struct_size` to their defaults.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_options_init(options: Out<lxla_save_options>) -> lxla_status {
    guard("lxla_save_options_init", || options::init(options))
}

/// Copies the metadata of a save; None if that of the replaced file is to be kept.
fn metadata(options: In<lxla_save_options>) -> Result<Option<About>> {
    let given = options::read(options)?;
    let (keys, values) = ("options.metadata_keys", "options.metadata_values");
    let n = given.n_metadata;
    let keeps = switch("options.keep_metadata", given.keep_metadata)?.unwrap_or(true);
    if n == 0 && keeps {
        return Ok(None);
    }
    let mut about = About::new();
    for (key, value) in texts(keys, given.metadata_keys, n)?.into_iter().zip(texts(values, given.metadata_values, n)?) {
        if about.insert(key.to_string(), value.to_string()).is_some() {
            return Err(error!(InvalidArgument, "{keys}: {} is given twice", quoted(key)));
        }
    }
    io::check_metadata(&about).map_err(|e| e.context(values))?;
    Ok(Some(about))
}

/// Writes `n` tensors under their names to a safetensors file, and returns when the file and its directory entry are
/// on disk. The tensors may be on several devices and environments; pending ones are computed first, as by
/// `lxla_sync`. Never donates. The file is replaced atomically: it is written under a temporary name in the same
/// directory (`.NAME.*.tmp`), then renamed. Temporary files of the same name left by killed processes are removed.
/// Background saves to the same path finish first.
///
/// The file's metadata is that of the file that it replaces, if that is a safetensors file which can be read; its key
/// `lazyxla_version` has the version of this library. `lxla_save_with_options` gives other metadata.
///
/// Symbolic links are followed. A replaced file keeps its mode, its access control list, and, where this process may
/// change them, its owner and group; if the group cannot be kept, group and others keep the permissions that both
/// had. A new file has mode 666 minus the umask.
///
/// FAILED_PRECONDITION if a tensor is, or depends on, a placeholder; nothing is computed then. INVALID_ARGUMENT for a
/// duplicate name, a c128 tensor (the format lacks it), or a path of a directory, device, FIFO or socket. Other
/// errors name the path. On failure, the previous file is unchanged, except if the directory could not be synced
/// after the rename; the message then says that the new file is in place.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save(path: Text, names: List<Text>, tensors: List<lxla_tensor>, n: usize) -> lxla_status {
    guard("lxla_save", || {
        let (path, (names, tensors)) = (path.get("path")?, listed(names, tensors, n)?);
        sync::save(Path::new(path), &names, &tensors, None)
    })
}

/// As `lxla_save`, with options (NULL: the defaults). The metadata given replaces that of the previous file; with
/// `keep_metadata` off and none given, the file has only the key `lazyxla_version`, which is also added to metadata
/// that lacks it. INVALID_ARGUMENT for a duplicate key, and for metadata that does not fit into the header of the
/// format (100 MB). Read it with `lxla_file_metadata`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_with_options(
    path: Text,
    names: List<Text>,
    tensors: List<lxla_tensor>,
    n: usize,
    options: In<lxla_save_options>,
) -> lxla_status {
    guard("lxla_save_with_options", || {
        let (path, (names, tensors)) = (path.get("path")?, listed(names, tensors, n)?);
        let metadata = metadata(options)?;
        sync::save(Path::new(path), &names, &tensors, metadata)
    })
}

/// As `lxla_save`, but the file is written by a background thread, with the current values: the caller may step,
/// overwrite and release the tensors immediately. Blocks while earlier saves have more than 4 GB outstanding. Invalid
/// arguments are reported by this call, later failures by `lxla_save_wait`. On normal exit the process waits for the
/// save for up to a minute. A relative path is resolved during the call. Returns a ticket.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_async(
    path: Text,
    names: List<Text>,
    tensors: List<lxla_tensor>,
    n: usize,
    out_ticket: Out<lxla_save_ticket>,
) -> lxla_status {
    guard_into("lxla_save_async", out_ticket.named("out_ticket"), || {
        let (path, (names, tensors)) = (path.get("path")?, listed(names, tensors, n)?);
        let ticket = sync::save_async(Path::new(path), &names, &tensors, None)?;
        Ok(lxla_save_ticket { id: TICKETS.insert(ticket) })
    })
}

/// As `lxla_save_async`, with options (NULL: the defaults), as in `lxla_save_with_options`. The metadata is copied
/// during the call; metadata to keep is that of the file which is there when the background thread replaces it.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_async_with_options(
    path: Text,
    names: List<Text>,
    tensors: List<lxla_tensor>,
    n: usize,
    options: In<lxla_save_options>,
    out_ticket: Out<lxla_save_ticket>,
) -> lxla_status {
    guard_into("lxla_save_async_with_options", out_ticket.named("out_ticket"), || {
        let (path, (names, tensors)) = (path.get("path")?, listed(names, tensors, n)?);
        let metadata = metadata(options)?;
        let ticket = sync::save_async(Path::new(path), &names, &tensors, metadata)?;
        Ok(lxla_save_ticket { id: TICKETS.insert(ticket) })
    })
}

/// Returns 1 if a save has finished, successfully or not, else 0. Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_done(ticket: lxla_save_ticket, out_done: Out<i32>) -> lxla_status {
    guard_into("lxla_save_done", out_done.named("out_done"), || Ok(TICKETS.get("ticket", ticket.id)?.is_done()))
}

/// Returns the number of tensor bytes written to the file so far, and their total. Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_progress(
    ticket: lxla_save_ticket,
    out_written_bytes: Out<u64>,
    out_total_bytes: Out<u64>,
) -> lxla_status {
    let outputs = (out_written_bytes.named("out_written_bytes"), out_total_bytes.named("out_total_bytes"));
    guard_into("lxla_save_progress", outputs, || Ok(TICKETS.get("ticket", ticket.id)?.progress()))
}

/// Blocks until a save has finished. Returns OK if the file is on disk, else the error. May be called repeatedly.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_wait(ticket: lxla_save_ticket) -> lxla_status {
    guard("lxla_save_wait", || TICKETS.get("ticket", ticket.id)?.wait())
}

/// Adds one reference.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_ticket_retain(ticket: lxla_save_ticket) -> lxla_status {
    guard("lxla_save_ticket_retain", || TICKETS.retain(ticket.id))
}

/// Removes one reference. The save continues without its ticket.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_save_ticket_release(ticket: lxla_save_ticket) -> lxla_status {
    guard("lxla_save_ticket_release", || TICKETS.release(ticket.id))
}

/// Returns a new tensor with the values of the tensor `name` of a safetensors file. Reads only the header and that
/// tensor. NOT_FOUND if the file or the name does not exist, DATA_LOSS if the file is corrupted, RESOURCE_EXHAUSTED
/// if the tensor does not fit in host memory, UNIMPLEMENTED if its dtype is not supported, INVALID_ARGUMENT if it has
/// more than 64 axes or the path is not a regular file.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_load(
    env: lxla_env,
    device: lxla_device,
    path: Text,
    name: Text,
    out_tensor: Out<lxla_tensor>,
) -> lxla_status {
    guard_into("lxla_load", out_tensor.named("out_tensor"), || {
        let (path, name) = (path.get("path")?, name.get("name")?);
        let target = kept_device(env, device)?;
        sync::load(target.device, Path::new(path), name)
    })
}

/// Returns the contents of a safetensors file: a JSON object that maps each name to "dtype" (such as "f32") and
/// "dims", in the order of the data. The caller frees `out_json` with `lxla_string_free`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_file_names(path: Text, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_file_names", out_json.named("out_json"), || {
        let path = path.get("path")?;
        io::names(Path::new(path)).and_then(OwnedText::new)
    })
}

/// Returns the metadata of a safetensors file: a JSON object that maps keys to strings, in the order of the keys; `{}`
/// if there is none. Errors are those of `lxla_load`. The caller frees `out_json` with `lxla_string_free`.
#[unsafe(no_mangle)]
pub extern "C" fn lxla_file_metadata(path: Text, out_json: Out<OwnedText>) -> lxla_status {
    guard_into("lxla_file_metadata", out_json.named("out_json"), || {
        let path = path.get("path")?;
        io::metadata(Path::new(path)).and_then(|about| OwnedText::new(serde_json::json!(about).to_string()))
    })
}
