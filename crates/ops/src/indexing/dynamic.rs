//! Reads and writes at indices that are computed at run time.

use crate::emit::{Emitter, Extent, emit, mlir};
use base::error;
use base::error::Result;
use ir::{NodeId, Op, Trace, attributes};

use crate::creation::constants::nothing;

use crate::indexing::dimension_numbers;
use crate::indexing::overlaps::{kept_apart, reads_other_shape};

use base::types::{DType, Dims, Kind, TensorType, element_count, normalize_axis};

attributes! {
    /// Attributes of `take`.
    pub struct TakeAttributes {
        /// Axis along which slices are taken.
        pub axis: usize,
    }
}

/// Records a slice of `x` with shape `sizes`, from `starts`, one integer scalar for each axis.
pub fn dynamic_slice(trace: &mut Trace, x: NodeId, starts: &[NodeId], sizes: &[i64]) -> Result<NodeId> {
    let ty = trace.ty(x);
    check_starts(trace, &ty, starts)?;
    if sizes.len() != ty.dims.len() {
        return Err(error!(InvalidArgument, "sizes: {} given for x, which is {ty}", sizes.len()));
    }
    for (axis, (&size, &dim)) in sizes.iter().zip(&ty.dims).enumerate() {
        if size < 0 || size > dim {
            return Err(error!(InvalidArgument, "sizes: sizes[{axis}] is {size}; x is {ty}, want 0 to {dim}"));
        }
    }
    // Starts are clamped, so that a slice of full size is always x itself.
    if sizes == ty.dims.as_slice() {
        return Ok(x);
    }
    let shape = trace.intern(sizes);
    Ok(trace.operation(Op::DynamicSlice, ty.dtype, shape, &[&[x], starts].concat()))
}

/// Records `x` with `update` written over it, from `starts`, one integer scalar for each axis.
pub fn dynamic_update_slice(trace: &mut Trace, x: NodeId, update: NodeId, starts: &[NodeId]) -> Result<NodeId> {
    let (ty, part) = (trace.ty(x), trace.ty(update));
    check_starts(trace, &ty, starts)?;
    let fits = part.dims.len() == ty.dims.len() && part.dims.iter().zip(&ty.dims).all(|(part, dim)| part <= dim);
    if part.dtype != ty.dtype || !fits {
        return Err(error!(
            InvalidArgument,
            "update: it is {part}; x is {ty}, and wants its dtype and a part of its shape"
        ));
    }
    if part.dims == ty.dims {
        return Ok(update);
    }
    let shape = trace.node(x).shape;
    Ok(trace.operation(Op::DynamicUpdateSlice, ty.dtype, shape, &[&[x, update], starts].concat()))
}

fn check_starts(trace: &Trace, ty: &TensorType, starts: &[NodeId]) -> Result<()> {
    if starts.len() != ty.dims.len() {
        return Err(error!(InvalidArgument, "starts: {} given for x, which is {ty}", starts.len()));
    }
    for (axis, &start) in starts.iter().enumerate() {
        let start_ty = trace.ty(start);
        if !start_ty.dtype.is_integer() || !start_ty.dims.is_empty() {
            return Err(error!(InvalidArgument, "starts: starts[{axis}] is {start_ty}; want an integer scalar"));
        }
        let first = trace.node(starts[0]).dtype;
        if start_ty.dtype != first {
            return Err(error!(InvalidArgument, "starts: starts[{axis}] is {}, starts[0] is {first}", start_ty.dtype));
        }
    }
    Ok(())
}

/// Records slices of `x` along an axis, at `indices`. The indices' axes replace that axis in the result.
pub fn take(trace: &mut Trace, x: NodeId, indices: NodeId, axis: i64) -> Result<NodeId> {
    let (ty, at) = (trace.ty(x), trace.ty(indices));
    if !at.dtype.is_integer() {
        return Err(error!(InvalidArgument, "indices: they are {at}; want integers"));
    }
    let axis = normalize_axis("axis", axis, ty.dims.len())?;
    let mut dims = Dims::from_slice(&ty.dims[..axis]);
    dims.extend_from_slice(&at.dims);
    dims.extend_from_slice(&ty.dims[axis + 1..]);
    let elements = element_count(&dims)?;
    if ty.dims[axis] == 0 && elements > 0 {
        return Err(error!(InvalidArgument, "x: it is {ty}; want at least 1 element on axis {axis}"));
    }
    if elements == 0 {
        return nothing(trace, &TensorType { dtype: ty.dtype, dims });
    }
    let shape = trace.intern(&dims);
    Ok(trace.operation_with_attributes(Op::Take, ty.dtype, shape, &[x, indices], &TakeAttributes { axis }))
}

