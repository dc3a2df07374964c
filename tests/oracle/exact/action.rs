//! The actions of random programs of whole numbers and bits. An action's numbers choose among the tensors that exist
//! when it runs, so a program remains valid when actions are removed: this is how failing programs are shrunk.

use super::control::Control;
use super::creation::Creation;
use super::elementwise::Elementwise;
use super::indexing::Indexing;
use super::life::Life;
use super::products::Product;
use super::reduction::Reduction;
use super::selection::Selection;
use super::shape::Shape;
use super::sorting::Sorting;
use super::twin::{Outcome, Twin};
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt;

#[derive(Clone, Copy)]
pub struct Action {
    pub kind: Kind,
    /// Selects the operand tensors, for kinds that take any.
    pub tensors: [u16; 3],
    /// Selects everything else.
    pub numbers: [u8; 4],
}

/// Families of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Creation(Creation),
    Life(Life),
    Elementwise(Elementwise),
    Shape(Shape),
    Indexing(Indexing),
    Selection(Selection),
    Sorting(Sorting),
    Reduction(Reduction),
    Product(Product),
    Control(Control),
}

/// Formats on one line, also in pretty-printed programs.
impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?} of {:?} by {:?}", self.kind, self.tensors, self.numbers)
    }
}

impl Kind {
    /// Returns true if the action has an effect on tensors that can be checked.
    pub fn is_seen(self) -> bool {
        !matches!(self, Kind::Life(Life::Step | Life::StepSome | Life::Read | Life::Sync | Life::Release | Life::Save))
    }
}

impl Action {
    pub fn act(&self, twin: &mut Twin) -> Outcome {
        match self.kind {
            Kind::Creation(kind) => kind.act(twin, self),
            Kind::Life(kind) => kind.act(twin, self),
            Kind::Elementwise(kind) => kind.act(twin, self),
            Kind::Shape(kind) => kind.act(twin, self),
            Kind::Indexing(kind) => kind.act(twin, self),
            Kind::Selection(kind) => kind.act(twin, self),
            Kind::Sorting(kind) => kind.act(twin, self),
            Kind::Reduction(kind) => kind.act(twin, self),
            Kind::Product(kind) => kind.act(twin, self),
            Kind::Control(kind) => kind.act(twin, self),
        }
    }
}

/// Actions of programs with NaN and infinities, whose results are defined: no conversions to integers, no bits of NaN,
/// no comparators of the caller's, and no convolutions, whose padding is multiplied or left out.
const ON_SPECIALS: &[(usize, Kind)] = &[
    (20, Kind::Creation(Creation::FromHost)),
    (6, Kind::Life(Life::Step)),
    (6, Kind::Life(Life::StepSome)),
    (4, Kind::Life(Life::Read)),
    (4, Kind::Life(Life::Sync)),
    (4, Kind::Life(Life::Snapshot)),
    (4, Kind::Life(Life::Assign)),
    (2, Kind::Life(Life::Write)),
    (6, Kind::Life(Life::Release)),
    (20, Kind::Life(Life::Shard)),
    (12, Kind::Elementwise(Elementwise::Binary)),
    (8, Kind::Elementwise(Elementwise::BinaryInPlace)),
    (4, Kind::Elementwise(Elementwise::Unary)),
    (4, Kind::Elementwise(Elementwise::Compare)),
    (4, Kind::Elementwise(Elementwise::Select)),
    (3, Kind::Shape(Shape::Reshape)),
    (3, Kind::Shape(Shape::BroadcastTo)),
    (3, Kind::Shape(Shape::Transpose)),
    (3, Kind::Shape(Shape::Slice)),
    (2, Kind::Shape(Shape::Reverse)),
    (2, Kind::Shape(Shape::Roll)),
    (3, Kind::Shape(Shape::Pad)),
    (4, Kind::Shape(Shape::Concatenate)),
    (2, Kind::Shape(Shape::Stack)),
    (3, Kind::Indexing(Indexing::Take)),
    (4, Kind::Indexing(Indexing::DynamicSlice)),
    (4, Kind::Indexing(Indexing::UpdateSlice)),
    (3, Kind::Indexing(Indexing::Gather)),
    (2, Kind::Sorting(Sorting::SortAlong)),
    (3, Kind::Sorting(Sorting::ArgExtreme)),
    (4, Kind::Sorting(Sorting::Cumulative)),
    (10, Kind::Reduction(Reduction::Reduce)),
    (4, Kind::Reduction(Reduction::ReduceWith)),
    (4, Kind::Reduction(Reduction::ReduceWindow)),
    (5, Kind::Product(Product::Matmul)),
    (3, Kind::Product(Product::DotGeneral)),
    (3, Kind::Product(Product::Einsum)),
    (3, Kind::Control(Control::Call)),
];

/// Strategy for an action of a program with NaN and infinities.
pub fn action_on_specials() -> impl Strategy<Value = Action> {
    of_kinds(ON_SPECIALS.iter().flat_map(|&(weight, kind)| vec![kind; weight]).collect())
}

/// Strategy for an action of these kinds.
fn of_kinds(kinds: Vec<Kind>) -> impl Strategy<Value = Action> {
    let (tensors, numbers) = (any::<[u16; 3]>(), any::<[u8; 4]>());
    (select(kinds), tensors, numbers).prop_map(|(kind, tensors, numbers)| Action { kind, tensors, numbers })
}

/// Strategy for an action. The weights of its kinds are in each family's table.
pub fn action(is_on_mesh: bool) -> impl Strategy<Value = Action> {
    of_kinds(kinds(is_on_mesh))
}

/// Strategy for an action on one device that computes nothing twice: reads, syncs, saves and steps, but no steps of some
/// values, which leave others pending that share work with them.
pub fn action_that_repeats_nothing() -> impl Strategy<Value = Action> {
    let mut kinds = kinds(false);
    kinds.retain(|kind| *kind != Kind::Life(Life::StepSome));
    of_kinds(kinds)
}

/// The kinds of actions, each as often as its weight.
fn kinds(is_on_mesh: bool) -> Vec<Kind> {
    fn weighed<T: Copy>(table: &[(usize, T)], kind: impl Fn(T) -> Kind) -> Vec<Kind> {
        table.iter().flat_map(|&(weight, member)| vec![kind(member); weight]).collect()
    }
    let mut kinds = [
        weighed(Creation::TABLE, Kind::Creation),
        weighed(Life::TABLE, Kind::Life),
        weighed(Elementwise::TABLE, Kind::Elementwise),
        weighed(Shape::TABLE, Kind::Shape),
        weighed(Indexing::TABLE, Kind::Indexing),
        weighed(Selection::TABLE, Kind::Selection),
        weighed(Sorting::TABLE, Kind::Sorting),
        weighed(Reduction::TABLE, Kind::Reduction),
        weighed(Product::TABLE, Kind::Product),
        weighed(Control::TABLE, Kind::Control),
    ]
    .concat();
    if is_on_mesh {
        kinds.extend(weighed(Life::ON_MESH, Kind::Life));
    }
    kinds
}
