//! Intermediate representation: the operations and the encoding of their attributes, the trace of recorded operations,
//! the programs made from it for syncs and traced computations, and their replay in a trace. The semantics of the
//! operations are defined in `ops`.
//!
//! It uses `base` and `mesh`.

mod attributes;
mod body;
mod caches;
mod chain;
mod dimension_numbers;
mod donors;
mod encode;
mod groups;
mod labels;
mod leaf;
mod linear;
mod members;
mod numbers;
mod op;
mod precision;
mod program;
mod record;
mod removal;
mod replay;
mod room;
mod scheme;
mod search;
mod shapes;
pub mod sizes;
mod subbyte;
mod trace;
mod window;

pub use attributes::{Attributes, Words, decode, encode};
pub use body::{take_body, take_closed_body, take_program, take_whole_body};
pub use caches::gradients::{GradientMemory, Gradients, Request};
pub use caches::inferences::Arguments;
pub use caches::planner::{Planner, Wanted};
pub use dimension_numbers::DimensionNumbers;
pub use donors::useful as useful_donors;
pub use leaf::{LeafData, LeafPlace};
pub use linear::{Segment, Workspace};
pub use members::{
    BinaryFunction, BinaryOp, CompareOp, FftOp, Numbered, ReduceOp, ScatterOp, SpecialOp, Transposition, UnaryFunction,
    UnaryOp,
};
pub use op::Op;
pub use precision::{ALGORITHMS, Algorithm, Level, Precision};
pub use program::{Body, Instruction, Positions, Program};
pub use scheme::{Scheme, Source, Stage};
pub use shapes::ShapeId;
pub use trace::{NONE, Node, NodeId, Trace};
pub use window::Window;
