//! Finds the file of the plugin to load.

use crate::error;
use crate::error::{Error, Result};
use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};

/// File of the default plugin below a plugin folder, as its package and `make plugin` lay it down.
const DEFAULT_PLUGIN: &str = "fastatomstruct_xla_cpu/libpjrt_cpu.so";

/// Package of the default plugin, as `pip install` names it.
const DEFAULT_PACKAGE: &str = "fastatomstruct-xla-cpu==2026.6.23";

/// Returns the plugin that was asked for, or the first that exists: `LXLA_PJRT_PLUGIN`, `lazyxla/` beside the installed
/// library, the build folder (for a library that lies in it), `PJRT_NAMES_AND_LIBRARY_PATHS`.
pub fn find(asked: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = asked {
        return Ok(path.to_path_buf());
    }
    if let Some(path) = std::env::var_os("LXLA_PJRT_PLUGIN").filter(|p| !p.is_empty()) {
        return Ok(path.into());
    }
    let mut looked = Vec::new();
    if let Some(folder) = library_folder() {
        looked.push(folder.join("lazyxla").join(DEFAULT_PLUGIN));
        looked.extend(in_build_folder(&folder, Path::new(env!("LXLA_BUILD_ROOT"))));
    }
    looked.extend(named_plugins(&std::env::var("PJRT_NAMES_AND_LIBRARY_PATHS").unwrap_or_default()));
    looked.iter().find(|path| path.is_file()).cloned().ok_or_else(|| not_found(&looked))
}

/// The plugin that `make plugin` installed, if `library_folder` is a build folder of the source tree `root`. An installed
/// library looks at no path of the machine that it was built on: whoever can write there could run code in its processes.
fn in_build_folder(library_folder: &Path, root: &Path) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    let is_in_tree = ["build", "target"].iter().any(|folder| library_folder.starts_with(root.join(folder)));
    is_in_tree.then(|| root.join("build/plugins").join(DEFAULT_PLUGIN))
}

fn not_found(looked: &[PathBuf]) -> Error {
    let places: Vec<String> = looked.iter().map(|p| p.display().to_string()).collect();
    error!(
        NotFound,
        "no PJRT plugin found: plugin_path is not given, LXLA_PJRT_PLUGIN is not set, there is none at {}, and \
         PJRT_NAMES_AND_LIBRARY_PATHS names none that exists. Install one with `make plugin` in the lazyxla folder, or \
         with `pip install {DEFAULT_PACKAGE}` and LXLA_PJRT_PLUGIN set to its {DEFAULT_PLUGIN}",
        places.join(", ")
    )
}

/// The paths of `name:path,name:path`.
fn named_plugins(list: &str) -> impl Iterator<Item = PathBuf> + '_ {
    list.split(',').filter_map(|entry| entry.split_once(':')).map(|(_, path)| PathBuf::from(path.trim()))
}

/// The folder of this library's file (of the program's, if it is linked statically).
fn library_folder() -> Option<PathBuf> {
    // SAFETY: all-zero is a value of this struct of pointers.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let here = library_folder as *const c_void;
    // SAFETY: both point to valid memory; dladdr only fills `info`.
    if unsafe { libc::dladdr(here, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a NUL-terminated path that lives as long as the mapping.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = Path::new(std::str::from_utf8(name.to_bytes()).ok()?).canonicalize().ok()?;
    path.parent().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_named_plugins_are_read() {
        let paths: Vec<PathBuf> = named_plugins("cpu:/a/b.so, gpu:/c.so,broken").collect();
        assert_eq!(paths, [Path::new("/a/b.so"), Path::new("/c.so")]);
        assert_eq!(named_plugins("").count(), 0);
    }

    #[test]
    fn only_a_library_in_the_build_folder_looks_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
        let plugin = root.join("build/plugins").join(DEFAULT_PLUGIN);
        assert_eq!(in_build_folder(&root.join("target/release/deps"), &root), Some(plugin.clone()));
        assert_eq!(in_build_folder(&root.join("build/cmake/lib"), &root), Some(plugin));
        for installed in [Path::new("/usr/local/lib"), &root, &root.join("buildings"), root.parent().unwrap()] {
            assert_eq!(in_build_folder(installed, &root), None, "{}", installed.display());
        }
    }
}
