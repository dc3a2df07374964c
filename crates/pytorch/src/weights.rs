//! Weights that are raw storages, with a configuration in JSON (PyTorch 2.9 and newer).

use crate::archive::{Archive, entry_of};
use crate::error::{Result, shown};
use crate::json;
use crate::pickle;
use crate::schema::layout;
use crate::stored::{Stored, add};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Configuration {
    config: BTreeMap<String, Payload>,
}

#[derive(Deserialize)]
struct Payload {
    path_name: String,
    #[serde(default)]
    use_pickle: bool,
    #[serde(default)]
    tensor_meta: Value,
}

/// Reads the configuration `entry` of tensors whose storages are entries of `folder`. Adds the tensors to `found`.
pub fn read(archive: &Archive, entry: &str, folder: &str, found: &mut BTreeMap<String, Stored>) -> Result<()> {
    let config: Configuration = json::read(archive.bytes(entry)?).map_err(|e| e.at(entry_of(entry)))?;
    for (name, payload) in config.config {
        let stored = stored(archive, folder, payload);
        add(found, &name, stored.map_err(|e| e.at(format!("tensor {}", shown(&name))))?)?;
    }
    Ok(())
}

fn stored(archive: &Archive, folder: &str, payload: Payload) -> Result<Option<Stored>> {
    let Payload { path_name, use_pickle, tensor_meta } = payload;
    let path = format!("{folder}/{path_name}");
    // An object of a class of PyTorch's user, which a program refers to by another kind of input.
    if tensor_meta.is_null() && path_name.starts_with("custom_obj_") {
        return Ok(None);
    }
    let entry = archive.entry(&path)?;
    if use_pickle {
        return pickle::tensor(archive, entry).map(Some);
    }
    let layout = layout(tensor_meta)?;
    let stored = Stored {
        element: layout.element,
        sizes: layout.sizes,
        strides: layout.strides,
        offset: layout.offset,
        storage: entry.range.clone(),
        crc: entry.crc,
        requires_grad: layout.requires_grad,
    };
    stored.checked(archive.file().len()).map(Some)
}
