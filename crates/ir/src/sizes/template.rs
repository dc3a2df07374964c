//! A program whose dimensions and attributes are forms of size variables.

use super::super::program::{Body, Instruction};
use super::form::Form;
use base::types::Scalar;
use smallvec::SmallVec;
use std::sync::Arc;

/// A program whose dimensions and attributes are forms of size variables.
#[derive(Clone, Debug)]
pub struct Template {
    /// Number of variables.
    pub variables: usize,
    /// The program. Its parameters are the values with [`Op::Leaf`](super::super::Op::Leaf), in order.
    pub main: Scope,
}

/// A program, or the body of a computation that it applies.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Values in order.
    pub values: Vec<SizedValue>,
    /// Positions of the outputs.
    pub outputs: Vec<usize>,
    /// For a body: the body itself, as it was in the program that was seen last. Parameters are followed by captures.
    pub body: Option<Arc<Body>>,
    /// Whether a dimension, an attribute or a scalar changes, in it or in bodies that it applies.
    pub changes: bool,
}

/// A value of a scope.
#[derive(Clone, Debug)]
pub struct SizedValue {
    /// The instruction, as it was in the program that was seen last.
    pub instruction: Instruction,
    /// Dimensions.
    pub dims: SmallVec<[Form; 4]>,
    /// Words of the attributes.
    pub words: SmallVec<[Form; 8]>,
    /// For an operation with a scalar: its number among the scalars of the template, which are those of the program
    /// (its slots, in order), then those of the bodies, in the order in which they are applied.
    pub scalar: Option<usize>,
    /// For an operation with a scalar in a body: the value, if it never changed.
    pub constant: Option<Scalar>,
    /// Bodies that the operation applies.
    pub bodies: Vec<Scope>,
}

/// A part of an axis of a padded array: consecutive factors are the digits of a position along the axis, the last one
/// the fastest. A reshape that merges two padded axes leaves an axis of two factors, whose valid elements are where
/// each digit is below its size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Factor {
    /// Size: the number of valid digits.
    pub size: Form,
    /// Number of digits for which there is memory; the size itself if that is constant.
    pub bound: i64,
}

/// Factors of the axes of a padded array.
pub type Axes = Vec<SmallVec<[Factor; 1]>>;
