//! Operations, blocks and regions.

use super::bytes::Cursor;
use super::decode;
use super::operations::{self, OperationName, PropertyValue};
use super::sections::{ARGUMENT_LOCATIONS, REGION_SECTIONS, USE_ORDERS, region_section};
use super::tables::Tables;
use super::upgrade;
use crate::{Attribute, Block, Dictionary, Operation, Region, Type, Value};
use base::error::Result;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Most levels of nested regions.
const MOST_LEVELS: usize = 100;

/// Operation between types of different dialects.
const CAST: &str = "builtin.unrealized_conversion_cast";

/// Bits of the byte that says what an operation has.
pub mod has {
    pub const ATTRIBUTES: u8 = 1;
    pub const RESULTS: u8 = 2;
    pub const OPERANDS: u8 = 4;
    pub const SUCCESSORS: u8 = 8;
    pub const REGIONS: u8 = 16;
    pub const USE_ORDERS: u8 = 32;
    pub const PROPERTIES: u8 = 64;
}

/// Reads operations.
pub struct Ir<'a> {
    tables: Tables<'a>,
    /// Types of all values.
    types: Vec<Arc<Type>>,
    /// Values that may be used at the place that is read, by their numbers from `isolated` on. None is not defined yet.
    visible: Vec<Option<Value>>,
    /// Number of values that an operation that is isolated from those around it does not see.
    isolated: usize,
    /// Number in `visible` of the next value of the region that is read.
    next: usize,
    /// Attributes of operations that were read, by the indices of name, dictionary and properties.
    attributes: FxHashMap<(usize, Option<u64>, Option<u64>), Dictionary>,
    /// How many attributes may still be copied.
    copies_left: usize,
    /// Number of regions around the place that is read.
    level: usize,
}

/// Reads the operations of a file, and the types of their values.
pub fn read(tables: Tables) -> Result<(Block, Vec<Arc<Type>>)> {
    let mut cursor = tables.file.operations;
    let bytes = (*tables.file.owner).as_ref().len();
    let mut ir = Ir {
        tables,
        types: Vec::new(),
        visible: Vec::new(),
        isolated: 0,
        next: 0,
        attributes: FxHashMap::default(),
        copies_left: 8 * bytes + (1 << 16),
        level: 0,
    };
    let block = ir.block(&mut cursor, "")?;
    if !cursor.is_empty() {
        return Err(cursor.error("the section of operations has bytes after the last operation"));
    }
    Ok((block, ir.types))
}

impl<'a> Ir<'a> {
    /// Reads a block of an operation of the name `parent`.
    fn block(&mut self, cursor: &mut Cursor<'a>, parent: &str) -> Result<Block> {
        let (count, has_arguments) = cursor.flagged()?;
        let mut block = Block::default();
        if has_arguments {
            block.arguments = self.arguments(cursor)?;
        }
        cursor.check_count(count)?;
        for _ in 0..count {
            if let Some(operation) = self.operation(cursor, parent)? {
                block.operations.push(operation);
            }
        }
        Ok(block)
    }

    /// Reads the arguments of a block.
    fn arguments(&mut self, cursor: &mut Cursor<'a>) -> Result<Vec<Value>> {
        let count = cursor.count()?;
        let mut arguments = Vec::with_capacity(count);
        for _ in 0..count {
            let place = *cursor;
            let (ty, located) = match self.tables.file.format < ARGUMENT_LOCATIONS {
                true => (cursor.varint()?, true),
                false => cursor.flagged()?,
            };
            let ty = decode::ty(&mut self.tables, &place, ty)?;
            arguments.push(self.define(&place, ty)?);
            if located {
                cursor.varint()?;
            }
        }
        if self.tables.file.format >= USE_ORDERS && cursor.byte()? != 0 {
            skip_use_orders(cursor, count)?;
        }
        Ok(arguments)
    }

