//! Loads plugins' shared libraries, once per file and process, and keeps their files' identities.

use super::api::{Api, Args, call, function, threw};
use super::ffi;
use super::plugin_file::PluginFile;
use super::settings::{self, Settings};
use super::sys;
use crate::exceptions::catching;
use base::error;
use base::error::Result;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// `RTLD_NODELETE`: the plugin is never unmapped, because unmapping one crashes the process at exit.
const RTLD_NODELETE: i32 = libc::RTLD_NODELETE;

/// A loaded plugin. There is one per file for the whole process.
pub struct Plugin {
    path: PathBuf,
    file: PluginFile,
    api: Api,
    settings: OnceLock<Settings>,
    /// Locked while a thread finds the settings.
    finding: Mutex<()>,
    /// Whether compiled programs can call functions of this process.
    calls_host: OnceLock<bool>,
    /// Whether a profile is being recorded.
    is_profiled: AtomicBool,
}

static LOADED: Mutex<Vec<&'static Plugin>> = Mutex::new(Vec::new());

impl Plugin {
    /// Loads and initializes the plugin in this file. Returns the plugin that was already loaded from it, if any.
    pub fn load(path: &Path) -> Result<&'static Plugin> {
        let path = path.canonicalize().map_err(|e| error!(NotFound, "plugin_path: {}: {e}", path.display()))?;
        let mut loaded = LOADED.lock();
        if let Some(plugin) = loaded.iter().find(|plugin| plugin.path == path) {
            return Ok(plugin);
        }
        let named = |e: error::Error| e.context(format_args!("plugin {}", path.display()));
        settings::check_flags()?;
        let file = PluginFile::open(&path).map_err(named)?;
        let api = open(&path).map_err(named)?;
        file.check_is_at(&path).map_err(named)?;
        let plugin = Plugin {
            path,
            file,
            api,
            settings: OnceLock::new(),
            finding: Mutex::new(()),
            calls_host: OnceLock::new(),
            is_profiled: AtomicBool::new(false),
        };
        let plugin: &'static Plugin = Box::leak(Box::new(plugin));
        let mut args = Args::<sys::PJRT_Plugin_Initialize_Args>::new(&plugin.api);
        call!(&plugin.api, PJRT_Plugin_Initialize, args)?;
        loaded.push(plugin);
        Ok(plugin)
    }

    /// Function table of the plugin.
    pub fn api(&'static self) -> &'static Api {
        &self.api
    }

    /// Path of the loaded file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The loaded file.
    pub fn file(&self) -> &PluginFile {
        &self.file
    }

    /// Whether compiled programs can call functions of this process. The first call registers the handler with the
    /// plugin, which must be for CPUs.
    pub fn calls_host(&'static self) -> bool {
        *self.calls_host.get_or_init(|| ffi::register(&self.api).is_ok())
    }

    /// Claims the plugin for a profile. False if there is one already.
    pub fn claim_profile(&self) -> bool {
        !self.is_profiled.swap(true, Ordering::SeqCst)
    }

    /// Says that the profile has ended.
    pub fn release_profile(&self) {
        self.is_profiled.store(false, Ordering::SeqCst);
    }

    /// Settings of this plugin. The first caller determines them with `find`; after a failure, the next caller tries
    /// again.
    pub fn settings(&self, find: impl FnOnce() -> Result<Settings>) -> Result<&Settings> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let _finding = self.finding.lock();
        match self.settings.get() {
            Some(settings) => Ok(settings),
            None => find().map(|found| self.settings.get_or_init(|| found)),
        }
    }
}

fn open(path: &Path) -> Result<Api> {
    let failed = |e: libloading::Error| error!(FailedPrecondition, "not a loadable plugin: {e}");
    type GetPjrtApi = unsafe extern "C-unwind" fn() -> *const sys::PJRT_Api;
    // SAFETY: loading runs the plugin's initializers; the user who selects a plugin is responsible for them.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) }.map_err(failed)?;
    // SAFETY: this is the type of PJRT's one exported function.
    let get: Symbol<GetPjrtApi> = unsafe { library.get(b"GetPjrtApi\0") }.map_err(failed)?;
    let get: GetPjrtApi = *get;
    std::mem::forget(library);
    // SAFETY: as above; the function takes no arguments.
    let table = catching(move || unsafe { get() }).map_err(|thrown| threw("GetPjrtApi", thrown))?;
    if table.is_null() {
        return Err(error!(FailedPrecondition, "its GetPjrtApi returned null"));
    }
    // SAFETY: the table belongs to the plugin, which is never unloaded.
    unsafe { Api::new(table) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_plugin_is_refused() {
        let missing = Plugin::load(Path::new("/nonexistent/plugin.so")).err().unwrap();
        assert_eq!(missing.code, base::error::Code::NotFound);
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let refused = Plugin::load(&text).err().unwrap();
        assert_eq!(refused.code, base::error::Code::FailedPrecondition);
        assert!(refused.message.contains("Cargo.toml"), "{refused}");
    }
}
