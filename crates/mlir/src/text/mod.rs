//! Reader of MLIR's textual form of StableHLO programs, in the pretty and the generic form. The grammar is that of
//! MLIR's language reference; pretty forms are those of the definitions of the dialects. What is not used by programs
//! of StableHLO is refused: branches between blocks, and pretty forms of other dialects.

mod aliases;
mod attributes;
mod dense;
mod dialects;
mod draft;
mod formats;
mod functions;
mod lexer;
mod locations;
mod numbers;
mod operations;
mod parser;
mod plain;
mod pretty;
mod resources;
mod scopes;
mod sdy;
mod structured;
mod types;

#[cfg(test)]
mod tests;

use super::{Attribute, Module, Type};
use base::error::Result;
use lexer::Token;
use parser::Parser;
use std::sync::Arc;

/// Reads a module. An error names its line and its column.
pub fn read(text: &str) -> Result<Module> {
    let mut parser = Parser::new(text)?;
    parser.find_resources()?;
    let mut operations = Vec::new();
    while parser.token != Token::End {
        match parser.token {
            Token::Hash(name) | Token::Bang(name) => parser.definition(name.len() + 1)?,
            Token::Sign('{') if parser.is_resources() => parser.resources()?,
            _ => operations.push(parser.operation()?),
        }
    }
    let mut module = Module { types: parser.types, ..Module::default() };
    match operations.pop() {
        Some(only) if operations.is_empty() && &*only.name == "builtin.module" => {
            module.attributes = only.attributes;
            module.operations =
                only.regions.into_iter().flat_map(|region| region.blocks).flat_map(|block| block.operations).collect();
        }
        last => {
            operations.extend(last);
            module.operations = operations;
        }
    }
    Ok(module)
}

/// Reads a type.
pub fn ty(text: &str) -> Result<Arc<Type>> {
    let mut parser = Parser::new(text)?;
    let ty = parser.ty()?;
    match parser.token {
        Token::End => Ok(ty),
        _ => Err(parser.expected("the end of the type")),
    }
}

/// Reads an attribute.
pub fn attribute(text: &str) -> Result<Attribute> {
    let mut parser = Parser::new(text)?;
    let attribute = parser.attribute()?;
    if parser.token != Token::End {
        return Err(parser.expected("the end of the attribute"));
    }
    Ok(attribute)
}
