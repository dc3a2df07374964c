//! Reads operations in their pretty forms, part by part.

use super::super::{Attribute, Element, TensorShape, Type, Value};
use super::attributes::integers;
use super::draft::Draft;
use super::formats::{Kind, Own, Part, Types, format};
use super::lexer::Token;
use super::operations::{Argument, is_isolated};
use super::parser::Parser;
use base::error::{Result, quoted};
use base::types::DType;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

impl<'t> Parser<'t> {
    /// Reads an operation whose name stands without quotes.
    pub fn pretty(&mut self, word: &'t str, draft: &mut Draft) -> Result<()> {
        let (name, parts) = self.form(word);
        draft.name = name;
        let Some(parts) = parts else {
            return Err(self.refuse(format!("the operation {} has no pretty form that is known", quoted(word))));
        };
        self.bump()?;
        self.parts(parts, draft)
    }

    /// Returns the name of the operation that a word stands for, and its pretty form.
    fn form(&mut self, word: &'t str) -> (Arc<str>, Option<&'static [Part]>) {
        if let Some(known) = self.forms.get(word) {
            return known.clone();
        }
        let name = match word {
            "module" => self.name("builtin.module"),
            "func" | "return" | "call" => self.name(&format!("func.{word}")),
            _ => self.name(word),
        };
        let parts = format(&name);
        self.forms.insert(word, (name.clone(), parts));
        (name, parts)
    }

    fn parts(&mut self, parts: &[Part], draft: &mut Draft) -> Result<()> {
        parts.iter().try_for_each(|part| self.part(part, draft))
    }

    fn part(&mut self, part: &Part, draft: &mut Draft) -> Result<()> {
        match *part {
            Part::Operand => draft.operands.push(self.value()?),
            Part::Operands if matches!(self.token, Token::Value(_)) => {
                let operands: SmallVec<[Value; 3]> = self.itemized(Self::value)?;
                draft.operands.extend(operands);
            }
            Part::Operands => {}
            Part::OperandsBefore => {
                while matches!(self.token, Token::Value(_)) {
                    draft.operands.push(self.value()?);
                    self.expect(',')?;
                }
            }
            Part::Word(word) => self.expect_word(word)?,
            Part::Sign(sign) => self.expect(sign)?,
            Part::Optional(parts) => {
                let given = match parts.first() {
                    Some(Part::Sign(sign)) => self.is(*sign),
                    Some(Part::Word(word) | Part::Named(word, ..)) => self.is_word(word),
                    _ => false,
                };
                if given {
                    self.parts(parts, draft)?;
                }
            }
            Part::Attributes if self.is('{') => draft.attributes.extend(self.dictionary()?),
            Part::Attributes => {}
            Part::Regions if self.is('(') => draft.regions = self.list('(', ')', |p| p.region(&[], false))?,
            Part::Regions => {}
            Part::Body => self.body(draft)?,
            Part::Types(types) => self.types_of(types, draft)?,
            Part::Own(own) => self.own(own, draft)?,
            Part::Attribute(name, kind) => self.stated(name, kind, draft)?,
            Part::Named(word, name, kind) => {
                self.expect_word(word)?;
                self.expect('=')?;
                self.stated(name, kind, draft)?;
            }
        }
        Ok(())
    }

    fn stated(&mut self, name: &'static str, kind: Kind, draft: &mut Draft) -> Result<()> {
        let value = self.attribute_of(kind, name)?;
        draft.set(self.name(name), value);
        Ok(())
    }

    fn attribute_of(&mut self, kind: Kind, name: &str) -> Result<Attribute> {
        match kind {
            Kind::Integer => self.index(name),
            Kind::Integer32 => Ok(Attribute::Integer(self.integer(name)?, Element::DType(DType::S32))),
            Kind::Integers => Ok(integers(&self.integers(name)?)),
            Kind::Case => self.case(),
            Kind::Any => self.attribute(),
            Kind::Text => Ok(Attribute::String(self.string("a string")?)),
            Kind::Symbol => Ok(Attribute::String(self.symbol_name()?.as_bytes().into())),
            Kind::Sharding => self.stripped(Self::sharding),
            Kind::Shardings => self.shardings(),
        }
    }

    fn own(&mut self, own: Own, draft: &mut Draft) -> Result<()> {
        match own {
            Own::Return => self.returned(draft),
            Own::Constant => self.constant(draft),
            Own::Ranges => self.ranges(draft),
            Own::Precision => self.precision(draft),
            Own::Contraction => self.contraction(draft),
            Own::ConvolutionAxes => self.convolution_axes(draft),
            Own::Window => self.window(draft),
            Own::Format => self.bits_of_format(draft),
            Own::Barrier => self.barrier(draft),
            Own::Reduce => self.reduce(draft),
            Own::Scan => self.scan(draft),
            Own::While => self.while_loop(draft),
            Own::Function => self.function(draft),
            Own::Module => self.module(draft),
            Own::Mesh => self.named_mesh(draft),
            Own::Manual => self.manual(draft),
        }
    }

