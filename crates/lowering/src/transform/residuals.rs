//! Selects the values that a forward pass saves for its backward pass.

use base::error;
use base::error::Result;
use ir::{NodeId, Op, Trace};
use ops::control::{self, Checkpoint};

/// Maximum number of results of applied bodies that are saved. A body that n others apply twice, one within the other,
/// has 2^n values to save.
const MOST_SAVED_RESULTS: usize = 1 << 18;

/// Whether a policy saves an operation's result that the backward pass needs.
fn is_saved(policy: &Checkpoint, trace: &Trace, id: NodeId) -> bool {
    let node = trace.node(id);
    match policy {
        _ if node.op == Op::Result => true,
        Checkpoint::SaveAll => !is_rearrangement(trace, id),
        Checkpoint::SaveNone => false,
        Checkpoint::SaveDots => matches!(node.op, Op::DotGeneral | Op::Matmul | Op::Convolution),
        Checkpoint::SaveNamed(names) => {
            node.op == Op::CheckpointName && names.contains(&control::checkpoint_name_of(trace, id))
        }
    }
}

/// Whether the operation only moves the elements of its operand, or converts them to a wider dtype.
fn is_rearrangement(trace: &Trace, id: NodeId) -> bool {
    let node = trace.node(id);
    match node.op {
        Op::Reshape | Op::BroadcastTo | Op::Transpose | Op::Reverse => true,
        Op::Convert => {
            let from = trace.node(trace.operands(node)[0]).dtype;
            from.size_bytes() <= node.dtype.size_bytes()
        }
        _ => false,
    }
}

/// Returns the values to save: leaves, and values that the policy saves, from which `gradients` are computed and which
/// do not depend on `cotangents`. Where a value is not saved, the search goes on to its operands. `free` values, and
/// values computed from constants alone, need not be saved. Leaves in `cotangents` are not residuals.
/// RESOURCE_EXHAUSTED for more than [`MOST_SAVED_RESULTS`].
pub fn residuals(
    policy: &Checkpoint,
    trace: &Trace,
    free: &[NodeId],
    invariant: &[NodeId],
    cotangents: &[NodeId],
    gradients: &[NodeId],
) -> Result<Vec<NodeId>> {
    let (is_free, late) = (marked(trace, free), dependents(trace, cotangents));
    let constant = constants(trace, &[]);
    let known = constants(trace, invariant);
    let mut seen = vec![false; trace.len()];
    let mut saved = Vec::new();
    let mut stack: Vec<NodeId> = gradients.iter().rev().copied().collect();
    while let Some(id) = stack.pop() {
        let i = id.0 as usize;
        if std::mem::replace(&mut seen[i], true) || is_free[i] || constant[i] {
            continue;
        }
        let node = trace.node(id);
        if !late[i] && (node.op == Op::Leaf || is_saved(policy, trace, id) && !known[i]) {
            saved.push(id);
            continue;
        }
        stack.extend(trace.operands(node).iter().rev());
    }
    let is_cotangent = marked(trace, cotangents);
    saved.retain(|id| !is_cotangent[id.0 as usize]);
    let of_applied = saved.iter().filter(|id| trace.node(**id).op == Op::Result).count();
    if of_applied > MOST_SAVED_RESULTS {
        return Err(error!(
            ResourceExhausted,
            "the forward pass would save {of_applied} values of computations that it applies, counted at each \
             application; at most {MOST_SAVED_RESULTS} are saved. A scan in place of repeated calls saves them as arrays"
        ));
    }
    Ok(saved)
}

/// For each saved value, whether `gradients` need a recomputation from it, rather than only a combination of it with
/// cotangents.
pub fn recomputed_from(
    trace: &Trace,
    saved: &[NodeId],
    free: &[NodeId],
    cotangents: &[NodeId],
    gradients: &[NodeId],
) -> Vec<bool> {
    let (known, late) = (marked(trace, &[saved, free].concat()), dependents(trace, cotangents));
    let (mut seen, mut used) = (vec![false; trace.len()], vec![false; trace.len()]);
    let mut stack = gradients.to_vec();
    while let Some(id) = stack.pop() {
        let i = id.0 as usize;
        if std::mem::replace(&mut seen[i], true) || known[i] {
            continue;
        }
        let operands = trace.operands(trace.node(id));
        if !late[i] {
            operands.iter().for_each(|operand| used[operand.0 as usize] = true);
        }
        stack.extend_from_slice(operands);
    }
    saved.iter().map(|id| used[id.0 as usize]).collect()
}

