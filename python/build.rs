//! Links the module to the shared library, in `lib` beside the module at run time.
fn main() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(|root| root.display().to_string());
    let folder = std::env::var("LAZYXLA_LIBRARY_DIR").ok().or(root.map(|root| format!("{root}/target/release")));
    println!("cargo:rerun-if-env-changed=LAZYXLA_LIBRARY_DIR");
    if let Some(folder) = folder {
        println!("cargo:rustc-link-search=native={folder}");
    }
    println!("cargo:rustc-link-lib=dylib=lazyxla");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN/lib");
}
