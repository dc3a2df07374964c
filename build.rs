//! Link arguments of the shared library, and the source tree, in whose build folder `make plugin` leaves plugins.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap();
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    println!("cargo:rustc-env=LXLA_BUILD_ROOT={root}");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liblazyxla.so.{major}");
        // Our exit handler and a plugin's threads outlive any dlclose, so the code must stay mapped.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
