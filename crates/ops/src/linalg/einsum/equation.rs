//! Parser of einsum equations in NumPy's notation, such as `ij,jk->ik`.

use base::error;
use base::error::{Error, Result};

/// An index of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Index {
    /// An axis covered by an ellipsis, counted from the last such axis.
    Ellipsis(usize),
    /// A named index.
    Letter(char),
}

impl std::fmt::Display for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Index::Ellipsis(from_last) => write!(f, "axis -{} of '...'", from_last + 1),
            Index::Letter(letter) => write!(f, "'{letter}'"),
        }
    }
}

/// An equation for operands of known ranks.
#[derive(Debug, PartialEq, Eq)]
pub struct Equation {
    /// Index of each axis of each operand.
    pub operands: Vec<Vec<Index>>,
    /// Index of each axis of the result; no index occurs twice.
    pub output: Vec<Index>,
}

/// One operand of an equation: letters, with an ellipsis before the letter at position `ellipsis`, if any.
struct Term {
    letters: Vec<char>,
    ellipsis: Option<usize>,
}

impl Equation {
    /// Parses an equation for operands of these ranks. Errors describe the fault and do not quote the equation.
    pub fn parse(text: &str, ranks: &[usize]) -> Result<Equation> {
        let (inputs, output) = match text.split_once("->") {
            Some((inputs, output)) => (inputs, Some(Term::parse(output)?)),
            None => (text, None),
        };
        let terms = inputs.split(',').map(Term::parse).collect::<Result<Vec<Term>>>()?;
        if terms.len() != ranks.len() {
            return Err(error!(InvalidArgument, "it has {} operands; {} tensors given", terms.len(), ranks.len()));
        }
        let mut operands = Vec::with_capacity(terms.len());
        for (i, (term, &rank)) in terms.iter().zip(ranks).enumerate() {
            operands.push(term.of_rank(rank).ok_or_else(|| term.no_such_rank(i, rank))?);
        }
        let hidden = terms.iter().zip(ranks).map(|(term, rank)| rank - term.letters.len()).max().unwrap_or(0);
        let output = match output {
            Some(output) => explicit(&output, &operands, hidden)?,
            None => implicit(&operands, hidden),
        };
        Ok(Equation { operands, output })
    }
}

impl Term {
    fn parse(text: &str) -> Result<Term> {
        let mut term = Term { letters: Vec::new(), ellipsis: None };
        let mut rest = text.trim();
        while let Some(next) = rest.chars().next() {
            if let Some(behind) = rest.strip_prefix("...") {
                if term.ellipsis.replace(term.letters.len()).is_some() {
                    return Err(error!(InvalidArgument, "'{}' has two ellipses", text.trim()));
                }
                rest = behind;
            } else if next.is_ascii_alphabetic() {
                term.letters.push(next);
                rest = &rest[1..];
            } else if next == ' ' {
                rest = &rest[1..];
            } else {
                return Err(error!(
                    InvalidArgument,
                    "'{next}' is not a letter; want letters, '...', ',' and at most one '->'"
                ));
            }
        }
        Ok(term)
    }

    /// Returns the index of each axis of a tensor of this rank; None if the rank does not fit the term.
    fn of_rank(&self, rank: usize) -> Option<Vec<Index>> {
        let hidden = rank.checked_sub(self.letters.len())?;
        let letters = |letters: &[char]| letters.iter().map(|&letter| Index::Letter(letter)).collect::<Vec<Index>>();
        match self.ellipsis {
            None if hidden > 0 => None,
            None => Some(letters(&self.letters)),
            Some(at) => Some([letters(&self.letters[..at]), ellipsis(hidden), letters(&self.letters[at..])].concat()),
        }
    }

    fn no_such_rank(&self, i: usize, rank: usize) -> Error {
        let least = if self.ellipsis.is_some() { "at least " } else { "" };
        error!(
            InvalidArgument,
            "tensors[{i}] has {rank} axes; its indices are '{}', which are {least}{}",
            self.letters.iter().collect::<String>(),
            self.letters.len()
        )
    }
}

/// Indices of an ellipsis that covers `hidden` axes.
fn ellipsis(hidden: usize) -> Vec<Index> {
    (0..hidden).rev().map(Index::Ellipsis).collect()
}

