//! Attention. A row that may attend to nothing is 0.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::elementwise::{number_like, scaled};
use super::products::multiplied;
use super::random::dropped;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, Trace};
use ops::creation::{full, tril};
use ops::elementwise::{binary, compare_scalar, convert, select};
use ops::nn::softmax;
use ops::reduction::reduce;
use ops::shape::{broadcast_to, repeat, transpose};

pub(super) const TABLE: &[Operator] = &[operator(
    &["scaled_dot_product_attention.default"],
    "query key value attn_mask=none dropout_p=0.0 is_causal=false scale=none enable_gqa=false",
    attention,
)];

/// Exchanges the last two axes.
fn turned(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let rank = trace.ty(x).dims.len();
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes.swap(rank - 2, rank - 1);
    transpose(trace, x, &axes)
}

fn attention<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (query, mut key, mut value) = (call.tensor("query")?, call.tensor("key")?, call.tensor("value")?);
    let dims = call.dims(query);
    if dims.len() < 2 || call.dims(key).len() < 2 || call.dims(value).len() < 2 {
        return Err(error!(InvalidArgument, "a query of {} axes", dims.len()));
    }
    if call.bool("enable_gqa")? {
        let heads = |x: NodeId| call.dims(x).iter().rev().nth(2).copied().unwrap_or(1).max(1);
        let (wanted, of_key, of_value) = (heads(query), heads(key), heads(value));
        if wanted % of_key != 0 || wanted % of_value != 0 {
            return Err(error!(InvalidArgument, "{wanted} heads of queries for {of_key} of keys"));
        }
        key = repeat(call.trace(), key, wanted / of_key, -3)?;
        value = repeat(call.trace(), value, wanted / of_value, -3)?;
    }
    let width = dims[dims.len() - 1] as f64;
    let scale = call.optional_float("scale")?.unwrap_or(1.0 / width.sqrt());
    let keys = turned(call.trace(), key)?;
    let scores = multiplied(call, query, keys)?;
    let dtype = call.dtype_of(scores);
    let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
    let trace = call.trace();
    let mut scores = convert(trace, scores, wide);
    scores = scaled(trace, scores, scale)?;
    let masked = mask(call, scores)?;
    let mut weights = match masked {
        None => softmax(call.trace(), scores, -1)?,
        Some(scores) => safe_softmax(call.trace(), scores)?,
    };
    weights = convert(call.trace(), weights, dtype);
    let dropout = call.float("dropout_p")?;
    if dropout > 0.0 {
        weights = dropped(call, weights, dropout)?.0;
    }
    let made = multiplied(call, weights, value)?;
    Ok(call.made(made))
}

/// The scores with -infinity, or what a mask adds; None if nothing is masked.
fn mask(call: &mut Call, scores: NodeId) -> Result<Option<NodeId>> {
    let mask = call.optional_tensor("attn_mask")?;
    let causal = call.bool("is_causal")?;
    let dims = call.dims(scores);
    let trace = call.trace();
    let lowest = number_like(trace, scores, f64::NEG_INFINITY)?;
    let attended = match (mask, causal) {
        (None, false) => return Ok(None),
        (Some(_), true) => return Err(error!(InvalidArgument, "both attn_mask and is_causal are given")),
        (Some(mask), _) if trace.node(mask).dtype != DType::Pred => {
            let mask = convert(trace, mask, trace.node(scores).dtype);
            return binary(trace, BinaryOp::Add, scores, mask).map(Some);
        }
        (Some(mask), _) => mask,
        (None, true) => {
            let square = TensorType::new(DType::Pred, &dims[dims.len() - 2..]);
            let all = full(trace, &square, ScalarValue::Signed(1))?;
            tril(trace, all, 0)?
        }
    };
    select(trace, attended, scores, lowest).map(Some)
}

/// A softmax whose rows of -infinity are 0.
fn safe_softmax(trace: &mut Trace, scores: NodeId) -> Result<NodeId> {
    let rank = trace.ty(scores).dims.len() as i64;
    let largest = reduce(trace, ReduceOp::Max, scores, &[rank - 1], true)?;
    let is_empty = compare_scalar(trace, CompareOp::Eq, largest, ScalarValue::Float(f64::NEG_INFINITY), false)?;
    let zero = number_like(trace, scores, 0.0)?;
    let dims = trace.ty(scores).dims;
    let is_empty = broadcast_to(trace, is_empty, &dims)?;
    let finite = select(trace, is_empty, zero, scores)?;
    let weights = softmax(trace, finite, -1)?;
    select(trace, is_empty, zero, weights)
}
