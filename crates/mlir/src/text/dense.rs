//! Reads the elements of constant tensors.

use super::super::{Attribute, Data, Dense, Element, TensorShape, Type};
use super::lexer::Token;
use super::numbers::{bits_of_float, decimal, whole};
use super::parser::{Parser, hex_digit};
use base::error::{Result, quoted};
use base::types::{DType, Kind};
use std::sync::Arc;

impl<'t> Parser<'t> {
    /// Reads `dense<...> : tensor<...>`. The type, which gives the elements their meaning, is read first.
    pub fn dense(&mut self) -> Result<Attribute> {
        let start = self.start;
        self.bump()?;
        if !self.is('<') {
            return Err(self.expected("\"<\""));
        }
        let open = self.start;
        let close = self.end_of_literal(open)?;
        self.seek(close)?;
        self.expect('>')?;
        self.expect(':')?;
        let ty = self.ty()?;
        let Some(shape) = stored(&ty) else { return Ok(self.other_attribute(start)) };
        let after = self.start;
        let count = self.element_count(open, shape)?;
        self.seek(open + 1)?;
        let data = self.literal(shape, count, close - open)?;
        if self.start != close {
            return Err(self.expected("\">\""));
        }
        self.seek(after)?;
        Ok(Attribute::Dense(Dense { ty, data }.into()))
    }

    /// Returns the offset of the `>` that ends the literal whose `<` is at `open`.
    fn end_of_literal(&mut self, open: usize) -> Result<usize> {
        self.bump()?;
        if let Token::String(raw) = self.token {
            let end = self.start + raw.len() + 2;
            self.seek(end)?;
            return Ok(self.start);
        }
        let end = self.rest(open).find('>').ok_or_else(|| self.refuse_at(open, "this literal has no end"))?;
        Ok(open + end)
    }

    /// Returns the number of elements of a shape.
    fn element_count(&self, at: usize, shape: &TensorShape) -> Result<u64> {
        let is_static = shape.dims.iter().all(|&size| size >= 0);
        let count = match shape.dims.contains(&0) {
            true => Some(0),
            false => shape.dims.iter().try_fold(1u64, |count, &size| count.checked_mul(size as u64)),
        };
        let count = count.filter(|_| is_static);
        count.ok_or_else(|| self.refuse_at(at, format!("{shape} cannot be the type of a literal")))
    }

    /// Reads what stands in `dense<...>`, `length` bytes of text.
    fn literal(&mut self, shape: &TensorShape, count: u64, length: usize) -> Result<Data> {
        let start = self.start;
        if let Token::String(raw) = self.token {
            let bytes = decoded(raw).ok_or_else(|| self.refuse("expected \"0x\" and pairs of hexadecimal digits"))?;
            self.bump()?;
            return self.packed(Arc::new(bytes), 0, shape, count, start);
        }
        let mut bytes = Vec::new();
        if self.is('>') {
            if count != 0 {
                return Err(self.refuse(format!("a literal without elements has the type {shape}")));
            }
        } else if self.is('[') {
            bytes.reserve(length);
            self.elements(&shape.dims, &shape.element, &mut bytes)?;
        } else {
            self.number_of_tensor(&shape.element, &mut bytes)?;
            return Ok(if count == 0 { whole_data(Vec::new()) } else { Data::Splat(bytes.into()) });
        }
        let size = element_size(&shape.element).unwrap_or(1);
        Ok(match bytes.get(..size) {
            Some(first) if bytes.chunks(size).all(|element| element == first) => Data::Splat(first.into()),
            _ => whole_data(bytes),
        })
    }

    /// Reads the elements of a list, and checks that it has the sizes of the type.
    fn elements(&mut self, dims: &[i64], element: &Element, bytes: &mut Vec<u8>) -> Result<()> {
        let Some((&size, inner)) = dims.split_first() else { return self.number_of_tensor(element, bytes) };
        let start = self.start;
        let count = self.nested(|p| p.list('[', ']', |p| p.elements(inner, element, bytes)))?.len();
        if count as i64 != size {
            return Err(self.refuse_at(start, format!("a list of {count} elements where the type has {size}")));
        }
        Ok(())
    }

    /// Reads one element and appends its bytes.
    fn number_of_tensor(&mut self, element: &Element, bytes: &mut Vec<u8>) -> Result<()> {
        match element {
            Element::DType(dtype) if dtype.kind() == Kind::Complex => {
                self.expect('(')?;
                self.real_number(&Element::DType(dtype.real()), bytes)?;
                self.expect(',')?;
                self.real_number(&Element::DType(dtype.real()), bytes)?;
                self.expect(')')
            }
            _ => self.real_number(element, bytes),
        }
    }

