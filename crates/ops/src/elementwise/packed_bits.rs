//! Bitcasts of types of 2 and 4 bits, which are composed: StableHLO packs the elements that share a byte.

use super::binary::{binary, binary_scalar};
use super::bits::{bitcast_convert as whole_bytes, check_bitcast};
use super::convert::convert;
use super::subbyte::same_width;
use crate::shape::axes::reshape;
use crate::shape::rearrange::slice_axis;
use crate::shape::slicing::concatenate;
use base::error;
use base::error::Result;
use base::types::{DType, Dims, ScalarValue, check_rank};
use ir::{BinaryOp, NodeId, Trace};

/// Records a bitcast to another dtype.
pub fn bitcast_convert(trace: &mut Trace, x: NodeId, dtype: DType) -> Result<NodeId> {
    let from = trace.ty(x);
    if from.dtype == dtype || !(from.dtype.is_subbyte() || dtype.is_subbyte()) {
        return whole_bytes(trace, x, dtype);
    }
    check_bitcast(&from, dtype)?;
    of_packed(trace, x, dtype)
}

/// Records a bitcast from or to a type of 2 or 4 bits. As in StableHLO, the first of the elements that share a byte is
/// in its low bits, and the axis of the parts is the last.
fn of_packed(trace: &mut Trace, x: NodeId, dtype: DType) -> Result<NodeId> {
    let from = trace.ty(x);
    let (own, wanted) = (from.dtype.bit_width(), dtype.bit_width());
    if own == wanted {
        return Ok(same_width(trace, x, dtype));
    }
    if own > wanted && !from.dtype.is_subbyte() {
        let bytes = whole_bytes(trace, x, DType::U8)?;
        let parts = split(trace, bytes, dtype, 8)?;
        return reshape(trace, parts, &[&from.dims[..], &[i64::from(own / wanted)]].concat());
    }
    if own > wanted {
        let codes = codes(trace, x);
        return split(trace, codes, dtype, own);
    }
    let parts = i64::from(wanted / own);
    if from.dims.last() != Some(&parts) {
        return Err(error!(
            InvalidArgument,
            "x: it is {from}; want a last axis of size {parts}, whose elements make up one {dtype}"
        ));
    }
    let codes = codes(trace, x);
    if dtype.is_subbyte() {
        let joined = join(trace, codes, own)?;
        return Ok(of_codes(trace, joined, dtype));
    }
    // First the elements of each byte, then the bytes of each number.
    let in_byte = i64::from(8 / own);
    let mut dims = Dims::from_slice(&from.dims[..from.dims.len() - 1]);
    if parts > in_byte {
        dims.push(parts / in_byte);
    }
    dims.push(in_byte);
    check_rank(&dims)?;
    let codes = reshape(trace, codes, &dims)?;
    let bytes = join(trace, codes, own)?;
    whole_bytes(trace, bytes, dtype)
}

/// Records the codes of elements of 2 or 4 bits as u8.
fn codes(trace: &mut Trace, x: NodeId) -> NodeId {
    let dtype = trace.node(x).dtype;
    let bits = same_width(trace, x, dtype.bits());
    convert(trace, bits, DType::U8)
}

/// Records the elements of 2 or 4 bits with these codes.
fn of_codes(trace: &mut Trace, codes: NodeId, dtype: DType) -> NodeId {
    let bits = convert(trace, codes, dtype.bits());
    same_width(trace, bits, dtype)
}

/// Records u8 numbers, each of the elements of the last axis, the first one in the low bits.
fn join(trace: &mut Trace, codes: NodeId, width: u32) -> Result<NodeId> {
    let ty = trace.ty(codes);
    let (axis, rest) = (ty.dims.len() - 1, &ty.dims[..ty.dims.len() - 1]);
    let mut joined = None;
    for part in 0..ty.dims[axis] {
        let taken = slice_axis(trace, codes, axis as i64, part, part + 1, 1)?;
        let taken = reshape(trace, taken, rest)?;
        let shift = ScalarValue::Signed(part * i64::from(width));
        let placed = binary_scalar(trace, BinaryOp::ShiftLeft, taken, shift, false)?;
        joined = Some(match joined {
            None => placed,
            Some(before) => binary(trace, BinaryOp::Or, before, placed)?,
        });
    }
    Ok(joined.expect("the last axis has elements"))
}

/// Records the parts of the low bits of u8 numbers, of a type of 2 or 4 bits, along a new last axis.
fn split(trace: &mut Trace, bytes: NodeId, dtype: DType, bits: u32) -> Result<NodeId> {
    let ty = trace.ty(bytes);
    let width = dtype.bit_width();
    let parts = i64::from(bits / width);
    let dims = [&ty.dims[..], &[1]].concat();
    check_rank(&dims)?;
    let bytes = reshape(trace, bytes, &dims)?;
    let shifted = (0..parts)
        .map(|part| {
            let shift = ScalarValue::Signed(part * i64::from(width));
            binary_scalar(trace, BinaryOp::ShiftRightLogical, bytes, shift, false)
        })
        .collect::<Result<Vec<NodeId>>>()?;
    let all = concatenate(trace, &shifted, dims.len() as i64 - 1)?;
    Ok(of_codes(trace, all, dtype))
}
