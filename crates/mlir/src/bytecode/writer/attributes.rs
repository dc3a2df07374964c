//! Attributes and locations.

use super::super::codes::{self, Code};
use super::super::forms::{self, Dialect, Field, Flag, Form, LocationForm};
use super::super::numbers;
use super::assembly;
use super::entries::Entries;
use super::pool::Entry;
use super::side::Side;
use super::words::{Elements, Table, Word, signed};
use crate::{Attribute, Data, Dense, Dictionary, Element, FREE, Location, Numbers, Record, Type, Version};
use base::error;
use base::error::Result;
use base::types::DType;
use std::sync::Arc;

/// Constants up to this number of bytes are stored once if they are equal.
const SMALL: usize = 256;

impl Entries {
    /// Returns the number of an attribute. `key` is its name, or that of the list or dictionary that holds it.
    pub fn attribute(&mut self, side: Side, key: &str, value: &Attribute) -> Result<u32> {
        let (form, words) = match value {
            Attribute::Unit => return Ok(self.entry(Dialect::Builtin, Form::Unit, vec![])),
            Attribute::Bool(value) => return self.bool(side, *value),
            Attribute::Integer(value, element) => return self.integer(side, *value, element),
            Attribute::Float(value, element) => return self.float(side, *value, element),
            Attribute::String(text) => return Ok(self.string(side, text)),
            Attribute::Symbol(parts) => return Ok(self.symbol(side, parts)),
            Attribute::Array(list) => (Form::Array, self.list(side, key, list)?),
            Attribute::Integers(list) => {
                let bytes = list.iter().flat_map(|value| value.to_le_bytes()).collect();
                return self.numbers(side, &Numbers { dtype: DType::S64, bytes });
            }
            Attribute::Numbers(numbers) => return self.numbers(side, numbers),
            Attribute::Dictionary(entries) => {
                let mut words = vec![Word::Number(entries.0.len() as u64)];
                for (key, value) in &*entries.0 {
                    words.push(attribute(self.string(side, key.as_bytes())));
                    words.push(attribute(self.attribute(side, key, value)?));
                }
                (Form::Dictionary, words)
            }
            Attribute::Type(ty) => (Form::Type, vec![self.type_word(side, ty)?]),
            Attribute::Dense(dense) => return self.dense(side, dense),
            Attribute::Enum(keyword) => {
                let (cases, number) = self.case(side, key, keyword)?;
                (Form::Case(cases), vec![Word::Number(number)])
            }
            Attribute::Record(record) if record.name.starts_with("sdy.") => {
                return Ok(self.text("sdy", &assembly::record(record)?));
            }
            Attribute::Record(record) => return self.record(side, key, record),
            Attribute::Location(location) => return Ok(self.location(location)),
            Attribute::Other(text) => return self.other(text),
        };
        Ok(self.entry(side.dialect(), form, words))
    }

    /// Returns the number of an attribute of a form that the dialect has.
    fn entry(&mut self, dialect: Dialect, form: Form, content: Vec<Word>) -> u32 {
        let known =
            codes::attributes(dialect).iter().find(|known| known.form == form).expect("the dialect has the form");
        self.entry_of(dialect, known, content)
    }

    fn entry_of(&mut self, dialect: Dialect, known: &Code<Form>, content: Vec<Word>) -> u32 {
        self.need(known.since, || format!("attribute {} of {}", known.code, dialect.name()));
        let dialect = self.pool.dialect(dialect.name());
        let words = [vec![Word::Number(known.code)], content].concat();
        self.pool.attributes.number(Entry { dialect, encoded: true, words })
    }

    /// Returns the number of an attribute that is stored as text.
    fn text(&mut self, dialect: &str, text: &str) -> u32 {
        let dialect = self.pool.dialect(dialect);
        self.need(Version(1, 11, 0), || format!("{text}, an attribute of another dialect,"));
        let words = vec![Word::Bytes([text.as_bytes(), &[0]].concat().into())];
        self.pool.attributes.number(Entry { dialect, encoded: false, words })
    }

