//! What was recorded: operations, their inference, the trace they stand in, and the program that a sync makes of them.

mod build;
mod infer;
mod op;
mod program;
mod trace;

pub use build::*;
pub use infer::reduction_dtype;
pub use op::{BinaryOp, CompareOp, Op, ReduceOp, UnaryOp};
pub use program::{Instruction, Linear, Program, Segment, Workspace};
pub use trace::{NONE, Node, NodeId, ShapeId, Trace};
