//! A hash of the sources of all crates, which is part of the keys of cached programs.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let crates = std::fs::read_dir(Path::new(&root).join("crates")).unwrap();
    let mut folders: Vec<_> = crates.map(|entry| entry.unwrap().path().join("src")).collect();
    folders.push(Path::new(&root).join("src"));
    folders.sort();
    let mut hasher = DefaultHasher::new();
    for folder in folders {
        println!("cargo:rerun-if-changed={}", folder.display());
        hash_folder(&folder, &mut hasher);
    }
    println!("cargo:rustc-env=LXLA_SOURCE_HASH={:016x}", hasher.finish());
}

/// Hashes the names and contents of all files below a folder, in the order of their names.
fn hash_folder(folder: &Path, hasher: &mut DefaultHasher) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        path.file_name().hash(hasher);
        if path.is_dir() {
            hash_folder(&path, hasher);
        } else {
            std::fs::read(&path).unwrap().hash(hasher);
        }
    }
}