    /// Returns the number of an attribute that the module has as text.
    fn other(&mut self, text: &str) -> Result<u32> {
        let dialect = text.split(['.', '<']).next().unwrap_or(text);
        match dialect {
            "affine_map" | "affine_set" | "dense" | "dense_resource" | "sparse" | "strided" | "distinct" => {
                Err(error!(Unimplemented, "MLIR bytecode: the attribute {} is not written", error::quoted(text)))
            }
            _ => Ok(self.text(dialect, &format!("#{text}"))),
        }
    }

    /// Returns the number of the encoding of a tensor whose free sizes have bounds.
    pub fn encoding(&mut self, side: Side, list: &[i64]) -> u32 {
        let dialect = if side == Side::Vhlo { Dialect::Vhlo } else { Dialect::StableHlo };
        let is_bounds = |known: &&Code<Form>| matches!(known.form, Form::Record(codes::BOUNDS, _));
        let known = codes::attributes(dialect).iter().find(is_bounds).expect("the dialect has bounds");
        self.entry_of(dialect, known, bounds(list).collect())
    }

    fn type_word(&mut self, side: Side, ty: &Type) -> Result<Word> {
        Ok(Word::Reference(Table::Types, self.ty(side, ty)?))
    }

    fn bool(&mut self, side: Side, value: bool) -> Result<u32> {
        let bit = u8::from(value);
        match side {
            Side::Vhlo => Ok(self.entry(Dialect::Vhlo, Form::Bool, vec![Word::Number(bit.into())])),
            Side::Builtin => self.integer(side, bit.into(), &Element::DType(DType::Pred)),
        }
    }

    fn integer(&mut self, side: Side, value: i64, element: &Element) -> Result<u32> {
        let Some((bits @ 1..=64, _)) = numbers::integer_bits(element) else {
            return Err(error!(Unimplemented, "MLIR bytecode: an integer of type {element} is not written"));
        };
        let words = vec![self.type_word(side, &Type::Scalar(element.clone()))?, bits_word(value as u64, bits)];
        Ok(self.entry(side.dialect(), Form::Integer, words))
    }

    fn float(&mut self, side: Side, value: f64, element: &Element) -> Result<u32> {
        let Element::DType(dtype) = element else {
            return Err(error!(Unimplemented, "MLIR bytecode: a number of type {element} is not written"));
        };
        let bits = bits_word(numbers::float_bits(*dtype, value), dtype.bit_width());
        let words = vec![self.type_word(side, &Type::Scalar(element.clone()))?, bits];
        Ok(self.entry(side.dialect(), Form::Float, words))
    }

    /// Returns the number of a string.
    fn string(&mut self, side: Side, text: &[u8]) -> u32 {
        let words = vec![self.string_word(text)];
        self.entry(side.dialect(), Form::String, words)
    }

    fn string_word(&mut self, text: &[u8]) -> Word {
        Word::Reference(Table::Strings, self.pool.strings.number(text.into()))
    }

    /// Returns the number of a symbol: a string in VHLO.
    fn symbol(&mut self, side: Side, parts: &[Arc<str>]) -> u32 {
        let [first, rest @ ..] = parts else { return self.string(side, b"") };
        if side == Side::Vhlo && rest.is_empty() {
            return self.string(side, first.as_bytes());
        }
        let mut words = vec![attribute(self.string(Side::Builtin, first.as_bytes()))];
        if rest.is_empty() {
            return self.entry(Dialect::Builtin, Form::Symbol, words);
        }
        words.push(Word::Number(rest.len() as u64));
        for part in rest {
            words.push(attribute(self.symbol(Side::Builtin, std::slice::from_ref(part))));
        }
        self.entry(Dialect::Builtin, Form::Path, words)
    }

    fn list(&mut self, side: Side, key: &str, list: &[Attribute]) -> Result<Vec<Word>> {
        let count = Word::Number(list.len() as u64);
        let elements = list.iter().map(|value| Ok(attribute(self.attribute(side, key, value)?)));
        std::iter::once(Ok(count)).chain(elements).collect()
    }

