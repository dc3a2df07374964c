//! Operations, one folder for each subject and one file for each kind of operation: shape and dtype inference (a
//! function that refuses operands that do not fit and records one or more nodes), the lowering to StableHLO, the
//! evaluation on host arrays, and the rules for derivatives and batching ([`rules`]). [`definition()`] returns the
//! table's entry for an operation.
//!
//! An operation whose result equals its operand returns that operand: values are immutable, so no node is needed.
//!
//! A file of operations is exported whole: `pub` items are for the layers above, `pub(in crate::ops)` items for this
//! one.

mod control;
mod creation;
mod definition;
mod elementwise;
mod indexing;
mod infer;
mod linalg;
mod mesh;
mod nn;
mod random;
mod reduction;
pub mod rules;
mod shape;
mod sorting;
mod table;

pub use crate::ir::{BinaryFunction, SpecialOp, UnaryFunction};
pub use control::apply::*;
pub use control::barrier::*;
pub use control::checkpoint::*;
pub use control::custom::*;
pub use control::custom_call::*;
pub use control::memo::*;
pub use creation::constants::*;
pub use creation::masks::*;
pub use creation::ranges::*;
pub use definition::{Call, Composed, Definition, InPlace, Native};
pub use elementwise::binary::*;
pub use elementwise::bits::*;
pub use elementwise::clamp::*;
pub use elementwise::compare_select::*;
pub use elementwise::complex::*;
pub use elementwise::convert::*;
pub use elementwise::functions::definition::*;
pub use elementwise::functions::erf::*;
pub use elementwise::functions::of_one::*;
pub use elementwise::functions::of_two::*;
pub use elementwise::members::*;
pub use elementwise::total_order::*;
pub use elementwise::unary::*;
pub use elementwise::uniform::*;
pub use indexing::advanced::*;
pub use indexing::along::*;
pub use indexing::dynamic::*;
pub use indexing::gather::*;
pub use indexing::scatter::*;
pub use indexing::selection::*;
pub use linalg::dot_general::*;
pub use linalg::einsum::*;
pub use linalg::factorization::*;
pub use linalg::fourier::*;
pub use linalg::matmul::*;
pub use linalg::norm::*;
pub use mesh::attributes::*;
pub use mesh::collectives::*;
pub use mesh::constraint::*;
pub use mesh::permute::*;
pub use mesh::shard_map::*;
pub use nn::activation::*;
pub use nn::batch_norm::*;
pub use nn::convolution::*;
pub use nn::normalize::*;
pub use random::distributions::*;
pub use random::rng::*;
pub use reduction::reduce::*;
pub use reduction::reduce_with::*;
pub use reduction::select_and_scatter::*;
pub use reduction::statistics::*;
pub use reduction::windows::*;
pub use shape::axes::*;
pub use shape::rearrange::*;
pub use shape::slicing::*;
pub use sorting::sort::*;
pub use sorting::top_k::*;
pub use sorting::unique::*;
pub use table::{COMPOSED, LOWERING, definition, evaluate};

use infer::{axis_set, common_dims, common_dtype, distinct_axes, inferred, inferred_with_arguments, refuse, typed};