/// Returns the output indices that are written after `->`.
fn explicit(output: &Term, operands: &[Vec<Index>], hidden: usize) -> Result<Vec<Index>> {
    for (i, &letter) in output.letters.iter().enumerate() {
        if output.letters[..i].contains(&letter) {
            return Err(error!(InvalidArgument, "'{letter}' occurs twice after '->'"));
        }
        if !operands.iter().flatten().any(|&index| index == Index::Letter(letter)) {
            return Err(error!(InvalidArgument, "'{letter}' occurs only after '->'"));
        }
    }
    if output.ellipsis.is_none() && hidden > 0 {
        return Err(error!(
            InvalidArgument,
            "'...' covers {hidden} axes, and is missing after '->'; its axes are never summed over"
        ));
    }
    let rank = output.letters.len() + hidden;
    Ok(output.of_rank(rank).expect("a rank with as many hidden axes"))
}

/// Returns the output indices of an equation without `->`: the ellipsis axes, then the letters that occur once, in
/// alphabetical order.
fn implicit(operands: &[Vec<Index>], hidden: usize) -> Vec<Index> {
    let mut letters: Vec<Index> =
        operands.iter().flatten().copied().filter(|index| matches!(index, Index::Letter(_))).collect();
    letters.sort_unstable();
    let once = letters.chunk_by(|a, b| a == b).filter(|same| same.len() == 1).map(|same| same[0]);
    ellipsis(hidden).into_iter().chain(once).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats indices: letters as they are, `1` for the last axis of an ellipsis, `2` for the one before it.
    fn written(indices: &[Index]) -> String {
        let one = |index: &Index| match index {
            Index::Letter(letter) => *letter,
            Index::Ellipsis(from_last) => char::from(b'1' + *from_last as u8),
        };
        indices.iter().map(one).collect()
    }

    fn parsed(text: &str, ranks: &[usize]) -> (Vec<String>, String) {
        let equation = Equation::parse(text, ranks).unwrap();
        (equation.operands.iter().map(|indices| written(indices)).collect(), written(&equation.output))
    }

    #[test]
    fn outputs_are_written_or_follow() {
        let output = |text, ranks: &[usize]| parsed(text, ranks).1;
        assert_eq!(output("ij,jk->ki", &[2, 2]), "ki");
        assert_eq!(output("ij,jk", &[2, 2]), "ik");
        assert_eq!(output("ba", &[2]), "ab");
        assert_eq!(output("bA", &[2]), "Ab");
        assert_eq!(output("ii", &[2]), "");
        assert_eq!(output(" i j , j k -> i k ", &[2, 2]), "ik");
        assert_eq!(output(",i->i", &[0, 1]), "i");
        assert_eq!(output("", &[0]), "");
        assert_eq!(output("...->...", &[0]), "");
    }

    #[test]
    fn ellipses_are_aligned_at_their_end() {
        assert_eq!(parsed("...ij,...jk", &[3, 4]), (vec!["1ij".into(), "21jk".into()], "21ik".into()));
        assert_eq!(parsed("i...j->j...i", &[4]), (vec!["i21j".into()], "j21i".into()));
        assert_eq!(parsed("i...,i->...", &[1, 1]), (vec!["i".into(), "i".into()], "".into()));
        assert_eq!(parsed("ij->...i", &[2]).1, "i");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, ranks, words) in [
            ("ij,jk", &[2][..], "it has 2 operands; 1 tensors given"),
            ("ij", &[3], "tensors[0] has 3 axes; its indices are 'ij', which are 2"),
            ("i...j", &[1], "its indices are 'ij', which are at least 2"),
            ("i1", &[2], "'1' is not a letter"),
            ("i->j->k", &[1], "'-' is not a letter"),
            ("i..j", &[2], "'.' is not a letter"),
            ("...i...", &[2], "'...i...' has two ellipses"),
            ("ij->ii", &[2], "'i' occurs twice after '->'"),
            ("ij->k", &[2], "'k' occurs only after '->'"),
            ("...i->i", &[2], "'...' covers 1 axes, and is missing after '->'"),
            ("i->i,j", &[1], "',' is not a letter"),
        ] {
            let message = Equation::parse(text, ranks).unwrap_err().message.to_string();
            assert!(message.contains(words), "{text}: {message}");
        }
    }
}
