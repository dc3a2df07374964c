//! Arrays in host memory, and every operation on them, at once: what tensors of the `cpu` device are, and an interpreter of
//! whole programs. It computes what XLA's CPU computes, except that it does not flush denormal numbers to 0.
//!
//! An operation chooses a *kernel*, a loop over slices of one element type, and hands it to a *driver*, which broadcasts,
//! cuts large work into pieces for several threads, and widens f16 and bf16 to f32 block by block. So there is one loop for
//! each operation and element type, and nowhere a loop for each way in which operands can meet.

mod array;
mod binary;
mod compare;
mod complex;
mod convert;
mod element;
mod elementwise;
mod evaluate;
mod fast;
mod functions;
mod indexing;
mod integer;
mod matmul;
mod movement;
mod parallel;
mod program;
mod reduce;
#[cfg(test)]
mod testing;
mod tiles;
mod unary;
mod walk;
mod wide;
mod writer;

pub use array::Array;
pub use evaluate::evaluate;
pub use program::run;
