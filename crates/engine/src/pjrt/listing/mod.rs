//! Lists the PJRT plugins of this machine. `search` says where to look, `packages` what a folder of Python packages
//! has; Python is not started. `probe` loads each file in a process of its own, because a plugin may hang, crash or end
//! the process if its devices or libraries are missing; `answer` reads what that process says.

mod answer;
mod elf;
mod packages;
mod probe;
mod readable;
mod search;

use super::find;
use crate::PluginInfo;
use base::error::Result;
use base::variables::nonempty;
use std::path::PathBuf;

/// Finds the plugins and loads each in a process of its own, several at a time. In the order of the search; a file that
/// is found twice is listed where it was found first. Fails if the process has no file descriptors left to search with.
pub fn plugins() -> Result<Vec<PluginInfo>> {
    let library_folder = find::library_folder();
    let mut plugins = search::search(&nonempty, library_folder.as_deref())?;
    if plugins.is_empty() {
        return Ok(plugins);
    }
    let limit = probe::limit(nonempty(probe::LIMIT_VARIABLE).as_deref())?;
    let program = probe::program(nonempty(probe::PROGRAM_VARIABLE), library_folder.as_deref())?;
    let paths: Vec<PathBuf> = plugins.iter().map(|plugin| plugin.path.clone()).collect();
    let answers = probe::run_all(&program, limit, &paths)?;
    let default = find::find(None).map(|path| path.canonicalize().unwrap_or(path)).ok();
    for (plugin, answer) in plugins.iter_mut().zip(answers) {
        plugin.is_default = default.as_ref() == Some(&plugin.path);
        (plugin.api_version, plugin.platform, plugin.error) = (answer.api_version, answer.platform, answer.error);
    }
    Ok(plugins)
}
