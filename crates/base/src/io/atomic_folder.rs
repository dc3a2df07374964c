//! Files that are written at once, and atomic creation and replacement of a folder of files: the folder is filled under
//! a temporary name beside its place, then renamed, or exchanged with the folder that is there.

use super::atomic_file::{folder_of, replace_durably};
use super::safetensors::io_error;
use super::temporary::{MOST_TRIES, abandoned_folders, is_temporary, temporary_path};
use crate::error;
use crate::error::{Error, Result, quoted};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Writes a file whole or not at all, durably.
pub fn write_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_durably(path, |file| file.write_all(bytes)).map_err(|e| io_error(path, &e))
}

/// A folder that is removed on drop with its files. It is locked while it is open, so that no other process takes it for
/// abandoned.
struct Temporary<'a> {
    path: PathBuf,
    /// Names of the files that it may have.
    files: &'a [&'a str],
    folder: File,
}

impl<'a> Temporary<'a> {
    /// Creates a folder beside `target`.
    fn create(target: &Path, files: &'a [&'a str]) -> std::io::Result<Temporary<'a>> {
        for _ in 0..MOST_TRIES {
            let path = temporary_path(target)?;
            fs::create_dir(&path)?;
            // Before it is locked, another process may remove it as abandoned.
            match File::open(&path) {
                Ok(folder) => {
                    let is_free = !matches!(folder.try_lock(), Err(TryLockError::WouldBlock));
                    let temporary = Temporary { path, files, folder };
                    if is_free && fs::exists(&temporary.path)? {
                        return Ok(temporary);
                    }
                }
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => {
                    let _ = fs::remove_dir(&path);
                    return Err(e);
                }
            }
        }
        Err(std::io::Error::new(ErrorKind::AlreadyExists, "other processes remove the temporary folder"))
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        remove_folder(&self.path, self.files);
    }
}

/// Removes a folder with the files that an export writes, and with temporary files. One with others stays.
fn remove_folder(path: &Path, files: &[&str]) {
    let Ok(entries) = fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if files.iter().any(|&file| name == file) || is_temporary(&name) {
            let _ = fs::remove_file(entry.path());
        }
    }
    let _ = fs::remove_dir(path);
}

/// Moves a file or folder; with `EXCHANGE`, each gets the name of the other; with `NOREPLACE`, nothing may be there.
type Move<'a> = &'a dyn Fn(&Path, &Path, RenameFlags) -> std::io::Result<()>;

fn move_with(from: &Path, to: &Path, flags: RenameFlags) -> std::io::Result<()> {
    Ok(renameat_with(CWD, from, CWD, to, flags)?)
}

/// Whether a file system does not know the flags of a move: NFS, and some of FUSE.
fn is_unknown(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP))
}

/// Whether a move failed because something is at the place that was empty.
fn is_taken(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory)
}