    fn real_number(&mut self, element: &Element, bytes: &mut Vec<u8>) -> Result<()> {
        let start = self.start;
        let negative = self.take('-')?;
        let float = match element {
            Element::DType(dtype) if dtype.is_float() || dtype.is_minifloat() => Some(*dtype),
            _ => None,
        };
        let bits = match (self.token, float) {
            (Token::Word("true"), None) if !negative => (*element == Element::DType(DType::Pred)).then_some(1),
            (Token::Word("false"), None) if !negative => (*element == Element::DType(DType::Pred)).then_some(0),
            (Token::Integer(text), None) => whole(text, negative, element).map(|value| value as u64),
            (Token::Integer(text), Some(dtype)) if !negative => bits_of_text(text, dtype),
            (Token::Float(text), Some(dtype)) => decimal(text, negative).and_then(|value| bits_of_float(dtype, value)),
            _ => return Err(self.expected(&format!("an element of type {element}"))),
        };
        let Some(bits) = bits else {
            return Err(self.refuse_at(start, format!("{} is not an element of type {element}", self.token.shown())));
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..element_size(element).unwrap_or(1)]);
        self.bump()
    }

    /// Returns elements that are given as their bytes, from an offset on.
    fn packed(&self, bytes: Arc<Vec<u8>>, from: usize, shape: &TensorShape, count: u64, at: usize) -> Result<Data> {
        let size = element_size(&shape.element).unwrap_or(1);
        let length = bytes.len() - from;
        let is_pred = shape.element == Element::DType(DType::Pred);
        if length as u64 == count.saturating_mul(size as u64) {
            let given = &bytes[from..];
            if is_pred {
                return Ok(whole_data(given.iter().map(|&byte| u8::from(byte != 0)).collect()));
            }
            let first = &given[..size.min(length)];
            if count > 0 && given.chunks(size).all(|element| element == first) {
                return Ok(Data::Splat(first.into()));
            }
            return Ok(Data::Whole { bytes: from..bytes.len(), owner: bytes_owner(bytes) });
        }
        // MLIR packed the bits of i1 into bytes until 2025. One byte of 0, 1 or 255 stands for all elements.
        if is_pred && length as u64 == count.div_ceil(8) && !(length == 1 && matches!(bytes[from], 0 | 1 | 0xFF)) {
            let bit = |i: u64| bytes[from + (i / 8) as usize] >> (i % 8) & 1;
            return Ok(whole_data((0..count).map(bit).collect()));
        }
        if length == size && count > 0 {
            let element = &bytes[from..];
            return Ok(Data::Splat(if is_pred { [u8::from(element[0] != 0)].into() } else { element.into() }));
        }
        Err(self.refuse_at(at, format!("{length} bytes of elements for the type {shape}")))
    }

    /// Reads `dense_resource<name> : tensor<...>`.
    pub fn dense_resource(&mut self) -> Result<Attribute> {
        let start = self.start;
        self.bump()?;
        self.expect('<')?;
        let name_at = self.start;
        let name = match self.token {
            Token::Word(word) => {
                self.bump()?;
                word.into()
            }
            _ => self.text("the name of a resource")?,
        };
        self.expect('>')?;
        self.expect(':')?;
        let ty = self.ty()?;
        let Some(shape) = stored(&ty) else { return Ok(self.other_attribute(start)) };
        let count = self.element_count(start, shape)?;
        let after = self.start;
        let bytes = self.resource(&name, name_at)?;
        self.seek(after)?;
        // The first 4 bytes are the alignment of the rest.
        if bytes.len() < 4 {
            return Err(self.refuse_at(name_at, format!("the resource {} has no alignment", quoted(&name))));
        }
        let data = self.packed(bytes, 4, shape, count, name_at)?;
        Ok(Attribute::Dense(Dense { ty, data }.into()))
    }

    /// Returns the bytes of a resource.
    fn resource(&mut self, name: &str, at: usize) -> Result<Arc<Vec<u8>>> {
        let Some(resource) = self.aliases.resources.get(name) else {
            return Err(self.refuse_at(at, format!("the resource {} is not defined", quoted(name))));
        };
        if let Some(bytes) = &resource.bytes {
            return Ok(bytes.clone());
        }
        let text_at = resource.at;
        self.seek(text_at)?;
        let bytes = if let Token::String(raw) = self.token { decoded(raw) } else { None };
        let bytes = Arc::new(bytes.ok_or_else(|| self.expected("the bytes of a resource in hexadecimal digits"))?);
        if let Some(resource) = self.aliases.resources.get_mut(name) {
            resource.bytes = Some(bytes.clone());
        }
        Ok(bytes)
    }
}

/// Returns the shape of a tensor whose elements can be stored; None for other types.
fn stored(ty: &Type) -> Option<&TensorShape> {
    match ty {
        Type::Tensor(shape) if element_size(&shape.element).is_some() => Some(shape),
        _ => None,
    }
}

/// Number of bytes of an element in a constant; None if its format is not known.
fn element_size(element: &Element) -> Option<usize> {
    match element {
        Element::DType(dtype) => Some(dtype.size_bytes()),
        Element::Index => Some(8),
        Element::Other(name) => {
            let digits = ["i", "si", "ui"].iter().find_map(|prefix| name.strip_prefix(prefix))?;
            let bits: usize = digits.parse().ok()?;
            (1..=64).contains(&bits).then_some(bits.div_ceil(8))
        }
    }
}

/// Returns the bits that a hexadecimal integer gives a floating-point number.
fn bits_of_text(text: &str, dtype: DType) -> Option<u64> {
    let bits = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
    (dtype.bit_width() == 64 || bits >> dtype.bit_width() == 0).then_some(bits)
}

/// Returns the bytes of `0x` and hexadecimal digits.
fn decoded(raw: &str) -> Option<Vec<u8>> {
    let digits = raw.strip_prefix("0x")?.as_bytes();
    if digits.len() % 2 != 0 {
        return None;
    }
    digits.chunks(2).map(|pair| Some(hex_digit(pair[0])? << 4 | hex_digit(pair[1])?)).collect()
}

fn bytes_owner(bytes: Arc<Vec<u8>>) -> Arc<dyn AsRef<[u8]> + Send + Sync> {
    struct Shared(Arc<Vec<u8>>);
    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Arc::new(Shared(bytes))
}

fn whole_data(bytes: Vec<u8>) -> Data {
    Data::Whole { bytes: 0..bytes.len(), owner: Arc::new(bytes) }
}
