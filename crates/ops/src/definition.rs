//! What a definition of an operation says apart from type inference: how it is lowered to StableHLO, how it is
//! evaluated on host arrays, whether its results may reuse the memory of operands, and its rules for derivatives,
//! batching and masking. The definitions are in the files `definitions.rs` of the subjects.

use crate::emit::Emitter;
use crate::masking::Masking;
use crate::rules::{Batching, Derivative, Expand};
use base::error;
use base::error::{Error, Result};
use base::types::{Scalar, TensorType};
use ir::{Attributes, Body, Instruction, Op, decode};
use native::Array;
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
    /// Operands whose memory the results may reuse.
    pub in_place: InPlace,
    /// Whether XLA cannot partition the instruction at a position; then every device of a mesh computes it on whole
    /// arrays.
    pub whole: fn(&Emitter, usize) -> bool,
    /// Whether programs call its native evaluation: engines that cannot call functions of this process refuse it.
    pub needs_host: bool,
    /// Axes along which XLA may partition the instruction at a position, if it is wrong or refuses where others are
    /// split; None: all axes.
    pub open: fn(&Emitter, usize) -> Option<OpenAxes>,
    /// Index of the first result among the values that the lowered operation returns.
    pub first_result: usize,
    /// Derivative by the operands.
    pub derivative: Derivative,
    /// Batching over a new leading axis.
    pub batching: Batching,
    /// Masking, for sizes that change.
    pub masking: Masking,
    /// Records the operation as simpler ones, for rules that are `Expanded` and for [`Native::Formula`].
    pub expand: Option<Expand>,
}

impl Definition {
    /// Defaults of fields that few definitions set. Unchanged, it is the definition of leaves and of the results of
    /// operations with several results, which have no lowering or evaluation of their own.
    pub const DEFAULT: Definition = Definition {
        name: "",
        stablehlo: "",
        function: "",
        dtypes: "",
        lower: |_, _| {},
        native: Native::Nothing,
        in_place: InPlace::Never,
        whole: |_, _| false,
        needs_host: false,
        open: |_, _| None,
        first_result: 0,
        derivative: Derivative::Missing,
        batching: Batching::Loop,
        masking: Masking::Missing,
        expand: None,
    };

    /// Whether each element of the result depends only on the operands' elements at the same position. True exactly for
    /// definitions with [`InPlace::Elementwise`].
    #[inline]
    pub fn is_elementwise(&self) -> bool {
        matches!(self.in_place, InPlace::Elementwise)
    }

    /// Returns the error of evaluating an operation with [`Native::OnMeshes`].
    pub fn on_meshes_only(&self) -> Error {
        error!(Unimplemented, "{} runs on a mesh only, not on arrays of the host", self.name)
    }
}

/// Axes that may be split over the devices of a mesh; every device has the others whole.
pub struct OpenAxes {
    /// Open axes of the first operands, one list for each. Further operands are not constrained.
    pub operands: Vec<Vec<usize>>,
    /// Open axes of each result.
    pub results: Vec<usize>,
}

/// Operands whose memory the results of an operation may reuse, if the types are equal.
pub enum InPlace {
    /// The result may not reuse an operand's memory.
    Never,
    /// Each element is read only where it is written: any operand of the result's type.
    Elementwise,
    /// The result updates its first operand.
    First,
    /// Result `i` may reuse the memory of operand `i`, for `i` below the number.
    Results(fn(&Instruction) -> usize),
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
    /// An operation on the devices of a mesh: an error on arrays of the host.
    OnMeshes,
    /// An operation with one result.
    One(fn(&EvalContext) -> Result<Array>),
    /// An operation with several results.
    Several(fn(&EvalContext) -> Result<Vec<Array>>),
    /// An elementwise function that is evaluated by the operations that `expand` records, on scalars.
    Formula,
}

/// Inputs of one evaluation.
pub struct EvalContext<'a> {
    /// Code of the operation, with its member if it is of a family.
    pub op: Op,
    /// Inferred type of the result; not meaningful for operations with several results.
    pub ty: &'a TensorType,
    /// Encoded attributes.
    pub words: &'a [i64],
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

impl EvalContext<'_> {
    /// Evaluates an operation with one result. An empty result is returned without evaluation: intermediates (windows,
    /// plans, matrices) may be of any size when another axis has size 0.
    pub fn one(&self, native: fn(&EvalContext) -> Result<Array>) -> Result<Array> {
        if self.ty.elements() == 0 { Array::from_bytes(self.ty, &[]) } else { native(self) }
    }

    /// Attributes of the operation.
    pub fn attributes<A: Attributes>(&self) -> A {
        decode(self.words)
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
