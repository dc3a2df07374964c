//! A step that cannot be compiled as a whole. The values that cannot be compiled are found by compiling halves of the
//! step without running them; then the step is made without these values, which stay pending.

use super::collect::is_pending;
use super::plan::{Plan, partial_scheme};
use super::run::compile_all;
use super::transaction::{Pinned, Transaction};
use crate::device::{Device, DeviceState, Kind, Owner};
use base::error::{Error, Result, quoted};
use ir::{Body, Node, NodeId, Op, Planner, Scheme, Trace, Workspace};
use ops::control::CustomCall;
use ops::operation_name;
use std::fmt::Write;
use std::sync::Arc;

/// Maximum number of compiles in search of culprits. Values that were not compiled alone then stay pending, too.
const MOST_COMPILES: usize = 64;

/// Maximum numbers of culprits, and of custom call targets of each, that a message lists.
const NAMED: usize = 5;

/// Does the work of a step that failed to compile with `failure`, without the values that cannot be compiled. Returns
/// the failure with their names. If no value fails alone, nothing is done. `values` returns the values of the step.
pub fn step_without_culprits(
    device: &'static Device,
    planner: &mut Planner,
    failure: Error,
    values: impl Fn(&DeviceState, &mut Workspace) -> Result<Vec<NodeId>>,
) -> Error {
    if failure.code.is_of_plugin() {
        return failure;
    }
    let workspace = &mut planner.workspace;
    let (mut search, _pinned) = {
        let mut state = device.state();
        let Ok(owner) = state.check_open().and_then(|()| state.owner().cloned()) else { return failure };
        let Ok(values) = values(&state, workspace) else { return failure };
        (Search::of(&state.trace, owner, values), Pinned::new(device, &mut state))
    };
    search.run(device, workspace);
    search.culprits.sort_unstable_by_key(|id| id.0);
    if search.culprits.is_empty() {
        // A failure that does not come again, or a program that is too large.
        let hint = "; no value was found that fails alone";
        return Error::new(failure.code, format!("{}{hint}", failure.message));
    }
    let mut text = search.named(&device.state().trace);
    match search.step(device, workspace) {
        Ok((count, checked)) => {
            let _ = match count {
                0 => Ok(()),
                1 => write!(text, "; the other value was computed"),
                _ => write!(text, "; the {count} other values were computed"),
            };
            if let Err(e) = checked {
                let _ = write!(text, "; {}", e.message);
            }
        }
        Err(e) => {
            let _ = write!(text, "; the other values were not computed: {}", e.message);
        }
    }
    Error::new(failure.code, format!("{}; {text}", failure.message))
}

/// The values of a step, and what compiling some of them has shown.
struct Search {
    owner: Owner,
    /// Values to compute. Values of a group are adjacent.
    roots: Vec<NodeId>,
    /// Group of each root: operations that are connected, by operands or users.
    groups: Vec<Option<u32>>,
    /// Values that fail alone, and do not depend on others that do.
    culprits: Vec<NodeId>,
    /// For each node, whether it is a culprit or depends on one.
    spoiled: Vec<bool>,
    /// Values that depend on culprits.
    dependents: Vec<NodeId>,
    /// Values in a set that fails, which was not divided further.
    untried: Vec<NodeId>,
}

impl Search {
    /// Groups the values of a step.
    fn of(trace: &Trace, owner: Owner, mut roots: Vec<NodeId>) -> Search {
        let of = trace.groups(&roots);
        roots.sort_by_key(|&id| of.of(id));
        let groups = roots.iter().map(|&id| of.of(id)).collect();
        let (culprits, dependents, untried) = (Vec::new(), Vec::new(), Vec::new());
        Search { owner, roots, groups, culprits, spoiled: vec![false; trace.len()], dependents, untried }
    }

    /// Finds the culprits. All values together are known to fail.
    fn run(&mut self, device: &'static Device, workspace: &mut Workspace) {
        let mut compiles = 0;
        let mut sets = vec![(0..self.roots.len()).collect::<Vec<usize>>()];
        let mut is_known_to_fail = true;
        while let Some(mut set) = sets.pop() {
            let size = set.len();
            set.retain(|&i| !self.is_spoiled(i));
            is_known_to_fail &= set.len() == size;
            if set.is_empty() {
                is_known_to_fail = false;
                continue;
            }
            if !std::mem::take(&mut is_known_to_fail) {
                if compiles == MOST_COMPILES {
                    self.untried.extend(set.iter().map(|&i| self.roots[i]));
                    continue;
                }
                compiles += 1;
                if self.compiles(device, workspace, &set) {
                    continue;
                }
            }
            if let [culprit] = set[..] {
                self.culprits.push(self.roots[culprit]);
                self.spoil(&device.state().trace, self.roots[culprit]);
            } else {
                let right = set.split_off(self.middle(&set));
                // The left one, which has the earlier groups, is taken first.
                sets.extend([right, set]);
            }
        }
    }

    /// Whether a root depends on a culprit. It is a dependent then.
    fn is_spoiled(&mut self, root: usize) -> bool {
        let id = self.roots[root];
        let is_spoiled = self.spoiled[id.0 as usize];
        if is_spoiled {
            self.dependents.push(id);
        }
        is_spoiled
    }

    /// Marks a culprit and what depends on it.
    fn spoil(&mut self, trace: &Trace, culprit: NodeId) {
        self.spoiled[culprit.0 as usize] = true;
        for id in culprit.0..self.spoiled.len() as u32 {
            let operands = trace.operands(trace.node(NodeId(id)));
            self.spoiled[id as usize] |= operands.iter().any(|operand| self.spoiled[operand.0 as usize]);
        }
    }