    /// Reads an operation; None for one that changes nothing.
    fn operation(&mut self, cursor: &mut Cursor<'a>, parent: &str) -> Result<Option<Operation>> {
        let start = *cursor;
        let name = cursor.index(self.tables.file.names.len(), "name of an operation")?;
        let has = cursor.byte()?;
        let location = cursor.varint()?;
        let location = decode::location(&mut self.tables, &start, location)?;
        let attributes = (has & has::ATTRIBUTES != 0).then(|| cursor.varint()).transpose()?;
        let properties = (has & has::PROPERTIES != 0).then(|| cursor.varint()).transpose()?;
        let attributes = self.attributes(&start, name, attributes, properties)?;
        let results = if has & has::RESULTS != 0 { self.result_types(cursor)? } else { SmallVec::new() };
        let operands = if has & has::OPERANDS != 0 { self.operands(cursor)? } else { SmallVec::new() };
        let OperationName { name, original, .. } = &self.tables.file.names[name];
        let name = match &**original == upgrade::RETURN && parent == "func.func" {
            true => "func.return".into(),
            false => name.clone(),
        };
        if has & has::SUCCESSORS != 0 {
            return Err(start.unimplemented(format_args!("{original} branches to another block, which is not read")));
        }
        if has & has::USE_ORDERS != 0 {
            skip_use_orders(cursor, results.len())?;
        }
        let regions = (has & has::REGIONS != 0).then(|| cursor.flagged()).transpose()?;
        if &*name == CAST && regions.is_none() && self.is_identity(&operands, &results) {
            operands.into_iter().try_for_each(|operand| self.define_as(&start, operand))?;
            return Ok(None);
        }
        let mut defined = SmallVec::new();
        for ty in results {
            defined.push(self.define(&start, ty)?);
        }
        let regions = match regions {
            Some((count, isolated)) => self.regions(cursor, count, isolated, &name)?,
            None => Vec::new(),
        };
        Ok(Some(Operation { name, operands, results: defined, attributes, regions, location }))
    }

    fn result_types(&mut self, cursor: &mut Cursor<'a>) -> Result<SmallVec<[Arc<Type>; 1]>> {
        let mut types = SmallVec::new();
        for _ in 0..cursor.count()? {
            let place = *cursor;
            types.push(decode::ty(&mut self.tables, &place, cursor.varint()?)?);
        }
        Ok(types)
    }

    fn operands(&mut self, cursor: &mut Cursor<'a>) -> Result<SmallVec<[Value; 3]>> {
        let mut operands = SmallVec::new();
        for _ in 0..cursor.count()? {
            operands.push(self.operand(cursor)?);
        }
        Ok(operands)
    }

    /// Reads the number of a value that is used. Without branches, it is defined before.
    fn operand(&mut self, cursor: &mut Cursor<'a>) -> Result<Value> {
        let place = *cursor;
        let index = self.isolated + cursor.index(self.visible.len() - self.isolated, "value")?;
        self.visible[index].ok_or_else(|| place.error("an operation uses a value that is not defined before it"))
    }

    fn new_value(&mut self, place: &Cursor, ty: Arc<Type>) -> Result<Value> {
        let Ok(number) = u32::try_from(self.types.len()) else {
            return Err(place.unimplemented("more than 2^32 values are not read"));
        };
        self.types.push(ty);
        Ok(Value(number))
    }

    /// Defines the next value of the region.
    fn define(&mut self, place: &Cursor, ty: Arc<Type>) -> Result<Value> {
        let value = self.new_value(place, ty)?;
        // The operations outside of all regions have no numbers.
        if self.level > 0 {
            self.define_as(place, value)?;
        }
        Ok(value)
    }

    /// Defines the next value of the region as another value.
    fn define_as(&mut self, place: &Cursor, value: Value) -> Result<()> {
        if self.next == self.visible.len() {
            return Err(place.error("a region defines more values than it says"));
        }
        self.visible[self.next] = Some(value);
        self.next += 1;
        Ok(())
    }

    /// Whether the results of a cast are its operands: it is between a type of VHLO and the same type of another
    /// dialect.
    fn is_identity(&self, operands: &[Value], results: &[Arc<Type>]) -> bool {
        self.level > 0 && operands.iter().map(|operand| &self.types[operand.0 as usize]).eq(results)
    }

    /// Reads the regions of an operation.
    fn regions(&mut self, cursor: &mut Cursor<'a>, count: u64, isolated: bool, parent: &str) -> Result<Vec<Region>> {
        if self.level == MOST_LEVELS {
            return Err(cursor.unimplemented(format_args!("more than {MOST_LEVELS} levels of regions are not read")));
        }
        let mut section = None;
        if isolated && self.tables.file.format >= REGION_SECTIONS && count > 0 {
            section = Some(region_section(cursor)?);
        }
        let content = section.as_mut().unwrap_or(cursor);
        content.check_count(count)?;
        let mut regions = Vec::new();
        let around = self.isolated;
        if isolated {
            self.isolated = self.visible.len();
        }
        for _ in 0..count {
            regions.push(self.region(content, parent)?);
        }
        self.isolated = around;
        match section {
            Some(section) if !section.is_empty() => Err(section.error("a region has bytes after its last operation")),
            _ => Ok(regions),
        }
    }

