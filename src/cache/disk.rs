//! Disk cache of compiled programs, shared by processes. It uses a folder of its own inside the folder that the user
//! names. A file is named after its key; its header repeats the key and a digest of the payload's signature, and is
//! checked before any of the payload reaches the plugin. A file that fails a check is a miss. The files contain machine
//! code, so that both folders must be accessible to this user only. Other files are neither counted nor removed.

use base::allocation::zeroed_bytes;
use base::error;
use base::error::{Code, Result};
use base::io;
use base::log::{Level, log};
use std::fs::{self, DirBuilder, Metadata};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// Name of the cache's folder. The name and [`MAGIC`] change whenever the header or the meaning of the payload does, so
/// that each version of the library has its own files and its own limit.
const FOLDER: &str = "lazyxla-v2";

const MAGIC: &[u8; 16] = b"lazyxla exec v2\0";

/// Size of the header: magic, key, meaning, and the hash of these and the payload.
const HEADER_BYTES: usize = MAGIC.len() + 3 * 32;

/// File name extension, after the key in hexadecimal.
const EXTENSION: &str = "exec";

/// Maximum total size; beyond it, the least recently used files are evicted.
const MOST_BYTES: u64 = 4 << 30;

/// A folder of compiled programs.
pub struct DiskCache {
    /// Absolute path: the working directory may change after the folder was checked.
    folder: PathBuf,
    most_bytes: u64,
    /// True if the plugin cannot serialize executables or the folder is not writable; nothing is written then.
    read_only: AtomicBool,
}

impl DiskCache {
    /// Opens the cache in this folder, and creates the folder if necessary. Returns None and logs a warning if the
    /// folder cannot be created, belongs to another user, or is accessible to others.
    pub fn open(folder: &Path) -> Option<DiskCache> {
        match checked(folder) {
            Ok(folder) => Some(DiskCache { folder, most_bytes: MOST_BYTES, read_only: AtomicBool::new(false) }),
            Err(error) => {
                log(Level::Warning, || format!("the disk cache is not used: {error}"));
                None
            }
        }
    }

