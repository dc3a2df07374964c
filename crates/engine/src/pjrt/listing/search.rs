//! The places where plugins are looked for, in order: what an environment without `plugin_path` searches, then the
//! folders of Python packages that variables name or that belong to a Python of `PATH`.

use super::packages;
use crate::PluginInfo;
use crate::pjrt::find;
use base::error::Result;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns an environment variable; None if it is unset or empty.
type Variable<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Names of Python in a folder of programs.
const PYTHONS: [&str; 2] = ["python3", "python"];

/// Returns the plugins that are found, each once.
pub fn search(variable: Variable, library_folder: Option<&Path>) -> Result<Vec<PluginInfo>> {
    let mut found = Vec::new();
    found.extend(named_by("LXLA_PJRT_PLUGIN", variable));
    if let Some(folder) = library_folder {
        search_beside(&folder.join("lazyxla"), &mut found)?;
        if let Some(plugins) = find::plugins_of_build(folder) {
            packages::search(&plugins, &mut found)?;
        }
    }
    let list = variable("PJRT_NAMES_AND_LIBRARY_PATHS").unwrap_or_default();
    found.extend(find::named_plugins(&list.to_string_lossy()).map(|(name, path)| PluginInfo {
        path,
        found: "PJRT_NAMES_AND_LIBRARY_PATHS",
        name: Some(name.to_string()),
        ..PluginInfo::default()
    }));
    // JAX's variable for libtpu.
    found.extend(named_by("TPU_LIBRARY_PATH", variable));
    for folder in folders(variable)? {
        packages::search(&folder, &mut found)?;
    }
    Ok(each_once(found))
}

/// The plugin whose file a variable names.
fn named_by(name: &'static str, variable: Variable) -> Option<PluginInfo> {
    let path = PathBuf::from(variable(name)?);
    Some(PluginInfo { path, found: name, ..PluginInfo::default() })
}

/// Searches the folder of plugins beside the installed library, which has packages, or folders with the files of one.
fn search_beside(own: &Path, found: &mut Vec<PluginInfo>) -> Result<()> {
    packages::search(own, found)?;
    for (package, _) in packages::entries(own)? {
        packages::add_libraries(&package, own, found)?;
    }
    Ok(())
}

/// Keeps the first of those that are one file, and resolves links.
fn each_once(found: Vec<PluginInfo>) -> Vec<PluginInfo> {
    let mut seen = HashSet::new();
    let resolved = found.into_iter().map(|mut found| {
        found.path = found.path.canonicalize().unwrap_or(found.path);
        found
    });
    resolved.filter(|found| seen.insert(found.path.clone())).collect()
}

/// Folders of Python packages, each once. Only absolute paths count.
fn folders(variable: Variable) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for name in ["LXLA_PLUGIN_DIRS", "PYTHONPATH"] {
        folders.extend(std::env::split_paths(&variable(name).unwrap_or_default()));
    }
    for prefix in prefixes(variable)? {
        for site in sites(&prefix)? {
            let linked = linked_folders(&site)?;
            folders.push(site);
            folders.extend(linked);
        }
    }
    let mut seen = HashSet::new();
    let there = folders.into_iter().filter(|folder| folder.is_absolute() && folder.is_dir());
    Ok(there.filter_map(|folder| folder.canonicalize().ok()).filter(|folder| seen.insert(folder.clone())).collect())
}

/// Folders in which a Python is installed: those of virtual environments that are active, of the programs in `PATH`,
/// and the user's.
fn prefixes(variable: Variable) -> Result<Vec<PathBuf>> {
    let mut prefixes = Vec::new();
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(prefix) = variable(name) {
            prefixes.extend(with_base(PathBuf::from(prefix))?);
        }
    }
    for folder in std::env::split_paths(&variable("PATH").unwrap_or_default()) {
        let programs = PYTHONS.map(|name| folder.join(name));
        for program in programs.iter().filter(|program| program.is_file()) {
            prefixes.extend(prefixes_of(program)?);
        }
    }
    if variable("PYTHONNOUSERSITE").is_none() {
        let of_home = || variable("HOME").map(|home| PathBuf::from(home).join(".local"));
        prefixes.extend(variable("PYTHONUSERBASE").map(PathBuf::from).or_else(of_home));
    }
    Ok(prefixes)
}

