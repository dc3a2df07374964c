//! Scaled dot product attention.

use crate::control::custom::stop_gradient;
use crate::creation::masks::diagonals;
use crate::definition::Composed;
use crate::elementwise::formula::{Expr, Formula, check_wide, widened};
use crate::infer::refuse;
use crate::linalg::dot_general::{DotAxes, dot_general};
use crate::shape::axes::{broadcast_to, reshape};
use base::error;
use base::error::Result;
use base::types::{DType, Dims, TensorType, broadcast};
use ir::{CompareOp, NodeId, ReduceOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] =
    &[Composed { name: "attention", function: "lxla_attention", dtypes: "floats, 8-bit floats" }];

const NAMES: [&str; 3] = ["query", "key", "value"];

/// Options of [`attention`].
#[derive(Clone, Copy, Default)]
pub struct AttentionOptions {
    /// Factor of the scores. Default: 1 / sqrt(width).
    pub scale: Option<f64>,
    /// Whether a row attends only to columns that are not after it, counted from the first of each.
    pub is_causal: bool,
}

/// Weights of values, before they are divided by their sums: so only one array of the size of the scores is kept for
/// derivatives.
pub struct AttentionWeights {
    /// The weights, `[..., heads, length of query, length of key]`.
    pub powers: NodeId,
    /// Sum of each row, and 1 for a row that attends to nothing.
    sums: NodeId,
    /// Which rows attend to nothing. None: each row attends to all columns, of which there is at least one.
    is_empty: Option<NodeId>,
    dtype: DType,
    /// Whether the operands have no axis of heads.
    is_flat: bool,
}

/// Records the attention of `query` to `key`, and the mean of `value` by it.
pub fn attention(
    trace: &mut Trace,
    operands: [NodeId; 3],
    mask: Option<NodeId>,
    options: AttentionOptions,
) -> Result<NodeId> {
    let weights = attention_weights(trace, operands, mask, options)?;
    attended(trace, &weights, operands[2])
}

/// Records the weights of [`attention`]. `operands`: query, key and value.
pub fn attention_weights(
    trace: &mut Trace,
    operands: [NodeId; 3],
    mask: Option<NodeId>,
    options: AttentionOptions,
) -> Result<AttentionWeights> {
    let types = operands.map(|node| trace.ty(node));
    let (dtype, dims) = infer(&types)?;
    let wide = widened(dtype);
    let scale = scale_of(trace, operands[0], options.scale)?;
    let is_additive = mask.map(|mask| check_mask(trace, mask, dtype, &dims)).transpose()?;
    let [rows, columns] = [dims[dims.len() - 2], dims[dims.len() - 1]];
    let causal = match options.is_causal {
        true => Some(diagonals(trace, rows, columns, CompareOp::Le, 0)?),
        false => None,
    };
    let f = Formula::new(trace);
    let [query, key, _] = operands.map(|node| with_heads(f.operand(node)));
    let query = with_all_heads(query, &dims);
    let mut scores = product(factor(query, dtype), factor(key, dtype), -1, wide) * scale;
    if let Some(mask) = mask.map(|mask| f.operand(mask)) {
        scores = match is_additive {
            Some(true) => scores + mask.convert(wide),
            _ => mask.select(scores, f64::NEG_INFINITY),
        };
    }
    if let Some(causal) = causal {
        scores = f.operand(causal).select(scores, f64::NEG_INFINITY);
    }
    let last = [scores.ty().dims.len() as i64 - 1];
    let mut top = scores.reduce(ReduceOp::Max, &last, true).apply(stop_gradient);
    // Without a mask, a row whose scores are all -infinity is NaN, as a softmax.
    let is_masked = mask.is_some() || options.is_causal || columns == 0;
    let is_empty = is_masked.then(|| top.eq(f64::NEG_INFINITY));
    if let Some(is_empty) = is_empty {
        top = is_empty.select(0.0, top);
    }
    let powers = (scores - top).exp();
    let mut sums = powers.reduce(ReduceOp::Sum, &last, true);
    if let Some(is_empty) = is_empty {
        sums = is_empty.select(1.0, sums);
    }
    let [powers, sums, is_empty] = f.finish_all([powers, sums, is_empty.unwrap_or(sums)])?;
    let is_flat = types.iter().all(|ty| ty.dims.len() == 2);
    Ok(AttentionWeights { powers, sums, is_empty: is_masked.then_some(is_empty), dtype, is_flat })
}

