//! Files that appear whole or not at all: written under a temporary name in the same folder, then renamed.
//!
//! A temporary file is made with O_EXCL under a random name, and locked (flock) for as long as it is being written. The kernel
//! drops the lock with the process, however that ends, so whoever gets the lock knows that the file is abandoned. That holds
//! across containers and on network file systems that share locks; process ids, which mean nothing there, are not used.

use super::access;
use super::temporary::{Temporary, remove_abandoned};
use std::fs::{self, File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The mode of a new file, of which the umask is taken.
const NEW_FILE_MODE: u32 = 0o666;

/// The mode of what only this user may read.
pub const PRIVATE_MODE: u32 = 0o600;

/// Symbolic links that are followed, one after the other; the kernel's own limit.
const MOST_LINKS: usize = 40;

/// Writes a file that is on the disk when this returns. Symbolic links are followed. The file keeps the access rights of the
/// one that it replaces, which must be a regular file. An error leaves that one as it was, unless it says otherwise.
pub fn replace_durably(path: &Path, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let (path, replaced) = target(path)?;
    let folder = match File::open(folder_of(&path)) {
        Ok(folder) => Some(folder),
        // Writable, but not readable.
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
    // A folder that cannot be brought to the disk is noticed while the old file is still there.
    sync_folder(folder.as_ref(), &temporary.file)?;
    temporary.rename(&path)?;
    sync_folder(folder.as_ref(), &temporary.file).map_err(|e| {
        let outcome = "the new file is in place, but its folder could not be brought to the disk, and a power cut may \
                       bring back what was there before";
        Error::new(e.kind(), format!("{outcome}: {e}"))
    })
}

/// As `replace_durably`, for files that may be lost with the machine, and that are for this user alone.
pub fn replace_privately(path: &Path, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let mut temporary = Temporary::create(path, PRIVATE_MODE)?;
    fill(&mut temporary.file)?;
    temporary.rename(path)
}

/// Opens a regular file for reading. Anything else is refused, and not even opened: opening a FIFO waits for a writer, and
/// opening a device may set it going.
pub fn open_regular(path: &Path) -> Result<(File, Metadata)> {
    check_regular(&fs::metadata(path)?)?;
    // In case something else has taken its place: this open does not wait, either.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let metadata = file.metadata()?;
    check_regular(&metadata)?;
    Ok((file, metadata))
}

/// The folder that a file is in.
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

/// The file that a path leads to, which need not be there yet, and what there is now.
fn target(path: &Path) -> Result<(PathBuf, Option<Metadata>)> {
    if path.file_name().is_none() || path.as_os_str().as_bytes().ends_with(b"/") {
        return Err(Error::new(ErrorKind::InvalidInput, "it ends with no file name"));
    }
    // The kernel follows the links first, and refuses those that it does not trust.
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
            // Links below /proc/self/fd lead to files that have no name any more.
            Err(e) if e.kind() == ErrorKind::NotFound && there && links > 0 => return Err(e),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((file, None)),
            Err(e) => return Err(e),
        }
    }
    Err(Error::from_raw_os_error(libc::ELOOP))
}

/// As fs.protected_symlinks has it: in a folder where everybody may make links, only our own and its owner's are followed.
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

/// Brings the names in a folder to the disk: by the folder, or, if that cannot be opened for reading or has no fsync, with all
/// of the file system that `file` is on.
fn sync_folder(folder: Option<&File>, file: &File) -> Result<()> {
    let all = || Ok(rustix::fs::syncfs(file)?);
    match folder.map(File::sync_all) {
        None => all(),
        Some(Err(e)) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => all(),
        Some(synced) => synced,
    }
}
