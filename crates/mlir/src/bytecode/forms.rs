//! Forms of the attributes and types of dialects: what follows their number in a file.

/// A dialect, as far as its types and attributes have an encoding that is read.
#[derive(Clone, Copy, PartialEq)]
pub enum Dialect {
    Builtin,
    Vhlo,
    StableHlo,
    Chlo,
    Quant,
    Sdy,
    Other,
}

impl Dialect {
    /// Returns the dialect with a name.
    pub fn of(name: &str) -> Dialect {
        use Dialect::*;
        [Builtin, Vhlo, StableHlo, Chlo, Quant, Sdy].into_iter().find(|known| known.name() == name).unwrap_or(Other)
    }

    /// Returns the name of the dialect; empty for one without encodings.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Builtin => "builtin",
            Dialect::Vhlo => "vhlo",
            Dialect::StableHlo => "stablehlo",
            Dialect::Chlo => "chlo",
            Dialect::Quant => "quant",
            Dialect::Sdy => "sdy",
            Dialect::Other => "",
        }
    }
}

/// What follows the number of an attribute.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    /// References to attributes.
    Array,
    /// Pairs of references: to a string and to an attribute.
    Dictionary,
    /// The index of a string.
    String,
    /// The index of a string and its type, which strings of StableHLO do not need.
    TypedString,
    /// A reference to a string, which names a function or mesh.
    Symbol,
    /// A symbol in another: a reference to a string, and references to symbols for the other parts.
    Path,
    /// A reference to a type.
    Type,
    /// Nothing.
    Unit,
    /// A number 0 or 1.
    Bool,
    /// The type of an integer, and its bits. i1 is a truth value.
    Integer,
    /// The type of a floating-point number, and its bits.
    Float,
    /// The type of a constant, and its elements.
    Dense,
    /// The type of a constant, and the index of a resource that has its elements.
    Resource,
    /// `array<i64: 1, 2>`: type, number and bytes of the elements.
    Numbers,
    /// A reference to an attribute that this one stands for.
    Distinct,
    /// A location.
    Location(LocationForm),
    /// The number of a case of an enumeration: its keyword by its number; empty for numbers without a case.
    Case(&'static [&'static str]),
    /// The fields of a record with a name.
    Record(&'static str, &'static [(&'static str, Field)]),
}

/// The form of a location.
#[derive(Clone, Copy, PartialEq)]
pub enum LocationForm {
    Call,
    File,
    /// A part of a file: up to four numbers, which begin with a line and a column.
    Range,
    Fused,
    /// Fused, with an attribute, which is dropped.
    FusedWith,
    Name,
    Unknown,
}

/// How a field of a record is encoded.
#[derive(Clone, Copy, PartialEq)]
pub enum Field {
    /// A reference to an attribute.
    Attribute,
    /// A reference to an attribute that may be absent, with a flag.
    Optional(Flag),
    /// A reference to an attribute. A name of a mesh is a string.
    Mesh,
    /// References to attributes.
    List,
    /// The index of a string.
    String,
    /// A reference to a type.
    Type,
    /// A signed integer.
    Integer,
    /// Signed integers.
    Integers,
    /// Signed integers, the smallest one for `?`.
    Bounds,
    /// The bits of an f64.
    Double,
    /// One byte.
    Bool,
    /// An integer with a flag whether it is present.
    Priority,
}

/// Encoding of the presence flag of an optional attribute.
#[derive(Clone, Copy, PartialEq)]
pub enum Flag {
    /// The lowest bit of the reference.
    LowBit,
    /// A byte before the reference, which is left out with the attribute.
    Byte,
    /// The same as a number.
    Number,
}

/// What follows the number of a type.
#[derive(Clone, Copy, PartialEq)]
pub enum TypeForm {
    /// Nothing: an element type by its MLIR text.
    Element(&'static str),
    /// 4 times the number of bits of an integer type, plus 1 for a signed and 2 for an unsigned one.
    Integer,
    /// A reference to the type of the parts.
    Complex,
    /// Types of parameters and of results.
    Function,
    /// Sizes and element type.
    Tensor,
    /// The same after an encoding: bounds of free sizes.
    BoundedTensor,
    /// A type with sizes and an element type, which is kept as text.
    Shaped(&'static str),
    /// The same and a layout, which is dropped. A flag says whether a memory space comes first.
    Memref(bool),
    /// A type with an element type and without sizes, which is kept as text.
    Unranked(&'static str),
    /// The same after a memory space.
    UnrankedIn(&'static str),
    /// A type without parts, which is kept as text.
    Other(&'static str),
    Token,
    Tuple,
    None,
    /// A type that a dialect of quantized numbers has. A flag says whether it differs along an axis.
    Quantized(bool),
    /// Types of the results of an asynchronous operation.
    Future,
}

/// Keywords of enumerations, by their numbers; empty for numbers without a case.
pub mod keywords {
    pub const API_VERSION: &[&str] = &[
        "API_VERSION_UNSPECIFIED",
        "API_VERSION_ORIGINAL",
        "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED",
        "API_VERSION_TYPED_FFI",
    ];
    pub const COMPARISON_DIRECTION: &[&str] = &["EQ", "NE", "GE", "GT", "LE", "LT"];
    pub const COMPARISON_TYPE: &[&str] = &["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"];
    pub const FFT_TYPE: &[&str] = &["FFT", "IFFT", "RFFT", "IRFFT"];
    pub const PRECISION: &[&str] = &["DEFAULT", "HIGH", "HIGHEST"];
    pub const RNG_ALGORITHM: &[&str] = &["DEFAULT", "THREE_FRY", "PHILOX"];
    pub const RNG_DISTRIBUTION: &[&str] = &["", "UNIFORM", "NORMAL"];
    pub const TRANSPOSE: &[&str] = &["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"];
    pub const RESULT_ACCURACY_MODE: &[&str] = &["DEFAULT", "HIGHEST", "TOLERANCE"];
}
