//! Reads types.

use super::super::{Attribute, Element, FREE, TensorShape, Type};
use super::aliases::Meaning;
use super::lexer::Token;
use super::parser::Parser;
use base::error::{Result, quoted};
use base::types::DType;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Types of operands and of results.
pub type Signature = (SmallVec<[Arc<Type>; 3]>, SmallVec<[Arc<Type>; 1]>);

impl<'t> Parser<'t> {
    /// Reads a type.
    pub fn ty(&mut self) -> Result<Arc<Type>> {
        self.nested(|p| {
            if p.is('(') {
                let (inputs, results) = p.function_type()?;
                return Ok(p.shared(Type::Function { inputs: inputs.into_vec(), results: results.into_vec() }));
            }
            p.simple_type()
        })
    }

    /// Reads the type of a function: `(A, B) -> C` or `(A, B) -> (C, D)`.
    pub fn function_type(&mut self) -> Result<Signature> {
        let inputs = self.listed('(', ')', Self::ty)?;
        self.expect_arrow()?;
        Ok((inputs, self.result_types()?))
    }

    /// Reads `C` or `(C, D)`.
    pub fn result_types(&mut self) -> Result<SmallVec<[Arc<Type>; 1]>> {
        match self.is('(') {
            true => self.listed('(', ')', Self::ty),
            false => Ok(smallvec![self.nested(Self::simple_type)?]),
        }
    }

    /// Returns true if the next word starts a type.
    pub fn is_type(&self) -> bool {
        match self.token {
            Token::Sign('(') | Token::Bang(_) => true,
            Token::Word("tensor" | "tuple" | "complex" | "none" | "memref" | "vector") => true,
            Token::Word(word) => is_scalar(word),
            _ => false,
        }
    }

    /// Reads a type that is not that of a function.
    fn simple_type(&mut self) -> Result<Arc<Type>> {
        let start = self.start;
        match self.token {
            Token::Word("tensor") => self.tensor_type(start),
            Token::Word("tuple") => {
                self.bump()?;
                let types = self.list('<', '>', Self::ty)?;
                Ok(self.shared(Type::Tuple(types)))
            }
            Token::Word("complex") => {
                self.bump()?;
                self.complex_type()
            }
            Token::Word("none") => {
                self.bump()?;
                Ok(self.shared(Type::None))
            }
            Token::Word("memref" | "vector") => {
                self.bump()?;
                self.skip_body()?;
                Ok(self.other_type(start))
            }
            Token::Word(word) if is_scalar(word) => {
                self.bump()?;
                Ok(self.shared(Type::Scalar(Element::of_text(word))))
            }
            Token::Bang(name) => self.named_type(name),
            _ => Err(self.expected("a type")),
        }
    }

    fn complex_type(&mut self) -> Result<Arc<Type>> {
        self.expect('<')?;
        let part = self.ty()?;
        self.expect('>')?;
        Ok(self.shared(Type::Scalar(Element::of_text(&format!("complex<{part}>")))))
    }

    fn other_type(&mut self, start: usize) -> Arc<Type> {
        let text = joined(self.since(start));
        self.shared(Type::Other(text.into()))
    }

    /// Reads `tensor<...>`. The same few types stand at all operations of a program, so that their texts are looked up.
    fn tensor_type(&mut self, start: usize) -> Result<Arc<Type>> {
        let rest = self.rest(start);
        let simple = rest.as_bytes().iter().skip("tensor<".len()).position(|byte| matches!(byte, b'<' | b'>' | b'#'));
        let simple = simple.map(|length| &rest[..length + "tensor<".len()]);
        let simple = simple.filter(|text| rest[text.len()..].starts_with('>'));
        if let Some(known) = simple.and_then(|text| self.tensors.get(text)).cloned() {
            self.seek(start + simple.map_or(0, str::len) + 1)?;
            return Ok(known);
        }
        self.bump()?;
        let ty = self.tensor_body(start)?;
        if let Some(text) = simple {
            self.tensors.insert(text, ty.clone());
        }
        Ok(ty)
    }

    /// Reads `<2x?xf32>` or `<2x?xf32, encoding>`, of which bounds of free sizes are known.
    fn tensor_body(&mut self, start: usize) -> Result<Arc<Type>> {
        if !self.is('<') {
            return Err(self.expected("\"<\""));
        }
        self.bump()?;
        if self.take('*')? {
            while !self.take('>')? {
                self.bump_in_body()?;
            }
            return Ok(self.other_type(start));
        }
        let dims = self.dims()?;
        let element = self.element()?;
        let shape = TensorShape::new(element, dims);
        if !self.take(',')? {
            self.expect('>')?;
            return Ok(self.shared(Type::Tensor(shape)));
        }
        let encoding = self.attribute()?;
        self.expect('>')?;
        let bounds = match &encoding {
            Attribute::Record(record) if &*record.name == "stablehlo.bounds" => record.fields.get("bounds"),
            _ => None,
        };
        let Some(Attribute::Integers(bounds)) = bounds else { return Ok(self.other_type(start)) };
        let shape = shape.with_bounds(bounds.clone()).map_err(|reason| self.refuse_at(start, reason))?;
        Ok(self.shared(Type::Tensor(shape)))
    }

