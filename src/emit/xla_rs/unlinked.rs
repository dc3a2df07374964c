//! A computation as XlaBuilder builds it, with the instructions that linking puts in.

use super::wire::Message;
use std::cell::RefCell;
use xla::XlaBuilder;

/// An instruction that replaces a hole.
pub struct Hole {
    /// Its opcode in HLO.
    pub opcode: String,
    /// Its fields, apart from those that every instruction has.
    pub attributes: Message,
    /// Numbers of the computations that it applies.
    pub called: Vec<u64>,
    /// Number of the dtype of its result, if the crate has no name for it.
    pub element: Option<u64>,
}

/// A computation that is not linked yet.
pub struct Unlinked {
    /// The crate's builder.
    pub builder: XlaBuilder,
    /// Number of the computation's own parameters.
    pub(super) parameters: usize,
    /// The instructions that will replace its holes.
    pub(super) holes: RefCell<Vec<Hole>>,
}

impl Unlinked {
    /// A computation with this number of parameters, and no holes.
    pub(super) fn new(builder: XlaBuilder, parameters: usize) -> Unlinked {
        Unlinked { builder, parameters, holes: RefCell::default() }
    }
}
