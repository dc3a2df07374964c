//! The sections of a file of MLIR bytecode, and its tables of strings, dialects, names of operations, resources and
//! properties.

use super::bytes::Cursor;
use super::forms::Dialect;
use super::operations::{self, OperationName};
use base::error::Result;
use std::sync::Arc;

/// First bytes of a file.
pub const MAGIC: &[u8] = b"ML\xEFR";
/// Newest version of the format that is read, also that of MLIR today.
const NEWEST_FORMAT: u64 = 6;

/// Most bytes of the name of a dialect, and that of an operation in it.
const MOST_BYTES_OF_A_NAME: usize = 256;
/// Most different operations.
const MOST_NAMES: usize = 4096;

/// Version of the format from which dialects have versions.
pub const DIALECT_VERSIONS: u64 = 1;
/// Version from which isolated regions are sections.
pub const REGION_SECTIONS: u64 = 2;
/// Version from which values may have an order of their uses.
pub const USE_ORDERS: u64 = 3;
/// Version from which arguments of blocks may have no location, and the number of names of operations is stored.
pub const ARGUMENT_LOCATIONS: u64 = 4;
/// Version from which properties have an encoding of their own.
pub const PROPERTIES: u64 = 5;

/// Identifiers of sections.
pub mod id {
    pub const STRINGS: usize = 0;
    pub const DIALECTS: usize = 1;
    pub const ATTRIBUTES: usize = 2;
    pub const ATTRIBUTE_OFFSETS: usize = 3;
    pub const OPERATIONS: usize = 4;
    pub const RESOURCES: usize = 5;
    pub const RESOURCE_OFFSETS: usize = 6;
    pub const DIALECT_VERSIONS: usize = 7;
    pub const PROPERTIES: usize = 8;
    pub const COUNT: usize = 9;
}

/// A file, cut into its tables.
pub struct File<'a> {
    /// Memory that holds the file.
    pub owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    /// Version of the format.
    pub format: u64,
    /// The writer.
    pub producer: String,
    /// Strings.
    pub strings: Vec<&'a [u8]>,
    /// Dialects, with their names.
    pub dialects: Vec<(Dialect, &'a str)>,
    /// Names of operations.
    pub names: Vec<OperationName>,
    /// Contents of the resources of dialects.
    pub resources: Vec<Cursor<'a>>,
    /// Properties.
    pub properties: Vec<Cursor<'a>>,
    /// Attributes, then types.
    pub attributes: Cursor<'a>,
    /// Sizes of attributes and types.
    pub attribute_offsets: Cursor<'a>,
    /// Operations.
    pub operations: Cursor<'a>,
}

/// Reads the header of a section. Returns its identifier and content.
pub fn section<'a>(cursor: &mut Cursor<'a>) -> Result<(usize, Cursor<'a>)> {
    let first = cursor.byte()?;
    let length = cursor.varint()?;
    if first & 0x80 != 0 {
        let alignment = cursor.varint()?;
        cursor.align(alignment)?;
    }
    Ok(((first & 0x7F).into(), cursor.take(length)?))
}

/// Reads a section that is part of another.
pub fn nested_section<'a>(cursor: &mut Cursor<'a>, wanted: usize) -> Result<Cursor<'a>> {
    let before = *cursor;
    match section(cursor)? {
        (found, content) if found == wanted => Ok(content),
        (found, _) => Err(before.error(format_args!("section {wanted} was expected, not {found}"))),
    }
}

/// Reads the section that holds the regions of an isolated operation.
pub fn region_section<'a>(cursor: &mut Cursor<'a>) -> Result<Cursor<'a>> {
    nested_section(cursor, id::OPERATIONS)
}

