//! Labels of a list of operations, as runs: most operations have the label of the one before.

use base::label::{GRADIENT, Label};
use rustc_hash::FxHashMap;

/// Labels by position: of the nodes of a trace by id, or of the values of a program. Empty if none has a label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// First position of each run, ascending, and its label; runs that are adjacent have different labels. What
    /// precedes the first run has none.
    runs: Vec<(u32, Label)>,
}

impl Labels {
    /// Whether no position has a label.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Label of the last run.
    #[inline]
    pub fn last(&self) -> Label {
        self.runs.last().map_or(Label::NONE, |&(_, label)| label)
    }

    /// Gives the positions from `start` on this label. `start` is not before the last run.
    #[inline]
    pub fn begin(&mut self, start: u32, label: Label) {
        if self.last() != label {
            self.begin_another(start, label);
        }
    }

    fn begin_another(&mut self, start: u32, label: Label) {
        self.runs.pop_if(|&mut (last, _)| last >= start);
        if self.last() != label {
            self.runs.push((start, label));
        }
    }

    /// Label of a position.
    pub fn at(&self, position: u32) -> Label {
        let after = self.runs.partition_point(|&(start, _)| start <= position);
        after.checked_sub(1).map_or(Label::NONE, |run| self.runs[run].1)
    }

    /// How the labels of equal operations were renamed since, if each label became one other: a loop may number its
    /// steps. None otherwise. What has no label must have none, and cotangents must stay those of their operations, so
    /// that the labels of gradients follow.
    pub fn renaming(&self, now: &Labels) -> Option<Renaming> {
        let mut known = FxHashMap::default();
        if self == now {
            return Some(Renaming(known));
        }
        let mut starts: Vec<u32> = self.runs.iter().chain(&now.runs).map(|&(start, _)| start).collect();
        starts.sort_unstable();
        starts.dedup();
        for start in starts {
            let (old, new) = (self.at(start), now.at(start));
            let is_alike = old.is_none() == new.is_none() && (old.name() == GRADIENT) == (new.name() == GRADIENT);
            if !is_alike || *known.entry(old).or_insert(new) != new {
                return None;
            }
        }
        let follows = |(old, new): (&Label, &Label)| {
            old.name() != GRADIENT || known.get(&old.parent()).is_none_or(|parent| *parent == new.parent())
        };
        known.iter().all(follows).then_some(Renaming(known))
    }

    /// The labels, renamed.
    pub fn renamed(&self, renaming: &Renaming) -> Labels {
        let mut labels = Labels::default();
        self.runs.iter().for_each(|&(start, label)| labels.begin(start, renaming.of(label)));
        labels
    }

    /// The names that all labels begin with. Positions without a label do not count.
    pub fn common(&self) -> Label {
        let all = self.runs.iter().map(|&(_, label)| label).filter(|label| !label.is_none());
        all.reduce(Label::common).unwrap_or_default()
    }

    /// Removes the labels of the positions from `end` on.
    pub fn truncate(&mut self, end: u32) {
        while self.runs.pop_if(|&mut (start, _)| start >= end).is_some() {}
    }

    /// Removes all labels.
    #[inline]
    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// Labels of the positions from `start` on.
    pub fn since(&self, start: u32) -> Vec<(u32, Label)> {
        let later = self.runs.iter().copied().filter(|&(at, _)| at > start);
        [(start, self.at(start))].into_iter().chain(later).collect()
    }

    /// Makes room for this many more runs; false if there is no memory.
    pub fn reserve(&mut self, count: usize) -> bool {
        self.runs.try_reserve(count).is_ok()
    }

    /// Number of bytes that the runs take.
    pub fn size_bytes(&self) -> usize {
        self.runs.capacity() * size_of::<(u32, Label)>()
    }
}

/// New labels, by the old ones that differ. Others are kept.
pub struct Renaming(FxHashMap<Label, Label>);

impl Renaming {
    /// Whether all labels are kept.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The new label. That of a cotangent follows from that of its operation.
    pub fn of(&self, label: Label) -> Label {
        match self.0.get(&label) {
            Some(&new) => new,
            None if label.name() == GRADIENT => {
                let new = self.of(label.parent());
                new.child(GRADIENT).unwrap_or(new)
            }
            None => label,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_have_the_label_of_their_run() {
        let [a, b] = ["run a", "run b"].map(|name| Label::NONE.child(name).unwrap());
        let mut labels = Labels::default();
        labels.begin(0, Label::NONE);
        assert!(labels.is_empty());
        labels.begin(2, a);
        labels.begin(2, a);
        labels.begin(5, b);
        labels.begin(5, a);
        labels.begin(7, b);
        labels.begin(9, Label::NONE);
        let all = |labels: &Labels| (0..11).map(|i| labels.at(i)).collect::<Vec<_>>();
        let none = Label::NONE;
        assert_eq!(all(&labels), [none, none, a, a, a, a, a, b, b, none, none]);
        let mut copy = Labels::default();
        labels.since(0).into_iter().for_each(|(start, label)| copy.begin(start, label));
        assert_eq!(copy, labels);
        let [c, d] = ["run c", "run d"].map(|name| Label::NONE.child(name).unwrap());
        let mut others = Labels::default();
        others.begin(2, c);
        others.begin(7, d);
        others.begin(9, Label::NONE);
        let renaming = labels.renaming(&others).unwrap();
        assert_eq!(labels.renamed(&renaming), others);
        let gradient = |label: Label| label.child(GRADIENT).unwrap();
        assert_eq!(
            (renaming.of(gradient(a)), renaming.of(gradient(gradient(b)))),
            (gradient(c), gradient(gradient(d)))
        );
        assert_eq!(renaming.of(none), none);
        assert!(labels.renaming(&labels).unwrap().is_empty());
        // A label that becomes two; an operation without a label that gets one; the label of a gradient that does not.
        others.begin(9, c);
        assert!(labels.renaming(&others).is_none());
        others.truncate(9);
        others.begin(8, c);
        assert!(labels.renaming(&others).is_none());
        others.truncate(7);
        others.begin(7, gradient(d));
        others.begin(9, Label::NONE);
        assert!(labels.renaming(&others).is_none());
        labels.truncate(7);
        assert_eq!(labels.last(), a);
        labels.truncate(2);
        assert!(labels.is_empty());
    }
}
