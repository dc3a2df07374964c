//! The source tree, in whose build folder `make plugin` leaves plugins; a hash of the sources.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src");
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    // A release names no folder of the machine on which it was built.
    println!("cargo:rerun-if-env-changed=LXLA_RELEASE");
    let named_root = if std::env::var_os("LXLA_RELEASE").is_some() { "" } else { root.as_str() };
    println!("cargo:rustc-env=LXLA_BUILD_ROOT={named_root}");
    let mut hasher = DefaultHasher::new();
    hash_folder(&Path::new(&root).join("src"), &mut hasher);
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
