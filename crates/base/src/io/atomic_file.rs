//! Atomic file replacement: files are written under a temporary name in the same folder, then renamed.
//!
//! A temporary file is created with O_EXCL under a random name, and locked (flock) while it is being written. The
//! kernel releases the lock when the process ends, for whatever reason, so that a file whose lock can be taken is
//! abandoned. This works across containers and on network file systems that share locks, where process ids are
//! meaningless.

use super::access;
use super::temporary::{Temporary, remove_abandoned};
use std::fs::{self, File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Mode of a new file, before the umask.
const NEW_FILE_MODE: u32 = 0o666;

/// Mode of files that only this user may read.
pub const PRIVATE_MODE: u32 = 0o600;

/// Maximum number of symbolic links that are followed; the kernel's own limit.
const MOST_LINKS: usize = 40;

/// Replaces a file atomically and durably. Symbolic links are followed. The new file has the access rights of the file
/// that it replaces, which must be a regular file. On error, the old file is unchanged unless the error says otherwise.
pub fn replace_durably(path: &Path, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let (path, replaced) = target(path)?;
    let folder = match File::open(folder_of(&path)) {
        Ok(folder) => Some(folder),
        // The folder may be writable without being readable.
        Err(e) if e.kind() == ErrorKind::PermissionDenied => None,
        Err(e) => return Err(e),
    };
    remove_abandoned(folder_of(&path), path.file_name());
    let mode = if replaced.is_some() { PRIVATE_MODE } else { NEW_FILE_MODE };
    let mut temporary = Temporary::create(&path, mode)?;
    fill(&mut temporary.file)?;
    if let Some(replaced) = &replaced {
        access::keep(&temporary.file, &path, replaced)?;
    }
    temporary.file.sync_all()?;
    // An unsyncable folder is detected here, while the old file still exists.
    sync_folder(folder.as_ref(), &temporary.file)?;
    temporary.rename(&path)?;
    sync_folder(folder.as_ref(), &temporary.file).map_err(|e| {
        let outcome = "the new file is in place, but its folder could not be brought to the disk, and a power cut may \
                       bring back what was there before";
        Error::new(e.kind(), format!("{outcome}: {e}"))
    })
}

/// Like `replace_durably`, but without durability, and the new file is accessible to this user only.
pub fn replace_privately(path: &Path, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let mut temporary = Temporary::create(path, PRIVATE_MODE)?;
    fill(&mut temporary.file)?;
    temporary.rename(path)
}

/// Opens a regular file for reading. Other kinds of files are rejected without opening them: opening a FIFO waits for a
/// writer, and opening a device may have side effects.
pub fn open_regular(path: &Path) -> Result<(File, Metadata)> {
    check_regular(&fs::metadata(path)?)?;
    // The file may have been replaced since the check; with these flags, open does not block on a FIFO.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let metadata = file.metadata()?;
    check_regular(&metadata)?;
    Ok((file, metadata))
}

/// Folder that contains a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn check_regular(metadata: &Metadata) -> Result<()> {
    let kind = metadata.file_type();
    let kind = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a directory",
        _ if kind.is_fifo() => "a FIFO",
        _ if kind.is_socket() => "a socket",
        _ if kind.is_block_device() || kind.is_char_device() => "a device",
        _ => "of an unknown kind",
    };
    Err(Error::new(ErrorKind::InvalidInput, format!("it is {kind}; want a regular file")))
}

/// Resolves the links of a path. Returns the target, which need not exist yet, and its metadata if it exists.
fn target(path: &Path) -> Result<(PathBuf, Option<Metadata>)> {
    if path.file_name().is_none() || path.as_os_str().as_bytes().ends_with(b"/") {
        return Err(Error::new(ErrorKind::InvalidInput, "it ends with no file name"));
    }
    // The kernel follows the links first, and rejects those that it does not trust.
    let there = match fs::metadata(path) {
        Ok(metadata) => check_regular(&metadata).map(|()| true)?,
        Err(e) if e.kind() == ErrorKind::NotFound => false,
        Err(e) => return Err(e),
    };
    let mut file = path.to_path_buf();
    for links in 0..MOST_LINKS {
        match fs::symlink_metadata(&file) {
            Ok(found) if found.is_symlink() => {
                check_trusted(&found, folder_of(&file))?;
                file = folder_of(&file).join(fs::read_link(&file)?);
            }
            Ok(found) => return check_regular(&found).map(|()| (file, Some(found))),
            // Links in /proc/self/fd may lead to files that no longer have a name.
            Err(e) if e.kind() == ErrorKind::NotFound && there && links > 0 => return Err(e),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((file, None)),
            Err(e) => return Err(e),
        }
    }
    Err(Error::from_raw_os_error(libc::ELOOP))
}

/// Applies the rule of fs.protected_symlinks: in a folder that is sticky and writable by all, only links of this user
/// and of the folder's owner are followed.
fn check_trusted(link: &Metadata, folder: &Path) -> Result<()> {
    const ANYBODYS: u32 = 0o1002;
    let folder = fs::metadata(folder)?;
    let trusted = [access::user(), folder.uid()].contains(&link.uid());
    if folder.permissions().mode() & ANYBODYS == ANYBODYS && !trusted {
        return Err(Error::new(
            ErrorKind::PermissionDenied,
            "it is another user's link in a folder that is open to all",
        ));
    }
    Ok(())
}

/// Makes the names in a folder durable: by fsync of the folder, or, if it cannot be opened for reading or does not
/// support fsync, by syncing the file system of `file`.
fn sync_folder(folder: Option<&File>, file: &File) -> Result<()> {
    let all = || Ok(rustix::fs::syncfs(file)?);
    match folder.map(File::sync_all) {
        None => all(),
        Some(Err(e)) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => all(),
        Some(synced) => synced,
    }
}
