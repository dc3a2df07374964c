//! Bitcasts of complex numbers, as those of pairs of their real and imaginary parts. XLA crashes on its own.

use crate::elementwise::complex::{complex, imag, real};
use crate::elementwise::packed_bits::bitcast_convert;
use crate::shape::axes::reshape;
use crate::shape::slicing::{concatenate, slice};
use base::error;
use base::error::Result;
use base::types::{DType, Dims, Kind, TensorType, check_rank};
use ir::{NodeId, Trace};

/// Records the bits of `x` as elements of another dtype; either may be complex.
pub fn bitcast(trace: &mut Trace, x: NodeId, dtype: DType) -> Result<NodeId> {
    let ty = trace.ty(x);
    let is_complex = |dtype: DType| dtype.kind() == Kind::Complex;
    if ty.dtype == dtype || !(is_complex(ty.dtype) || is_complex(dtype)) {
        return bitcast_convert(trace, x, dtype);
    }
    for (name, dtype) in [("x", ty.dtype), ("dtype", dtype)] {
        if dtype == DType::Pred {
            return Err(error!(InvalidArgument, "{name}: {ty} to {dtype}; want integers, floats and complex numbers"));
        }
    }
    let dims = dims_as(&ty, dtype)?;
    let numbers = if is_complex(ty.dtype) { parts(trace, x)? } else { x };
    if !is_complex(dtype) {
        let bits = regrouped(trace, numbers, dtype)?;
        return reshape(trace, bits, &dims);
    }
    let bits = regrouped(trace, numbers, dtype.real())?;
    let pairs: Dims = dims.iter().copied().chain([2]).collect();
    let pairs = reshape(trace, bits, &pairs)?;
    joined(trace, pairs)
}

/// Shape of the result: a narrower dtype adds a last axis, a wider one takes it away.
fn dims_as(x: &TensorType, dtype: DType) -> Result<Dims> {
    let (from, to) = (x.dtype.bit_width(), dtype.bit_width());
    let mut dims = Dims::from_slice(&x.dims);
    if from > to {
        dims.push((from / to) as i64);
        check_rank(&dims)?;
    } else if from < to {
        let parts = (to / from) as i64;
        if dims.pop() != Some(parts) {
            return Err(error!(InvalidArgument, "x: it is {x}; {parts} make one {dtype}, want a last axis of {parts}"));
        }
    }
    Ok(dims)
}

/// Records the real and imaginary parts of complex numbers, along a new last axis.
fn parts(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    let dims = trace.ty(x).dims;
    let column: Dims = dims.iter().copied().chain([1]).collect();
    let (re, im) = (real(trace, x)?, imag(trace, x)?);
    let (re, im) = (reshape(trace, re, &column)?, reshape(trace, im, &column)?);
    concatenate(trace, &[re, im], -1)
}

/// Records complex numbers from their parts along the last axis.
fn joined(trace: &mut Trace, pairs: NodeId) -> Result<NodeId> {
    let dims = trace.ty(pairs).dims;
    let last = dims.len() - 1;
    let mut part = |i: i64| {
        let (mut starts, mut limits) = (vec![0; dims.len()], dims.to_vec());
        (starts[last], limits[last]) = (i, i + 1);
        let part = slice(trace, pairs, &starts, &limits, &vec![1; dims.len()])?;
        reshape(trace, part, &dims[..last])
    };
    let (re, im) = (part(0)?, part(1)?);
    complex(trace, re, im)
}

/// Records the bits of numbers as numbers of another dtype, all in a row.
fn regrouped(trace: &mut Trace, x: NodeId, dtype: DType) -> Result<NodeId> {
    let ty = trace.ty(x);
    let (from, to) = (ty.dtype.bit_width(), dtype.bit_width());
    let count = ty.elements() as i64;
    let together = (to / from).max(1) as i64;
    let flat =
        if together > 1 { reshape(trace, x, &[count / together, together])? } else { reshape(trace, x, &[count])? };
    bitcast_convert(trace, flat, dtype)
}
