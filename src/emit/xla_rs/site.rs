//! A computation of an HLO module while it is built with the crate's XlaBuilder, and the instructions that rules add.

use super::link::Link;
use super::unlinked::{Hole, Unlinked};
use super::wire::Message;
use crate::engine::{element_type, failed, hidden_type};
use crate::error::Result;
use crate::types::{DType, TensorType};
use std::ops::Deref;
use xla::{Literal, PrimitiveType, Shape, XlaBuilder, XlaOp};

/// A computation that is being built, in its module.
pub struct Site<'a> {
    unlinked: Unlinked,
    /// The module of the computation.
    pub link: &'a Link,
}

impl Deref for Site<'_> {
    type Target = Unlinked;

    fn deref(&self) -> &Unlinked {
        &self.unlinked
    }
}

/// The crate's form of an array type.
fn shape(ty: &TensorType) -> Shape {
    Shape::array_with_type(element_type(ty.dtype), ty.dims.to_vec())
}

impl<'a> Site<'a> {
    /// Begins a computation with parameters of these types, and returns them.
    pub fn new(name: &str, link: &'a Link, parameters: &[TensorType]) -> Result<(Site<'a>, Vec<XlaOp>)> {
        let builder = XlaBuilder::new(name);
        let mut all = Vec::with_capacity(parameters.len());
        for (number, ty) in parameters.iter().enumerate() {
            let op = builder.parameter(number as i64, element_type(ty.dtype), &ty.dims, &format!("p{number}"));
            all.push(op.map_err(failed)?);
        }
        Ok((Site { unlinked: Unlinked::new(builder, parameters.len()), link }, all))
    }

    /// Begins a computation with one parameter, a tuple of arrays of these types, and returns its elements.
    pub fn of_tuple(name: &str, link: &'a Link, elements: &[TensorType]) -> Result<(Site<'a>, Vec<XlaOp>)> {
        let builder = XlaBuilder::new(name);
        let shapes = elements.iter().map(shape).collect::<Vec<Shape>>();
        let whole = builder.parameter_s(0, &Shape::tuple(shapes), "p").map_err(failed)?;
        let site = Site { unlinked: Unlinked::new(builder, 1), link };
        let all = site.elements(&whole, elements.len())?;
        Ok((site, all))
    }

    /// The elements of a tuple.
    pub fn elements(&self, tuple: &XlaOp, count: usize) -> Result<Vec<XlaOp>> {
        (0..count as i64).map(|index| tuple.get_tuple_element(index).map_err(failed)).collect()
    }

    /// Adds an instruction that XlaBuilder lacks, with its opcode in HLO, its fields in `HloInstructionProto`, and the
    /// numbers of the computations that it applies.
    fn hole(
        &self,
        opcode: &str,
        operands: &[XlaOp],
        shape: &Shape,
        attributes: Message,
        called: &[u64],
    ) -> Result<XlaOp> {
        self.builder.tuple(operands).map_err(failed)?;
        let mut holes = self.holes.borrow_mut();
        let number = self.parameters + holes.len();
        let result = self.builder.parameter_s(number as i64, shape, opcode).map_err(failed)?;
        holes.push(Hole { opcode: opcode.to_string(), attributes, called: called.to_vec(), element: None });
        Ok(result)
    }

    /// As [`Site::raw`], with a result whose dtype the crate does not name, see [`hidden_type`]. Only another such
    /// instruction may take it.
    fn raw_hidden(&self, opcode: &str, x: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
        let made = self.raw(opcode, std::slice::from_ref(x), ty, Message::new())?;
        if let Some(hole) = self.holes.borrow_mut().last_mut() {
            hole.element = hidden_type(ty.dtype);
        }
        Ok(made)
    }

    /// Adds an instruction that XlaBuilder lacks, with one array as its result.
    pub fn raw(&self, opcode: &str, operands: &[XlaOp], ty: &TensorType, attributes: Message) -> Result<XlaOp> {
        self.hole(opcode, operands, &shape(ty), attributes, &[])
    }

    /// As [`Site::raw`], for an instruction that applies computations.
    pub fn raw_applying(
        &self,
        opcode: &str,
        operands: &[XlaOp],
        ty: &TensorType,
        attributes: Message,
        called: &[u64],
    ) -> Result<XlaOp> {
        self.hole(opcode, operands, &shape(ty), attributes, called)
    }

