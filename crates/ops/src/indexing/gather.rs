//! Gather with all of StableHLO's dimension numbers.

use crate::emit::{Emitter, Extent, emit, mlir};
use base::error;
use base::error::Result;
use ir::{DimensionNumbers, NodeId, Op, Trace, attributes};

use crate::creation::constants::nothing;

use crate::indexing::dimension_numbers::{self, GATHER as NAMES};

use base::types::{Dims, TensorType, element_count};

attributes! {
    /// Attributes of `gather`.
    pub struct GatherAttributes {
        /// Whether the caller guarantees that the indices are in ascending order.
        pub indices_are_sorted: bool,
        /// Sizes of the slices, one for each axis of the array.
        pub slice_sizes: Vec<i64>,
        /// Dimension numbers.
        pub numbers: DimensionNumbers,
    }
}

/// Records a gather of slices of `x` with these sizes.
pub fn gather(
    trace: &mut Trace,
    x: NodeId,
    indices: NodeId,
    numbers: &DimensionNumbers,
    slice_sizes: &[i64],
    indices_are_sorted: bool,
) -> Result<NodeId> {
    let ty = trace.ty(x);
    let dims = infer(&ty, &trace.ty(indices), numbers, slice_sizes)?;
    if element_count(&dims)? == 0 {
        return nothing(trace, &TensorType { dtype: ty.dtype, dims });
    }
    let shape = trace.intern(&dims);
    let attributes =
        GatherAttributes { indices_are_sorted, slice_sizes: slice_sizes.to_vec(), numbers: numbers.clone() };
    Ok(trace.operation_with_attributes(Op::Gather, ty.dtype, shape, &[x, indices], &attributes))
}

fn infer(x: &TensorType, indices: &TensorType, numbers: &DimensionNumbers, sizes: &[i64]) -> Result<Dims> {
    let vector_axes = usize::from((0..indices.dims.len() as i64).contains(&numbers.index_vector_dim));
    let rank = indices.dims.len() - vector_axes + numbers.window_dims.len();
    dimension_numbers::check(&NAMES, numbers, x, indices, rank)?;
    if sizes.len() != x.dims.len() {
        return Err(error!(InvalidArgument, "slice_sizes: {} given; the array is {x}", sizes.len()));
    }
    for (axis, (&size, &dim)) in sizes.iter().zip(&x.dims).enumerate() {
        if size < 0 || size > dim {
            return Err(error!(
                InvalidArgument,
                "slice_sizes: slice_sizes[{axis}] is {size}; the array is {x}, want 0 to {dim}"
            ));
        }
        let is_gone =
            [&numbers.collapsed_dims, &numbers.batching_dims].iter().any(|axes| axes.contains(&(axis as i64)));
        if is_gone && size != 1 {
            return Err(error!(
                InvalidArgument,
                "slice_sizes: slice_sizes[{axis}] is {size}; want 1 on a collapsed or batching axis"
            ));
        }
    }
    let mut through = numbers.array_axes(x.dims.len()).into_iter().map(|axis| sizes[axis]);
    let mut between = numbers.indices_axes(indices.dims.len()).into_iter().map(|axis| indices.dims[axis]);
    let size = |axis: usize| {
        let from = if numbers.window_dims.contains(&(axis as i64)) {
            &mut through as &mut dyn Iterator<Item = i64>
        } else {
            &mut between
        };
        from.next().expect("as many axes as were counted")
    };
    Ok((0..rank).map(size).collect())
}

/// Whether XLA's partitioner reads wrong elements: if the index vectors have several elements, or if slices have
/// neither one element at an index nor all elements of an axis that is not a batching axis.
pub(super) fn is_hard_to_split(e: &Emitter, at: usize) -> bool {
    let value = e.instruction(at);
    let GatherAttributes { slice_sizes, numbers, .. } = value.attributes();
    let is_indexed = |axis: usize| numbers.index_map.contains(&(axis as i64));
    let is_batching = |axis: usize| numbers.batching_dims.contains(&(axis as i64));
    let is_part = |(axis, (&size, &dim)): (usize, (&i64, &i64))| {
        size < dim && !is_batching(axis) && !(size == 1 && is_indexed(axis))
    };
    let dims = &e.values[value.operands[0]].ty.dims;
    numbers.index_map.len() > 1 || slice_sizes.iter().zip(dims).enumerate().any(is_part)
}

