//! Derivatives and batching of traced computations.

use super::traced::Computation;
use base::error;
use base::error::{Error, Result};
use base::types::{TensorType, check_rank, element_count};
use ir::{Body, Trace, take_closed_body};
use lowering::transform::{self, Transformer, Wanted};
use ops::control::{self, Applied, CustomKind, FoundRule};
use ops::rules::is_differentiable;
use std::sync::Arc;

pub use lowering::transform::Checkpoint;

/// Options of reverse mode.
#[derive(Default)]
pub struct VjpOptions {
    /// Indices of the parameters by which to differentiate; by default every differentiable one.
    pub wrt: Option<Vec<usize>>,
    /// Whether to differentiate by the differentiable captured values too.
    pub captured: bool,
    /// Which values the forward pass saves for the backward pass.
    pub checkpoint: Checkpoint,
}

/// Forward and backward pass of a computation.
pub struct Passes {
    /// Parameters to results, then residuals.
    pub forward: Computation,
    /// Residuals, then cotangents of the differentiable results, to gradients.
    pub backward: Computation,
    /// Number of residuals.
    pub residuals: usize,
}

/// Runs a transformation of a computation on a stack that is large enough for its nested ones.
fn transformed<T: Send>(f: &Computation, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    transform::with_room([f.body()], work).map_err(|e| e.context("f"))
}

/// Indices of the values of differentiable dtypes.
fn differentiable(types: &[TensorType]) -> Vec<usize> {
    (0..types.len()).filter(|&i| is_differentiable(types[i].dtype)).collect()
}

/// Checks the indices of the parameters by which to differentiate. None selects all differentiable parameters.
fn parameters(f: &Computation, wrt: Option<&[usize]>) -> Result<Vec<usize>> {
    let types = f.parameters();
    let Some(wrt) = wrt else { return Ok(differentiable(types)) };
    for (i, &index) in wrt.iter().enumerate() {
        let Some(ty) = types.get(index) else {
            return Err(error!(
                InvalidArgument,
                "wrt: wrt[{i}] is {index}; the computation has {} parameters",
                types.len()
            ));
        };
        if !is_differentiable(ty.dtype) {
            return Err(error!(
                InvalidArgument,
                "wrt: wrt[{i}] is {index}, and parameter {index} is {ty}; want a float or complex dtype"
            ));
        }
        if wrt[..i].contains(&index) {
            return Err(error!(InvalidArgument, "wrt: parameter {index} is given twice"));
        }
    }
    Ok(wrt.to_vec())
}

/// Returns the computation that maps the parameters of `f`, then one tangent for each of `wrt`, to the results of `f`,
/// then one tangent for each differentiable result.
pub fn jvp(f: &Computation, wrt: Option<&[usize]>) -> Result<Computation> {
    let wrt = parameters(f, wrt)?;
    f.with_body(transformed(f, || transform::jvp(&Transformer::default(), f.body(), &wrt))?)
}

/// Returns the forward and the backward pass of `f`.
pub fn vjp(f: &Computation, options: &VjpOptions) -> Result<Passes> {
    let wrt = parameters(f, options.wrt.as_deref())?;
    let transformer = Transformer::new(options.checkpoint.clone());
    let wanted = Wanted { parameters: &wrt, captures: options.captured };
    let made = transformed(f, || transform::vjp(&transformer, f.body(), &wanted))?;
    Ok(Passes { forward: f.with_body(made.forward)?, backward: f.with_body(made.backward)?, residuals: made.residuals })
}

/// Returns the computation that maps the parameters of `f` to its results, then the gradients of its first result, a
/// float scalar.
pub fn value_and_grad(f: &Computation, options: &VjpOptions) -> Result<Computation> {
    let first = &f.results()[0];
    if !first.dtype.is_float() || !first.dims.is_empty() {
        return Err(error!(InvalidArgument, "f: its first result is {first}; want a float scalar"));
    }
    let wrt = parameters(f, options.wrt.as_deref())?;
    let transformer = Transformer::new(options.checkpoint.clone());
    let wanted = Wanted { parameters: &wrt, captures: options.captured };
    f.with_body(transformed(f, || transform::value_and_grad(&transformer, f.body(), &wanted))?)
}

