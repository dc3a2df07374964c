//! Reads operations in their generic form, regions and blocks, and resolves names of values.

use super::super::{Block, Dictionary, Element, Location, Operation, Region, Type, Value};
use super::draft::Draft;
use super::lexer::Token;
use super::parser::Parser;
use super::plain;
use super::scopes::Group;
use super::types::Signature;
use base::error::{Result, quoted};
use smallvec::SmallVec;
use std::sync::Arc;

/// An argument of a region: its name, the offset of that, and its type.
pub type Argument<'t> = (&'t str, usize, Arc<Type>);

/// Names of results, their offsets and their numbers of values.
type Names<'t> = SmallVec<[(&'t str, usize, u32); 1]>;

impl<'t> Parser<'t> {
    /// Reads an operation with the names of its results and its location.
    pub fn operation(&mut self) -> Result<Operation> {
        self.nested(|p| {
            let names = p.result_names()?;
            let mut draft = Draft {
                name: Arc::default(),
                at: p.start,
                operands: SmallVec::new(),
                attributes: std::mem::take(&mut p.spare),
                regions: Vec::new(),
                results: SmallVec::new(),
                location: None,
            };
            match p.token {
                Token::String(_) => p.generic(&mut draft)?,
                Token::Word(word) => p.pretty(word, &mut draft)?,
                _ => return Err(p.expected("an operation")),
            }
            p.check_names(draft.at, &draft.attributes)?;
            let location = match draft.location.take() {
                Some(location) => location,
                None => p.optional_location()?,
            };
            let results = p.results(&names, &draft)?;
            plain::bring(&mut draft);
            let attributes = Dictionary(draft.attributes.drain(..).collect());
            p.spare = draft.attributes;
            Ok(Operation {
                name: draft.name,
                operands: draft.operands,
                results,
                attributes,
                regions: draft.regions,
                location,
            })
        })
    }

