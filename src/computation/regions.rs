//! Operations that apply a traced computation of scalars (a StableHLO region) to the elements of tensors.

use super::traced::{Computation, Given, device_for, nodes};
use crate::device::TensorHandle;
use crate::tensor::{finish_all, to_record};
use base::error;
use base::error::Result;
use ir::{DimensionNumbers, NodeId, Trace, Window};
use ops::control::Applied;
use ops::indexing::{self, IndexHints};
use ops::{reduction, sorting};

/// Returns an error if a computation of elements calls a kernel: XLA's CPU compiler ends the process at a custom call
/// inside a reduction.
fn refuse_kernels(name: &str, computation: &Computation) -> Result<()> {
    if computation.body().kernels().any {
        return Err(error!(Unimplemented, "{name}: it calls a kernel, which sorts, reductions and scatters cannot"));
    }
    Ok(())
}

/// Sorts the inputs together along `axis`, ordered by `comparator`.
pub fn sort(comparator: &Computation, inputs: &[TensorHandle], axis: i64, stable: bool) -> Result<Vec<TensorHandle>> {
    refuse_kernels("comparator", comparator)?;
    let device = device_for(&[("comparator", comparator)], &[Given::List("inputs", inputs)])?;
    let mut state = to_record(device)?;
    let inputs = nodes(&mut state, "inputs", inputs)?;
    let captures = comparator.captures(&mut state)?;
    let applied = Applied { body: comparator.body(), captures: &captures };
    let results = sorting::sort(&mut state.trace, &applied, &inputs, axis, stable)?;
    finish_all(state, &results)
}

/// Reduces the inputs together over `axes`.
pub fn reduce_with(
    body: &Computation,
    inputs: &[TensorHandle],
    inits: &[TensorHandle],
    axes: &[i64],
) -> Result<Vec<TensorHandle>> {
    reduced(body, inputs, inits, |trace, body, inputs, inits| reduction::reduce_with(trace, body, inputs, inits, axes))
}

/// Reduces the inputs together over each window.
pub fn reduce_window(
    body: &Computation,
    inputs: &[TensorHandle],
    inits: &[TensorHandle],
    windows: &[Window],
) -> Result<Vec<TensorHandle>> {
    reduced(body, inputs, inits, |trace, body, inputs, inits| {
        reduction::reduce_window(trace, body, inputs, inits, windows)
    })
}

fn reduced(
    body: &Computation,
    inputs: &[TensorHandle],
    inits: &[TensorHandle],
    record: impl FnOnce(&mut Trace, &Applied, &[NodeId], &[NodeId]) -> Result<Vec<NodeId>>,
) -> Result<Vec<TensorHandle>> {
    refuse_kernels("body", body)?;
    let device = device_for(&[("body", body)], &[Given::List("inputs", inputs), Given::List("inits", inits)])?;
    let mut state = to_record(device)?;
    let (inputs, inits) = (nodes(&mut state, "inputs", inputs)?, nodes(&mut state, "inits", inits)?);
    let captures = body.captures(&mut state)?;
    let results = record(&mut state.trace, &Applied { body: body.body(), captures: &captures }, &inputs, &inits)?;
    finish_all(state, &results)
}

/// Selects one element of each window of `x` with `select`, and combines the values of `source` into the selected
/// positions with `combiner`, starting from `init`.
pub fn select_and_scatter(
    select: &Computation,
    combiner: &Computation,
    x: TensorHandle,
    source: TensorHandle,
    init: TensorHandle,
    windows: &[Window],
) -> Result<TensorHandle> {
    let computations = [("select", select), ("combiner", combiner)];
    computations.iter().try_for_each(|(name, computation)| refuse_kernels(name, computation))?;
    let device =
        device_for(&computations, &[Given::One("x", x), Given::One("source", source), Given::One("init", init)])?;
    let mut state = to_record(device)?;
    let (x, source, init) = (state.operand("x", x)?, state.operand("source", source)?, state.operand("init", init)?);
    let (of_select, of_combiner) = (select.captures(&mut state)?, combiner.captures(&mut state)?);
    let id = reduction::select_and_scatter(
        &mut state.trace,
        &Applied { body: select.body(), captures: &of_select },
        &Applied { body: combiner.body(), captures: &of_combiner },
        x,
        source,
        init,
        windows,
    )?;
    Ok(finish_all(state, &[id])?.remove(0))
}

/// Scatters slices of `updates` into the inputs at `indices`, combining values with `combiner`.
pub fn scatter(
    combiner: &Computation,
    inputs: &[TensorHandle],
    indices: TensorHandle,
    updates: &[TensorHandle],
    numbers: &DimensionNumbers,
    hints: IndexHints,
) -> Result<Vec<TensorHandle>> {
    refuse_kernels("combiner", combiner)?;
    let lists = [Given::List("inputs", inputs), Given::One("indices", indices), Given::List("updates", updates)];
    let device = device_for(&[("combiner", combiner)], &lists)?;
    let mut state = to_record(device)?;
    let inputs = nodes(&mut state, "inputs", inputs)?;
    let indices = state.operand("indices", indices)?;
    let updates = nodes(&mut state, "updates", updates)?;
    let captures = combiner.captures(&mut state)?;
    let applied = Applied { body: combiner.body(), captures: &captures };
    let results = indexing::scatter(&mut state.trace, &applied, &inputs, indices, &updates, numbers, hints)?;
    finish_all(state, &results)
}
