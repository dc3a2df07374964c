//! Saves tensors to files. References are taken first, which prevents donation; then the tensors are computed by a
//! partial sync; all copies to the host are started before the first is awaited; then the file is written, either
//! immediately or by the background writer.

use super::arrays::count_read;
use super::partial::sync;
use super::saver::{self, Ticket};
use super::transfer::{Materialized, from_host, materialize};
use crate::device::{Device, Handles, Owner, TensorHandle, Value, device_of, scopes};
use crate::device_data::Hold;
use base::allocation::{probe, zeroed_bytes};
use base::error;
use base::error::{Error, Result, quoted};
use base::io::{self, About, Entry, Metadata};
use base::types::TensorType;
use engine::HostCopy;
use native::Array;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use timeline::Timeline;

/// Bytes that a save takes for each tensor besides its values and its name: a tensor of its own, and a copy in flight.
const SAVED_BYTES: usize = 1024;

/// Values to be written to a file.
struct Save {
    path: PathBuf,
    items: Vec<Item>,
    /// Metadata to write; None keeps that of the file that is replaced.
    metadata: Option<About>,
    /// Timeline that gets an event of the write; None if there are no tensors.
    timeline: Option<Arc<Timeline>>,
}

struct Item {
    name: String,
    ty: TensorType,
    content: Content,
}

/// Source of an item's bytes.
enum Content {
    /// Immutable array in host memory.
    Native(Array),
    /// Copy in flight. The copy is dropped before the hold, because no run may consume the buffer while it is being
    /// read.
    Copy { copy: Box<dyn HostCopy>, owner: Owner, _hold: Hold },
    /// Copy of the bytes, owned by the save. Holds no buffer.
    Staged(Vec<u8>),
}

impl Content {
    /// Starts a copy to the host if one is needed.
    fn start(value: Materialized) -> Result<(TensorType, Content)> {
        match value {
            Materialized::Native(array) => Ok((array.ty().clone(), Content::Native(array))),
            Materialized::Device(hold, owner) => {
                let copy = hold.data().buffer()?.clone().start_host_copy()?;
                Ok((hold.data().ty().clone(), Content::Copy { copy, owner, _hold: hold }))
            }
        }
    }

    /// Waits for the values and returns their bytes.
    fn bytes(&mut self) -> Result<&[u8]> {
        match self {
            Content::Native(array) => Ok(array.bytes()),
            Content::Staged(bytes) => Ok(bytes),
            Content::Copy { copy, owner, .. } => {
                let mut span = owner.shared.timeline().span("transfer", "from device");
                let bytes = copy.bytes()?;
                span.number("bytes", bytes.len() as u64);
                count_read(owner, bytes.len());
                Ok(bytes)
            }
        }
    }
}

/// Writes tensors to a file, and returns when it is durable. Waits first for earlier saves to the same path, because
/// they would replace this one. Without `metadata`, that of the replaced file is kept.
pub fn save(path: &Path, names: &[&str], tensors: &[TensorHandle], metadata: Option<About>) -> Result<()> {
    let save = Save::start(path, names, tensors, metadata)?;
    if let Ok(path) = std::path::absolute(path) {
        saver::wait_for(&path);
    }
    save.write(&AtomicU64::new(0))
}

/// Like [`save`], but the file is written in the background. It contains the values at the time of the call, regardless
/// of later writes to the tensors; metadata is kept from the file that is there when it is written.
pub fn save_async(
    path: &Path,
    names: &[&str],
    tensors: &[TensorHandle],
    metadata: Option<About>,
) -> Result<Arc<Ticket>> {
    // The working directory may change before the file is written.
    let path = std::path::absolute(path).map_err(|e| io::io_error(path, &e))?;
    let save = Save::start(&path, names, tensors, metadata)?;
    saver::enqueue(path, save.size_bytes(), Box::new(move |written| save.staged()?.write(written)))
}

/// Returns a new tensor with the values of a tensor in a file.
pub fn load(device: &'static Device, path: &Path, name: &str) -> Result<TensorHandle> {
    let (ty, bytes) = io::read(path, name)?;
    from_host(device, &ty, &bytes)
}

