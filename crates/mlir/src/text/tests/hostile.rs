//! Texts that no writer wrote are refused, with the place, and cost little.

use super::{MODEL, SHARDED, message};
use crate::text::{attribute, read};
use proptest::prelude::*;

#[test]
fn errors_name_line_and_column() {
    for (text, expected) in [
        (
            "func.func @f() {\n  %0 = stablehlo.sine %1 : tensor<f32>\n}",
            "line 2, column 23: \"%1\" is not defined before this",
        ),
        ("func.func @f(%a: tensor<f32>, %a: tensor<f32>) { return }", "line 1, column 31: \"%a\" is defined twice"),
        ("func.func @f() {\n\n  return", "line 3, column 9: expected an operation, found the end of the text"),
        (
            "func.func @f() {\n  foo.bar\n}",
            "line 2, column 3: the operation \"foo.bar\" has no pretty form that is known",
        ),
        ("func.func @f(%a: tensor<f32>) { %b = stablehlo.sine %a : tensor<i32> return }", "used as tensor<i32>"),
        ("func.func @f(%a: tensor<f32>) { %b:2 = stablehlo.sine %a : tensor<f32> return }", "1 results, and 2 names"),
        ("func.func @f(%a: tensor<f32>) { return %a#1 : tensor<f32> }", "%a#1, but a has 1 values"),
        ("\"a.b\"() {x = 1, x = 2} : () -> ()", "the attribute \"x\" is given twice"),
        ("\"a.b\"() <{x = 1}> {x = 2} : () -> ()", "the attribute \"x\" is given twice"),
        ("\"a.b\"() {x = \"y} : () -> ()", "the string has no end"),
        ("\"a.b\"() {x = #y} : () -> ()", "\"#y\" is not defined"),
        ("#y = #z\n#z = #y\n\"a.b\"() {x = #y} : () -> ()", "the definition of \"#z\" uses itself"),
        ("#y = 1\n#y", "line 2, column 1: expected an operation or a definition"),
        ("#y = 1\n#y = 2", "line 2, column 1: \"#y\" is defined twice"),
        (
            "func.func @f() { return } %0 = \"a\"() : () -> i32 func.func @g() { return %0 : i32 }",
            "not defined before this",
        ),
        ("\"a\"() ({ %0 = \"b\"() : () -> i32 }) : () -> () \"c\"(%0) : (i32) -> ()", "not defined before this"),
    ] {
        let message = message(text);
        assert!(message.starts_with("line ") && message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn regions_see_the_values_around_them() {
    let text = "\"a\"() ({ ^b(%x: i32): \"c\"(%x) ({ %y = \"d\"(%x) : (i32) -> i32 }) : (i32) -> () }) : () -> ()";
    assert!(read(text).is_ok());
    assert!(message(&text.replace("%y", "%x")).contains("\"%x\" is defined twice"));
}

#[test]
fn depth_is_bounded() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    for text in [
        format!("\"a\"() {{x = {}}} : () -> ()", deep("[", "]")),
        format!("\"a\"() {{x = {}}} : () -> ()", deep("{a = ", "}")),
        format!("\"a\"() {{x = {}}} : () -> ()", deep("tuple<", ">")),
        format!("\"a\"() {{x = {}}} : () -> ()", deep("(", ")")),
        format!("\"a\"() {{x = {}}} : () -> ()", deep("#vhlo.array_v1<[", "]>")),
        format!("\"a\"() : () -> () loc({})", deep("callsite(", ")")),
        format!("\"a\"() : () -> () loc({})", deep("fused[", "]")),
        deep("\"a\"() ({", "}) : () -> ()"),
        deep("module {", "}"),
        format!("func.func @f() {{ {} }}", deep("stablehlo.while() cond { ", "} do {}")),
        "(".repeat(100_000),
    ] {
        assert!(message(&text).starts_with("line 1, column "));
    }
    let body = deep("<", ">");
    assert!(read(&format!("\"a\"() {{x = #mhlo.x{body}}} : () -> ()")).is_ok());
}

/// Small stacks suffice for texts of the greatest depth.
#[test]
fn the_greatest_depth_fits_a_small_stack() {
    let nested = |open: &str, close: &str| {
        (1..100).map(|n| format!("{}{}", open.repeat(n), close.repeat(n))).collect::<Vec<_>>()
    };
    let texts =
        [nested("\"a\"() ({", "}) : () -> ()"), nested("stablehlo.while() cond {} do {", "}"), nested("module {", "}")];
    let read_all = move || texts.map(|texts| texts.iter().filter(|text| read(text).is_ok()).count());
    let counts = std::thread::Builder::new().stack_size(1 << 20).spawn(read_all).unwrap().join().unwrap();
    assert!(counts.iter().all(|&count| (40..99).contains(&count)), "{counts:?}");
}

#[test]
fn long_chains_of_locations_are_shortened() {
    let mut text = String::from("\"a\"() : () -> () loc(#l0)\n");
    for i in 0..10_000 {
        text += &format!("#l{i} = loc(\"n\"(#l{}))\n", i + 1);
    }
    text += "#l10000 = loc(unknown)\n";
    assert_eq!(read(&text).unwrap().operations[0].location.name(), Some("n"));
}

#[test]
fn aliases_that_stand_for_too_much_are_refused() {
    for (first, next) in [
        ("!t0 = f32", "!tN = tuple<!tM, !tM>"),
        ("#t0 = 1", "#tN = [#tM, #tM]"),
        ("#t0 = loc(\"a\")", "#tN = loc(fused[#tM, #tM])"),
    ] {
        let mut text = format!("{first}\n");
        for i in 1..60 {
            text += &next.replace('N', &i.to_string()).replace('M', &(i - 1).to_string());
            text.push('\n');
        }
        assert!(message(&text).contains("stand for too much"));
    }
}

#[test]
fn counts_are_not_trusted() {
    for text in [
        "%0:4294967295 = \"a\"() : () -> ()",
        "%0:99999999999999999999 = \"a\"() : () -> i32",
        "\"a\"() {x = tensor<99999999999999999999xf32>} : () -> ()",
        "\"a\"() {x = #stablehlo.conv<[b, f, 0, 9999999999]x[i, o, 0, 1]->[b, f, 0, 1]>} : () -> ()",
        "\"a\"() {x = 1 : i99999} : () -> ()",
    ] {
        message(text);
    }
}

#[test]
fn truncated_texts_are_refused() {
    for text in [MODEL[0], MODEL[1], SHARDED[0], SHARDED[1]] {
        for end in (0..text.len()).filter(|end| end % 97 == 0 && text.is_char_boundary(*end)) {
            if let Err(error) = read(&text[..end]) {
                assert!(error.message.starts_with("line "), "{error}");
            }
        }
    }
    assert!(attribute("").is_err());
}

/// Pieces that are put into texts at random places.
const PIECES: &[&str] = &[
    "<", ">", "(", ")", "{", "}", "[", "]", "->", "loc(", "#loc1", "!t", "dense<", "\"", "tensor<", "1000000000000x",
    "?x", "-", "%0", "#1", ":", ",", "=", "^bb0", "@", "//", "{-#", "#-}", "\\", "\u{e9}", "999999999999999999999",
    "array<i64: ", "%0:4000000000 =", "complex<", "#stablehlo.conv<", "callsite(", "stablehlo.reduce(",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_texts_do_no_harm(
        which in 0..4usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..40usize, 0..PIECES.len()), 1..4),
    ) {
        let mut text = [MODEL[0], MODEL[1], SHARDED[0], SHARDED[1]][which].to_owned();
        for (at, removed, piece) in changes {
            let start = at.index(text.len() + 1);
            let end = (start + removed).min(text.len());
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                text.replace_range(start..end, PIECES[piece]);
            }
        }
        if let Err(error) = read(&text) {
            prop_assert!(error.message.starts_with("line "), "{}", error);
        }
    }
}
