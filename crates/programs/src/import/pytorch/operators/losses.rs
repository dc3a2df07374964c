//! Losses.

use super::super::arguments::Value;
use super::super::call::{Call, scalar};
use super::super::operator::{Operator, operator};
use super::activations::complement;
use super::elementwise::{number_like, scaled};
use super::reductions::{reduced, sum_all};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, Trace, UnaryOp};
use ops::creation::iota;
use ops::elementwise::formula::record;
use ops::elementwise::{binary, compare_scalar, convert, select, unary};
use ops::indexing::{take, take_along_axis};
use ops::nn::{ActivationOp, activation, log_softmax};
use ops::reduction::{cumulative, reduce};
use ops::shape::{expand_dims, reshape, squeeze};

pub(super) const TABLE: &[Operator] = &[
    operator(
        &["cross_entropy_loss.default"],
        "self target weight=none reduction=1 ignore_index=-100 label_smoothing=0.0",
        cross_entropy,
    ),
    operator(
        &["nll_loss.default", "nll_loss_nd.default", "nll_loss2d.default"],
        "self target weight=none reduction=1 ignore_index=-100",
        |call| {
            let x = call.tensor("self")?;
            let made = Likelihood::of(call, x)?.loss(call)?;
            Ok(call.made(made))
        },
    ),
    operator(
        &["nll_loss_forward.default", "nll_loss2d_forward.default"],
        "self target weight reduction ignore_index",
        |call| {
            let x = call.tensor("self")?;
            let made = Likelihood::of(call, x)?;
            let loss = made.loss(call)?;
            // Without a reduction, PyTorch does not sum the weights.
            let total = match call.int("reduction")? {
                0 => scalar(call.trace(), made.dtype, ScalarValue::Signed(0))?,
                _ => made.total(call)?,
            };
            Ok(Value::List(vec![call.made(loss), call.made(total)]))
        },
    ),
    operator(&["mse_loss.default"], "self target reduction=1", |call| {
        compared(call, |trace, difference| binary(trace, BinaryOp::Multiply, difference, difference))
    }),
    operator(&["l1_loss.default"], "self target reduction=1", |call| {
        compared(call, |trace, difference| unary(trace, UnaryOp::Abs, difference))
    }),
    operator(&["smooth_l1_loss.default"], "self target reduction=1 beta=1", |call| {
        let beta = call.float("beta")?;
        call.refuse_unless("beta", beta >= 0.0)?;
        compared(call, |trace, difference| match beta == 0.0 {
            true => unary(trace, UnaryOp::Abs, difference),
            false => rounded_size(trace, difference, beta, 1.0 / beta),
        })
    }),
    operator(&["huber_loss.default"], "self target reduction=1 delta=1", |call| {
        let delta = call.float("delta")?;
        compared(call, |trace, difference| rounded_size(trace, difference, delta, 1.0))
    }),
    operator(
        &["binary_cross_entropy_with_logits.default"],
        "self target weight=none pos_weight=none reduction=1",
        with_logits,
    ),
    operator(&["multi_margin_loss.default"], "self target p=1 margin=1 weight=none reduction=1", multi_margin),
    operator(&["multilabel_margin_loss.default"], "self target reduction=1", multilabel_margin),
];

fn finished<'p>(call: &mut Call<'_, 'p>, each: NodeId) -> Result<Value<'p>> {
    let reduction = call.int("reduction")?;
    let made = reduced(call.trace(), each, reduction)?;
    Ok(call.made(made))
}

fn compared<'p>(call: &mut Call<'_, 'p>, each: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>) -> Result<Value<'p>> {
    let [x, target] = call.promoted(["self", "target"], false)?;
    let trace = call.trace();
    let difference = binary(trace, BinaryOp::Subtract, x, target)?;
    let each = each(trace, difference)?;
    finished(call, each)
}

