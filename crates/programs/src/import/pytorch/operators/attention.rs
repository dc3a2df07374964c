//! Attention. A row that may attend to nothing is 0.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::random::dropped;
use base::error;
use base::error::Result;
use base::types::DType;
use ir::NodeId;
use ops::elementwise::convert;
use ops::nn::{AttentionOptions, attended, attention_weights};

pub(super) const TABLE: &[Operator] = &[operator(
    &["scaled_dot_product_attention.default"],
    "query key value attn_mask=none dropout_p=0.0 is_causal=false scale=none enable_gqa=false",
    attention,
)];

fn attention<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let [query, key, value] = operands(call)?;
    let mask = mask(call, query)?;
    let options = AttentionOptions { scale: call.optional_float("scale")?, is_causal: call.bool("is_causal")? };
    if mask.is_some() && options.is_causal {
        return Err(error!(InvalidArgument, "both attn_mask and is_causal are given"));
    }
    let mut weights = attention_weights(call.trace(), [query, key, value], mask, options)?;
    let dropout = call.float("dropout_p")?;
    if dropout > 0.0 {
        weights.powers = dropped(call, weights.powers, dropout)?.0;
    }
    let made = attended(call.trace(), &weights, value)?;
    Ok(call.made(made))
}

/// The mask, if there is one. A mask that is added may have any dtype of floats.
fn mask(call: &mut Call, query: NodeId) -> Result<Option<NodeId>> {
    let wide = if call.dtype_of(query) == DType::F64 { DType::F64 } else { DType::F32 };
    let mask = call.optional_tensor("attn_mask")?;
    Ok(mask.map(|mask| if call.dtype_of(mask) == DType::Pred { mask } else { convert(call.trace(), mask, wide) }))
}

/// Query, key and value. Without `enable_gqa`, heads of keys do not serve groups.
fn operands(call: &mut Call) -> Result<[NodeId; 3]> {
    let operands = [call.tensor("query")?, call.tensor("key")?, call.tensor("value")?];
    let heads = operands.map(|x| call.dims(x).iter().rev().nth(2).copied().unwrap_or(1));
    let are_grouped = heads[1..].iter().any(|&n| n != 1 && heads[0] != 1 && n != heads[0]);
    if are_grouped && !call.bool("enable_gqa")? {
        return Err(error!(InvalidArgument, "{} heads of queries for {} of keys", heads[0], heads[1]));
    }
    Ok(operands)
}
