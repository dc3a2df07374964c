//! Finds the plugins in a folder of Python packages, without Python: by the entry points and file lists of the
//! installed distributions, and by the namespace packages in which plugins are put.

use super::elf;
use super::readable::readable;
use crate::PluginInfo;
use base::error::Result;
use base::io;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Groups of entry points, and namespace packages, of plugins. JAX searches the first.
const GROUPS: [&str; 2] = ["jax_plugins", "xla_plugins"];

/// Maximum size of a text that is read: a list of files may have many thousand lines.
const MOST_BYTES: u64 = 32 << 20;
/// Maximum depth of folders in a package.
const MOST_DEPTH: usize = 4;

/// An entry point of a distribution.
#[derive(Debug, PartialEq)]
struct EntryPoint {
    name: String,
    /// Module that it names.
    module: String,
}

/// Adds the plugins in a folder of packages: libraries in the folder itself, those of distributions, those in the
/// namespaces.
pub fn search(folder: &Path, found: &mut Vec<PluginInfo>) -> Result<()> {
    add_libraries(folder, folder, found)?;
    for (path, name) in entries(folder)? {
        if let Some(package) = name.strip_suffix(".dist-info").or_else(|| name.strip_suffix(".egg-info")) {
            add_distribution(folder, &path, &package.replacen('-', " ", 1), found)?;
        }
    }
    for group in GROUPS {
        for (package, name) in entries(&folder.join(group))? {
            add(files_below(&package, 0)?, found, |path| PluginInfo {
                path,
                found: "namespace",
                folder: Some(folder.to_path_buf()),
                name: Some(name.clone()),
                ..PluginInfo::default()
            })?;
        }
    }
    Ok(())
}

/// Adds the plugins that lie in a folder, as parts of what `searched` has.
pub fn add_libraries(folder: &Path, searched: &Path, found: &mut Vec<PluginInfo>) -> Result<()> {
    add(entries(folder)?.into_iter().map(|(path, _)| path).collect(), found, |path| PluginInfo {
        path,
        found: "folder",
        folder: Some(searched.to_path_buf()),
        ..PluginInfo::default()
    })
}

/// Adds the plugins of a distribution whose files are described in the folder `about`.
fn add_distribution(folder: &Path, about: &Path, package: &str, found: &mut Vec<PluginInfo>) -> Result<()> {
    let points = entry_points(&text(&about.join("entry_points.txt"))?.unwrap_or_default());
    let listed = text(&about.join("RECORD"))?;
    let mut files: Vec<PathBuf> =
        recorded(listed.as_deref().unwrap_or_default()).map(|file| folder.join(file)).collect();
    if points.is_empty() {
        // Some packages of plugins have no entry point: libtpu, and those of plugins for CPUs.
        files.retain(|file| is_named_so(file));
    }
    if listed.is_none() {
        files.clear();
        for point in &points {
            files.extend(files_of_module(folder, &point.module)?);
        }
    }
    add(files, found, |path| {
        let is_of = |point: &&EntryPoint| path.starts_with(folder.join(point.module.replace('.', "/")));
        let point = points.iter().find(is_of).or(points.first());
        PluginInfo {
            found: if point.is_some() { "entry_point" } else { "package" },
            folder: Some(folder.to_path_buf()),
            name: point.map(|point| point.name.clone()),
            package: Some(package.to_string()),
            path,
            ..PluginInfo::default()
        }
    })
}

/// Adds the files that are plugins, or libraries that cannot be read, which the loader has to judge.
fn add(files: Vec<PathBuf>, found: &mut Vec<PluginInfo>, describe: impl Fn(PathBuf) -> PluginInfo) -> Result<()> {
    for path in files.into_iter().filter(|path| is_library(path) && path.is_file()) {
        if elf::has_plugin(&path)? != Some(false) {
            found.push(describe(path));
        }
    }
    Ok(())
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".so") || name.contains(".so.")
}

/// Whether the name of a file says that it is a plugin.
fn is_named_so(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.contains("pjrt") || name == "libtpu.so"
}

/// Entries of a folder with their names, sorted; nothing for a folder that cannot be read. Fails if the process has no
/// file descriptors or memory left to read it.
pub fn entries(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut all = Vec::new();
    for entry in readable(folder, std::fs::read_dir(folder))?.into_iter().flatten() {
        if let Some(entry) = readable(folder, entry)? {
            all.push((entry.path(), entry.file_name().to_string_lossy().into_owned()));
        }
    }
    all.sort();
    Ok(all)
}

fn files_below(folder: &Path, depth: usize) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (path, _) in entries(folder)? {
        // Links to folders may lead back.
        let is_folder = path.is_dir() && !path.is_symlink();
        if is_folder && depth < MOST_DEPTH {
            files.extend(files_below(&path, depth + 1)?);
        } else if !is_folder {
            files.push(path);
        }
    }
    Ok(files)
}

/// Files of a module: those below its folder, or those beside its file.
fn files_of_module(folder: &Path, module: &str) -> Result<Vec<PathBuf>> {
    let path = folder.join(module.replace('.', "/"));
    if path.is_dir() {
        return files_below(&path, 0);
    }
    let parent = path.parent().filter(|parent| *parent != folder && parent.is_dir());
    parent.map_or(Ok(Vec::new()), |parent| files_below(parent, 0))
}

