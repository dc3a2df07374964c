//! The committed header, the list of exported symbols, the files of the C++ wrapper that are made from constants, and
//! the list of numbers that C tests check are those of the source.
//!
//! `make header` writes them: it runs this test with LXLA_WRITE_HEADER=1.

mod cpp;
mod ctypes;
mod description;
mod facts;
mod frozen;
mod layout;
mod reading;
mod source;

use lazyxla::capi::constants::families;
use source::{pointer_types, with_pointers};
use std::path::Path;
use std::sync::LazyLock;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files of src/capi, in the header's order.
const CHAPTERS: [&str; 30] = [
    "abi/types", "library", "dtypes", "environment", "device", "tensor", "creation", "elementwise", "shape",
    "indexing", "sorting", "reduction", "linalg", "factorization", "nn", "random", "computation", "control", "kernels",
    "transform", "import", "export", "executable", "meshes", "mesh", "sync", "inspect", "seeing", "save", "dlpack",
];

fn source(chapter: &str) -> std::path::PathBuf {
    root().join("src/capi").join(chapter).with_extension("rs")
}

/// The header, generated once.
static HEADER: LazyLock<String> = LazyLock::new(generated_header);

fn generated_header() -> String {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let types = pointer_types();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
    std::fs::create_dir_all(&folder).unwrap();
    let builder = CHAPTERS.iter().fold(cbindgen::Builder::new().with_config(config), |builder, chapter| {
        let path = folder.join(chapter.replace('/', "_")).with_extension("rs");
        std::fs::write(&path, with_pointers(&std::fs::read_to_string(source(chapter)).unwrap(), &types)).unwrap();
        builder.with_src(path)
    });
    let bindings = builder.generate().unwrap();
    let mut header = Vec::new();
    bindings.write(&mut header);
    layout::arranged(&String::from_utf8(header).unwrap(), &families())
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

fn committed(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_default()
}

fn check(path: &str, wanted: &str) {
    let path = root().join(path);
    if std::env::var_os("LXLA_WRITE_HEADER").is_some() {
        std::fs::write(&path, wanted).unwrap();
    }
    assert!(
        committed(path.to_str().unwrap()) == wanted,
        "{} is stale; run `make header` and commit it",
        path.display()
    );
}

#[test]
fn header_is_not_stale() {
    check("include/lazyxla.h", &HEADER);
    check("include/lazyxla.symbols", &functions(&HEADER));
    check("include/lazyxla.json", &description::json(&families()));
    check("include/lazyxla/members.hpp", &cpp::members(&families()));
    check("include/lazyxla/constants.hpp", &cpp::constants(&families()));
    check("c_tests/abi/frozen.h", &frozen::list(&committed("c_tests/abi/frozen.h"), &families(), &functions(&HEADER)));
}

#[test]
fn a_reader_meets_a_function_soon() {
    let first = HEADER.lines().position(|line| line.contains(" lxla_abi_version(void);")).unwrap();
    assert!(first < 500, "the first function is in line {first}");
}

#[test]
fn a_constant_is_one_line() {
    let lines: Vec<&str> = HEADER.lines().filter(|line| line.starts_with("#define LXLA_")).collect();
    for family in families() {
        for of in &family.constants {
            let start = format!("#define {}{} {} /**< ", family.prefix, of.name, of.number);
            let line = lines.iter().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no {start}"));
            assert!(line.len() <= 120 && line.ends_with(". */"), "{line}");
        }
    }
}

#[test]
fn every_file_of_the_folder_is_a_chapter() {
    let files = std::fs::read_dir(root().join("src/capi")).unwrap().map(|file| file.unwrap().path());
    let is_source = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let mut names: Vec<String> =
        files.filter(is_source).map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect();
    names.retain(|name| !["mod", "constants"].contains(&name.as_str()) && !CHAPTERS.contains(&name.as_str()));
    assert!(names.is_empty(), "the header lacks the functions of {names:?}");
}

#[test]
fn version_macros_are_the_crates() {
    let macro_of = |name: &str| {
        let line = HEADER.lines().find(|line| line.contains(&format!("LXLA_VERSION_{name}"))).unwrap();
        line.rsplit(' ').next().unwrap().to_string()
    };
    let version = ["MAJOR", "MINOR", "PATCH"].map(macro_of).join(".");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
}

/// Functions that the C++ wrapper need not have: C++ itself, or a more general function, covers them.
const C_ONLY: [&str; 8] = [
    "lxla_abi_version", "lxla_binary_scalar", "lxla_binary_scalar_inplace", "lxla_compare_scalar",
    "lxla_save_ticket_retain", "lxla_status_name", "lxla_tensor_dims", "lxla_tensor_release_many",
];

#[test]
fn the_cpp_wrapper_calls_every_function() {
    let folder = std::fs::read_dir(root().join("include/lazyxla")).unwrap();
    let wrapper: String = folder.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let words: std::collections::HashSet<&str> =
        wrapper.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let header = functions(&HEADER);
    let missing: Vec<&str> = header.lines().filter(|name| !words.contains(name) && !C_ONLY.contains(name)).collect();
    assert!(missing.is_empty(), "include/lazyxla/*.hpp lacks {missing:?}");
}

/// The wrapper passes this struct on as it is.
const PASSED_ON: &str = "lxla_kernel_options";

#[test]
fn the_cpp_wrapper_sets_every_option() {
    let folder = std::fs::read_dir(root().join("include/lazyxla")).unwrap();
    let wrapper: String = folder.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let description: serde_json::Value = serde_json::from_str(&description::json(&families())).unwrap();
    let text = |of: &serde_json::Value| of["name"].as_str().unwrap().to_string();
    let types = description["types"].as_array().unwrap();
    let options = types.iter().filter(|of| text(of).ends_with("_options") && text(of) != PASSED_ON);
    let fields =
        options.flat_map(|of| of["fields"].as_array().unwrap().iter().map(move |field| (text(of), text(field))));
    let is_set = |field: &str| wrapper.contains(&format!("options.{field} ="));
    let missing: Vec<_> =
        fields.filter(|(_, name)| !["struct_size", "reserved"].contains(&&**name) && !is_set(name)).collect();
    assert!(missing.is_empty(), "include/lazyxla/*.hpp does not set {missing:?}");
}
