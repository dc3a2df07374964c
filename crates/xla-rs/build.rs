//! Compiles the conversion of StableHLO, links the libraries of `XLA_EXTENSION_DIR`, and names the library for C.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/stablehlo.cc");
    println!("cargo:rerun-if-env-changed=XLA_EXTENSION_DIR");
    let folder = std::env::var("XLA_EXTENSION_DIR")
        .expect("the crate lazyxla-xla-rs needs XLA_EXTENSION_DIR; `make test-xla-rs` makes such a folder");
    let (include, lib) = (Path::new(&folder).join("include"), Path::new(&folder).join("lib"));
    assert!(
        lib.join("libxla_extension.so").exists(),
        "XLA_EXTENSION_DIR is {folder}, which has no lib/libxla_extension.so"
    );
    // As the crate xla compiles its own C++: XLA's classes have further members without NDEBUG.
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .define("NDEBUG", None)
        .include(include)
        .warnings(false)
        .file("src/stablehlo.cc")
        .compile("lazyxla_stablehlo");
    // The crate's own build script sets the run path of its tests only.
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
    // As in the library's build script: this one takes its place.
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap();
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liblazyxla.so.{major}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // For tests/oracle, which is a test of two crates: links this one.
    println!("cargo:rustc-cfg=engine_xla_rs");
}
