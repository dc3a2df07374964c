//! Separates the sizes of a program from its structure.

use super::super::op::Op;
use super::super::program::{Body, DIGEST_WORDS, END, Program};
use base::types::Scalar;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Nesting depth, and number of numbers, beyond which a program is not spread.
const MOST_DEPTH: usize = 32;
const MOST_NUMBERS: usize = 1 << 22;

/// A program and the bodies that it applies, in order of application: numbers that may depend on sizes, and the rest.
/// The dimensions and the attributes of a value are numbers, the scalars of bodies are apart. Shapes of equal
/// dimensions are not shared, so that sizes that become equal leave the skeleton as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    /// Operations, dtypes, ranks, operands and outputs.
    pub skeleton: Vec<u32>,
    /// Dimensions, then words of the attributes, of each value.
    pub numbers: Vec<i64>,
    /// Scalars of the bodies. The scalars of a body precede the scalars of the bodies that it applies.
    pub inner: Vec<Scalar>,
}

impl Spread {
    /// Spreads a program; None if it is too deep or too large to be compared.
    pub fn of(program: &Program) -> Option<Spread> {
        if program.depth() > MOST_DEPTH {
            return None;
        }
        let mut spread = Spread::default();
        spread.add(program).then_some(spread)
    }

    /// Hash of the skeleton.
    pub fn key(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.skeleton.hash(&mut hasher);
        hasher.finish()
    }

    fn add(&mut self, program: &Program) -> bool {
        let words = program.words();
        let mut shapes: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        while words[at] != END {
            let op = Op::from_code(words[at] >> 16).expect("the encoder writes known operations");
            let shape = words[at + 1] as usize;
            self.skeleton.push(words[at]);
            at += 2;
            if shape == shapes.len() {
                let rank = words[at] as usize;
                shapes.push(at + 1..at + 1 + 2 * rank);
                at += 1 + 2 * rank;
            }
            let dims = shapes[shape].clone();
            self.skeleton.push(dims.len() as u32 / 2);
            self.push_numbers(&words[dims]);
            let arity = op.arity().unwrap_or_else(|| {
                at += 1;
                self.skeleton.push(words[at - 1]);
                words[at - 1] as usize
            });
            self.skeleton.extend_from_slice(&words[at..at + arity]);
            at += arity;
            let first = self.numbers.len();
            if op.has_attributes() {
                let count = words[at] as usize;
                self.skeleton.push(words[at]);
                self.push_numbers(&words[at + 1..at + 1 + 2 * count]);
                at += 1 + 2 * count;
            }
            for _ in 0..op.body_count(&self.numbers[first..]) {
                let digest = &words[at..at + DIGEST_WORDS];
                at += DIGEST_WORDS;
                let body = program.bodies().iter().find(|body| body.digest() == digest);
                if !self.add_body(body.expect("a program holds the bodies that its words name")) {
                    return false;
                }
            }
        }
        self.skeleton.extend_from_slice(&words[at..]);
        self.numbers.len() <= MOST_NUMBERS
    }

    fn add_body(&mut self, body: &Body) -> bool {
        self.skeleton.push(body.parameters().len() as u32);
        self.inner.extend_from_slice(body.scalars());
        self.add(body.program())
    }

    fn push_numbers(&mut self, words: &[u32]) {
        let wide = |pair: &[u32]| i64::from(pair[1] as i32) << 32 | i64::from(pair[0]);
        self.numbers.extend(words.chunks_exact(2).map(wide));
    }
}
