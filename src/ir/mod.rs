//! What was recorded: operations, their inference, the trace they stand in, and the programs that syncs and traced
//! computations make of them.

mod body;
mod build;
mod control;
mod encode;
mod indexing;
mod infer;
mod linear;
mod op;
mod program;
mod trace;

pub use body::take_body;
pub use build::*;
pub use control::{Applied, branch, call, scan, while_loop};
pub use indexing::*;
pub use infer::reduction_dtype;
pub use linear::{Linear, Segment, Workspace};
pub use op::{BinaryOp, CompareOp, Op, ReduceOp, UnaryOp};
pub use program::{Body, Instruction, Program};
pub use trace::{NONE, Node, NodeId, ShapeId, Trace};