/// Content of a text file; None if it is none, or cannot be read. Fails like [`entries`].
pub fn text(path: &Path) -> Result<Option<String>> {
    let Some((file, _)) = readable(path, io::open_regular(path))? else { return Ok(None) };
    let mut bytes = Vec::new();
    let read = readable(path, file.take(MOST_BYTES).read_to_end(&mut bytes))?;
    Ok(read.map(|_| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Parses the entry points of plugins in an `entry_points.txt`: sections `[group]` with lines `name = module:object`.
fn entry_points(text: &str) -> Vec<EntryPoint> {
    let mut is_ours = false;
    let mut points = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(group) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_ours = GROUPS.contains(&group.trim());
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_ours) {
            let module = value.split([':', '[']).next().unwrap_or_default();
            points.push(EntryPoint { name: name.trim().to_string(), module: module.trim().to_string() });
        }
    }
    points
}

/// Parses the paths of a `RECORD`: a CSV file of path, hash and size.
fn recorded(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| match line.strip_prefix('"') {
        None => line.split(',').next().unwrap_or_default().to_string(),
        // A quote in a quoted field is doubled.
        Some(quoted) => quoted.split("\",").next().unwrap_or_default().replace("\"\"", "\""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    #[test]
    fn entry_points_of_plugins_are_read() {
        let text = "# comment\n[console_scripts]\nrun = a:b\n\n[jax_plugins]\nxla_cuda13 = jax_plugins.xla_cuda13\n\
            mine=my.plugin:register [extra]\n; other = x\n[ xla_plugins ]\nlast = a";
        let points: Vec<(String, String)> = entry_points(text).into_iter().map(|p| (p.name, p.module)).collect();
        let wanted = [("xla_cuda13", "jax_plugins.xla_cuda13"), ("mine", "my.plugin"), ("last", "a")];
        assert_eq!(points, wanted.map(|(name, module)| (name.to_string(), module.to_string())));
        for nothing in ["", "a = b", "[other]\na = b", "[jax_plugins]\nno line", "[jax_plugins", "]["] {
            assert!(entry_points(nothing).is_empty(), "{nothing}");
        }
    }

    #[test]
    fn lists_of_files_are_read() {
        let text = "a/b.so,sha256=x,7\n\"with, comma.so\",,\n\"with \"\"quotes\"\".so\",sha256=y,1\r\nbare\n";
        let files: Vec<String> = recorded(text).collect();
        assert_eq!(files, ["a/b.so", "with, comma.so", "with \"quotes\".so", "bare"]);
    }

    /// Makes a folder with these files; a file that ends in `!` is a library that is not a plugin.
    fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("lxla_packages_{}_{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        for (file, content) in files {
            let path = folder.join(file.trim_end_matches('!'));
            create_dir_all(path.parent().unwrap()).unwrap();
            if file.ends_with('!') {
                std::os::unix::fs::symlink(std::env::current_exe().unwrap(), path).unwrap();
            } else {
                write(path, content).unwrap();
            }
        }
        folder
    }

    #[test]
    fn plugins_of_each_kind_are_found() {
        let files = [
            // Listed, with an entry point; another library of the package is not a plugin.
            ("a-1.0.dist-info/entry_points.txt", "[jax_plugins]\nfirst = jax_plugins.a\n"),
            ("a-1.0.dist-info/RECORD", "jax_plugins/a/a.so,,\njax_plugins/a/helper.so,,\na/gone.so,,\na/text.py,,\n"),
            ("jax_plugins/a/a.so", ""),
            ("jax_plugins/a/helper.so!", ""),
            // Without an entry point, by the name of the file.
            ("tpu-0.1.dist-info/RECORD", "tpu/libtpu.so,,\ntpu/sdk.so,,\n"),
            ("tpu/libtpu.so", ""),
            ("tpu/sdk.so", ""),
            // Without a list of files, by the module.
            ("b-2.egg-info/entry_points.txt", "[xla_plugins]\nb = b.plugin:register\n"),
            ("b/plugin.py", ""),
            ("b/lib/b.so.1", ""),
            // In a namespace, without a distribution.
            ("xla_plugins/c/deep/c.so", ""),
            ("xla_plugins/c/c.txt", ""),
            // In the folder itself.
            ("d.so", ""),
            ("other/e.so", ""),
        ];
        let root = folder("kinds", &files);
        let mut found = Vec::new();
        search(&root, &mut found).unwrap();
        let shown = |found: &PluginInfo| {
            let path = found.path.strip_prefix(&root).unwrap().to_str().unwrap().to_string();
            assert_eq!(found.folder.as_deref(), Some(&*root));
            (path, found.found, found.name.clone().unwrap_or_default(), found.package.clone().unwrap_or_default())
        };
        let shown: Vec<(String, &str, String, String)> = found.iter().map(shown).collect();
        let wanted = [
            ("d.so", "folder", "", ""),
            ("jax_plugins/a/a.so", "entry_point", "first", "a 1.0"),
            ("b/lib/b.so.1", "entry_point", "b", "b 2"),
            ("tpu/libtpu.so", "package", "", "tpu 0.1"),
            ("jax_plugins/a/a.so", "namespace", "a", ""),
            ("xla_plugins/c/deep/c.so", "namespace", "c", ""),
        ];
        let wanted =
            wanted.map(|(path, how, name, package)| (path.to_string(), how, name.to_string(), package.to_string()));
        assert_eq!(shown, wanted);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn folders_without_plugins_have_none() {
        let root = folder("none", &[("x-1.dist-info/RECORD", "\n,,\n\"\n\"\",\n../../etc/pjrt.so,,\n")]);
        let mut found = Vec::new();
        for folder in ["", "missing", "x-1.dist-info/RECORD"] {
            search(&root.join(folder), &mut found).unwrap();
        }
        assert!(found.is_empty(), "{found:?}");
        std::fs::remove_dir_all(&root).unwrap();
    }
}
