//! Labels of a list of operations, as runs: most operations have the label of the one before.

use crate::label::Label;

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

    /// Appends runs that [`Labels::since`] returned.
    pub fn extend(&mut self, runs: &[(u32, Label)]) {
        runs.iter().for_each(|&(start, label)| self.begin(start, label));
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
        copy.extend(&labels.since(0));
        assert_eq!(copy, labels);
        labels.truncate(7);
        assert_eq!(labels.last(), a);
        labels.truncate(2);
        assert!(labels.is_empty());
    }
}
