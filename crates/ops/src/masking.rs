//! Types of the rules for masking. A [`Definition`](super::Definition) has one [`Masking`]; `transform` applies them.
//!
//! A masked program has the dimensions of a template at the bounds of its sizes. Along an axis that changes, an array
//! holds valid elements and padding, whose values are arbitrary: a rule must keep padding away from valid elements. The
//! [`Layout`] of an axis says where the valid elements are.

use base::error::Error;
use base::label::Label;
use base::types::{DType, Dims, Scalar, ScalarValue, TensorType};
use ir::sizes::{Factor, Form, Scope, SizedValue};
use ir::{Attributes, NodeId, Op, Trace, Words, decode};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Factors of an axis, see [`Factor`]. In canonical form: no factor is the constant 1, and no constant follows another
/// factor, since its product with that factor has the same valid elements. An axis with one element has no factors.
pub type Factors = SmallVec<[Factor; 1]>;

/// Layout of an axis. `None`: all elements along the axis are equal, padding included, so that the axis fits any
/// factors of its size.
pub type Layout = Option<Factors>;

/// Rule by which an operation is masked.
#[derive(Clone, Copy)]
pub enum Masking {
    /// The operation is elementwise, with broadcasting.
    Elementwise,
    /// Records the operation. Refused if an attribute changes.
    Rule(MaskingRule),
    /// Records the operation, whose attributes may change.
    OfAttributes(MaskingRule),
    /// Programs with the operation are not masked, unless neither the operation nor its operands change.
    Missing,
}

/// Records an operation of a site. Returns its results.
pub type MaskingRule = fn(&mut PaddedSite) -> Outcome<Vec<Made>>;

/// A node of a masked program, with the layouts of its axes.
#[derive(Clone, Debug)]
pub struct Made {
    /// The node.
    pub node: NodeId,
    /// Layouts of its axes.
    pub layouts: Vec<Layout>,
}

/// A value of a masked program.
#[derive(Clone, Debug)]
pub struct Padded {
    /// The node, whose dimensions are at the bounds.
    pub node: NodeId,
    /// Layouts of its axes. An axis of constant size has factors.
    pub layouts: Vec<Layout>,
    /// Dimensions without padding.
    pub dims: SmallVec<[Form; 4]>,
}

/// Why a program is not masked.
#[derive(Debug)]
pub struct Unmasked {
    /// Name and label of the operation, once they are known.
    pub at: Option<(&'static str, Label)>,
    /// The reason.
    pub reason: String,
}

/// A result, or why the program is not masked.
pub type Outcome<T> = Result<T, Unmasked>;

impl From<Error> for Unmasked {
    fn from(error: Error) -> Unmasked {
        refused(error.to_string())
    }
}

/// Refuses to mask an operation.
pub fn refused(reason: impl Into<String>) -> Unmasked {
    Unmasked { at: None, reason: reason.into() }
}

/// A scalar whose value is known when a masked program runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Given {
    /// A scalar of the template, by number.
    Scalar(usize),
    /// A size, in s32.
    Size(Form),
}

/// A program that is being masked, or a body that it applies.
pub struct Recorder<'a> {
    /// The trace in which rules record.
    pub trace: Trace,
    /// Bounds of the variables.
    pub bounds: &'a [i64],
    /// Whether this is a body. In a body, given scalars are parameters, which the operation that applies it passes.
    is_body: bool,
    /// Scalar tensors with given values.
    known: FxHashMap<Given, NodeId>,
    /// Given scalars with their nodes, in recording order.
    pub given: Vec<(Given, NodeId)>,
}