/// Gives a temporary folder its place. A folder that is there gets the temporary name. Where the file system cannot
/// exchange two names, the place is empty for a moment; if the process ends then, both folders have temporary names.
fn put_in_place(temporary: &Path, path: &Path, is_there: bool, files: &[&str], moved: Move) -> std::io::Result<()> {
    let flags = if is_there { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    match moved(temporary, path, flags) {
        Err(e) if is_unknown(&e) => {}
        other => return other,
    }
    let plainly = |from: &Path, to: &Path| moved(from, to, RenameFlags::empty());
    if !is_there {
        // A folder replaces no file, and no folder with files.
        return plainly(temporary, path);
    }
    let old = temporary_path(path)?;
    let folder = File::open(path)?;
    // The lock says that this process lives; without locks, no folder counts as abandoned.
    let _ = folder.try_lock();
    plainly(path, &old)?;
    match plainly(temporary, path) {
        Ok(()) => {}
        // The folder of another process has the place now, and is newer than the old one.
        Err(e) if is_taken(&e) => {
            remove_folder(&old, files);
            return Err(e);
        }
        Err(e) => return plainly(&old, path).and(Err(e)),
    }
    remove_folder(&old, files);
    Ok(())
}

/// Creates a folder with files of these names, which `fill` writes, or replaces one that has no other files and for
/// which `is_replaceable` returns true. The folder appears whole and durably, or the path is as it was. Of several
/// threads or processes that do so at once, the last one to end wins. Temporary folders for this path that processes left
/// when they ended are removed.
pub fn replace_folder(
    path: &Path,
    files: &[&str],
    is_replaceable: impl Fn(&Path) -> bool,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let failed = |e: std::io::Error| io_error(path, &e);
    let (path, is_there) = target(path, files, &is_replaceable)?;
    let around = File::open(folder_of(&path)).map_err(failed)?;
    let temporary = Temporary::create(&path, files).map_err(failed)?;
    fill(&temporary.path)?;
    place(&temporary, &path, is_there, &is_replaceable, &move_with)?;
    around.sync_all().map_err(failed)?;
    for folder in abandoned_folders(folder_of(&path), path.file_name().unwrap_or_default()) {
        remove_folder(&folder, files);
    }
    Ok(())
}

/// Gives a filled temporary folder its place, with the rights of the folder that is there. Others may create or move
/// that folder meanwhile: the place is looked at again then.
fn place(
    temporary: &Temporary,
    path: &Path,
    mut is_there: bool,
    is_replaceable: impl Fn(&Path) -> bool,
    moved: Move,
) -> Result<()> {
    let failed = |e: std::io::Error| io_error(path, &e);
    let files = temporary.files;
    let put = |is_there: bool| {
        if is_there {
            fs::set_permissions(&temporary.path, fs::metadata(path)?.permissions())?;
        }
        temporary.folder.sync_all()?;
        put_in_place(&temporary.path, path, is_there, files, moved)
    };
    for _ in 0..MOST_TRIES {
        match put(is_there) {
            Ok(()) => return Ok(()),
            Err(e) if is_taken(&e) || (is_there && e.kind() == ErrorKind::NotFound) => {
                is_there = target(path, files, &is_replaceable)?.1;
            }
            Err(e) => return Err(failed(e)),
        }
    }
    put(is_there).map_err(failed)
}

/// Does what [`look`] does. If another thread or process puts a folder there meanwhile, whose files are gone when they are
/// looked at, looks again.
fn target(path: &Path, files: &[&str], is_replaceable: impl Fn(&Path) -> bool) -> Result<(PathBuf, bool)> {
    let folder =
        || fs::metadata(path).ok().map(|folder| (folder.dev(), folder.ino(), folder.ctime(), folder.ctime_nsec()));
    for _ in 0..MOST_TRIES {
        let before = folder();
        let found = look(path, files, &is_replaceable);
        if found.is_ok() || folder() == before {
            return found;
        }
    }
    look(path, files, is_replaceable)
}

/// Resolves links. Returns the place of the folder, and whether a folder is there; an error if it has files of other
/// names or is not replaceable, or is not a folder.
fn look(path: &Path, files: &[&str], is_replaceable: impl Fn(&Path) -> bool) -> Result<(PathBuf, bool)> {
    let failed = |e: std::io::Error| io_error(path, &e);
    if path.file_name().is_none() {
        return Err(refused(path, "it ends with no name of a folder"));
    }
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            // A path that ends with a slash has the same parts without it.
            let place: PathBuf = path.components().collect();
            return match fs::read_link(&place) {
                Ok(to) => Err(dangling(path, &to)),
                Err(_) => Ok((place, false)),
            };
        }
        Err(e) if e.kind() == ErrorKind::NotADirectory => {
            return Err(refused(path, "it exists and is not a folder; want a new path, or a folder of an export"));
        }
        Err(e) => return Err(failed(e)),
    };
    let mut is_empty = true;
    for entry in entries {
        let entry = entry.map_err(failed)?;
        is_empty = false;
        let name = entry.file_name();
        let is_known = files.iter().any(|&file| name == file) && entry.file_type().map_err(failed)?.is_file();
        if !is_known {
            let name = quoted(&name.to_string_lossy());
            return Err(error!(
                AlreadyExists,
                "path: the folder {} has {name}, which no export wrote, and is not replaced",
                quoted(&path.to_string_lossy())
            ));
        }
    }
    if !is_empty && !is_replaceable(path) {
        return Err(error!(
            AlreadyExists,
            "path: no export wrote the files of the folder {}, which is not replaced",
            quoted(&path.to_string_lossy())
        ));
    }
    match fs::canonicalize(path) {
        // It was moved since it was listed.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok((path.components().collect(), false)),
        place => Ok((place.map_err(failed)?, true)),
    }
}

