//! Reads attributes of the builtin dialect, and aliases.

use super::super::{Attribute, Dictionary, Element, Numbers};
use super::aliases::{Known, Meaning};
use super::lexer::Token;
use super::numbers::{bits_of_float, decimal, float_from_bits, rounded, whole};
use super::parser::{Named, Parser};
use super::types::joined;
use base::error::{Error, Result, quoted};
use base::types::DType;
use smallvec::SmallVec;
use std::sync::Arc;

/// Returns a list of integers as an attribute. An empty one takes no memory.
pub fn integers(values: &[i64]) -> Attribute {
    Attribute::Integers(if values.is_empty() { Arc::default() } else { values.into() })
}

/// The type of an integer without one.
const I64: Element = Element::DType(DType::S64);

impl<'t> Parser<'t> {
    /// Reads an attribute.
    pub fn attribute(&mut self) -> Result<Attribute> {
        self.nested(|p| match p.token {
            Token::Sign('[') => Ok(Attribute::Array(p.list('[', ']', Self::attribute)?.into())),
            Token::Sign('{') => Ok(Attribute::Dictionary(Dictionary(p.dictionary()?.into()))),
            Token::Sign('-') | Token::Integer(_) | Token::Float(_) => p.number(),
            Token::String(_) => {
                let text = p.string("a string")?;
                if p.take(':')? {
                    p.ty()?;
                }
                Ok(Attribute::String(text))
            }
            Token::Symbol(_) => p.symbol(),
            Token::Hash(name) => p.named_attribute(name),
            Token::Word(word) => p.keyword_attribute(word),
            _ => p.type_attribute(),
        })
    }

    fn type_attribute(&mut self) -> Result<Attribute> {
        if !self.is_type() {
            return Err(self.expected("an attribute"));
        }
        Ok(Attribute::Type(self.ty()?))
    }

    fn keyword_attribute(&mut self, word: &str) -> Result<Attribute> {
        let start = self.start;
        match word {
            "true" | "false" => Ok(Attribute::Bool(self.boolean()?)),
            "unit" => self.bump().map(|()| Attribute::Unit),
            "dense" => self.dense(),
            "dense_resource" => self.dense_resource(),
            "array" => self.array(),
            "loc" => Ok(Attribute::Location(self.location()?)),
            "affine_map" | "affine_set" | "strided" => {
                self.bump()?;
                self.skip_body()?;
                Ok(self.other_attribute(start))
            }
            "sparse" => {
                self.bump()?;
                self.skip_body()?;
                self.expect(':')?;
                self.ty()?;
                Ok(self.other_attribute(start))
            }
            _ => self.type_attribute(),
        }
    }

    /// Returns the text since an offset as an attribute.
    pub fn other_attribute(&self, start: usize) -> Attribute {
        let text = joined(self.since(start));
        Attribute::Other(text.trim_start_matches('#').into())
    }

    /// Reads `{a = 1, b}`.
    pub fn dictionary(&mut self) -> Result<Named> {
        let open = self.start;
        let entries = self.list('{', '}', |p| {
            let name = match p.token {
                Token::Word(word) => {
                    p.bump()?;
                    p.name(word)
                }
                _ => p.text("the name of an attribute")?,
            };
            let value = if p.take('=')? { p.attribute()? } else { Attribute::Unit };
            Ok((name, value))
        })?;
        self.check_names(open, &entries)?;
        Ok(entries)
    }

