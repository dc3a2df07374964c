//! Computations with custom derivatives or batching rules, and markers for derivatives: stopped gradients, checkpoint
//! names.

use super::apply::Applied;
use super::checkpoint::Checkpoint;

use crate::control::lower;
use crate::definition::EvalContext;
use crate::emit::Emitter;
use base::error;
use base::error::Result;
use ir::{Body, Instruction, NodeId, Op, Trace, attributes, members, numbered};
use native::Array;

use std::sync::Arc;

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
        /// Checkpoint policy of a computation that has one.
        pub checkpoint: Checkpoint,
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
        // A vjp (bodies 1 and 2) and a jvp (body 3).
        Both = 5 => "vjp and jvp",
        // A checkpoint policy, and no rule: a call, whose derivative saves what the policy says.
        Checkpoint = 6 => "checkpoint",
        // A computation (body 0), and another one of the same values (body 1), whose derivatives it has.
        Substitute = 7 => "derivative of another computation",
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
pub(super) fn identity(e: &mut Emitter, at: usize) {
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
    let attributes = CustomAttributes { captured, kind, applied: 0, checkpoint: Checkpoint::SaveAll };
    Ok(trace.application(Op::Custom, &operands, &attributes, &all, bodies[0].body.results()))
}

/// Records the application of a computation to arguments. Its derivatives save what the checkpoint policy says.
pub fn checkpoint_call_of(
    trace: &mut Trace,
    checkpoint: &Checkpoint,
    applied: &Applied,
    arguments: &[NodeId],
) -> Vec<NodeId> {
    let captured = vec![applied.captures.len()];
    let checkpoint = checkpoint.clone();
    let attributes = CustomAttributes { captured, kind: CustomKind::Checkpoint, applied: 0, checkpoint };
    let operands = [arguments, applied.captures].concat();
    trace.application(Op::Custom, &operands, &attributes, &[applied.body], applied.body.results())
}

/// A rule of a computation.
pub struct FoundRule {
    /// The rule.
    pub body: Arc<Body>,
    /// Indices of its captures among those of the computation.
    pub captures: Vec<usize>,
}

/// Rules for derivatives that a computation has.
#[derive(Default)]
pub struct FoundRules {
    /// Forward and backward pass.
    pub vjp: Vec<FoundRule>,
    /// Forward mode, alone.
    pub jvp: Vec<FoundRule>,
}

/// Returns the rules for derivatives of a computation that a function for rules made: its body is one application of
/// another one, with the rules. The body of any other computation has none of its own.
pub fn derivative_rules(body: &Body) -> FoundRules {
    let (values, results) = body.decode();
    let explicit = body.parameters().len();
    let leaves = explicit + body.captures().len();
    let Some(value) = values.get(leaves).filter(|value| value.op == Op::Custom) else { return FoundRules::default() };
    let attributes: CustomAttributes = value.attributes();
    let is_leaf = |at: usize, value: &Instruction| (value.op == Op::Leaf) == (at < leaves);
    let is_result = |(i, &at): (usize, &usize)| values[at].op == Op::Result && values[at].attributes::<usize>() == i;
    let (arguments, captures) =
        value.operands.split_at(value.operands.len() - attributes.captured.iter().sum::<usize>());
    let is_whole = values[leaves + 1..].iter().all(|value| value.op == Op::Result)
        && values.iter().enumerate().all(|(at, value)| is_leaf(at, value))
        && results.iter().enumerate().all(is_result)
        && results.len() == value.bodies[0].results().len()
        && arguments.iter().copied().eq(0..explicit)
        && captures.iter().all(|at| (explicit..leaves).contains(at));
    if !is_whole || attributes.applied != 0 {
        return FoundRules::default();
    }
    let rule = |number: usize| {
        let start = attributes.captured[..number].iter().sum();
        let own = captures[start..].iter().take(attributes.captured[number]);
        FoundRule { body: value.bodies[number].clone(), captures: own.map(|at| at - explicit).collect() }
    };
    let numbers: [&[usize]; 2] = match attributes.kind {
        CustomKind::Vjp => [&[1, 2], &[]],
        CustomKind::Jvp => [&[], &[1]],
        CustomKind::Both => [&[1, 2], &[3]],
        CustomKind::Vmap | CustomKind::Checkpoint => {
            let (inner, outer) = (derivative_rules(&value.bodies[0]), rule(0).captures);
            let of_outer = |found: Vec<FoundRule>| {
                let moved =
                    |rule: FoundRule| FoundRule { captures: rule.captures.iter().map(|&i| outer[i]).collect(), ..rule };
                found.into_iter().map(moved).collect()
            };
            return FoundRules { vjp: of_outer(inner.vjp), jvp: of_outer(inner.jvp) };
        }
        CustomKind::Plain | CustomKind::Substitute => [&[], &[]],
    };
    let [vjp, jvp] = numbers.map(|numbers| numbers.iter().map(|&number| rule(number)).collect());
    FoundRules { vjp, jvp }
}

/// Positions of the operands of the applied body: the arguments, then its captures.
pub(super) fn taken(attributes: &CustomAttributes, operands: usize) -> Vec<usize> {
    let total: usize = attributes.captured.iter().sum();
    let explicit = operands - total;
    let before: usize = attributes.captured[..attributes.applied].iter().sum();
    let start = explicit + before;
    (0..explicit).chain(start..start + attributes.captured[attributes.applied]).collect()
}

pub(super) fn lower_custom(e: &mut Emitter, at: usize) {
    let (value, name) = (e.instruction(at), e.name_of(at));
    let attributes: CustomAttributes = value.attributes();
    let positions: Vec<usize> =
        taken(&attributes, value.operands.len()).into_iter().map(|i| value.operands[i]).collect();
    let (names, _) = e.listed(&positions);
    lower::apply(e, &name, &value.bodies[attributes.applied], &names);
}

pub(super) fn native_custom(cx: &EvalContext) -> Result<Vec<Array>> {
    let attributes: CustomAttributes = cx.attributes();
    let operands: Vec<Array> =
        taken(&attributes, cx.operands.len()).into_iter().map(|i| cx.operands[i].clone()).collect();
    (cx.apply)(attributes.applied, &operands)
}
