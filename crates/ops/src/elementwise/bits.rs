//! Bit-level operations on elements: bitcasts and reduced precision.

use crate::definition::EvalContext;
use crate::elementwise::fold_barrier::{with_zero, zero_of_all};
use crate::elementwise::{subbyte, wide};
use crate::emit::{Emitter, emit, mlir};
use crate::infer::{refuse, typed};
use crate::rules::Site;
use crate::shape::axes::reshape;
use base::error;
use base::error::Result;
use base::types::{DType, Dims, Kind, TensorType, check_rank};
use ir::{NodeId, Op, Trace, attributes};
use native::{self, Array};

attributes! {
    /// Attributes of `reduce_precision`.
    pub struct ReducePrecisionAttributes {
        /// Number of exponent bits that are kept.
        pub exponent_bits: i64,
        /// Number of mantissa bits that are kept.
        pub mantissa_bits: i64,
    }
}

/// Records a bitcast between dtypes of whole bytes.
pub fn bitcast_convert(trace: &mut Trace, x: NodeId, dtype: DType) -> Result<NodeId> {
    let ty = trace.ty(x);
    if ty.dtype == dtype {
        return Ok(x);
    }
    let ty = infer_bitcast(&ty, dtype)?;
    let source = source_of(trace, x);
    if source != x {
        return from_source(trace, source, &ty);
    }
    Ok(typed(trace, Op::BitcastConvert, &ty, &[x]))
}

/// Returns the operand from which `x` comes through a chain of bitcasts.
fn source_of(trace: &Trace, x: NodeId) -> NodeId {
    let node = trace.node(x);
    if node.op == Op::BitcastConvert { source_of(trace, trace.operands(node)[0]) } else { x }
}

/// Records a chain of bitcasts as one bitcast and a reshape: XLA's simplifier merges two bitcasts with the wrong shape.
fn from_source(trace: &mut Trace, source: NodeId, ty: &TensorType) -> Result<NodeId> {
    let from = trace.ty(source);
    let parts = ty.dtype.size_bytes() / from.dtype.size_bytes();
    if parts > 1 {
        let dims = [&ty.dims[..], &[parts as i64]].concat();
        let source = reshape(trace, source, &dims)?;
        return bitcast_convert(trace, source, ty.dtype);
    }
    let whole = bitcast_convert(trace, source, ty.dtype)?;
    reshape(trace, whole, &ty.dims)
}

/// Records the rounding of each element to a format with these numbers of bits.
pub fn reduce_precision(trace: &mut Trace, x: NodeId, exponent_bits: i64, mantissa_bits: i64) -> Result<NodeId> {
    let ty = trace.ty(x);
    if !ty.dtype.is_float() {
        return Err(refuse("reduce_precision", "x", &ty, "floats"));
    }
    if ty.dtype.is_float8() {
        return wide::in_wide(trace, [x], |trace, [x]| reduce_precision(trace, x, exponent_bits, mantissa_bits));
    }
    if exponent_bits < 1 {
        return Err(error!(InvalidArgument, "exponent_bits: {exponent_bits} given; want at least 1"));
    }
    if mantissa_bits < 0 {
        return Err(error!(InvalidArgument, "mantissa_bits: {mantissa_bits} given; want at least 0"));
    }
    let own = format(ty.dtype);
    let (exponent_bits, mantissa_bits) = (exponent_bits.min(own.0), mantissa_bits.min(own.1));
    if (exponent_bits, mantissa_bits) == own {
        return Ok(x);
    }
    let shape = trace.node(x).shape;
    let attributes = ReducePrecisionAttributes { exponent_bits, mantissa_bits };
    Ok(trace.operation_with_attributes(Op::ReducePrecision, ty.dtype, shape, &[x], &attributes))
}

pub(super) fn lower_bitcast(e: &mut Emitter, at: usize) {
    let (value, x) = (e.instruction(at), e.instruction(at).operands[0]);
    if value.ty.dtype.is_subbyte() {
        return subbyte::lower_bitcast(e, at);
    }
    let from = e.values[x].ty.clone();
    // XLA merges two bitcasts with the wrong shape, also those between which its simplifier leaves nothing. A parameter
    // of the program is safe; an argument of a function may be a bitcast.
    let is_given = e.values[x].op == Op::Leaf && !e.is_called;
    if !is_given && from.dims != value.ty.dims && !e.platform.is_empty() {
        let name = e.name(x);
        let zero = zero_of_all(e, &[(name.clone(), &from)], 0);
        let kept = with_zero(e, &name, &from, &zero);
        emit!(e, "    {} = stablehlo.bitcast_convert {kept} : ({}) -> {}", e.name_of(at), mlir(&from), mlir(&value.ty));
        return;
    }
    e.one_operand(at, "bitcast_convert", "");
}

pub(super) fn native_bitcast(cx: &EvalContext) -> Result<Array> {
    let x = cx.operands[0];
    if cx.ty.dtype.is_subbyte() { subbyte::native_bitcast(x, cx.ty) } else { x.bitcast(cx.ty) }
}