/// Writes the indices, clamped so that all slices are within an array with these dimensions. XLA's partitioner adds the
/// offset of a piece to an index before it clamps it. Returns the name of the result.
fn clamped(e: &mut Emitter, indices: &str, ty: &TensorType, attributes: &GatherAttributes, dims: &[i64]) -> String {
    let GatherAttributes { slice_sizes, numbers, .. } = attributes;
    let last_of = |&axis: &i64| dims[axis as usize] - slice_sizes[axis as usize];
    let last: Vec<i64> = numbers.index_map.iter().map(last_of).collect();
    let zeros = e.constant(ty, 0);
    let most = match last[..] {
        [] => return indices.to_string(),
        [one] => e.constant(ty, one as u128),
        _ => {
            let (list, most) = (e.temporary(), e.temporary());
            let of_list = mlir(&TensorType::new(ty.dtype, &[last.len() as i64]));
            let axis = numbers.index_vector_dim;
            emit!(e, "    {list} = stablehlo.constant dense<{last:?}> : {of_list}");
            emit!(e, "    {most} = stablehlo.broadcast_in_dim {list}, dims = [{axis}] : ({of_list}) -> {}", mlir(ty));
            most
        }
    };
    let made = e.temporary();
    emit!(e, "    {made} = stablehlo.clamp {zeros}, {indices}, {most} : {}", mlir(ty));
    made
}

pub(super) fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let (x, from) = (value.operands[0], e.values[value.operands[0]].ty.clone());
    let attributes: GatherAttributes = value.attributes();
    let (mut indices, indices_ty) = dimension_numbers::indices(e, value.operands[1], &from.dims);
    if e.extent != Extent::Device {
        indices = clamped(e, &indices, &indices_ty, &attributes, &from.dims);
    }
    let GatherAttributes { indices_are_sorted, slice_sizes, numbers } = attributes;
    let sizes: Vec<String> = slice_sizes.iter().map(i64::to_string).collect();
    // MLIR writes an empty array attribute without a colon.
    let sizes = if sizes.is_empty() { String::new() } else { format!(": {}", sizes.join(", ")) };
    emit!(
        e,
        "    {} = \"stablehlo.gather\"({}, {indices}) <{{dimension_numbers = {}, slice_sizes = array<i64{sizes}>, indices_are_sorted = {indices_are_sorted}}}> : ({}, {}) -> {}",
        e.name_of(at),
        e.name(x),
        dimension_numbers::text(&NAMES, &numbers),
        mlir(&from),
        mlir(&indices_ty),
        mlir(&value.ty)
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::DType;

    fn rows() -> DimensionNumbers {
        DimensionNumbers {
            window_dims: vec![1],
            collapsed_dims: vec![0],
            index_map: vec![0],
            index_vector_dim: 1,
            ..Default::default()
        }
    }

    #[test]
    fn the_result_has_the_axes_of_both() {
        let (x, indices) = (TensorType::new(DType::F32, &[5, 7]), TensorType::new(DType::S32, &[2, 3]));
        let dims =
            |numbers: &DimensionNumbers, sizes: &[i64]| infer(&x, &indices, numbers, sizes).map(|dims| dims.to_vec());
        let alone = DimensionNumbers { index_vector_dim: 2, window_dims: vec![1], ..rows() };
        assert_eq!(dims(&alone, &[1, 4]).unwrap(), [2, 4, 3]);
        let vectors = DimensionNumbers {
            window_dims: vec![0, 2],
            collapsed_dims: vec![],
            index_map: vec![1, 0],
            index_vector_dim: 0,
            ..rows()
        };
        assert_eq!(dims(&vectors, &[4, 6]).unwrap(), [4, 3, 6]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_named() {
        let (x, indices) = (TensorType::new(DType::F32, &[5, 7]), TensorType::new(DType::S32, &[2]));
        let message = |numbers: DimensionNumbers, sizes: &[i64]| {
            infer(&x, &indices, &numbers, sizes).unwrap_err().message.clone()
        };
        for (numbers, sizes, words) in [
            (
                DimensionNumbers { window_dims: vec![2], ..rows() },
                &[1, 7][..],
                "offset_dims: 2 is not an axis; there are 2",
            ),
            (
                DimensionNumbers { collapsed_dims: vec![0, 0], ..rows() },
                &[1, 7],
                "collapsed_slice_dims: axis 0 is given twice",
            ),
            (DimensionNumbers { collapsed_dims: vec![1, 0], ..rows() }, &[1, 7], "want them ascending"),
            (
                DimensionNumbers { collapsed_dims: vec![], ..rows() },
                &[1, 7],
                "1 axes given in all; the array is f32[5,7]",
            ),
            (
                DimensionNumbers { index_map: vec![0, 1], ..rows() },
                &[1, 7],
                "start_index_map: 2 axes given; indices are s32[2] with index_vector_dim 1: want 1",
            ),
            (DimensionNumbers { index_vector_dim: 2, ..rows() }, &[1, 7], "index_vector_dim: it is 2"),
            (rows(), &[1, 8], "slice_sizes[1] is 8; the array is f32[5,7], want 0 to 7"),
            (rows(), &[2, 7], "slice_sizes[0] is 2; want 1"),
            (rows(), &[1], "slice_sizes: 1 given"),
            (
                DimensionNumbers { batching_dims: vec![0], ..rows() },
                &[1, 7],
                "operand_batching_dims: axis 0 is in collapsed_slice_dims, too",
            ),
        ] {
            let said = message(numbers, sizes);
            assert!(said.contains(words), "{said}");
        }
    }
}