/// Returns private tensors that hold the values of the caller's tensors at one moment, so that changes made by other
/// threads meanwhile do not reach the file.
fn snapshots(tensors: &[TensorHandle], names: &[&str]) -> Result<Handles> {
    let mut taken = Handles(Vec::with_capacity(tensors.len()));
    for (i, &handle) in tensors.iter().enumerate() {
        let named = |e: Error| e.context(format_args!("tensors[{i}] ({})", quoted(names[i])));
        let mut state = device_of("tensor", handle).map_err(named)?.state();
        let slot = state.check("tensor", handle).map_err(named)?;
        if let Value::Data(data) = state.value(slot)
            && data.is_placeholder()
        {
            return Err(named(data.unbound()));
        }
        taken.0.push(state.snapshot(slot)?);
    }
    Ok(taken)
}

impl Save {
    /// Computes the tensors and starts all copies.
    fn start(path: &Path, names: &[&str], tensors: &[TensorHandle], metadata: Option<About>) -> Result<Save> {
        let bytes = names.iter().fold(names.len() * SAVED_BYTES, |sum, name| sum.saturating_add(name.len()));
        scopes::refuse("tensors: their values are needed")?;
        probe(bytes, "the tensors of a file")?;
        check_names(names)?;
        let snapshots = snapshots(tensors, names)?;
        let mut timeline = None;
        for (i, &handle) in snapshots.0.iter().enumerate() {
            let state = device_of("tensor", handle)?.state();
            timeline = Some(state.owner()?.shared.timeline().clone());
            io::check_type(names[i], &state.ty(state.check("tensor", handle)?))?;
        }
        sync(&snapshots.0)?;
        let held = snapshots.0.iter().map(|&handle| materialize(device_of("tensor", handle)?, handle));
        let held: Vec<Materialized> = held.collect::<Result<_>>()?;
        let mut items = Vec::with_capacity(held.len());
        for (name, value) in names.iter().zip(held) {
            let (ty, content) = Content::start(value)?;
            items.push(Item { name: name.to_string(), ty, content });
        }
        Ok(Save { path: path.to_path_buf(), items, metadata, timeline })
    }

    /// Copies all values to memory of the save, and releases the tensors' buffers: while a save holds them, steps
    /// cannot donate them, and writing to a disk is slower than copying.
    fn staged(mut self) -> Result<Save> {
        for item in &mut self.items {
            if let Content::Copy { .. } = &item.content {
                let staged = item.content.bytes().and_then(copied);
                item.content =
                    Content::Staged(staged.map_err(|e| e.context(format_args!("tensor {}", quoted(&item.name))))?);
            }
        }
        Ok(self)
    }

    /// Total size of all tensors in bytes.
    fn size_bytes(&self) -> u64 {
        self.items.iter().map(|item| item.ty.size_bytes() as u64).sum()
    }

    /// Writes the file. Waits for one copy after the other, and frees each once it is written.
    fn write(self, written: &AtomicU64) -> Result<()> {
        let bytes = self.size_bytes();
        let Save { path, items, metadata, timeline } = self;
        let mut span = timeline.map(|timeline| timeline.sync_span("save", "save"));
        span.iter_mut().for_each(|span| span.number("bytes", bytes));
        let (types, mut contents): (Vec<(String, TensorType)>, Vec<Option<Content>>) =
            items.into_iter().map(|item| ((item.name, item.ty), Some(item.content))).unzip();
        let entries: Vec<Entry> = types.iter().map(|(name, ty)| Entry { name, ty }).collect();
        let mut content = |index: usize, put: &mut dyn FnMut(&[u8]) -> Result<()>| {
            let mut content = contents[index].take().expect("each content is written once");
            put(content.bytes().map_err(|e| e.context(format_args!("tensor {}", quoted(&types[index].0))))?)
        };
        let metadata = metadata.as_ref().map_or(Metadata::OfReplaced, Metadata::Given);
        io::write(&path, &entries, &metadata, &mut content, written)
    }
}

fn copied(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = zeroed_bytes(bytes.len())?;
    copy.copy_from_slice(bytes);
    Ok(copy)
}

/// Names are the keys of the file: they are unique, and one name is reserved by the format.
fn check_names(names: &[&str]) -> Result<()> {
    if names.contains(&io::METADATA_NAME) {
        return Err(error!(
            InvalidArgument,
            "names: {:?} is a name that the safetensors format keeps",
            io::METADATA_NAME
        ));
    }
    let mut sorted: Vec<&str> = names.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(error!(InvalidArgument, "names: {} is given twice", quoted(pair[0]))),
        None => Ok(()),
    }
}
