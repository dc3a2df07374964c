//! Reads locations.

use super::super::{Attribute, Location};
use super::aliases::Meaning;
use super::lexer::Token;
use super::parser::Parser;
use base::error::Result;
use std::sync::Arc;

impl<'t> Parser<'t> {
    /// Reads `loc(...)`.
    pub fn location(&mut self) -> Result<Location> {
        self.expect_word("loc")?;
        self.expect('(')?;
        let location = self.place()?;
        self.expect(')')?;
        Ok(location)
    }

    /// Reads `loc(...)` if it is next.
    pub fn optional_location(&mut self) -> Result<Location> {
        if self.is_word("loc") { self.location() } else { Ok(Location::Unknown) }
    }

    /// Reads what stands in `loc(...)`.
    fn place(&mut self) -> Result<Location> {
        if let Token::Hash(name) = self.token {
            return self.place_of_alias(name);
        }
        self.nested(|p| match p.token {
            Token::Word("loc") => p.location(),
            Token::Word("unknown") => p.bump().map(|()| Location::Unknown),
            Token::Word("callsite") => {
                p.bump()?;
                p.expect('(')?;
                let callee = p.place()?;
                p.expect_word("at")?;
                let caller = p.place()?;
                p.expect(')')?;
                Ok(Location::Call(callee.into(), caller.into()))
            }
            Token::Word("fused") => p.fused(),
            Token::String(_) => p.name_or_file(),
            _ => Err(p.expected("a location")),
        })
    }

    /// Reads `fused[...]` or `fused<metadata>[...]`. The metadata is dropped.
    fn fused(&mut self) -> Result<Location> {
        self.bump()?;
        if self.take('<')? {
            self.attribute()?;
            self.expect('>')?;
        }
        Ok(Location::Fused(self.list('[', ']', Self::place)?.into()))
    }

    /// Reads `"name"`, `"name"(place)`, `"file":1:2` or `"file":1:2 to 3:4`.
    fn name_or_file(&mut self) -> Result<Location> {
        let bytes = self.string("a name")?;
        let name: Arc<str> = self.name(&String::from_utf8_lossy(&bytes));
        if self.take('(')? {
            let place = self.place()?;
            self.expect(')')?;
            return Ok(Location::Name(name, place.into()));
        }
        if !self.take(':')? {
            return Ok(Location::Name(name, Location::Unknown.into()));
        }
        let line = self.coordinate()?;
        self.expect(':')?;
        let column = self.coordinate()?;
        if self.take_word("to")? {
            if !self.is(':') {
                self.coordinate()?;
            }
            self.expect(':')?;
            self.coordinate()?;
        }
        Ok(Location::File { name, line, column })
    }

    fn coordinate(&mut self) -> Result<u32> {
        let start = self.start;
        let value = self.integer("a line or a column")?;
        u32::try_from(value).map_err(|_| self.refuse_at(start, "a line or a column is out of range"))
    }

    /// Reads an alias. Where the chain of aliases becomes too deep, its rest is dropped: it does not change what a
    /// program computes.
    fn place_of_alias(&mut self, name: &'t str) -> Result<Location> {
        let start = self.start;
        if self.is_too_deep(4) {
            self.bump()?;
            return Ok(Location::Unknown);
        }
        let key = &self.rest(start)[..name.len() + 1];
        match self.alias(key)? {
            Meaning::Attribute(Attribute::Location(location)) => Ok(location),
            _ => Err(self.refuse_at(start, "this alias is not a location")),
        }
    }
}