/// Folders to which a program belongs: that of its virtual environment, or those of the program and of the file to
/// which it links.
fn prefixes_of(program: &Path) -> Result<Vec<PathBuf>> {
    let prefix_of = |program: &Path| program.parent().and_then(Path::parent).map(Path::to_path_buf);
    match prefix_of(program) {
        Some(prefix) if prefix.join("pyvenv.cfg").is_file() => with_base(prefix),
        prefix => {
            let linked = program.canonicalize().ok().and_then(|file| prefix_of(&file));
            Ok(prefix.into_iter().chain(linked).collect())
        }
    }
}

/// A folder, and that of the Python from which it was made if it is a virtual environment that uses the packages there.
fn with_base(prefix: PathBuf) -> Result<Vec<PathBuf>> {
    let settings = packages::text(&prefix.join("pyvenv.cfg"))?.unwrap_or_default();
    let setting = |name: &str| {
        let pairs = settings.lines().filter_map(|line| line.split_once('='));
        pairs.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let uses_base = setting("include-system-site-packages").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let base = setting("home").filter(|_| uses_base).and_then(|home| Path::new(home).parent()).map(Path::to_path_buf);
    Ok(std::iter::once(prefix).chain(base).collect())
}

/// Folders of packages of an installed Python, of each version.
fn sites(prefix: &Path) -> Result<Vec<PathBuf>> {
    let mut sites = Vec::new();
    for library in ["lib", "lib64", "local/lib"] {
        for (version, name) in packages::entries(&prefix.join(library))? {
            if name.starts_with("python") {
                sites.extend(["site-packages", "dist-packages"].map(|name| version.join(name)));
            }
        }
    }
    Ok(sites)
}

/// Folders that `.pth` files add to a folder of packages. Lines with code are not run.
fn linked_folders(site: &Path) -> Result<Vec<PathBuf>> {
    let mut linked = Vec::new();
    for (path, _) in packages::entries(site)?.into_iter().filter(|(_, name)| name.ends_with(".pth")) {
        let text = packages::text(&path)?.unwrap_or_default();
        let folders = text.lines().map(|line| site.join(line.trim()));
        linked.extend(folders.filter(|folder| folder != site && folder.is_dir()));
    }
    Ok(linked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    /// Makes an empty folder.
    fn empty(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("lxla_places_{}_{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        create_dir_all(&folder).unwrap();
        folder.canonicalize().unwrap()
    }

    /// Makes a file in new folders. A text that is not a library counts as one that cannot be read.
    fn file(path: &Path, content: &str) {
        create_dir_all(path.parent().unwrap()).unwrap();
        write(path, content).unwrap();
    }

    /// Searches with these variables; returns the paths below `root`, and how they were found.
    fn found(root: &Path, variables: &[(&str, &Path)], library_folder: Option<&Path>) -> Vec<(String, &'static str)> {
        let variable = |name: &str| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| value.as_os_str().to_os_string()).filter(|value| !value.is_empty())
        };
        let shown = |found: PluginInfo| (found.path.strip_prefix(root).unwrap().display().to_string(), found.found);
        search(&variable, library_folder).unwrap().into_iter().map(shown).collect()
    }

    #[test]
    fn variables_and_the_librarys_folder_come_first() {
        let root = empty("variables");
        for name in ["a.so", "b.so", "lib/lazyxla/c.so", "lib/lazyxla/package/d.so", "tpu.so", "dirs/e.so", "path/f.so"]
        {
            file(&root.join(name), "");
        }
        let named = PathBuf::from(format!("x:{0}/b.so,y:{0}/a.so,z:{0}/gone.so", root.display()));
        let dirs = PathBuf::from(format!("{0}/dirs::relative:{0}/missing", root.display()));
        let plugin = root.join("lib/../a.so");
        let (tpu, path) = (root.join("tpu.so"), root.join("path"));
        let variables: [(&str, &Path); 5] = [
            ("LXLA_PJRT_PLUGIN", plugin.as_path()),
            ("PJRT_NAMES_AND_LIBRARY_PATHS", named.as_path()),
            ("TPU_LIBRARY_PATH", tpu.as_path()),
            ("LXLA_PLUGIN_DIRS", dirs.as_path()),
            ("PYTHONPATH", path.as_path()),
        ];
        let wanted = [
            ("a.so", "LXLA_PJRT_PLUGIN"),
            ("lib/lazyxla/c.so", "folder"),
            ("lib/lazyxla/package/d.so", "folder"),
            ("b.so", "PJRT_NAMES_AND_LIBRARY_PATHS"),
            ("gone.so", "PJRT_NAMES_AND_LIBRARY_PATHS"),
            ("tpu.so", "TPU_LIBRARY_PATH"),
            ("dirs/e.so", "folder"),
            ("path/f.so", "folder"),
        ];
        let wanted = wanted.map(|(path, how)| (path.to_string(), how));
        assert_eq!(found(&root, &variables, Some(&root.join("lib"))), wanted);
        assert!(found(&root, &[], None).is_empty());
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn pythons_are_found_without_starting_them() {
        let root = empty("pythons");
        let plugin = |site: &str, name: &str| file(&root.join(site).join(name), "");
        plugin("venv/lib/python3.12/site-packages", "venv.so");
        plugin("base/lib/python3.12/site-packages", "base.so");
        plugin("linked", "linked.so");
        plugin("system/lib/python3/dist-packages", "system.so");
        plugin("system/local/lib/python3.11/dist-packages", "local.so");
        plugin("user/.local/lib/python3.11/site-packages", "user.so");
        let pth = format!("import os\n# comment\n\n{}\nmissing\n", root.join("linked").display());
        file(&root.join("venv/lib/python3.12/site-packages/x.pth"), &pth);
        file(&root.join("base/bin/python3"), "");
        file(&root.join("system/bin/python3"), "");
        file(&root.join("venv/bin/python"), "");
        let set = |content: &str| {
            let home = root.join("base/bin");
            file(&root.join("venv/pyvenv.cfg"), &format!("home = {}\n{content}\n", home.display()));
        };
        let (venv, user) = (root.join("venv"), root.join("user"));
        let names = |variables: &[(&str, &Path)]| {
            let all = found(&root, variables, None);
            let name = |(path, _): (String, &str)| path.rsplit('/').next().unwrap().to_string();
            all.into_iter().map(name).collect::<Vec<String>>()
        };
        set("include-system-site-packages = false");
        assert_eq!(names(&[("VIRTUAL_ENV", venv.as_path())]), ["venv.so", "linked.so"]);
        set("include-system-site-packages = true");
        assert_eq!(names(&[("VIRTUAL_ENV", venv.as_path())]), ["venv.so", "linked.so", "base.so"]);
        let path = PathBuf::from(format!("{0}/nothing:{0}/venv/bin:{0}/system/bin", root.display()));
        assert_eq!(names(&[("PATH", path.as_path())]), ["venv.so", "linked.so", "base.so", "system.so", "local.so"]);
        // A program that is a link belongs to both folders.
        create_dir_all(root.join("links/bin")).unwrap();
        std::os::unix::fs::symlink(root.join("base/bin/python3"), root.join("links/bin/python3")).unwrap();
        assert_eq!(names(&[("PATH", root.join("links/bin").as_path())]), ["base.so"]);
        assert_eq!(names(&[("HOME", user.as_path())]), ["user.so"]);
        assert!(names(&[("HOME", user.as_path()), ("PYTHONNOUSERSITE", Path::new("1"))]).is_empty());
        assert_eq!(names(&[("PYTHONUSERBASE", user.join(".local").as_path())]), ["user.so"]);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
