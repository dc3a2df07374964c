//! The einsum of XLA's client library, on random equations, right and wrong ones.

use crate::both::Both;
use crate::draw::Draw;
use base::types::TensorType;
use ops::linalg;

const LETTERS: [char; 4] = ['i', 'j', 'k', 'B'];
const ELLIPSIS: &str = "...";
/// Largest number of axes that an ellipsis covers.
const MOST_HIDDEN: usize = 2;

/// The indices of an operand, and its dims.
struct Term {
    letters: Vec<char>,
    text: String,
    dims: Vec<i64>,
}

/// A term whose axes mostly have the sizes of their letters, and those of an ellipsis the last sizes.
fn term(draw: &mut Draw, sizes: &[i64]) -> Term {
    let (mut letters, mut dims) = (Vec::new(), Vec::new());
    for _ in 0..draw.below(4) {
        let choice = draw.below(LETTERS.len() as u64) as usize;
        if letters.contains(&LETTERS[choice]) && !draw.one_in(6) {
            continue;
        }
        letters.push(LETTERS[choice]);
        dims.push(match draw.below(16) {
            0 => draw.between(0, 4),
            1 => 1,
            _ => sizes[choice],
        });
    }
    let mut text: String = letters.iter().collect();
    let is_wrong = draw.one_in(12);
    if draw.one_in(4) {
        let at = draw.below(letters.len() as u64 + 1) as usize;
        let first_hidden = LETTERS.len() + draw.below(MOST_HIDDEN as u64 + 1) as usize;
        text.insert_str(at, ELLIPSIS);
        dims = [&dims[..at], &sizes[first_hidden..], &dims[at..]].concat();
        if is_wrong {
            dims.pop();
        }
    } else if is_wrong {
        // One axis too many. XLA does not check for one too few, and reads past the dims.
        dims.push(draw.between(0, 4));
    }
    Term { letters, text, dims }
}

/// The equation of terms. In one case of five it does not say the indices of the result.
fn equation(draw: &mut Draw, terms: &[Term]) -> String {
    let mut text = terms.iter().map(|term| term.text.as_str()).collect::<Vec<_>>().join(",");
    if !draw.one_in(5) {
        let mut output = String::new();
        for _ in 0..draw.below(6) {
            let letter = LETTERS[draw.below(LETTERS.len() as u64) as usize];
            let is_known = terms.iter().any(|term| term.letters.contains(&letter));
            if (is_known && !output.contains(letter)) || draw.one_in(20) {
                output.push(letter);
            }
        }
        if text.contains(ELLIPSIS) != draw.one_in(10) {
            let at = draw.below(output.len() as u64 + 1) as usize;
            output.insert_str(at, ELLIPSIS);
        }
        text = format!("{text}->{output}");
    }
    if draw.one_in(16) {
        // Beside an ellipsis, XLA counts a space as a letter.
        let strange = if text.contains(ELLIPSIS) { ['1', ',', '>'] } else { ['1', ',', ' '] };
        let (at, choice) = (draw.below(text.len() as u64 + 1) as usize, draw.below(3) as usize);
        text.insert(at, strange[choice]);
    }
    text
}

/// Sizes of the letters, and of the axes of an ellipsis.
fn sizes(draw: &mut Draw) -> Vec<i64> {
    draw.dims(LETTERS.len() + MOST_HIDDEN)
}

pub fn of_one(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let sizes = sizes(draw);
    let terms = [term(draw, &sizes)];
    let dtype = draw.of_rank(0).dtype;
    let x = both.operand(&TensorType::new(dtype, &terms[0].dims));
    let text = equation(draw, &terms);
    both.ours(|trace| Ok(vec![linalg::einsum(trace, &text, &[x.node])?]));
    both.theirs(x.op.einsum1(&text));
    both.arguments = text;
    both
}

pub fn of_two(draw: &mut Draw) -> Both {
    let mut both = Both::new();
    let sizes = sizes(draw);
    let terms = [term(draw, &sizes), term(draw, &sizes)];
    let dtype = draw.of_rank(0).dtype;
    let other = if draw.one_in(6) { draw.dtype() } else { dtype };
    let a = both.operand(&TensorType::new(dtype, &terms[0].dims));
    let b = both.operand(&TensorType::new(other, &terms[1].dims));
    let text = equation(draw, &terms);
    both.ours(|trace| Ok(vec![linalg::einsum(trace, &text, &[a.node, b.node])?]));
    both.theirs(a.op.einsum2(&b.op, &text));
    both.arguments = text;
    both
}
