//! Random bits and numbers, which depend on the key alone.

use crate::case::{Case, MOST_ELEMENTS};
use crate::sweep::{Operation, sweep};
use base::types::{DType, TensorType};
use ir::NodeId;
use ops::random::{self, RngAlgorithm};

const OPERATIONS: &[Operation] = &[
    ("random_bits", 2, random_bits),
    ("rng_bit_generator", 2, rng_bit_generator),
    ("random_split", 1, random_split),
    ("random_uniform", 1, random_uniform),
    ("random_bernoulli", 1, random_bernoulli),
    ("random_of_a_distribution", 3, random_of_a_distribution),
    ("random_categorical", 1, random_categorical),
];

#[test]
fn random_numbers_agree_on_meshes() {
    sweep(OPERATIONS);
}

fn key(case: &mut Case) -> NodeId {
    case.operand_of(DType::U32, &[2], |random| (random.bits() >> 32) as f64)
}

fn algorithm(case: &mut Case) -> RngAlgorithm {
    case.pick(&[RngAlgorithm::ThreeFry, RngAlgorithm::Philox])
}

fn random_bits(case: &mut Case) -> Vec<NodeId> {
    let (key, algorithm, dims) = (key(case), algorithm(case), case.shape(0..=3, MOST_ELEMENTS));
    let dtype = case.pick(&[DType::U32, DType::U64, DType::S32]);
    case.note(&format!("{algorithm:?}"));
    vec![random::random_bits(&mut case.trace, algorithm, key, &TensorType::new(dtype, &dims)).unwrap()]
}

/// The bits and the next state.
fn rng_bit_generator(case: &mut Case) -> Vec<NodeId> {
    let algorithm = algorithm(case);
    let length = if algorithm == RngAlgorithm::Philox { case.between(2, 3) } else { 2 };
    let state = case.operand_of(DType::U64, &[length], |random| (random.bits() >> 32) as f64);
    let dims = case.shape(1..=3, MOST_ELEMENTS);
    let dtype = case.pick(&[DType::U32, DType::U64]);
    case.note(&format!("{algorithm:?}"));
    let ty = TensorType::new(dtype, &dims);
    random::rng_bit_generator(&mut case.trace, algorithm, state, &ty).unwrap().to_vec()
}

fn random_split(case: &mut Case) -> Vec<NodeId> {
    let (key, algorithm, n) = (key(case), algorithm(case), case.size(12));
    vec![random::random_split(&mut case.trace, algorithm, key, n).unwrap()]
}

fn random_uniform(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-6;
    let (key, algorithm, dims) = (key(case), algorithm(case), case.shape(0..=3, MOST_ELEMENTS));
    let dtype = case.pick(&[DType::F32, DType::F64]);
    let ty = TensorType::new(dtype, &dims);
    vec![random::random_uniform(&mut case.trace, algorithm, key, &ty, -1.0, 3.0).unwrap()]
}

fn random_bernoulli(case: &mut Case) -> Vec<NodeId> {
    let (key, algorithm, dims) = (key(case), algorithm(case), case.shape(0..=3, MOST_ELEMENTS));
    vec![random::random_bernoulli(&mut case.trace, algorithm, key, 0.5, &dims).unwrap()]
}

fn random_of_a_distribution(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-5;
    let (key, algorithm, dims) = (key(case), algorithm(case), case.shape(0..=3, MOST_ELEMENTS));
    let dtype = case.pick(&[DType::F32, DType::F64]);
    let ty = TensorType::new(dtype, &dims);
    let which = case.random.below(5);
    case.note(&format!("distribution {which}"));
    let t = &mut case.trace;
    let made = match which {
        0 => random::random_exponential(t, algorithm, key, &ty),
        1 => random::random_gumbel(t, algorithm, key, &ty),
        2 => random::random_laplace(t, algorithm, key, &ty),
        3 => random::random_normal(t, algorithm, key, &ty),
        _ => random::random_truncated_normal(t, algorithm, key, &ty, -1.0, 2.0),
    };
    vec![made.unwrap()]
}

/// The sums of logits and Gumbel numbers are of f64: two that are rounding apart are too rare to be drawn.
fn random_categorical(case: &mut Case) -> Vec<NodeId> {
    let (key, algorithm) = (key(case), algorithm(case));
    let dims = case.shape(1..=3, 100);
    let axis = case.axis(&dims);
    let logits = case.operand(DType::F64, &dims);
    let draws = case.shape(0..=1, 4);
    let dtype = case.pick(&[DType::S32, DType::S64]);
    case.note(&format!("axis {axis}, {draws:?} draws"));
    let t = &mut case.trace;
    vec![random::random_categorical(t, algorithm, key, logits, axis as i64, &draws, dtype).unwrap()]
}
