//! The state of the reader, and how it reads words, lists and numbers.

use super::super::{Attribute, Type};
use super::aliases::Aliases;
use super::formats::Part;
use super::lexer::{Lexer, Token};
use super::scopes::Scopes;
use base::error::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// Greatest depth of regions, attributes, types and locations within each other.
const MAX_DEPTH: usize = 96;

/// The state of the reader.
pub struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The next word.
    pub token: Token<'t>,
    /// Offset of the next word.
    pub start: usize,
    /// Offset of the end of the word before.
    end: usize,
    /// Depth of what is being read.
    pub depth: usize,
    /// Greatest depth since it was last set.
    pub deepest: usize,
    /// Number of types, attributes and locations that the module holds if each use of an alias is counted.
    weight: usize,
    /// Definitions of `#name` and `!name`, and resources.
    pub aliases: Aliases<'t>,
    /// Names of values.
    pub scopes: Scopes<'t>,
    /// Types of the values.
    pub types: Vec<Arc<Type>>,
    /// Types of tensors by their texts.
    pub tensors: FxHashMap<&'t str, Arc<Type>>,
    /// Names and forms of operations by the words that stand for them.
    pub forms: FxHashMap<&'t str, (Arc<str>, Option<&'static [Part]>)>,
    /// An empty list that has room, for the attributes of the next operation.
    pub spare: Named,
    names: FxHashSet<Arc<str>>,
    known_types: FxHashSet<Arc<Type>>,
}

/// A list of integers while it is read.
pub type Integers = SmallVec<[i64; 8]>;

/// Attributes of an operation while it is read.
pub type Named = Vec<(Arc<str>, Attribute)>;