    /// Reads `%a, %b:2 =`: names, offsets and numbers of values.
    fn result_names(&mut self) -> Result<Names<'t>> {
        if !matches!(self.token, Token::Value(_)) {
            return Ok(Names::new());
        }
        let names: Names = self.itemized(|p| {
            let (name, at) = p.value_name()?;
            let count = if p.take(':')? { p.integer("a number of results")? } else { 1 };
            let count = u32::try_from(count).ok().filter(|&count| count > 0);
            Ok((name, at, count.ok_or_else(|| p.refuse_at(at, "the number of results is out of range"))?))
        })?;
        self.expect('=')?;
        Ok(names)
    }

    /// Creates the results of an operation under their names.
    fn results(&mut self, names: &[(&'t str, usize, u32)], draft: &Draft) -> Result<SmallVec<[Value; 1]>> {
        let named: u64 = names.iter().map(|(_, _, count)| u64::from(*count)).sum();
        if !names.is_empty() && named != draft.results.len() as u64 {
            let message = format!("{} has {} results, and {named} names", draft.name, draft.results.len());
            return Err(self.refuse_at(draft.at, message));
        }
        let results: SmallVec<[Value; 1]> = draft.results.iter().map(|ty| self.new_value(ty.clone())).collect();
        let mut next = 0;
        for &(name, at, count) in names {
            self.define_values(name, at, Group { first: results[next], count })?;
            next += count as usize;
        }
        Ok(results)
    }

    fn new_value(&mut self, ty: Arc<Type>) -> Value {
        let value = Value(self.types.len() as u32);
        self.types.push(ty);
        value
    }

    fn define_values(&mut self, name: &'t str, at: usize, group: Group) -> Result<()> {
        if self.scopes.define(name, group) {
            return Ok(());
        }
        Err(self.refuse_at(at, format!("{} is defined twice", quoted(&format!("%{name}")))))
    }

    /// Reads `%name`; returns the name and its offset.
    pub fn value_name(&mut self) -> Result<(&'t str, usize)> {
        let Token::Value(name) = self.token else { return Err(self.expected("the name of a value")) };
        let at = self.start;
        self.bump()?;
        Ok((name, at))
    }

    /// Reads the use of a value: `%name` or `%name#1`.
    pub fn value(&mut self) -> Result<Value> {
        let (name, at) = self.value_name()?;
        let mut index = 0;
        if let Token::Hash(digits) = self.token
            && self.start == at + 1 + name.len()
        {
            index = digits.parse().map_err(|_| self.expected("the number of a result"))?;
            self.bump()?;
        }
        match self.scopes.get(name) {
            Some(group) if index < group.count => Ok(Value(group.first.0 + index)),
            Some(group) => Err(self.refuse_at(at, format!("%{name}#{index}, but {name} has {} values", group.count))),
            None => Err(self.refuse_at(at, format!("{} is not defined before this", quoted(&format!("%{name}"))))),
        }
    }

    /// Checks that values have these types.
    pub fn check_types(&self, at: usize, values: &[Value], types: &[Arc<Type>]) -> Result<()> {
        if values.len() != types.len() {
            let message = format!("{} operands, and types of {}", values.len(), types.len());
            return Err(self.refuse_at(at, message));
        }
        for (i, (value, ty)) in values.iter().zip(types).enumerate() {
            let has = &self.types[value.0 as usize];
            if !Arc::ptr_eq(has, ty) && !agree(has, ty) {
                let message = format!("operand {i} has the type {has}, and is used as {ty}");
                return Err(self.refuse_at(at, base::error::shortened(&message, 500)));
            }
        }
        Ok(())
    }

    /// Reads `"name"(%0) <{properties}> ({region}) {attributes} : (A) -> B`.
    fn generic(&mut self, draft: &mut Draft) -> Result<()> {
        draft.name = self.text("the name of an operation")?;
        self.generic_rest(draft)
    }

    /// Reads the generic form after the name.
    pub fn generic_rest(&mut self, draft: &mut Draft) -> Result<()> {
        draft.operands = self.list('(', ')', Self::value)?.into();
        if self.is('[') {
            return Err(self.refuse("branches to other blocks are not supported"));
        }
        if self.take('<')? {
            draft.attributes = self.dictionary()?;
            self.expect('>')?;
        }
        if self.is('(') {
            let isolated = is_isolated(&draft.name);
            draft.regions = self.list('(', ')', |p| p.region(&[], isolated))?;
        }
        let more = self.optional_dictionary()?;
        draft.attributes.extend(more);
        self.expect(':')?;
        let (inputs, results) = self.function_type()?;
        self.finish(draft, (inputs, results))
    }

    /// Sets the types of an operation, and checks those of its operands.
    pub fn finish(&mut self, draft: &mut Draft, (inputs, results): Signature) -> Result<()> {
        self.check_types(draft.at, &draft.operands, &inputs)?;
        draft.results = results;
        Ok(())
    }

    /// Reads `{ ... }` whose first block has these arguments, or has its own after a label.
    pub fn region(&mut self, arguments: &[Argument<'t>], isolated: bool) -> Result<Region> {
        self.nested(|p| {
            let scope = p.scopes.enter(isolated);
            let mut region = Region::default();
            let mut block = p.block_with(arguments)?;
            p.expect('{')?;
            let mut is_first = true;
            loop {
                match p.token {
                    Token::Sign('}') => break,
                    Token::Block(_) => {
                        if !(is_first && block.arguments.is_empty() && block.operations.is_empty()) {
                            region.blocks.push(std::mem::take(&mut block));
                        }
                        block = p.labelled_block()?;
                    }
                    _ => block.operations.push(p.operation()?),
                }
                is_first = false;
            }
            p.bump()?;
            if !is_first || !block.arguments.is_empty() {
                region.blocks.push(block);
            }
            p.scopes.leave(scope);
            Ok(region)
        })
    }

    fn block_with(&mut self, arguments: &[Argument<'t>]) -> Result<Block> {
        let mut block = Block::default();
        for (name, at, ty) in arguments {
            let value = self.new_value(ty.clone());
            self.define_values(name, *at, Group { first: value, count: 1 })?;
            block.arguments.push(value);
        }
        Ok(block)
    }

    /// Creates a region that applies an operation to two scalars.
    pub fn block_of(&mut self, name: Arc<str>, ty: Arc<Type>, location: &Location) -> Result<Region> {
        let [lhs, rhs, result] = [(); 3].map(|()| self.new_value(ty.clone()));
        let operation = |name, operands: &[Value], results: &[Value]| Operation {
            name,
            operands: operands.into(),
            results: results.into(),
            attributes: Dictionary::default(),
            regions: Vec::new(),
            location: location.clone(),
        };
        let operations =
            vec![operation(name, &[lhs, rhs], &[result]), operation(self.name("stablehlo.return"), &[result], &[])];
        Ok(Region { blocks: vec![Block { arguments: vec![lhs, rhs], operations }] })
    }

    /// Reads `^bb0(%a: A, %b: B):`.
    fn labelled_block(&mut self) -> Result<Block> {
        self.bump()?;
        let arguments = if self.is('(') { self.list('(', ')', Self::argument)? } else { Vec::new() };
        self.expect(':')?;
        self.block_with(&arguments)
    }

    /// Reads `%a: A` and its location.
    pub fn argument(&mut self) -> Result<Argument<'t>> {
        let (name, at) = self.value_name()?;
        self.expect(':')?;
        let ty = self.ty()?;
        self.optional_location()?;
        Ok((name, at, ty))
    }
}

/// Returns true if types are equal. One quantized type may be written in several ways, which are not told apart.
fn agree(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Tensor(one), Type::Tensor(other)) => {
            let unknown = matches!((&one.element, &other.element), (Element::Other(_), Element::Other(_)));
            one.dims == other.dims && (unknown || one.element == other.element)
        }
        _ => one == other,
    }
}

/// Returns true for operations whose regions do not see the values around them.
pub fn is_isolated(name: &str) -> bool {
    matches!(
        name,
        "func.func"
            | "vhlo.func_v1"
            | "builtin.module"
            | "sdy.manual_computation"
            | "sdy.named_computation"
            | "chlo.scan"
    )
}
