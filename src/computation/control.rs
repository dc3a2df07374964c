//! Loops, branches, scans and `shard_map` over traced computations.

use super::effects::{after_others, finish_applied};
use super::traced::{Computation, Given, device_for, nodes};
use crate::device::TensorHandle;
use crate::tensor::to_record;
use base::error;
use base::error::Result;
use ir::{Body, NodeId};
use mesh::{Mesh, Sharding};
use ops::control::{self, Applied};
use std::sync::Arc;

/// The first of the arguments, for which a loop or a branch waits before anything in it begins.
fn first_of(arguments: &mut [NodeId]) -> &mut [NodeId] {
    let count = arguments.len().min(1);
    &mut arguments[..count]
}

/// Applies `body` to the loop state while `condition` returns true. The state starts as `init`.
pub fn while_loop(condition: &Computation, body: &Computation, init: &[TensorHandle]) -> Result<Vec<TensorHandle>> {
    let device = device_for(&[("cond", condition), ("body", body)], &[Given::List("init", init)])?;
    let mut state = to_record(device)?;
    let mut init = nodes(&mut state, "init", init)?;
    after_others(&mut state, &[condition.body(), body.body()], first_of(&mut init))?;
    let (of_condition, of_body) = (condition.captures(&mut state)?, body.captures(&mut state)?);
    let results = control::while_loop(
        &mut state.trace,
        &Applied { body: condition.body(), captures: &of_condition },
        &Applied { body: body.body(), captures: &of_body },
        &init,
    )?;
    finish_applied(state, &[condition.body(), body.body()], &results)
}

/// Applies `body` to the loop state while `condition` returns true, at most `most` times. Returns the state, then whether
/// the condition was false at the end.
pub fn while_bounded(
    condition: &Computation,
    body: &Computation,
    init: &[TensorHandle],
    most: i64,
) -> Result<Vec<TensorHandle>> {
    let applied = [("cond", condition), ("body", body)];
    if let Some((name, _)) = applied.iter().find(|(_, of)| of.body().kernels().effects) {
        return Err(error!(
            Unimplemented,
            "{name}: it calls kernels with effects, which derivatives would repeat: use lxla_while"
        ));
    }
    let device = device_for(&applied, &[Given::List("init", init)])?;
    let mut state = to_record(device)?;
    let init = nodes(&mut state, "init", init)?;
    let (of_condition, of_body) = (condition.captures(&mut state)?, body.captures(&mut state)?);
    let results = control::while_bounded(
        &mut state.trace,
        &Applied { body: condition.body(), captures: &of_condition },
        &Applied { body: body.body(), captures: &of_body },
        &init,
        most,
    )?;
    finish_applied(state, &[condition.body(), body.body()], &results)
}

/// Applies `on_true` or `on_false` to the arguments, depending on `pred`.
pub fn branch(
    pred: TensorHandle,
    on_true: &Computation,
    on_false: &Computation,
    arguments: &[TensorHandle],
) -> Result<Vec<TensorHandle>> {
    let device = device_for(
        &[("on_true", on_true), ("on_false", on_false)],
        &[Given::One("pred", pred), Given::List("args", arguments)],
    )?;
    let mut state = to_record(device)?;
    let pred = state.operand("pred", pred)?;
    let mut arguments = nodes(&mut state, "args", arguments)?;
    after_others(&mut state, &[on_true.body(), on_false.body()], first_of(&mut arguments))?;
    let (of_true, of_false) = (on_true.captures(&mut state)?, on_false.captures(&mut state)?);
    let results = control::branch(
        &mut state.trace,
        pred,
        &Applied { body: on_true.body(), captures: &of_true },
        &Applied { body: on_false.body(), captures: &of_false },
        &arguments,
    )?;
    finish_applied(state, &[on_true.body(), on_false.body()], &results)
}

/// Applies `branches[index]` to the arguments.
pub fn case(
    index: TensorHandle,
    branches: &[Arc<Computation>],
    arguments: &[TensorHandle],
) -> Result<Vec<TensorHandle>> {
    if branches.is_empty() {
        return Err(error!(InvalidArgument, "n_branches: 0 given; want at least 1"));
    }
    let names: Vec<String> = (0..branches.len()).map(|i| format!("branches[{i}]")).collect();
    let named: Vec<(&str, &Computation)> =
        names.iter().map(String::as_str).zip(branches.iter().map(Arc::as_ref)).collect();
    let device = device_for(&named, &[Given::One("index", index), Given::List("args", arguments)])?;
    let mut state = to_record(device)?;
    let index = state.operand("index", index)?;
    let mut arguments = nodes(&mut state, "args", arguments)?;
    let all: Vec<&Arc<Body>> = branches.iter().map(|branch| branch.body()).collect();
    after_others(&mut state, &all, first_of(&mut arguments))?;
    let captures = branches.iter().map(|branch| branch.captures(&mut state)).collect::<Result<Vec<_>>>()?;
    let applied: Vec<Applied> =
        branches.iter().zip(&captures).map(|(branch, captures)| Applied { body: branch.body(), captures }).collect();
    let results = control::case(&mut state.trace, index, &applied, &arguments)?;
    finish_applied(state, &all, &results)
}

/// Applies `body` along the leading axis of `arrays`. Returns the final carry, followed by the other results of all
/// iterations, stacked.
pub fn scan(
    body: &Computation,
    init: &[TensorHandle],
    arrays: &[TensorHandle],
    length: i64,
    reverse: bool,
) -> Result<Vec<TensorHandle>> {
    let device = device_for(&[("body", body)], &[Given::List("init", init), Given::List("xs", arrays)])?;
    let mut state = to_record(device)?;
    let mut init = nodes(&mut state, "init", init)?;
    let mut arrays = nodes(&mut state, "xs", arrays)?;
    let first = if init.is_empty() { &mut arrays } else { &mut init };
    after_others(&mut state, &[body.body()], first_of(first))?;
    let captures = body.captures(&mut state)?;
    let applied = Applied { body: body.body(), captures: &captures };
    let results = control::scan(&mut state.trace, &applied, &init, &arrays, length, reverse)?;
    finish_applied(state, &[body.body()], &results)
}

/// Applies `body` on every device of the mesh to the device's pieces of the arguments.
pub fn shard_map(
    body: &Computation,
    mesh: &Mesh,
    in_shardings: &[Sharding],
    arguments: &[TensorHandle],
    out_shardings: &[Sharding],
) -> Result<Vec<TensorHandle>> {
    let device = device_for(&[("body", body)], &[Given::List("args", arguments)])?;
    let mut state = to_record(device)?;
    if !state.mesh("args").is_ok_and(|own| own.axes == mesh.axes && own.ordinals == mesh.ordinals) {
        let on = state.owner()?.place;
        return Err(error!(
            InvalidArgument,
            "mesh: {} on the devices {:?} given; the computation is applied on {on}, want a device of this mesh",
            mesh.axes,
            mesh.ordinals
        ));
    }
    let mut arguments = nodes(&mut state, "args", arguments)?;
    after_others(&mut state, &[body.body()], &mut arguments)?;
    let captures = body.captures(&mut state)?;
    let applied = Applied { body: body.body(), captures: &captures };
    let results =
        ops::mesh::shard_map(&mut state.trace, &applied, &mesh.axes, in_shardings, &arguments, out_shardings)?;
    finish_applied(state, &[body.body()], &results)
}
