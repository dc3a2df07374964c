//! Temporary files: unique names, and removal of files whose process has ended.
//!
//! A name is `.model.safetensors.TAG.MACHINE.RANDOM.tmp`: the beginning of the target's name, the hash of the whole
//! name, the hash of this machine's boot id, and a random number. It is short enough for every file system.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Maximum number of bytes of the target's name in a temporary name.
const SHOWN_BYTES: usize = 80;

/// Number of hexadecimal digits of the last three parts of a name.
const TAG_DIGITS: usize = 16;
const MACHINE_DIGITS: usize = 8;
const RANDOM_DIGITS: usize = 16;

const SUFFIX: &str = ".tmp";

/// Maximum number of names tried.
pub(super) const MOST_TRIES: usize = 16;

/// Locks of other machines may be invisible here (NFS mounted with `nolock`), so that their files count as abandoned
/// only if they have not been written to for this long. After a restart, a machine counts as another one.
const OTHER_MACHINES_WAIT: Duration = Duration::from_secs(3600);

/// A new file, locked while it is open, that is removed on drop unless it was renamed.
pub struct Temporary {
    /// File to be written.
    pub file: File,
    path: Option<PathBuf>,
}

impl Temporary {
    /// Creates a file with this mode (before the umask) in the folder of `target`.
    pub fn create(target: &Path, mode: u32) -> Result<Temporary> {
        for _ in 0..MOST_TRIES {
            let path = temporary_path(target)?;
            match File::options().write(true).create_new(true).mode(mode).open(&path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(e),
                Ok(file) => {
                    let temporary = Temporary { file, path: Some(path) };
                    if temporary.lock()? {
                        return Ok(temporary);
                    }
                }
            }
        }
        Err(Error::new(ErrorKind::AlreadyExists, "no temporary name is free"))
    }

    /// Locks the file. Returns whether it still exists under its name: before it was locked, another process may have
    /// removed it as abandoned.
    fn lock(&self) -> Result<bool> {
        match self.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            // The file system does not support locks. No process can get one, so that no file is ever considered
            // abandoned.
            Err(TryLockError::Error(_)) => return Ok(true),
        }
        let path = self.path.as_deref().expect("it was not renamed yet");
        match fs::symlink_metadata(path) {
            Ok(found) => Ok(found.ino() == self.file.metadata()?.ino()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Renames the file to `target`, which is replaced if it exists.
    pub fn rename(&mut self, target: &Path) -> Result<()> {
        if let Some(path) = &self.path {
            fs::rename(path, target)?;
            self.path = None;
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns a temporary path in the folder of `target`.
pub fn temporary_path(target: &Path) -> Result<PathBuf> {
    let mut random = [0; RANDOM_DIGITS / 2];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let stem = stem(target.file_name().unwrap_or_default());
    Ok(target.with_file_name(format!("{stem}{}.{:016x}{SUFFIX}", machine(), u64::from_le_bytes(random))))
}

/// Removes temporary files in a folder whose process has ended: those for `target`, or all. A folder that cannot be
/// read, or a file that cannot be removed, is ignored.
pub fn remove_abandoned(folder: &Path, target: Option<&OsStr>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let stem = target.map(stem);
    for entry in entries.flatten() {
        let name = entry.file_name();
        let wanted = stem.as_deref().is_none_or(|stem| name.as_bytes().starts_with(stem.as_bytes()));
        if wanted && is_temporary(&name) {
            let _ = remove_if_abandoned(&folder.join(&name), &name);
        }
    }
}

fn remove_if_abandoned(path: &Path, name: &OsString) -> Result<()> {
    let open = |write: bool| {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        File::options().read(true).write(write).custom_flags(flags).open(path)
    };
    // NFS requires write access for an exclusive lock; a file that cannot be opened for writing is locked without it.
    let file = open(true).or_else(|_| open(false))?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || !may_be_abandoned(&metadata, name)? {
        return Ok(());
    }
    // Removed while locked, so that a process that has just created the file notices: see `Temporary::lock`.
    match file.try_lock() {
        Ok(()) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

/// Temporary folders in `around` for `target` that no process has locked. Its own machine's only, and older ones.
pub fn abandoned_folders(around: &Path, target: &OsStr) -> Vec<PathBuf> {
    let stem = stem(target);
    let is_abandoned = |path: &Path, name: &OsStr| -> Result<bool> {
        let flags = libc::O_NOFOLLOW | libc::O_DIRECTORY;
        let folder = File::options().read(true).custom_flags(flags).open(path)?;
        Ok(may_be_abandoned(&folder.metadata()?, name)? && folder.try_lock().is_ok())
    };
    let entries = fs::read_dir(around).into_iter().flatten().flatten().map(|entry| (entry.path(), entry.file_name()));
    let ours = entries.filter(|(_, name)| name.as_bytes().starts_with(stem.as_bytes()) && is_temporary(name));
    ours.filter(|(path, name)| is_abandoned(path, name).unwrap_or(false)).map(|(path, _)| path).collect()
}

/// Whether the lock of a temporary file or folder says that it is abandoned: one of this machine, or an old one.
fn may_be_abandoned(metadata: &Metadata, name: &OsStr) -> Result<bool> {
    let is_ours = machine_of(name) == Some(machine());
    Ok(is_ours || metadata.modified()?.elapsed().is_ok_and(|age| age > OTHER_MACHINES_WAIT))
}

/// Whether a name has the form of a temporary name.
pub fn is_temporary(name: &OsStr) -> bool {
    machine_of(name).is_some()
}

/// The part of a temporary name that identifies its machine; None if it is not a temporary name.
fn machine_of(name: &OsStr) -> Option<&str> {
    let mut parts = name.to_str()?.strip_prefix('.')?.strip_suffix(SUFFIX)?.rsplit('.');
    let mut hexadecimal = |digits: usize| {
        parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    hexadecimal(RANDOM_DIGITS)?;
    let machine = hexadecimal(MACHINE_DIGITS)?;
    hexadecimal(TAG_DIGITS)?;
    Some(machine)
}

/// Common prefix of all temporary names for `target`.
fn stem(target: &OsStr) -> String {
    let shown = target.to_string_lossy();
    let mut end = shown.len().min(SHOWN_BYTES);
    while !shown.is_char_boundary(end) {
        end -= 1;
    }
    format!(".{}.{}.", &shown[..end], digits(target.as_bytes(), TAG_DIGITS))
}

/// Identifies this machine since its last boot. All containers on it share the value.
fn machine() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(|| digits(&fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default(), MACHINE_DIGITS))
}

fn digits(bytes: &[u8], count: usize) -> String {
    blake3::hash(bytes).to_hex()[..count].to_string()
}
