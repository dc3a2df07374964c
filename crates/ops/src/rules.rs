//! Types of the rules for derivatives and batching. A [`Definition`](super::Definition) has one [`Derivative`] and one
//! [`Batching`]; `transform` applies them.
//!
//! Conventions. A tangent or cotangent has the type of its value; `None` is a symbolic zero. Only floats and complex
//! numbers have them. A linear map between complex numbers is transposed without conjugation, as in JAX: the cotangent
//! of `z` in `w = f(z)` is the cotangent of `w` times `f'(z)`, and pairs with a tangent as `Re(cotangent tangent)`.

use crate::control::checkpoint::Checkpoint;
use crate::control::memo::Memo;
use base::error;
use base::error::Result;
use base::types::{DType, Scalar, TensorType};
use ir::{Attributes, Body, NodeId, Op, Trace, Words, decode};
use smallvec::SmallVec;
use std::sync::Arc;

/// An operation to be transformed, in the trace in which its rule records.
pub struct Site<'a> {
    /// Trace in which rules record the derivative or the batched operation.
    pub trace: &'a mut Trace,
    /// Node of the operation.
    pub node: NodeId,
    /// Code of the operation, with its member if it is of a family.
    pub op: Op,
    /// Type of the result; not meaningful for operations with several results.
    pub ty: TensorType,
    /// Operands. In a batching rule, mapped operands have the batch as their leading axis.
    pub operands: Nodes,
    /// Nodes of the results: one, or for operations with several results one for each; `None` for a result that nothing
    /// uses.
    pub results: SmallVec<[Option<NodeId>; 1]>,
    /// Encoded attributes.
    pub words: Words,
    /// Value of the scalar slot.
    pub scalar: Option<Scalar>,
    /// Traced computations that the operation applies.
    pub bodies: Vec<Arc<Body>>,
    /// Transformations of bodies, for operations that apply bodies.
    pub transforms: &'a dyn Transforms,
}

/// Operands of an operation.
pub type Nodes = SmallVec<[NodeId; 4]>;

/// A tangent or cotangent; `None` is zero.
pub type Tangent = Option<NodeId>;

/// A node of a batched program, and whether it has the batch as its leading axis.
pub type Mapped = (NodeId, bool);

/// Records the tangent of the only result from those of the operands.
pub type Jvp = fn(&mut Site, &[Tangent]) -> Result<Tangent>;

/// Records the cotangents of the operands in the mask from those of the results.
pub type VjpOfSeveral = fn(&mut Site, &[Tangent], &[bool]) -> Result<Vec<Tangent>>;

/// Derivative rule of an operation.
#[derive(Clone, Copy)]
pub enum Derivative {
    /// The result does not depend on any operand, or is piecewise constant: its tangent is zero. Reverse mode stops
    /// here.
    Zero,
    /// Elementwise operation: the partial derivative by one operand.
    Elementwise(fn(&mut Site, usize) -> Result<Factor>),
    /// Operation with one result, which is linear in each differentiable operand if the others are fixed.
    Linear {
        /// Tangent of the result if only this operand has a tangent; `None` if the result does not depend on it.
        jvp: fn(&mut Site, usize, NodeId) -> Result<Tangent>,
        /// Cotangent of this operand.
        vjp: fn(&mut Site, usize, NodeId) -> Result<Tangent>,
    },
    /// Operation with one result: its tangent, given the operands' tangents (at least one). The recorded operations
    /// must be linear in the tangents; reverse mode transposes them.
    Jvp(Jvp),
    /// The derivative of the operations that [`Expand`] records.
    Expanded,
    /// Operation with several results.
    Several {
        /// Tangents of the results.
        jvp: fn(&mut Site, &[Tangent]) -> Result<Forward>,
        /// Cotangents of the wanted operands, given those of the results (at least one).
        vjp: VjpOfSeveral,
    },
    /// No derivative is known.
    Missing,
}

/// Partial derivative of an elementwise operation: the factor of the tangent, in the result's dtype and a shape that
/// broadcasts to the result's.
pub enum Factor {
    /// 0.
    Zero,
    /// 1.
    One,
    /// -1.
    MinusOne,
    /// This value.
    Times(NodeId),
    /// 1 divided by this value.
    Over(NodeId),
    /// This scalar.
    Scalar(Scalar),
    /// 1 where the mask is true, and 0 elsewhere, even if the tangent is not finite there.
    Where(NodeId),
    /// 0 where the mask is true, even if the tangent is not finite there, and 1 elsewhere.
    Unless(NodeId),
}

/// Results of a forward rule.
pub struct Forward {
    /// Nodes that replace the results, if the rule computes them together with the tangents.
    pub results: Option<Vec<NodeId>>,
    /// Tangents of the results.
    pub tangents: Vec<Tangent>,
}

/// Records the operation of a site as simpler operations, and returns the result.
pub type Expand = fn(&mut Site) -> Result<NodeId>;

