//! Reader and writer of the files that `jax.export` writes (`Exported.serialize`): flatbuffers of JAX's schema
//! `serialization.fbs` around a portable artifact. Offsets are checked, so that no file makes it read outside of the
//! bytes.

mod flat;
#[cfg(test)]
mod tests;
mod write;

use super::Element;
use base::error;
use base::error::{Error, Result, shortened};
use base::types::DType;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
pub use write::write;

/// An exported function.
#[derive(Debug, PartialEq)]
pub struct Exported {
    /// Name of the function.
    pub name: String,
    /// JAX's version of the conventions of the artifact's `main`.
    pub calling_convention: u16,
    /// Platforms that the artifact is for, in the order of its platform index.
    pub platforms: Vec<String>,
    /// Number of devices.
    pub devices: u32,
    /// Parameters of the function, in the order of the leaves of `parameter_tree`.
    pub parameters: Vec<Value>,
    /// Results of the function, in the order of the leaves of `result_tree`.
    pub results: Vec<Value>,
    /// Indices of the parameters that `main` has.
    pub kept: Vec<usize>,
    /// Structure of the parameters: positional ones and those with names.
    pub parameter_tree: Tree,
    /// Structure of the results.
    pub result_tree: Tree,
    /// The portable artifact.
    pub artifact: Part,
    /// Whether `main` has parameters of its own before those of the function: its platform index, free sizes.
    pub uses_global_constants: bool,
    /// The function that JAX calls to differentiate this one: of its parameters and the cotangents of its results.
    /// Returns the cotangents of the parameters.
    pub vjp: Option<Box<Exported>>,
}

/// Numbers of the fields of an exported function.
mod slot {
    pub const SCHEMA: usize = 0;
    pub const NAME: usize = 1;
    pub const PARAMETER_TREE: usize = 2;
    pub const PARAMETERS: usize = 3;
    pub const RESULT_TREE: usize = 4;
    pub const RESULTS: usize = 5;
    pub const DEVICES_OF_16_BITS: usize = 6;
    pub const PARAMETER_SHARDINGS: usize = 7;
    pub const RESULT_SHARDINGS: usize = 8;
    pub const PLATFORMS: usize = 9;
    pub const ARTIFACT: usize = 13;
    pub const CALLING_CONVENTION: usize = 14;
    pub const KEPT: usize = 15;
    pub const USES_GLOBAL_CONSTANTS: usize = 16;
    pub const VJP: usize = 17;
    pub const DEVICES: usize = 18;
    /// All parameters and results, to which indices refer.
    pub const VALUES: usize = 19;
    pub const PARAMETER_INDICES: usize = 22;
    pub const RESULT_INDICES: usize = 23;
    pub const PARAMETER_SHARDING_INDICES: usize = 24;
    pub const RESULT_SHARDING_INDICES: usize = 25;
}

/// JAX's version of the conventions of functions that are written.
const CALLING_CONVENTION: u16 = 10;

impl Exported {
    /// Describes a function of positional parameters with a tuple of results, for one device.
    pub fn new(
        name: &str,
        platforms: &[&str],
        parameters: Vec<Value>,
        results: Vec<Value>,
        artifact: Part,
    ) -> Exported {
        let leaves = |count: usize| Tree::Tuple(vec![Tree::Leaf; count]);
        Exported {
            name: name.into(),
            calling_convention: CALLING_CONVENTION,
            platforms: platforms.iter().map(|platform| (*platform).into()).collect(),
            devices: 1,
            kept: (0..parameters.len()).collect(),
            parameter_tree: Tree::Tuple(vec![leaves(parameters.len()), Tree::Dict(Vec::new())]),
            result_tree: leaves(results.len()),
            parameters,
            results,
            artifact,
            uses_global_constants: false,
            vjp: None,
        }
    }
}

/// A parameter or result.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Element type; None for a key of random numbers, whose data are u32, or JAX's float0.
    pub element: Option<Element>,
    /// JAX's name of the element type: `f32`, `key<fry>`.
    pub dtype: &'static str,
    /// Sizes: numbers, or expressions of symbols such as `2*b`.
    pub dims: Vec<String>,
}

impl Value {
    /// Describes a value. None is JAX's float0, the element type of derivatives by integers. UNIMPLEMENTED for the
    /// dtypes of 2 bits, which JAX's files do not have.
    pub fn new(dtype: Option<DType>, dims: &[i64]) -> Result<Value> {
        let known = DTYPES.iter().find(|(name, known)| *known == dtype && (dtype.is_some() || *name == "float0"));
        let named = || dtype.map_or("float0", DType::name);
        let known = known.ok_or_else(|| error!(Unimplemented, "files of jax.export have no {}", named()))?;
        Ok(Value {
            element: dtype.map(Element::DType),
            dtype: known.0,
            dims: dims.iter().map(i64::to_string).collect(),
        })
    }
}