/// The error of a link to nothing. It is not followed: links of a folder that others may write to are not trusted.
fn dangling(path: &Path, to: &Path) -> Error {
    let to = quoted(&to.to_string_lossy());
    refused(path, &format!("it is a link to {to}, which is not there; want a new path, or a folder of an export"))
}

fn refused(path: &Path, why: &str) -> Error {
    error!(InvalidArgument, "path: {}: {why}", quoted(&path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn folders_are_whole_or_unchanged() {
        let scratch = std::env::temp_dir().join(format!("lxla_folder_{}", std::process::id()));
        fs::create_dir(&scratch).unwrap();
        let path = scratch.join("model");
        let write = |text: &'static str| {
            move |folder: &Path| fs::write(folder.join("a"), text).map_err(|e| io_error(folder, &e))
        };
        let names = |folder: &Path| -> Vec<String> {
            let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect()
        };
        replace_folder(&path, &["a", "b"], |_| true, write("1")).unwrap();
        replace_folder(&path.join(""), &["a", "b"], |_| true, write("2")).unwrap();
        let failed = replace_folder(
            &path,
            &["a", "b"],
            |_| true,
            |folder| {
                write("3")(folder)?;
                Err(error!(DataLoss, "no content"))
            },
        );
        assert_eq!(failed.unwrap_err().code, Code::DataLoss);
        assert_eq!(fs::read(path.join("a")).unwrap(), b"2");
        assert_eq!((names(&path), names(&scratch)), (vec!["a".to_string()], vec!["model".to_string()]));
        let foreign = replace_folder(&path, &["a", "b"], |_| false, write("4")).unwrap_err();
        assert_eq!((foreign.code, fs::read(path.join("a")).unwrap()), (Code::AlreadyExists, b"2".to_vec()));
        fs::write(path.join("mine"), "x").unwrap();
        let refused = replace_folder(&path, &["a", "b"], |_| true, write("4")).unwrap_err();
        assert_eq!(refused.code, Code::AlreadyExists);
        assert!(refused.message.contains("mine"), "{refused}");
        assert_eq!(fs::read(path.join("a")).unwrap(), b"2");
        let of_file = replace_folder(&path.join("a"), &["a"], |_| true, write("5")).unwrap_err();
        assert_eq!(of_file.code, Code::InvalidArgument);
        let link = scratch.join("link");
        std::os::unix::fs::symlink("no where", &link).unwrap();
        for given in [link.clone(), link.join("")] {
            let refused = replace_folder(&given, &["a"], |_| true, write("6")).unwrap_err();
            assert_eq!(refused.code, Code::InvalidArgument);
            assert!(refused.message.contains("it is a link to \"no where\", which is not there"), "{refused}");
        }
        assert_eq!(names(&scratch).len(), 2, "nothing temporary is left");
        let missing = replace_folder(&scratch.join("no/where"), &["a"], |_| true, write("6")).unwrap_err();
        assert_eq!(missing.code, Code::NotFound);
        fs::remove_dir_all(&scratch).unwrap();
    }

    /// A file system that knows no flags, and on which the move with this number fails.
    fn plain(fails: usize) -> impl Fn(&Path, &Path, RenameFlags) -> std::io::Result<()> {
        let moves = std::cell::Cell::new(0);
        move |from, to, flags| {
            if !flags.is_empty() {
                return Err(std::io::Error::from_raw_os_error(libc::EINVAL));
            }
            moves.set(moves.get() + 1);
            if moves.get() == fails { Err(ErrorKind::StorageFull.into()) } else { fs::rename(from, to) }
        }
    }

    #[test]
    fn folders_are_replaced_where_names_cannot_be_exchanged() {
        let scratch = std::env::temp_dir().join(format!("lxla_folder_plain_{}", std::process::id()));
        fs::create_dir(&scratch).unwrap();
        let path = scratch.join("model");
        let put = |text: &str, is_there: bool, fails: usize| {
            let temporary = Temporary::create(&path, &["a"]).unwrap();
            fs::write(temporary.path.join("a"), text).unwrap();
            put_in_place(&temporary.path, &path, is_there, &["a"], &plain(fails))
        };
        let found = || (fs::read_to_string(path.join("a")).unwrap(), fs::read_dir(&scratch).unwrap().count());
        put("1", false, 0).unwrap();
        assert_eq!(found(), ("1".to_string(), 1));
        put("2", true, 0).unwrap();
        assert_eq!(found(), ("2".to_string(), 1));
        // The second move is that of the new folder: the old one comes back.
        assert_eq!(put("3", true, 2).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(found(), ("2".to_string(), 1));
        put("4", false, 0).unwrap_err();
        assert_eq!(found(), ("2".to_string(), 1));
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn of_folders_that_are_written_at_once_the_last_wins() {
        let scratch = std::env::temp_dir().join(format!("lxla_folder_at_once_{}", std::process::id()));
        fs::create_dir(&scratch).unwrap();
        let path = scratch.join("model");
        let write = |text: &'static str| {
            move |folder: &Path| fs::write(folder.join("a"), text).map_err(|e| io_error(folder, &e))
        };
        let found = || (fs::read_to_string(path.join("a")).unwrap(), fs::read_dir(&scratch).unwrap().count());
        // Whether a folder is there or not, another one takes the place after it was looked at.
        for last in ["1", "2"] {
            let during = |folder: &Path| {
                write(last)(folder)?;
                replace_folder(&path, &["a"], |_| true, write("during"))
            };
            replace_folder(&path, &["a"], |_| true, during).unwrap();
            assert_eq!(found(), (last.to_string(), 1));
        }
        // The folder is removed meanwhile, and one that is not replaced comes.
        let removed = |folder: &Path| {
            fs::remove_dir_all(&path).unwrap();
            write("3")(folder)
        };
        replace_folder(&path, &["a"], |_| true, removed).unwrap();
        assert_eq!(found(), ("3".to_string(), 1));
        let foreign = |folder: &Path| {
            fs::write(path.join("mine"), "x").unwrap();
            write("4")(folder)
        };
        fs::remove_dir_all(&path).unwrap();
        let refused = replace_folder(
            &path,
            &["a"],
            |_| true,
            |folder| {
                fs::create_dir(&path).unwrap();
                foreign(folder)
            },
        );
        assert_eq!(refused.unwrap_err().code, Code::AlreadyExists);
        assert!(path.join("mine").exists());
        fs::remove_dir_all(&path).unwrap();
        // Without exchanges of names.
        for text in ["5", "6"] {
            let temporary = Temporary::create(&path, &["a"]).unwrap();
            write(text)(&temporary.path).unwrap();
            let is_there = path.exists();
            place(&temporary, &path, !is_there, |_| true, &plain(0)).unwrap();
            drop(temporary);
            assert_eq!(found(), (text.to_string(), 1));
        }
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn a_folder_that_is_exchanged_while_it_is_looked_at_is_looked_at_again() {
        let around = std::env::temp_dir().join(format!("lxla_looked_{}", std::process::id()));
        let (path, other) = (around.join("export"), around.join("other"));
        [&path, &other].iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        [&path, &other].iter().for_each(|folder| fs::write(folder.join("a"), "x").unwrap());
        let looks = std::cell::Cell::new(0);
        // The first look is at files that are gone: another folder has the place.
        let is_replaceable = |_: &Path| {
            looks.set(looks.get() + 1);
            if looks.get() == 1 {
                move_with(&other, &path, RenameFlags::EXCHANGE).unwrap();
            }
            looks.get() > 1
        };
        assert_eq!(target(&path, &["a"], is_replaceable).unwrap(), (fs::canonicalize(&path).unwrap(), true));
        assert_eq!(looks.get(), 2);
        assert!(target(&path, &["a"], |_: &Path| false).is_err());
        fs::remove_dir_all(&around).unwrap();
    }

    #[test]
    fn temporary_folders_of_ended_processes_are_removed() {
        let scratch = std::env::temp_dir().join(format!("lxla_folder_left_{}", std::process::id()));
        fs::create_dir(&scratch).unwrap();
        let path = scratch.join("model");
        let left = temporary_path(&path).unwrap();
        fs::create_dir(&left).unwrap();
        fs::write(left.join("a"), "half").unwrap();
        let in_use = Temporary::create(&path, &["a"]).unwrap();
        let of_other = temporary_path(&scratch.join("other")).unwrap();
        fs::create_dir(&of_other).unwrap();
        let write = |folder: &Path| fs::write(folder.join("a"), "1").map_err(|e| io_error(folder, &e));
        replace_folder(&path, &["a"], |_| true, write).unwrap();
        assert!(!left.exists() && in_use.path.exists() && of_other.exists());
        drop(in_use);
        fs::remove_dir(&of_other).unwrap();
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 1);
        fs::remove_dir_all(&scratch).unwrap();
    }
}
