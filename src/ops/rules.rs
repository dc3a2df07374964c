//! Rules of operations for derivatives and batching. A [`Definition`](super::Definition) has one [`Derivative`] and one
//! [`Batching`]; `transform` applies them.
//!
//! Conventions. A tangent or cotangent has the type of its value; `None` is a symbolic zero. Only floats and complex
//! numbers have them. A linear map between complex numbers is transposed without conjugation, as in JAX: the cotangent
//! of `z` in `w = f(z)` is the cotangent of `w` times `f'(z)`, and pairs with a tangent as `Re(cotangent tangent)`.

use crate::error;
use crate::error::Result;
use crate::ir::{Attributes, BinaryOp, Body, NodeId, Op, ReduceOp, Trace, UnaryOp, Words, decode};
use crate::ops;
use crate::ops::control::checkpoint::Checkpoint;
use crate::ops::control::memo::Memo;
use crate::ops::creation::constants::full;
use crate::ops::elementwise::binary::binary;
use crate::ops::elementwise::compare_select::select;
use crate::ops::elementwise::complex::real;
use crate::ops::elementwise::convert::convert;
use crate::ops::elementwise::unary::unary;
use crate::ops::reduction::reduce::reduce;
use crate::ops::shape::axes::{broadcast_to, reshape};
use crate::types::{DType, Dims, Scalar, ScalarValue, TensorType};
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
    Jvp(fn(&mut Site, &[Tangent]) -> Result<Tangent>),
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
    ) -> Vec<NodeId>;

    /// For each of the values that a backward pass is given besides the cotangents, whether it passes an optimization
    /// barrier, so that what is recomputed is not merged with the forward pass. Always false under SAVE_ALL, which
    /// recomputes only what is cheap.
    fn held(&self, trace: &Trace, given: &[NodeId], cotangents: &[NodeId], gradients: &[NodeId]) -> Vec<bool>;
}

/// Whether values of the dtype have tangents.
pub fn is_differentiable(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_float8() || dtype.kind() == crate::types::Kind::Complex
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

    /// The operand with a leading batch axis, broadcast if it has none.
    pub fn mapped_operand(&mut self, operand: usize, mapped: &[bool], size: i64) -> Result<NodeId> {
        let id = self.operands[operand];
        if mapped[operand] { Ok(id) } else { with_batch_axis(self.trace, id, size) }
    }
}

/// For each result of a body, whether it may have a tangent if the operands in the mask have one.
pub fn reached(body: &Body, active: &[bool]) -> Vec<bool> {
    let (values, results) = body.decode();
    let mut active = active.iter().copied();
    let mut known: Vec<bool> = Vec::with_capacity(values.len());
    for value in &values {
        let is_reached = match value.op {
            Op::Leaf => active.next().expect("one for each parameter and capture"),
            op => {
                let is_zero = matches!(ops::definition(op).derivative, Derivative::Zero);
                let given = value.operands.iter().any(|&operand| known[operand]);
                given && (op.has_results() || is_differentiable(value.ty.dtype) && (op == Op::Result || !is_zero))
            }
        };
        known.push(is_reached);
    }
    results.iter().map(|&result| known[result]).collect()
}

/// Records `x` repeated along a new leading axis.
pub fn with_batch_axis(trace: &mut Trace, x: NodeId, size: i64) -> Result<NodeId> {
    let mut dims = Dims::from_slice(&[size]);
    dims.extend_from_slice(&trace.ty(x).dims);
    broadcast_to(trace, x, &dims)
}

/// Records zeros of a type.
pub fn zeros(trace: &mut Trace, ty: &TensorType) -> Result<NodeId> {
    full(trace, ty, ScalarValue::Signed(0))
}

/// Records the sum of two tangents or cotangents of one value; `None` is zero.
pub fn add_tangents(trace: &mut Trace, a: Option<NodeId>, b: Option<NodeId>) -> Result<Option<NodeId>> {
    match (a, b) {
        (Some(a), Some(b)) => binary(trace, BinaryOp::Add, a, b).map(Some),
        (a, b) => Ok(a.or(b)),
    }
}

