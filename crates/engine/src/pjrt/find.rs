//! Locates the plugin file to load.

use base::error;
use base::error::{Error, Result};
use base::variables;
use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};

/// Path of the default plugin inside a plugin folder, as installed by its package and by `make plugin`.
const DEFAULT_PLUGIN: &str = "fastatomstruct_xla_cpu/libpjrt_cpu.so";

/// Package of the default plugin, in the syntax of `pip install`.
const DEFAULT_PACKAGE: &str = "fastatomstruct-xla-cpu==2026.6.23";

/// Returns `asked` if it is given, else the first plugin of the search order in docs/plugins.md.
pub fn find(asked: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = asked {
        return Ok(path.to_path_buf());
    }
    if let Some(path) = variables::nonempty("LXLA_PJRT_PLUGIN") {
        return Ok(path.into());
    }
    let mut looked = Vec::new();
    let own = library_folder();
    if let Some(folder) = &own {
        looked.push(folder.join("lazyxla").join(DEFAULT_PLUGIN));
        looked.extend(plugins_of_build(folder).map(|plugins| plugins.join(DEFAULT_PLUGIN)));
    }
    let named = variables::text("PJRT_NAMES_AND_LIBRARY_PATHS").unwrap_or_default();
    looked.extend(named_plugins(&named).map(|(_, path)| path));
    looked.iter().find(|path| path.is_file()).cloned().ok_or_else(|| not_found(&looked, own.as_deref()))
}

/// Folder of the plugins that `make plugin` installs, if the library is in the tree that it was built from.
pub fn plugins_of_build(library_folder: &Path) -> Option<PathBuf> {
    in_build_folder(library_folder, Path::new(env!("LXLA_BUILD_ROOT")))
}

/// Folder of installed plugins, if `library_folder` is in a build folder of the source tree `root`. An installed
/// library must not use paths of the machine on which it was built: anyone who can write there could run code in its
/// processes.
fn in_build_folder(library_folder: &Path, root: &Path) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    let is_in_tree = ["build", "target"].iter().any(|folder| library_folder.starts_with(root.join(folder)));
    is_in_tree.then(|| root.join("build/plugins"))
}

/// The error says how to put the default plugin where this library looks for it.
fn not_found(looked: &[PathBuf], own: Option<&Path>) -> Error {
    let places: Vec<String> = looked.iter().map(|p| p.display().to_string()).collect();
    error!(
        NotFound,
        "no PJRT plugin found: plugin_path is not given, LXLA_PJRT_PLUGIN is not set, there is none at {}, and \
         PJRT_NAMES_AND_LIBRARY_PATHS names none that exists. {}, or set LXLA_PJRT_PLUGIN to the file of a plugin",
        places.join(", "),
        way_out(own)
    )
}

fn way_out(own: Option<&Path>) -> String {
    let Some(folder) = own else { return format!("Install one with `pip install {DEFAULT_PACKAGE}`") };
    let target = folder.join("lazyxla");
    let pip = format!("`pip install {DEFAULT_PACKAGE} --no-deps --target '{}'`", target.display());
    match plugins_of_build(folder) {
        Some(_) => format!("Install one with `make plugin` in the lazyxla folder, or with {pip}"),
        None => {
            format!("Install one with {pip}, or, where CMake built the library, with its option -DLAZYXLA_PLUGIN=ON")
        }
    }
}

/// Parses a list `name:path,name:path`.
pub fn named_plugins(list: &str) -> impl Iterator<Item = (&str, PathBuf)> {
    list.split(',')
        .filter_map(|entry| entry.split_once(':'))
        .map(|(name, path)| (name.trim(), PathBuf::from(path.trim())))
}

/// Folder of this library's file, or of the executable if the library is linked statically.
pub fn library_folder() -> Option<PathBuf> {
    // SAFETY: all zeros is a valid value of this struct of pointers.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let here = library_folder as *const c_void;
    // SAFETY: both arguments point to valid memory; dladdr only writes to `info`.
    if unsafe { libc::dladdr(here, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr returned a NUL-terminated path that is valid as long as the mapping.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = Path::new(std::str::from_utf8(name.to_bytes()).ok()?).canonicalize().ok()?;
    path.parent().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_named_plugins_are_read() {
        let named: Vec<(&str, PathBuf)> = named_plugins("cpu:/a/b.so, gpu:/c.so,broken").collect();
        assert_eq!(named, [("cpu", PathBuf::from("/a/b.so")), ("gpu", PathBuf::from("/c.so"))]);
        assert_eq!(named_plugins("").count(), 0);
    }

    #[test]
    fn only_a_library_in_the_build_folder_looks_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let plugins = root.join("build/plugins");
        assert_eq!(in_build_folder(&root.join("target/release/deps"), &root), Some(plugins.clone()));
        assert_eq!(in_build_folder(&root.join("build/cmake/lib"), &root), Some(plugins));
        for installed in [Path::new("/usr/local/lib"), &root, &root.join("buildings"), root.parent().unwrap()] {
            assert_eq!(in_build_folder(installed, &root), None, "{}", installed.display());
        }
    }
}
