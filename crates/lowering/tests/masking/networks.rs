//! Losses of small networks with their gradients.

use crate::harness::{Check, input};
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, ReduceOp, Trace, UnaryOp, take_closed_body};
use lowering::transform::{Transformer, pull_back};
use ops::control::{self, Applied};
use ops::nn::ConvolutionOptions;
use ops::{creation, elementwise, indexing, linalg, nn, reduction, shape};

const F32: DType = DType::F32;
const S32: DType = DType::S32;

/// Compares a loss and its gradients by the inputs in the list.
fn check(name: &str, bounds: &[i64], least: usize, build: Loss) {
    let with_gradients = |trace: &mut Trace, sizes: &[i64]| {
        let (inputs, by, loss) = build(trace, sizes)?;
        let one = creation::full(trace, &TensorType::new(F32, &[]), ScalarValue::Signed(1))?;
        let gradients = pull_back(&Transformer::default(), trace, &[(loss, one)], &by)?;
        let mut results = vec![loss];
        results.extend(gradients.into_iter().flatten());
        match results.len() == by.len() + 1 {
            true => Ok((inputs, results)),
            // Without elements, the loss does not depend on the inputs.
            false => Err(error!(InvalidArgument, "a gradient is missing")),
        }
    };
    Check { name, bounds, tolerance: 2e-4, whole: false, least }.run(&with_gradients);
}

/// Records inputs, the inputs by which to differentiate, and a loss.
type Loss<'l> = &'l dyn Fn(&mut Trace, &[i64]) -> Result<(Vec<NodeId>, Vec<NodeId>, NodeId)>;

fn total(t: &mut Trace, x: NodeId) -> Result<NodeId> {
    let axes: Vec<i64> = (0..t.ty(x).dims.len() as i64).collect();
    let squares = elementwise::binary(t, BinaryOp::Multiply, x, x)?;
    reduction::reduce(t, ReduceOp::Sum, squares, &axes, false)
}

/// Cross entropy: the mean of the negative logarithms of the probabilities of the targets.
fn cross_entropy(t: &mut Trace, logits: NodeId, targets: NodeId) -> Result<NodeId> {
    let logarithms = nn::log_softmax(t, logits, 1)?;
    let rows = t.ty(targets).dims[0];
    let column = shape::reshape(t, targets, &[rows, 1])?;
    let picked = indexing::take_along_axis(t, logarithms, column, 1)?;
    let mean = reduction::mean(t, picked, &[0, 1], false)?;
    elementwise::unary(t, UnaryOp::Negate, mean)
}

#[test]
fn perceptron_with_cross_entropy() {
    check("mlp", &[9], 4, &|t, n| {
        let (x, targets) = (input(t, F32, &[n[0], 4]), input(t, S32, &[n[0]]));
        let (w, b, v) = (input(t, F32, &[4, 6]), input(t, F32, &[6]), input(t, F32, &[6, 5]));
        let hidden = linalg::matmul(t, x, w)?;
        let hidden = elementwise::binary(t, BinaryOp::Add, hidden, b)?;
        let hidden = elementwise::unary(t, UnaryOp::Tanh, hidden)?;
        let logits = linalg::matmul(t, hidden, v)?;
        let loss = cross_entropy(t, logits, targets)?;
        Ok((vec![x, targets, w, b, v], vec![w, b, v, x], loss))
    });
}

#[test]
fn attention() {
    check("attention", &[5, 6], 9, &|t, n| {
        let (batch, length) = (n[0], n[1]);
        let (x, w) = (input(t, F32, &[batch, length, 4]), input(t, F32, &[3, 4, 4]));
        let norm = nn::layer_norm(t, x, &[2], None, None, 1e-5)?;
        let flat = shape::reshape(t, norm, &[batch * length, 4])?;
        let mut parts = Vec::new();
        for part in 0..3 {
            let own = shape::slice(t, w, &[part, 0, 0], &[part + 1, 4, 4], &[1, 1, 1])?;
            let own = shape::reshape(t, own, &[4, 4])?;
            let made = linalg::matmul(t, flat, own)?;
            let heads = shape::reshape(t, made, &[batch, length, 2, 2])?;
            parts.push(shape::transpose(t, heads, &[0, 2, 1, 3])?);
        }
        let keys = shape::transpose(t, parts[1], &[0, 1, 3, 2])?;
        let scores = linalg::matmul(t, parts[0], keys)?;
        let square = TensorType::new(S32, &[length, length]);
        let (row, column) = (creation::iota(t, &square, 0)?, creation::iota(t, &square, 1)?);
        let is_seen = elementwise::compare(t, CompareOp::Ge, row, column)?;
        let never = creation::full(t, &TensorType::new(F32, &[]), ScalarValue::Float(-1e9))?;
        let scores = elementwise::select(t, is_seen, scores, never)?;
        let weights = nn::softmax(t, scores, 3)?;
        let mixed = linalg::matmul(t, weights, parts[2])?;
        let back = shape::transpose(t, mixed, &[0, 2, 1, 3])?;
        let joined = shape::reshape(t, back, &[batch * length, 4])?;
        let loss = total(t, joined)?;
        Ok((vec![x, w], vec![x, w], loss))
    });
}

