//! Writer of flatbuffers: tables are written before what they refer to.

/// A table: its fields by their numbers, in ascending order.
pub struct Table<'a>(pub Vec<(usize, Field<'a>)>);

/// A field of a table.
pub enum Field<'a> {
    U8(u8),
    U16(u16),
    U32(u32),
    Text(&'a str),
    Bytes(&'a [u8]),
    Numbers16(Vec<u16>),
    Numbers32(Vec<u32>),
    Texts(Vec<&'a str>),
    Table(Table<'a>),
    Tables(Vec<Table<'a>>),
}

/// Returns a file with a table.
pub fn file(root: &Table) -> Vec<u8> {
    let mut out = vec![0; 4];
    refer(&mut out, 0, |out| table(out, root));
    out
}

/// Writes something, and its distance to the place that refers to it.
fn refer(out: &mut Vec<u8>, place: usize, write: impl FnOnce(&mut Vec<u8>) -> usize) {
    let distance = write(out) - place;
    let distance = u32::try_from(distance).expect("the caller checked the size");
    out[place..place + 4].copy_from_slice(&distance.to_le_bytes());
}

fn align(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

/// Writes a table after the list of its fields, and then what they refer to. Each field has four bytes.
fn table(out: &mut Vec<u8>, Table(fields): &Table) -> usize {
    align(out);
    let slots = fields.last().map_or(0, |(slot, _)| slot + 1);
    let list = out.len();
    out.extend((4 + 2 * slots as u16).to_le_bytes());
    out.extend((4 + 4 * fields.len() as u16).to_le_bytes());
    let mut offsets = vec![0_u16; slots];
    fields.iter().enumerate().for_each(|(i, (slot, _))| offsets[*slot] = 4 + 4 * i as u16);
    offsets.iter().for_each(|offset| out.extend(offset.to_le_bytes()));
    align(out);
    let start = out.len();
    out.extend((start as i32 - list as i32).to_le_bytes());
    for (_, field) in fields {
        let value = match field {
            Field::U8(value) => (*value).into(),
            Field::U16(value) => (*value).into(),
            Field::U32(value) => *value,
            _ => 0,
        };
        out.extend(value.to_le_bytes());
    }
    for (i, (_, field)) in fields.iter().enumerate() {
        let place = start + 4 + 4 * i;
        match field {
            Field::U8(_) | Field::U16(_) | Field::U32(_) => {}
            Field::Text(text) => refer(out, place, |out| self::text(out, text)),
            Field::Bytes(bytes) => refer(out, place, |out| vector(out, bytes.len(), bytes)),
            Field::Numbers16(list) => {
                let bytes: Vec<u8> = list.iter().flat_map(|value| value.to_le_bytes()).collect();
                refer(out, place, |out| vector(out, list.len(), &bytes));
            }
            Field::Numbers32(list) => {
                let bytes: Vec<u8> = list.iter().flat_map(|value| value.to_le_bytes()).collect();
                refer(out, place, |out| vector(out, list.len(), &bytes));
            }
            Field::Texts(texts) => refer(out, place, |out| references(out, texts, |out, item| text(out, item))),
            Field::Table(inner) => refer(out, place, |out| table(out, inner)),
            Field::Tables(tables) => refer(out, place, |out| references(out, tables, table)),
        }
    }
    start
}

/// Writes the number of elements, and their bytes.
fn vector(out: &mut Vec<u8>, count: usize, bytes: &[u8]) -> usize {
    align(out);
    let start = out.len();
    out.extend((count as u32).to_le_bytes());
    out.extend(bytes);
    start
}

fn text(out: &mut Vec<u8>, text: &str) -> usize {
    let start = vector(out, text.len(), text.as_bytes());
    out.push(0);
    start
}

/// Writes a vector of things that are referred to, and then these.
fn references<T>(out: &mut Vec<u8>, items: &[T], write: impl Fn(&mut Vec<u8>, &T) -> usize) -> usize {
    let start = vector(out, items.len(), &vec![0; 4 * items.len()]);
    for (i, item) in items.iter().enumerate() {
        refer(out, start + 4 + 4 * i, |out| write(out, item));
    }
    start
}
