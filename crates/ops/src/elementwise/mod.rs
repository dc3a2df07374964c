//! Elementwise operations: arithmetic, real and complex functions, comparisons, conversions, bit operations.
//!
//! | files | contents |
//! |---|---|
//! | `definitions.rs` | the definitions of the operations |
//! | `derivative.rs`, `functions/derivative.rs` | the derivatives of operations, of functions |
//! | `lower.rs`, `integers.rs` | StableHLO of unary and binary operations; of integer division and power |
//! | `members.rs` | `LXLA_UNARY_*` and `LXLA_BINARY_*`: which members are operations, which are functions |
//! | `functions/` | functions without a StableHLO operation: `of_one.rs` and `of_two.rs` by their number of operands, a file for each long formula, `body.rs` for their lowering and evaluation |
//! | `formula.rs` | the language in which formulas are written |
//! | `unary.rs`, `binary.rs`, `compare_select.rs`, `clamp.rs`, `complex.rs`, `complex_bits.rs`, `convert.rs`, `bits.rs` | the operations: inference and recording |
//! | `total_order.rs`, `signs.rs` | operations composed of others |
//! | `subbyte.rs`, `packed_bits.rs` | types of 2 and 4 bits: their bytes in programs; bitcasts to types of other widths |
//! | `wide.rs`, `fold_barrier.rs` | arithmetic on 8-bit floats and on types of 2 and 4 bits; values that XLA's simplifier cannot fold |

pub(super) mod binary;
pub(super) mod bits;
pub(super) mod clamp;
pub(super) mod compare_select;
pub(super) mod complex;
pub(super) mod complex_bits;
pub(super) mod convert;
pub(super) mod definitions;
pub(super) mod derivative;
pub(super) mod fold_barrier;
pub mod formula;
pub(super) mod functions;
pub(super) mod integers;
pub(super) mod lower;
pub(super) mod masking_rules;
pub(super) mod members;
pub(super) mod packed_bits;
pub(crate) mod reducers;
pub(super) mod signs;
pub(super) mod subbyte;
pub(super) mod total_order;
pub(super) mod unary;
pub(super) mod wide;

pub use binary::{binary, binary_scalar};
pub use bits::{ReducePrecisionAttributes, reduce_precision};
pub use clamp::{clamp, clamp_scalars};
pub use compare_select::{Side, compare, compare_scalar, select, select_sides};
pub use complex::{complex, imag, real};
pub use complex_bits::bitcast;
pub use convert::convert;
pub use functions::body::formula_body;
pub use functions::erf::special;
pub use functions::of_one::unary_function;
pub use functions::of_two::binary_function;
pub use members::{
    BinaryMember, UnaryMember, binary_member, binary_member_in_place, binary_member_scalar, binary_member_varying,
    unary_member,
};
pub use packed_bits::bitcast_convert;
pub use subbyte::{pack, unpack};
pub use total_order::compare_total_order;
pub use unary::unary;
