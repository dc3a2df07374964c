//! Operations, blocks and regions.

use super::super::sections::{ARGUMENT_LOCATIONS, PROPERTIES, REGION_SECTIONS, USE_ORDERS, id};
use super::super::{ir::has, operations::PropertyKind};
use super::casts::Casts;
use super::entries::Entries;
use super::pool::Name;
use super::side::Side;
use super::versions;
use super::words::{Table, Word};
use crate::{Attribute, Block, Dictionary, Module, Operation, Region, Value, Version};
use base::error;
use base::error::Result;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Writes operations, and collects what they refer to.
pub struct Writer<'m> {
    module: &'m Module,
    /// Version of the bytecode format.
    format: u64,
    /// What operations refer to.
    pub entries: Entries,
    casts: Casts,
    /// Indices of values in their regions.
    indices: Vec<u64>,
    /// Indices of the results of casts.
    cast_indices: FxHashMap<Value, u64>,
    /// Index of the next value.
    next: u64,
}

/// Operation between types of different dialects.
const CAST: &str = "builtin.unrealized_conversion_cast";

impl<'m> Writer<'m> {
    /// Creates a writer.
    pub fn new(module: &'m Module, target: Version, format: u64) -> Writer<'m> {
        Writer {
            module,
            format,
            entries: Entries::new(target),
            casts: Casts::of(module),
            indices: vec![0; module.types.len()],
            cast_indices: FxHashMap::default(),
            next: 0,
        }
    }

    /// Returns the module: the only operation of the block outside of all regions.
    pub fn module(&mut self) -> Result<Vec<Word>> {
        let module = self.module;
        let mut out = vec![Word::Number(1 << 1)];
        let location = self.entries.location(&Default::default());
        let known = super::super::operations::known("builtin.module").expect("it is in the table");
        self.head("builtin", "module", has::REGIONS, location, &mut out, |writer| {
            writer.own_attributes(&known.layouts[0], Side::Builtin, module.attributes.0.to_vec(), "builtin.module")
        })?;
        self.isolated(&mut out, 1, |writer, out| {
            out.push(Word::Number(1));
            let values = writer.casts.count(&module.operations);
            out.push(Word::Number(values));
            writer.operations(&module.operations, &[], values, out)
        })?;
        Ok(out)
    }

    /// Writes the first parts of an operation. `attributes` returns its attributes and its properties.
    fn head(
        &mut self,
        dialect: &str,
        name: &str,
        has: u8,
        location: u32,
        out: &mut Vec<Word>,
        attributes: impl FnOnce(&mut Self) -> Result<Own>,
    ) -> Result<()> {
        let dialect = self.entries.pool.dialect(dialect);
        let string = self.entries.pool.strings.number(name.as_bytes().into());
        let name = self.entries.pool.names.number(Name { dialect, string });
        let Own { dictionary, properties } = attributes(self)?;
        let with = |present: bool, bit: u8| if present { bit } else { 0 };
        let has = has | with(dictionary.is_some(), has::ATTRIBUTES) | with(properties.is_some(), has::PROPERTIES);
        out.push(Word::Reference(Table::Names, name));
        out.push(Word::Byte(has));
        out.push(Word::Reference(Table::Attributes, location));
        out.extend(dictionary.map(|number| Word::Reference(Table::Attributes, number)));
        out.extend(properties.map(|number| Word::Reference(Table::Properties, number)));
        Ok(())
    }

    /// Writes the regions of an operation that sees no values around it. `content` writes the `count` regions.
    fn isolated(
        &mut self,
        out: &mut Vec<Word>,
        count: usize,
        content: impl FnOnce(&mut Self, &mut Vec<Word>) -> Result<()>,
    ) -> Result<()> {
        out.push(Word::Number((count as u64) << 1 | 1));
        let next = std::mem::replace(&mut self.next, 0);
        let mut regions = Vec::new();
        content(self, &mut regions)?;
        self.next = next;
        match self.format >= REGION_SECTIONS && count > 0 {
            true => out.push(Word::Section(id::OPERATIONS as u8, regions)),
            false => out.extend(regions),
        }
        Ok(())
    }

    /// Writes a region, whose values have the indices from `first` on.
    fn region(&mut self, region: &Region, side: Side, first: u64, out: &mut Vec<Word>) -> Result<()> {
        out.push(Word::Number(region.blocks.len() as u64));
        if region.blocks.is_empty() {
            return Ok(());
        }
        let values = |block: &Block| block.arguments.len() as u64 + self.casts.count(&block.operations);
        let values: u64 = region.blocks.iter().map(values).sum();
        out.push(Word::Number(values));
        let around = std::mem::replace(&mut self.next, first);
        for block in &region.blocks {
            let arguments: Vec<(Value, u32)> =
                block.arguments.iter().map(|&value| Ok((value, self.type_of(value, side)?))).collect::<Result<_>>()?;
            self.operations(&block.operations, &arguments, first + values, out)?;
        }
        self.next = around;
        Ok(())
    }

    /// Writes a block. Values of regions in it have the indices from `inner` on, after those of all blocks of its region.
    fn operations(
        &mut self,
        operations: &[Operation],
        arguments: &[(Value, u32)],
        inner: u64,
        out: &mut Vec<Word>,
    ) -> Result<()> {
        let casts: usize = operations.iter().map(|operation| self.casts.before(operation).len()).sum();
        out.push(Word::Number(((operations.len() + casts) as u64) << 1 | u64::from(!arguments.is_empty())));
        if !arguments.is_empty() {
            self.arguments(arguments, out);
        }
        let mut cast = Vec::new();
        for operation in operations {
            for value in self.casts.before(operation).to_vec() {
                self.cast(value, out)?;
                cast.push(value);
            }
            self.operation(operation, inner, out)?;
        }
        for value in cast {
            self.cast_indices.remove(&value);
        }
        Ok(())
    }

    fn arguments(&mut self, arguments: &[(Value, u32)], out: &mut Vec<Word>) {
        out.push(Word::Number(arguments.len() as u64));
        for &(value, ty) in arguments {
            self.define(value);
            if self.format >= ARGUMENT_LOCATIONS {
                out.push(Word::Flagged(Table::Types, ty, false));
            } else {
                let unknown = self.entries.location(&Default::default());
                out.extend([Word::Reference(Table::Types, ty), Word::Reference(Table::Attributes, unknown)]);
            }
        }
        if self.format >= USE_ORDERS {
            out.push(Word::Byte(0));
        }
    }

    fn define(&mut self, value: Value) {
        self.indices[value.0 as usize] = self.next;
        self.next += 1;
    }

    fn type_of(&mut self, value: Value, side: Side) -> Result<u32> {
        let module = self.module;
        self.entries.ty(side, module.ty(value))
    }

    /// Writes a cast of a value to its type of the other dialect.
    fn cast(&mut self, value: Value, out: &mut Vec<Word>) -> Result<()> {
        let side = match self.casts.side(value) {
            Side::Vhlo => Side::Builtin,
            Side::Builtin => Side::Vhlo,
        };
        let ty = self.type_of(value, side)?;
        let location = self.entries.location(&Default::default());
        let (dialect, name) = CAST.split_once('.').expect("a dialect and a name");
        self.head(dialect, name, has::RESULTS | has::OPERANDS, location, out, |_| Ok(Own::default()))?;
        out.extend([Word::Number(1), Word::Reference(Table::Types, ty)]);
        out.extend([Word::Number(1), Word::Number(self.indices[value.0 as usize])]);
        self.cast_indices.insert(value, self.next);
        self.next += 1;
        Ok(())
    }

    fn operation(&mut self, operation: &Operation, inner: u64, out: &mut Vec<Word>) -> Result<()> {
        let side = Side::of(&operation.name);
        let location = self.entries.location(&operation.location);
        let stored = versions::stored(&mut self.entries, self.module, operation)?;
        let with = |present: bool, bit: u8| if present { bit } else { 0 };
        let has = with(!operation.results.is_empty(), has::RESULTS)
            | with(!operation.operands.is_empty(), has::OPERANDS)
            | with(!operation.regions.is_empty(), has::REGIONS);
        let (dialect, name) = stored.name.split_once('.').unwrap_or((&stored.name, ""));
        self.head(dialect, name, has, location, out, |writer| {
            writer.own_attributes(stored.layout, side, stored.attributes, &operation.name)
        })?;
        if !operation.results.is_empty() {
            out.push(Word::Number(operation.results.len() as u64));
            for &value in &operation.results {
                let ty = self.type_of(value, side)?;
                out.push(Word::Reference(Table::Types, ty));
            }
        }
        if !operation.operands.is_empty() {
            out.push(Word::Number(operation.operands.len() as u64));
            for &value in &operation.operands {
                let index = match self.casts.side(value) == side {
                    true => self.indices[value.0 as usize],
                    false => self.cast_indices[&value],
                };
                out.push(Word::Number(index));
            }
        }
        operation.results.iter().for_each(|&value| self.define(value));
        if operation.regions.is_empty() {
            return Ok(());
        }
        if &*operation.name == "func.func" {
            return self.isolated(out, operation.regions.len(), |writer, out| {
                operation.regions.iter().try_for_each(|region| writer.region(region, side, 0, out))
            });
        }
        out.push(Word::Number((operation.regions.len() as u64) << 1));
        operation.regions.iter().try_for_each(|region| self.region(region, side, inner, out))
    }

    /// Returns the attributes of an operation: those of its layout as properties, the others as a dictionary.
    fn own_attributes(
        &mut self,
        layout: &[super::super::operations::Property],
        side: Side,
        mut attributes: Vec<(Arc<str>, Attribute)>,
        name: &str,
    ) -> Result<Own> {
        let mut own = Own::default();
        if self.format >= PROPERTIES && !layout.is_empty() {
            let mut words = Vec::with_capacity(layout.len());
            for property in layout {
                let at = attributes.iter().position(|(known, _)| *known == property.name);
                let value = at.map(|at| attributes.remove(at).1);
                let number = value.map(|value| self.entries.attribute(side, &property.name, &value)).transpose()?;
                words.push(match (property.kind, number) {
                    (PropertyKind::Required, Some(number)) => Word::Reference(Table::Attributes, number),
                    (PropertyKind::Optional, Some(number)) => Word::Flagged(Table::Attributes, number, true),
                    (PropertyKind::Optional, None) => Word::Number(0),
                    (PropertyKind::Required, None) => {
                        return Err(error!(
                            InvalidArgument,
                            "MLIR bytecode: {name} has no attribute {}", property.name
                        ));
                    }
                    (PropertyKind::Sizes(_), _) => {
                        return Err(error!(Unimplemented, "MLIR bytecode: {name} is not written"));
                    }
                });
            }
            own.properties = Some(self.entries.pool.properties.number(words));
        }
        if !attributes.is_empty() {
            own.dictionary = Some(self.entries.dictionary(side, &Dictionary(attributes.into()))?);
        }
        Ok(own)
    }
}

/// Numbers of the attributes of an operation.
#[derive(Default)]
struct Own {
    dictionary: Option<u32>,
    properties: Option<u32>,
}
