//! What a random program does. Numbers choose among what there is when the action's turn comes, so that a program from
//! which actions were taken out is still a program: that is how failures are shrunk.

use super::control::Control;
use super::creation::Creation;
use super::elementwise::Elementwise;
use super::folding::Folding;
use super::indexing::Indexing;
use super::life::Life;
use super::movement::Movement;
use super::ordering::Ordering;
use super::products::Product;
use super::selection::Selection;
use super::twin::{Outcome, Twin};
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt;

#[derive(Clone, Copy)]
pub struct Action {
    pub kind: Kind,
    /// Which tensors it is done to, as far as it takes any.
    pub tensors: [u16; 3],
    /// All else that it has to choose.
    pub numbers: [u8; 4],
}

/// The families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Creation(Creation),
    Life(Life),
    Elementwise(Elementwise),
    Movement(Movement),
    Indexing(Indexing),
    Selection(Selection),
    Ordering(Ordering),
    Folding(Folding),
    Product(Product),
    Control(Control),
}

/// In one line, also where a program is printed.
impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?} of {:?} by {:?}", self.kind, self.tensors, self.numbers)
    }
}

impl Kind {
    /// Whether what it does can be seen in tensors.
    pub fn is_seen(self) -> bool {
        !matches!(self, Kind::Life(Life::Step | Life::Read | Life::Sync | Life::Release | Life::Save))
    }
}

impl Action {
    pub fn act(&self, twin: &mut Twin) -> Outcome {
        match self.kind {
            Kind::Creation(kind) => kind.act(twin, self),
            Kind::Life(kind) => kind.act(twin, self),
            Kind::Elementwise(kind) => kind.act(twin, self),
            Kind::Movement(kind) => kind.act(twin, self),
            Kind::Indexing(kind) => kind.act(twin, self),
            Kind::Selection(kind) => kind.act(twin, self),
            Kind::Ordering(kind) => kind.act(twin, self),
            Kind::Folding(kind) => kind.act(twin, self),
            Kind::Product(kind) => kind.act(twin, self),
            Kind::Control(kind) => kind.act(twin, self),
        }
    }
}

/// An action; how often each family has its members is said there.
pub fn action() -> impl Strategy<Value = Action> {
    fn weighed<T: Copy>(table: &[(usize, T)], kind: impl Fn(T) -> Kind) -> Vec<Kind> {
        table.iter().flat_map(|&(weight, member)| vec![kind(member); weight]).collect()
    }
    let kinds = [
        weighed(Creation::TABLE, Kind::Creation),
        weighed(Life::TABLE, Kind::Life),
        weighed(Elementwise::TABLE, Kind::Elementwise),
        weighed(Movement::TABLE, Kind::Movement),
        weighed(Indexing::TABLE, Kind::Indexing),
        weighed(Selection::TABLE, Kind::Selection),
        weighed(Ordering::TABLE, Kind::Ordering),
        weighed(Folding::TABLE, Kind::Folding),
        weighed(Product::TABLE, Kind::Product),
        weighed(Control::TABLE, Kind::Control),
    ];
    let (tensors, numbers) = (any::<[u16; 3]>(), any::<[u8; 4]>());
    (select(kinds.concat()), tensors, numbers).prop_map(|(kind, tensors, numbers)| Action { kind, tensors, numbers })
}
