//! Operations, one folder for each subject and one file for each kind of operation: shape and dtype inference (a
//! function that refuses operands that do not fit and records one or more nodes), the lowering to StableHLO, the
//! evaluation on host arrays, and the rules for derivatives and batching ([`rules`]). [`definition()`] returns the
//! table's entry for an operation.
//!
//! An operation whose result equals its operand returns that operand: values are immutable, so no node is needed.

mod control;
mod creation;
mod definition;
mod elementwise;
mod indexing;
mod infer;
mod linalg;
mod nn;
mod random;
mod reduction;
pub mod rules;
mod shape;
mod sorting;
mod table;

pub use crate::ir::{BinaryFunction, SpecialOp, UnaryFunction};
pub use control::apply::{
    Applied, CaseAttributes, IfAttributes, ScanAttributes, WhileAttributes, branch, call, case, scan, while_loop,
};
pub use control::barrier::optimization_barrier;
pub use control::custom::{CustomKind, checkpoint_name, checkpoint_name_of, custom_call_of, stop_gradient};
pub use control::custom_call::{ApiVersion, CustomCall, custom_call};
pub use creation::constants::{IotaAttributes, constant, full, iota};
pub use creation::masks::{eye, one_hot, tril, triu};
pub use creation::ranges::{arange, linspace};
pub use definition::{Call, Composed, Definition, InPlace, Native};
pub use elementwise::binary::{binary, binary_scalar};
pub use elementwise::bits::{ReducePrecisionAttributes, bitcast_convert, reduce_precision};
pub use elementwise::clamp::{clamp, clamp_scalars};
pub use elementwise::compare_select::{Side, compare, compare_scalar, select, select_sides};
pub use elementwise::complex::{complex, imag, real};
pub use elementwise::convert::convert;
pub use elementwise::function::formula_body;
pub use elementwise::functions_of_one::unary_function;
pub use elementwise::functions_of_two::binary_function;
pub use elementwise::members::{BinaryMember, UnaryMember, binary_member, binary_member_in_place, binary_member_scalar, unary_member};
pub use elementwise::special::special;
pub use elementwise::total_order::compare_total_order;
pub use elementwise::unary::unary;
pub use indexing::advanced::{index, index_put, slice_assign};
pub use indexing::along::{index_combine, scatter_along, take_along_axis};
pub use indexing::dynamic::{TakeAttributes, dynamic_slice, dynamic_update_slice, take};
pub use indexing::gather::{GatherAttributes, gather};
pub use indexing::scatter::{Promises, ScatterAttributes, scatter};
pub use indexing::selection::{mask_select, nonzero};
pub use linalg::dot_general::{DotAxes, DotGeneralAttributes, dot_general};
pub use linalg::einsum::einsum;
pub use linalg::factorization::{CholeskyAttributes, cholesky, triangular_solve};
pub use linalg::fourier::{FftAttributes, fft, fft_lengths};
pub use linalg::matmul::matmul;
pub use linalg::norm::norm;
pub use nn::activation::{ActivationOp, activation};
pub use nn::batch_norm::{batch_norm_grad, batch_norm_inference, batch_norm_training};
pub use nn::convolution::{ConvolutionAttributes, ConvolutionOptions, convolution};
pub use nn::normalize::{layer_norm, log_softmax, softmax};
pub use random::distributions::{random_bernoulli, random_bits, random_normal, random_split, random_uniform};
pub use random::rng::{RngAlgorithm, RngBitGeneratorAttributes, rng_bit_generator};
pub use reduction::reduce::{ReduceAttributes, reduce};
pub use reduction::reduce_with::{ReduceWithAttributes, arg_extreme, reduce_with};
pub use reduction::select_and_scatter::{SelectAndScatterAttributes, select_and_scatter};
pub use reduction::statistics::{logsumexp, mean, standard_deviation, variance};
pub use reduction::windows::{ReduceWindowAttributes, cumulative, reduce_window};
pub use shape::axes::{ReverseAttributes, TransposeAttributes, broadcast_to, reshape, reverse, transpose};
pub use shape::rearrange::{expand_dims, flip, repeat, roll, slice_axis, split, split_equally, squeeze, stack, tile};
pub use shape::slicing::{ConcatenateAttributes, PadAttributes, SliceAttributes, concatenate, pad, pad_scalar, slice};
pub use sorting::sort::{SortAttributes, argsort, sort, sort_along};
pub use sorting::top_k::{TopKAttributes, top_k, top_k_total_order};
pub use sorting::unique::{searchsorted, unique};
pub use table::{COMPOSED, LOWERING, definition, evaluate};

use infer::{axis_set, common_dims, common_dtype, distinct_axes, refuse, typed};