/// Returns `f` with its captured values as further parameters, after its own.
pub fn lift(f: &Computation) -> Result<Computation> {
    let made = f.with_closed_body(transform::lifted(f.body())?)?;
    Ok(match f.names() {
        Some(names) => made.named(names.lifted()),
        None => made,
    })
}

/// Returns `f` with a checkpoint policy: wherever it is differentiated, the forward pass saves what the policy says of
/// its inside, and the backward pass recomputes the rest.
pub fn checkpoint(f: &Computation, policy: &Checkpoint) -> Result<Computation> {
    let mut trace = Trace::new();
    let mut leaf = |types: &[TensorType]| -> Vec<_> { types.iter().map(|ty| trace.parameter(ty.clone())).collect() };
    let (parameters, captures) = (leaf(f.parameters()), leaf(f.body().captures()));
    let applied = Applied { body: f.body(), captures: &captures };
    let results = control::checkpoint_call_of(&mut trace, policy, &applied, &parameters);
    f.with_body(take_closed_body(&trace, &parameters, &captures, &results)?)
}

/// Checks a list of batch axes, one for each value: -1, or an axis of the value with the batch axis.
fn check_axes(name: &str, axes: &[i64], types: &[TensorType], what: &str) -> Result<()> {
    if axes.len() != types.len() {
        return Err(error!(
            InvalidArgument,
            "{name}: {} given; the computation has {} {what}s",
            axes.len(),
            types.len()
        ));
    }
    for (i, (&axis, ty)) in axes.iter().zip(types).enumerate() {
        let most = ty.dims.len() as i64;
        if !(-1..=most).contains(&axis) {
            return Err(error!(
                InvalidArgument,
                "{name}: {name}[{i}] is {axis}; {what} {i} is {ty}, want -1 (not mapped) to {most}"
            ));
        }
    }
    Ok(())
}

/// Returns an error unless tensors of this type can have another axis, of this size.
fn check_batched(name: &str, ty: &TensorType, size: i64) -> Result<()> {
    let mut dims = ty.dims.clone();
    dims.push(size);
    check_rank(&dims).and_then(|()| element_count(&dims).map(drop)).map_err(|e| e.context(name))
}

/// Returns `f` over a batch of `size`.
pub fn vmap(f: &Computation, in_axes: &[i64], out_axes: &[i64], size: i64) -> Result<Computation> {
    check_axes("in_axes", in_axes, f.parameters(), "parameter")?;
    check_axes("out_axes", out_axes, f.results(), "result")?;
    if size < 1 {
        return Err(error!(InvalidArgument, "size: {size} given; want at least 1"));
    }
    for (ty, _) in f.parameters().iter().zip(in_axes).filter(|(_, axis)| **axis >= 0) {
        check_batched("in_axes", ty, size)?;
    }
    for (ty, _) in f.results().iter().zip(out_axes).filter(|(_, axis)| **axis >= 0) {
        check_batched("out_axes", ty, size)?;
    }
    f.with_body(transformed(f, || transform::batched(&Transformer::default(), f.body(), in_axes, out_axes, size))?)
}

fn listed(types: &[TensorType]) -> String {
    types.iter().map(TensorType::to_string).collect::<Vec<_>>().join(", ")
}

fn misfit(name: &str, what: &str, given: &[TensorType], wanted: &[TensorType]) -> Error {
    error!(InvalidArgument, "{name}: its {what} are ({}); want ({})", listed(given), listed(wanted))
}

fn of(types: &[TensorType]) -> Vec<TensorType> {
    differentiable(types).into_iter().map(|i| types[i].clone()).collect()
}

/// Returns `primal` with a reverse-mode derivative: `backward`, applied to the residuals that `forward` returns. A
/// forward-mode derivative of `primal` stays.
pub fn with_vjp(primal: &Computation, forward: &Computation, backward: &Computation) -> Result<Computation> {
    let results = primal.results();
    if forward.parameters() != primal.parameters() {
        return Err(misfit("forward", "parameters", forward.parameters(), primal.parameters()));
    }
    if !forward.results().starts_with(results) {
        return Err(error!(
            InvalidArgument,
            "forward: its results are ({}); want those of primal, ({}), then residuals",
            listed(forward.results()),
            listed(results)
        ));
    }
    let wanted = [&forward.results()[results.len()..], &of(results)].concat();
    if backward.parameters() != wanted {
        return Err(misfit("backward", "parameters", backward.parameters(), &wanted));
    }
    let gradients = of(primal.parameters());
    if backward.results() != gradients {
        return Err(misfit("backward", "results", backward.results(), &gradients));
    }
    let jvp = control::derivative_rules(primal.body()).jvp;
    let kind = if jvp.is_empty() { CustomKind::Vjp } else { CustomKind::Both };
    with_rules(kind, &[primal, forward, backward], &["primal", "forward", "backward"], &jvp, 3)
}