impl<'a> Recorder<'a> {
    /// An empty program or body.
    pub fn new(bounds: &'a [i64], is_body: bool) -> Recorder<'a> {
        Recorder { trace: Trace::new(), bounds, is_body, known: FxHashMap::default(), given: Vec::new() }
    }

    /// Whether this is a body.
    pub fn is_body(&self) -> bool {
        self.is_body
    }

    /// A form at the bounds.
    pub fn at_bounds(&self, form: &Form) -> Outcome<i64> {
        form.at(self.bounds).filter(|size| *size >= 0).ok_or_else(|| refused(format!("the size {form} at the bounds")))
    }

    /// Dimensions at the bounds.
    pub fn dims(&self, forms: &[Form]) -> Outcome<Dims> {
        forms.iter().map(|form| self.at_bounds(form)).collect()
    }

    /// Records a size as a scalar of s32.
    pub fn size(&mut self, form: &Form) -> Outcome<NodeId> {
        if !self.fits_s32(form) {
            return Err(refused(format!("the size {form} may exceed the range of s32")));
        }
        if let Some(number) = form.as_constant() {
            return Ok(self.constant(Scalar::new(DType::S32, ScalarValue::Signed(number))?));
        }
        self.given(Given::Size(form.clone()), DType::S32)
    }

    /// Records a given scalar as a tensor.
    pub fn given(&mut self, given: Given, dtype: DType) -> Outcome<NodeId> {
        if let Some(&node) = self.known.get(&given) {
            return Ok(node);
        }
        let ty = TensorType::new(dtype, &[]);
        let node = if self.is_body { self.trace.parameter(ty) } else { self.constant(placeholder(dtype).varying()) };
        self.known.insert(given.clone(), node);
        self.given.push((given, node));
        Ok(node)
    }

    /// Records a scalar tensor.
    pub fn constant(&mut self, scalar: Scalar) -> NodeId {
        let shape = self.trace.intern(&[]);
        self.trace.operation_with_scalar(Op::Full, scalar.dtype(), shape, &[], scalar)
    }

    /// Whether a form is within s32 at the corners of the sizes.
    fn fits_s32(&self, form: &Form) -> bool {
        let corners = 1usize << self.bounds.len().min(16);
        (0..corners).all(|corner| {
            let size = |(variable, &bound): (usize, &i64)| if corner >> variable & 1 == 1 { bound } else { 0 };
            let sizes: Vec<i64> = self.bounds.iter().enumerate().map(size).collect();
            form.at(&sizes).is_some_and(|value| i32::try_from(value).is_ok())
        })
    }

    /// Factors of an axis of this size whose padding is at its end. Refused if the size at the bounds is not the largest
    /// one.
    pub fn simple(&self, form: &Form) -> Outcome<Factors> {
        if !form.is_largest_at(self.bounds) {
            return Err(refused(format!("an axis of {form}, which the bounds do not bound")));
        }
        let factor = Factor { size: form.clone(), bound: self.at_bounds(form)? };
        Ok(canonical([factor]))
    }
}

/// A scalar whose value does not matter: the program that it is recorded in has a slot in its place.
pub fn placeholder(dtype: DType) -> Scalar {
    Scalar::from_bytes(dtype, &[0; 16][..dtype.size_bytes()])
}

/// Returns factors in canonical form.
pub fn canonical(factors: impl IntoIterator<Item = Factor>) -> Factors {
    let mut made = Factors::new();
    for factor in factors {
        if factor.size.is(1) && factor.bound == 1 {
            continue;
        }
        match made.last_mut() {
            Some(last) if factor.size.as_constant().is_some() => match last.size.times(&factor.size) {
                Some(size) => *last = Factor { size, bound: last.bound.saturating_mul(factor.bound) },
                None => made.push(factor),
            },
            _ => made.push(factor),
        }
    }
    made
}

/// Whether an axis has padding.
pub fn is_padded(factors: &[Factor]) -> bool {
    factors.iter().any(|factor| factor.size.as_constant().is_none())
}

/// The layout of an axis along which operands have these layouts.
pub fn merged(a: &Layout, b: &Layout) -> Outcome<Layout> {
    match (a, b) {
        (None, other) | (other, None) => Ok(other.clone()),
        (Some(a), Some(b)) if a == b => Ok(Some(a.clone())),
        (Some(a), Some(b)) => Err(refused(format!("axes of {} and {} meet", described(a), described(b)))),
    }
}

/// Factors in an error message.
pub fn described(factors: &[Factor]) -> String {
    let of = |factor: &Factor| format!("{} of {}", factor.size, factor.bound);
    match factors {
        [] => "1".to_string(),
        _ => factors.iter().map(of).collect::<Vec<_>>().join(" x "),
    }
}

/// Records the values of a scope on these arguments: parameters, then captures. Returns its results.
pub type Walk = fn(&mut Recorder, &Scope, &[Padded]) -> Outcome<Vec<Padded>>;

/// An operation to be masked.
pub struct PaddedSite<'s, 'a> {
    /// The program or the body in which it is recorded.
    pub recorder: &'s mut Recorder<'a>,
    /// The operation.
    pub value: &'s SizedValue,
    /// Operands.
    pub operands: Vec<Padded>,
    /// Masks bodies.
    pub walk: Walk,
}

impl PaddedSite<'_, '_> {
    /// Attributes that do not change.
    pub fn attributes<A: Attributes>(&self) -> A {
        self.value.instruction.attributes()
    }

    /// Encoded attributes at the bounds.
    pub fn words_at_bounds(&self) -> Outcome<Words> {
        let at = |form: &Form| form.at(self.recorder.bounds).ok_or_else(|| refused("an attribute overflows"));
        self.value.words.iter().map(at).collect()
    }

    /// Attributes at the bounds.
    pub fn attributes_at_bounds<A: Attributes>(&self) -> Outcome<A> {
        Ok(decode(&self.words_at_bounds()?))
    }

    /// Factors of an axis of an operand.
    pub fn factors(&self, operand: usize, axis: usize) -> Outcome<Factors> {
        let x = &self.operands[operand];
        match &x.layouts[axis] {
            Some(factors) => Ok(factors.clone()),
            None => self.recorder.simple(&x.dims[axis]),
        }
    }

    /// Factors of an axis of an operand along which positions matter: the padding is at its end.
    pub fn row(&self, operand: usize, axis: usize) -> Outcome<Factors> {
        let factors = self.factors(operand, axis)?;
        if factors.len() > 1 && is_padded(&factors) {
            return Err(refused(format!("positions along an axis of {}", described(&factors))));
        }
        Ok(factors)
    }

    /// Whether an axis of an operand has a size that changes.
    pub fn changes(&self, operand: usize, axis: usize) -> bool {
        self.operands[operand].dims[axis].as_constant().is_none()
    }

    /// Type of the node of an operand.
    pub fn operand_ty(&self, operand: usize) -> TensorType {
        self.recorder.trace.ty(self.operands[operand].node)
    }

    /// Nodes of the operands.
    pub fn nodes(&self) -> Vec<NodeId> {
        self.operands.iter().map(|operand| operand.node).collect()
    }
}
