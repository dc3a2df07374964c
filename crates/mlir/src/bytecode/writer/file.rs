//! Writes a file of the things that operations refer to, and the operations.

use super::super::sections::{ARGUMENT_LOCATIONS, DIALECT_VERSIONS, MAGIC, PROPERTIES, id};
use super::pool::{Entry, Name, Numbered, Orders, Pool};
use super::words::{Word, number_size, put_number};
use std::rc::Rc;

/// Returns a file in a version of the format.
pub fn file(pool: &Pool, operations: &[Word], format: u64, producer: &str) -> Vec<u8> {
    let orders = Orders::of(pool);
    let dialects = dialects(pool, &orders, format);
    let (offsets, size) = offsets(pool, &orders);
    let (mut body, mut properties) = (Vec::new(), Vec::new());
    put(&mut body, operations, &orders);
    put_number(&mut properties, pool.properties.items.len() as u64);
    for words in &pool.properties.items {
        put_number(&mut properties, words_size(words, &orders) as u64);
        put(&mut properties, words, &orders);
    }
    let strings = strings(&pool.strings);

    // The elements of constants are copied once, into memory that does not grow.
    let parts = [dialects.len(), size, offsets.len(), body.len(), strings.len(), properties.len()];
    let mut out = Vec::with_capacity(128 + producer.len() + parts.iter().sum::<usize>());
    out.extend(MAGIC);
    put_number(&mut out, format);
    out.extend(producer.as_bytes());
    out.push(0);
    section(&mut out, id::DIALECTS, &dialects);
    out.push(id::ATTRIBUTES as u8);
    put_number(&mut out, size as u64);
    for entry in entries(&pool.attributes, &orders.attributes).chain(entries(&pool.types, &orders.types)) {
        put(&mut out, &entry.words, &orders);
    }
    section(&mut out, id::ATTRIBUTE_OFFSETS, &offsets);
    section(&mut out, id::OPERATIONS, &body);
    section(&mut out, id::STRINGS, &strings);
    if format >= PROPERTIES {
        section(&mut out, id::PROPERTIES, &properties);
    }
    out
}

fn section(out: &mut Vec<u8>, id: usize, content: &[u8]) {
    out.push(id as u8);
    put_number(out, content.len() as u64);
    out.extend(content);
}

/// Returns names of dialects, and names of operations by dialect.
fn dialects(pool: &Pool, orders: &Orders, format: u64) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, pool.dialects.items.len() as u64);
    for dialect in &pool.dialects.items {
        let string = u64::from(**dialect);
        // The flag says whether the dialect has a version.
        put_number(&mut out, if format < DIALECT_VERSIONS { string } else { string << 1 });
    }
    if format >= ARGUMENT_LOCATIONS {
        put_number(&mut out, pool.names.items.len() as u64);
    }
    let names: Vec<&Name> = orders.names.iter().map(|&number| &*pool.names.items[number as usize]).collect();
    for group in names.chunk_by(|a, b| a.dialect == b.dialect) {
        put_number(&mut out, group[0].dialect.into());
        put_number(&mut out, group.len() as u64);
        for name in group {
            let string = u64::from(name.string);
            // The flag says that properties have their own encoding.
            put_number(&mut out, if format < PROPERTIES { string } else { string << 1 | 1 });
        }
    }
    out
}

/// Returns the sizes of attributes and types, and their sum.
fn offsets(pool: &Pool, orders: &Orders) -> (Vec<u8>, usize) {
    let (mut out, mut sum) = (Vec::new(), 0);
    put_number(&mut out, pool.attributes.items.len() as u64);
    put_number(&mut out, pool.types.items.len() as u64);
    for (things, order) in [(&pool.attributes, &orders.attributes), (&pool.types, &orders.types)] {
        let entries: Vec<&Rc<Entry>> = entries(things, order).collect();
        for group in entries.chunk_by(|a, b| a.dialect == b.dialect) {
            put_number(&mut out, group[0].dialect.into());
            put_number(&mut out, group.len() as u64);
            for entry in group {
                let size = words_size(&entry.words, orders);
                put_number(&mut out, (size as u64) << 1 | u64::from(entry.encoded));
                sum += size;
            }
        }
    }
    (out, sum)
}

fn entries<'p>(things: &'p Numbered<Entry>, order: &'p [u32]) -> impl Iterator<Item = &'p Rc<Entry>> {
    order.iter().map(|&number| &things.items[number as usize])
}

/// Returns the table of strings: their sizes with the NUL at their ends, the last one first; then their bytes.
fn strings(strings: &Numbered<Box<[u8]>>) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, strings.items.len() as u64);
    for string in strings.items.iter().rev() {
        put_number(&mut out, string.len() as u64 + 1);
    }
    for string in &strings.items {
        out.extend(&***string);
        out.push(0);
    }
    out
}

/// Writes words.
fn put(out: &mut Vec<u8>, words: &[Word], orders: &Orders) {
    for word in words {
        match word {
            Word::Number(value) => put_number(out, *value),
            Word::Byte(byte) => out.push(*byte),
            Word::Bytes(bytes) => out.extend(&**bytes),
            Word::Elements(elements) => out.extend(elements.0.data.bytes()),
            Word::Reference(table, number) => put_number(out, orders.place(*table, *number)),
            Word::Flagged(table, number, flag) => {
                put_number(out, orders.place(*table, *number) << 1 | u64::from(*flag));
            }
            Word::Section(id, words) => {
                out.push(*id);
                put_number(out, words_size(words, orders) as u64);
                put(out, words, orders);
            }
        }
    }
}

/// Number of bytes of words.
fn words_size(words: &[Word], orders: &Orders) -> usize {
    let size = |word: &Word| match word {
        Word::Number(value) => number_size(*value),
        Word::Byte(_) => 1,
        Word::Bytes(bytes) => bytes.len(),
        Word::Elements(elements) => elements.0.data.bytes().len(),
        Word::Reference(table, number) => number_size(orders.place(*table, *number)),
        Word::Flagged(table, number, _) => number_size(orders.place(*table, *number) << 1),
        Word::Section(_, words) => {
            let size = words_size(words, orders);
            1 + number_size(size as u64) + size
        }
    };
    words.iter().map(size).sum()
}
