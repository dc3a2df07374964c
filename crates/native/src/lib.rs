//! Arrays in host memory and the eager kernels of all operations on them: tensors of the `cpu` device are such arrays.
//! Results are those of XLA's CPU backend, except that denormal numbers are not flushed to 0.
//!
//! An operation chooses a *kernel*, a loop over slices of one element type, and passes it to a *driver*, which
//! broadcasts, divides large work into pieces for several threads, and widens f16 and bf16 to f32 block by block. So
//! each operation has one loop for each element type, instead of one for each combination of operands. Several
//! elementwise operations of floats are evaluated together, without arrays for their results (`fused`).
//!
//! It uses `base`, `ir`, `lazyxla_fourier` and `lazyxla_linalg`.

mod array;
mod binary;
mod blocks;
mod cast;
mod combine;
mod compare;
mod complex;
pub mod complex_functions;
mod convert;
mod convolution;
mod creation;
mod cumulative;
mod dot_general;
mod element;
mod elementwise;
mod extremes;
mod factorization;
mod fast;
mod fast64;
mod fft_plans;
mod folds;
mod fourier;
mod functions;
mod fused;
mod half_floats;
mod indexing;
mod integer;
mod inverse_circular;
mod linalg;
mod matmul;
mod offsets;
mod order;
mod parallel;
mod powers;
mod precision;
mod random;
mod reduction;
mod roots;
mod shape;
mod shortcuts;
mod slices;
mod sort_network;
mod sorting;
#[doc(hidden)]
pub mod testing;
mod text;
mod tiles;
mod unary;
mod walk;
mod wide;
mod windows;
mod writer;

pub use array::Array;
pub use binary::binary;
pub use blocks::{BLOCK, in_blocks};
pub use cast::cast;
pub use compare::{compare, select};
pub use complex::{complex, imag, real};
pub use convert::convert;
pub use convolution::{WindowAxis, convolution};
pub use creation::{full, iota};
pub use cumulative::cumulative;
pub use dot_general::dot_general;
pub use elementwise::Source;
pub use extremes::{extreme, extreme_place};
pub use factorization::{eig, eigh, ldl, ldl_solve, lu, lu_solve, pinv, qr, reflectors, schur, svd};
pub use folds::reduce_with;
pub use fourier::fft;
pub use fused::{Builder, Fused, FusedAll, Lane, Value};
pub use indexing::{dynamic_slice, dynamic_update_slice, integer, take};
pub use linalg::{Triangle, cholesky, triangular_solve};
pub use matmul::matmul;
pub use offsets::{Known, combine_at, combine_known};
pub use precision::reduce_precision;
pub use random::{philox, random_bits, threefry};
pub use reduction::reduce;
pub use shape::{broadcast_to, concatenate, pad, reverse, row, slice, stack, transpose};
pub use shortcuts::shortcut;
pub use slices::{gather, targets};
pub use sort_network::sort_with;
pub use sorting::{sort_by_key, top_k};
pub use text::text_of;
pub use unary::unary;
pub use windows::{reduce_window, select_and_scatter};
