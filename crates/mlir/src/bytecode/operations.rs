//! Names of operations, and which of their attributes are properties.

use super::bytes::Cursor;
use super::upgrade;
use crate::Version;
use base::error::Result;
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock};

/// Version of the format from which sizes of groups of operands and results are not attributes.
const SEGMENT_SIZES: u64 = 6;

/// An operation that the file uses.
pub struct OperationName {
    /// Its name in the module.
    pub name: Arc<str>,
    /// Its dialect and name in the file.
    pub original: Arc<str>,
    /// Whether the writer knew it, and wrote its properties in their own encoding, not as an attribute.
    pub registered: bool,
    /// Whether [`upgrade::attributes`] changes its attributes.
    pub changes: bool,
    /// Layouts that its properties may have; None if the library does not know them.
    pub layouts: Option<&'static [Layout]>,
}

/// Properties of an operation, in the order of their encoding.
pub type Layout = Vec<Property>;

/// A property.
pub struct Property {
    /// Name of the attribute.
    pub name: Arc<str>,
    /// How it is encoded.
    pub kind: PropertyKind,
}

impl Property {
    fn is_sizes(&self) -> bool {
        matches!(self.kind, PropertyKind::Sizes(_))
    }
}

/// How a property is encoded.
#[derive(Clone, Copy, PartialEq)]
pub enum PropertyKind {
    /// The index of an attribute.
    Required,
    /// An index with a flag: the attribute may be absent.
    Optional,
    /// Sizes of groups of operands or results: their number.
    Sizes(usize),
}

/// An operation whose properties have an encoding that is known.
pub struct KnownOperation {
    /// Its dialect and name.
    pub name: &'static str,
    /// The oldest VHLO that has it.
    pub since: Version,
    /// Layouts of its properties, the newest first.
    pub layouts: Vec<Layout>,
}

/// Operations by their names.
static OPERATIONS: LazyLock<FxHashMap<&str, KnownOperation>> = LazyLock::new(|| {
    let mut operations: FxHashMap<&str, KnownOperation> = FxHashMap::default();
    for line in logical_lines(include_str!("operations.txt")) {
        let colon = line.iter().position(|&word| word == ":").expect("a line has a colon");
        for &word in &line[..colon] {
            let (name, since) = word.split_once('@').unwrap_or((word, "0.9"));
            let (major, minor) = since.split_once('.').expect("a version");
            let since = Version(major.parse().expect("a number"), minor.parse().expect("a number"), 0);
            let known = operations.entry(name).or_insert(KnownOperation { name, since, layouts: Vec::new() });
            known.layouts.push(line[colon + 1..].iter().map(|word| property(word)).collect());
        }
    }
    operations
});

/// Looks up an operation by its dialect and name.
pub fn known(name: &str) -> Option<&'static KnownOperation> {
    OPERATIONS.get(name)
}

/// Splits the table of operations into its lines, and those into words.
fn logical_lines(text: &'static str) -> Vec<Vec<&'static str>> {
    let mut lines: Vec<Vec<&str>> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match lines.last_mut() {
            Some(last) if line.starts_with(' ') => last.extend(line.split_whitespace()),
            _ => lines.push(line.split_whitespace().collect()),
        }
    }
    lines
}

/// Parses a property of the table of operations.
fn property(word: &str) -> Property {
    let (name, kind) = match word.split_once(['?', '#']) {
        None => (word, PropertyKind::Required),
        Some((name, "")) => (name, PropertyKind::Optional),
        Some((name, count)) => (name, PropertyKind::Sizes(count.parse().expect("a count"))),
    };
    Property { name: name.into(), kind }
}

/// Looks up an operation. UNIMPLEMENTED for one of VHLO that is newer than the library.
pub fn name(place: Cursor, dialect: &str, name: &str, registered: bool) -> Result<OperationName> {
    let original: Arc<str> = if name.is_empty() { dialect.into() } else { format!("{dialect}.{name}").into() };
    let layouts = known(&original).map(|known| &*known.layouts);
    let name = match dialect {
        "vhlo" if layouts.is_none() => return Err(upgrade::unknown(place, &original)),
        "vhlo" => upgrade::name(&original),
        _ => original.clone(),
    };
    let properties = layouts.iter().copied().flatten().flatten();
    let changes = upgrade::changes(&original, properties.map(|property| &*property.name));
    Ok(OperationName { name, original, registered, changes, layouts })
}

/// A property that is present.
pub enum PropertyValue {
    /// The index of an attribute.
    Attribute(u64),
    /// Sizes of groups of operands or results.
    Sizes(Vec<i64>),
}

/// Reads the properties that are present.
pub fn properties(operation: &OperationName, mut place: Cursor, format: u64) -> Result<Vec<(Arc<str>, PropertyValue)>> {
    let Some(layouts) = operation.layouts else {
        let message = format_args!("the encoding of the properties of {} is not known", operation.original);
        return Err(place.unimplemented(message));
    };
    let words = count_words(place)?;
    let matches = |layout: &&Layout| layout.len() == words || layout.iter().any(|property| property.is_sizes());
    let Some(layout) = layouts.iter().find(matches) else {
        let message = format_args!("{} has {words} properties in an order that is not known", operation.original);
        return Err(place.unimplemented(message));
    };
    let mut properties = Vec::with_capacity(layout.len());
    for Property { name, kind } in layout {
        let value = match *kind {
            PropertyKind::Sizes(count) if format >= SEGMENT_SIZES => PropertyValue::Sizes(sizes(&mut place, count)?),
            PropertyKind::Required | PropertyKind::Sizes(_) => PropertyValue::Attribute(place.varint()?),
            PropertyKind::Optional => match place.flagged()? {
                (index, true) => PropertyValue::Attribute(index),
                (_, false) => continue,
            },
        };
        properties.push((name.clone(), value));
    }
    match place.is_empty() {
        true => Ok(properties),
        false => Err(place.error(format_args!("the properties of {} are too long", operation.original))),
    }
}

/// Counts the integers in the encoding of properties.
fn count_words(mut properties: Cursor) -> Result<usize> {
    let mut count = 0;
    while !properties.is_empty() {
        properties.varint()?;
        count += 1;
    }
    Ok(count)
}

/// Reads a list of sizes: all of them, or those that are not 0 with their indices.
fn sizes(place: &mut Cursor, count: usize) -> Result<Vec<i64>> {
    let mut sizes = vec![0; count];
    let (stored, sparse) = place.flagged()?;
    if stored > count as u64 {
        return Err(place.error(format_args!("{count} sizes of groups were expected, not {stored}")));
    }
    let index_bits = if sparse && stored > 0 { place.varint()? } else { 0 };
    if index_bits > 8 {
        return Err(place.error(format_args!("indices of {index_bits} bits in a list of sizes of groups")));
    }
    for i in 0..stored {
        let word = place.varint()?;
        let index = if sparse { word & !(u64::MAX << index_bits) } else { i };
        sizes[place.check_index(index, count, "group")?] = (word >> index_bits) as i64;
    }
    Ok(sizes)
}
