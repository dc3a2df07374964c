//! Checkpoint policies: which values a forward pass saves for its backward pass.

use ir::{Attributes, Words};

/// Checkpoint policy: the values that a forward pass saves if the backward pass needs them. The backward pass
/// recomputes the others. Results of operations with several results (loops, branches, calls, sorts, scatters,
/// reductions by bodies, barriers) are always saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Checkpoint {
    /// All values, except results of reshapes, broadcasts, other rearrangements and widening conversions, which are
    /// cheap to compute again.
    #[default]
    SaveAll,
    /// Only parameters.
    SaveNone,
    /// Parameters, and results of dot products and convolutions.
    SaveDots,
    /// Parameters, and values with these names (`lxla_checkpoint_name`).
    SaveNamed(Vec<String>),
}

impl Attributes for Checkpoint {
    fn write(&self, words: &mut Words) {
        let none = vec![];
        let (number, names) = match self {
            Checkpoint::SaveAll => (1, &none),
            Checkpoint::SaveNone => (2, &none),
            Checkpoint::SaveDots => (3, &none),
            Checkpoint::SaveNamed(names) => (4, names),
        };
        i64::write(&number, words);
        names.write(words);
    }

    fn read(words: &mut &[i64]) -> Checkpoint {
        match (i64::read(words), Vec::read(words)) {
            (1, _) => Checkpoint::SaveAll,
            (2, _) => Checkpoint::SaveNone,
            (3, _) => Checkpoint::SaveDots,
            (_, names) => Checkpoint::SaveNamed(names),
        }
    }
}
