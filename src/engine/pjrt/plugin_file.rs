//! File from which a plugin was loaded: its identity, and the hash of its content. Hashing 260 MB takes tens of
//! milliseconds and as much page cache, so that the hash is remembered across processes by the file's identity.

use super::remembered;
use crate::error;
use crate::error::Result;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// A file system may assign the same timestamp to two writes within this time. The hash of a file that was changed more
/// recently is not remembered.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_secs(2);

/// An open plugin file.
pub struct PluginFile {
    file: File,
    identity: Identity,
    hash: OnceLock<[u8; 32]>,
}

/// Identity of a file's content: a write changes the size or a time, a replacement changes the inode. (`ctime` cannot
/// be set by a program.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Name under which the hash is remembered.
    fn name(&self) -> String {
        let text = format!("{self:?}");
        format!("plugin-{}", &blake3::hash(text.as_bytes()).to_hex()[..32])
    }

    /// Whether the last change is old enough that another one would change the timestamps.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let last = self.modified.0.max(self.changed.0);
        now.as_secs() as i64 - last > TIMESTAMP_GRANULARITY.as_secs() as i64
    }
}

impl PluginFile {
    /// Opens the file. It stays open, so that the content that is hashed is the content that was loaded, even if an
    /// upgrade replaces the file at this path.
    pub fn open(path: &Path) -> Result<PluginFile> {
        let failed = |e: std::io::Error| error!(FailedPrecondition, "not a loadable plugin: {e}");
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(error!(FailedPrecondition, "not a loadable plugin: not a regular file"));
        }
        Ok(PluginFile { file, identity: Identity::of(&metadata), hash: OnceLock::new() })
    }

    /// Fails unless the file at `path` is still the open one, unchanged.
    pub fn check_is_at(&self, path: &Path) -> Result<()> {
        let now = std::fs::metadata(path).map(|metadata| Identity::of(&metadata));
        if now.is_ok_and(|now| now == self.identity) {
            return Ok(());
        }
        Err(error!(Unavailable, "the file was replaced or changed while it was loaded; try again"))
    }

    /// Returns the blake3 hash of the content that was loaded; DATA_LOSS if the file was overwritten since.
    pub fn hash(&self) -> Result<&[u8; 32]> {
        if let Some(hash) = self.hash.get() {
            return Ok(hash);
        }
        let name = self.identity.name();
        let known = remembered::get(&name).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let hash = match known {
            Some(hash) => hash,
            None => {
                let hash = self.hash_content()?;
                if self.identity.is_settled() {
                    remembered::put(&name, &hash);
                }
                hash
            }
        };
        Ok(self.hash.get_or_init(|| hash))
    }

    fn hash_content(&self) -> Result<[u8; 32]> {
        let failed = |e: std::io::Error| error!(Unavailable, "the plugin's file cannot be read: {e}");
        let mut hasher = blake3::Hasher::new();
        // Uses read instead of mmap: a file that is truncated meanwhile causes an error instead of SIGBUS, and nothing
        // stays mapped.
        let mut file = self.file.try_clone().map_err(failed)?;
        std::io::Seek::rewind(&mut file).map_err(failed)?;
        hasher.update_reader(&mut file).map_err(failed)?;
        let now = Identity::of(&self.file.metadata().map_err(failed)?);
        // Adding or removing a link changes only ctime, so that ctime is not compared.
        if (now.size, now.modified) != (self.identity.size, self.identity.modified) {
            return Err(error!(DataLoss, "the plugin's file was written over after it was loaded"));
        }
        Ok(hasher.finalize().into())
    }
}
