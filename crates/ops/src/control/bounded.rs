//! Loops with a bound on the number of iterations, which have derivatives in both modes.
//!
//! The loop that runs is a while loop. Its derivative is taken of nested scans that compute the same values: about as many
//! segments as the square root of the bound, of as many iterations each. A segment or an iteration after the end of the
//! loop is a branch that is not taken, so that time is in proportion to the iterations that ran. Reverse mode saves what
//! the loop carries at the beginning of each segment, and within one segment at a time what the body needs.

use super::apply::{Applied, branch, call, check_loop, scan};
use super::checkpoint::Checkpoint;
use super::custom::{CustomAttributes, CustomKind, checkpoint_call_of};
use super::loops::{body, repeat_while};
use crate::creation::constant;
use crate::elementwise::{binary, binary_scalar, compare_scalar, unary};
use base::error;
use base::error::Result;
use base::types::{DType, Scalar, ScalarValue, TensorType};
use ir::{BinaryOp, Body, CompareOp, NodeId, Op, Trace, UnaryOp};
use std::sync::Arc;

/// Records a loop: applies `step` to the carried values, initially `init`, while `condition` returns true for them, at
/// most `most` times. Returns the values, then whether the condition was false at the end, `pred[]`.
pub fn while_bounded(
    trace: &mut Trace,
    condition: &Applied,
    step: &Applied,
    init: &[NodeId],
    most: i64,
) -> Result<Vec<NodeId>> {
    if most < 0 {
        return Err(error!(InvalidArgument, "max_iterations: {most} given; want at least 0"));
    }
    check_loop(trace, condition, step, init)?;
    let parts = Parts { condition: condition.body, step: step.body, carried: init.len(), most };
    let types = |trace: &Trace, nodes: &[NodeId]| nodes.iter().map(|&node| trace.ty(node)).collect::<Vec<_>>();
    let given = [condition.captures, step.captures].concat();
    let (of_init, of_given) = (types(trace, init), types(trace, &given));
    // Captures become arguments, so that derivatives by them are taken as by other arguments.
    let parameters = [&of_init[..], &of_given].concat();
    let split = |all: &[NodeId]| (all[..parts.carried].to_vec(), all[parts.carried..].to_vec());
    let runs = body(&parameters, &[], |trace, all, _| {
        let (init, given) = split(all);
        parts.as_while(trace, &init, &given)
    })?;
    let differentiated = body(&parameters, &[], |trace, all, _| {
        let (init, given) = split(all);
        parts.as_scans(trace, &init, &given)
    })?;
    let attributes = CustomAttributes {
        captured: vec![0, 0],
        kind: CustomKind::Substitute,
        applied: 0,
        checkpoint: Checkpoint::SaveAll,
    };
    let operands = [init, &given].concat();
    Ok(trace.application(Op::Custom, &operands, &attributes, &[&runs, &differentiated], runs.results()))
}

/// The computations of a loop. `given` in its methods has the captures of the condition, then the captures of the step.
struct Parts<'a> {
    condition: &'a Arc<Body>,
    step: &'a Arc<Body>,
    carried: usize,
    most: i64,
}

/// Carried values of a loop: the caller's values, the number of iterations so far, and whether the condition holds.
type State = Vec<NodeId>;

