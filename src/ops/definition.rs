//! Definition of an operation apart from type inference: how it is lowered to StableHLO and how it is evaluated on host
//! arrays.

use crate::emit::Emitter;
use crate::error;
use crate::error::Result;
use crate::ir::{Body, Op};
use crate::native::Array;
use crate::types::{Scalar, TensorType};
use std::sync::Arc;

/// An entry of the table of operations.
pub struct Definition {
    /// Name in the documentation.
    pub name: &'static str,
    /// The main StableHLO operation that it lowers to.
    pub stablehlo: &'static str,
    /// The C function that records it.
    pub function: &'static str,
    /// Supported dtypes.
    pub dtypes: &'static str,
    /// Writes the StableHLO of the instruction at a position.
    pub lower: fn(&mut Emitter, usize),
    /// Evaluates it on host arrays.
    pub native: Native,
}

/// An operation that is recorded as several others, and has no `Definition` of its own.
pub struct Composed {
    /// Name in the documentation.
    pub name: &'static str,
    /// The C function that records it.
    pub function: &'static str,
    /// Supported dtypes; empty for a family of operations, whose members list their own.
    pub dtypes: &'static str,
}

/// Evaluation of an operation on host arrays.
pub enum Native {
    /// Not an operation on arrays.
    Nothing,
    /// An operation with one result.
    One(fn(&Call) -> Result<Array>),
    /// An operation with several results.
    Several(fn(&Call) -> Result<Vec<Array>>),
}

/// Inputs of one evaluation.
pub struct Call<'a> {
    /// The operation.
    pub op: Op,
    /// Inferred type of the result; not meaningful for operations with several results.
    pub ty: &'a TensorType,
    /// Integer attributes.
    pub attributes: &'a [i64],
    /// Value of its scalar slot.
    pub scalar: Option<Scalar>,
    /// Operand arrays.
    pub operands: &'a [&'a Array],
    /// Traced computations that it applies.
    pub bodies: &'a [Arc<Body>],
    /// Applies the body with this number to arguments, then captures.
    pub apply: &'a Apply<'a>,
    /// Applies the body with this number, which takes scalars, elementwise to arrays of equal length; captures are
    /// scalars.
    pub apply_each: &'a Apply<'a>,
}

/// Applies one of several traced computations to arguments, then captures.
pub type Apply<'a> = dyn Fn(usize, &[Array]) -> Result<Vec<Array>> + 'a;

impl Call<'_> {
    /// Evaluates an operation with one result. An empty result is returned without evaluation: intermediates (windows,
    /// plans, matrices) may be of any size when another axis has size 0.
    pub fn one(&self, native: fn(&Call) -> Result<Array>) -> Result<Array> {
        if self.ty.elements() == 0 { Array::from_bytes(self.ty, &[]) } else { native(self) }
    }

    /// Value of its scalar slot; an error if there is none.
    pub fn scalar(&self) -> Result<Scalar> {
        self.scalar.ok_or_else(|| error!(Internal, "an operation with a scalar came without it"))
    }

    /// Clones the operands in a range.
    pub fn arrays(&self, range: std::ops::Range<usize>) -> Vec<Array> {
        self.operands[range].iter().map(|&array| array.clone()).collect()
    }
}
