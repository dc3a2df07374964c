//! Shared by gather and scatter: checks of dimension numbers, their StableHLO, and the StableHLO of the indices.

use crate::emit::{Emitter, emit, mlir};
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use ir::DimensionNumbers;

/// StableHLO's names for the fields of [`DimensionNumbers`].
pub struct Names {
    /// Name of the operation.
    pub op: &'static str,
    window: &'static str,
    collapsed: &'static str,
    batching: &'static str,
    indices_batching: &'static str,
    map: &'static str,
}

/// Names in gather.
pub const GATHER: Names = Names {
    op: "gather",
    window: "offset_dims",
    collapsed: "collapsed_slice_dims",
    batching: "operand_batching_dims",
    indices_batching: "start_indices_batching_dims",
    map: "start_index_map",
};

/// Names in scatter.
pub const SCATTER: Names = Names {
    op: "scatter",
    window: "update_window_dims",
    collapsed: "inserted_window_dims",
    batching: "input_batching_dims",
    indices_batching: "scatter_indices_batching_dims",
    map: "scatter_dims_to_operand_dims",
};

/// Returns an error unless the dimension numbers fit the array and the indices. `rank` is the rank of gather's result
/// or of scatter's updates.
pub fn check(
    names: &Names,
    numbers: &DimensionNumbers,
    x: &TensorType,
    indices: &TensorType,
    rank: usize,
) -> Result<()> {
    if !indices.dtype.is_integer() {
        return Err(error!(InvalidArgument, "indices: they are {indices}; want integers"));
    }
    let vector_dim = numbers.index_vector_dim;
    if vector_dim < 0 || vector_dim > indices.dims.len() as i64 {
        return Err(error!(
            InvalidArgument,
            "index_vector_dim: it is {vector_dim}; indices are {indices}, want 0 to {}",
            indices.dims.len()
        ));
    }
    ascending(names.window, &numbers.window_dims, rank)?;
    ascending(names.collapsed, &numbers.collapsed_dims, x.dims.len())?;
    ascending(names.batching, &numbers.batching_dims, x.dims.len())?;
    distinct(names.indices_batching, &numbers.indices_batching_dims, indices.dims.len())?;
    distinct(names.map, &numbers.index_map, x.dims.len())?;
    apart(names.batching, &numbers.batching_dims, names.collapsed, &numbers.collapsed_dims)?;
    apart(names.map, &numbers.index_map, names.batching, &numbers.batching_dims)?;
    check_vectors(names, numbers, indices)?;
    check_batching(names, numbers, x, indices)?;
    let taken = numbers.window_dims.len() + numbers.collapsed_dims.len() + numbers.batching_dims.len();
    if taken != x.dims.len() {
        return Err(error!(
            InvalidArgument,
            "{}, {}, {}: {taken} axes given in all; the array is {x}, want one for each of its axes",
            names.window,
            names.collapsed,
            names.batching
        ));
    }
    Ok(())
}

/// Checks that index vectors have one element for each axis in the index map.
fn check_vectors(names: &Names, numbers: &DimensionNumbers, indices: &TensorType) -> Result<()> {
    let length = indices.dims.get(numbers.index_vector_dim as usize).copied().unwrap_or(1);
    let given = numbers.index_map.len();
    if given as i64 != length {
        return Err(error!(
            InvalidArgument,
            "{}: {given} axes given; indices are {indices} with index_vector_dim {}: want {length}",
            names.map,
            numbers.index_vector_dim
        ));
    }
    Ok(())
}

/// Checks that the batching axes of the array and of the indices pair up and have equal sizes.
fn check_batching(names: &Names, numbers: &DimensionNumbers, x: &TensorType, indices: &TensorType) -> Result<()> {
    let (own, theirs) = (&numbers.batching_dims, &numbers.indices_batching_dims);
    if own.len() != theirs.len() {
        return Err(error!(
            InvalidArgument,
            "{}, {}: {} and {} axes given; want as many",
            names.batching,
            names.indices_batching,
            own.len(),
            theirs.len()
        ));
    }
    for (&axis, &at) in own.iter().zip(theirs) {
        if at == numbers.index_vector_dim {
            return Err(error!(InvalidArgument, "{}: {at} is the index_vector_dim", names.indices_batching));
        }
        if x.dims[axis as usize] != indices.dims[at as usize] {
            return Err(error!(
                InvalidArgument,
                "{}: axis {axis} of {x} goes with axis {at} of {indices}; want equal sizes", names.batching
            ));
        }
    }
    Ok(())
}