impl Parts<'_> {
    /// The state before the first iteration.
    fn begin(&self, trace: &mut Trace, init: &[NodeId], given: &[NodeId]) -> Result<State> {
        let holds = self.holds(trace, init, given)?;
        let none = constant(trace, &[], Scalar::new(DType::S64, ScalarValue::Signed(0))?);
        Ok([init, &[none, holds]].concat())
    }

    fn holds(&self, trace: &mut Trace, values: &[NodeId], given: &[NodeId]) -> Result<NodeId> {
        let applied = Applied { body: self.condition, captures: &given[..self.condition.captures().len()] };
        Ok(call(trace, &applied, values)?[0])
    }

    /// Whether a state has another iteration.
    fn goes_on(&self, trace: &mut Trace, state: &[NodeId]) -> Result<NodeId> {
        let (done, holds) = (state[self.carried], state[self.carried + 1]);
        let is_within = compare_scalar(trace, CompareOp::Lt, done, ScalarValue::Signed(self.most), false)?;
        binary(trace, BinaryOp::And, holds, is_within)
    }

    /// The state after one iteration.
    fn next(&self, trace: &mut Trace, state: &[NodeId], given: &[NodeId]) -> Result<State> {
        let applied = Applied { body: self.step, captures: &given[self.condition.captures().len()..] };
        let mut next = call(trace, &applied, &state[..self.carried])?;
        let holds = self.holds(trace, &next, given)?;
        next.push(binary_scalar(trace, BinaryOp::Add, state[self.carried], ScalarValue::Signed(1), false)?);
        next.push(holds);
        Ok(next)
    }

    /// The results of the last state.
    fn end(&self, trace: &mut Trace, mut state: State) -> Result<Vec<NodeId>> {
        let ended = unary(trace, UnaryOp::Not, state[self.carried + 1])?;
        state.truncate(self.carried);
        state.push(ended);
        Ok(state)
    }

    fn as_while(&self, trace: &mut Trace, init: &[NodeId], given: &[NodeId]) -> Result<Vec<NodeId>> {
        let first = self.begin(trace, init, given)?;
        let goes_on = |trace: &mut Trace, state: &[NodeId], _: &[NodeId]| self.goes_on(trace, state);
        let last = repeat_while(trace, &first, given, goes_on, |trace, state, given| self.next(trace, state, given))?;
        self.end(trace, last)
    }

    fn as_scans(&self, trace: &mut Trace, init: &[NodeId], given: &[NodeId]) -> Result<Vec<NodeId>> {
        let first = self.begin(trace, init, given)?;
        let segments = self.most.isqrt() + i64::from(self.most.isqrt().pow(2) < self.most);
        let length = if segments == 0 { 0 } else { (self.most - 1) / segments + 1 };
        let of_state: Vec<TensorType> = first.iter().map(|&node| trace.ty(node)).collect();
        let of_given: Vec<TensorType> = given.iter().map(|&node| trace.ty(node)).collect();
        let iteration = body(&of_state, &of_given, |trace, state, given| self.next(trace, state, given))?;
        let segment = body(&of_state, &of_given, |trace, state, given| {
            let maybe = self.if_goes_on(&iteration, &of_state, &of_given, false)?;
            scan(trace, &Applied { body: &maybe, captures: given }, state, &[], length, false)
        })?;
        let maybe = self.if_goes_on(&segment, &of_state, &of_given, true)?;
        let last = scan(trace, &Applied { body: &maybe, captures: given }, &first, &[], segments, false)?;
        self.end(trace, last)
    }

    /// Returns a body that applies another one to a state if the state has another iteration. What that needs is
    /// recomputed for the backward pass if `is_recomputed`.
    fn if_goes_on(
        &self,
        work: &Arc<Body>,
        of_state: &[TensorType],
        of_given: &[TensorType],
        is_recomputed: bool,
    ) -> Result<Arc<Body>> {
        let taken = body(of_state, of_given, |trace, state, given| {
            let applied = Applied { body: work, captures: given };
            match is_recomputed {
                true => Ok(checkpoint_call_of(trace, &Checkpoint::SaveNone, &applied, state)),
                false => call(trace, &applied, state),
            }
        })?;
        let skipped = body(of_state, of_given, |_, state, _| Ok(state.to_vec()))?;
        body(of_state, of_given, |trace, state, given| {
            let goes_on = self.goes_on(trace, state)?;
            let applied = |body| Applied { body, captures: given };
            branch(trace, goes_on, &applied(&taken), &applied(&skipped), state)
        })
    }
}