/// Structure of arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A value.
    Leaf,
    /// Python's `None`.
    None,
    /// A tuple.
    Tuple(Vec<Tree>),
    /// A list.
    List(Vec<Tree>),
    /// A dictionary.
    Dict(Vec<(String, Tree)>),
    /// A class that its user registered: its name, its data without values, and its children.
    Custom(String, Vec<u8>, Vec<Tree>),
}

impl Tree {
    /// Returns the places of the leaves as Python writes them: `[0]['w'][1]`. Long names are shortened, and there are
    /// at most 16 MB of text: the places of further leaves are empty.
    pub fn paths(&self) -> Vec<String> {
        fn visit(tree: &Tree, at: &str, left: &mut usize, found: &mut Vec<String>) {
            let at = if at.len() <= *left { at } else { "" };
            *left -= at.len();
            match tree {
                Tree::Leaf => found.push(at.to_string()),
                Tree::None => {}
                Tree::Tuple(children) | Tree::List(children) => {
                    children.iter().enumerate().for_each(|(i, child)| visit(child, &format!("{at}[{i}]"), left, found));
                }
                Tree::Dict(children) => children.iter().for_each(|(name, child)| {
                    let name = shortened(name, 100);
                    visit(child, &format!("{at}['{name}']"), left, found);
                }),
                Tree::Custom(name, _, children) => children.iter().enumerate().for_each(|(i, child)| {
                    let name = shortened(name, 100);
                    visit(child, &format!("{at}.{name}[{i}]"), left, found);
                }),
            }
        }
        let (mut found, mut left) = (Vec::new(), 16 << 20);
        visit(self, "", &mut left, &mut found);
        found
    }
}

