//! Compiled programs on disk, shared by processes. A file is named by the key's hash; its header says what it is, and is
//! checked before a byte of it reaches the plugin. Whatever is odd is a miss. The files hold machine code, so the folder is
//! ours alone.

use crate::error;
use crate::error::{Code, Result};
use crate::log::{Level, log};
use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

/// Changes whenever the header or the meaning of the payload does.
const MAGIC: &[u8; 16] = b"lazyxla exec v1\0";
const HEADER_BYTES: usize = MAGIC.len() + 32 + 32;

/// Least recently used files give way beyond so many bytes.
const MOST_BYTES: u64 = 4 << 30;

/// See the module's documentation.
pub struct DiskCache {
    folder: PathBuf,
    most_bytes: u64,
    /// The plugin cannot serialize, or the folder cannot be written: noticed once, and left alone from then on.
    read_only: AtomicBool,
}

impl DiskCache {
    /// The cache in this folder, which is made if it is not there. None, with a warning in the log, if it cannot be used:
    /// it cannot be made, is another user's, or is open to others.
    pub fn open(folder: &Path) -> Option<DiskCache> {
        match checked(folder) {
            Ok(()) => Some(DiskCache {
                folder: folder.to_path_buf(),
                most_bytes: MOST_BYTES,
                read_only: AtomicBool::new(false),
            }),
            Err(error) => {
                log(Level::Warning, || format!("the disk cache is not used: {error}"));
                None
            }
        }
    }

    /// The serialized executable of a key, if it is there and whole. `meaning` is what the caller knows of it besides the
    /// key (its signature), and has to agree.
    pub fn get(&self, key: &[u8; 32], meaning: &[u8; 32]) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut bytes = fs::read(&path).ok()?;
        if bytes.len() < HEADER_BYTES || bytes[..16] != *MAGIC || bytes[16..48] != *meaning {
            return None;
        }
        let payload = bytes.split_off(HEADER_BYTES);
        if bytes[48..] != *blake3::hash(&payload).as_bytes() {
            log(Level::Warning, || format!("{} is damaged; it is compiled again", path.display()));
            return None;
        }
        // When it was used last, for eviction. That it cannot be noted does not matter.
        let _ = File::options().write(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(payload)
    }

    /// Keeps a serialized executable. What goes wrong is only logged; a plugin that cannot serialize at all, or a folder that
    /// cannot be written, is noticed once.
    pub fn put(&self, key: &[u8; 32], meaning: &[u8; 32], payload: Result<Vec<u8>>) {
        if self.read_only.load(Ordering::Relaxed) {
            return;
        }
        let lasting = payload.as_ref().map_or_else(|e| e.code == Code::Unimplemented, |_| true);
        let kept = payload.and_then(|payload| self.write(&self.path(key), meaning, &payload));
        match kept {
            Ok(()) => self.evict(),
            Err(error) => {
                self.read_only.store(lasting, Ordering::Relaxed);
                log(Level::Warning, || format!("compiled programs are not kept on disk: {error}"));
            }
        }
    }

    /// Forgets a file that the plugin would not load.
    pub fn remove(&self, key: &[u8; 32]) {
        let _ = fs::remove_file(self.path(key));
    }

    fn path(&self, key: &[u8; 32]) -> PathBuf {
        self.folder.join(format!("{}.exec", blake3::Hash::from_bytes(*key).to_hex()))
    }

    /// Under a temporary name first: another process sees a whole file or none.
    fn write(&self, path: &Path, meaning: &[u8; 32], payload: &[u8]) -> Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!("{}.{number}.tmp", std::process::id()));
        let hash = blake3::hash(payload);
        let written = File::create(&temporary).and_then(|mut file| {
            [MAGIC, &meaning[..], hash.as_bytes(), payload].iter().try_for_each(|part| file.write_all(part))?;
            fs::rename(&temporary, path)
        });
        written.map_err(|e| {
            let _ = fs::remove_file(&temporary);
            error!(Unavailable, "{}: {e}", self.folder.display())
        })
    }

    /// Removes the files that were used longest ago, until the rest fits. Other processes may do the same meanwhile.
    fn evict(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok().filter(|metadata| metadata.is_file())?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        files.sort();
        for (_, size, path) in files {
            if total <= self.most_bytes {
                break;
            }
            let _ = fs::remove_file(path);
            total -= size;
        }
    }
}

/// Makes the folder, for us alone, and checks that it is so.
fn checked(folder: &Path) -> Result<()> {
    let failed = |e: std::io::Error| error!(Unavailable, "{}: {e}", folder.display());
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let metadata = fs::metadata(folder).map_err(failed)?;
    // SAFETY: geteuid only reads a number of this process, and cannot fail.
    let us = unsafe { libc::geteuid() };
    if metadata.uid() != us {
        return Err(error!(
            PermissionDenied,
            "{} belongs to user {}, not to us ({us})",
            folder.display(),
            metadata.uid()
        ));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(error!(
            PermissionDenied,
            "{} is open to others (mode {:o}); it holds machine code, and wants mode 700",
            folder.display(),
            metadata.permissions().mode() & 0o777
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str) -> DiskCache {
        let folder = std::env::temp_dir().join(format!("lxla_disk_{}_{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        DiskCache::open(&folder).unwrap()
    }

    #[test]
    fn what_is_put_is_got_and_what_is_odd_is_not() {
        let cache = cache("odd");
        let (key, meaning) = ([1; 32], [2; 32]);
        assert_eq!(cache.get(&key, &meaning), None);
        cache.put(&key, &meaning, Ok(vec![9; 100]));
        assert_eq!(cache.get(&key, &meaning), Some(vec![9; 100]));
        assert_eq!(cache.get(&key, &[3; 32]), None);
        let good = fs::read(cache.path(&key)).unwrap();
        let mut garbled = good.clone();
        garbled[HEADER_BYTES + 50] ^= 1;
        for bad in [&good[..good.len() - 1], &good[..20], &[], &garbled] {
            fs::write(cache.path(&key), bad).unwrap();
            assert_eq!(cache.get(&key, &meaning), None);
        }
        cache.put(&key, &meaning, Ok(vec![7]));
        assert_eq!(cache.get(&key, &meaning), Some(vec![7]));
        fs::remove_dir_all(&cache.folder).unwrap();
    }

    #[test]
    fn the_least_recently_used_give_way() {
        let mut cache = cache("evict");
        cache.most_bytes = 3 * (HEADER_BYTES as u64 + 10);
        for i in 0..3 {
            cache.put(&[i; 32], &[0; 32], Ok(vec![i; 10]));
            let then = SystemTime::now() - std::time::Duration::from_secs(100 - u64::from(i));
            File::options().write(true).open(cache.path(&[i; 32])).unwrap().set_modified(then).unwrap();
        }
        assert!(cache.get(&[0; 32], &[0; 32]).is_some());
        cache.put(&[3; 32], &[0; 32], Ok(vec![3; 10]));
        let there = [0, 1, 2, 3].map(|i| cache.get(&[i; 32], &[0; 32]).is_some());
        assert_eq!(there, [true, false, true, true]);
        fs::remove_dir_all(&cache.folder).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_ours_alone_is_not_used() {
        let cache = cache("open");
        fs::set_permissions(&cache.folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(DiskCache::open(&cache.folder).is_none());
        fs::remove_dir_all(&cache.folder).unwrap();
        assert!(DiskCache::open(Path::new("/proc/no/such/folder")).is_none());
    }
}
