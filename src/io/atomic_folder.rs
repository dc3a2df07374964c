//! Files that are written at once, and atomic creation and replacement of a folder of files: the folder is filled under
//! a temporary name beside its place, then renamed, or exchanged with the folder that is there.

use super::atomic_file::{folder_of, replace_durably};
use super::safetensors::io_error;
use super::temporary::temporary_path;
use crate::error;
use crate::error::{Error, Result, quoted};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes a file whole or not at all, durably.
pub fn write_durably(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_durably(path, |file| file.write_all(bytes)).map_err(|e| io_error(path, &e))
}

/// A folder that is removed on drop with its files.
struct Temporary<'a> {
    path: PathBuf,
    /// Names of the files that it may have.
    files: &'a [&'a str],
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        for file in self.files {
            let _ = fs::remove_file(self.path.join(file));
        }
        let _ = fs::remove_dir(&self.path);
    }
}

/// Creates a folder with files of these names, which `fill` writes, or replaces one that has no other files. The folder
/// appears whole and durably, or the path is as it was.
pub fn replace_folder(path: &Path, files: &[&str], fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let failed = |e: std::io::Error| io_error(path, &e);
    let (path, is_there) = target(path, files)?;
    let around = File::open(folder_of(&path)).map_err(failed)?;
    let temporary = Temporary { path: temporary_path(&path).map_err(failed)?, files };
    fs::create_dir(&temporary.path).map_err(failed)?;
    fill(&temporary.path)?;
    if is_there {
        let rights = fs::metadata(&path).map_err(failed)?.permissions();
        fs::set_permissions(&temporary.path, rights).map_err(failed)?;
    }
    File::open(&temporary.path).and_then(|folder| folder.sync_all()).map_err(failed)?;
    // Exchanged, the old folder has the temporary name, under which it is removed.
    let flags = if is_there { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    renameat_with(CWD, &temporary.path, CWD, &path, flags).map_err(|e| failed(e.into()))?;
    around.sync_all().map_err(failed)
}

/// Resolves links. Returns the place of the folder, and whether a folder is there; an error if it has files of other
/// names, or is no folder.
fn target(path: &Path, files: &[&str]) -> Result<(PathBuf, bool)> {
    let failed = |e: std::io::Error| io_error(path, &e);
    if path.file_name().is_none() {
        return Err(refused(path, "it ends with no name of a folder"));
    }
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        // A path that ends with a slash has the same parts without it.
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok((path.components().collect(), false)),
        Err(e) if e.kind() == ErrorKind::NotADirectory => {
            return Err(refused(path, "it is there and is no folder; want a new path, or a folder of an export"));
        }
        Err(e) => return Err(failed(e)),
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
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
    Ok((fs::canonicalize(path).map_err(failed)?, true))
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
        replace_folder(&path, &["a", "b"], write("1")).unwrap();
        replace_folder(&path.join(""), &["a", "b"], write("2")).unwrap();
        let failed = replace_folder(&path, &["a", "b"], |folder| {
            write("3")(folder)?;
            Err(error!(DataLoss, "no content"))
        });
        assert_eq!(failed.unwrap_err().code, Code::DataLoss);
        assert_eq!(fs::read(path.join("a")).unwrap(), b"2");
        assert_eq!((names(&path), names(&scratch)), (vec!["a".to_string()], vec!["model".to_string()]));
        fs::write(path.join("mine"), "x").unwrap();
        let refused = replace_folder(&path, &["a", "b"], write("4")).unwrap_err();
        assert_eq!(refused.code, Code::AlreadyExists);
        assert!(refused.message.contains("mine"), "{refused}");
        assert_eq!(fs::read(path.join("a")).unwrap(), b"2");
        let of_file = replace_folder(&path.join("a"), &["a"], write("5")).unwrap_err();
        assert_eq!(of_file.code, Code::InvalidArgument);
        let missing = replace_folder(&scratch.join("no/where"), &["a"], write("6")).unwrap_err();
        assert_eq!(missing.code, Code::NotFound);
        fs::remove_dir_all(&scratch).unwrap();
    }
}
