//! Operations whose shapes follow from operands. The sizes are known during the import, so that nothing of them is left
//! in the body. Also the operations that are refused, with the reason.

use super::super::importer::Importer;
use super::{Call, Results, indexing, nn, shape, single};
use base::error;
use base::error::Result;
use base::types::{Dims, Scalar, ScalarValue, TensorType};
use ir::{BinaryOp, NodeId, Op, Trace};

/// Records the operation of StableHLO with this name.
pub fn stablehlo(name: &str, call: Call) -> Result<Results> {
    match name {
        "dynamic_broadcast_in_dim" => broadcast_in_dim(call),
        "dynamic_conv" => convolution(call),
        "dynamic_gather" => gather(call),
        "dynamic_iota" => iota(call),
        "dynamic_pad" => pad(call),
        "dynamic_reshape" => reshape(call),
        "get_dimension_size" => get_dimension_size(call),
        "real_dynamic_slice" => slice(call),
        "set_dimension_size" => set_dimension_size(call),
        "after_all" | "create_token" => refused("there are no tokens: a program has no input and output while it runs"),
        "infeed" | "outfeed" | "recv" | "send" => refused("a program has no input and output while it runs"),
        "get_tuple_element" | "tuple" => Err(error!(InvalidArgument, "its operand or its result is not a tuple")),
        "async_done" | "async_start" => refused("a program starts nothing that it waits for later"),
        "rng" => refused("its numbers are not reproducible; rng_bit_generator makes some that are"),
        "trace" => Ok(Results::new()),
        "uniform_dequantize" | "uniform_quantize" => refused("there are no quantized types"),
        _ => super::collectives::record(name, call),
    }
}

fn refused(why: &str) -> Result<Results> {
    Err(error!(Unimplemented, "{why}"))
}

fn broadcast_in_dim(mut call: Call) -> Result<Results> {
    let [x, sizes] = call.exactly()?;
    let (dims, axes) = (call.sizes(sizes)?, call.attributes.integers("broadcast_dimensions")?);
    Ok(single(shape::broadcast_along(call.trace(), x, &axes, &dims)?))
}

fn convolution(mut call: Call) -> Result<Results> {
    let [_, _, padding] = call.exactly()?;
    let padding = call.sizes(padding)?;
    nn::convolution_padded(call, Some(padding))
}

fn gather(mut call: Call) -> Result<Results> {
    let [_, _, sizes] = call.exactly()?;
    let sizes = call.sizes(sizes)?;
    indexing::gather_of(call, &sizes)
}

fn iota(mut call: Call) -> Result<Results> {
    let [sizes] = call.exactly()?;
    let ty = TensorType { dtype: call.stated_dtype(0)?, dims: Dims::from_vec(call.sizes(sizes)?) };
    let axis = call.attributes.integer("iota_dimension")?;
    Ok(single(ops::creation::iota(call.trace(), &ty, axis)?))
}

fn pad(mut call: Call) -> Result<Results> {
    let [x, value, low, high, interior] = call.exactly()?;
    let rank = call.ty(x).dims.len();
    let (low, high, interior) = (call.sizes(low)?, call.sizes(high)?, call.sizes(interior)?);
    check_ranks(rank, [&low, &high, &interior])?;
    Ok(single(ops::shape::pad(call.trace(), x, value, &low, &high, &interior)?))
}

fn slice(mut call: Call) -> Result<Results> {
    let [x, starts, limits, strides] = call.exactly()?;
    if let Some(sizes) = sizes_of_moving_slice(&mut call, starts, limits, strides) {
        let starts = scalars(call.trace(), starts)?;
        return Ok(single(ops::indexing::dynamic_slice(call.trace(), x, &starts, &sizes)?));
    }
    let rank = call.ty(x).dims.len();
    let (starts, limits, strides) = (call.sizes(starts)?, call.sizes(limits)?, call.sizes(strides)?);
    check_ranks(rank, [&starts, &limits, &strides])?;
    Ok(single(ops::shape::slice(call.trace(), x, &starts, &limits, &strides)?))
}

/// The sizes of a slice that starts at a computed place and ends at the sum of the place and of known sizes, as JAX
/// writes a dynamic slice of free sizes. None for any other slice.
fn sizes_of_moving_slice(call: &mut Call, starts: NodeId, limits: NodeId, strides: NodeId) -> Option<Vec<i64>> {
    let Importer { trace, known, .. } = &mut *call.importer;
    let operands = trace.operands(trace.node(limits));
    let sizes = match (trace.node(limits).op, operands) {
        (Op::Binary(BinaryOp::Add), &[lhs, rhs]) if known.are_equal(trace, lhs, starts) => rhs,
        (Op::Binary(BinaryOp::Add), &[lhs, rhs]) if known.are_equal(trace, rhs, starts) => lhs,
        _ => return None,
    };
    let is_computed = known.value(trace, starts).is_none();
    let is_dense = known.integers(trace, strides).is_ok_and(|strides| strides.iter().all(|&stride| stride == 1));
    known.integers(trace, sizes).ok().filter(|_| is_computed && is_dense)
}

/// The elements of a list as scalars.
fn scalars(trace: &mut Trace, list: NodeId) -> Result<Vec<NodeId>> {
    let count = trace.ty(list).elements() as i64;
    let scalar = |place: i64| {
        let element = ops::shape::slice_axis(trace, list, 0, place, place + 1, 1)?;
        ops::shape::reshape(trace, element, &[])
    };
    (0..count).map(scalar).collect()
}

fn check_ranks(rank: usize, lists: [&[i64]; 3]) -> Result<()> {
    match lists.into_iter().find(|list| list.len() != rank) {
        Some(list) => Err(error!(InvalidArgument, "{} sizes; the array has rank {rank}", list.len())),
        None => Ok(()),
    }
}

fn reshape(mut call: Call) -> Result<Results> {
    let [x, sizes] = call.exactly()?;
    let dims = call.sizes(sizes)?;
    Ok(single(ops::shape::reshape(call.trace(), x, &dims)?))
}

/// The size of the axis that an attribute names.
fn dimension(call: &Call, x: &TensorType) -> Result<i64> {
    let axis = call.attributes.integer("dimension")?;
    let size = usize::try_from(axis).ok().and_then(|axis| x.dims.get(axis));
    size.copied().ok_or_else(|| error!(InvalidArgument, "attribute dimension: {axis} given; the operand is {x}"))
}

fn get_dimension_size(mut call: Call) -> Result<Results> {
    let [x] = call.exactly()?;
    let (size, dtype) = (dimension(&call, &call.ty(x))?, call.stated_dtype(0)?);
    let size = Scalar::new(dtype, ScalarValue::Signed(size))?;
    Ok(single(ops::creation::constant(call.trace(), &[], size)))
}

fn set_dimension_size(mut call: Call) -> Result<Results> {
    let [x, size] = call.exactly()?;
    let (full, sizes) = (dimension(&call, &call.ty(x))?, call.sizes(size)?);
    match sizes[..] {
        [size] if size == full => Ok(single(x)),
        _ => {
            Err(error!(Unimplemented, "it makes an axis of size {full} shorter; arrays have the sizes of their types"))
        }
    }
}