/// A part of a file.
#[derive(Clone)]
pub struct Part {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl Part {
    /// Returns all of these bytes.
    pub fn new(bytes: Vec<u8>) -> Part {
        Part { range: 0..bytes.len(), owner: Arc::new(bytes) }
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Part({:?})", self.range)
    }
}

/// Most levels of a structure of arguments.
const MOST_LEVELS: usize = 100;
/// Most functions that are derivatives of each other.
const MOST_ORDERS: usize = 16;

/// JAX's element types by their numbers.
const DTYPES: [(&str, Option<DType>); 30] = [
    ("bool", Some(DType::Pred)),
    ("i8", Some(DType::S8)),
    ("i16", Some(DType::S16)),
    ("i32", Some(DType::S32)),
    ("i64", Some(DType::S64)),
    ("ui8", Some(DType::U8)),
    ("ui16", Some(DType::U16)),
    ("ui32", Some(DType::U32)),
    ("ui64", Some(DType::U64)),
    ("f16", Some(DType::F16)),
    ("f32", Some(DType::F32)),
    ("f64", Some(DType::F64)),
    ("c64", Some(DType::C64)),
    ("c128", Some(DType::C128)),
    ("bf16", Some(DType::BF16)),
    ("i4", Some(DType::S4)),
    ("ui4", Some(DType::U4)),
    ("f8E4M3B11FNUZ", Some(DType::F8E4M3B11FNUZ)),
    ("f8E4M3FN", Some(DType::F8E4M3FN)),
    ("f8E4M3FNUZ", Some(DType::F8E4M3FNUZ)),
    ("f8E5M2", Some(DType::F8E5M2)),
    ("f8E5M2FNUZ", Some(DType::F8E5M2FNUZ)),
    ("float0", None),
    ("f8E4M3", Some(DType::F8E4M3)),
    ("f8E3M4", Some(DType::F8E3M4)),
    ("f8E8M0FNU", Some(DType::F8E8M0FNU)),
    ("f4E2M1FN", Some(DType::F4E2M1FN)),
    ("key<fry>", None),
    ("key<rbg>", None),
    ("key<unsafe_rbg>", None),
];

/// Reads a file. Its artifact stays where it is in `owner`.
pub fn read(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Result<Exported> {
    let bytes = (*owner).as_ref();
    let file = File { bytes, left: Cell::new(16 * bytes.len()) };
    let root = file.table(file.target(0)?)?;
    exported(&root, &owner, 0)
}

/// Returns an error if the first bytes of a file of `size` bytes show that it has no root.
pub fn check_start(bytes: &[u8], size: u64) -> Result<()> {
    let offset = bytes.first_chunk().map(|&offset| u64::from(u32::from_le_bytes(offset)));
    match offset {
        // A table begins with four bytes, and so does the file.
        Some(4..) if offset.is_some_and(|offset| offset + 4 <= size) => Ok(()),
        _ => Err(invalid(0, "its first offset leads to no table")),
    }
}

/// Reads an exported function, below `level` others that it is the derivative of.
fn exported(table: &Table, owner: &Arc<dyn AsRef<[u8]> + Send + Sync>, level: usize) -> Result<Exported> {
    let Some(artifact) = table.bytes(slot::ARTIFACT)? else {
        return Err(invalid(0, "it has no module"));
    };
    if level > MOST_ORDERS {
        return Err(error!(Unimplemented, "file of jax.export: more than {MOST_ORDERS} orders of derivatives"));
    }
    let devices = match table.u32(slot::DEVICES)? {
        0 => table.u16(slot::DEVICES_OF_16_BITS)?.into(),
        devices => devices,
    };
    let structure = |field: usize| table.child(field)?.map_or(Ok(Tree::None), |table| tree(&table, 0));
    let kept = table.vector(slot::KEPT, 2)?.map(|at| table.file.u16(at).map(usize::from));
    let vjp = table.child(slot::VJP)?.map(|vjp| exported(&vjp, owner, level + 1).map(Box::new)).transpose()?;
    Ok(Exported {
        name: table.text(slot::NAME)?,
        calling_convention: table.u16(slot::CALLING_CONVENTION)?,
        platforms: table.texts(slot::PLATFORMS)?,
        devices,
        parameters: values(table, slot::PARAMETERS, slot::PARAMETER_INDICES)?,
        results: values(table, slot::RESULTS, slot::RESULT_INDICES)?,
        kept: kept.collect::<Result<_>>()?,
        parameter_tree: structure(slot::PARAMETER_TREE)?,
        result_tree: structure(slot::RESULT_TREE)?,
        artifact: Part { owner: owner.clone(), range: artifact },
        uses_global_constants: table.u8(slot::USES_GLOBAL_CONSTANTS)? != 0,
        vjp,
    })
}

/// Reads parameters or results: older files have a list, newer ones have indices into a list of all.
fn values(root: &Table, list: usize, indices: usize) -> Result<Vec<Value>> {
    let positions = root.vector(indices, 4)?;
    if positions.len() == 0 {
        return root.vector(list, 4)?.map(|at| value(&root.file.child(at)?)).collect();
    }
    let all = root.vector(slot::VALUES, 4)?;
    positions
        .map(|at| {
            let place = all.clone().nth(root.file.u32(at)? as usize);
            value(&root.file.child(place.ok_or_else(|| invalid(at, "there is no such value"))?)?)
        })
        .collect()
}

fn value(table: &Table) -> Result<Value> {
    let number = table.u8(2)?;
    let Some(&(dtype, known)) = DTYPES.get(usize::from(number)) else {
        return Err(error!(Unimplemented, "file of jax.export: element type {number} is not known"));
    };
    let element = known.map(Element::DType);
    Ok(Value { element, dtype, dims: table.texts(1)? })
}

/// Reads the structure of arguments.
fn tree(table: &Table, level: usize) -> Result<Tree> {
    if level > MOST_LEVELS {
        return Err(invalid(table.start, "its structure of arguments is too deep"));
    }
    let children =
        table.vector(1, 4)?.map(|at| tree(&table.file.child(at)?, level + 1)).collect::<Result<Vec<Tree>>>()?;
    Ok(match table.u8(0)? {
        0 => Tree::Leaf,
        1 => Tree::None,
        2 => Tree::Tuple(children),
        3 => Tree::List(children),
        4 => Tree::Dict(table.texts(2)?.into_iter().zip(children).collect()),
        5 => {
            let data = table.bytes(4)?.unwrap_or_default();
            table.file.spend(data.start, data.len())?;
            Tree::Custom(table.text(3)?, table.file.bytes[data].into(), children)
        }
        other => return Err(error!(Unimplemented, "file of jax.export: structure {other} is not known")),
    })
}

fn invalid(at: usize, message: &str) -> Error {
    error!(InvalidArgument, "not a file of jax.export: {message} (byte {at})")
}

/// A file of flatbuffers.
struct File<'a> {
    bytes: &'a [u8],
    /// How many bytes may still be copied: tables and texts may be shared, so that a hostile file could have as many as
    /// the square of its size.
    left: Cell<usize>,
}

/// A table: fields are found by the offsets in its list of fields.
struct Table<'a> {
    file: &'a File<'a>,
    start: usize,
    fields: usize,
    /// Number of bytes of the list of fields.
    length: usize,
}