/// Half of the square below a bound, and a line beyond it, both times a factor.
fn rounded_size(trace: &mut Trace, x: NodeId, bound: f64, factor: f64) -> Result<NodeId> {
    let size = unary(trace, UnaryOp::Abs, x)?;
    let square = binary(trace, BinaryOp::Multiply, x, x)?;
    let curve = scaled(trace, square, 0.5 * factor)?;
    let half = number_like(trace, size, 0.5 * bound)?;
    let line = binary(trace, BinaryOp::Subtract, size, half)?;
    let line = scaled(trace, line, bound * factor)?;
    let is_near = compare_scalar(trace, CompareOp::Lt, size, ScalarValue::Float(bound), false)?;
    select(trace, is_near, curve, line)
}

/// `(1 - target) x + log(1 + e^-x)`, with the weight of positive targets at the logarithm.
fn with_logits<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let [x, target] = call.promoted(["self", "target"], false)?;
    let (weight, positive) = (call.optional_tensor("weight")?, call.optional_tensor("pos_weight")?);
    let trace = call.trace();
    let negative = complement(trace, target)?;
    let linear = binary(trace, BinaryOp::Multiply, negative, x)?;
    let mut log = activation(trace, ActivationOp::LogSigmoid, x)?;
    if let Some(positive) = positive {
        let one = number_like(trace, positive, 1.0)?;
        let more = binary(trace, BinaryOp::Subtract, positive, one)?;
        let factor = binary(trace, BinaryOp::Multiply, more, target)?;
        let factor = binary(trace, BinaryOp::Add, factor, one)?;
        log = binary(trace, BinaryOp::Multiply, log, factor)?;
    }
    let mut each = binary(trace, BinaryOp::Subtract, linear, log)?;
    if let Some(weight) = weight {
        each = binary(trace, BinaryOp::Multiply, each, weight)?;
    }
    finished(call, each)
}

/// Logarithms of probabilities beside classes, of which some may be ignored.
struct Likelihood {
    /// Whether a target counts.
    is_kept: NodeId,
    /// Its class; 0 if it does not count.
    class: NodeId,
    /// Minus the logarithm of the probability of the class, times its weight; 0 if it does not count.
    each: NodeId,
    /// Weight of each class, if given.
    weight: Option<NodeId>,
    dtype: DType,
}

impl Likelihood {
    /// `logs` has the classes on axis 1, or on axis 0 if it has one axis.
    fn of(call: &mut Call, logs: NodeId) -> Result<Likelihood> {
        let target = call.tensor("target")?;
        let (dims, at, dtype) = (call.dims(logs), call.dims(target), call.dtype_of(logs));
        let axis = usize::from(dims.len() > 1);
        let mut wanted = dims.clone();
        if dims.is_empty() || !call.dtype_of(target).is_integer() {
            return Err(error!(Unimplemented, "targets {} for {}", call.ty(target), call.ty(logs)));
        }
        wanted.remove(axis);
        if at != wanted {
            return Err(error!(InvalidArgument, "targets {} for {}", call.ty(target), call.ty(logs)));
        }
        let ignored = call.int("ignore_index")?;
        let weight = call.optional_tensor("weight")?;
        let trace = call.trace();
        let is_kept = compare_scalar(trace, CompareOp::Ne, target, ScalarValue::Signed(ignored), false)?;
        let first = number_like(trace, target, 0.0)?;
        let class = select(trace, is_kept, target, first)?;
        let places = expand_dims(trace, class, &[axis as i64])?;
        let picked = take_along_axis(trace, logs, places, axis as i64)?;
        let picked = squeeze(trace, picked, &[axis as i64])?;
        let mut each = unary(trace, UnaryOp::Negate, picked)?;
        if let Some(weight) = weight {
            let factor = take(trace, weight, class, 0)?;
            each = binary(trace, BinaryOp::Multiply, each, factor)?;
        }
        let zero = number_like(trace, each, 0.0)?;
        let each = select(trace, is_kept, each, zero)?;
        Ok(Likelihood { is_kept, class, each, weight, dtype })
    }

