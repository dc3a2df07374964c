//! Reads modules, functions, meshes and computations on the parts of each device.

use super::super::{Attribute, Dictionary, Type};
use super::draft::Draft;
use super::lexer::Token;
use super::operations::Argument;
use super::parser::{Named, Parser};
use base::error::Result;
use std::sync::Arc;

impl<'t> Parser<'t> {
    /// Reads `@name attributes {...} { ... }` after `module`.
    pub fn module(&mut self, draft: &mut Draft) -> Result<()> {
        if matches!(self.token, Token::Symbol(_)) {
            self.symbol_as(draft)?;
        }
        if self.take_word("attributes")? {
            let more = self.dictionary()?;
            draft.attributes.extend(more);
        }
        let region = self.region(&[], true)?;
        draft.regions.push(region);
        Ok(())
    }

    /// Reads `@name` as the attribute `sym_name`.
    fn symbol_as(&mut self, draft: &mut Draft) -> Result<()> {
        let symbol = self.symbol_name()?;
        draft.set(self.name("sym_name"), Attribute::String(symbol.as_bytes().into()));
        Ok(())
    }

    /// Reads `@mesh = <["x"=2]>`.
    pub fn named_mesh(&mut self, draft: &mut Draft) -> Result<()> {
        self.symbol_as(draft)?;
        self.expect('=')?;
        draft.set(self.name("mesh"), self.stripped(Self::mesh)?);
        Ok(())
    }

    /// Reads `public @f(%a: A {x = 1}, ...) -> (B {y = 2}) attributes {...} { ... }`.
    pub fn function(&mut self, draft: &mut Draft) -> Result<()> {
        if let Token::Word(visibility @ ("public" | "private" | "nested")) = self.token {
            self.bump()?;
            draft.set(self.name("sym_visibility"), Attribute::String(visibility.as_bytes().into()));
        }
        self.symbol_as(draft)?;
        let parameters = self.list('(', ')', Self::parameter)?;
        let mut results = Vec::new();
        if self.token == Token::Arrow {
            self.bump()?;
            results = self.function_results()?;
        }
        let inputs = parameters.iter().map(|(_, ty, _)| ty.clone()).collect();
        let outputs = results.iter().map(|(ty, _)| ty.clone()).collect();
        let ty = self.shared(Type::Function { inputs, results: outputs });
        draft.set(self.name("function_type"), Attribute::Type(ty));
        self.set_dictionaries(draft, "arg_attrs", parameters.iter().map(|(_, _, attributes)| attributes));
        self.set_dictionaries(draft, "res_attrs", results.iter().map(|(_, attributes)| attributes));
        if self.take_word("attributes")? {
            let more = self.dictionary()?;
            draft.attributes.extend(more);
        }
        let region = match self.is('{') {
            true => {
                let arguments =
                    parameters.into_iter().filter_map(|(name, ty, _)| name.map(|(name, at)| (name, at, ty)));
                self.region(&arguments.collect::<Vec<Argument>>(), true)?
            }
            false => Default::default(),
        };
        draft.regions.push(region);
        Ok(())
    }

    /// Reads `%a: A {x = 1} loc("a")`, or `A {x = 1}` of a function without a body.
    #[allow(clippy::type_complexity)]
    fn parameter(&mut self) -> Result<(Option<(&'t str, usize)>, Arc<Type>, Named)> {
        let mut name = None;
        if matches!(self.token, Token::Value(_)) {
            name = Some(self.value_name()?);
            self.expect(':')?;
        }
        let ty = self.ty()?;
        let attributes = self.optional_dictionary()?;
        self.optional_location()?;
        Ok((name, ty, attributes))
    }

    /// Reads `B` or `(B {y = 2}, C)`.
    fn function_results(&mut self) -> Result<Vec<(Arc<Type>, Named)>> {
        if !self.is('(') {
            return Ok(vec![(self.ty()?, Named::new())]);
        }
        self.list('(', ')', |p| Ok((p.ty()?, p.optional_dictionary()?)))
    }

    /// Sets an attribute to a list of dictionaries, unless all are empty.
    fn set_dictionaries<'a>(&mut self, draft: &mut Draft, name: &str, all: impl Iterator<Item = &'a Named> + Clone) {
        if all.clone().all(Vec::is_empty) {
            return;
        }
        let all = all.map(|one| Attribute::Dictionary(Dictionary(one.clone().into())));
        draft.set(self.name(name), Attribute::Array(all.collect()));
    }

    /// Reads `in_shardings=[...] out_shardings=[...] manual_axes={"x"}`.
    pub fn manual(&mut self, draft: &mut Draft) -> Result<()> {
        for name in ["in_shardings", "out_shardings"] {
            self.expect_word(name)?;
            self.expect('=')?;
            let value = self.shardings()?;
            draft.set(self.name(name), value);
        }
        self.expect_word("manual_axes")?;
        self.expect('=')?;
        let axes = self.manual_axes()?;
        draft.set(self.name("manual_axes"), axes);
        Ok(())
    }
}
