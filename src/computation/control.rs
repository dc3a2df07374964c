//! Loops, branches and scans over traced computations.

use super::traced::{Computation, check_device, new_tensors, nodes};
use crate::device::{Device, TensorHandle};
use crate::error;
use crate::error::Result;
use crate::ir::{self, Applied};
use crate::tensor::to_record;

/// Both computations belong to one device, and so do all tensors.
fn common(
    first: (&str, &Computation),
    second: (&str, &Computation),
    lists: &[(&str, &[TensorHandle])],
) -> Result<&'static Device> {
    let device = first.1.device();
    if !std::ptr::eq(device, second.1.device()) {
        return Err(error!(
            InvalidArgument,
            "{} and {} belong to different devices or environments", first.0, second.0
        ));
    }
    lists.iter().try_for_each(|(name, list)| check_device(name, list, device))?;
    Ok(device)
}

/// As long as `condition` gives true, applies `body`; starts with `init`.
pub fn while_loop(condition: &Computation, body: &Computation, init: &[TensorHandle]) -> Result<Vec<TensorHandle>> {
    let device = common(("cond", condition), ("body", body), &[("init", init)])?;
    let mut state = to_record(device)?;
    let init = nodes(&mut state, "init", init)?;
    let (of_condition, of_body) = (condition.captures(&mut state)?, body.captures(&mut state)?);
    let results = ir::while_loop(
        &mut state.trace,
        &Applied { body: condition.body(), captures: &of_condition },
        &Applied { body: body.body(), captures: &of_body },
        &init,
    )?;
    new_tensors(state, &results)
}

/// Applies one of two computations to arguments.
pub fn branch(
    pred: TensorHandle,
    on_true: &Computation,
    on_false: &Computation,
    arguments: &[TensorHandle],
) -> Result<Vec<TensorHandle>> {
    let device = common(("on_true", on_true), ("on_false", on_false), &[("pred", &[pred]), ("args", arguments)])?;
    let mut state = to_record(device)?;
    let pred = state.operand("pred", pred)?;
    let arguments = nodes(&mut state, "args", arguments)?;
    let (of_true, of_false) = (on_true.captures(&mut state)?, on_false.captures(&mut state)?);
    let results = ir::branch(
        &mut state.trace,
        pred,
        &Applied { body: on_true.body(), captures: &of_true },
        &Applied { body: on_false.body(), captures: &of_false },
        &arguments,
    )?;
    new_tensors(state, &results)
}

/// Applies `body` along the leading axis of `arrays`. Gives what it carried last, then its other results, stacked.
pub fn scan(
    body: &Computation,
    init: &[TensorHandle],
    arrays: &[TensorHandle],
    length: i64,
    reverse: bool,
) -> Result<Vec<TensorHandle>> {
    let device = body.device();
    check_device("init", init, device)?;
    check_device("xs", arrays, device)?;
    let mut state = to_record(device)?;
    let init = nodes(&mut state, "init", init)?;
    let arrays = nodes(&mut state, "xs", arrays)?;
    let captures = body.captures(&mut state)?;
    let applied = Applied { body: body.body(), captures: &captures };
    let results = ir::scan(&mut state.trace, &applied, &init, &arrays, length, reverse)?;
    new_tensors(state, &results)
}