    /// Reads a colon and types, and checks those of the operands.
    fn types_of(&mut self, types: Types, draft: &mut Draft) -> Result<()> {
        self.expect(':')?;
        let count = draft.operands.len();
        let signature = match types {
            Types::Function => self.function_type()?,
            Types::Results => (SmallVec::new(), self.itemized(Self::ty)?),
            Types::Operands => (self.itemized(Self::ty)?, SmallVec::new()),
            _ if self.is('(') => self.function_type()?,
            Types::Arrow => {
                let inputs = self.itemized(Self::ty)?;
                self.expect_arrow()?;
                (inputs, self.result_types()?)
            }
            Types::Same => {
                let ty = self.ty()?;
                (smallvec![ty.clone(); count], smallvec![ty])
            }
            Types::Tuple => {
                let ty = self.ty()?;
                let Type::Tuple(inputs) = &*ty else { return Err(self.expected("a tuple before this")) };
                (inputs.iter().cloned().collect(), smallvec![ty])
            }
            Types::Select => {
                let pred = self.ty()?;
                self.expect(',')?;
                let ty = self.ty()?;
                (smallvec![pred, ty.clone(), ty.clone()], smallvec![ty])
            }
            Types::Complex => {
                let ty = self.ty()?;
                let part = match &*ty {
                    Type::Tensor(TensorShape { element: Element::DType(dtype), dims, bounds })
                        if dtype.kind() == base::types::Kind::Complex =>
                    {
                        TensorShape {
                            element: Element::DType(dtype.real()),
                            dims: dims.clone(),
                            bounds: bounds.clone(),
                        }
                    }
                    _ => return Err(self.expected("a complex type before this")),
                };
                (smallvec![self.shared(Type::Tensor(part)); 2], smallvec![ty])
            }
        };
        self.finish(draft, signature)
    }

    /// Reads `(%a: A) { ... }`, a region.
    fn body(&mut self, draft: &mut Draft) -> Result<()> {
        let arguments = self.list('(', ')', Self::argument)?;
        let region = self.region(&arguments, is_isolated(&draft.name))?;
        draft.regions.push(region);
        Ok(())
    }

    /// Reads `{a = 1} %0, %1 {b = 2} : A, B`.
    fn returned(&mut self, draft: &mut Draft) -> Result<()> {
        self.parts(&[Part::Attributes, Part::Operands, Part::Attributes], draft)?;
        if draft.operands.is_empty() && !self.is(':') {
            return Ok(());
        }
        self.types_of(Types::Operands, draft)
    }

    /// Reads `dense<...> : A`, or the generic form if the types differ.
    fn constant(&mut self, draft: &mut Draft) -> Result<()> {
        if self.is('(') {
            return self.generic_rest(draft);
        }
        self.part(&Part::Attributes, draft)?;
        let start = self.start;
        let value = self.attribute()?;
        let ty = match &value {
            Attribute::Dense(dense) => dense.ty.clone(),
            Attribute::Other(text) => self.type_of_text(start, text)?,
            _ => return Err(self.refuse_at(start, "expected the elements of a constant")),
        };
        draft.results = smallvec![ty];
        let name = self.name("value");
        draft.set(name, value);
        Ok(())
    }

    /// Returns the type at the end of a literal whose elements are not known: of 4-bit floats, for example.
    fn type_of_text(&mut self, start: usize, text: &str) -> Result<Arc<Type>> {
        let end = self.start;
        let literal = self.since(start);
        let colon = literal.rfind(" : ").or_else(|| literal.rfind(':'));
        let Some(colon) = colon.filter(|_| text.contains(':')) else {
            return Err(self.refuse_at(start, "expected the elements of a constant"));
        };
        let after = start + colon + literal[colon..].find(':').unwrap_or(0) + 1;
        self.seek(after)?;
        let ty = self.ty()?;
        self.seek(end)?;
        Ok(ty)
    }

    /// Reads `e8m7`.
    fn bits_of_format(&mut self, draft: &mut Draft) -> Result<()> {
        let start = self.start;
        let word = self.word("a format such as \"e8m7\"")?;
        let parts = word.strip_prefix('e').and_then(|word| word.split_once('m'));
        let parts = parts.and_then(|(exponent, mantissa)| Some((exponent.parse().ok()?, mantissa.parse().ok()?)));
        let Some((exponent, mantissa)): Option<(u16, u16)> = parts else {
            return Err(self.refuse_at(start, "expected a format such as \"e8m7\""));
        };
        for (name, bits) in [("exponent_bits", exponent), ("mantissa_bits", mantissa)] {
            draft.set(self.name(name), Attribute::Integer(bits.into(), Element::DType(DType::S32)));
        }
        Ok(())
    }

    /// Reads `%0, %1 : A, B`, or `()` without operands. The types are those of the results too.
    fn barrier(&mut self, draft: &mut Draft) -> Result<()> {
        self.part(&Part::Operands, draft)?;
        if draft.operands.is_empty() {
            self.expect('(')?;
            return self.expect(')');
        }
        self.types_of(Types::Operands, draft)?;
        draft.results = draft.operands.iter().map(|value| self.types[value.0 as usize].clone()).collect();
        Ok(())
    }

    /// Reads `(%a: A, %b: B) (%c: C, %d: D)`; returns the first argument of each pair, then the second ones.
    pub fn paired_arguments(&mut self) -> Result<Vec<Argument<'t>>> {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        while self.take('(')? {
            first.push(self.argument()?);
            self.expect(',')?;
            second.push(self.argument()?);
            self.expect(')')?;
        }
        first.append(&mut second);
        Ok(first)
    }
}