/// Batching rule of an operation, for a new leading axis.
#[derive(Clone, Copy)]
pub enum Batching {
    /// The operation is elementwise, with broadcasting.
    Elementwise,
    /// Records the operation; operands in the mask have a leading batch axis of this size. The result, the only one, is
    /// mapped.
    Rule(fn(&mut Site, &[bool], i64) -> Result<NodeId>),
    /// Like `Rule`, for operations with several results. Returns each result, and whether it is mapped.
    Several(fn(&mut Site, &[bool], i64) -> Result<Vec<Mapped>>),
    /// The batching of the operations that [`Expand`] records.
    Expanded,
    /// A scan over the batch, whose body is the operation. Not for operations that apply bodies.
    Loop,
}

/// Transformations of bodies, for the rules of operations that apply bodies.
pub trait Transforms {
    /// Memo of the bodies that rules have derived in this transformation. A derived body depends on the body, on the
    /// masks that the rule passes, and on the checkpoint policy, which is constant during a transformation.
    fn memo(&self) -> &Memo;

    /// Returns the transformation with another checkpoint policy, for a body that is applied under one of its own.
    fn with_policy(&self, checkpoint: &Checkpoint) -> Box<dyn Transforms>;

    /// Records `body` on primals and tangents of its parameters and captures. Returns its results and their tangents.
    fn jvp(
        &self,
        trace: &mut Trace,
        body: &Body,
        primals: &[NodeId],
        tangents: &[Option<NodeId>],
    ) -> Result<(Vec<NodeId>, Vec<Option<NodeId>>)>;

    /// Whether an operation of this dtype passes tangents of its operands on.
    fn passes_tangents(&self, op: Op, dtype: DType) -> bool;

    /// For each result of a body, whether it may have a tangent if the operands in the mask have one.
    fn reached(&self, body: &Body, active: &[bool]) -> Vec<bool>;

    /// Records the cotangents of `inputs`, given those of `outputs`. All are nodes of the trace.
    fn vjp(&self, trace: &mut Trace, outputs: &[(NodeId, NodeId)], inputs: &[NodeId]) -> Result<Vec<Option<NodeId>>>;

    /// Like `vjp`, but only through the nodes from `first` on. Paths from one input before `first` to another are not
    /// followed. An input that is listed twice gets its whole cotangent at both positions.
    fn vjp_since(
        &self,
        trace: &mut Trace,
        outputs: &[(NodeId, NodeId)],
        inputs: &[NodeId],
        first: NodeId,
    ) -> Result<Vec<Option<NodeId>>>;

    /// Records `body` on arguments (parameters, then captures); those in the mask have a leading batch axis. Returns
    /// each result, and whether it is mapped.
    fn batch(
        &self,
        trace: &mut Trace,
        body: &Body,
        arguments: &[NodeId],
        mapped: &[bool],
        size: i64,
    ) -> Result<Vec<(NodeId, bool)>>;

    /// Returns the values that the forward pass saves for the backward pass, by the checkpoint policy. Both passes are
    /// recorded in `trace`. `free` values are passed to the backward pass in any case. Values that depend on
    /// `invariant` ones alone are recomputed. `cotangents` are further inputs of the backward pass, and `gradients` its
    /// outputs.
    fn residuals(
        &self,
        trace: &Trace,
        free: &[NodeId],
        invariant: &[NodeId],
        cotangents: &[NodeId],
        gradients: &[NodeId],
    ) -> Result<Vec<NodeId>>;

    /// For each of the values that a backward pass is given besides the cotangents, whether it passes an optimization
    /// barrier, so that what is recomputed is not merged with the forward pass. Always false under SAVE_ALL, which
    /// recomputes only what is cheap.
    fn held(&self, trace: &Trace, given: &[NodeId], cotangents: &[NodeId], gradients: &[NodeId]) -> Vec<bool>;
}

/// Whether values of the dtype have tangents.
pub fn is_differentiable(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_float8() || dtype.kind() == base::types::Kind::Complex
}

impl Site<'_> {
    /// Attributes of the operation.
    pub fn attributes<A: Attributes>(&self) -> A {
        decode(&self.words)
    }

    /// Type of an operand.
    pub fn operand_ty(&self, operand: usize) -> TensorType {
        self.trace.ty(self.operands[operand])
    }

    /// Type of an operand without the batch axis, in a batching rule.
    pub fn unbatched_ty(&self, operand: usize, mapped: &[bool]) -> TensorType {
        let mut ty = self.operand_ty(operand);
        if mapped[operand] {
            ty.dims.remove(0);
        }
        ty
    }

    /// The node of the only result.
    pub fn result(&self) -> NodeId {
        self.results[0].expect("the only result")
    }
}

/// Returns the error of an operation without a derivative.
pub fn no_derivative(name: &str) -> error::Error {
    error!(
        Unimplemented,
        "{name} has no derivative; lxla_computation_with_vjp or lxla_computation_with_jvp gives it one, and \
         lxla_stop_gradient takes it as a constant"
    )
}

/// Returns no tangents, for an operation with several results that do not depend on any operand or are piecewise
/// constant.
pub fn no_tangents(site: &mut Site, _: &[Option<NodeId>]) -> Result<Forward> {
    Ok(Forward { results: None, tangents: vec![None; site.results.len()] })
}

/// Returns no cotangents, for an operation with several results that do not depend on any operand or are piecewise
/// constant.
pub fn no_cotangents(_: &mut Site, _: &[Option<NodeId>], wanted: &[bool]) -> Result<Vec<Option<NodeId>>> {
    Ok(vec![None; wanted.len()])
}