/// Returns `primal` with the forward-mode derivative `jvp`, which may take the results too. A reverse-mode derivative of
/// `primal` stays; if there is none, reverse mode transposes `jvp`.
pub fn with_jvp(primal: &Computation, jvp: &Computation) -> Result<Computation> {
    let mut wanted = [primal.parameters(), &of(primal.parameters())].concat();
    if jvp.parameters().len() > wanted.len() {
        wanted.extend_from_slice(primal.results());
    }
    if jvp.parameters() != wanted {
        return Err(misfit("jvp", "parameters", jvp.parameters(), &wanted));
    }
    let wanted = [primal.results(), &of(primal.results())].concat();
    if jvp.results() != wanted {
        return Err(misfit("jvp", "results", jvp.results(), &wanted));
    }
    let vjp = control::derivative_rules(primal.body()).vjp;
    let kind = if vjp.is_empty() { CustomKind::Jvp } else { CustomKind::Both };
    with_rules(kind, &[primal, jvp], &["primal", "jvp"], &vjp, 1)
}

/// Returns `primal` with the batching rule `batched`, which maps the parameters, each with a leading batch axis, to the
/// results with that axis.
pub fn with_vmap(primal: &Computation, batched: &Computation) -> Result<Computation> {
    let size = match (primal.parameters(), batched.parameters().first()) {
        ([], _) => return Err(error!(InvalidArgument, "primal: it has no parameters; want at least 1 to batch")),
        (_, Some(first)) => first.dims.first().copied().unwrap_or(0),
        (_, None) => 0,
    };
    let with_axis = |ty: &TensorType| {
        let mut ty = ty.clone();
        ty.dims.insert(0, size);
        ty
    };
    for (what, given, of_primal) in
        [("parameters", batched.parameters(), primal.parameters()), ("results", batched.results(), primal.results())]
    {
        let wanted: Vec<TensorType> = of_primal.iter().map(with_axis).collect();
        if given != wanted || size < 1 {
            return Err(error!(
                InvalidArgument,
                "batched: its {what} are ({}); want those of primal, ({}), each with one leading axis of one size, at \
                 least 1",
                listed(given),
                listed(of_primal)
            ));
        }
    }
    with_rules(CustomKind::Vmap, &[primal, batched], &["primal", "batched"], &[], 2)
}

/// Returns a computation that applies the first of these computations, with the others as its rules. Its captured
/// values are those of each of them, in order. `found` are rules of the first computation, which are inserted at `at`.
fn with_rules(
    kind: CustomKind,
    computations: &[&Computation],
    names: &[&str],
    found: &[FoundRule],
    at: usize,
) -> Result<Computation> {
    let mut trace = Trace::new();
    let primal = computations[0];
    let leaf = |trace: &mut Trace, types: &[TensorType]| -> Vec<_> {
        types.iter().map(|ty| trace.parameter(ty.clone())).collect()
    };
    let parameters = leaf(&mut trace, primal.parameters());
    let captures: Vec<Vec<_>> =
        computations.iter().map(|computation| leaf(&mut trace, computation.body().captures())).collect();
    let of_found: Vec<Vec<_>> =
        found.iter().map(|rule| rule.captures.iter().map(|&i| captures[0][i]).collect()).collect();
    let mut applied: Vec<Applied> = computations
        .iter()
        .zip(&captures)
        .map(|(computation, captures)| Applied { body: computation.body(), captures })
        .collect();
    let kept = found.iter().zip(&of_found).map(|(rule, captures)| Applied { body: &rule.body, captures });
    applied.splice(at..at, kept);
    let results = control::custom_call_of(&mut trace, kind, &applied, &parameters)?;
    let body: Arc<Body> = take_closed_body(&trace, &parameters, &captures.concat(), &results)?;
    Computation::of_several(computations, names, body)
}
