//! Pickled tensors: files of `torch.save` within an archive. The machine knows tensors, parameters, storages,
//! dictionaries and tuples. It calls nothing, and refuses every other name.

use crate::archive::{Archive, Entry, check_order, entry_of};
use crate::error::{Error, Result, shown};
use crate::stored::{Element, Stored, add};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Reads a pickled dictionary of tensors. Adds them to `found`.
pub fn read(archive: &Archive, name: &str, found: &mut BTreeMap<String, Stored>) -> Result<()> {
    let mut read = || match unpickled(archive, archive.entry(name)?)? {
        Value::Dictionary(entries, _) => entries.into_iter().try_for_each(|(key, value)| match (key, value) {
            (Value::Text(key), Value::Tensor(stored)) => add(found, &key, Some((*stored).clone())),
            (Value::Text(key), other) => {
                Err(Error::unsupported(format!("{} is {}; want a tensor", shown(&key), other.kind())))
            }
            (other, _) => Err(Error::invalid(format!("a key is {}; want a text", other.kind()))),
        }),
        other => Err(Error::invalid(format!("it holds {}; want a dictionary of tensors", other.kind()))),
    };
    read().map_err(|e: Error| e.at(entry_of(name)))
}

/// Reads a pickled tensor.
pub fn tensor(archive: &Archive, entry: &Entry) -> Result<Stored> {
    match unpickled(archive, entry)? {
        Value::Tensor(stored) => Ok((*stored).clone()),
        other => Err(Error::unsupported(format!("it is pickled and holds {}; want a tensor", other.kind()))),
    }
}

/// Reads a file of `torch.save`, which is an archive within the archive.
fn unpickled(outer: &Archive, entry: &Entry) -> Result<Value> {
    let inner = Archive::read(outer.file(), entry.range.clone())?;
    let names: Vec<&str> = inner.names().filter(|name| name.ends_with("/data.pkl")).collect();
    let [name] = names[..] else { return Err(Error::invalid(format!("it has {} pickles; want one", names.len()))) };
    let top = name.strip_suffix("/data.pkl").unwrap_or_default();
    check_order(&inner, &format!("{top}/byteorder"))?;
    let bytes = inner.bytes(name)?;
    let machine =
        Machine { archive: &inner, top, bytes, at: 0, stack: Vec::new(), marks: Vec::new(), memo: HashMap::new() };
    machine.run().map_err(|e| e.at(entry_of(name)))
}

/// A value on the stack.
#[derive(Clone)]
enum Value {
    None,
    Bool(bool),
    Int(i64),
    Text(Rc<str>),
    /// Values, and how deep tuples and dictionaries are nested in it.
    Tuple(Rc<[Value]>, usize),
    /// Keys and values, and how deep tuples and dictionaries are nested in it.
    Dictionary(Vec<(Value, Value)>, usize),
    /// A name of Python: `module name`.
    Name(Rc<str>),
    Storage(Rc<Storage>),
    Tensor(Rc<Stored>),
}

struct Storage {
    element: Element,
    entry: Entry,
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Bool(_) => "a bool",
            Value::Int(_) => "a number",
            Value::Text(_) => "a text",
            Value::Tuple(..) => "a tuple",
            Value::Dictionary(..) => "a dictionary",
            Value::Name(_) => "a name",
            Value::Storage(_) => "a storage",
            Value::Tensor(_) => "a tensor",
        }
    }

    /// How deep tuples and dictionaries are nested in it.
    fn depth(&self) -> usize {
        match self {
            Value::Tuple(_, depth) | Value::Dictionary(_, depth) => *depth,
            _ => 0,
        }
    }

    fn integers(&self) -> Option<Vec<i64>> {
        let Value::Tuple(list, _) = self else { return None };
        let one = |value: &Value| match value {
            Value::Int(value) => Some(*value),
            _ => None,
        };
        list.iter().map(one).collect()
    }
}

/// Tuples and dictionaries may be nested this deep; they are dropped by recursion.
const MOST_DEPTH: usize = 32;

/// One level more than the deepest of some values.
fn deeper<'v>(values: impl Iterator<Item = &'v Value>) -> Result<usize> {
    match values.map(Value::depth).max().unwrap_or(0) + 1 {
        depth @ ..=MOST_DEPTH => Ok(depth),
        _ => Err(Error::invalid(format!("tuples and dictionaries are nested more than {MOST_DEPTH} deep"))),
    }
}

/// The names that the machine knows.
const TENSOR: &str = "torch._utils _rebuild_tensor_v2";
const PARAMETER: &str = "torch._utils _rebuild_parameter";
const DICTIONARY: &str = "collections OrderedDict";

struct Machine<'a> {
    archive: &'a Archive<'a>,
    /// The folder of the storages.
    top: &'a str,
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
}

