//! The order inside a crate: a module uses only modules of layers below its own, and files do not use each other in
//! circles. Cargo holds the order of the crates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates whose modules stand in layers, the top one first. The first page of the crate has the same table.
const LAYERS: &[(&str, &[&[&str]])] = &[
    (
        "lazyxla",
        &[
            &["capi"],
            &["report"],
            &["env"],
            &["computation"],
            &["tensor"],
            &["sync"],
            &["device"],
            &["device_data"],
            &["cache"],
        ],
    ),
    ("programs", &[&["export"], &["import"]]),
    ("lowering", &[&["transform"], &["lower", "interpret", "cost"]]),
    (
        "base",
        &[
            &["io"],
            &["types", "metrics", "allocation", "protobuf", "stack", "variables"],
            &["log", "call", "label", "threads"],
            &["error", "heap"],
        ],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folders of sources of the library's crates, by the names of the crates.
fn crates() -> Vec<(String, PathBuf)> {
    let mut found = vec![("lazyxla".to_string(), root().join("src"))];
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let entry = entry.unwrap();
        found.push((entry.file_name().into_string().unwrap(), entry.path().join("src")));
    }
    found.sort();
    found
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Returns the code of a file without its comments and unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Returns the code of all files of a crate except tests, by their paths in its `src` without `.rs`.
fn sources_of(folder: &Path) -> BTreeMap<String, String> {
    let mut paths = Vec::new();
    files(folder, &mut paths);
    let mut sources = BTreeMap::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        let name = path.strip_prefix(folder).unwrap().with_extension("").display().to_string();
        let is_test = ["tests", "test", "testing"].iter().any(|end| name.ends_with(end)) || name.contains("/tests/");
        if !is_test {
            sources.insert(name, code(&std::fs::read_to_string(path).unwrap()));
        }
    }
    sources
}

/// Returns the code of all files of the library except tests, by crate and path.
fn sources() -> BTreeMap<String, String> {
    let files = crates().into_iter().flat_map(|(name, folder)| {
        sources_of(&folder).into_iter().map(move |(path, code)| (format!("{name}/{path}"), code))
    });
    files.collect()
}

/// Returns the modules of the crate's root that a piece of code names.
fn used(code: &str) -> BTreeSet<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => {
                found.insert(word(rest));
            }
            Some(list) => {
                let mut depth = 0;
                let mut start = true;
                for (i, c) in list.char_indices() {
                    if start && !c.is_whitespace() {
                        found.insert(word(&list[i..]));
                        start = false;
                    }
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => start = true,
                        _ => {}
                    }
                }
            }
        }
    }
    found.remove("");
    found
}

#[test]
fn a_layer_uses_only_layers_below_it() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (name, folder) in crates() {
        let Some((_, layers)) = LAYERS.iter().find(|(layered, _)| *layered == name) else { continue };
        let layer = |module: &str| layers.iter().position(|layer| layer.contains(&module));
        for (file, code) in sources_of(&folder).into_iter().filter(|(file, _)| file != "lib") {
            let module = file.split('/').next().unwrap();
            let here = layer(module).unwrap_or_else(|| panic!("{name}: {module} is in no layer"));
            for other in used(&code) {
                seen += 1;
                let Some(there) = layer(&other) else { panic!("{name}/{file}: crate::{other} is in no layer") };
                if other != module && there <= here {
                    wrong.push(format!("{name}/{file}: {module} uses {other}"));
                }
            }
        }
    }
    assert!(seen > 150, "only {seen} uses found");
    assert!(wrong.is_empty(), "upwards:\n{}", wrong.join("\n"));
}

/// A privileged process must ignore its caller's variables: `variables.rs` does. XLA reads `XLA_FLAGS` by itself.
#[test]
fn environment_variables_are_read_in_one_place() {
    let reads = |code: &str| code.contains("env::var") || code.contains("getenv(") || code.contains("env::vars");
    let sources = sources();
    let readers: Vec<&str> = sources.iter().filter(|(_, code)| reads(code)).map(|(name, _)| name.as_str()).collect();
    assert_eq!(readers, ["base/variables", "engine/pjrt/settings"]);
}