    /// Returns the number of an array of numbers: a constant in VHLO if they are i64 or i1. VHLO has no form of its own
    /// for others.
    fn numbers(&mut self, side: Side, numbers: &Numbers) -> Result<u32> {
        let Numbers { dtype, bytes } = numbers;
        if side == Side::Vhlo && matches!(dtype, DType::S64 | DType::Pred) {
            return self.dense(side, &Arc::new(Dense::of_numbers(numbers)));
        }
        let ty = self.type_word(Side::Builtin, &Type::Scalar(Element::DType(*dtype)))?;
        let count = bytes.len() / dtype.size_bytes();
        let words =
            vec![ty, Word::Number(count as u64), Word::Number(bytes.len() as u64), Word::Bytes(bytes.to_vec().into())];
        Ok(self.entry(Dialect::Builtin, Form::Numbers, words))
    }

    /// Returns the number of a constant. The elements of a large one are not copied. Truth values are bits, and one
    /// byte of ones if all are true.
    fn dense(&mut self, side: Side, dense: &Arc<Dense>) -> Result<u32> {
        let bytes = dense.data.bytes();
        let is_splat = matches!(dense.data, Data::Splat(_));
        let Type::Tensor(shape) = &*dense.ty else {
            return Err(error!(InvalidArgument, "MLIR bytecode: a constant of type {}", dense.ty));
        };
        let content = match shape.element == Element::DType(DType::Pred) {
            true if is_splat && shape.dims.iter().product::<i64>() > 1 => Word::Bytes([bytes[0].wrapping_neg()].into()),
            true => Word::Bytes(bytes.chunks(8).map(packed).collect()),
            false if bytes.len() <= SMALL => Word::Bytes(bytes.into()),
            false => Word::Elements(Elements(dense.clone())),
        };
        let size = match &content {
            Word::Bytes(bytes) => bytes.len(),
            _ => bytes.len(),
        };
        let words = vec![self.type_word(side, &dense.ty)?, Word::Number(size as u64), content];
        Ok(self.entry(side.dialect(), Form::Dense, words))
    }

