//! Types.

use super::super::codes::{self, Code};
use super::super::forms::{Dialect, TypeForm};
use super::super::quant::Quantized;
use super::attributes::double_word;
use super::entries::Entries;
use super::pool::Entry;
use super::side::Side;
use super::words::{Table, Word, signed};
use crate::{Element, FREE, TensorShape, Type};
use base::error;
use base::error::Result;
use base::types::DType;
use std::sync::Arc;

impl Entries {
    /// Returns the number of a type.
    pub fn ty(&mut self, side: Side, ty: &Type) -> Result<u32> {
        let (form, words) = match ty {
            Type::Tensor(shape) => match &shape.bounds {
                None => (TypeForm::Tensor, self.shape(side, shape)?),
                Some(bounds) => {
                    let encoding = Word::Reference(Table::Attributes, self.encoding(side, bounds));
                    let words = std::iter::once(encoding).chain(self.shape(side, shape)?);
                    (TypeForm::BoundedTensor, words.collect())
                }
            },
            Type::Scalar(element) => return self.element_type(side, element),
            Type::Function { inputs, results } => {
                (TypeForm::Function, [self.types(side, inputs)?, self.types(side, results)?].concat())
            }
            Type::Token if side == Side::Builtin => {
                return self.type_entry(Dialect::StableHlo, TypeForm::Token, vec![]);
            }
            Type::Token => (TypeForm::Token, vec![]),
            Type::Tuple(types) => (TypeForm::Tuple, self.types(side, types)?),
            Type::None => (TypeForm::None, vec![]),
            Type::Other(text) => return self.other_type(side, text),
        };
        self.type_entry(side.dialect(), form, words)
    }

    /// Returns the number of a type of a form.
    fn type_entry(&mut self, dialect: Dialect, form: TypeForm, content: Vec<Word>) -> Result<u32> {
        let known: Option<&Code<TypeForm>> = codes::types(dialect).iter().find(|known| known.form == form);
        let Some(known) = known else {
            let name = if let TypeForm::Element(text) = form { text } else { "a type" };
            return Err(error!(Unimplemented, "MLIR bytecode: {} has no {name}", dialect.name()));
        };
        self.need(known.since, || match form {
            TypeForm::Element(text) => format!("the type {text}"),
            _ => format!("type {} of {}", known.code, dialect.name()),
        });
        let dialect = self.pool.dialect(dialect.name());
        let words = [vec![Word::Number(known.code)], content].concat();
        Ok(self.pool.types.number(Entry { dialect, encoded: true, words }))
    }

    fn types(&mut self, side: Side, types: &[Arc<Type>]) -> Result<Vec<Word>> {
        let count = Word::Number(types.len() as u64);
        let types = types.iter().map(|ty| Ok(Word::Reference(Table::Types, self.ty(side, ty)?)));
        std::iter::once(Ok(count)).chain(types).collect()
    }

    /// Returns sizes and element type. MLIR has the smallest integer for `?`.
    fn shape(&mut self, side: Side, shape: &TensorShape) -> Result<Vec<Word>> {
        let sizes = shape.dims.iter().map(|&size| signed(if size == FREE { i64::MIN } else { size }));
        let mut words: Vec<Word> = std::iter::once(Word::Number(shape.dims.len() as u64)).chain(sizes).collect();
        words.push(Word::Reference(Table::Types, self.element_type(side, &shape.element)?));
        Ok(words)
    }

    fn element_type(&mut self, side: Side, element: &Element) -> Result<u32> {
        let part = match element {
            Element::DType(DType::C64) => Some(DType::F32),
            Element::DType(DType::C128) => Some(DType::F64),
            Element::Other(text) if text.starts_with('!') => return self.other_type(side, text),
            _ => None,
        };
        if let Some(part) = part {
            let part = self.element_type(side, &Element::DType(part))?;
            return self.type_entry(side.dialect(), TypeForm::Complex, vec![Word::Reference(Table::Types, part)]);
        }
        let text = element.to_string();
        let named = |known: &&Code<TypeForm>| matches!(known.form, TypeForm::Element(known) if known == text);
        if let Some(known) = codes::types(side.dialect()).iter().find(named) {
            return self.type_entry(side.dialect(), known.form, vec![]);
        }
        let signs = [("si", 1), ("ui", 2), ("i", 0)];
        let integer = signs.iter().find_map(|(sign, code)| Some((text.strip_prefix(sign)?.parse::<u64>().ok()?, code)));
        match (side, integer) {
            (Side::Builtin, Some((bits, sign))) => {
                self.type_entry(Dialect::Builtin, TypeForm::Integer, vec![Word::Number(bits << 2 | sign)])
            }
            _ => Err(error!(Unimplemented, "MLIR bytecode: {} has no type {text}", side.dialect().name())),
        }
    }

    /// Returns the number of a type that the module has as text.
    fn other_type(&mut self, side: Side, text: &str) -> Result<u32> {
        let unknown = || error!(Unimplemented, "MLIR bytecode: the type {} is not written", error::quoted(text));
        if side == Side::Builtin {
            return Err(unknown());
        }
        let parsed = |text: &str| crate::text::ty(text).map_err(|_| unknown());
        let (form, words) =
            if let Some(element) = text.strip_prefix("tensor<*x").and_then(|rest| rest.strip_suffix('>')) {
                let element = self.element_type(side, &Element::of_text(element))?;
                (TypeForm::Unranked("tensor"), vec![Word::Reference(Table::Types, element)])
            } else if let Some(rest) = text.strip_prefix("memref") {
                let Type::Tensor(shape) = &*parsed(&format!("tensor{rest}"))? else { return Err(unknown()) };
                (TypeForm::Shaped("memref"), self.shape(side, shape)?)
            } else if let Some(rest) = text.strip_prefix("!stablehlo.future") {
                let Type::Tuple(types) = &*parsed(&format!("tuple{rest}"))? else { return Err(unknown()) };
                (TypeForm::Future, self.types(side, types)?)
            } else if text == "!shape.witness" {
                (TypeForm::Other("!shape.witness"), vec![])
            } else {
                self.quantized(side, &Quantized::of_text(text).ok_or_else(unknown)?)?
            };
        self.type_entry(side.dialect(), form, words)
    }

    fn quantized(&mut self, side: Side, quantized: &Quantized) -> Result<(TypeForm, Vec<Word>)> {
        let Quantized { is_signed, bits, expressed, axis, scales, low, high } = quantized;
        let storage = self.element_type(side, &Element::of_text(&format!("i{bits}")))?;
        let expressed = self.element_type(side, &Element::of_text(expressed))?;
        let mut words = vec![Word::Number((*is_signed).into())];
        words.extend([storage, expressed].map(|ty| Word::Reference(Table::Types, ty)));
        let Some(axis) = axis else {
            let (scale, zero) = scales[0];
            words.extend([double_word(scale), signed(zero), signed(*low), signed(*high)]);
            return Ok((TypeForm::Quantized(false), words));
        };
        words.extend([Word::Number(*axis), signed(*low), signed(*high), Word::Number(scales.len() as u64)]);
        words.extend(scales.iter().map(|&(scale, _)| double_word(scale)));
        words.push(Word::Number(scales.len() as u64));
        words.extend(scales.iter().map(|&(_, zero)| signed(zero)));
        Ok((TypeForm::Quantized(true), words))
    }
}
