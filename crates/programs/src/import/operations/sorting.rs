//! Sorts and random bits.

use super::reducers::comparator;
use super::{Call, Results, applied};
use base::error;
use base::error::Result;
use base::types::TensorType;
use ir::NodeId;
use ops::random::RngAlgorithm;

/// `stablehlo.sort` of one or several arrays.
pub fn sort(mut call: Call) -> Result<Results> {
    let arrays = call.operands;
    let axis = if call.attributes.get("dimension").is_some() { call.attributes.integer("dimension")? } else { -1 };
    let stable = call.attributes.bool("is_stable", false)?;
    let twice: Vec<NodeId> = arrays.iter().flat_map(|&array| [array; 2]).collect();
    let order = comparator(call.scalar_region(0, &twice)?)?;
    ops::sorting::sort(call.trace(), &applied(&order), arrays, axis, stable).map(Results::from_vec)
}

/// `stablehlo.rng_bit_generator`.
pub fn rng_bit_generator(mut call: Call) -> Result<Results> {
    let ([state], ty) = (call.exactly()?, call.stated_type(1)?);
    random_bits(&mut call, state, &ty)
}

/// Records random bits of a type. The default algorithm is the one that XLA takes on CPUs and GPUs.
pub fn random_bits(call: &mut Call, state: NodeId, ty: &TensorType) -> Result<Results> {
    let algorithm = match call.attributes.keyword("rng_algorithm")? {
        "DEFAULT" | "PHILOX" => RngAlgorithm::Philox,
        "THREE_FRY" => RngAlgorithm::ThreeFry,
        other => return Err(error!(InvalidArgument, "attribute rng_algorithm: {other} given")),
    };
    ops::random::rng_bit_generator(call.trace(), algorithm, state, ty).map(Results::from_iter)
}
