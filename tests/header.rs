//! The committed header and the committed list of exported symbols are those of the source.
//!
//! `make header` writes them anew: it runs this test with LXLA_WRITE_HEADER=1.

use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files of src/capi, in the header's order.
const CHAPTERS: [&str; 25] = [
    "types",
    "constants",
    "library",
    "dtypes",
    "environment",
    "device",
    "tensor",
    "creation",
    "elementwise",
    "shape",
    "indexing",
    "sorting",
    "reduction",
    "linalg",
    "nn",
    "random",
    "computation",
    "control",
    "transform",
    "places",
    "mesh",
    "sync",
    "inspect",
    "save",
    "dlpack",
];

fn source(chapter: &str) -> std::path::PathBuf {
    root().join("src/capi").join(chapter).with_extension("rs")
}

fn generated_header() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let builder = CHAPTERS.iter().fold(cbindgen::Builder::new().with_config(config), |b, c| b.with_src(source(c)));
    let bindings = builder.generate().unwrap();
    let mut header = Vec::new();
    bindings.write(&mut header);
    CHAPTERS.iter().fold(String::from_utf8(header).unwrap(), |header, chapter| with_banner(header, chapter))
}

/// Adds a banner before the first function of a chapter, from the first line of the chapter's source.
fn with_banner(header: String, chapter: &str) -> String {
    let text = std::fs::read_to_string(source(chapter)).unwrap();
    let Some((_, function)) = text.split_once("extern \"C\" fn ") else { return header };
    let title = text.lines().next().unwrap().trim_start_matches("//! Chapter ");
    let name = function.split('(').next().unwrap();
    let declared = header.find(&format!(" {name}(")).or_else(|| header.find(&format!("*{name}("))).unwrap();
    let comment = header[..declared].rfind("/**").unwrap();
    format!("{}/* ---- {title} ---- */\n\n{}", &header[..comment], &header[comment..])
}

/// Lists the functions of a header, sorted, one per line.
fn functions(header: &str) -> String {
    let mut names: Vec<&str> = header
        .lines()
        .filter(|line| !line.starts_with([' ', '#', '/', '*']) && !line.starts_with("typedef"))
        .filter_map(|line| line.split('(').next().filter(|_| line.contains('(')))
        .filter_map(|declaration| declaration.rsplit([' ', '*']).next())
        .collect();
    names.sort_unstable();
    names.join("\n") + "\n"
}

fn check(path: &str, wanted: &str) {
    let path = root().join(path);
    if std::env::var_os("LXLA_WRITE_HEADER").is_some() {
        std::fs::write(&path, wanted).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == wanted, "{} is stale; run `make header` and commit it", path.display());
}

#[test]
fn header_is_not_stale() {
    let header = generated_header();
    check("include/lazyxla.h", &header);
    check("include/lazyxla.symbols", &functions(&header));
}

#[test]
fn every_file_of_the_folder_is_a_chapter() {
    let files = std::fs::read_dir(root().join("src/capi")).unwrap().map(|file| file.unwrap().path());
    let is_source = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let mut names: Vec<String> =
        files.filter(is_source).map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
    names.retain(|name| name != "mod" && !CHAPTERS.contains(&name.as_str()));
    assert!(names.is_empty(), "the header lacks the functions of {names:?}");
}

#[test]
fn version_macros_are_the_crates() {
    let header = generated_header();
    let macro_of = |name: &str| {
        let line = header.lines().find(|line| line.contains(&format!("LXLA_VERSION_{name}"))).unwrap();
        line.rsplit(' ').next().unwrap().to_string()
    };
    let version = ["MAJOR", "MINOR", "PATCH"].map(macro_of).join(".");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
}

/// Functions that the C++ wrapper need not have: C++ itself, or a more general function, covers them.
const C_ONLY: [&str; 9] = [
    "lxla_abi_version",
    "lxla_binary_scalar",
    "lxla_binary_scalar_inplace",
    "lxla_compare_scalar",
    "lxla_save_ticket_retain",
    "lxla_set_log_callback",
    "lxla_status_name",
    "lxla_tensor_dims",
    "lxla_tensor_release_many",
];

#[test]
fn the_cpp_wrapper_calls_every_function() {
    let folder = std::fs::read_dir(root().join("include/lazyxla")).unwrap();
    let wrapper: String = folder.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let words: std::collections::HashSet<&str> =
        wrapper.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let header = functions(&generated_header());
    let missing: Vec<&str> = header.lines().filter(|name| !words.contains(name) && !C_ONLY.contains(name)).collect();
    assert!(missing.is_empty(), "include/lazyxla/*.hpp lacks {missing:?}");
}