    /// The sum of the weights of the targets that count.
    fn total(&self, call: &mut Call) -> Result<NodeId> {
        let trace = call.trace();
        let kept = convert(trace, self.is_kept, self.dtype);
        let weights = match self.weight {
            None => kept,
            Some(weight) => {
                let factor = take(trace, weight, self.class, 0)?;
                binary(trace, BinaryOp::Multiply, kept, factor)?
            }
        };
        sum_all(trace, weights)
    }

    fn loss(&self, call: &mut Call) -> Result<NodeId> {
        self.reduced(call, self.each)
    }

    /// A mean divides by the weights of what counts.
    fn reduced(&self, call: &mut Call, each: NodeId) -> Result<NodeId> {
        match call.int("reduction")? {
            1 => {
                let total = self.total(call)?;
                let sum = sum_all(call.trace(), each)?;
                binary(call.trace(), BinaryOp::Divide, sum, total)
            }
            other => reduced(call.trace(), each, other),
        }
    }
}

fn cross_entropy<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    let axis = i64::from(call.dims(x).len() > 1);
    let logs = log_softmax(call.trace(), x, axis)?;
    if call.dtype_of(target).is_float() {
        return of_probabilities(call, logs, target, axis);
    }
    let smoothing = call.float("label_smoothing")?;
    let likelihood = Likelihood::of(call, logs)?;
    let mut made = likelihood.loss(call)?;
    if smoothing != 0.0 {
        let classes = call.dims(x)[axis as usize] as f64;
        let weighted = weighted(call, logs, likelihood.weight, axis)?;
        let trace = call.trace();
        let sum = reduce(trace, ReduceOp::Sum, weighted, &[axis], false)?;
        let minus = unary(trace, UnaryOp::Negate, sum)?;
        let zero = number_like(trace, minus, 0.0)?;
        let each = select(trace, likelihood.is_kept, minus, zero)?;
        let smooth = likelihood.reduced(call, each)?;
        let trace = call.trace();
        let (own, all) = (scaled(trace, made, 1.0 - smoothing)?, scaled(trace, smooth, smoothing / classes)?);
        made = binary(trace, BinaryOp::Add, own, all)?;
    }
    Ok(call.made(made))
}

/// Logarithms times the weights of their classes.
fn weighted(call: &mut Call, logs: NodeId, weight: Option<NodeId>, axis: i64) -> Result<NodeId> {
    let Some(weight) = weight else { return Ok(logs) };
    let mut dims = vec![1; call.dims(logs).len()];
    dims[axis as usize] = call.dims(logs)[axis as usize];
    let trace = call.trace();
    let weight = reshape(trace, weight, &dims)?;
    binary(trace, BinaryOp::Multiply, logs, weight)
}

/// The cross entropy of targets that are probabilities.
fn of_probabilities<'p>(call: &mut Call<'_, 'p>, logs: NodeId, target: NodeId, axis: i64) -> Result<Value<'p>> {
    let (dims, smoothing) = (call.dims(logs), call.float("label_smoothing")?);
    if call.dims(target) != dims {
        return Err(error!(InvalidArgument, "targets {} for {}", call.ty(target), call.ty(logs)));
    }
    let (classes, weight) = (dims[axis as usize], call.optional_tensor("weight")?);
    let logs = weighted(call, logs, weight, axis)?;
    let trace = call.trace();
    let mut target = target;
    if smoothing != 0.0 {
        let own = scaled(trace, target, 1.0 - smoothing)?;
        let even = number_like(trace, own, smoothing / classes as f64)?;
        target = binary(trace, BinaryOp::Add, own, even)?;
    }
    let product = binary(trace, BinaryOp::Multiply, logs, target)?;
    let sum = reduce(trace, ReduceOp::Sum, product, &[axis], false)?;
    let each = unary(trace, UnaryOp::Negate, sum)?;
    finished(call, each)
}

/// An argument of scores `[rows, classes]`; scores `[classes]` become one row.
fn rows_of(call: &mut Call, name: &str) -> Result<NodeId> {
    let x = call.tensor(name)?;
    match call.dims(x)[..] {
        [_, _] => Ok(x),
        [classes] => reshape(call.trace(), x, &[1, classes]),
        _ => Err(error!(InvalidArgument, "its argument {name} is {}; want rows of classes", call.ty(x))),
    }
}