impl<'t> Parser<'t> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'t str) -> Result<Parser<'t>> {
        let mut lexer = Lexer { text, at: 0 };
        let aliases = Aliases::of(text)?;
        lexer.skip_blanks();
        let start = lexer.at;
        let token = lexer.next()?;
        Ok(Parser {
            lexer,
            token,
            start,
            end: 0,
            depth: 0,
            deepest: 0,
            weight: 0,
            aliases,
            scopes: Scopes::default(),
            types: Vec::new(),
            tensors: FxHashMap::default(),
            forms: FxHashMap::default(),
            spare: Named::new(),
            names: FxHashSet::default(),
            known_types: FxHashSet::default(),
        })
    }

    /// Advances by one word.
    pub fn bump(&mut self) -> Result<()> {
        self.end = self.lexer.at;
        self.lexer.skip_blanks();
        self.start = self.lexer.at;
        self.token = self.lexer.next()?;
        Ok(())
    }

    /// Goes on at an offset of the text.
    pub fn seek(&mut self, offset: usize) -> Result<()> {
        self.lexer.at = offset;
        self.bump()
    }

    /// Returns the text from an offset to the end of the word before the next one.
    pub fn since(&self, from: usize) -> &'t str {
        &self.lexer.text[from..self.end.max(from)]
    }

    /// Returns the text from an offset on.
    pub fn rest(&self, from: usize) -> &'t str {
        &self.lexer.text[from..]
    }

    /// Returns the text after the next word.
    pub fn after(&self) -> &'t str {
        &self.lexer.text[self.lexer.at..]
    }

    /// Returns an error at an offset.
    pub fn refuse_at(&self, offset: usize, message: impl Into<String>) -> Error {
        self.lexer.refuse(offset, message.into())
    }

    /// Returns an error at the next word.
    pub fn refuse(&self, message: impl Into<String>) -> Error {
        self.refuse_at(self.start, message)
    }

    /// Returns the error that something else stands at the next word.
    pub fn expected(&self, what: &str) -> Error {
        self.refuse(format!("expected {what}, found {}", self.token.shown()))
    }

    /// Returns true if the next word is this punctuation.
    pub fn is(&self, sign: char) -> bool {
        matches!(self.token, Token::Sign(found) if found == sign)
    }

    /// Returns true if the next word is this keyword.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.token, Token::Word(found) if found == word)
    }

    /// Skips punctuation if it is next; returns whether it was.
    pub fn take(&mut self, sign: char) -> Result<bool> {
        let found = self.is(sign);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    /// Skips a keyword if it is next; returns whether it was.
    pub fn take_word(&mut self, word: &str) -> Result<bool> {
        let found = self.is_word(word);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    /// Skips punctuation, which has to be next.
    pub fn expect(&mut self, sign: char) -> Result<()> {
        if self.take(sign)? { Ok(()) } else { Err(self.expected(&format!("{:?}", sign.to_string()))) }
    }

    /// Skips a keyword, which has to be next.
    pub fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word)? { Ok(()) } else { Err(self.expected(&format!("{word:?}"))) }
    }

    /// Skips an arrow, which has to be next.
    pub fn expect_arrow(&mut self) -> Result<()> {
        if !matches!(self.token, Token::Arrow) {
            return Err(self.expected("\"->\""));
        }
        self.bump()
    }

    /// Reads a keyword or an identifier.
    pub fn word(&mut self, what: &str) -> Result<&'t str> {
        let Token::Word(word) = self.token else { return Err(self.expected(what)) };
        self.bump()?;
        Ok(word)
    }

    /// Reads a string; returns its bytes.
    pub fn string(&mut self, what: &str) -> Result<Arc<[u8]>> {
        let Token::String(raw) = self.token else { return Err(self.expected(what)) };
        let bytes = unescaped(raw).ok_or_else(|| self.refuse("a string has an unknown escape"))?;
        self.bump()?;
        Ok(bytes.into())
    }

    /// Reads a string in UTF-8.
    pub fn text(&mut self, what: &str) -> Result<Arc<str>> {
        let start = self.start;
        let bytes = self.string(what)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| self.refuse_at(start, format!("{what} is not UTF-8")))?;
        Ok(self.name(text))
    }

    /// Reads a decimal integer with its sign.
    pub fn integer(&mut self, what: &str) -> Result<i64> {
        let start = self.start;
        let negative = self.take('-')?;
        let Token::Integer(digits) = self.token else { return Err(self.expected(what)) };
        let value = digits.parse().ok().map(|value: i128| if negative { -value } else { value });
        let value = value.and_then(|value| i64::try_from(value).ok());
        let value = value.ok_or_else(|| self.refuse_at(start, format!("{what} is not an integer of 64 bits")))?;
        self.bump()?;
        Ok(value)
    }

    /// Reads `true` or `false`.
    pub fn boolean(&mut self) -> Result<bool> {
        match self.word("\"true\" or \"false\"")? {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.refuse("expected \"true\" or \"false\" before this")),
        }
    }

    /// Reads a list in brackets with commas between its items.
    pub fn list<T>(&mut self, open: char, close: char, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.listed(open, close, item)
    }

    /// Reads one or more items with commas between them.
    pub fn items<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.itemized(item)
    }

    /// Does what [`Parser::list`] does, for a list that need not allocate.
    pub fn listed<T, L: Default + Extend<T>>(
        &mut self,
        open: char,
        close: char,
        item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<L> {
        self.expect(open)?;
        if self.take(close)? {
            return Ok(L::default());
        }
        let items = self.itemized(item)?;
        self.expect(close)?;
        Ok(items)
    }

    /// Does what [`Parser::items`] does, for a list that need not allocate.
    pub fn itemized<T, L: Default + Extend<T>>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<L> {
        let mut items = L::default();
        loop {
            items.extend([item(self)?]);
            if !self.take(',')? {
                return Ok(items);
            }
        }
    }

    /// Reads `[1, 2]`; `?` counts as [`super::super::FREE`].
    pub fn integers(&mut self, what: &str) -> Result<Integers> {
        self.listed('[', ']', |p| if p.take('?')? { Ok(super::super::FREE) } else { p.integer(what) })
    }

    /// Reads something that may contain itself.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.is_too_deep(0) {
            return Err(self.refuse(format!("more than {MAX_DEPTH} levels within each other")));
        }
        self.deepest = self.deepest.max(self.depth);
        self.weigh(1)?;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Returns true if something of this depth would be too deep here.
    pub fn is_too_deep(&self, depth: usize) -> bool {
        self.depth + depth > MAX_DEPTH
    }

    /// Counts types, attributes and locations. An alias stands for what it means, wherever it is used: short texts may
    /// mean more than memory could hold if it were written out.
    pub fn weigh(&mut self, weight: usize) -> Result<()> {
        self.weight = self.weight.saturating_add(weight);
        if self.weight > (1 << 20) + 256 * self.lexer.text.len() {
            return Err(self.refuse("the aliases of this text stand for too much"));
        }
        Ok(())
    }

    /// The number of types, attributes and locations so far.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Returns a shared copy of a name.
    pub fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let shared: Arc<str> = name.into();
        self.names.insert(shared.clone());
        shared
    }

    /// Returns a shared copy of a type.
    pub fn shared(&mut self, ty: Type) -> Arc<Type> {
        if let Some(known) = self.known_types.get(&ty) {
            return known.clone();
        }
        let shared = Arc::new(ty);
        self.known_types.insert(shared.clone());
        shared
    }
}

/// Replaces the escapes of a string; None if one is unknown.
pub fn unescaped(raw: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let (&escape, after) = rest.split_first()?;
        rest = after;
        let simple = match escape {
            b'n' => Some(b'\n'),
            b't' => Some(b'\t'),
            b'"' | b'\\' => Some(escape),
            _ => None,
        };
        bytes.push(match simple {
            Some(byte) => byte,
            None => {
                let (&low, after) = rest.split_first()?;
                rest = after;
                hex_digit(escape)? << 4 | hex_digit(low)?
            }
        });
    }
    Some(bytes)
}

/// Returns the value of a hexadecimal digit.
pub fn hex_digit(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}
