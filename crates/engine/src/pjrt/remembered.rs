//! Small facts that are remembered across processes: the hash of a plugin's file, and whether it passed its checks.
//! Each is a file in a folder to which only this user can write: whoever writes a fact decides which executables are
//! loaded, and which plugins are used unchecked.

use base::io;
use base::log::{Level, log};
use base::variables;
use std::fs::{self, DirBuilder};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// First bytes of every file; changes with the format.
const MAGIC: &[u8] = b"lazyxla fact v1\n";

/// Maximum size of a file.
const MAX_BYTES: u64 = 4096;

/// Name of the folder of facts in the folder of a disk cache. The cache ignores it.
const FOLDER_IN_CACHE: &str = ".facts";

/// Bits of a mode with which others may write.
const OTHERS_WRITE: u32 = 0o022;

/// A folder of facts.
pub struct Facts(PathBuf);

impl Facts {
    /// Facts in `LXLA_STATE_DIR`, `$XDG_CACHE_HOME/lazyxla` or `$HOME/.cache/lazyxla`, the first that is set. Creates
    /// the folder if necessary. None if `LXLA_STATE_DIR` is empty, or if others could write to the folder.
    pub fn of_user() -> Option<Facts> {
        let variable = |name: &str| variables::variable(name).map(PathBuf::from);
        let folder = match variable("LXLA_STATE_DIR") {
            Some(folder) => folder,
            None => match variable("XDG_CACHE_HOME").filter(|folder| folder.is_absolute()) {
                Some(cache) => cache.join("lazyxla"),
                None => variable("HOME")?.join(".cache/lazyxla"),
            },
        };
        Facts::in_folder(folder)
    }

    /// Facts in the folder of a disk cache.
    pub fn in_cache(cache: &Path) -> Option<Facts> {
        Facts::in_folder(cache.join(FOLDER_IN_CACHE))
    }

    /// Facts in this folder, which is created if necessary. None if the path is relative, or if the folder belongs to
    /// another user or is writable by others.
    fn in_folder(folder: PathBuf) -> Option<Facts> {
        if !folder.is_absolute() {
            return None;
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        let metadata = fs::metadata(&folder).ok()?;
        (metadata.is_dir() && is_ours(&metadata)).then_some(Facts(folder))
    }

    /// Returns a fact, or None if it is unknown or its file is damaged.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        let (file, metadata) = io::open_regular(&self.0.join(name)).ok()?;
        if !is_ours(&metadata) {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        let rest = bytes.strip_prefix(MAGIC)?;
        let (hash, fact) = rest.split_at_checked(32)?;
        (hash == checksum(name, fact).as_bytes()).then(|| fact.to_vec())
    }

    /// Stores a fact. A failure is only logged.
    pub fn put(&self, name: &str, fact: &[u8]) {
        let written = io::replace_privately(&self.0.join(name), |file| {
            [MAGIC, checksum(name, fact).as_bytes(), fact].iter().try_for_each(|part| file.write_all(part))
        });
        if let Err(error) = written {
            log(Level::Information, || format!("{} cannot be written: {error}", self.0.display()));
        }
    }
}

/// Whether only this user can write to a file or folder.
fn is_ours(metadata: &fs::Metadata) -> bool {
    metadata.uid() == io::user() && metadata.mode() & OTHERS_WRITE == 0
}

/// Checksum of a fact. It includes the name, so that a copy of another fact's file is rejected.
fn checksum(name: &str, fact: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(name.as_bytes()).update(&[0]).update(fact).finalize()
}

#[cfg(test)]
mod tests {
    use super::super::scratch::Scratch;
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn facts_come_back_and_damaged_files_are_none() {
        let scratch = Scratch::new("facts");
        let facts = Facts::in_cache(&scratch.0).unwrap();
        assert_eq!(facts.get("one"), None);
        facts.put("one", b"fact");
        assert_eq!(Facts::in_cache(&scratch.0).unwrap().get("one"), Some(b"fact".to_vec()));
        let path = scratch.0.join(FOLDER_IN_CACHE).join("one");
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut garbled = good.clone();
            garbled[at] ^= 1;
            fs::write(&path, garbled).unwrap();
            assert_eq!(facts.get("one"), None, "byte {at}");
        }
        let longer = [&good[..], &[0]].concat();
        for bad in [&good[..good.len() - 1], &good[..20], &[], &longer] {
            fs::write(&path, bad).unwrap();
            assert_eq!(facts.get("one"), None);
        }
        facts.put("one", b"another");
        assert_eq!(facts.get("one"), Some(b"another".to_vec()));
        fs::copy(&path, path.with_file_name("two")).unwrap();
        assert_eq!(facts.get("two"), None);
    }

    #[test]
    fn what_others_can_write_is_not_believed() {
        let scratch = Scratch::new("facts_of_others");
        let facts = Facts::in_cache(&scratch.0).unwrap();
        facts.put("one", b"fact");
        let folder = scratch.0.join(FOLDER_IN_CACHE);
        set_mode(&folder.join("one"), 0o620);
        assert_eq!(facts.get("one"), None);
        set_mode(&folder.join("one"), 0o600);
        assert_eq!(facts.get("one"), Some(b"fact".to_vec()));
        set_mode(&folder, 0o702);
        assert!(Facts::in_cache(&scratch.0).is_none());
        assert!(Facts::in_folder(PathBuf::new()).is_none());
        assert!(Facts::in_folder(PathBuf::from("relative")).is_none());
    }
}
