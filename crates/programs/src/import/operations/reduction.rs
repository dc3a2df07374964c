//! Reductions over axes and windows, and computations of elements.

use super::super::importer::Applied;
use super::super::importer::Importer;
use super::reducers::{operation, reducer};
use super::{Call, Results, applied, single};
use base::error;
use base::error::Result;
use base::types::{DType, Scalar, TensorType, element_count};
use ir::{BinaryOp, NodeId, ReduceOp, Window};
use lowering::transform::{Transformer, batched, with_room};
use ops::emit::identity;

/// `stablehlo.reduce` of one or several arrays.
pub fn reduce(mut call: Call) -> Result<Results> {
    let operands = call.reduced()?;
    let (arrays, inits) = operands.split_at(operands.len() / 2);
    let axes = call.attributes.integers("dimensions")?;
    let region = call.scalar_region(0, &operands)?;
    let op = operation(&region.body).and_then(|op| reduction(op, call.ty(arrays[0]).dtype));
    if let (Some(op), [x], [init]) = (op, arrays, inits) {
        return reduce_by(call, op, *x, *init, &axes);
    }
    let region = reducer(region)?;
    if axes.is_empty() {
        let dims = call.ty(arrays[0]).dims;
        let spread = |&init: &NodeId| super::shape::spread(&mut call.importer.trace, init, &dims);
        let first = inits.iter().map(spread).collect::<Result<Vec<NodeId>>>()?;
        return each(call.importer, &region, &[&first[..], arrays].concat()).map(Results::from_vec);
    }
    ops::reduction::reduce_with(call.trace(), &applied(&region), arrays, inits, &axes).map(Results::from_vec)
}

/// The reduction by an operation.
pub(super) fn reduction(op: BinaryOp, dtype: DType) -> Option<ReduceOp> {
    match op {
        BinaryOp::And | BinaryOp::Minimum if dtype == DType::Pred => Some(ReduceOp::All),
        BinaryOp::Or | BinaryOp::Maximum if dtype == DType::Pred => Some(ReduceOp::Any),
        BinaryOp::Add => Some(ReduceOp::Sum),
        BinaryOp::Multiply => Some(ReduceOp::Product),
        BinaryOp::Maximum => Some(ReduceOp::Max),
        BinaryOp::Minimum => Some(ReduceOp::Min),
        _ => None,
    }
}

/// Records a reduction that the library knows, combined with the initial value unless that changes nothing.
fn reduce_by(mut call: Call, op: ReduceOp, x: NodeId, init: NodeId, axes: &[i64]) -> Result<Results> {
    let (ty, given) = (call.ty(x), call.ty(init));
    if given != TensorType::new(ty.dtype, &[]) {
        return Err(error!(InvalidArgument, "the initial value is {given}; want a scalar of {}", ty.dtype));
    }
    let reduced = ops::reduction::reduce(call.trace(), op, x, axes, false)?;
    // Of no elements it is the initial value, also where the dtype has no identity: 8-bit floats without infinity.
    if axes.iter().any(|&axis| usize::try_from(axis).is_ok_and(|axis| ty.dims.get(axis) == Some(&0))) {
        let dims = call.ty(reduced).dims;
        return super::shape::spread(&mut call.importer.trace, init, &dims).map(single);
    }
    let known = call.importer.known.value(&call.importer.trace, init);
    let neutral = identity(op, ty.dtype);
    if known.is_some_and(|init| Scalar::from_bytes(ty.dtype, init.bytes()).bits() == neutral) {
        return Ok(single(reduced));
    }
    Ok(single(ops::elementwise::binary(call.trace(), op.binary(), reduced, init)?))
}

/// The windows of an operation, one for each axis.
fn windows(call: &Call, rank: usize) -> Result<Vec<Window>> {
    let padding = call.attributes.integers_or("padding", 2 * rank, 0)?;
    let sizes = call.list("window_dimensions", rank)?;
    let list = |name: &str| call.attributes.integers_or(name, rank, 1);
    let (strides, base_dilations) = (list("window_strides")?, list("base_dilations")?);
    Ok(windows_of([&sizes, &strides, &base_dilations, &list("window_dilations")?], &padding))
}

/// Windows with these sizes, strides, dilations of the array and dilations, which have a number for each axis.
/// `padding` has two.
pub(super) fn windows_of([sizes, strides, base_dilations, dilations]: [&[i64]; 4], padding: &[i64]) -> Vec<Window> {
    let window = |axis: usize| Window {
        size: sizes[axis],
        stride: strides[axis],
        base_dilation: base_dilations[axis],
        dilation: dilations[axis],
        low: padding[2 * axis],
        high: padding[2 * axis + 1],
    };
    (0..sizes.len()).map(window).collect()
}

/// `stablehlo.reduce_window` of one or several arrays.
pub fn reduce_window(mut call: Call) -> Result<Results> {
    let operands = call.reduced()?;
    let (arrays, inits) = operands.split_at(operands.len() / 2);
    let windows = windows(&call, call.ty(arrays[0]).dims.len())?;
    let region = reducer(call.scalar_region(0, &operands)?)?;
    if windows.is_empty() {
        return each(call.importer, &region, &[inits, arrays].concat()).map(Results::from_vec);
    }
    ops::reduction::reduce_window(call.trace(), &applied(&region), arrays, inits, &windows).map(Results::from_vec)
}

/// `stablehlo.select_and_scatter`.
pub fn select_and_scatter(mut call: Call) -> Result<Results> {
    let [x, source, init] = call.exactly()?;
    let windows = windows(&call, call.ty(x).dims.len())?;
    let select = call.scalar_region(0, &[x, x])?;
    let combiner = reducer(call.scalar_region(1, &[x, x])?)?;
    let (select, combiner) = (applied(&select), applied(&combiner));
    Ok(single(ops::reduction::select_and_scatter(call.trace(), &select, &combiner, x, source, init, &windows)?))
}

/// `stablehlo.map`: a computation of elements.
pub fn map(mut call: Call) -> Result<Results> {
    let region = call.scalar_region(0, call.operands)?;
    each(call.importer, &region, call.operands).map(Results::from_vec)
}

/// Records a computation of scalars for each element of arrays of one shape: batched over all elements.
fn each(importer: &mut Importer, region: &Applied, arrays: &[NodeId]) -> Result<Vec<NodeId>> {
    let trace = &mut importer.trace;
    let Some(&first) = arrays.first() else { return Err(error!(InvalidArgument, "0 operands; want at least 1")) };
    let dims = trace.ty(first).dims;
    if let Some(other) = arrays.iter().map(|&array| trace.ty(array)).find(|ty| ty.dims != dims) {
        return Err(error!(InvalidArgument, "operands of types {} and {other}; want one shape", trace.ty(first)));
    }
    if dims.is_empty() {
        return ops::control::call(trace, &applied(region), arrays);
    }
    let count = element_count(&dims)? as i64;
    let lists =
        arrays.iter().map(|&array| ops::shape::reshape(trace, array, &[count])).collect::<Result<Vec<NodeId>>>()?;
    let (in_axes, out_axes) = (vec![0; arrays.len()], vec![0; region.body.results().len()]);
    let body =
        with_room([&region.body], || batched(&Transformer::default(), &region.body, &in_axes, &out_axes, count))?;
    let made = trace.replay(&body, &[&lists, &region.captures[..]].concat())?;
    made.into_iter().map(|list| ops::shape::reshape(trace, list, &dims)).collect()
}