impl Machine<'_> {
    fn run(mut self) -> Result<Value> {
        loop {
            let at = self.at;
            match self.step().map_err(|e| e.at(format!("byte {at} of the pickle")))? {
                None => {}
                Some(value) => return Ok(value),
            }
        }
    }

    /// Runs an instruction; returns the result at the last one.
    fn step(&mut self) -> Result<Option<Value>> {
        match self.take::<1>()?[0] {
            b'.' => return self.pop().map(Some),
            0x80 => drop(self.take::<1>()?),
            // A frame, whose length says nothing.
            0x95 => drop(self.take::<8>()?),
            b'(' => self.marks.push(self.stack.len()),
            b'N' => self.stack.push(Value::None),
            0x88 => self.stack.push(Value::Bool(true)),
            0x89 => self.stack.push(Value::Bool(false)),
            b'K' => self.integer::<1>(false)?,
            b'M' => self.integer::<2>(false)?,
            b'J' => self.integer::<4>(true)?,
            0x8a => self.long()?,
            b'X' => self.text()?,
            b'c' => self.name()?,
            b')' => self.stack.push(Value::Tuple(Rc::new([]), 1)),
            0x85 => self.tuple(1)?,
            0x86 => self.tuple(2)?,
            0x87 => self.tuple(3)?,
            b't' => {
                let start = self.mark()?;
                self.tuple(self.stack.len() - start)?;
            }
            b'}' => self.stack.push(Value::Dictionary(Vec::new(), 1)),
            b's' => self.set(self.stack.len().saturating_sub(2))?,
            b'u' => {
                let start = self.mark()?;
                self.set(start)?;
            }
            b'q' => self.remember::<1>()?,
            b'r' => self.remember::<4>()?,
            b'h' => self.recall::<1>()?,
            b'j' => self.recall::<4>()?,
            b'Q' => self.storage()?,
            b'R' => self.build()?,
            // State of an OrderedDict: its _metadata.
            b'b' => drop(self.pop()?),
            other => return Err(Error::unsupported(format!("the instruction {other:#04x} is not known"))),
        }
        Ok(None)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.slice(N)?;
        let mut made = [0; N];
        made.copy_from_slice(taken);
        Ok(made)
    }

    fn slice(&mut self, count: usize) -> Result<&[u8]> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| Error::invalid("it ends too early"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn pop(&mut self) -> Result<Value> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.len() > floor {
            true => self.stack.pop().ok_or_else(empty),
            false => Err(empty()),
        }
    }

    /// Returns the height of the stack at the last mark.
    fn mark(&mut self) -> Result<usize> {
        self.marks.pop().ok_or_else(empty)
    }

    fn integer<const N: usize>(&mut self, signed: bool) -> Result<()> {
        let bytes = self.take::<N>()?;
        let fill = if signed && bytes[N - 1] & 0x80 != 0 { 0xff } else { 0 };
        let mut all = [fill; 8];
        all[..N].copy_from_slice(&bytes);
        self.stack.push(Value::Int(i64::from_le_bytes(all)));
        Ok(())
    }

    fn long(&mut self) -> Result<()> {
        let count = usize::from(self.take::<1>()?[0]);
        if count > 8 {
            return Err(Error::unsupported(format!("a number of {count} bytes")));
        }
        let bytes = self.slice(count)?;
        let fill = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
        let mut all = [fill; 8];
        all[..count].copy_from_slice(bytes);
        self.stack.push(Value::Int(i64::from_le_bytes(all)));
        Ok(())
    }

    fn text(&mut self) -> Result<()> {
        let count = u32::from_le_bytes(self.take::<4>()?) as usize;
        let text = std::str::from_utf8(self.slice(count)?).map_err(|_| Error::invalid("a text is not UTF-8"))?;
        let text = Value::Text(text.into());
        self.stack.push(text);
        Ok(())
    }

    /// Reads a name: two lines.
    fn name(&mut self) -> Result<()> {
        let mut lines = self.bytes[self.at..].splitn(3, |&byte| byte == b'\n');
        let (module, name, rest) = (lines.next(), lines.next(), lines.next());
        let (Some(module), Some(name), Some(rest)) = (module, name, rest) else {
            return Err(Error::invalid("it ends too early"));
        };
        self.at = self.bytes.len() - rest.len();
        let text = format!("{} {}", String::from_utf8_lossy(module), String::from_utf8_lossy(name));
        let storage = text.strip_prefix("torch ").and_then(Element::of_storage);
        if storage.is_none() && ![TENSOR, PARAMETER, DICTIONARY].contains(&text.as_str()) {
            return Err(Error::unsupported(format!(
                "it names {}; only tensors and dictionaries are read, and nothing in a pickle is run",
                shown(&text.replacen(' ', ".", 1))
            )));
        }
        self.stack.push(Value::Name(text.into()));
        Ok(())
    }

    fn tuple(&mut self, count: usize) -> Result<()> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let start = self.stack.len().checked_sub(count).filter(|&start| start >= floor).ok_or_else(empty)?;
        let list: Rc<[Value]> = self.stack.drain(start..).collect();
        let depth = deeper(list.iter())?;
        self.stack.push(Value::Tuple(list, depth));
        Ok(())
    }

    /// Puts the keys and values from a height of the stack on into the dictionary below.
    fn set(&mut self, start: usize) -> Result<()> {
        let given: Vec<Value> = self.stack.drain(start.min(self.stack.len())..).collect();
        let below = deeper(given.iter())?;
        let Some(Value::Dictionary(entries, depth)) = self.stack.last_mut() else {
            return Err(Error::invalid("there is no dictionary for a key"));
        };
        if !given.len().is_multiple_of(2) {
            return Err(Error::invalid("a key without a value"));
        }
        *depth = below.max(*depth);
        let mut given = given.into_iter();
        while let (Some(key), Some(value)) = (given.next(), given.next()) {
            entries.push((key, value));
        }
        Ok(())
    }

    fn remember<const N: usize>(&mut self) -> Result<()> {
        let number = self.number::<N>()?;
        match self.stack.last().ok_or_else(empty)? {
            // The memo has copies. Entries that are added to a dictionary later would be missing in its copy, so a
            // dictionary is not remembered, and recalling it is an error.
            Value::Dictionary(..) => drop(self.memo.remove(&number)),
            value => {
                let value = value.clone();
                self.memo.insert(number, value);
            }
        }
        Ok(())
    }

    fn recall<const N: usize>(&mut self) -> Result<()> {
        let number = self.number::<N>()?;
        let unknown = || Error::unsupported(format!("the value {number} that it recalls is not known"));
        let value = self.memo.get(&number).cloned().ok_or_else(unknown)?;
        self.stack.push(value);
        Ok(())
    }

    fn number<const N: usize>(&mut self) -> Result<u32> {
        let mut all = [0; 4];
        all[..N].copy_from_slice(&self.take::<N>()?);
        Ok(u32::from_le_bytes(all))
    }

    /// Makes a storage: `('storage', torch.FloatStorage, '0', 'cpu', 4)`.
    fn storage(&mut self) -> Result<()> {
        let given = self.pop()?;
        let malformed = || Error::invalid("a storage is malformed");
        let Value::Tuple(fields, _) = given else { return Err(malformed()) };
        let [Value::Text(tag), Value::Name(class), Value::Text(key), Value::Text(_), Value::Int(count)] = &fields[..]
        else {
            return Err(malformed());
        };
        let element = class.strip_prefix("torch ").and_then(Element::of_storage).filter(|_| &**tag == "storage");
        let element = element.ok_or_else(malformed)?;
        let entry = self.archive.entry(&format!("{}/data/{key}", self.top))?.clone();
        let wanted = usize::try_from(*count).ok().and_then(|count| count.checked_mul(element.size()));
        if wanted != Some(entry.range.len()) {
            let bytes = entry.range.len();
            return Err(Error::invalid(format!("storage {} has {bytes} bytes; want {count} elements", shown(key))));
        }
        self.stack.push(Value::Storage(Rc::new(Storage { element, entry })));
        Ok(())
    }

    /// Makes what a name and a tuple of arguments stand for.
    fn build(&mut self) -> Result<()> {
        let (arguments, name) = (self.pop()?, self.pop()?);
        let malformed = || Error::invalid("a tensor is malformed");
        let (Value::Tuple(arguments, _), Value::Name(name)) = (arguments, name) else { return Err(malformed()) };
        let made = match (&*name, &arguments[..]) {
            (DICTIONARY, []) => Value::Dictionary(Vec::new(), 1),
            (TENSOR, [Value::Storage(storage), Value::Int(offset), sizes, strides, Value::Bool(grad), ..]) => {
                let (sizes, strides) = sizes.integers().zip(strides.integers()).ok_or_else(malformed)?;
                let stored = Stored {
                    element: storage.element,
                    sizes,
                    strides,
                    offset: *offset,
                    storage: storage.entry.range.clone(),
                    crc: storage.entry.crc,
                    requires_grad: *grad,
                };
                Value::Tensor(Rc::new(stored.checked(self.archive.file().len())?))
            }
            (PARAMETER, [Value::Tensor(data), Value::Bool(grad), ..]) => {
                Value::Tensor(Rc::new(Stored { requires_grad: *grad, ..(**data).clone() }))
            }
            _ => return Err(malformed()),
        };
        self.stack.push(made);
        Ok(())
    }
}

fn empty() -> Error {
    Error::invalid("it takes more values than there are")
}