    /// Absolute path of the cache's own folder. The cache ignores other files and folders in it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the serialized executable of a key if it exists and is intact. `meaning` is a digest of what the caller
    /// expects of the executable (its signature), and must match.
    pub fn get(&self, key: &[u8; 32], meaning: &[u8; 32]) -> Option<Vec<u8>> {
        let path = self.path(key);
        let (mut file, about) = io::open_regular(&path).ok()?;
        // The folder was checked when it was opened, but a user who can rename its parent folders may have replaced it
        // since.
        if let Err(error) = check_ours(&path, &about) {
            log(Level::Warning, || format!("a compiled program on disk is not loaded: {error}"));
            return None;
        }
        let size = about.len().checked_sub(HEADER_BYTES as u64).filter(|&size| size <= self.most_bytes)?;
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header).ok()?;
        let (told, hash) = header.split_at(HEADER_BYTES - 32);
        if told != described(key, meaning) {
            return None;
        }
        let mut payload = zeroed_bytes(size as usize).ok()?;
        file.read_exact(&mut payload).ok()?;
        if hash != hash_of(told, &payload).as_bytes() {
            log(Level::Warning, || format!("{} is damaged; it is compiled again", path.display()));
            return None;
        }
        // The modification time records the last use, for eviction. If it cannot be set, only eviction is less exact.
        let _ = file.set_modified(SystemTime::now());
        Some(payload)
    }

    /// Stores a serialized executable. Errors are only logged. A plugin that cannot serialize at all, or a folder that
    /// cannot be written to, disables further writes.
    pub fn put(&self, key: &[u8; 32], meaning: &[u8; 32], payload: Result<Vec<u8>>) {
        if self.read_only.load(Ordering::Relaxed) {
            return;
        }
        let lasting = payload.as_ref().map_or_else(|e| e.code == Code::Unimplemented, |_| true);
        let kept = payload.and_then(|payload| self.write(key, meaning, &payload));
        match kept {
            Ok(()) => self.evict(),
            Err(error) => {
                self.read_only.store(lasting, Ordering::Relaxed);
                log(Level::Warning, || format!("compiled programs are not kept on disk: {error}"));
            }
        }
    }

    /// Removes a file that the plugin failed to load.
    pub fn remove(&self, key: &[u8; 32]) {
        let _ = fs::remove_file(self.path(key));
    }

    fn path(&self, key: &[u8; 32]) -> PathBuf {
        self.folder.join(format!("{}.{EXTENSION}", blake3::Hash::from_bytes(*key).to_hex()))
    }

    /// Writes atomically: another process sees the whole file or none.
    fn write(&self, key: &[u8; 32], meaning: &[u8; 32], payload: &[u8]) -> Result<()> {
        if payload.len() as u64 > self.most_bytes {
            return Ok(());
        }
        let told = described(key, meaning);
        let hash = hash_of(&told, payload);
        let parts = [&told[..], hash.as_bytes(), payload];
        let written =
            io::replace_privately(&self.path(key), |file| parts.iter().try_for_each(|part| file.write_all(part)));
        written.map_err(|e| error!(Unavailable, "{}: {e}", self.folder.display()))
    }

    /// Removes the least recently used files until the rest fits the limit. Other processes may evict or read at the
    /// same time; a process that has a file open can still read it to the end.
    fn evict(&self) {
        io::remove_abandoned(&self.folder, None);
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let path = entry.ok().map(|entry| entry.path()).filter(|path| is_named_by_key(path))?;
                let metadata = fs::symlink_metadata(&path).ok().filter(Metadata::is_file)?;
                Some((metadata.modified().ok()?, metadata.len(), path))
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

/// Returns the header without its hash: magic, key, meaning.
fn described(key: &[u8; 32], meaning: &[u8; 32]) -> [u8; HEADER_BYTES - 32] {
    let mut told = [0; HEADER_BYTES - 32];
    told[..16].copy_from_slice(MAGIC);
    told[16..48].copy_from_slice(key);
    told[48..].copy_from_slice(meaning);
    told
}

fn hash_of(told: &[u8], payload: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(told).update(payload).finalize()
}

/// Whether a file's name has the form made by [`DiskCache::path`].
fn is_named_by_key(path: &Path) -> bool {
    let key = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    path.extension().is_some_and(|extension| extension == EXTENSION) && blake3::Hash::from_hex(key).is_ok()
}

/// Returns the absolute path of the cache's folder in `folder`. Creates both folders, accessible to this user only, and
/// checks that they are.
fn checked(folder: &Path) -> Result<PathBuf> {
    let failed = |e: std::io::Error| error!(Unavailable, "{}: {e}", folder.display());
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let folder = fs::canonicalize(folder).map_err(failed)?;
    check_ours(&folder, &fs::metadata(&folder).map_err(failed)?)?;
    let own = folder.join(FOLDER);
    let failed = |e: std::io::Error| error!(Unavailable, "{}: {e}", own.display());
    DirBuilder::new().recursive(true).mode(0o700).create(&own).map_err(failed)?;
    let metadata = fs::symlink_metadata(&own).map_err(failed)?;
    if !metadata.is_dir() {
        return Err(error!(FailedPrecondition, "{} is a link; want a folder", own.display()));
    }
    check_ours(&own, &metadata)?;
    Ok(own)
}

/// Fails unless the file or folder belongs to this user and is inaccessible to others.
fn check_ours(path: &Path, metadata: &Metadata) -> Result<()> {
    let (user, us, mode) = (metadata.uid(), io::user(), metadata.permissions().mode() & 0o777);
    if user != us {
        return Err(error!(
            PermissionDenied,
            "{} belongs to user {user}; this process runs as user {us}",
            path.display()
        ));
    }
    if mode & 0o077 != 0 {
        return Err(error!(
            PermissionDenied,
            "{} is accessible to others (mode {mode:o}); the cache holds machine code, want mode 700",
            path.display()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::Duration;

    /// A temporary folder that is removed on drop.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> (Scratch, DiskCache) {
            let folder = std::env::temp_dir().join(format!("lxla_disk_{}_{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            let cache = DiskCache::open(&folder).unwrap();
            (Scratch(folder), cache)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn put(cache: &DiskCache, key: u8, age: u64) {
        cache.put(&[key; 32], &[0; 32], Ok(vec![key; 10]));
        let then = SystemTime::now() - Duration::from_secs(age);
        File::options().write(true).open(cache.path(&[key; 32])).unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn what_is_put_is_got_and_what_is_odd_is_not() {
        let (_scratch, cache) = Scratch::new("odd");
        let (key, meaning) = ([1; 32], [2; 32]);
        assert_eq!(cache.get(&key, &meaning), None);
        cache.put(&key, &meaning, Ok(vec![9; 100]));
        assert_eq!(cache.get(&key, &meaning), Some(vec![9; 100]));
        assert_eq!(cache.get(&key, &[3; 32]), None);
        let good = fs::read(cache.path(&key)).unwrap();
        for at in 0..good.len() {
            let mut garbled = good.clone();
            garbled[at] ^= 1;
            fs::write(cache.path(&key), garbled).unwrap();
            assert_eq!(cache.get(&key, &meaning), None, "byte {at}");
        }
        let longer = [&good[..], &[0]].concat();
        for bad in [&good[..good.len() - 1], &good[..20], &[], &longer] {
            fs::write(cache.path(&key), bad).unwrap();
            assert_eq!(cache.get(&key, &meaning), None);
        }
        cache.put(&key, &meaning, Ok(vec![7]));
        assert_eq!(cache.get(&key, &meaning), Some(vec![7]));
    }

    #[test]
    fn a_file_under_another_name_is_a_miss() {
        let (_scratch, cache) = Scratch::new("renamed");
        cache.put(&[1; 32], &[0; 32], Ok(vec![1; 10]));
        fs::copy(cache.path(&[1; 32]), cache.path(&[2; 32])).unwrap();
        assert_eq!(cache.get(&[2; 32], &[0; 32]), None);
        assert_eq!(cache.get(&[1; 32], &[0; 32]), Some(vec![1; 10]));
    }

    #[test]
    fn the_least_recently_used_give_way() {
        let (_scratch, mut cache) = Scratch::new("evict");
        cache.most_bytes = 3 * (HEADER_BYTES as u64 + 10);
        (0..3).for_each(|key| put(&cache, key, 100 - u64::from(key)));
        assert!(cache.get(&[0; 32], &[0; 32]).is_some());
        cache.put(&[3; 32], &[0; 32], Ok(vec![3; 10]));
        let there = [0, 1, 2, 3].map(|i| cache.get(&[i; 32], &[0; 32]).is_some());
        assert_eq!(there, [true, false, true, true]);
        cache.put(&[4; 32], &[0; 32], Ok(vec![4; 1 << 20]));
        assert!(cache.get(&[4; 32], &[0; 32]).is_none() && cache.get(&[3; 32], &[0; 32]).is_some());
    }

    #[test]
    fn files_of_others_are_neither_counted_nor_removed() {
        let (scratch, mut cache) = Scratch::new("others");
        cache.most_bytes = 2 * (HEADER_BYTES as u64 + 10);
        let named = |name: &str| [scratch.0.join(name), cache.folder.join(name)];
        let theirs: Vec<PathBuf> =
            ["model.safetensors", "a.exec", ".x.tmp"].iter().flat_map(|name| named(name)).collect();
        for path in &theirs {
            fs::write(path, vec![0; 1000]).unwrap();
            File::options().write(true).open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        (0..4).for_each(|key| put(&cache, key, 100 - u64::from(key)));
        assert_eq!([0, 1, 2, 3].map(|i| cache.path(&[i; 32]).exists()), [false, false, true, true]);
        assert!(theirs.iter().all(|path| fs::read(path).unwrap().len() == 1000));
    }

    #[test]
    fn a_folder_that_is_not_ours_alone_is_not_used() {
        let (scratch, cache) = Scratch::new("open");
        let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for folder in [&scratch.0, &cache.folder] {
            set_mode(folder, 0o750);
            assert!(DiskCache::open(&scratch.0).is_none());
            set_mode(folder, 0o700);
            assert!(DiskCache::open(&scratch.0).is_some());
        }
        // A file to which others can write.
        cache.put(&[1; 32], &[0; 32], Ok(vec![1]));
        assert!(cache.get(&[1; 32], &[0; 32]).is_some());
        set_mode(&cache.path(&[1; 32]), 0o660);
        assert!(cache.get(&[1; 32], &[0; 32]).is_none());
        fs::remove_dir_all(&cache.folder).unwrap();
        std::os::unix::fs::symlink("/tmp", &cache.folder).unwrap();
        assert!(DiskCache::open(&scratch.0).is_none());
        assert!(DiskCache::open(Path::new("/proc/no/such/folder")).is_none());
    }
}