/// Dtype in which values of this dtype are summed: f32 for 8-bit and 16-bit floats.
pub fn sum_dtype(dtype: DType) -> DType {
    ops::elementwise::formula::widened(dtype)
}

/// Records the sum of `x` over axes; 8-bit and 16-bit floats are summed in f32.
pub fn sum(trace: &mut Trace, x: NodeId, axes: &[i64], keep_dims: bool) -> Result<NodeId> {
    if axes.is_empty() {
        return Ok(x);
    }
    let dtype = trace.node(x).dtype;
    let wide = convert(trace, x, sum_dtype(dtype));
    let sum = reduce(trace, ReduceOp::Sum, wide, axes, keep_dims)?;
    Ok(convert(trace, sum, dtype))
}

/// Records the tangent of an operand, converted and broadcast to the type of the result.
pub fn to_result(trace: &mut Trace, tangent: NodeId, ty: &TensorType) -> Result<NodeId> {
    let tangent = convert(trace, tangent, ty.dtype);
    broadcast_to(trace, tangent, &ty.dims)
}

/// Records the transpose of a conversion and of a broadcast with NumPy's rules: sums over the broadcast axes, and
/// converts to the operand's dtype. For a real operand, takes the real part of a complex cotangent.
pub fn to_operand(trace: &mut Trace, cotangent: NodeId, ty: &TensorType) -> Result<NodeId> {
    let from = trace.ty(cotangent);
    let mut cotangent = cotangent;
    if from.dims != ty.dims {
        let added = from.dims.len() - ty.dims.len();
        let stretched = |axis: &usize| *axis < added || ty.dims[axis - added] != from.dims[*axis];
        let axes: Vec<i64> = (0..from.dims.len()).filter(stretched).map(|axis| axis as i64).collect();
        cotangent = sum(trace, cotangent, &axes, added == 0)?;
        cotangent = reshape(trace, cotangent, &ty.dims)?;
    }
    if from.dtype.kind() == crate::types::Kind::Complex && ty.dtype.kind() != crate::types::Kind::Complex {
        cotangent = real(trace, cotangent)?;
    }
    Ok(convert(trace, cotangent, ty.dtype))
}

/// Records a tangent or cotangent multiplied by a partial derivative.
pub fn scaled(trace: &mut Trace, x: NodeId, factor: &Factor) -> Result<Option<NodeId>> {
    Ok(Some(match *factor {
        Factor::Zero => return Ok(None),
        Factor::One => x,
        Factor::MinusOne => unary(trace, UnaryOp::Negate, x)?,
        Factor::Times(factor) => binary(trace, BinaryOp::Multiply, x, factor)?,
        Factor::Over(divisor) => binary(trace, BinaryOp::Divide, x, divisor)?,
        Factor::Scalar(scalar) => {
            let node = *trace.node(x);
            let op = Op::BinaryScalar(BinaryOp::Multiply);
            trace.operation_with_scalar(op, node.dtype, node.shape, &[x], scalar)
        }
        Factor::Where(pred) => {
            let zero = zeros(trace, &TensorType::new(trace.node(x).dtype, &[]))?;
            select(trace, pred, x, zero)?
        }
        Factor::Unless(pred) => {
            let zero = zeros(trace, &TensorType::new(trace.node(x).dtype, &[]))?;
            select(trace, pred, zero, x)?
        }
    }))
}

/// Returns the error of an operation without a derivative.
pub fn no_derivative(name: &str) -> error::Error {
    error!(
        Unimplemented,
        "{name} has no derivative; lxla_computation_with_vjp or lxla_computation_with_jvp gives it one, and \
         lxla_stop_gradient takes it as a constant"
    )
}

/// Records the operation of a site with other attributes, on operands that all have the batch as leading axis.
pub fn record_batched(site: &mut Site, operands: &[NodeId], attributes: &impl Attributes, size: i64) -> NodeId {
    let mut dims = Dims::from_slice(&[size]);
    dims.extend_from_slice(&site.ty.dims);
    let shape = site.trace.intern(&dims);
    if site.op.has_attributes() {
        site.trace.operation_with_attributes(site.op, site.ty.dtype, shape, operands, attributes)
    } else {
        site.trace.operation(site.op, site.ty.dtype, shape, operands)
    }
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
