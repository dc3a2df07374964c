//! Operations, in one folder for each subject. The files of a subject stand on floors; none uses a file above it, so
//! that there are no circles (`tests/layers.rs`):
//!
//! | floor | files | contents |
//! |---|---|---|
//! | tables | `table.rs`, `<subject>/definitions.rs` | [`definition()`]: an operation's [`Definition`] with its lowering, evaluation and rules |
//! | rules | `derivative.rs`, `batch.rs`, `rules.rs`, `*_rules.rs` of a subject | derivatives, batching and masking, recorded as operations of any subject |
//! | helpers of rules | `tangents.rs`, `batch_axis.rs`, `padding.rs` | sums and products of tangents; operands with a batch axis; masks of padding |
//! | operations | the other files of a subject | a function that infers the type, refuses operands that do not fit and records nodes; the StableHLO and the evaluation of such a node |
//! | types | `definition.rs`, `rules.rs`, `masking.rs`, `infer.rs`, `host_call.rs`, `folding.rs`, `cutting.rs` | what a definition and a rule are; shared inference; calls of this process; constants that XLA does not evaluate; long chains that it compiles in pieces |
//!
//! The `mod.rs` of a subject exports what layers above use, as `elementwise::binary`. Files of this layer import from
//! the file that defines a name.
//!
//! An operation whose result equals its operand returns that operand: values are immutable, so no node is needed.
//!
//! It uses `base`, `engine` (kernels and calls of this process), `ir`, `mesh` and `native`.

pub mod batch_axis;
pub mod control;
pub mod creation;
mod cutting;
mod definition;
pub mod elementwise;
pub mod emit;
mod folding;
mod host_call;
pub mod indexing;
mod infer;
pub mod linalg;
pub mod masking;
pub mod mesh;
pub mod nn;
pub mod padding;
pub mod random;
pub mod reduction;
pub mod rules;
pub mod shape;
mod simplifier;
pub mod sorting;
mod table;
pub mod tangents;

pub use definition::{Composed, Definition, EvalContext, InPlace, Native};
pub use table::{COMPOSED, LOWERING, definition, evaluate, operation_name, passes_tangents, provide_host_functions};
