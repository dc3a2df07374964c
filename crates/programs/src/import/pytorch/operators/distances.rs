//! Distances, similarities, and losses of them.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::activations::complement;
use super::compositions::triangle_places;
use super::elementwise::number_like;
use super::reductions::{norm_over, reduced};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType, normalize_axis};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, ScatterOp, Trace, UnaryOp};
use ops::control::stop_gradient;
use ops::creation::full;
use ops::elementwise::formula::record;
use ops::elementwise::{binary, compare_scalar, select, unary};
use ops::indexing::{index_combine, take};
use ops::reduction::reduce;
use ops::shape::{expand_dims, reshape};

pub(super) const TABLE: &[Operator] = &[
    operator(&["kl_div.default"], "self target reduction=1 log_target=false", divergence),
    operator(&["binary_cross_entropy.default"], "self target weight=none reduction=1", cross_entropy_of_two),
    operator(&["poisson_nll_loss.default"], "input target log_input full eps reduction", poisson),
    operator(&["margin_ranking_loss.default"], "input1 input2 target margin=0.0 reduction=1", |call| {
        let [a, b, sign] = call.promoted(["input1", "input2", "target"], false)?;
        let margin = call.float("margin")?;
        let trace = call.trace();
        let difference = binary(trace, BinaryOp::Subtract, a, b)?;
        let minus = unary(trace, UnaryOp::Negate, sign)?;
        let product = binary(trace, BinaryOp::Multiply, minus, difference)?;
        let each = above(trace, product, margin)?;
        finished(call, each)
    }),
    operator(&["cosine_similarity.default"], "x1 x2 dim=1 eps=1e-08", |call| {
        let [a, b] = call.promoted(["x1", "x2"], true)?;
        let (rank, floor) = (call.dims(a).len().max(call.dims(b).len()), call.float("eps")?);
        let axis = normalize_axis("dim", call.int("dim")?, rank)? as i64;
        let made = cosine(call.trace(), a, b, axis - rank as i64, floor)?;
        Ok(call.made(made))
    }),
    operator(&["cdist.default", "_cdist_forward.default"], "x1 x2 p=2 compute_mode=none", |call| {
        let [a, b] = call.promoted(["x1", "x2"], true)?;
        let p = call.float("p")?;
        let trace = call.trace();
        let (a, b) = (expand_dims(trace, a, &[-2])?, expand_dims(trace, b, &[-3])?);
        let difference = binary(trace, BinaryOp::Subtract, a, b)?;
        let made = norm_over(trace, difference, p, &[-1], false)?;
        Ok(call.made(made))
    }),
    operator(&["pdist.default", "_pdist_forward.default"], "self p=2", |call| {
        let (x, p) = (call.floats("self")?, call.float("p")?);
        let &[count, _] = &call.dims(x)[..] else {
            return Err(error!(InvalidArgument, "distances within {}; want 2 axes", call.ty(x)));
        };
        let trace = call.trace();
        let places = triangle_places(trace, [count, count], 1, true)?;
        let (a, b) = (take(trace, x, places[0], 0)?, take(trace, x, places[1], 0)?);
        let difference = binary(trace, BinaryOp::Subtract, a, b)?;
        let made = norm_over(trace, difference, p, &[-1], false)?;
        Ok(call.made(made))
    }),
    operator(&["dist.default"], "self other p=2", |call| {
        let ([a, b], p) = (call.promoted(["self", "other"], true)?, call.float("p")?);
        let trace = call.trace();
        let difference = binary(trace, BinaryOp::Subtract, a, b)?;
        let count = trace.ty(difference).dims.iter().product();
        let flat = reshape(trace, difference, &[count])?;
        let made = norm_over(trace, flat, p, &[-1], false)?;
        Ok(call.made(made))
    }),
    operator(&["renorm.default"], "self p dim maxnorm", |call| {
        let (x, p, most) = (call.floats("self")?, call.float("p")?, call.float("maxnorm")?);
        let rank = call.dims(x).len();
        let axis = call.axis("dim", rank)? as i64;
        let axes: Vec<i64> = (0..rank as i64).filter(|&other| other != axis).collect();
        let trace = call.trace();
        let size = norm_over(trace, x, p, &axes, true)?;
        let made =
            record(trace, [x, size], |[x, size]| x * size.gt(most).select(size.number(most) / (size + 1e-7), 1.0))?;
        Ok(call.made(made))
    }),
    operator(&["embedding_renorm.default"], "self indices max_norm norm_type", |call| {
        let (x, at) = (call.tensor("self")?, call.tensor("indices")?);
        let (most, p) = (call.float("max_norm")?, call.float("norm_type")?);
        let &[rows, _] = &call.dims(x)[..] else {
            return Err(error!(InvalidArgument, "a table of {}; want 2 axes", call.ty(x)));
        };
        let count = call.dims(at).iter().product();
        let trace = call.trace();
        let at = reshape(trace, at, &[count])?;
        let unused = full(trace, &TensorType::new(DType::Pred, &[rows]), ScalarValue::Signed(0))?;
        let used = full(trace, &TensorType::new(DType::Pred, &[count]), ScalarValue::Signed(1))?;
        let is_used = index_combine(trace, ScatterOp::Copy, unused, 0, at, used)?;
        let is_used = expand_dims(trace, is_used, &[1])?;
        let size = norm_over(trace, x, p, &[1], true)?;
        let made = record(trace, [x, size, is_used], |[x, size, is_used]| {
            (is_used & size.gt(most)).select(x * (size.number(most) / (size + 1e-7)), x)
        })?;
        Ok(call.made(made))
    }),
    operator(&["pairwise_distance.default"], "x1 x2 p=2 eps=1e-06 keepdim=false", |call| {
        let [a, b] = call.promoted(["x1", "x2"], true)?;
        let (p, shift, keep) = (call.float("p")?, call.float("eps")?, call.bool("keepdim")?);
        let trace = call.trace();
        let made = distance_by(trace, [a, b], shift, p, keep)?;
        Ok(call.made(made))
    }),
    operator(
        &["triplet_margin_loss.default"],
        "anchor positive negative margin=1.0 p=2 eps=1e-06 swap=false reduction=1",
        |call| {
            let [anchor, positive, negative] = call.promoted(["anchor", "positive", "negative"], true)?;
            let (p, shift, margin, swap) =
                (call.float("p")?, call.float("eps")?, call.float("margin")?, call.bool("swap")?);
            let trace = call.trace();
            let near = distance_by(trace, [anchor, positive], shift, p, false)?;
            let mut far = distance_by(trace, [anchor, negative], shift, p, false)?;
            if swap {
                let other = distance_by(trace, [positive, negative], shift, p, false)?;
                far = binary(trace, BinaryOp::Minimum, far, other)?;
            }
            let difference = binary(trace, BinaryOp::Subtract, near, far)?;
            let each = above(trace, difference, margin)?;
            finished(call, each)
        },
    ),
    operator(&["soft_margin_loss.default"], "self target reduction=1", |call| {
        let [x, target] = call.promoted(["self", "target"], false)?;
        let each = record(call.trace(), [x, target], |[x, target]| (-(target * x)).exp().log_plus_one())?;
        let reduction = call.int("reduction")?;
        let made = reduced(call.trace(), each, reduction)?;
        Ok(call.made(made))
    }),
    operator(&["hinge_embedding_loss.default"], "self target margin=1 reduction=1", |call| {
        let ([x, target], margin) = (call.promoted(["self", "target"], false)?, call.float("margin")?);
        let each = record(call.trace(), [x, target], |[x, target]| {
            let rest = margin - x;
            // At the margin the derivative is 0, as in PyTorch.
            let far = rest.le(0.0).select(0.0, rest);
            target.ne(1.0).select(far, 0.0) + target.ne(-1.0).select(x, 0.0)
        })?;
        let reduction = call.int("reduction")?;
        let made = reduced(call.trace(), each, reduction)?;
        Ok(call.made(made))
    }),
    operator(&["cosine_embedding_loss.default"], "input1 input2 target margin=0 reduction=1", |call| {
        let [a, b] = call.promoted(["input1", "input2"], false)?;
        let (target, margin) = (call.tensor("target")?, call.float("margin")?);
        let last = call.dims(a).len() as i64 - 1;
        let each = record(call.trace(), [a, b, target], |[a, b, target]| {
            let [dot, of_a, of_b] = [a * b, a * a, b * b].map(|x| x.reduce(ReduceOp::Sum, &[last], false));
            let cosine = dot / ((of_a + 1e-12) * (of_b + 1e-12)).sqrt();
            let rest = cosine - margin;
            let apart = rest.le(0.0).select(0.0, rest);
            let unlike = target.eq(-1.0).select(apart, 0.0);
            target.eq(1.0).select(1.0 - cosine, unlike)
        })?;
        let reduction = call.int("reduction")?;
        let made = reduced(call.trace(), each, reduction)?;
        Ok(call.made(made))
    }),
];

