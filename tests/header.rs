//! The committed header and the committed list of exported symbols are those of the source.
//!
//! `make header` writes them anew: it runs this test with LXLA_WRITE_HEADER=1.

use std::path::Path;
use std::sync::LazyLock;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files of src/capi, in the header's order.
const CHAPTERS: [&str; 25] = [
    "abi/types",
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

/// A type of `abi/pointers.rs` and the pointer whose layout it has, with `T` for its parameter.
struct PointerType {
    name: String,
    pointer: String,
}

/// Reads the definitions `pub struct Name<'a, T>(*const T, ...);`.
fn pointer_types() -> Vec<PointerType> {
    let text = std::fs::read_to_string(source("abi/pointers")).unwrap();
    let definition = |line: &str| {
        let (head, field) = line.strip_prefix("pub struct ")?.split_once("(*")?;
        let name = head.split('<').next()?.to_string();
        Some(PointerType { name, pointer: format!("*{}", field.split([',', ')']).next()?) })
    };
    text.lines().filter_map(definition).collect()
}

/// Replaces the pointer types of a chapter by their pointers: cbindgen does not see through `repr(transparent)`.
fn with_pointers(text: &str, types: &[PointerType]) -> String {
    let is_kept = |line: &str| ["//", "use ", "pub use "].iter().any(|start| line.trim_start().starts_with(start));
    let one = |line: &str| types.iter().fold(line.to_string(), |line, of| replaced(&line, of));
    text.lines().map(|line| if is_kept(line) { line.to_string() } else { one(line) } + "\n").collect()
}

/// Replaces a pointer type in a line: `List<'a, Text>` by `*const Text`.
fn replaced(line: &str, of: &PointerType) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let parts = line.match_indices(&of.name).map(|(at, name)| (&line[..at], &line[at + name.len()..]));
    let is_type = |(before, after): &(&str, &str)| {
        !before.ends_with(is_word) && !after.starts_with(|c| is_word(c) || c == '(' || c == ':')
    };
    let Some((before, after)) = parts.into_iter().find(is_type) else { return line.to_string() };
    let (arguments, rest) = match after.strip_prefix('<') {
        Some(generics) => {
            let end = closing(generics);
            (&generics[..end], &generics[end + 1..])
        }
        None => ("", after),
    };
    let argument = arguments.strip_prefix("'a").map_or(arguments, |rest| rest.trim_start_matches(", "));
    let pointer = match of.pointer.strip_suffix('T') {
        Some(star) => format!("{star}{argument}"),
        None => of.pointer.clone(),
    };
    format!("{before}{pointer}{}", replaced(rest, of))
}

/// Returns the position of the `>` that closes a list of generic arguments.
fn closing(generics: &str) -> usize {
    let mut depth = 1;
    let closes = |c: char| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0
    };
    generics.find(closes).unwrap()
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
    check("include/lazyxla.h", &HEADER);
    check("include/lazyxla.symbols", &functions(&HEADER));
}

#[test]
fn pointer_types_become_pointers() {
    let types = pointer_types();
    let of = |line: &str| with_pointers(line, &types).trim_end().to_string();
    assert_eq!(of("    pub names: List<'a, Text<'a>>,"), "    pub names: *const *const c_char,");
    assert_eq!(
        of("fn f(x: In<lxla_scalar>, y: Out<OwnedText>) {"),
        "fn f(x: *const lxla_scalar, y: *mut *mut c_char) {"
    );
    assert_eq!(
        of("fn f(a: List<i64>, b: List<i64>, c: BytesMut)"),
        "fn f(a: *const i64, b: *const i64, c: *mut c_void)"
    );
    for kept in ["/// Text of In.", "use super::{In, Text};", "let x = OwnedText::new(Inner);"] {
        assert_eq!(of(kept), kept);
    }
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
    let macro_of = |name: &str| {
        let line = HEADER.lines().find(|line| line.contains(&format!("LXLA_VERSION_{name}"))).unwrap();
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
    let header = functions(&HEADER);
    let missing: Vec<&str> = header.lines().filter(|name| !words.contains(name) && !C_ONLY.contains(name)).collect();
    assert!(missing.is_empty(), "include/lazyxla/*.hpp lacks {missing:?}");
}
