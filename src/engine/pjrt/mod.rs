//! The engine over the PJRT C API: any plugin, loaded at run time, called through our own binding.
//!
//! From the top: `engine` is the trait's implementation; `plugin` finds and loads; `executable`, `buffer`, `client` and
//! `event` own what a plugin gives; `exit` sees to it that the process can end; `api` calls; `sys` is the binding.

mod api;
#[cfg(test)]
mod binding_test;
mod buffer;
mod client;
mod compile_options;
mod engine;
mod event;
mod executable;
mod exit;
mod layout;
mod plugin;
#[allow(missing_docs)]
mod sys;
#[cfg(test)]
mod tests;

pub use exit::register_last_work;

use crate::engine::Engine;
use crate::error::Result;
use std::path::Path;
use std::sync::Arc;

/// Starts an engine: finds the plugin (see [the C contract](crate::capi)), loads it, makes a client.
/// `device_count` 0 means the plugin's default; one on a CPU.
pub fn start(plugin_path: Option<&Path>, device_count: usize) -> Result<Arc<dyn Engine>> {
    let _inside = exit::enter()?;
    let plugin = plugin::Plugin::load(&plugin::find(plugin_path)?)?;
    exit::register_again();
    Ok(Arc::new(engine::PjrtEngine::new(plugin, device_count)?))
}