/// Records the mean of values by weights.
pub fn attended(trace: &mut Trace, weights: &AttentionWeights, value: NodeId) -> Result<NodeId> {
    let f = Formula::new(trace);
    let value = with_heads(f.operand(value));
    let dtype = weights.dtype;
    let sum = product(factor(f.operand(weights.powers), dtype), factor(value, dtype), -2, widened(dtype));
    let mut mean = sum / f.operand(weights.sums);
    if let Some(is_empty) = weights.is_empty {
        mean = f.operand(is_empty).select(0.0, mean);
    }
    let mean = mean.convert(dtype);
    let dims = mean.ty().dims;
    f.finish(if weights.is_flat { mean.apply(|trace, x| reshape(trace, x, &dims[1..])) } else { mean })
}

/// Returns the dtype of the result, and the dims of the scores: the axes before the heads, which broadcast, the heads,
/// the length of the query and the length of the key. Operands of two axes have no heads.
fn infer(types: &[TensorType; 3]) -> Result<(DType, Dims)> {
    for (name, ty) in NAMES.iter().zip(types) {
        if !ty.dtype.is_float() {
            return Err(refuse("attention", name, ty, "floats"));
        }
        if ty.dims.len() < 2 {
            return Err(refuse("attention", name, ty, "at least 2 axes, [..., heads, length, width]"));
        }
    }
    let [query, key, value] = types;
    let last = |ty: &TensorType, back: usize| ty.dims[ty.dims.len() - back];
    if last(query, 1) != last(key, 1) {
        let (of_query, of_key) = (last(query, 1), last(key, 1));
        return Err(error!(
            InvalidArgument,
            "key: it is {key}, of width {of_key}; query is {query}, of width {of_query}"
        ));
    }
    if last(key, 2) != last(value, 2) {
        let (of_key, of_value) = (last(key, 2), last(value, 2));
        return Err(error!(
            InvalidArgument,
            "value: it is {value}, of length {of_value}; key is {key}, of length {of_key}"
        ));
    }
    let all = || format!("query is {query}, key is {key} and value is {value}");
    let promoted = |lhs: DType, rhs: DType| lhs.promote(rhs).map_err(|e| e.context(all()));
    let dtype = promoted(promoted(query.dtype, key.dtype)?, value.dtype)?;
    let leading = types.iter().try_fold(Dims::new(), |dims, ty| broadcast(&dims, leading_of(&ty.dims)));
    let mut dims =
        leading.ok_or_else(|| error!(InvalidArgument, "{}: the axes before heads do not broadcast", all()))?;
    if types.iter().any(|ty| ty.dims.len() > 2) {
        dims.push(common_heads(types)?);
    }
    dims.extend([last(query, 2), last(key, 2)]);
    Ok((dtype, dims))
}

/// The axes before the heads.
fn leading_of(dims: &[i64]) -> &[i64] {
    &dims[..dims.len().saturating_sub(3)]
}

/// Returns the number of heads of the result. The heads of key and of value divide the heads of the query, unless the
/// query has one head, which broadcasts.
fn common_heads(types: &[TensorType; 3]) -> Result<i64> {
    let of = |ty: &TensorType| if ty.dims.len() > 2 { ty.dims[ty.dims.len() - 3] } else { 1 };
    let [query, key, value] = [0, 1, 2].map(|i| of(&types[i]));
    let heads = if query == 1 && key > 0 { key.max(value) } else { query };
    for (i, own) in [(1, key), (2, value)] {
        let fits = own == heads || (own > 0 && heads % own == 0);
        if !fits {
            let (name, ty, query) = (NAMES[i], &types[i], &types[0]);
            return Err(error!(
                InvalidArgument,
                "{name}: it is {ty}, of {own} heads, which do not divide the {heads} heads of the result; query is \
                 {query}"
            ));
        }
    }
    Ok(heads)
}

