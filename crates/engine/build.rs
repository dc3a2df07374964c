//! The source tree, in whose build folder `make plugin` leaves plugins.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A release names no folder of the machine on which it was built.
    println!("cargo:rerun-if-env-changed=LXLA_RELEASE");
    let crates = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("..");
    let root = crates.canonicalize().unwrap().parent().unwrap().display().to_string();
    let named = if std::env::var_os("LXLA_RELEASE").is_some() { "" } else { root.as_str() };
    println!("cargo:rustc-env=LXLA_BUILD_ROOT={named}");
}
