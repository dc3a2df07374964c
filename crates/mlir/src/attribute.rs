//! Attributes of MLIR operations. Readers bring attributes of StableHLO into one form, whatever the file holds: VHLO,
//! StableHLO bytecode, or text in its pretty or generic form. The form is VHLO's, whose operations have plain
//! attributes only: `dot_general` has `lhs_batching_dimensions`, ... rather than `dot_dimension_numbers`; `gather` has
//! `offset_dims`, ...; `convolution` has `input_batch_dimension`, ... Names are those of `VhloOps.td`.

use super::location::Location;
use super::types::{Element, TensorShape, Type};
use base::types::DType;
use std::fmt;
use std::sync::Arc;

/// Named attributes, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dictionary(pub Arc<[(Arc<str>, Attribute)]>);

impl Dictionary {
    /// Returns the attribute with a name.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.0.iter().find(|(known, _)| &**known == name).map(|(_, attribute)| attribute)
    }
}

/// An attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// Present, without a value.
    Unit,
    /// `true` or `false`.
    Bool(bool),
    /// An integer, sign-extended or (`ui64`) reinterpreted to 64 bits.
    Integer(i64, Element),
    /// A floating-point number.
    Float(f64, Element),
    /// A string; need not be UTF-8.
    String(Arc<[u8]>),
    /// The name of a function or mesh: `@f`, or `@f::@g` by its parts.
    Symbol(Arc<[Arc<str>]>),
    /// A list.
    Array(Arc<[Attribute]>),
    /// `array<i64: 1, 2>`.
    Integers(Arc<[i64]>),
    /// `array<f32: 1.5, 2.0>` of any other element type.
    Numbers(Numbers),
    /// `{a = 1}`.
    Dictionary(Dictionary),
    /// A type.
    Type(Arc<Type>),
    /// `dense<...> : tensor<...>`.
    Dense(Arc<Dense>),
    /// A case of an enumeration, by its keyword: `EQ`, `FLOAT`, `HIGHEST`.
    Enum(Arc<str>),
    /// An attribute with named fields of a dialect: `#stablehlo.output_operand_alias<...>`, `#sdy.sharding<...>`.
    Record(Arc<Record>),
    /// A location.
    Location(Location),
    /// Any other attribute of a dialect, as its text without the `#`: `mhlo.something<...>`.
    Other(Arc<str>),
}

/// Elements of an array of numbers that are not i64.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Type of the elements: integers, floating-point numbers or preds.
    pub dtype: DType,
    /// The elements, packed, little-endian, one byte for a pred (0 or 1).
    pub bytes: Arc<[u8]>,
}

/// An attribute with named fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Dialect and mnemonic: `stablehlo.output_operand_alias`.
    pub name: Arc<str>,
    /// Its fields, named as in the dialect's definition.
    pub fields: Dictionary,
}

/// Elements of a constant tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Its type: [`Type::Tensor`].
    pub ty: Arc<Type>,
    /// Its elements.
    pub data: Data,
}

impl Dense {
    /// Returns the tensor of rank 1 with these elements.
    pub fn of_numbers(numbers: &Numbers) -> Dense {
        let Numbers { dtype, bytes } = numbers;
        let count = (bytes.len() / dtype.size_bytes()) as i64;
        let ty = Type::Tensor(TensorShape::new(Element::DType(*dtype), [count].into_iter().collect()));
        Dense { ty: Arc::new(ty), data: Data::Whole { bytes: 0..bytes.len(), owner: Arc::new(bytes.clone()) } }
    }
}

/// Elements of a constant tensor, packed, little-endian, one byte for a pred (0 or 1).
#[derive(Clone)]
pub enum Data {
    /// One element that stands for all.
    Splat(Arc<[u8]>),
    /// All elements in row-major order: `bytes` of a buffer that the module keeps alive, such as a mapped file.
    Whole {
        /// Memory that holds the elements.
        owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
        /// Place of the elements in it.
        bytes: std::ops::Range<usize>,
    },
}

impl Data {
    /// The stored bytes: one element of a splat, otherwise all elements.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Data::Splat(bytes) => bytes,
            Data::Whole { owner, bytes } => &owner.as_ref().as_ref()[bytes.clone()],
        }
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Data::Splat(bytes) => write!(f, "Splat({bytes:?})"),
            Data::Whole { bytes, .. } => write!(f, "Whole({} bytes)", bytes.len()),
        }
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Data) -> bool {
        matches!(self, Data::Splat(_)) == matches!(other, Data::Splat(_)) && self.bytes() == other.bytes()
    }
}