    /// Returns where to divide a set: near its middle, between two groups if there are several.
    fn middle(&self, set: &[usize]) -> usize {
        let middle = set.len() / 2;
        let between = (1..set.len()).filter(|&i| self.groups[set[i - 1]] != self.groups[set[i]]);
        between.min_by_key(|i| i.abs_diff(middle)).unwrap_or(middle)
    }

    /// Compiles these values, as a sync of them would. Values that are not pending any more are left out.
    fn compiles(&self, device: &'static Device, workspace: &mut Workspace, set: &[usize]) -> bool {
        let plan = {
            let state = device.state();
            let trace = &state.trace;
            let mut roots: Vec<NodeId> =
                set.iter().map(|&i| self.roots[i]).filter(|&id| is_pending(trace, id)).collect();
            if roots.is_empty() {
                return true;
            }
            roots.sort_unstable_by_key(|id| id.0);
            let max_ops = self.owner.shared.options.max_program_ops();
            let scheme = Scheme::of(trace, workspace.linearize(trace, &roots), max_ops, |_| false);
            Plan::new(trace, Arc::new(scheme))
        };
        compile_all(&self.owner, &plan).is_ok()
    }

    /// Computes the values that can be compiled. Returns their number, and the outcome of the option `check_nonfinite`.
    fn step(&self, device: &'static Device, workspace: &mut Workspace) -> Result<(usize, Result<()>)> {
        let mut is_left = self.spoiled.clone();
        self.untried.iter().for_each(|id| is_left[id.0 as usize] = true);
        let mut is_good = vec![false; is_left.len()];
        self.roots.iter().for_each(|id| is_good[id.0 as usize] = !is_left[id.0 as usize]);
        let transaction = {
            let mut state = device.state();
            state.check_open()?;
            let is_root = |id: NodeId| is_good.get(id.0 as usize) == Some(&true);
            let scheme = partial_scheme(&state.trace, workspace, &self.owner, is_root);
            if scheme.roots.is_empty() {
                return Ok((0, Ok(())));
            }
            let plan = Plan::new(&state.trace, Arc::new(scheme));
            Transaction::start(device, &mut state, self.owner.clone(), "step", plan)
        };
        let count = transaction.plan.scheme.roots.len();
        let compiled = compile_all(&transaction.owner, &transaction.plan).map_err(|e| transaction.explain(e))?;
        Ok((count, transaction.run(Kind::Step, &compiled)?))
    }

    /// Names the culprits by dtype, shape, operation and custom call targets.
    fn named(&self, trace: &Trace) -> String {
        let mut text = String::new();
        for (i, &id) in self.culprits.iter().take(NAMED).enumerate() {
            let _ = write!(text, "{}{}", if i == 0 { "" } else { ", " }, described(trace, id));
        }
        if let more @ 1.. = self.culprits.len().saturating_sub(NAMED) {
            let _ = write!(text, " and {more} more");
        }
        if !self.culprits.is_empty() {
            text.push_str(" cannot be compiled");
        }
        if !self.dependents.is_empty() {
            let _ = write!(text, ", nor {} that depend on them", self.dependents.len());
        }
        if !self.culprits.is_empty() {
            text.push_str(": release them, or sync others");
        }
        if !self.untried.is_empty() {
            let separator = if text.is_empty() { "" } else { "; " };
            let _ = write!(text, "{separator}{} values were not tried alone", self.untried.len());
        }
        text
    }
}

/// Describes a pending value for a message: `f32[2] by add of custom_call "target"`.
fn described(trace: &Trace, id: NodeId) -> String {
    let node = trace.node(id);
    let by = if node.op == Op::Result { trace.node(trace.operands(node)[0]) } else { node };
    let mut text = format!("{} by {}{}", trace.ty(id), operation_name(by.op), trace.label_of(id).suffix());
    let targets = targets(trace, id);
    for (i, target) in targets.iter().take(NAMED).enumerate() {
        let before = match (i, by.op) {
            (0, Op::CustomCall) => " of",
            (0, _) => ", with custom calls of",
            _ => ",",
        };
        let _ = write!(text, "{before} {}", quoted(target));
    }
    if let more @ 1.. = targets.len().saturating_sub(NAMED) {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// Distinct targets of the custom calls on which a value depends, also in computations, in recording order.
fn targets(trace: &Trace, root: NodeId) -> Vec<String> {
    let mut targets = Vec::new();
    let mut bodies: Vec<Arc<Body>> = Vec::new();
    let mut needed = vec![false; root.0 as usize + 1];
    needed[root.0 as usize] = true;
    for id in (0..=root.0).rev().filter(|&id| trace.node(NodeId(id)).op != Op::Leaf) {
        if needed[id as usize] {
            let node: &Node = trace.node(NodeId(id));
            trace.operands(node).iter().for_each(|operand| needed[operand.0 as usize] = true);
            if node.op == Op::CustomCall {
                targets.push(trace.attributes::<CustomCall>(node).target);
            }
            bodies.extend(trace.bodies(node).cloned());
        }
    }
    targets.reverse();
    let mut seen: Vec<*const Body> = Vec::new();
    while let Some(body) = bodies.pop() {
        if seen.contains(&Arc::as_ptr(&body)) {
            continue;
        }
        seen.push(Arc::as_ptr(&body));
        let (instructions, _) = body.decode();
        let calls = instructions.iter().filter(|instruction| instruction.op == Op::CustomCall);
        targets.extend(calls.map(|call| call.attributes::<CustomCall>().target));
        bodies.extend(body.program().bodies().iter().cloned());
    }
    let mut distinct: Vec<String> = Vec::new();
    for target in targets {
        if !distinct.contains(&target) {
            distinct.push(target);
        }
    }
    distinct
}
