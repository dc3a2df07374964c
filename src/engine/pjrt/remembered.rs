//! Small facts that are remembered across processes: the hash of a plugin's file, and whether it passed its checks.
//! They are stored in files in `LXLA_STATE_DIR`, `$XDG_CACHE_HOME/lazyxla` or `$HOME/.cache/lazyxla`, the first that is
//! set. Nothing is remembered if `LXLA_STATE_DIR` is empty, or if the folder belongs to another user or is writable by
//! others.

use crate::io;
use crate::log::{Level, log};
use std::fs::{self, DirBuilder};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

/// First bytes of every file; changes with the format.
const MAGIC: &[u8] = b"lazyxla fact v1\n";

/// Maximum size of a file.
const MAX_BYTES: u64 = 4096;

/// Returns a fact, or None if it is unknown or its file is damaged.
pub fn get(name: &str) -> Option<Vec<u8>> {
    let path = folder()?.join(name);
    let (file, metadata) = io::open_regular(&path).ok()?;
    if metadata.uid() != io::user() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let rest = bytes.strip_prefix(MAGIC)?;
    let (hash, fact) = rest.split_at_checked(32)?;
    (hash == checksum(name, fact).as_bytes()).then(|| fact.to_vec())
}

/// Stores a fact. A failure is only logged.
pub fn put(name: &str, fact: &[u8]) {
    let Some(folder) = folder() else { return };
    let written = io::replace_privately(&folder.join(name), |file| {
        [MAGIC, checksum(name, fact).as_bytes(), fact].iter().try_for_each(|part| file.write_all(part))
    });
    if let Err(error) = written {
        log(Level::Information, || format!("{} cannot be written: {error}", folder.display()));
    }
}

/// Checksum of a fact. It includes the name, so that a copy of another fact's file is rejected.
fn checksum(name: &str, fact: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(name.as_bytes()).update(&[0]).update(fact).finalize()
}

/// Returns the folder, and creates it if necessary. None if there is no folder to which only this user can write.
fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let base = match variable("LXLA_STATE_DIR") {
        Some(folder) => folder,
        None => match variable("XDG_CACHE_HOME").filter(|folder| folder.is_absolute()) {
            Some(cache) => cache.join("lazyxla"),
            None => variable("HOME")?.join(".cache/lazyxla"),
        },
    };
    if !base.is_absolute() {
        return None;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&base).ok()?;
    let metadata = fs::metadata(&base).ok()?;
    (metadata.is_dir() && metadata.uid() == io::user() && metadata.mode() & 0o022 == 0).then_some(base)
}
