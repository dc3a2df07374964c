//! What each operation is, one file for each kind: the rule for its shape and dtype (a function that infers, refuses what
//! does not fit, and records one node), its StableHLO, and how arrays are put through it. The table names them all.
//!
//! A result that equals its operand is that operand: values are immutable, so nothing needs to be recorded.

mod activation;
mod advanced;
mod along;
mod arc;
mod barrier;
mod batch_norm;
mod binary;
mod bits;
mod bodies;
mod choice;
mod clamp;
mod complex;
mod complex_circle;
mod complex_exponential;
mod complex_functions;
mod control;
mod control_lower;
mod control_native;
mod convert;
mod convolution;
mod creation;
mod custom_call;
mod custom_targets;
mod definition;
mod dot_general;
mod einsum;
mod elementwise;
mod erf_inv;
mod float8;
mod formula;
mod fourier;
mod functions;
mod functions_of_one;
mod functions_of_two;
mod gather;
mod indexing;
mod integers;
mod linear_algebra;
mod masks;
mod matmul;
mod norm;
mod normalize;
mod opaque;
mod ordered_bits;
mod placement;
mod random;
mod random_bits;
mod ranges;
mod rearrange;
mod reduce;
mod reduce_with;
mod regions;
mod rng;
mod scatter;
mod select_and_scatter;
mod selection;
mod shape;
mod slicing;
mod sort;
mod special;
mod statistics;
mod steps;
mod table;
mod top_k;
mod unary;
mod windows;

pub use activation::{ActivationOp, activation};
pub use advanced::{index, index_put, slice_assign};
pub use along::{index_combine, scatter_along, take_along_axis};
pub use barrier::optimization_barrier;
pub use batch_norm::{batch_norm_grad, batch_norm_inference, batch_norm_training};
pub use binary::{binary, binary_scalar};
pub use bits::{bitcast_convert, reduce_precision};
pub use choice::{Side, compare, compare_scalar, select, select_sides};
pub use clamp::{clamp, clamp_scalars};
pub use complex::{complex, imag, real};
pub use control::{Applied, branch, call, case, scan, while_loop};
pub use convert::convert;
pub use convolution::{ConvolutionOptions, convolution};
pub use creation::{constant, full, iota};
pub use custom_call::{ApiVersion, CustomCall, custom_call};
pub use definition::{Call, Composed, Definition, Native};
pub use dot_general::{DotAxes, dot_general};
pub use einsum::einsum;
pub use elementwise::{BinaryMember, UnaryMember, binary_member, binary_member_scalar, unary_member};
pub use fourier::{fft, fft_lengths};
pub use functions_of_one::{UnaryFunction, unary_function};
pub use functions_of_two::{BinaryFunction, binary_function};
pub use gather::gather;
pub use indexing::{dynamic_slice, dynamic_update_slice, take};
pub use linear_algebra::{cholesky, triangular_solve};
pub use masks::{eye, one_hot, tril, triu};
pub use matmul::matmul;
pub use norm::norm;
pub use normalize::{layer_norm, log_softmax, softmax};
pub use random::{random_bernoulli, random_bits, random_normal, random_split, random_uniform};
pub use ranges::{arange, linspace};
pub use rearrange::{expand_dims, flip, repeat, roll, slice_axis, split, split_equally, squeeze, stack, tile};
pub use reduce::reduce;
pub use reduce_with::{arg_extreme, reduce_with};
pub use rng::{RngAlgorithm, rng_bit_generator};
pub use scatter::{Promises, scatter};
pub use select_and_scatter::select_and_scatter;
pub use selection::{mask_select, nonzero, searchsorted, unique};
pub use shape::{broadcast_to, reshape, reverse, transpose};
pub use slicing::{concatenate, pad, pad_scalar, slice};
pub use sort::{argsort, sort, sort_along};
pub use special::{SpecialOp, special};
pub use statistics::{logsumexp, mean, standard_deviation, variance};
pub use table::{COMPOSED, definition, evaluate, lower};
pub use top_k::{top_k, top_k_total_order};
pub use unary::unary;
pub use windows::{cumulative, reduce_window};

use crate::error;
use crate::error::{Error, Result};
use crate::ir::{NodeId, Op, Trace};
use crate::types::{Axes, DType, Dims, MAX_RANK, TensorType, broadcast, element_count, normalize_axis};

fn refuse(name: &str, operand: &str, ty: &TensorType, wanted: &str) -> Error {
    error!(InvalidArgument, "{operand}: {name} takes {wanted}, not {ty}")
}

/// The common shape of two operands.
fn common_dims(lhs: &TensorType, rhs: &TensorType) -> Result<Dims> {
    let dims = broadcast(&lhs.dims, &rhs.dims)
        .ok_or_else(|| error!(InvalidArgument, "lhs is {lhs} and rhs is {rhs}: their shapes do not broadcast"))?;
    element_count(&dims)?;
    Ok(dims)
}

fn common_dtype(lhs: &TensorType, rhs: &TensorType) -> Result<DType> {
    lhs.dtype.promote(rhs.dtype).map_err(|e| e.context(format_args!("lhs is {lhs} and rhs is {rhs}")))
}

/// Axes counted from the start, each at most once, as the bits of a number.
fn axis_set(name: &str, axes: &[i64], rank: usize) -> Result<u64> {
    const { assert!(MAX_RANK <= u64::BITS as usize) };
    let mut set = 0;
    for &axis in axes {
        let this = 1 << normalize_axis(name, axis, rank)?;
        if set & this != 0 {
            return Err(error!(InvalidArgument, "{name}: axis {axis} is given twice"));
        }
        set |= this;
    }
    Ok(set)
}

/// The same in the order in which they are given.
fn distinct_axes(name: &str, axes: &[i64], rank: usize) -> Result<Axes> {
    axis_set(name, axes, rank)?;
    axes.iter().map(|&axis| normalize_axis(name, axis, rank).map(|axis| axis as i64)).collect()
}

fn typed(trace: &mut Trace, op: Op, ty: &TensorType, operands: &[NodeId]) -> NodeId {
    let shape = trace.intern(&ty.dims);
    trace.operation(op, ty.dtype, shape, operands)
}