    /// Reads a region.
    fn region(&mut self, cursor: &mut Cursor<'a>, parent: &str) -> Result<Region> {
        let blocks = cursor.count()?;
        let mut region = Region::default();
        if blocks == 0 {
            return Ok(region);
        }
        let place = *cursor;
        let values = cursor.count()?;
        let start = self.visible.len();
        // Each value has at least one byte of its own in the section, also those of regions around this one.
        if values > self.tables.file.operations.remaining() - start {
            return Err(place.error(format_args!("a region with {values} values")));
        }
        self.visible.resize(start + values, None);
        let next = std::mem::replace(&mut self.next, start);
        self.level += 1;
        for _ in 0..blocks {
            region.blocks.push(self.block(cursor, parent)?);
        }
        self.level -= 1;
        if self.next < self.visible.len() {
            return Err(place.error("a region defines fewer values than it says"));
        }
        self.next = next;
        self.visible.truncate(start);
        Ok(region)
    }

    /// Returns the attributes of an operation with its properties.
    fn attributes(
        &mut self,
        place: &Cursor<'a>,
        name: usize,
        dictionary: Option<u64>,
        properties: Option<u64>,
    ) -> Result<Dictionary> {
        match (dictionary, properties) {
            (None, None) => return Ok(Dictionary::default()),
            (Some(index), None) if !self.tables.file.names[name].changes => return self.dictionary(place, index),
            _ => {}
        }
        if let Some(known) = self.attributes.get(&(name, dictionary, properties)) {
            return Ok(known.clone());
        }
        let mut attributes = Vec::new();
        if let Some(index) = properties {
            self.properties(place, name, index, &mut attributes)?;
        }
        if let Some(index) = dictionary {
            attributes.extend(self.dictionary(place, index)?.0.iter().cloned());
        }
        self.spend(place, &attributes)?;
        let original = &self.tables.file.names[name].original;
        upgrade::attributes(original, &mut attributes, &|string| self.tables.name(string));
        let attributes = Dictionary(attributes.into());
        self.attributes.insert((name, dictionary, properties), attributes.clone());
        Ok(attributes)
    }

    /// Counts attributes that are copied. An attribute of an operation has bytes of its own, but hostile files may
    /// refer to one dictionary or list again and again.
    fn spend(&mut self, place: &Cursor, attributes: &[(Arc<str>, Attribute)]) -> Result<()> {
        let lists = attributes.iter().map(|(_, value)| if let Attribute::Array(list) = value { list.len() } else { 0 });
        let copies = attributes.len() + lists.sum::<usize>();
        let Some(left) = self.copies_left.checked_sub(copies) else {
            return Err(place.unimplemented("attributes that refer to each other too often"));
        };
        self.copies_left = left;
        Ok(())
    }

    /// Returns the dictionary with an index.
    fn dictionary(&mut self, place: &Cursor, index: u64) -> Result<Dictionary> {
        match decode::attribute(&mut self.tables, place, index)? {
            Attribute::Dictionary(dictionary) => Ok(dictionary),
            _ => Err(place.error("the attributes of an operation are not a dictionary")),
        }
    }

    /// Appends the properties of an operation.
    fn properties(
        &mut self,
        place: &Cursor<'a>,
        name: usize,
        index: u64,
        attributes: &mut Vec<(Arc<str>, Attribute)>,
    ) -> Result<()> {
        if !self.tables.file.names[name].registered {
            attributes.extend(self.dictionary(place, index)?.0.iter().cloned());
            return Ok(());
        }
        let content =
            self.tables.file.properties[place.check_index(index, self.tables.file.properties.len(), "property")?];
        for (name, value) in operations::properties(&self.tables.file.names[name], content, self.tables.file.format)? {
            let value = match value {
                PropertyValue::Attribute(index) => decode::attribute(&mut self.tables, &content, index)?,
                PropertyValue::Sizes(sizes) => Attribute::Integers(sizes.into()),
            };
            attributes.push((name, value));
        }
        Ok(())
    }
}

/// Skips the order of the uses of values, of which an operation or block defines `values`.
fn skip_use_orders(cursor: &mut Cursor, values: usize) -> Result<()> {
    let orders = if values > 1 { cursor.count()? } else { 1 };
    for _ in 0..orders {
        if values > 1 {
            cursor.varint()?;
        }
        let (count, _) = cursor.flagged()?;
        for _ in 0..count {
            cursor.varint()?;
        }
    }
    Ok(())
}