#[test]
fn language_model() {
    check("next token", &[5, 6], 6, &|t, n| {
        let (batch, length) = (n[0], n[1]);
        let (tokens, table) = (input(t, S32, &[batch, length]), input(t, F32, &[7, 4]));
        let w = input(t, F32, &[4, 7]);
        let embedded = indexing::take(t, table, tokens, 0)?;
        let sums = reduction::cumulative(t, ReduceOp::Sum, embedded, 1, false)?;
        let logits = linalg::matmul(t, sums, w)?;
        let shown = shape::slice(t, logits, &[0, 0, 0], &[batch, length - 1, 7], &[1, 1, 1])?;
        let next = shape::slice(t, tokens, &[0, 1], &[batch, length], &[1, 1])?;
        let shown = shape::reshape(t, shown, &[batch * (length - 1), 7])?;
        let next = shape::reshape(t, next, &[batch * (length - 1)])?;
        let loss = cross_entropy(t, shown, next)?;
        Ok((vec![tokens, table, w], vec![table, w], loss))
    });
}

#[test]
fn convolutions() {
    check("conv", &[9], 4, &|t, n| {
        let (x, k) = (input(t, F32, &[n[0], 2, 6, 6]), input(t, F32, &[3, 2, 3, 3]));
        let options = ConvolutionOptions {
            feature_groups: 1,
            batch_groups: 1,
            padding_low: Some(&[1, 1]),
            padding_high: Some(&[1, 1]),
            window_strides: Some(&[2, 2]),
            ..Default::default()
        };
        let made = nn::convolution(t, x, k, &options)?;
        let made = elementwise::unary(t, UnaryOp::Tanh, made)?;
        let loss = total(t, made)?;
        Ok((vec![x, k], vec![x, k], loss))
    });
    check("conv along", &[9, 6], 6, &|t, n| {
        let (x, k) = (input(t, F32, &[n[0], 2, n[1] + 2]), input(t, F32, &[3, 2, 3]));
        let options = ConvolutionOptions {
            feature_groups: 1,
            batch_groups: 1,
            padding_low: Some(&[1]),
            padding_high: Some(&[1]),
            ..Default::default()
        };
        let made = nn::convolution(t, x, k, &options)?;
        let made = elementwise::unary(t, UnaryOp::Tanh, made)?;
        let loss = total(t, made)?;
        Ok((vec![x, k], vec![x, k], loss))
    });
}

#[test]
fn recurrent_network() {
    check("rnn", &[5, 7], 6, &|t, n| {
        let (batch, length) = (n[0], n[1]);
        let (x, w) = (input(t, F32, &[length, batch, 3]), input(t, F32, &[3, 3]));
        let start = creation::full(t, &TensorType::new(F32, &[batch, 3]), ScalarValue::Signed(0))?;
        let state = TensorType::new(F32, &[batch, 3]);
        let mut inner = Trace::new();
        let parameters = [state.clone(), state].map(|ty| inner.parameter(ty));
        let weights = inner.parameter(TensorType::new(F32, &[3, 3]));
        let mixed = linalg::matmul(&mut inner, parameters[0], weights)?;
        let sum = elementwise::binary(&mut inner, BinaryOp::Add, mixed, parameters[1])?;
        let next = elementwise::unary(&mut inner, UnaryOp::Tanh, sum)?;
        let body = take_closed_body(&inner, &parameters, &[weights], &[next, next])?;
        let applied = Applied { body: &body, captures: &[w] };
        let made = control::scan(t, &applied, &[start], &[x], length, false)?;
        let loss = total(t, made[1])?;
        Ok((vec![x, w], vec![x, w], loss))
    });
}

#[test]
fn sorted_and_gathered() {
    check("sort", &[9, 6], 6, &|t, n| {
        let x = input(t, F32, &[n[0], n[1]]);
        let sorted = ops::sorting::sort_along(t, x, 0, false, true)?;
        let best = reduction::reduce(t, ReduceOp::Max, x, &[1], true)?;
        let all = elementwise::binary(t, BinaryOp::Multiply, sorted, best)?;
        let running = reduction::cumulative(t, ReduceOp::Sum, all, 1, true)?;
        let loss = total(t, running)?;
        Ok((vec![x], vec![x], loss))
    });
}
