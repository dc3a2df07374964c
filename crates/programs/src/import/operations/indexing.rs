//! Reads and writes at computed indices.

use super::reducers::reducer;
use super::{Call, Results, applied, single};
use base::error;
use base::error::Result;
use ir::DimensionNumbers;
use ops::indexing::IndexHints;

/// `stablehlo.dynamic_slice`.
pub fn dynamic_slice(mut call: Call) -> Result<Results> {
    let ([x], starts) = call.at_least()?;
    let sizes = call.attributes.integers("slice_sizes")?;
    Ok(single(ops::indexing::dynamic_slice(call.trace(), x, starts, &sizes)?))
}

/// `stablehlo.dynamic_update_slice`.
pub fn dynamic_update_slice(mut call: Call) -> Result<Results> {
    let ([x, update], starts) = call.at_least()?;
    Ok(single(ops::indexing::dynamic_update_slice(call.trace(), x, update, starts)?))
}

/// `stablehlo.gather`.
pub fn gather(call: Call) -> Result<Results> {
    let sizes = call.attributes.integers("slice_sizes")?;
    gather_of(call, &sizes)
}

/// Records a gather of slices of these sizes. Operands after the indices (slice sizes) are ignored here.
pub fn gather_of(mut call: Call, sizes: &[i64]) -> Result<Results> {
    let ([x, indices], _) = call.at_least()?;
    let list = |name: &str| Ok::<_, base::error::Error>(call.attributes.optional_integers(name)?.unwrap_or_default());
    let numbers = DimensionNumbers {
        window_dims: list("offset_dims")?,
        collapsed_dims: list("collapsed_slice_dims")?,
        batching_dims: list("operand_batching_dims")?,
        indices_batching_dims: list("start_indices_batching_dims")?,
        index_map: list("start_index_map")?,
        index_vector_dim: call.attributes.integer("index_vector_dim")?,
    };
    let sorted = call.attributes.bool("indices_are_sorted", false)?;
    Ok(single(ops::indexing::gather(call.trace(), x, indices, &numbers, sizes, sorted)?))
}

/// `stablehlo.scatter` of one or several arrays.
pub fn scatter(mut call: Call) -> Result<Results> {
    let count = call.operands.len() / 2;
    if call.operands.len() != 2 * count + 1 || count == 0 {
        let given = call.operands.len();
        return Err(error!(InvalidArgument, "{given} operands; want arrays, the indices, and as many updates"));
    }
    let (arrays, rest) = call.operands.split_at(count);
    let (indices, updates) = (rest[0], &rest[1..]);
    let list = |name: &str| Ok::<_, base::error::Error>(call.attributes.optional_integers(name)?.unwrap_or_default());
    let numbers = DimensionNumbers {
        window_dims: list("update_window_dims")?,
        collapsed_dims: list("inserted_window_dims")?,
        batching_dims: list("input_batching_dims")?,
        indices_batching_dims: list("scatter_indices_batching_dims")?,
        index_map: list("scatter_dims_to_operand_dims")?,
        index_vector_dim: call.attributes.integer("index_vector_dim")?,
    };
    let promises = IndexHints {
        sorted: call.attributes.bool("indices_are_sorted", false)?,
        unique: call.attributes.bool("unique_indices", false)?,
    };
    let combiner = reducer(call.scalar_region(0, &[arrays, updates].concat())?)?;
    ops::indexing::scatter(call.trace(), &applied(&combiner), arrays, indices, updates, &numbers, promises)
        .map(Results::from_vec)
}

/// `stablehlo.torch_index_select`: slices of the axis `dim`, with leading axes in common with the indices.
pub fn torch_index_select(call: Call) -> Result<Results> {
    let [x, indices] = call.exactly()?;
    let [dim, batch_dims] = ["dim", "batch_dims"].map(|name| call.attributes.integer(name));
    let (dim, batch, rank) = (dim?, batch_dims?, call.ty(x).dims.len() as i64);
    let indices_rank = call.ty(indices).dims.len() as i64;
    if !(0..rank).contains(&dim) || !(0..=dim.min(indices_rank)).contains(&batch) {
        return Err(error!(InvalidArgument, "attributes dim, batch_dims: {dim} and {batch} given, for rank {rank}"));
    }
    let added = indices_rank - batch;
    let numbers = DimensionNumbers {
        window_dims: (batch..dim).chain(dim + added..rank - 1 + added).collect(),
        collapsed_dims: vec![dim],
        batching_dims: (0..batch).collect(),
        indices_batching_dims: (0..batch).collect(),
        index_map: vec![dim],
        index_vector_dim: indices_rank,
    };
    let is_one = |axis: i64| axis < batch || axis == dim;
    let sizes: Vec<i64> =
        call.ty(x).dims.iter().zip(0..).map(|(&size, axis)| if is_one(axis) { 1 } else { size }).collect();
    call.one(|trace, [x, indices]| ops::indexing::gather(trace, x, indices, &numbers, &sizes, false))
}