/// Returns an error if an axis is out of range or given twice.
fn distinct(name: &str, axes: &[i64], rank: usize) -> Result<()> {
    for (i, &axis) in axes.iter().enumerate() {
        if axis < 0 || axis >= rank as i64 {
            return Err(error!(InvalidArgument, "{name}: {axis} is not an axis; there are {rank}"));
        }
        if axes[..i].contains(&axis) {
            return Err(error!(InvalidArgument, "{name}: axis {axis} is given twice"));
        }
    }
    Ok(())
}

fn ascending(name: &str, axes: &[i64], rank: usize) -> Result<()> {
    distinct(name, axes, rank)?;
    if !axes.is_sorted() {
        return Err(error!(InvalidArgument, "{name}: {axes:?} given; want them ascending"));
    }
    Ok(())
}

fn apart(name: &str, axes: &[i64], other: &str, others: &[i64]) -> Result<()> {
    match axes.iter().find(|axis| others.contains(axis)) {
        Some(axis) => Err(error!(InvalidArgument, "{name}: axis {axis} is in {other}, too")),
        None => Ok(()),
    }
}

/// Writes dimension numbers as a StableHLO attribute.
pub fn text(names: &Names, numbers: &DimensionNumbers) -> String {
    format!(
        "#stablehlo.{}<{} = {:?}, {} = {:?}, {} = {:?}, {} = {:?}, {} = {:?}, index_vector_dim = {}>",
        names.op,
        names.window,
        numbers.window_dims,
        names.collapsed,
        numbers.collapsed_dims,
        names.batching,
        numbers.batching_dims,
        names.indices_batching,
        numbers.indices_batching_dims,
        names.map,
        numbers.index_map,
        numbers.index_vector_dim
    )
}

/// Dtype in which XLA gets indices of dtype `given` into an array with `dims`: s32 or s64. XLA computes with indices in
/// their own dtype, and truncates to it what it compares or combines them with: limits of slices, positions on batching
/// axes, positions in the flattened array. So an array of more than `i32::MAX` elements takes s64.
pub fn index_dtype(given: DType, dims: &[i64]) -> DType {
    let is_large = dims.iter().fold(1_i64, |elements, &dim| elements.saturating_mul(dim)) > i64::from(i32::MAX);
    match given {
        DType::U32 | DType::S64 | DType::U64 => DType::S64,
        _ if is_large => DType::S64,
        _ => DType::S32,
    }
}

/// Writes indices into an array with `dims`, converted to [`index_dtype`]. u64 indices are first clamped to the largest
/// s64, which is out of bounds as well. Returns the name and the type of the result.
pub fn indices(e: &mut Emitter, position: usize, dims: &[i64]) -> (String, TensorType) {
    let ty = e.values[position].ty.clone();
    let to = TensorType { dtype: index_dtype(ty.dtype, dims), dims: ty.dims.clone() };
    if ty.dtype != DType::U64 {
        return (e.cast(position, &to), to);
    }
    let largest = e.constant(&ty, i64::MAX as u128);
    let (least, signed) = (e.temporary(), e.temporary());
    emit!(e, "    {least} = stablehlo.minimum {}, {largest} : {}", e.name(position), mlir(&ty));
    emit!(e, "    {signed} = stablehlo.convert {least} : ({}) -> {}", mlir(&ty), mlir(&to));
    (signed, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_s32_where_that_counts_the_array_and_represents_them() {
        let largest = i64::from(i32::MAX);
        for given in [DType::S8, DType::U8, DType::S16, DType::U16, DType::S32] {
            assert_eq!(index_dtype(given, &[largest]), DType::S32);
            assert_eq!(index_dtype(given, &[largest + 1]), DType::S64);
            assert_eq!(index_dtype(given, &[1 << 20, 1 << 11]), DType::S64);
        }
        for given in [DType::U32, DType::S64, DType::U64] {
            assert_eq!(index_dtype(given, &[3]), DType::S64);
        }
    }
}