    /// As [`Site::raw_applying`], for an instruction whose result is a tuple of arrays. Returns the arrays.
    pub fn raw_tuple(
        &self,
        opcode: &str,
        operands: &[XlaOp],
        types: &[TensorType],
        attributes: Message,
        called: &[u64],
    ) -> Result<Vec<XlaOp>> {
        let shapes = types.iter().map(shape).collect::<Vec<Shape>>();
        let whole = self.hole(opcode, operands, &Shape::tuple(shapes), attributes, called)?;
        self.elements(&whole, types.len())
    }

    /// Builds a computation that this one applies, and returns its number. Its result is the value that `make` returns,
    /// or the tuple of several.
    pub fn region(
        &self,
        name: &str,
        parameters: &[TensorType],
        make: impl FnOnce(&Site, &[XlaOp]) -> Result<Vec<XlaOp>>,
    ) -> Result<u64> {
        let (site, arguments) = Site::new(name, self.link, parameters)?;
        let results = make(&site, &arguments)?;
        match &results[..] {
            [one] => self.link.add(&site, one),
            several => self.link.add(&site, &site.builder.tuple(several).map_err(failed)?),
        }
    }

    /// As [`Site::region`], for a computation with one tuple as its parameter.
    pub fn region_of_tuple(
        &self,
        name: &str,
        elements: &[TensorType],
        returns_tuple: bool,
        make: impl FnOnce(&Site, &[XlaOp]) -> Result<Vec<XlaOp>>,
    ) -> Result<u64> {
        let (site, arguments) = Site::of_tuple(name, self.link, elements)?;
        let results = make(&site, &arguments)?;
        if returns_tuple {
            self.link.add(&site, &site.builder.tuple(&results).map_err(failed)?)
        } else {
            self.link.add(&site, &results[0])
        }
    }

    /// A constant with every element equal to `bits`.
    pub fn constant(&self, ty: &TensorType, bits: u128) -> Result<XlaOp> {
        let bytes = bits.to_le_bytes();
        let bytes = &bytes[..ty.dtype.size_bytes()];
        let literal =
            Literal::create_from_shape_and_untyped_data(element_type(ty.dtype), &[], bytes).map_err(failed)?;
        let single = self.builder.constant_literal(&literal).map_err(failed)?;
        self.broadcast(&single, 0, &ty.dims)
    }

    /// Broadcasts with NumPy's rules an array of a rank: axes are aligned at the end.
    pub fn broadcast(&self, x: &XlaOp, rank: usize, dims: &[i64]) -> Result<XlaOp> {
        let axes: Vec<i64> = ((dims.len() - rank) as i64..dims.len() as i64).collect();
        self.broadcast_in_dim(x, dims, &axes)
    }

    /// Broadcasts to `dims`; axis `i` of the operand becomes axis `axes[i]`, and an axis of size 1 is stretched.
    pub fn broadcast_in_dim(&self, x: &XlaOp, dims: &[i64], axes: &[i64]) -> Result<XlaOp> {
        x.broadcast_in_dim(dims, axes).map_err(failed)
    }

    /// Converts an array of type `from` to a dtype. Arrays of a dtype that the crate does not name are u8 for
    /// XlaBuilder, and are bitcast to and from their own dtype around the conversion.
    pub fn convert_any(&self, x: &XlaOp, from: &TensorType, dtype: DType) -> Result<XlaOp> {
        let to = TensorType { dtype, dims: from.dims.clone() };
        if hidden_type(from.dtype).is_some() {
            let own = self.raw_hidden("bitcast-convert", x, from)?;
            return self.raw("convert", &[own], &to, Message::new());
        }
        if hidden_type(dtype).is_none() {
            return self.convert(x, dtype);
        }
        let own = self.raw_hidden("convert", x, &to)?;
        self.bitcast(&own, &to)
    }

    /// Converts to a dtype.
    pub fn convert(&self, x: &XlaOp, dtype: DType) -> Result<XlaOp> {
        let to: PrimitiveType = element_type(dtype).primitive_type();
        x.convert(to).map_err(failed)
    }

    /// Reshapes to `dims`.
    pub fn reshape(&self, x: &XlaOp, dims: &[i64]) -> Result<XlaOp> {
        x.reshape(dims).map_err(failed)
    }

    /// Static slice, axis by axis.
    pub fn slice(&self, x: &XlaOp, starts: &[i64], limits: &[i64], strides: &[i64]) -> Result<XlaOp> {
        let mut cut = x.clone();
        for (axis, ((&start, &limit), &stride)) in starts.iter().zip(limits).zip(strides).enumerate() {
            cut = cut.slice_in_dim(start, limit, stride, axis as i64).map_err(failed)?;
        }
        Ok(cut)
    }
}