fn finished<'p>(call: &mut Call<'_, 'p>, each: NodeId) -> Result<Value<'p>> {
    let reduction = call.int("reduction")?;
    let made = reduced(call.trace(), each, reduction)?;
    Ok(call.made(made))
}

/// `max(x + margin, 0)`; the derivative at 0 is 0.
fn above(trace: &mut Trace, x: NodeId, margin: f64) -> Result<NodeId> {
    let margin = number_like(trace, x, margin)?;
    let moved = binary(trace, BinaryOp::Add, x, margin)?;
    let is_below = compare_scalar(trace, CompareOp::Le, moved, ScalarValue::Float(0.0), false)?;
    let zero = number_like(trace, moved, 0.0)?;
    select(trace, is_below, zero, moved)
}

/// `target (log(target) - self)`, with 0 where the target is 0; `e^target (target - self)` of a logarithm.
fn divergence<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let [x, target] = call.promoted(["self", "target"], true)?;
    let is_log = call.bool("log_target")?;
    let trace = call.trace();
    let each = match is_log {
        true => {
            let (factor, difference) =
                (unary(trace, UnaryOp::Exponential, target)?, binary(trace, BinaryOp::Subtract, target, x)?);
            binary(trace, BinaryOp::Multiply, factor, difference)?
        }
        false => {
            let is_zero = compare_scalar(trace, CompareOp::Eq, target, ScalarValue::Float(0.0), false)?;
            let (one, zero) = (number_like(trace, target, 1.0)?, number_like(trace, target, 0.0)?);
            let safe = select(trace, is_zero, one, target)?;
            let log = unary(trace, UnaryOp::Log, safe)?;
            let product = binary(trace, BinaryOp::Multiply, safe, log)?;
            let product = select(trace, is_zero, zero, product)?;
            let cross = binary(trace, BinaryOp::Multiply, target, x)?;
            binary(trace, BinaryOp::Subtract, product, cross)?
        }
    };
    finished(call, each)
}

