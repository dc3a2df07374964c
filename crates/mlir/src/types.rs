//! Types of MLIR's builtin dialect, as far as StableHLO uses them.

use base::types::DType;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Element type of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// A dtype of the library.
    DType(DType),
    /// MLIR's `index`: the sizes that shape computations use; stored in 8 bytes.
    Index,
    /// Any other, as its MLIR text: `i4`, `f4E2M1FN`, `!quant.uniform<...>`.
    Other(Arc<str>),
}

/// Size of an axis that is free in the module: `?`.
pub const FREE: i64 = -1;

/// Element type and sizes of a ranked tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorShape {
    /// Element type.
    pub element: Element,
    /// Sizes; [`FREE`] for `?`.
    pub dims: SmallVec<[i64; 4]>,
    /// Largest sizes of the free axes, one for each axis; [`FREE`] for an axis without one. None if the type has none.
    pub bounds: Option<Arc<[i64]>>,
}

impl TensorShape {
    /// Returns the type with these sizes, without bounds.
    pub fn new(element: Element, dims: SmallVec<[i64; 4]>) -> TensorShape {
        TensorShape { element, dims, bounds: None }
    }

    /// Returns the type with bounds; the reason if they do not fit.
    pub fn with_bounds(self, bounds: Arc<[i64]>) -> Result<TensorShape, String> {
        if bounds.len() != self.dims.len() {
            return Err(format!("{} bounds of a tensor of {} axes", bounds.len(), self.dims.len()));
        }
        if let Some(axis) = (0..bounds.len()).find(|&axis| bounds[axis] != FREE && self.dims[axis] != FREE) {
            let (bound, size) = (bounds[axis], self.dims[axis]);
            return Err(format!("the bound {bound} of axis {axis}, whose size is {size}; want a free size"));
        }
        Ok(TensorShape { bounds: Some(bounds), ..self })
    }

    /// Returns the first axis whose size is larger than its bound, and the bound.
    pub fn exceeded(&self, sizes: &[i64]) -> Option<(usize, i64)> {
        let bounds = self.bounds.as_deref().unwrap_or(&[]);
        let over = sizes.iter().zip(bounds).position(|(&size, &bound)| bound != FREE && size > bound);
        over.map(|axis| (axis, bounds[axis]))
    }
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A ranked tensor.
    Tensor(TensorShape),
    /// An element type outside of a tensor: the type of an attribute.
    Scalar(Element),
    /// Type of a function.
    Function {
        /// Types of the parameters.
        inputs: Vec<Arc<Type>>,
        /// Types of the results.
        results: Vec<Arc<Type>>,
    },
    /// `!stablehlo.token`.
    Token,
    /// `tuple<...>`.
    Tuple(Vec<Arc<Type>>),
    /// MLIR's `none`.
    None,
    /// Any other, as its MLIR text.
    Other(Arc<str>),
}

/// Returns MLIR's name of a dtype.
fn mlir_name(dtype: DType) -> &'static str {
    use DType::*;
    match dtype {
        Pred => "i1",
        S8 => "i8",
        S16 => "i16",
        S32 => "i32",
        S64 => "i64",
        U8 => "ui8",
        U16 => "ui16",
        U32 => "ui32",
        U64 => "ui64",
        F16 => "f16",
        F32 => "f32",
        F64 => "f64",
        BF16 => "bf16",
        C64 => "complex<f32>",
        C128 => "complex<f64>",
        F8E5M2 => "f8E5M2",
        F8E4M3FN => "f8E4M3FN",
        F8E4M3B11FNUZ => "f8E4M3B11FNUZ",
        F8E5M2FNUZ => "f8E5M2FNUZ",
        F8E4M3FNUZ => "f8E4M3FNUZ",
        F8E4M3 => "f8E4M3",
        F8E3M4 => "f8E3M4",
        F8E8M0FNU => "f8E8M0FNU",
        S4 => "i4",
        U4 => "ui4",
        S2 => "i2",
        U2 => "ui2",
        F4E2M1FN => "f4E2M1FN",
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Element::DType(dtype) => mlir_name(*dtype),
            Element::Index => "index",
            Element::Other(text) => text,
        })
    }
}

impl Element {
    /// Returns the element type with this MLIR text.
    pub fn of_text(text: &str) -> Element {
        if text == "index" {
            return Element::Index;
        }
        let known = DType::ALL.into_iter().find(|&dtype| mlir_name(dtype) == text);
        known.map_or_else(|| Element::Other(text.into()), Element::DType)
    }
}

impl fmt::Display for TensorShape {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("tensor<")?;
        for &dim in &self.dims {
            if dim == FREE { f.write_str("?x")? } else { write!(f, "{dim}x")? }
        }
        write!(f, "{}", self.element)?;
        if let Some(bounds) = &self.bounds {
            let texts = bounds.iter().map(|&bound| if bound == FREE { "?".into() } else { bound.to_string() });
            write!(f, ", #stablehlo.bounds<{}>", texts.collect::<Vec<String>>().join(", "))?;
        }
        f.write_str(">")
    }
}

/// Writes types with commas between them.
fn list(f: &mut fmt::Formatter, types: &[Arc<Type>]) -> fmt::Result {
    types.iter().enumerate().try_for_each(|(i, ty)| write!(f, "{}{ty}", if i == 0 { "" } else { ", " }))
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Type::Tensor(shape) => shape.fmt(f),
            Type::Scalar(element) => element.fmt(f),
            Type::Function { inputs, results } => {
                f.write_str("(")?;
                list(f, inputs)?;
                f.write_str(") -> (")?;
                list(f, results)?;
                f.write_str(")")
            }
            Type::Token => f.write_str("!stablehlo.token"),
            Type::Tuple(types) => {
                f.write_str("tuple<")?;
                list(f, types)?;
                f.write_str(">")
            }
            Type::None => f.write_str("none"),
            Type::Other(text) => f.write_str(text),
        }
    }
}
