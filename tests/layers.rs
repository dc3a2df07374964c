//! The layers of the library: a module uses only modules of layers below its own. The table in src/lib.rs lists the
//! same layers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Modules by layer, the top one first.
const FLOORS: &[&[&str]] = &[
    &["capi"],
    &["env"],
    &["computation"],
    &["tensor"],
    &["sync"],
    &["device"],
    &["device_data"],
    &["transform"],
    &["lower", "interpret"],
    &["ops"],
    &["emit", "native"],
    &["ir"],
    &["cache"],
    &["engine"],
    &["io"],
    &["mesh"],
    &["types", "metrics", "later", "allocation", "stack"],
    &["log"],
    &["error"],
];

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
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
fn a_floor_uses_only_floors_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    let mut wrong = Vec::new();
    let mut seen = 0;
    for path in paths {
        let name = path.strip_prefix(&root).unwrap();
        let module = name.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs");
        let is_test = name.ends_with("tests.rs") || name.ends_with("testing.rs") || name.ends_with("binding_test.rs");
        if module == "lib" || is_test {
            continue;
        }
        let here = floor(module).unwrap_or_else(|| panic!("{module} has no floor"));
        for other in used(&code(&std::fs::read_to_string(&path).unwrap())) {
            seen += 1;
            // Macros of the crate's root have the names of their modules.
            let Some(there) = floor(&other) else { panic!("{}: crate::{other} has no floor", name.display()) };
            if other != module && there <= here {
                wrong.push(format!("{}: {module} uses {other}", name.display()));
            }
        }
    }
    assert!(seen > 500, "only {seen} uses found");
    assert!(wrong.is_empty(), "upwards:\n{}", wrong.join("\n"));
}

#[test]
fn lists_and_paths_are_found() {
    let found = used("use crate::{error, ir::{Op, Trace}, native};\nlet x = crate::types::DType::F32;");
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), ["error", "ir", "native", "types"]);
}
