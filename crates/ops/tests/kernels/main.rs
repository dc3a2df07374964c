//! Values of the kernels of `native`, as the table of operations calls them.

mod binary;
mod clamp;
mod common;
mod compare;
mod complex;
mod creation;
mod indexing;
mod matmul;
mod precision;
mod reduction;
mod shape;
mod unary;