    /// Returns the enumeration that has a keyword, and its number there. An attribute that no operation of StableHLO
    /// has is found by its keyword alone.
    fn case(&self, side: Side, key: &str, keyword: &str) -> Result<(&'static [&'static str], u64)> {
        use forms::keywords::*;
        let wanted = match key {
            "comparison_direction" => Some(COMPARISON_DIRECTION),
            "compare_type" => Some(COMPARISON_TYPE),
            "api_version" => Some(API_VERSION),
            "fft_type" => Some(FFT_TYPE),
            "precision_config" => Some(PRECISION),
            "rng_algorithm" => Some(RNG_ALGORITHM),
            "rng_distribution" => Some(RNG_DISTRIBUTION),
            "transpose_a" => Some(TRANSPOSE),
            "mode" => Some(RESULT_ACCURACY_MODE),
            _ => None,
        };
        let has = |cases: &'static [&'static str]| {
            cases.iter().position(|&known| known == keyword).map(|number| (cases, number as u64))
        };
        let found: Vec<_> = match (wanted, side) {
            (Some(cases), Side::Vhlo) => has(cases).into_iter().collect(),
            (None, Side::Vhlo) => codes::attributes(Dialect::Vhlo)
                .iter()
                .filter_map(|known| if let Form::Case(cases) = known.form { has(cases) } else { None })
                .collect(),
            (_, Side::Builtin) => Vec::new(),
        };
        match found[..] {
            [only] => Ok(only),
            _ => Err(error!(Unimplemented, "MLIR bytecode: the attribute {key} = {keyword} is not written")),
        }
    }

    fn record(&mut self, side: Side, key: &str, record: &Record) -> Result<u32> {
        let dialect = side.dialect();
        let named = |known: &&Code<Form>| matches!(known.form, Form::Record(name, _) if name == &*record.name);
        let Some(known) = codes::attributes(dialect).iter().find(named) else {
            return Err(error!(
                Unimplemented,
                "MLIR bytecode: the attribute {key} = #{}<...> is not written", record.name
            ));
        };
        let Form::Record(_, fields) = known.form else { unreachable!("a record") };
        let mut words = Vec::new();
        for &(name, form) in fields {
            let value = record.fields.get(name);
            if !self.field(side, name, form, value, &mut words)? {
                let name = format!("{}.{name}", record.name);
                return Err(error!(InvalidArgument, "MLIR bytecode: the field {name} is missing or of another kind"));
            }
        }
        Ok(self.entry_of(dialect, known, words))
    }

    /// Writes a field of a record. Returns whether the value fits.
    fn field(
        &mut self,
        side: Side,
        name: &str,
        form: Field,
        value: Option<&Attribute>,
        out: &mut Vec<Word>,
    ) -> Result<bool> {
        match (form, value) {
            (Field::Optional(Flag::Number), Some(value)) => {
                out.extend([Word::Number(1), attribute(self.attribute(side, name, value)?)]);
            }
            (Field::Optional(Flag::LowBit), Some(value)) => {
                out.push(Word::Flagged(Table::Attributes, self.attribute(side, name, value)?, true));
            }
            (Field::Optional(_), None) => out.push(Word::Number(0)),
            (Field::Attribute | Field::Mesh, Some(value)) => out.push(attribute(self.attribute(side, name, value)?)),
            (Field::Integer, Some(Attribute::Integer(value, _))) => out.push(signed(*value)),
            (Field::Integers, Some(Attribute::Integers(list))) => {
                out.push(Word::Number(list.len() as u64));
                out.extend(list.iter().map(|&value| signed(value)));
            }
            (Field::Bounds, Some(Attribute::Integers(list))) => out.extend(bounds(list)),
            (Field::Double, Some(Attribute::Float(value, _))) => out.push(double_word(*value)),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the number of the attributes of an operation that are not properties.
    pub fn dictionary(&mut self, side: Side, entries: &Dictionary) -> Result<u32> {
        let mut sorted: Vec<_> = entries.0.iter().collect();
        sorted.sort_by_key(|(key, _)| key);
        let mut words = vec![Word::Number(sorted.len() as u64)];
        for (key, value) in sorted {
            words.push(attribute(self.string(Side::Builtin, key.as_bytes())));
            words.push(attribute(self.attribute(side, key, value)?));
        }
        Ok(self.entry(Dialect::Builtin, Form::Dictionary, words))
    }

    /// Returns the number of a location.
    pub fn location(&mut self, location: &Location) -> u32 {
        let (place, words) = match location {
            Location::Unknown => (LocationForm::Unknown, vec![]),
            Location::File { name, line, column } => {
                let name = attribute(self.string(Side::Builtin, name.as_bytes()));
                (LocationForm::File, vec![name, Word::Number((*line).into()), Word::Number((*column).into())])
            }
            Location::Name(name, inner) => {
                let name = attribute(self.string(Side::Builtin, name.as_bytes()));
                (LocationForm::Name, vec![name, attribute(self.location(inner))])
            }
            Location::Call(callee, caller) => {
                (LocationForm::Call, vec![attribute(self.location(callee)), attribute(self.location(caller))])
            }
            Location::Fused(all) => {
                let count = Word::Number(all.len() as u64);
                let all: Vec<Word> = all.iter().map(|inner| attribute(self.location(inner))).collect();
                (LocationForm::Fused, std::iter::once(count).chain(all).collect())
            }
        };
        self.entry(Dialect::Builtin, Form::Location(place), words)
    }
}

/// Returns the words of bounds of free sizes. MLIR has the smallest integer for `?`.
fn bounds(list: &[i64]) -> impl Iterator<Item = Word> {
    let words = list.iter().map(|&bound| signed(if bound == FREE { i64::MIN } else { bound }));
    std::iter::once(Word::Number(list.len() as u64)).chain(words)
}

fn attribute(number: u32) -> Word {
    Word::Reference(Table::Attributes, number)
}

/// Returns the lowest bits of an integer: one byte, or an integer of variable length.
fn bits_word(value: u64, bits: u32) -> Word {
    match bits {
        0..=8 => Word::Byte((value & ((1 << bits) - 1)) as u8),
        _ => signed((value & u64::MAX >> (64 - bits)) as i64),
    }
}

/// Returns the word of the bits of an f64.
pub fn double_word(value: f64) -> Word {
    bits_word(value.to_bits(), 64)
}

/// Returns up to eight truth values as bits.
fn packed(values: &[u8]) -> u8 {
    values.iter().enumerate().map(|(i, &value)| value << i).sum()
}
