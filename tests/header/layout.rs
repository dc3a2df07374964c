//! The order of the header: each type and each family of constants stands in the first chapter that uses it.

use crate::{CHAPTERS, source};
use lazyxla::capi::constants::Family;

/// A declaration with its comment.
#[derive(Clone)]
struct Item {
    text: String,
    /// Name of the type or function; empty for a macro.
    name: String,
    is_type: bool,
}

/// Rearranges the header of cbindgen, and adds constants and the titles of the chapters.
pub fn arranged(header: &str, families: &[Family]) -> String {
    let start = header.find("#define LXLA_ABI_VERSION").and_then(|at| header[..at].rfind("/**")).unwrap();
    let opening = header.find("#ifdef __cplusplus").unwrap();
    let after_opening = opening + header[opening..].find("#endif").unwrap();
    let functions = after_opening + header[after_opening..].find("/**").unwrap();
    let end = header.rfind("#ifdef __cplusplus").unwrap();
    let items = [items(&header[start..opening]), items(&header[functions..end])].concat();
    let mut arranged = format!("{}{}", &header[..start], &header[opening..functions]);
    let placed: Vec<&str> = places(&items);
    for chapter in CHAPTERS.into_iter().filter(|chapter| *chapter != "abi/types") {
        let own = |is_type: bool| {
            let pairs = items.iter().zip(&placed);
            pairs
                .filter(move |(item, at)| **at == chapter && item.is_type == is_type)
                .map(|(item, _)| item.text.clone())
        };
        let constants = families.iter().filter(|family| family.chapter == chapter).map(constants);
        let parts: Vec<String> = [format!("/* ---- {} ---- */", title(chapter))]
            .into_iter()
            .chain(constants)
            .chain(own(true))
            .chain(own(false))
            .collect();
        arranged += &(parts.join("\n\n") + "\n\n");
    }
    arranged + &header[end..]
}

/// Splits declarations, each with the comment before it.
fn items(declarations: &str) -> Vec<Item> {
    let parts = declarations.split("\n\n").map(str::trim).filter(|part| !part.is_empty());
    parts.map(item).collect()
}

fn item(text: &str) -> Item {
    let declaration = text.strip_prefix("/**").map_or(text, |rest| rest.split_once("*/").unwrap().1.trim_start());
    let word = |text: &str| text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_string();
    let is_type = declaration.starts_with("typedef");
    let name = match declaration {
        _ if declaration.starts_with("#define") => String::new(),
        _ if is_type && declaration.contains("(*") => word(declaration.split(")(").next().unwrap()),
        _ if is_type => word(declaration.trim_end_matches(';')),
        _ => word(declaration.split('(').next().unwrap()),
    };
    Item { text: text.to_string(), name, is_type }
}

/// Returns the chapter of each item: that of a function is its file, and that of a type the first one that has a
/// function or a type which uses it.
fn places(items: &[Item]) -> Vec<&'static str> {
    let texts: Vec<(&str, String)> =
        CHAPTERS.iter().map(|&chapter| (chapter, std::fs::read_to_string(source(chapter)).unwrap())).collect();
    let defines = |name: &str| {
        let head = format!("extern \"C\" fn {name}(");
        texts.iter().find(|(_, text)| text.contains(&head)).map(|(chapter, _)| *chapter)
    };
    let order = |chapter: &str| CHAPTERS.iter().position(|other| *other == chapter).unwrap();
    let mut places: Vec<Option<&str>> = items.iter().map(|item| defines(&item.name)).collect();
    // A type precedes what uses it, so that the last type is placed first.
    for at in (0..items.len()).rev() {
        if items[at].is_type {
            let users = items.iter().zip(&places).filter(|(item, _)| item.name != items[at].name);
            let users = users.filter(|(item, _)| uses(&item.text, &items[at].name));
            places[at] = users.filter_map(|(_, place)| *place).min_by_key(|chapter| order(chapter));
        }
    }
    places.into_iter().map(|place| place.unwrap_or("library")).collect()
}

/// Whether a declaration names a type, not counting its comments.
fn uses(text: &str, name: &str) -> bool {
    let code = text.lines().filter(|line| !line.trim_start().starts_with(['/', '*'])).collect::<Vec<_>>().join("\n");
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

/// Returns the title of a chapter, which is in the first line of its file.
pub fn title(chapter: &str) -> String {
    let text = std::fs::read_to_string(source(chapter)).unwrap();
    text.lines().next().unwrap().trim_start_matches("//! Chapter ").to_string()
}

fn constants(family: &Family) -> String {
    let line = |of: &lazyxla::capi::constants::Constant| {
        format!("#define {}{} {} /**< {} */", family.prefix, of.name, of.number, of.about.trim())
    };
    let lines: Vec<String> = family.constants.iter().map(line).collect();
    format!("/* {} */\n{}", family.title, lines.join("\n"))
}