/// The factor of the scores, which is representable in their dtype.
fn scale_of(trace: &Trace, query: NodeId, given: Option<f64>) -> Result<f64> {
    let width = *trace.ty(query).dims.last().expect("a query has axes");
    let scale = given.unwrap_or_else(|| 1.0 / (width.max(1) as f64).sqrt());
    if !scale.is_finite() {
        return Err(error!(InvalidArgument, "options.scale: {scale} given; want a finite number"));
    }
    check_wide("options.scale", trace, query, scale)?;
    Ok(scale)
}

/// Checks a mask for scores of these dims. Returns whether it is added, rather than the truth of attending.
fn check_mask(trace: &Trace, mask: NodeId, dtype: DType, dims: &[i64]) -> Result<bool> {
    let (ty, wide) = (trace.ty(mask), widened(dtype));
    if ty.dtype != DType::Pred && ty.dtype != dtype && ty.dtype != wide {
        let or = if wide == dtype { String::new() } else { format!(", {wide}") };
        return Err(error!(InvalidArgument, "mask: it is {ty}; want pred, {dtype}{or}"));
    }
    if broadcast(&ty.dims, dims).as_deref() != Some(dims) {
        let scores = TensorType::new(ty.dtype, dims);
        return Err(error!(InvalidArgument, "mask: it is {ty}, which does not broadcast to the scores, {scores}"));
    }
    Ok(ty.dtype != DType::Pred)
}

/// The expression with an axis of heads.
fn with_heads(x: Expr) -> Expr {
    let dims = x.ty().dims;
    if dims.len() > 2 { x } else { x.apply(|trace, x| reshape(trace, x, &[1, dims[0], dims[1]])) }
}

/// A query that has as many heads as the scores, which have these dims.
fn with_all_heads<'f>(query: Expr<'f>, dims: &[i64]) -> Expr<'f> {
    let mut own = query.ty().dims;
    let at = own.len() - 3;
    own[at] = if dims.len() > 2 { dims[dims.len() - 3] } else { 1 };
    query.apply(|trace, x| broadcast_to(trace, x, &own))
}

/// An operand of a product. 16-bit floats stay narrow: the product widens them, as matrix units do.
fn factor(x: Expr, dtype: DType) -> Expr {
    x.convert(if dtype.is_float8() { DType::F32 } else { dtype })
}

/// Records the product of `lhs`, `[..., heads, rows, n]`, with `rhs`, whose axis `contracted` of size n counts from the
/// end. Rows of heads that share a head of `rhs` become rows of one matrix, so that `rhs` is not repeated.
fn product<'f>(lhs: Expr<'f>, rhs: Expr<'f>, contracted: i64, wide: DType) -> Expr<'f> {
    let (l, r) = (lhs.ty().dims, rhs.ty().dims);
    let [.., heads, rows, n] = l[..] else { return lhs };
    let of_rhs = r[r.len() - 3];
    let group = if of_rhs == heads { 1 } else { heads / of_rhs.max(1) };
    let Some(leading) = broadcast(leading_of(&l), leading_of(&r)) else { return lhs };
    let dims = |rest: &[i64]| [&leading[..], rest].concat();
    let lhs = lhs
        .apply(|trace, x| broadcast_to(trace, x, &dims(&[heads, rows, n])))
        .apply(|trace, x| reshape(trace, x, &dims(&[of_rhs, group * rows, n])));
    let rhs = rhs.apply(|trace, x| broadcast_to(trace, x, &dims(&r[r.len() - 3..])));
    let batching: Vec<i64> = (0..=leading.len() as i64).collect();
    let rank = leading.len() as i64 + 3;
    let axes = DotAxes {
        lhs_batching: &batching,
        rhs_batching: &batching,
        lhs_contracting: &[rank - 1],
        rhs_contracting: &[rank + contracted],
    };
    let made = lhs.apply_with(rhs, |trace, lhs, rhs| dot_general(trace, lhs, rhs, &axes, Some(wide)));
    let free = r[if contracted == -1 { r.len() - 2 } else { r.len() - 1 }];
    made.apply(|trace, x| reshape(trace, x, &dims(&[heads, rows, free])))
}
