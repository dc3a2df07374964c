//! What an operation is, besides the rule for its shape: how it is lowered, and how arrays are put through it.

use crate::emit::Emitter;
use crate::error;
use crate::error::Result;
use crate::ir::{Body, Op};
use crate::native::Array;
use crate::types::{Scalar, TensorType};
use std::sync::Arc;

/// One entry of the table of operations.
pub struct Definition {
    /// Its name in the documentation.
    pub name: &'static str,
    /// The StableHLO operation that it mainly is.
    pub stablehlo: &'static str,
    /// The C function that records it.
    pub function: &'static str,
    /// What it computes in.
    pub dtypes: &'static str,
    /// Writes the StableHLO of the value at a position.
    pub lower: fn(&mut Emitter, usize),
    /// Evaluates it.
    pub native: Native,
}

/// An operation that is recorded as several others, and has no entry in that table.
pub struct Composed {
    /// Its name in the documentation.
    pub name: &'static str,
    /// The C function that records it.
    pub function: &'static str,
    /// What it computes in; a family of operations leaves that to its members.
    pub dtypes: &'static str,
}

/// How arrays are put through an operation.
pub enum Native {
    /// It is no operation on arrays.
    Nothing,
    /// It has one result.
    One(fn(&Call) -> Result<Array>),
    /// It has several.
    Several(fn(&Call) -> Result<Vec<Array>>),
}

/// One evaluation.
pub struct Call<'a> {
    /// The operation.
    pub op: Op,
    /// The type of its result, as inference gave it, unless it has several.
    pub ty: &'a TensorType,
    /// Its attributes.
    pub attributes: &'a [i64],
    /// What stands in its hole.
    pub scalar: Option<Scalar>,
    /// Its operands.
    pub operands: &'a [&'a Array],
    /// The traced computations that it applies.
    pub bodies: &'a [Arc<Body>],
    /// Applies the one with this number to arguments and captures.
    pub apply: &'a Apply<'a>,
    /// Applies the one with this number, which takes scalars, to as many arguments as arrays of one length hold, element by
    /// element; captures are scalars.
    pub apply_each: &'a Apply<'a>,
}

/// Applies one of several traced computations to arguments and captures.
pub type Apply<'a> = dyn Fn(usize, &[Array]) -> Result<Vec<Array>> + 'a;

impl Call<'_> {
    /// The result of an operation with one result. One without elements is made at once: what its evaluation would lay out
    /// on the way (windows, plans, matrices) may be of any size beside an axis of size 0.
    pub fn one(&self, native: fn(&Call) -> Result<Array>) -> Result<Array> {
        if self.ty.elements() == 0 { Array::from_bytes(self.ty, &[]) } else { native(self) }
    }

    /// What stands in its hole.
    pub fn scalar(&self) -> Result<Scalar> {
        self.scalar.ok_or_else(|| error!(Internal, "an operation with a scalar came without it"))
    }

    /// The operands from a place on, as arrays of one's own.
    pub fn arrays(&self, range: std::ops::Range<usize>) -> Vec<Array> {
        self.operands[range].iter().map(|&array| array.clone()).collect()
    }
}
