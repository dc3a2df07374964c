//! Finding and loading a plugin's shared library.

use super::api::{Api, Args, call, function};
use super::sys;
use crate::error;
use crate::error::{Error, Result};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use parking_lot::Mutex;
use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// `RTLD_NODELETE`: a plugin stays mapped whatever happens; unmapping one crashes the process at exit.
const RTLD_NODELETE: i32 = libc::RTLD_NODELETE;

/// The default plugin's file name, as its package and `make plugin` lay it down.
const DEFAULT_PLUGIN: &str = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so";

/// A loaded plugin. One per file, for the whole process.
pub struct Plugin {
    path: PathBuf,
    api: Api,
    hash: OnceLock<[u8; 32]>,
    used: AtomicBool,
}

static LOADED: Mutex<Vec<&'static Plugin>> = Mutex::new(Vec::new());

impl Plugin {
    /// The plugin in this file, loaded and initialised once per process.
    pub fn load(path: &Path) -> Result<&'static Plugin> {
        let path = path.canonicalize().map_err(|e| error!(NotFound, "plugin_path: {}: {e}", path.display()))?;
        let mut loaded = LOADED.lock();
        if let Some(plugin) = loaded.iter().find(|plugin| plugin.path == path) {
            return Ok(plugin);
        }
        let api = open(&path).map_err(|e| e.context(format_args!("plugin {}", path.display())))?;
        let plugin: &'static Plugin =
            Box::leak(Box::new(Plugin { path, api, hash: OnceLock::new(), used: AtomicBool::new(false) }));
        let mut args = Args::<sys::PJRT_Plugin_Initialize_Args>::new(&plugin.api);
        call!(&plugin.api, PJRT_Plugin_Initialize, args)?;
        loaded.push(plugin);
        Ok(plugin)
    }

    /// Its functions.
    pub fn api(&'static self) -> &'static Api {
        &self.api
    }

    /// Whether this is the first time that it is asked.
    pub fn is_first_use(&self) -> bool {
        !self.used.swap(true, Ordering::Relaxed)
    }

    /// blake3 of its file, read when first asked for.
    pub fn file_hash(&self) -> Result<&[u8; 32]> {
        if let Some(hash) = self.hash.get() {
            return Ok(hash);
        }
        let failed = |e| error!(Unavailable, "plugin {}: {e}", self.path.display());
        let mut hasher = blake3::Hasher::new();
        hasher.update_mmap_rayon(&self.path).map_err(failed)?;
        Ok(self.hash.get_or_init(|| hasher.finalize().into()))
    }
}

fn open(path: &Path) -> Result<Api> {
    let failed = |e: libloading::Error| error!(FailedPrecondition, "not a loadable plugin: {e}");
    type GetPjrtApi = unsafe extern "C" fn() -> *const sys::PJRT_Api;
    // SAFETY: loading runs the plugin's initialisers: whoever names a plugin vouches for it.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) }.map_err(failed)?;
    // SAFETY: this is the type that PJRT gives its one exported function.
    let get: Symbol<GetPjrtApi> = unsafe { library.get(b"GetPjrtApi\0") }.map_err(failed)?;
    // SAFETY: as above; it takes nothing.
    let table = unsafe { get() };
    std::mem::forget(library);
    if table.is_null() {
        return Err(error!(FailedPrecondition, "its GetPjrtApi returned null"));
    }
    // SAFETY: the table belongs to the plugin, which is never unloaded.
    unsafe { Api::new(table) }
}

/// The file of the plugin to use: the one asked for, or the first of the places that the C contract names.
pub fn find(asked: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = asked {
        return Ok(path.to_path_buf());
    }
    if let Some(path) = std::env::var_os("LXLA_PJRT_PLUGIN").filter(|p| !p.is_empty()) {
        return Ok(path.into());
    }
    let mut looked: Vec<PathBuf> = Vec::new();
    if let Some(folder) = own_folder() {
        looked.push(folder.join("lazyxla").join(DEFAULT_PLUGIN));
    }
    looked.push(Path::new(env!("LXLA_BUILD_PLUGINS")).join(DEFAULT_PLUGIN));
    looked.extend(named_plugins(&std::env::var("PJRT_NAMES_AND_LIBRARY_PATHS").unwrap_or_default()));
    looked.iter().find(|path| path.is_file()).cloned().ok_or_else(|| nowhere(&looked))
}

fn nowhere(looked: &[PathBuf]) -> Error {
    let places: Vec<String> = looked.iter().map(|p| p.display().to_string()).collect();
    error!(
        NotFound,
        "no PJRT plugin found: plugin_path is not given, LXLA_PJRT_PLUGIN is not set, there is none at {}, and \
         PJRT_NAMES_AND_LIBRARY_PATHS names none that exists. Install one with `make plugin` in the lazyxla folder, or \
         with `pip install xla-cpu-pjrt==0.0.1` and LXLA_PJRT_PLUGIN set to its {DEFAULT_PLUGIN}",
        places.join(", ")
    )
}

/// The paths of `name:path,name:path`.
fn named_plugins(list: &str) -> impl Iterator<Item = PathBuf> + '_ {
    list.split(',').filter_map(|entry| entry.split_once(':')).map(|(_, path)| PathBuf::from(path.trim()))
}

/// The folder in which this library lies.
fn own_folder() -> Option<PathBuf> {
    // SAFETY: all-zero is a value of this struct of pointers.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let here = own_folder as *const c_void;
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
    fn a_file_that_is_no_plugin_is_refused() {
        let missing = Plugin::load(Path::new("/nonexistent/plugin.so")).err().unwrap();
        assert_eq!(missing.code, crate::error::Code::NotFound);
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let refused = Plugin::load(&text).err().unwrap();
        assert_eq!(refused.code, crate::error::Code::FailedPrecondition);
        assert!(refused.message.contains("Cargo.toml"), "{refused}");
    }
}