impl<'a> File<'a> {
    /// Cuts a file into its tables.
    pub fn read(bytes: &'a [u8], owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Result<File<'a>> {
        let mut cursor = Cursor::new(bytes);
        if !bytes.starts_with(MAGIC) {
            return Err(cursor.error("MLIR bytecode begins with the bytes 4D 4C EF 52"));
        }
        cursor.take(MAGIC.len() as u64)?;
        let before = cursor;
        let format = cursor.varint()?;
        if format > NEWEST_FORMAT {
            return Err(before.unimplemented(format_args!(
                "the file has version {format} of the bytecode format, the library reads versions up to {NEWEST_FORMAT}"
            )));
        }
        let producer = String::from_utf8_lossy(cursor.nul_terminated()?).into_owned();
        let mut sections = [None; id::COUNT];
        while !cursor.is_empty() {
            let before = cursor;
            let (id, content) = section(&mut cursor)?;
            match sections.get_mut(id) {
                Some(place @ None) => *place = Some(content),
                Some(Some(_)) => return Err(before.error(format_args!("section {id} is there twice"))),
                None => return Err(before.error(format_args!("there are no sections {id}"))),
            }
        }
        let required =
            |id: usize| sections[id].ok_or_else(|| cursor.error(format_args!("the file has no section {id}")));
        let strings = strings(required(id::STRINGS)?)?;
        let (dialect_names, names) = dialects(required(id::DIALECTS)?, format, &strings)?;
        let resources = match (sections[id::RESOURCES], sections[id::RESOURCE_OFFSETS]) {
            (Some(content), Some(offsets)) => resources(content, offsets, strings.len(), dialect_names.len())?,
            _ => Vec::new(),
        };
        Ok(File {
            owner,
            format,
            producer,
            dialects: dialect_names.iter().map(|&name| (Dialect::of(name), name)).collect(),
            names,
            resources,
            properties: sections[id::PROPERTIES].map(properties).transpose()?.unwrap_or_default(),
            attributes: required(id::ATTRIBUTES)?,
            attribute_offsets: required(id::ATTRIBUTE_OFFSETS)?,
            operations: required(id::OPERATIONS)?,
            strings,
        })
    }
}

/// Reads the table of strings: their sizes with the NUL at their ends, the last one first; then their bytes.
fn strings(mut section: Cursor<'_>) -> Result<Vec<&[u8]>> {
    let count = section.count()?;
    let sizes = (0..count).map(|_| section.varint()).collect::<Result<Vec<u64>>>()?;
    let mut strings = Vec::with_capacity(count);
    for &size in sizes.iter().rev() {
        let Some((0, string)) = section.take(size)?.rest().split_last() else {
            return Err(section.error("a string has no NUL at its end"));
        };
        strings.push(string);
    }
    match section.is_empty() {
        true => Ok(strings),
        false => Err(section.error("the section of strings has bytes after the last string")),
    }
}

/// Reads the names of dialects and operations.
fn dialects<'a>(
    mut section: Cursor<'a>,
    format: u64,
    strings: &[&'a [u8]],
) -> Result<(Vec<&'a str>, Vec<OperationName>)> {
    let text = |place: Cursor<'a>, index: u64| -> Result<&'a str> {
        let name = strings[place.check_index(index, strings.len(), "string")?];
        if name.len() > MOST_BYTES_OF_A_NAME {
            return Err(place.unimplemented(format_args!("a name of a dialect or operation of {} bytes", name.len())));
        }
        std::str::from_utf8(name).map_err(|_| place.error("a name of a dialect or operation is not UTF-8"))
    };
    let count = section.count()?;
    let mut dialects = Vec::with_capacity(count);
    for _ in 0..count {
        let place = section;
        let (name, versioned) =
            if format < DIALECT_VERSIONS { (section.varint()?, false) } else { section.flagged()? };
        dialects.push(text(place, name)?);
        if versioned {
            nested_section(&mut section, id::DIALECT_VERSIONS)?;
        }
    }
    if format >= ARGUMENT_LOCATIONS {
        section.count()?;
    }
    let mut names = Vec::new();
    while !section.is_empty() {
        let dialect = dialects[section.index(dialects.len(), "dialect")?];
        for _ in 0..section.count()? {
            let place = section;
            if names.len() == MOST_NAMES {
                return Err(place.unimplemented(format_args!("more than {MOST_NAMES} different operations")));
            }
            let (name, registered) = if format < PROPERTIES { (section.varint()?, true) } else { section.flagged()? };
            names.push(operations::name(place, dialect, text(place, name)?, registered)?);
        }
    }
    Ok((dialects, names))
}

/// Finds the contents of the resources of dialects.
fn resources<'a>(
    mut content: Cursor<'a>,
    mut offsets: Cursor<'a>,
    strings: usize,
    dialects: usize,
) -> Result<Vec<Cursor<'a>>> {
    let mut group = |offsets: &mut Cursor<'a>| -> Result<Vec<Cursor<'a>>> {
        let count = offsets.count()?;
        let mut group = Vec::with_capacity(count);
        for _ in 0..count {
            offsets.index(strings, "string")?;
            group.push(content.take(offsets.varint()?)?);
            offsets.byte()?;
        }
        Ok(group)
    };
    for _ in 0..offsets.count()? {
        offsets.index(strings, "string")?;
        group(&mut offsets)?;
    }
    let mut all = Vec::new();
    while !offsets.is_empty() {
        offsets.index(dialects, "dialect")?;
        all.extend(group(&mut offsets)?);
    }
    Ok(all)
}

/// Finds the properties.
fn properties(mut section: Cursor) -> Result<Vec<Cursor>> {
    let count = section.count()?;
    (0..count).map(|_| section.blob()).collect()
}