/// `-(target log(self) + (1 - target) log(1 - self))`, with logarithms of at least -100. The slope is
/// `(self - target) / max(self (1 - self), 1e-12)`, which is finite at 0 and 1; f16 has no 1e-12, and takes 6e-8.
fn cross_entropy_of_two<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let [x, target] = call.promoted(["self", "target"], true)?;
    let weight = call.optional_tensor("weight")?;
    let trace = call.trace();
    let (least, most) = if trace.node(x).dtype == DType::F16 { (6e-8, 65504.0) } else { (1e-12, 1e12) };
    let product = record(trace, [x], |[x]| x * (1.0 - x))?;
    let is_limit = compare_scalar(trace, CompareOp::Lt, product, ScalarValue::Float(least), false)?;
    // No infinite slope is multiplied by 0.
    let half = number_like(trace, x, 0.5)?;
    let inside = select(trace, is_limit, half, x)?;
    let regular = entropy_of_two(trace, inside, target)?;
    let fixed = stop_gradient(trace, x)?;
    let at_limit = entropy_of_two(trace, fixed, target)?;
    let fixed_target = stop_gradient(trace, target)?;
    let line = record(trace, [x, fixed, fixed_target], |[x, fixed, target]| (x - fixed) * ((fixed - target) * most))?;
    let at_limit = binary(trace, BinaryOp::Add, at_limit, line)?;
    let mut each = select(trace, is_limit, at_limit, regular)?;
    if let Some(weight) = weight {
        each = binary(trace, BinaryOp::Multiply, each, weight)?;
    }
    finished(call, each)
}

