//! Access rights of a file: owner, group, mode and access control list.

use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::fs::{File, Metadata, Permissions};
use std::io::Result;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Extended attribute in which Linux stores a file's access control list (acl(5)).
const ACL: &str = "system.posix_acl_access";

/// Maximum size in bytes of an extended attribute.
const MOST_ACL_BYTES: usize = 1 << 16;

/// Effective user id of this process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Copies the access rights of the file at `path` to the new file that will replace it. Rights that cannot be
/// transferred are omitted, so that nobody gains access. If the group or the access control list cannot be kept, group
/// and others get only the rights that both had.
pub fn keep(file: &File, path: &Path, replaced: &Metadata) -> Result<()> {
    let ours = file.metadata()?;
    if ours.uid() != replaced.uid() {
        // Only root may change the owner.
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
        // A file system with fixed modes (vfat) keeps its own. They grant nobody more than before.
        Err(_) if now & !mode == 0 => Ok(()),
        set => set,
    }
}

/// Copies the access control list, or its absence. Returns whether both files have the same list now.
fn keep_list(file: &File, path: &Path) -> bool {
    let mut list = vec![0; MOST_ACL_BYTES];
    match rustix::fs::getxattr(path, ACL, &mut list[..]) {
        Ok(length) => rustix::fs::fsetxattr(file, ACL, &list[..length], XattrFlags::empty()).is_ok(),
        Err(Errno::NODATA) => match rustix::fs::fremovexattr(file, ACL) {
            // Without this, the new file would have its folder's default list.
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => true,
            Err(_) => false,
        },
        // The file system does not support access control lists.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => true,
        Err(_) => false,
    }
}