/// For each value that a backward pass is given, whether it passes an optimization barrier, so that each value that is
/// recomputed from them depends on one that does. Values that are not recomputed otherwise are left out, because a
/// barrier copies on cpu; where there is a choice, the smallest value passes.
pub fn held(trace: &Trace, given: &[NodeId], cotangents: &[NodeId], gradients: &[NodeId]) -> Vec<bool> {
    let (late, constant) = (dependents(trace, cotangents), constants(trace, &[]));
    // The given value that a node is, or whose elements it rearranges.
    let mut source: Vec<Option<usize>> = vec![None; trace.len()];
    given.iter().enumerate().for_each(|(k, id)| source[id.0 as usize] = Some(k));
    let mut seen = vec![false; trace.len()];
    let mut stack = gradients.to_vec();
    while let Some(id) = stack.pop() {
        let i = id.0 as usize;
        if source[i].is_none() && !constant[i] && !std::mem::replace(&mut seen[i], true) {
            stack.extend_from_slice(trace.operands(trace.node(id)));
        }
    }
    let mut recomputed = Vec::new();
    for i in (0..trace.len()).filter(|&i| seen[i] && !late[i]) {
        let node = trace.node(NodeId(i as u32));
        let is_moved = matches!(node.op, Op::Reshape | Op::BroadcastTo | Op::Transpose | Op::Reverse);
        source[i] = if is_moved { source[trace.operands(node)[0].0 as usize] } else { None };
        if source[i].is_none() {
            recomputed.push(i);
        }
    }
    let operands = |i: usize| trace.operands(trace.node(NodeId(i as u32))).iter().map(|id| id.0 as usize);
    let sources = |i: usize| {
        let mut found: Vec<usize> = operands(i).filter_map(|operand| source[operand]).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    let mut held = vec![false; given.len()];
    for &i in &recomputed {
        // Nothing else makes this value differ from that of the forward pass.
        if let [only] = sources(i)[..]
            && operands(i).all(|operand| source[operand].is_some() || constant[operand])
        {
            held[only] = true;
        }
    }
    let bytes = |k: &usize| {
        let ty = trace.ty(given[*k]);
        ty.dims.iter().fold(ty.dtype.size_bytes() as i64, |size, &dim| size.saturating_mul(dim))
    };
    let mut differs = vec![false; trace.len()];
    for &i in &recomputed {
        differs[i] = operands(i).any(|operand| differs[operand] || source[operand].is_some_and(|k| held[k]));
        if !differs[i]
            && let Some(smallest) = sources(i).into_iter().min_by_key(bytes)
        {
            held[smallest] = true;
            differs[i] = true;
        }
    }
    held
}

fn marked(trace: &Trace, ids: &[NodeId]) -> Vec<bool> {
    let mut marks = vec![false; trace.len()];
    ids.iter().for_each(|id| marks[id.0 as usize] = true);
    marks
}

/// For each node, whether it depends on one of `sources`.
fn dependents(trace: &Trace, sources: &[NodeId]) -> Vec<bool> {
    let mut marks = marked(trace, sources);
    for id in 0..trace.len() {
        if !marks[id] {
            marks[id] = trace.operands(trace.node(NodeId(id as u32))).iter().any(|operand| marks[operand.0 as usize]);
        }
    }
    marks
}

/// For each node, whether it is computed only from constants and the `given` nodes.
fn constants(trace: &Trace, given: &[NodeId]) -> Vec<bool> {
    let given = marked(trace, given);
    let mut constant: Vec<bool> = Vec::with_capacity(trace.len());
    for (id, is_given) in given.into_iter().enumerate() {
        let node = trace.node(NodeId(id as u32));
        let known = node.op != Op::Leaf && trace.operands(node).iter().all(|operand| constant[operand.0 as usize]);
        constant.push(known || is_given);
    }
    constant
}
