//! Computations with custom derivatives or batching rules, and markers for derivatives: stopped gradients, checkpoint
//! names.

use super::apply::Applied;
use super::custom_rules as rules;
use crate::emit::Emitter;
use crate::error;
use crate::error::{Error, Result};
use crate::ir::{Body, NodeId, Op, Trace, attributes, members, numbered};
use crate::native::Array;
use crate::ops::control::lower;
use crate::ops::definition::{Call, Definition, InPlace, Native};
use crate::ops::rules::{Batching, Derivative};
use std::sync::Arc;

/// Definition of `stop_gradient`: returns its operand, which derivatives treat as a constant.
pub(in crate::ops) const STOP_GRADIENT: Definition = Definition {
    name: "stop_gradient",
    stablehlo: "",
    function: "lxla_stop_gradient",
    dtypes: "all",
    lower: identity,
    #[cfg(feature = "engine-xla-rs")]
    build: crate::ops::elementwise::xla_rs::identity_of,
    native: Native::One(|call| Ok(call.operands[0].clone())),
    in_place: InPlace::Elementwise,
    derivative: Derivative::Zero,
    batching: Batching::Elementwise,
    ..Definition::DEFAULT
};

/// Definition of `checkpoint_name`: returns its operand; a checkpoint policy can save it by this name.
pub(in crate::ops) const CHECKPOINT_NAME: Definition = Definition {
    name: "checkpoint_name",
    function: "lxla_checkpoint_name",
    derivative: Derivative::Linear {
        jvp: |_, _, tangent| Ok(Some(tangent)),
        vjp: |_, _, cotangent| Ok(Some(cotangent)),
    },
    ..STOP_GRADIENT
};

/// Definition of a computation with custom rules.
pub(in crate::ops) const CUSTOM: Definition = Definition {
    name: "computation_with_rule",
    stablehlo: "func.call",
    function: "lxla_computation_with_vjp",
    dtypes: "all",
    lower: lower_custom,
    #[cfg(feature = "engine-xla-rs")]
    build: crate::ops::control::xla_rs::custom,
    native: Native::Several(native_custom),
    derivative: Derivative::Several { jvp: rules::jvp, vjp: rules::vjp },
    batching: Batching::Several(rules::batched),
    ..Definition::DEFAULT
};

attributes! {
    /// Attributes of `checkpoint_name`.
    pub struct CheckpointNameAttributes {
        /// Name by which checkpoint policies select the value.
        pub name: String,
    }

    /// Attributes of a computation with custom rules.
    pub struct CustomAttributes {
        /// Number of captures of each body.
        pub captured: Vec<usize>,
        /// Kind of the rules, which are the bodies after the first one.
        pub kind: CustomKind,
        /// Index of the body that is applied: the computation itself, or its forward pass.
        pub applied: usize,
    }
}

numbered! {
    /// Kind of the custom rules of a computation.
    CustomKind, "kind", "rule", {
        Vjp = 1 => "vjp",
        Jvp = 2 => "jvp",
        Vmap = 3 => "vmap",
        // No rule: the batching rule was dropped because the computation was differentiated. Equivalent to a call.
        Plain = 4 => "none",
    }
}

members!(CustomKind);

/// Records `x` with derivative zero.
pub fn stop_gradient(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let node = *trace.node(x);
    Ok(trace.operation(Op::StopGradient, node.dtype, node.shape, &[x]))
}

/// Records `x` with a name.
pub fn checkpoint_name(trace: &mut Trace, x: NodeId, name: &str) -> Result<NodeId> {
    if name.is_empty() {
        return Err(error!(InvalidArgument, "name: it is empty"));
    }
    let node = *trace.node(x);
    let attributes = CheckpointNameAttributes { name: name.to_string() };
    Ok(trace.operation_with_attributes(Op::CheckpointName, node.dtype, node.shape, &[x], &attributes))
}

/// Name given by a `checkpoint_name` node.
pub fn checkpoint_name_of(trace: &Trace, id: NodeId) -> String {
    trace.attributes::<CheckpointNameAttributes>(trace.node(id)).name
}

/// Writes nothing: the result refers to the operand.
fn identity(e: &mut Emitter, at: usize) {
    let name = e.name(e.instruction(at).operands[0]);
    e.rename(at, name);
}

/// Records the application of a computation with custom rules to arguments. `bodies` are the computation, then its
/// rules.
pub fn custom_call_of(
    trace: &mut Trace,
    kind: CustomKind,
    bodies: &[Applied],
    arguments: &[NodeId],
) -> Result<Vec<NodeId>> {
    let captured: Vec<usize> = bodies.iter().map(|applied| applied.captures.len()).collect();
    let mut operands = arguments.to_vec();
    bodies.iter().for_each(|applied| operands.extend_from_slice(applied.captures));
    let all: Vec<&Arc<Body>> = bodies.iter().map(|applied| applied.body).collect();
    let attributes = CustomAttributes { captured, kind, applied: 0 };
    Ok(trace.application(Op::Custom, &operands, &attributes, &all, bodies[0].body.results()))
}

/// Positions of the operands of the applied body: the arguments, then its captures.
pub(super) fn taken(attributes: &CustomAttributes, operands: usize) -> Vec<usize> {
    let total: usize = attributes.captured.iter().sum();
    let explicit = operands - total;
    let before: usize = attributes.captured[..attributes.applied].iter().sum();
    let start = explicit + before;
    (0..explicit).chain(start..start + attributes.captured[attributes.applied]).collect()
}

fn lower_custom(e: &mut Emitter, at: usize) {
    let (value, name) = (e.instruction(at), e.name_of(at));
    let attributes: CustomAttributes = value.attributes();
    let positions: Vec<usize> =
        taken(&attributes, value.operands.len()).into_iter().map(|i| value.operands[i]).collect();
    let (names, _) = e.listed(&positions);
    lower::apply(e, &name, &value.bodies[attributes.applied], &names);
}

fn native_custom(call: &Call) -> Result<Vec<Array>> {
    let attributes: CustomAttributes = call.attributes();
    let operands: Vec<Array> =
        taken(&attributes, call.operands.len()).into_iter().map(|i| call.operands[i].clone()).collect();
    (call.apply)(attributes.applied, &operands)
}
