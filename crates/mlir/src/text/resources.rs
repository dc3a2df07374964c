//! Reads the resources at the end of a text: the elements of constants that `dense_resource<name>` stands for.

use super::aliases::Resource;
use super::lexer::Token;
use super::parser::Parser;
use base::error::Result;
use std::sync::Arc;

impl<'t> Parser<'t> {
    /// Returns true if the next words start resources.
    pub fn is_resources(&self) -> bool {
        self.aliases.resources_at == Some(self.start)
    }

    /// Reads the places of all resources, which stand after the module that uses them.
    pub fn find_resources(&mut self) -> Result<()> {
        let Some(at) = self.aliases.resources_at else { return Ok(()) };
        let start = self.start;
        self.seek(at)?;
        self.resources()?;
        self.seek(start)
    }

    /// Reads `{-# dialect_resources: {builtin: {name: "0x..."}}, external_resources: {...} #-}`.
    pub fn resources(&mut self) -> Result<()> {
        self.expect('{')?;
        self.expect('-')?;
        self.expect('#')?;
        while !self.take('#')? {
            let kind = self.key()?;
            self.entries(|p| {
                let dialect = p.key()?;
                p.entries(|p| {
                    let name = p.key()?;
                    if &*kind == "dialect_resources" && &*dialect == "builtin" && matches!(p.token, Token::String(_)) {
                        let resource = Resource { at: p.start, bytes: None };
                        p.aliases.resources.entry(name).or_insert(resource);
                    }
                    match p.token {
                        Token::String(_) | Token::Word(_) | Token::Integer(_) => p.bump(),
                        _ => Err(p.expected("a resource")),
                    }
                })
            })?;
            self.take(',')?;
        }
        self.expect('-')?;
        self.expect('}')
    }

    fn entries(&mut self, read: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.list('{', '}', read).map(drop)
    }

    /// Reads a name and the colon after it.
    fn key(&mut self) -> Result<Arc<str>> {
        let name = match self.token {
            Token::Word(word) => {
                self.bump()?;
                self.name(word)
            }
            _ => self.text("the name of a resource")?,
        };
        self.expect(':')?;
        Ok(name)
    }
}
