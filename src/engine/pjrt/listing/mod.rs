//! Lists the PJRT plugins of this machine. `places` says where to look, `packages` what a folder of Python packages
//! has; Python is not started. `probe` loads each file in a process of its own, because a plugin may hang, crash or end
//! the process if its devices or libraries are missing; `answer` reads what that process says.

mod answer;
mod elf;
mod packages;
mod probe;
mod readable;
mod search;

use super::find;
use crate::engine::PluginInfo;
use crate::error::Result;
use crate::variables::nonempty;
use std::path::PathBuf;

/// A file that may be a plugin, and where it was found.
#[derive(Debug)]
pub struct Found {
    /// Path of the shared library.
    path: PathBuf,
    /// As [`PluginInfo::found`].
    how: &'static str,
    /// Folder that was searched, if any.
    folder: Option<PathBuf>,
    /// Name in a variable, of an entry point, or of a package in a namespace.
    name: Option<String>,
    /// Python distribution and its version.
    package: Option<String>,
}

/// Finds the plugins and loads each in a process of its own, several at a time. In the order of the search; a file that
/// is found twice is listed where it was found first. Fails if the process has no file descriptors left to search with.
pub fn plugins() -> Result<Vec<PluginInfo>> {
    let library_folder = find::library_folder();
    let found = search::search(&nonempty, library_folder.as_deref())?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let limit = probe::limit(nonempty(probe::LIMIT_VARIABLE).as_deref())?;
    let program = probe::program(nonempty(probe::PROGRAM_VARIABLE), library_folder.as_deref())?;
    let paths: Vec<PathBuf> = found.iter().map(|found| found.path.clone()).collect();
    let answers = probe::run_all(&program, limit, &paths)?;
    let default = find::find(None).map(|path| path.canonicalize().unwrap_or(path)).ok();
    let all = found.into_iter().zip(answers).map(|(found, answer)| PluginInfo {
        is_default: default.as_ref() == Some(&found.path),
        path: found.path,
        found: found.how,
        folder: found.folder,
        name: found.name,
        package: found.package,
        api_version: answer.api_version,
        platform: answer.platform,
        error: answer.error,
    });
    Ok(all.collect())
}
