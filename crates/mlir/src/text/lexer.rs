//! Words of MLIR's textual form.

use base::error;
use base::error::{Result, quoted};

/// A word of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'t> {
    /// End of the text.
    End,
    /// A keyword or an identifier, with its dots: `stablehlo.add`, `tensor`, `x3xf32`.
    Word(&'t str),
    /// `%name`, without the sign.
    Value(&'t str),
    /// `^name`, without the sign.
    Block(&'t str),
    /// `@name` or `@"name"`, without the sign; a quoted name with its quotes.
    Symbol(&'t str),
    /// `#name`, without the sign: an alias, an attribute of a dialect, or the number of a result.
    Hash(&'t str),
    /// `!name`, without the sign: an alias or a type of a dialect.
    Bang(&'t str),
    /// An integer without a sign, decimal or hexadecimal.
    Integer(&'t str),
    /// A floating-point number without a sign.
    Float(&'t str),
    /// A string, without its quotes and with its escapes.
    String(&'t str),
    /// `->`
    Arrow,
    /// Punctuation.
    Sign(char),
}

/// A position from which words are read.
#[derive(Clone, Copy, Debug)]
pub struct Lexer<'t> {
    /// The text.
    pub text: &'t str,
    /// Offset in bytes of the next word, or of the blanks before it.
    pub at: usize,
}

/// Kinds of bytes, of which a byte may have several.
const BLANK: u8 = 1;
const WORD: u8 = 2;
const SUFFIX: u8 = 4;
const STRUCTURE: u8 = 8;

/// The kinds of each byte: most of a text is passed by looking at nothing else.
static KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        if c.is_ascii_whitespace() {
            kinds[byte] |= BLANK;
        }
        if c.is_ascii_alphanumeric() || matches!(c, b'$' | b'.' | b'_') {
            kinds[byte] |= WORD | SUFFIX;
        }
        if c == b'-' {
            kinds[byte] |= SUFFIX;
        }
        if matches!(c, b'"' | b'/' | b'(' | b'[' | b'{' | b')' | b']' | b'}' | b'#' | b'!') {
            kinds[byte] |= STRUCTURE;
        }
        byte += 1;
    }
    kinds
};

fn is(kind: u8) -> impl Fn(u8) -> bool {
    move |byte| KINDS[byte as usize] & kind != 0
}

impl<'t> Lexer<'t> {
    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Returns the first offset from `at` on whose byte does not satisfy the condition.
    #[inline]
    fn end_of(&self, at: usize, accept: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text.as_bytes()[at..];
        at + rest.iter().position(|&byte| !accept(byte)).unwrap_or(rest.len())
    }

    /// Skips blanks and comments.
    pub fn skip_blanks(&mut self) {
        loop {
            self.at = self.end_of(self.at, is(BLANK));
            if self.byte(self.at) != b'/' || self.byte(self.at + 1) != b'/' {
                return;
            }
            self.skip_line();
        }
    }

    /// Skips the rest of the line.
    pub fn skip_line(&mut self) {
        self.at = self.end_of(self.at, |byte| byte != b'\n');
    }

    /// Skips bytes that neither are brackets nor start a string, a comment or an alias.
    pub fn skip_to_structure(&mut self) {
        self.at = self.end_of(self.at, |byte| !is(STRUCTURE)(byte));
    }

    /// Skips what may follow the sign of an alias.
    pub fn skip_suffix(&mut self) {
        self.at = self.end_of(self.at, is(SUFFIX));
    }

    /// Reads the next word, after blanks and comments.
    pub fn next(&mut self) -> Result<Token<'t>> {
        self.token(self.at)
    }

    fn token(&mut self, start: usize) -> Result<Token<'t>> {
        let first = self.byte(start);
        match first {
            _ if start == self.text.len() => Ok(Token::End),
            b'"' => self.string(start).map(Token::String),
            b'0'..=b'9' => Ok(self.number(start)),
            b'-' if self.byte(start + 1) == b'>' => {
                self.at = start + 2;
                Ok(Token::Arrow)
            }
            b'%' => self.prefixed(start).map(Token::Value),
            b'^' => self.prefixed(start).map(Token::Block),
            b'!' => self.prefixed(start).map(Token::Bang),
            b'#' if is(WORD)(self.byte(start + 1)) => self.prefixed(start).map(Token::Hash),
            b'@' if self.byte(start + 1) == b'"' => {
                self.string(start + 1)?;
                Ok(Token::Symbol(&self.text[start + 1..self.at]))
            }
            b'@' => self.prefixed(start).map(Token::Symbol),
            b'_' | b'$' | b'.' => Ok(self.word(start)),
            _ if first.is_ascii_alphabetic() => Ok(self.word(start)),
            _ => {
                let sign = self.text[start..].chars().next().unwrap_or('\0');
                self.at = start + sign.len_utf8();
                Ok(Token::Sign(sign))
            }
        }
    }

    fn word(&mut self, start: usize) -> Token<'t> {
        self.at = self.end_of(start + 1, is(WORD));
        Token::Word(&self.text[start..self.at])
    }

    /// Reads a name after the sign at `start`: digits, or letters, digits and `$._-`.
    fn prefixed(&mut self, start: usize) -> Result<&'t str> {
        let from = start + 1;
        let digits = self.byte(from).is_ascii_digit();
        self.at = match digits {
            true => self.end_of(from, |byte| byte.is_ascii_digit()),
            false => self.end_of(from, is(SUFFIX)),
        };
        // The arrow is not part of a name: `%a->`.
        if self.byte(self.at) == b'>' && self.text[from..self.at].ends_with('-') {
            self.at -= 1;
        }
        if self.at == from {
            return Err(self.refuse(start, format!("expected a name after {:?}", &self.text[start..from])));
        }
        Ok(&self.text[from..self.at])
    }

    fn number(&mut self, start: usize) -> Token<'t> {
        let hexadecimal = self.byte(start) == b'0' && self.byte(start + 1) == b'x';
        if hexadecimal && self.byte(start + 2).is_ascii_hexdigit() {
            self.at = self.end_of(start + 2, |byte| byte.is_ascii_hexdigit());
            return Token::Integer(&self.text[start..self.at]);
        }
        self.at = self.end_of(start, |byte| byte.is_ascii_digit());
        if self.byte(self.at) != b'.' {
            return Token::Integer(&self.text[start..self.at]);
        }
        self.at = self.end_of(self.at + 1, |byte| byte.is_ascii_digit());
        if matches!(self.byte(self.at), b'e' | b'E') {
            let signed = usize::from(matches!(self.byte(self.at + 1), b'+' | b'-'));
            if self.byte(self.at + 1 + signed).is_ascii_digit() {
                self.at = self.end_of(self.at + 1 + signed, |byte| byte.is_ascii_digit());
            }
        }
        Token::Float(&self.text[start..self.at])
    }

    /// Reads the string whose opening quote is at `start`; returns what is between the quotes.
    fn string(&mut self, start: usize) -> Result<&'t str> {
        let mut at = start + 1;
        loop {
            at = self.end_of(at, |byte| !matches!(byte, b'"' | b'\\' | b'\n'));
            match self.byte(at) {
                b'"' => break,
                // The byte after a backslash may be a quote; it is never the first of a longer character's others.
                b'\\' if at + 1 < self.text.len() => at += 2,
                _ => return Err(self.refuse(start, "the string has no end".into())),
            }
        }
        self.at = at + 1;
        Ok(&self.text[start + 1..at])
    }

    /// Skips the string whose opening quote is at `start`.
    pub fn skip_string(&mut self, start: usize) -> Result<()> {
        self.string(start).map(drop)
    }

    /// Returns an error at an offset.
    pub fn refuse(&self, offset: usize, message: String) -> error::Error {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        error!(InvalidArgument, "line {line}, column {column}: {message}")
    }
}

impl Token<'_> {
    /// Describes the word for a message.
    pub fn shown(&self) -> String {
        match self {
            Token::End => "the end of the text".into(),
            Token::Word(text) | Token::Integer(text) | Token::Float(text) => quoted(text),
            Token::Value(name) => quoted(&format!("%{}", error::shortened(name, 64))),
            Token::Block(name) => quoted(&format!("^{}", error::shortened(name, 64))),
            Token::Symbol(name) => quoted(&format!("@{}", error::shortened(name, 64))),
            Token::Hash(name) => quoted(&format!("#{}", error::shortened(name, 64))),
            Token::Bang(name) => quoted(&format!("!{}", error::shortened(name, 64))),
            Token::String(_) => "a string".into(),
            Token::Arrow => "\"->\"".into(),
            Token::Sign(sign) => format!("{:?}", sign.to_string()),
        }
    }
}