pub(super) fn lower_dynamic_slice(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let (names, types) = with_starts(e, &value.operands, 1, &value.ty.dims);
    let sizes = &value.ty.dims[..];
    emit!(
        e,
        "    {name} = stablehlo.dynamic_slice {}, sizes = {sizes:?} : ({}) -> {}",
        names.join(", "),
        types.join(", "),
        mlir(&value.ty)
    );
}

/// Returns the names and types of the first `arrays` operands, then of the start indices of a slice with these sizes,
/// which are the other operands.
fn with_starts(e: &mut Emitter, operands: &[usize], arrays: usize, sizes: &[i64]) -> (Vec<String>, Vec<String>) {
    let (mut names, mut types) = e.listed(&operands[..arrays]);
    let (dims, sizes) = (e.values[operands[0]].ty.dims.clone(), sizes.to_vec());
    for (axis, &start) in operands[arrays..].iter().enumerate() {
        let (mut name, ty) = dimension_numbers::indices(e, start, &dims);
        if e.extent != Extent::Device {
            // On a mesh, starts are clamped here: XLA adds the offset of a piece to the start of the slice before it
            // clamps the start.
            let last = dims[axis] - sizes[axis];
            let (zero, last, clamped) = (e.constant(&ty, 0), e.constant(&ty, last as u128), e.temporary());
            emit!(e, "    {clamped} = stablehlo.clamp {zero}, {name}, {last} : {}", mlir(&ty));
            name = clamped;
        }
        names.push(name);
        types.push(mlir(&ty));
    }
    (names, types)
}

pub(super) fn lower_dynamic_update_slice(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let of_update = e.values[value.operands[1]].ty.clone();
    let (mut names, types) = with_starts(e, &value.operands, 2, &of_update.dims);
    if e.platform == "cpu" && reads_other_shape(e, at) {
        names[1] = kept_apart(e, &names[1], &of_update);
    }
    emit!(
        e,
        "    {name} = stablehlo.dynamic_update_slice {} : ({}) -> {}",
        names.join(", "),
        types.join(", "),
        mlir(&value.ty)
    );
}

/// Writes take as a gather of whole slices. Negative indices count from the end, as in NumPy; other indices out of
/// bounds are clamped by the gather.
pub(super) fn lower_take(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let (x, indices) = (value.operands[0], value.operands[1]);
    let TakeAttributes { axis } = value.attributes();
    let (from, at_ty) = (e.values[x].ty.clone(), e.values[indices].ty.clone());
    let (indices, indices_ty) = nonnegative(e, indices, &from.dims, axis);
    let rank = at_ty.dims.len();
    let offsets: Vec<usize> = (0..axis).chain(axis + rank..value.ty.dims.len()).collect();
    let sizes: Vec<String> =
        from.dims.iter().enumerate().map(|(i, dim)| if i == axis { 1 } else { *dim }.to_string()).collect();
    emit!(
        e,
        "    {name} = \"stablehlo.gather\"({}, {indices}) <{{dimension_numbers = #stablehlo.gather<offset_dims = {offsets:?}, collapsed_slice_dims = [{axis}], start_index_map = [{axis}], index_vector_dim = {rank}>, slice_sizes = array<i64: {}>, indices_are_sorted = false}}> : ({}, {}) -> {}",
        e.name(x),
        sizes.join(", "),
        mlir(&from),
        mlir(&indices_ty),
        mlir(&value.ty)
    );
}

/// Writes indices into an axis of an array with `dims`, with the axis's size added to negative ones.
fn nonnegative(e: &mut Emitter, position: usize, dims: &[i64], axis: usize) -> (String, TensorType) {
    let is_signed = e.values[position].ty.dtype.kind() == Kind::Signed;
    let (indices, ty) = dimension_numbers::indices(e, position, dims);
    if !is_signed {
        return (indices, ty);
    }
    let (zero, size) = (e.constant(&ty, 0), e.constant(&ty, dims[axis] as u128));
    let (is_negative, moved, result) = (e.temporary(), e.temporary(), e.temporary());
    let (text, pred) = (mlir(&ty), mlir(&TensorType { dtype: DType::Pred, dims: ty.dims.clone() }));
    emit!(e, "    {is_negative} = stablehlo.compare LT, {indices}, {zero}, SIGNED : ({text}, {text}) -> {pred}");
    emit!(e, "    {moved} = stablehlo.add {indices}, {size} : {text}");
    emit!(e, "    {result} = stablehlo.select {is_negative}, {moved}, {indices} : {pred}, {text}");
    (result, ty)
}