    /// Reads sizes, `2x?x`. Words of the text would be `2` and `x`, or the hexadecimal `0x2`.
    fn dims(&mut self) -> Result<SmallVec<[i64; 4]>> {
        let mut dims = SmallVec::new();
        let mut at = self.start;
        loop {
            let rest = self.rest(at);
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let free = rest.starts_with('?');
            if digits == 0 && !free {
                self.seek(at)?;
                return Ok(dims);
            }
            let length = if free { 1 } else { digits };
            let size = if free { Some(FREE) } else { rest[..length].parse().ok() };
            dims.push(size.ok_or_else(|| self.refuse_at(at, format!("the size {} is too large", quoted(rest))))?);
            let after = rest[length..].trim_start();
            if !after.starts_with('x') {
                return Err(self.refuse_at(at, "expected \"x\" after this size"));
            }
            at += rest.len() - after.len() + 1;
            at += self.rest(at).len() - self.rest(at).trim_start().len();
        }
    }

    /// Reads the type of a tensor's elements.
    fn element(&mut self) -> Result<Element> {
        let start = self.start;
        let ty = self.ty()?;
        match &*ty {
            Type::Scalar(element) => Ok(element.clone()),
            Type::Other(text) => Ok(Element::Other(text.clone())),
            _ => Err(self.refuse_at(start, format!("{} is not a type of elements", quoted(&ty.to_string())))),
        }
    }

    /// Reads the type of a scalar.
    pub fn scalar_type(&mut self) -> Result<Element> {
        let start = self.start;
        match &*self.ty()? {
            Type::Scalar(element) => Ok(element.clone()),
            ty => {
                Err(self.refuse_at(start, format!("expected the type of a number, found {}", quoted(&ty.to_string()))))
            }
        }
    }

    /// Reads an alias or a type of a dialect.
    fn named_type(&mut self, name: &'t str) -> Result<Arc<Type>> {
        let start = self.start;
        let has_body = self.after().starts_with('<');
        if !has_body && !name.contains('.') {
            let key = &self.rest(start)[..name.len() + 1];
            return match self.alias(key)? {
                Meaning::Type(ty) => Ok(ty),
                Meaning::Attribute(_) => Err(self.refuse_at(start, format!("{} is not a type", quoted(key)))),
            };
        }
        self.bump()?;
        if let Some(name) = name.strip_prefix("vhlo.") {
            return self.vhlo_type(start, name.trim_end_matches("_v1"));
        }
        if has_body {
            self.skip_body()?;
        }
        match name {
            "stablehlo.token" | "mhlo.token" => Ok(self.shared(Type::Token)),
            _ => Ok(self.other_type(start)),
        }
    }

    /// Reads the rest of a type of VHLO, which has the meaning of a builtin one.
    fn vhlo_type(&mut self, start: usize, name: &str) -> Result<Arc<Type>> {
        match name {
            "tensor" => self.tensor_body(start),
            "token" => Ok(self.shared(Type::Token)),
            "none" => Ok(self.shared(Type::None)),
            "bool" => Ok(self.shared(Type::Scalar(Element::DType(DType::Pred)))),
            "complex" => self.complex_type(),
            "tuple" => {
                let types = self.list('<', '>', Self::ty)?;
                Ok(self.shared(Type::Tuple(types)))
            }
            "func" => {
                self.expect('<')?;
                self.expect('(')?;
                let inputs = self.bare_types()?;
                self.expect(')')?;
                self.expect_arrow()?;
                let results = self.bare_types()?;
                self.expect('>')?;
                Ok(self.shared(Type::Function { inputs, results }))
            }
            _ if is_scalar(name) => Ok(self.shared(Type::Scalar(Element::of_text(name)))),
            _ => {
                if self.is('<') {
                    self.skip_body()?;
                }
                Ok(self.other_type(start))
            }
        }
    }

    /// Reads `A, B`, or `()` for no types.
    fn bare_types(&mut self) -> Result<Vec<Arc<Type>>> {
        if self.take('(')? {
            self.expect(')')?;
            return Ok(Vec::new());
        }
        self.items(Self::ty)
    }

    /// Skips `<...>` with balanced brackets.
    pub fn skip_body(&mut self) -> Result<()> {
        if !self.is('<') {
            return Err(self.expected("\"<\""));
        }
        let mut open = Vec::new();
        loop {
            match self.token {
                Token::Sign('<') => open.push('>'),
                Token::Sign('(') => open.push(')'),
                Token::Sign('[') => open.push(']'),
                Token::Sign('{') => open.push('}'),
                Token::Sign(sign @ ('>' | ')' | ']' | '}')) if open.pop() != Some(sign) => {
                    return Err(self.refuse("this bracket closes no other"));
                }
                _ => {}
            }
            self.bump_in_body()?;
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    fn bump_in_body(&mut self) -> Result<()> {
        if self.token == Token::End {
            return Err(self.expected("a closing bracket"));
        }
        self.bump()
    }
}

/// Returns true for the name of an element type: `f32`, `i8`, `ui4`, `index`, `f8E4M3FN`.
fn is_scalar(word: &str) -> bool {
    let digit =
        |prefix: &str| word.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let integer = ["i", "si", "ui"].iter().any(|prefix| digit(prefix));
    let whole = !integer || word.trim_start_matches(['s', 'u', 'i']).bytes().all(|byte| byte.is_ascii_digit());
    word == "index" || whole && (integer || ["f", "bf", "tf"].iter().any(|prefix| digit(prefix)))
}

/// Returns a text with its blanks reduced to single spaces.
pub fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