/// A reader finds the file of a name by its imports. Only unit tests import all names of a module; members of an enum,
/// which begins with a capital, and a `prelude` of another library may be imported at once.
#[test]
fn imports_list_their_names() {
    let mut wrong = Vec::new();
    for (name, code) in sources() {
        let is_outside = |line: &&str| !line.starts_with(' ') || line.trim_start().starts_with("pub ");
        for line in code.lines().filter(is_outside).filter(|line| line.contains("use ")) {
            let Some(path) = line.strip_suffix("::*;") else { continue };
            let last = path.rsplit([':', ' ']).next().unwrap();
            if last != "prelude" && !last.starts_with(char::is_uppercase) {
                wrong.push(format!("{name}: {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The chapters of the C ABI are safe code, but for the attribute that exports a function.
#[test]
fn unsafe_code_of_the_abi_is_in_its_folder() {
    let is_unsafe = |code: &str| code.replace("#[unsafe(no_mangle)]", "").contains("unsafe");
    let chapters = sources_of(&root().join("src"))
        .into_iter()
        .filter(|(name, _)| name.starts_with("capi/") && !name.starts_with("capi/abi/"));
    let chapters: Vec<(String, String)> = chapters.collect();
    assert!(chapters.len() > 20, "only {} chapters found", chapters.len());
    let wrong: Vec<&String> = chapters.iter().filter(|(_, code)| is_unsafe(code)).map(|(name, _)| name).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn lists_and_paths_are_found() {
    let found = used("use crate::{error, ir::{Op, Trace}, native};\nlet x = crate::types::DType::F32;");
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), ["error", "ir", "native", "types"]);
}

/// Paths from the crate's root that a file names.
#[derive(Default)]
struct Names {
    /// Paths of its imports, and paths written in full.
    uses: Vec<Vec<String>>,
    /// Paths of its public imports, by the name of the last segment.
    exports: BTreeMap<String, Vec<String>>,
}

/// Expands `a::{b, c::{d, e as f}}` to `a::b`, `a::c::d` and `a::c::e as f`.
fn expanded(tree: &str) -> Vec<String> {
    let Some(open) = tree.find('{') else {
        return vec![tree.trim().to_string()];
    };
    let (prefix, list) = (tree[..open].trim(), &tree[open + 1..tree.rfind('}').unwrap()]);
    let mut paths = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (i, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !list[start..i].trim().is_empty() {
                    paths.extend(expanded(&list[start..i]).iter().map(|path| format!("{prefix}{path}")));
                }
                start = i + 1;
            }
            _ => {}
        }
    }
    paths
}

/// Returns a path that a file names, from the crate's root; None if it begins outside of the crate. `folders` are the
/// modules with a mod.rs.
fn from_root(file: &str, folders: &BTreeSet<String>, path: &str) -> Option<Vec<String>> {
    let mut at: Vec<String> = file.split('/').filter(|name| !name.is_empty()).map(str::to_string).collect();
    let mut rest: Vec<&str> =
        path.split("::").map(str::trim).filter(|segment| *segment != "self" && !segment.is_empty()).collect();
    let first = *rest.first()?;
    match first {
        "crate" => {
            at.clear();
            rest.remove(0);
        }
        "super" => {
            while rest.first() == Some(&"super") {
                at.pop();
                rest.remove(0);
            }
        }
        _ if !folders.contains(file) => return None,
        _ => {}
    }
    at.extend(rest.into_iter().map(str::to_string));
    Some(at)
}

/// Returns the paths that a file names.
fn names(file: &str, code: &str, folders: &BTreeSet<String>) -> Names {
    let mut names = Names::default();
    let mut statement = String::new();
    let mut imports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in code.lines().map(str::trim) {
        let begins = line.starts_with("use ") || line.starts_with("pub use ") || line.contains(") use ");
        if begins || !statement.is_empty() {
            statement.push_str(line);
            statement.push(' ');
        }
        if statement.is_empty() || !line.ends_with(';') {
            continue;
        }
        let (before, tree) = statement.split_once("use ").unwrap();
        for import in expanded(tree.trim_end().trim_end_matches(';')) {
            let (path, alias) =
                import.split_once(" as ").map_or((&import[..], None), |(path, name)| (path, Some(name)));
            let Some(path) = from_root(file, folders, path) else { continue };
            let Some(name) = alias.map(str::to_string).or_else(|| path.last().cloned()) else { continue };
            if before.starts_with("pub") {
                names.exports.insert(name, path);
            } else {
                names.uses.push(path.clone());
                imports.insert(name, path);
            }
        }
        statement.clear();
    }
    for path in paths_of(code, "crate::").chain(paths_of(code, "super::")) {
        names.uses.extend(from_root(file, folders, path));
    }
    for (name, path) in imports {
        let inside = format!("{name}::");
        names.uses.extend(paths_of(code, &inside).map(|found| {
            let rest = found[inside.len()..].split("::").filter(|segment| !segment.is_empty());
            path.iter().cloned().chain(rest.map(str::to_string)).collect()
        }));
    }
    names
}

/// Returns the paths in a piece of code that begin with `start`, without paths that end in a list, which are expanded.
fn paths_of<'c>(code: &'c str, start: &'c str) -> impl Iterator<Item = &'c str> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let begins = code.match_indices(start).filter(move |(at, _)| !code[..*at].ends_with(is_path));
    begins.filter_map(move |(at, _)| {
        let rest = &code[at..];
        let end = rest.find(|c| !is_path(c)).unwrap_or(rest.len());
        (!rest[end..].starts_with('{')).then_some(&rest[..end])
    })
}

/// Returns the file that defines what a path names. Follows exports; a name that a folder exports is not its file of
/// that name (`ops::definition`).
fn defining(all: &BTreeMap<String, Names>, path: &[String]) -> Option<String> {
    let is_file = |length: &usize| all.contains_key(&path[..*length].join("/"));
    let exported = |length: &usize| {
        let Some((last, folder)) = path.split_last().filter(|_| *length == path.len()) else { return false };
        all.get(&folder.join("/")).is_some_and(|names| names.exports.contains_key(last))
    };
    let length = (0..=path.len()).rev().find(|length| is_file(length) && !exported(length))?;
    let file = path[..length].join("/");
    match path.get(length).and_then(|name| all[&file].exports.get(name)) {
        Some(target) if target[..] != *path => defining(all, &[&target[..], &path[length + 1..]].concat()),
        _ => Some(file),
    }
}

#[test]
fn files_do_not_use_each_other_in_circles() {
    let mut edges = 0;
    let mut wrong = Vec::new();
    for (name, folder) in crates() {
        let (seen, circles) = circles(&sources_of(&folder));
        edges += seen;
        wrong.extend(circles.into_iter().map(|circle| format!("{name}: {circle}")));
    }
    assert!(edges > 500, "only {edges} uses found");
    assert!(wrong.is_empty(), "in circles, or using files that are:\n{}", wrong.join("\n"));
}

/// Returns how often files of a crate use each other, and the files that remain when files that use no remaining file
/// are taken away.
fn circles(sources: &BTreeMap<String, String>) -> (usize, Vec<String>) {
    // The file of a folder, mod.rs, uses the folder's files and is used by them. The crate's folder has an empty name.
    let folder_of = |name: &str| if name == "lib" { Some("") } else { name.strip_suffix("/mod") }.map(str::to_string);
    let folders: BTreeSet<String> = sources.keys().filter_map(|name| folder_of(name)).collect();
    let read = |(name, code): (&String, &String)| {
        let file = folder_of(name).unwrap_or_else(|| name.clone());
        let names = names(&file, code, &folders);
        (file, names)
    };
    let all: BTreeMap<String, Names> = sources.iter().map(read).collect();
    let mut graph: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (file, names) in all.iter().filter(|(file, _)| !folders.contains(*file)) {
        let uses = names.uses.iter().filter_map(|path| defining(&all, path));
        graph.insert(file, uses.filter(|other| other != file).collect());
    }
    let edges = graph.values().map(BTreeSet::len).sum();
    loop {
        let is_free = |uses: &BTreeSet<String>| uses.iter().all(|other| !graph.contains_key(other.as_str()));
        let free: Vec<&str> = graph.iter().filter(|(_, uses)| is_free(uses)).map(|(file, _)| *file).collect();
        if free.is_empty() {
            break;
        }
        free.iter().for_each(|file| {
            graph.remove(file);
        });
    }
    (edges, graph.iter().map(|(file, uses)| format!("{file} uses {uses:?}")).collect())
}

#[test]
fn imports_are_resolved() {
    let folders: BTreeSet<String> = [String::new(), String::from("ops")].into();
    assert_eq!(expanded("a::{b, c::{self, d}}"), ["a::b", "a::c::self", "a::c::d"]);
    let path = |file, text| from_root(file, &folders, text).map(|path| path.join("/"));
    assert_eq!(path("ops/shape/axes", "super::rules::RESHAPE").as_deref(), Some("ops/shape/rules/RESHAPE"));
    assert_eq!(path("ops/shape/axes", "crate::types::self").as_deref(), Some("types"));
    assert_eq!(path("ops", "table::definition").as_deref(), Some("ops/table/definition"));
    assert_eq!(path("", "table::definition").as_deref(), Some("table/definition"));
    assert_eq!(path("ops/shape/axes", "std::sync::Arc"), None);
    let export = names("ops", "mod table;\npub use table::{definition,\n    evaluate};", &folders);
    let user = names("transform/site", "use crate::ops::definition;", &folders);
    let all = BTreeMap::from([("ops".to_string(), export), ("ops/table".to_string(), Names::default())]);
    assert_eq!(defining(&all, &user.uses[0]).as_deref(), Some("ops/table"));
    let all = all.into_iter().chain([("ops/definition".to_string(), Names::default())]).collect();
    assert_eq!(defining(&all, &user.uses[0]).as_deref(), Some("ops/table"));
    let user = names("transform/site", "use crate::{error, ops as all};\nlet one = all::evaluate(2);", &folders);
    assert_eq!(defining(&all, user.uses.last().unwrap()).as_deref(), Some("ops/table"));
    let export = names("", "mod table;\npub use table::definition;", &folders);
    let user = names("site", "use super::definition;", &folders);
    let all = BTreeMap::from([(String::new(), export), ("table".to_string(), Names::default())]);
    assert_eq!(defining(&all, &user.uses[0]).as_deref(), Some("table"));
}
