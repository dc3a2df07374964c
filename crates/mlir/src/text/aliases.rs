//! Definitions of aliases, `#name = attribute` and `!name = type`, and of resources. They are found before the text is
//! read, because locations use aliases that the end of the text defines.

use super::super::{Attribute, Type};
use super::lexer::Lexer;
use base::error::Result;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What an alias stands for.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// An attribute, or a location.
    Attribute(Attribute),
    /// A type.
    Type(Arc<Type>),
}

/// A definition that was read.
#[derive(Clone, Debug)]
pub struct Known {
    /// What it stands for.
    pub meaning: Meaning,
    /// Offset of the end of the definition.
    pub end: usize,
    /// Number of types, attributes and locations in it.
    pub weight: usize,
    /// Depth of what is in it.
    pub depth: usize,
}

/// A definition.
#[derive(Debug)]
pub struct Alias {
    /// Offset of its name.
    pub name_at: usize,
    /// Offset of what the alias stands for.
    pub at: usize,
    /// Whether it is being read: then it must not be used.
    pub busy: bool,
    /// What was read.
    pub known: Option<Known>,
}

/// Elements of a resource.
pub struct Resource {
    /// Offset of the string that holds them.
    pub at: usize,
    /// The elements, once they were read.
    pub bytes: Option<Arc<Vec<u8>>>,
}

/// All definitions of a text.
#[derive(Default)]
pub struct Aliases<'t> {
    /// Aliases by their names with `#` or `!`.
    pub aliases: FxHashMap<&'t str, Alias>,
    /// Offset of `{-#`, which starts the resources.
    pub resources_at: Option<usize>,
    /// Resources by their names; empty until they were read.
    pub resources: FxHashMap<Arc<str>, Resource>,
}

impl<'t> Aliases<'t> {
    /// Finds the definitions: they are outside of all brackets.
    pub fn of(text: &'t str) -> Result<Aliases<'t>> {
        let mut found = Aliases::default();
        let bytes = text.as_bytes();
        let mut lexer = Lexer { text, at: 0 };
        let mut depth = 0usize;
        loop {
            lexer.skip_to_structure();
            let start = lexer.at;
            let Some(&byte) = bytes.get(start) else { return Ok(found) };
            lexer.at += 1;
            match byte {
                b'"' => lexer.skip_string(start)?,
                b'/' if bytes.get(start + 1) == Some(&b'/') => lexer.skip_line(),
                b'(' | b'[' | b'{' => {
                    if depth == 0 && text[start..].starts_with("{-#") {
                        found.resources_at = Some(start);
                    }
                    depth += 1;
                }
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b'#' | b'!' if depth == 0 => found.definition(&mut lexer, start)?,
                _ => {}
            }
        }
    }

    /// Records the alias that starts with the sign at `start`, if it is a definition.
    fn definition(&mut self, lexer: &mut Lexer<'t>, start: usize) -> Result<()> {
        let text = lexer.text;
        lexer.skip_suffix();
        let name = &text[start..lexer.at];
        lexer.skip_blanks();
        if name.len() == 1 || text.as_bytes().get(lexer.at) != Some(&b'=') {
            return Ok(());
        }
        let alias = Alias { name_at: start, at: lexer.at + 1, busy: false, known: None };
        if self.aliases.insert(name, alias).is_some() {
            return Err(lexer.refuse(start, format!("{} is defined twice", base::error::quoted(name))));
        }
        Ok(())
    }
}
