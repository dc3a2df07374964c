//! A plugin that was found, and its properties.

use std::path::PathBuf;

/// A plugin that was found, and the properties that it reported when a separate process loaded it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginInfo {
    /// File of the plugin, without links.
    pub path: PathBuf,
    /// How it was found: the name of an environment variable, `entry_point`, `namespace`, `package` or `folder`.
    pub found: &'static str,
    /// Folder that was searched; None if a variable names the file.
    pub folder: Option<PathBuf>,
    /// Name in the variable, of the entry point, or of the package in the namespace.
    pub name: Option<String>,
    /// Python distribution that installed it, with its version.
    pub package: Option<String>,
    /// Whether an environment without `plugin_path` uses it.
    pub is_default: bool,
    /// Major and minor version of its PJRT API.
    pub api_version: Option<(i32, i32)>,
    /// Name of its platform.
    pub platform: Option<String>,
    /// Why it cannot be used; None if it was loaded and initialized.
    pub error: Option<String>,
}