fn entropy_of_two(trace: &mut Trace, x: NodeId, target: NodeId) -> Result<NodeId> {
    let log = |trace: &mut Trace, p: NodeId| -> Result<NodeId> {
        let log = unary(trace, UnaryOp::Log, p)?;
        let is_low = compare_scalar(trace, CompareOp::Lt, log, ScalarValue::Float(-100.0), false)?;
        let least = number_like(trace, log, -100.0)?;
        select(trace, is_low, least, log)
    };
    let other = complement(trace, x)?;
    let (yes, no) = (log(trace, x)?, log(trace, other)?);
    record(trace, [target, yes, no], |[target, yes, no]| -(target * yes + (1.0 - target) * no))
}

/// `e^input - target input`, or `input - target log(input + eps)`.
fn poisson<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let [x, target] = call.promoted(["input", "target"], true)?;
    let (is_log, full, shift) = (call.bool("log_input")?, call.bool("full")?, call.float("eps")?);
    let trace = call.trace();
    let (rate, log) = match is_log {
        true => (unary(trace, UnaryOp::Exponential, x)?, x),
        false => {
            let shift = number_like(trace, x, shift)?;
            let moved = binary(trace, BinaryOp::Add, x, shift)?;
            (x, unary(trace, UnaryOp::Log, moved)?)
        }
    };
    let product = binary(trace, BinaryOp::Multiply, target, log)?;
    let mut each = binary(trace, BinaryOp::Subtract, rate, product)?;
    if full {
        // Stirling's approximation of the logarithm of the factorial.
        each = record(trace, [each, target], |[each, target]| {
            let is_large = target.gt(1.0);
            let count = is_large.select(target, 1.0);
            let term = count * count.log() - count + (count * (2.0 * std::f64::consts::PI)).log() * 0.5;
            each + is_large.select(term, 0.0)
        })?;
    }
    finished(call, each)
}

/// The sum of products over an axis by the product of both norms, of which each is at least `floor`.
fn cosine(trace: &mut Trace, a: NodeId, b: NodeId, axis: i64, floor: f64) -> Result<NodeId> {
    let unit = |trace: &mut Trace, x: NodeId| -> Result<NodeId> {
        let squares = binary(trace, BinaryOp::Multiply, x, x)?;
        let sum = reduce(trace, ReduceOp::Sum, squares, &[axis], true)?;
        // Below the floor the norm does not count; its derivative neither.
        let least = number_like(trace, sum, floor * floor)?;
        let is_low = compare_scalar(trace, CompareOp::Lt, sum, ScalarValue::Float(floor * floor), false)?;
        let sum = select(trace, is_low, least, sum)?;
        let norm = unary(trace, UnaryOp::Sqrt, sum)?;
        binary(trace, BinaryOp::Divide, x, norm)
    };
    let (a, b) = (unit(trace, a)?, unit(trace, b)?);
    let product = binary(trace, BinaryOp::Multiply, a, b)?;
    reduce(trace, ReduceOp::Sum, product, &[axis], false)
}

/// Records the norm of `a - b + shift` over the last axis. The derivative of the norm at 0 is 0.
fn distance_by(trace: &mut Trace, [a, b]: [NodeId; 2], shift: f64, p: f64, keep: bool) -> Result<NodeId> {
    let difference = binary(trace, BinaryOp::Subtract, a, b)?;
    if trace.ty(difference).dims.is_empty() {
        return Err(error!(Unimplemented, "a distance of numbers"));
    }
    let shift = number_like(trace, difference, shift)?;
    let moved = binary(trace, BinaryOp::Add, difference, shift)?;
    norm_over(trace, moved, p, &[-1], keep)
}