/// Batches a bitcast: the axis that is added or removed is the last.
pub(super) fn batch_bitcast(site: &mut Site, _: &[bool], _: i64) -> Result<NodeId> {
    let (x, dtype) = (site.operands[0], site.ty.dtype);
    if dtype.is_subbyte() {
        return Ok(subbyte::same_width(site.trace, x, dtype));
    }
    bitcast_convert(site.trace, x, dtype)
}

/// Numbers of exponent and mantissa bits of a float dtype.
fn format(dtype: DType) -> (i64, i64) {
    match dtype {
        DType::F16 => (5, 10),
        DType::BF16 => (8, 7),
        DType::F32 => (8, 23),
        _ => (11, 52),
    }
}

/// Infers the type of a bitcast of numbers of whole bytes. To a narrower dtype, appends an axis with the parts of each
/// element; to a wider one, merges the last axis into one element. Preds are refused, since XLA stores them in bytes and StableHLO counts bits;
/// complex numbers are refused, since XLA crashes on those of another width.
fn infer_bitcast(x: &TensorType, dtype: DType) -> Result<TensorType> {
    check_bitcast(x, dtype)?;
    let (from, to) = (x.dtype.size_bytes(), dtype.size_bytes());
    let mut dims = Dims::from_slice(&x.dims);
    if from > to {
        dims.push((from / to) as i64);
    } else if from < to {
        let parts = (to / from) as i64;
        if dims.pop() != Some(parts) {
            return Err(error!(
                InvalidArgument,
                "x: it is {x}; want a last axis of size {parts}, whose elements make up one {dtype}"
            ));
        }
    }
    check_rank(&dims)?;
    Ok(TensorType { dtype, dims })
}

/// Returns an error for preds and complex numbers.
pub(super) fn check_bitcast(x: &TensorType, dtype: DType) -> Result<()> {
    for (name, kind) in [("x", x.dtype.kind()), ("dtype", dtype.kind())] {
        if matches!(kind, Kind::Pred | Kind::Complex) {
            return Err(error!(InvalidArgument, "{name}: {x} to {dtype}; want integers and floats"));
        }
    }
    Ok(())
}

/// Writes the StableHLO of reduce_precision. With 0 mantissa bits, some versions of XLA turn NaN into infinity; here
/// NaN stays NaN.
pub(super) fn lower_reduce_precision(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let (name, x, ty) = (e.name_of(at), e.name(value.operands[0]), mlir(&value.ty));
    let ReducePrecisionAttributes { exponent_bits: exponent, mantissa_bits: mantissa } = value.attributes();
    if mantissa > 0 {
        emit!(e, "    {name} = stablehlo.reduce_precision {x}, format = e{exponent}m{mantissa} : {ty}");
        return;
    }
    let (reduced, is_nan) = (e.temporary(), e.temporary());
    let pred = mlir(&TensorType { dtype: DType::Pred, dims: value.ty.dims.clone() });
    emit!(e, "    {reduced} = stablehlo.reduce_precision {x}, format = e{exponent}m0 : {ty}");
    emit!(e, "    {is_nan} = stablehlo.compare NE, {x}, {x}, FLOAT : ({ty}, {ty}) -> {pred}");
    emit!(e, "    {name} = stablehlo.select {is_nan}, {x}, {reduced} : {pred}, {ty}");
}

pub(super) fn native_reduce_precision(cx: &EvalContext) -> Result<Array> {
    let own = format(cx.ty.dtype);
    let ReducePrecisionAttributes { exponent_bits, mantissa_bits } = cx.attributes();
    let to = (exponent_bits as u32, mantissa_bits as u32);
    native::reduce_precision(cx.operands[0], (own.0 as u32, own.1 as u32), to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_axis_comes_and_goes() {
        let ty = |dtype, dims: &[i64]| TensorType::new(dtype, dims);
        let of = |x: TensorType, dtype| infer_bitcast(&x, dtype).ok();
        assert_eq!(of(ty(DType::F32, &[2, 3]), DType::S32), Some(ty(DType::S32, &[2, 3])));
        assert_eq!(of(ty(DType::F32, &[2]), DType::U8), Some(ty(DType::U8, &[2, 4])));
        assert_eq!(of(ty(DType::U64, &[]), DType::F16), Some(ty(DType::F16, &[4])));
        assert_eq!(of(ty(DType::S16, &[3, 2]), DType::F32), Some(ty(DType::F32, &[3])));
        assert_eq!(of(ty(DType::S16, &[0, 2]), DType::F32), Some(ty(DType::F32, &[0])));
        for (x, dtype) in [
            (ty(DType::S16, &[2, 3]), DType::F32),
            (ty(DType::S16, &[]), DType::F32),
            (ty(DType::Pred, &[8]), DType::U8),
            (ty(DType::U8, &[8]), DType::Pred),
            (ty(DType::C64, &[2]), DType::U64),
            (ty(DType::C64, &[2, 2]), DType::C128),
        ] {
            assert_eq!(of(x.clone(), dtype), None, "{x} {dtype}");
        }
    }
}