/// Places of the elements of a vector.
type Elements = std::iter::StepBy<Range<usize>>;

impl<'a> File<'a> {
    fn get<const N: usize>(&self, at: usize) -> Result<[u8; N]> {
        let bytes = at.checked_add(N).and_then(|end| self.bytes.get(at..end));
        bytes.map(|bytes| bytes.try_into().expect("N bytes")).ok_or_else(|| invalid(at, "it ends too early"))
    }

    fn u16(&self, at: usize) -> Result<u16> {
        self.get(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Result<u32> {
        self.get(at).map(u32::from_le_bytes)
    }

    /// Counts bytes that are copied.
    fn spend(&self, at: usize, bytes: usize) -> Result<()> {
        let left = self.left.get().checked_sub(bytes).ok_or_else(|| invalid(at, "its tables are shared too often"))?;
        self.left.set(left);
        Ok(())
    }

    /// Follows an offset.
    fn target(&self, at: usize) -> Result<usize> {
        Ok(at + self.u32(at)? as usize)
    }

    fn table(&'a self, start: usize) -> Result<Table<'a>> {
        self.spend(start, 4)?;
        let offset = i32::from_le_bytes(self.get(start)?);
        let fields = usize::try_from(start as i64 - i64::from(offset)).map_err(|_| invalid(start, "a bad offset"))?;
        Ok(Table { file: self, start, fields, length: self.u16(fields)?.into() })
    }

    /// Returns the table that the element of a vector refers to.
    fn child(&'a self, at: usize) -> Result<Table<'a>> {
        self.table(self.target(at)?)
    }

    /// Returns the place of a vector of bytes.
    fn range(&self, at: usize) -> Result<Range<usize>> {
        let end = at + 4 + self.u32(at)? as usize;
        if end > self.bytes.len() { Err(invalid(at, "a text ends after the file")) } else { Ok(at + 4..end) }
    }

    fn text(&self, at: usize) -> Result<String> {
        let range = self.range(at)?;
        self.spend(at, 4 + range.len())?;
        Ok(String::from_utf8_lossy(&self.bytes[range]).into_owned())
    }
}

impl<'a> Table<'a> {
    /// Returns the place of a field; None if it is absent.
    fn field(&self, slot: usize) -> Result<Option<usize>> {
        if 4 + 2 * slot + 2 > self.length {
            return Ok(None);
        }
        let offset = self.file.u16(self.fields + 4 + 2 * slot)?;
        Ok((offset != 0).then_some(self.start + usize::from(offset)))
    }

    /// Returns what the offset in a field refers to; None if it is absent.
    fn target(&self, slot: usize) -> Result<Option<usize>> {
        self.field(slot)?.map(|at| self.file.target(at)).transpose()
    }

    fn u8(&self, slot: usize) -> Result<u8> {
        self.field(slot)?.map_or(Ok(0), |at| self.file.get::<1>(at).map(|[byte]| byte))
    }

    fn u16(&self, slot: usize) -> Result<u16> {
        self.field(slot)?.map_or(Ok(0), |at| self.file.u16(at))
    }

    fn u32(&self, slot: usize) -> Result<u32> {
        self.field(slot)?.map_or(Ok(0), |at| self.file.u32(at))
    }

    fn text(&self, slot: usize) -> Result<String> {
        self.target(slot)?.map_or(Ok(String::new()), |at| self.file.text(at))
    }

    fn bytes(&self, slot: usize) -> Result<Option<Range<usize>>> {
        self.target(slot)?.map(|at| self.file.range(at)).transpose()
    }

    fn child(&self, slot: usize) -> Result<Option<Table<'a>>> {
        self.target(slot)?.map(|at| self.file.table(at)).transpose()
    }

    /// Returns the places of the elements of a vector, which is empty if it is absent.
    fn vector(&self, slot: usize, size: usize) -> Result<Elements> {
        let Some(at) = self.target(slot)? else {
            return Ok((0..0).step_by(size));
        };
        let bytes = size * self.file.u32(at)? as usize;
        if bytes > self.file.bytes.len() - at - 4 {
            return Err(invalid(at, "a list is longer than the file"));
        }
        Ok((at + 4..at + 4 + bytes).step_by(size))
    }

    fn texts(&self, slot: usize) -> Result<Vec<String>> {
        self.vector(slot, 4)?.map(|at| self.file.text(self.file.target(at)?)).collect()
    }
}
