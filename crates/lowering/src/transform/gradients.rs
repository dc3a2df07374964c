//! Gradients of values of a trace, recorded by rules, or by copying operations if the same gradients were recorded at
//! the end of an equal trace.

use super::reverse::pull_back;
use super::{Transformer, with_room};
use base::allocation::probe;
use base::error::Result;
use base::types::ScalarValue;
use ir::{GradientMemory, Gradients, NodeId, Op, Request, Trace};
use ops::rules::is_differentiable;
use ops::tangents::or_zeros;
use ops::{creation, passes_tangents};

/// Bytes that gradients take for each operation, besides what they record: a copy of the trace, and what reaches it.
const GRADIENT_BYTES: usize = 128;

/// Records gradients; zeros for one of `xs` on which none of `ys` depends. Calls `check` first, with the leaves from
/// which a tangent reaches one of `ys`; nothing is recorded if it fails.
pub fn gradients_of(
    trace: &mut Trace,
    memory: &mut GradientMemory,
    request: Request,
    check: impl FnOnce(&Trace, &[NodeId]) -> Result<()>,
) -> Result<Gradients> {
    if let Some(leaves) = memory.find(trace, request) {
        check(trace, leaves)?;
        return memory.repeat(trace);
    }
    probe(trace.len().saturating_mul(GRADIENT_BYTES), "the gradients of recorded operations")?;
    let leaves = sources(trace, request.ys);
    check(trace, &leaves)?;
    let before = memory.before(trace, request, &leaves);
    let found = recorded_gradients(trace, request)?;
    let values = or_zeros(trace, &found, request.xs)?;
    let unconnected = (0..found.len()).filter(|&i| found[i].is_none()).collect();
    let gradients = Gradients { values, unconnected, is_repeated: false };
    if let Some(before) = before {
        memory.remember(before, trace, &gradients);
    }
    Ok(gradients)
}

/// Records the gradients by the rules of the operations. None for one of `xs` on which none of `ys` depends.
fn recorded_gradients(trace: &mut Trace, request: Request) -> Result<Vec<Option<NodeId>>> {
    let mut outputs = Vec::with_capacity(request.ys.len());
    for (i, &y) in request.ys.iter().enumerate() {
        let cotangent = match request.cotangents.get(i) {
            Some(&cotangent) => cotangent,
            None => {
                let ty = trace.ty(y);
                creation::full(trace, &ty, ScalarValue::Signed(1))?
            }
        };
        outputs.push((y, cotangent));
    }
    let bodies = trace.all_bodies().to_vec();
    with_room(&bodies, || pull_back(&Transformer::default(), trace, &outputs, request.xs))
}

/// Leaves from which a tangent reaches one of `ys`.
fn sources(trace: &Trace, ys: &[NodeId]) -> Vec<NodeId> {
    let mut seen = vec![false; trace.len()];
    let (mut stack, mut leaves) = (ys.to_vec(), Vec::new());
    while let Some(id) = stack.pop() {
        if std::mem::replace(&mut seen[id.0 as usize], true) {
            continue;
        }
        let node = trace.node(id);
        if node.op == Op::Leaf {
            if is_differentiable(node.dtype) {
                leaves.push(id);
            }
        } else if passes_tangents(node.op, node.dtype) {
            stack.extend_from_slice(trace.operands(node));
        }
    }
    leaves
}
