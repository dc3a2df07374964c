//! Who may read and write a file: its owner, group, mode and access control list.

use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::fs::{File, Metadata, Permissions};
use std::io::Result;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Where Linux keeps a file's access control list (acl(5)).
const ACL: &str = "system.posix_acl_access";

/// The most bytes that an attribute has.
const MOST_ACL_BYTES: usize = 1 << 16;

/// The effective user of this process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Gives a new file the access rights of the one at `path`, which it will replace. What may not be given away is not: then
/// nobody gets more than before. If the group or the list cannot be kept, group and others have the rights that both had.
pub fn keep(file: &File, path: &Path, replaced: &Metadata) -> Result<()> {
    let ours = file.metadata()?;
    if ours.uid() != replaced.uid() {
        // Only root may.
        let _ = fchown(file, Some(replaced.uid()), None);
    }
    let keeps_group = ours.gid() == replaced.gid() || fchown(file, None, Some(replaced.gid())).is_ok();
    let keeps_list = keep_list(file, path);
    let mut mode = replaced.mode() & 0o777;
    if !keeps_group || !keeps_list {
        let both = mode & (mode >> 3) & 0o007;
        mode = (mode & 0o700) | (both << 3) | both;
    }
    let now = file.metadata()?.mode() & 0o777;
    match file.set_permissions(Permissions::from_mode(mode)) {
        // A file system that has modes of its own (vfat) keeps them. It gave nobody more than before.
        Err(_) if now & !mode == 0 => Ok(()),
        set => set,
    }
}

/// Whether the file has the same access control list now; having none is one, too.
fn keep_list(file: &File, path: &Path) -> bool {
    let mut list = vec![0; MOST_ACL_BYTES];
    match rustix::fs::getxattr(path, ACL, &mut list[..]) {
        Ok(length) => rustix::fs::fsetxattr(file, ACL, &list[..length], XattrFlags::empty()).is_ok(),
        Err(Errno::NODATA) => match rustix::fs::fremovexattr(file, ACL) {
            // A folder's default list is what a new file has otherwise.
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => true,
            Err(_) => false,
        },
        // The file system has no such lists.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => true,
        Err(_) => false,
    }
}
