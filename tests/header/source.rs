//! The source as cbindgen reads it: with pointers in place of the types of `src/capi/abi/pointers.rs`.

use crate::source;

/// A type of `abi/pointers.rs` and the pointer whose layout it has, with `T` for its parameter.
pub struct PointerType {
    name: String,
    pointer: String,
}

/// Reads the definitions `pub struct Name<'a, T>(*const T, ...);`.
pub fn pointer_types() -> Vec<PointerType> {
    let text = std::fs::read_to_string(source("abi/pointers")).unwrap();
    let definition = |line: &str| {
        let (head, field) = line.strip_prefix("pub struct ")?.split_once("(*")?;
        let name = head.split('<').next()?.to_string();
        Some(PointerType { name, pointer: format!("*{}", field.split([',', ')']).next()?) })
    };
    text.lines().filter_map(definition).collect()
}

/// Replaces the pointer types of a chapter by their pointers: cbindgen does not see through `repr(transparent)`.
pub fn with_pointers(text: &str, types: &[PointerType]) -> String {
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
