//! Engine for the PJRT C API: any plugin, loaded at run time, called through the binding in `sys`.
//!
//! Modules, from the top: `engine` implements the trait; `check` and `settings` determine how a plugin is used; `find`
//! and `plugin` locate and load it; `plugin_file` hashes its file, once per machine (`remembered`); `loaded`, `buffer`,
//! `client` and `event` own the plugin's objects; `executable` runs programs on one device, `partitioned` on a mesh,
//! and `output_pieces` reads how their outputs are divided; `create` makes a client, and `key_value` connects its
//! processes; `ffi` is called by compiled programs, with the structs of `ffi_sys`; `profiler` records the plugin's own
//! profile, with those of `profiler_sys`; `exit` handles process exit; `api` calls functions; `sys` is the binding.
//! `listing` finds all plugins of a machine, and loads each in another process.

mod api;
#[cfg(test)]
mod binding_test;
mod buffer;
mod check;
mod client;
mod compile_options;
mod create;
mod engine;
mod event;
mod executable;
pub mod exit;
mod ffi;
#[allow(missing_docs)]
mod ffi_sys;
mod find;
mod host_memory;
mod key_value;
mod layout;
mod listing;
mod loaded;
mod output_pieces;
mod partitioned;
#[cfg(test)]
mod partitioned_test;
mod plugin;
mod plugin_file;
mod profiler;
#[allow(missing_docs)]
mod profiler_sys;
mod remembered;
#[cfg(test)]
mod scratch;
pub mod settings;
#[allow(missing_docs)]
mod sys;
#[cfg(test)]
mod tests;

pub use buffer::free_buffers;
pub use exit::{register_ending, register_last_work};
pub use listing::plugins;

use crate::{Engine, EngineOptions};
use base::error::Result;
use base::stack::with_stack;
use std::sync::Arc;

/// Stack size for starting an engine.
const STACK: usize = 64 << 20;

/// Drops a value that may own buffers of plugins.
pub fn free<T>(value: T) {
    // The buffers enter again, which is cheap while the thread is inside. If the process is exiting, `enter` fails here
    // and for each buffer, and the plugin's objects are not freed.
    let _inside = exit::enter();
    drop(value);
}

/// Starts an engine: finds the plugin (by the rules of the C header), loads it, and creates a client.
pub fn start(options: EngineOptions) -> Result<Arc<dyn Engine>> {
    let _inside = exit::enter()?;
    let plugin = plugin::Plugin::load(&find::find(options.plugin_path.as_deref())?)?;
    exit::register_again();
    // The first start compiles programs, which may need more stack than the caller's thread has.
    let engine = || engine::PjrtEngine::new(plugin, options);
    Ok(Arc::new(with_stack(STACK, 0, engine)?))
}