    /// Checks that no attribute is given twice.
    pub fn check_names(&self, at: usize, entries: &Named) -> Result<()> {
        if entries.len() < 2 {
            return Ok(());
        }
        let mut names: SmallVec<[&str; 8]> = entries.iter().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(self.refuse_at(at, format!("the attribute {} is given twice", quoted(pair[0])))),
            None => Ok(()),
        }
    }

    /// Reads `{a = 1, b}` if it is next.
    pub fn optional_dictionary(&mut self) -> Result<Named> {
        if self.is('{') { self.dictionary() } else { Ok(Named::new()) }
    }

    /// Reads `@f` or `@f::@g`.
    pub fn symbol(&mut self) -> Result<Attribute> {
        let mut parts = vec![self.symbol_name()?];
        while self.is(':') && self.after().starts_with(':') {
            self.bump()?;
            self.bump()?;
            parts.push(self.symbol_name()?);
        }
        Ok(Attribute::Symbol(parts.into()))
    }

    /// Reads `@f`; returns the name without the sign.
    pub fn symbol_name(&mut self) -> Result<Arc<str>> {
        let Token::Symbol(raw) = self.token else { return Err(self.expected("a name with \"@\"")) };
        let start = self.start;
        let quoted = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
        let name = match quoted.map(super::parser::unescaped) {
            None => self.name(raw),
            Some(bytes) => match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
                Some(text) => self.name(&text),
                None => return Err(self.refuse_at(start, "this name is not UTF-8")),
            },
        };
        self.bump()?;
        Ok(name)
    }

    /// Reads `1`, `-1.5`, or either with a type after a colon.
    fn number(&mut self) -> Result<Attribute> {
        let start = self.start;
        let negative = self.take('-')?;
        let token = self.token;
        if !matches!(token, Token::Integer(_) | Token::Float(_)) {
            return Err(self.expected("a number"));
        }
        self.bump()?;
        let ty = if self.take(':')? { Some(self.scalar_type()?) } else { None };
        let value = match token {
            Token::Float(text) => {
                let ty = ty.unwrap_or(Element::DType(DType::F64));
                decimal(text, negative).map(|value| Attribute::Float(rounded(value, &ty), ty))
            }
            Token::Integer(text) => integer_attribute(text, negative, ty.unwrap_or(I64)),
            _ => None,
        };
        value.ok_or_else(|| self.refuse_at(start, "this number does not fit its type"))
    }

    /// Reads `array<i64: 1, 2>`, or `array<f32>` without numbers.
    fn array(&mut self) -> Result<Attribute> {
        self.bump()?;
        self.expect('<')?;
        let start = self.start;
        let element = self.scalar_type()?;
        let Element::DType(dtype) = element else { return Err(self.no_number(start, &element)) };
        if !(dtype.is_integer() || dtype.is_float() || dtype == DType::Pred) {
            return Err(self.no_number(start, &element));
        }
        let given = self.take(':')?;
        if dtype == DType::S64 {
            let values = if given { self.items(|p| p.array_integer(&element))? } else { Vec::new() };
            self.expect('>')?;
            return Ok(Attribute::Integers(values.into()));
        }
        let bits = |p: &mut Self| match dtype.is_float() {
            true => p.array_float(dtype),
            false => p.array_integer(&element).map(|value| value as u64),
        };
        let values = if given { self.items(bits)? } else { Vec::new() };
        self.expect('>')?;
        let bytes = values.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(dtype.size_bytes())).collect();
        Ok(Attribute::Numbers(Numbers { dtype, bytes }))
    }

    fn no_number(&self, start: usize, element: &Element) -> Error {
        self.refuse_at(start, format!("{element} is not a type of the numbers of an array"))
    }

    fn array_integer(&mut self, element: &Element) -> Result<i64> {
        if matches!(self.token, Token::Word(_)) {
            return Ok(i64::from(self.boolean()?));
        }
        let start = self.start;
        let negative = self.take('-')?;
        let Token::Integer(text) = self.token else { return Err(self.expected("an integer")) };
        let value = whole(text, negative, element).ok_or_else(|| self.refuse_at(start, "it does not fit its type"))?;
        self.bump()?;
        Ok(value)
    }

    /// Reads a floating-point number of an array; returns its bits.
    fn array_float(&mut self, dtype: DType) -> Result<u64> {
        let start = self.start;
        let negative = self.take('-')?;
        let bits = match self.token {
            Token::Float(text) => decimal(text, negative).and_then(|value| bits_of_float(dtype, value)),
            Token::Integer(text) if !negative => bits_of_hexadecimal(text, dtype),
            Token::Integer(_) => None,
            _ => return Err(self.expected("a number")),
        };
        self.bump()?;
        bits.ok_or_else(|| self.refuse_at(start, "this number does not fit its type"))
    }

    /// Reads what starts with `#`: an alias or an attribute of a dialect.
    fn named_attribute(&mut self, name: &'t str) -> Result<Attribute> {
        let start = self.start;
        let has_body = self.after().starts_with('<');
        if has_body || name.contains('.') {
            return self.dialect_attribute(name, has_body);
        }
        let key = &self.rest(start)[..name.len() + 1];
        match self.alias(key)? {
            Meaning::Attribute(attribute) => Ok(attribute),
            Meaning::Type(ty) => Ok(Attribute::Type(ty)),
        }
    }

    /// Reads the use of an alias, which is the next word, and returns what it stands for. Its definition is read at the
    /// first use.
    pub fn alias(&mut self, key: &'t str) -> Result<Meaning> {
        let used_at = self.start;
        let Some(alias) = self.aliases.aliases.get_mut(key) else {
            return Err(self.refuse(format!("{} is not defined", quoted(key))));
        };
        let known = match &alias.known {
            Some(known) => {
                let known = known.clone();
                self.weigh(known.weight)?;
                known
            }
            None if alias.busy => return Err(self.refuse(format!("the definition of {} uses itself", quoted(key)))),
            None => {
                alias.busy = true;
                let at = alias.at;
                self.define(key, at)?
            }
        };
        self.seek(used_at + key.len())?;
        if !self.is_too_deep(known.depth) {
            self.deepest = self.deepest.max(self.depth + known.depth);
            return Ok(known.meaning);
        }
        match known.meaning {
            // A long chain of calls: where the program comes from, does not change what it computes.
            Meaning::Attribute(Attribute::Location(_)) => {
                Ok(Meaning::Attribute(Attribute::Location(Default::default())))
            }
            _ => Err(self.refuse_at(used_at, "too many levels within each other")),
        }
    }

    /// Reads the definition of an alias.
    pub fn define(&mut self, key: &'t str, at: usize) -> Result<Known> {
        self.seek(at)?;
        let weight = self.weight();
        let (depth, deepest) = (self.depth, self.deepest);
        self.deepest = depth;
        let meaning =
            if key.starts_with('!') { Meaning::Type(self.ty()?) } else { Meaning::Attribute(self.attribute()?) };
        let known = Known {
            meaning,
            end: at + self.since(at).len(),
            weight: self.weight() - weight,
            depth: self.deepest - depth,
        };
        self.deepest = deepest;
        if let Some(alias) = self.aliases.aliases.get_mut(key) {
            alias.known = Some(known.clone());
        }
        Ok(known)
    }

    /// Reads the definition of an alias at the next word, whether or not it was used before.
    pub fn definition(&mut self, length: usize) -> Result<()> {
        let key = &self.rest(self.start)[..length];
        let alias = self.aliases.aliases.get(key).filter(|alias| alias.name_at == self.start);
        let Some(alias) = alias else { return Err(self.expected("an operation or a definition")) };
        let end = match &alias.known {
            Some(known) => known.end,
            None => {
                let at = alias.at;
                self.define(key, at)?.end
            }
        };
        self.seek(end)
    }
}

/// Returns an integer, or the floating-point number whose bits a hexadecimal integer gives.
fn integer_attribute(text: &str, negative: bool, ty: Element) -> Option<Attribute> {
    match &ty {
        Element::DType(DType::Pred) => match whole(text, negative, &ty)? {
            0 => Some(Attribute::Bool(false)),
            _ => Some(Attribute::Bool(true)),
        },
        Element::DType(dtype) if dtype.is_float() => Some(Attribute::Float(float_of_integer(text, negative, &ty)?, ty)),
        _ => Some(Attribute::Integer(whole(text, negative, &ty)?, ty)),
    }
}

/// Returns the floating-point number whose bits a hexadecimal integer gives.
fn float_of_integer(text: &str, negative: bool, element: &Element) -> Option<f64> {
    let Element::DType(dtype) = element else { return None };
    if negative { None } else { float_from_bits(*dtype, bits_of_hexadecimal(text, *dtype)?) }
}

/// Returns the bits that a hexadecimal integer gives; None if they are more than those of a type.
fn bits_of_hexadecimal(text: &str, dtype: DType) -> Option<u64> {
    let bits = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    (dtype.bit_width() >= 64 || bits >> dtype.bit_width() == 0).then_some(bits)
}