/// Reduces the losses of rows by the argument `reduction`. Scores without an axis of rows have one loss, of rank 0.
fn of_rows<'p>(call: &mut Call<'_, 'p>, losses: NodeId, name: &str) -> Result<Value<'p>> {
    let (x, reduction) = (call.tensor(name)?, call.int("reduction")?);
    let is_single = call.dims(x).len() < 2;
    let trace = call.trace();
    let each = if is_single { reshape(trace, losses, &[])? } else { losses };
    let made = reduced(trace, each, reduction)?;
    Ok(call.made(made))
}

/// The mean over classes of `max(0, margin - x[target] + x[class])^p`, without the target itself.
fn multi_margin<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, target) = (rows_of(call, "self")?, call.tensor("target")?);
    let (p, margin, weight) = (call.float("p")?, call.float("margin")?, call.optional_tensor("weight")?);
    call.refuse_unless("p", p == 1.0 || p == 2.0)?;
    let (rows, classes) = (call.dims(x)[0], call.dims(x)[1]);
    let trace = call.trace();
    let target = reshape(trace, target, &[rows, 1])?;
    let right = take_along_axis(trace, x, target, 1)?;
    let places = iota(trace, &TensorType::new(DType::S64, &[rows, classes]), 1)?;
    let target = convert(trace, target, DType::S64);
    let mut each = record(trace, [x, right, places, target], |[x, right, places, target]| {
        let near = x - right + margin;
        // At the margin the derivative is 0, as in PyTorch.
        let near = (near.gt(0.0) & places.ne(target)).select(near, 0.0);
        if p == 2.0 { near * near } else { near }
    })?;
    if let Some(weight) = weight {
        let weights = take(trace, weight, target, 0)?;
        each = binary(trace, BinaryOp::Multiply, each, weights)?;
    }
    let sums = reduce(trace, ReduceOp::Sum, each, &[1], false)?;
    let losses = record(trace, [sums], |[sums]| sums / classes as f64)?;
    of_rows(call, losses, "self")
}

/// The mean over classes of what the wrong classes come nearer to each right one than by 1. The right classes of a row
/// are listed up to the first -1.
fn multilabel_margin<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, target) = (rows_of(call, "self")?, rows_of(call, "target")?);
    let (rows, classes) = (call.dims(x)[0], call.dims(x)[1]);
    let trace = call.trace();
    let is_end = record(trace, [target], |[target]| target.lt(0).convert(DType::S64))?;
    let ends = cumulative(trace, ReduceOp::Sum, is_end, 1, false)?;
    let counts = record(trace, [ends], |[ends]| ends.eq(0))?;
    let places = record(trace, [target], |[target]| target.max(0))?;
    let right = take_along_axis(trace, x, places, 1)?;
    // Axes: rows, right classes, all classes.
    let all = TensorType::new(DType::S64, &[rows, classes, classes]);
    let numbers = iota(trace, &all, 2)?;
    let [right, counts, places] = [right, counts, places].map(|node| expand_dims(trace, node, &[-1]));
    let (right, counts, places) = (right?, counts?, places?);
    let same = record(trace, [numbers, places, counts], |[numbers, places, counts]| numbers.eq(places) & counts)?;
    let is_right = reduce(trace, ReduceOp::Any, same, &[1], true)?;
    let others = expand_dims(trace, x, &[1])?;
    let each = record(trace, [right, others, counts, is_right], |[right, others, counts, is_right]| {
        let near = others - right + 1.0;
        (near.gt(0.0) & counts & !is_right).select(near, 0.0)
    })?;
    let sums = reduce(trace, ReduceOp::Sum, each, &[1, 2], false)?;
    let losses = record(trace, [sums], |[sums]| sums / classes as f64)?;
    of_rows(call, losses, "self")
}
