//! Products of tensors.

use super::action::Action;
use super::twin::{Outcome, Pair, Twin, World};
use crate::record::on;
use crate::scratch::Scratch;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType};
use ir::BinaryOp;
use lazyxla::device::TensorHandle;
use lazyxla::tensor::snapshot;
use ops::linalg::{self, DotAxes};
use ops::nn::{self, ConvolutionOptions};
use ops::{creation, elementwise, shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Product {
    Matmul,
    DotGeneral,
    Einsum,
    Convolution,
    /// Gradient of the weights of a layer with many inputs and few outputs, which has a lowering of its own.
    Narrow,
}

impl Product {
    pub const TABLE: &[(usize, Product)] = &[
        (4, Product::Matmul),
        (3, Product::DotGeneral),
        (3, Product::Einsum),
        (3, Product::Convolution),
        (3, Product::Narrow),
    ];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        let b = twin.pick_like(action.tensors[1], a);
        if !a.is_whole() || !b.is_whole() {
            return Ok(());
        }
        let (ta, tb, numbers) = (a.ty(), b.ty(), action.numbers);
        let parts = if [a, b].iter().any(|pair| pair.dtype().kind() == Kind::Complex) { 2.0 } else { 1.0 };
        let terms = ta.elements().max(tb.elements()).max(1) as f64;
        let bound = match self {
            Product::Narrow => a.bound * a.bound * 62.0,
            _ => a.bound * b.bound,
        };
        twin.computed(parts * bound * terms, |world| self.of_two(world, [a, b], [&ta, &tb], numbers))
    }

    fn of_two(self, world: World, pairs: [Pair; 2], [ta, tb]: [&TensorType; 2], n: [u8; 4]) -> Result<TensorHandle> {
        let [a, b] = pairs.map(|pair| world.of(pair));
        match self {
            Product::Matmul => on([a, b], |t, [a, b]| linalg::matmul(t, a, b)),
            Product::Einsum => on([a, b], |t, list| linalg::einsum(t, equation(ta, tb, n[0]), &list)),
            Product::DotGeneral => dot_general([a, b], [ta, tb], n),
            Product::Convolution => convolution([a, b], [ta, tb], n),
            Product::Narrow => narrow(a, ta, n),
        }
    }
}

/// Three rows of `transpose(x) * g`, where the columns of x are 0 to 31 times the elements of `a`, and those of g 1 and
/// 2 times. In f32 unless `a` is complex: the lowering is for f32 only.
fn narrow(a: TensorHandle, ty: &TensorType, n: [u8; 4]) -> Result<TensorHandle> {
    let dtype = if ty.dtype.kind() == Kind::Complex { ty.dtype } else { DType::F32 };
    on([a], |t, [a]| {
        let a = elementwise::convert(t, a, dtype);
        let column = shape::reshape(t, a, &[ty.elements() as i64, 1])?;
        let inputs = creation::iota(t, &TensorType::new(dtype, &[1, 32]), 1)?;
        let outputs = creation::iota(t, &TensorType::new(dtype, &[1, 2]), 1)?;
        let outputs = elementwise::binary_scalar(t, BinaryOp::Add, outputs, ScalarValue::Signed(1), false)?;
        let x = elementwise::binary(t, BinaryOp::Multiply, column, inputs)?;
        let g = elementwise::binary(t, BinaryOp::Multiply, column, outputs)?;
        let product = if n[0] < 128 {
            let x = shape::transpose(t, x, &[1, 0])?;
            linalg::matmul(t, x, g)?
        } else {
            // With one axis of rows, or two.
            let (x, g, rows): (_, _, &[i64]) = if n[2] < 128 {
                (x, g, &[0])
            } else {
                (shape::expand_dims(t, x, &[0])?, shape::expand_dims(t, g, &[0])?, &[0, 1])
            };
            let axes = DotAxes { lhs_batching: &[], rhs_batching: &[], lhs_contracting: rows, rhs_contracting: rows };
            linalg::dot_general(t, x, g, &axes, None)?
        };
        let first = i64::from(n[1]) % 30;
        shape::slice(t, product, &[first, 0], &[first + 3, 2], &[1, 1])
    })
}

pub fn equation(a: &TensorType, b: &TensorType, choice: u8) -> &'static str {
    let table: &[&str] = match (a.dims.len(), b.dims.len()) {
        (0, _) => &[",...->..."],
        (1, 1) => &["i,i->", "i,j->ij", "i,i->i", "i,j->ji"],
        (2, 2) => &["ij,jk->ik", "ij,kj->ik", "ij,ij->", "ij,ij->ij", "ij,kl->ijkl", "ij,ik->jk", "ij,ij->j"],
        (2, 1) => &["ij,j->i", "ij,i->j", "ij,j->ji", "ij,k->ijk"],
        (3, 3) => &["bij,bjk->bik", "bij,bij->b", "bij,bkj->bik", "ijk,ijk->"],
        (3, 2) => &["bij,jk->bik", "bij,bi->j", "bij,bj->bi"],
        _ => &["...i,...i->...", "...i,...j->...ij", "...,...->..."],
    };
    table[choice as usize % table.len()]
}

/// Contracts and batches axes of equal size, starting from the last.
fn dot_general([a, b]: [TensorHandle; 2], [ta, tb]: [&TensorType; 2], n: [u8; 4]) -> Result<TensorHandle> {
    let mut pairs: Vec<(i64, i64)> = Vec::new();
    for (i, dim) in ta.dims.iter().enumerate().rev() {
        let is_free = |j: usize| !pairs.iter().any(|&(_, taken)| taken == j as i64);
        if let Some(j) = (0..tb.dims.len()).find(|&j| tb.dims[j] == *dim && is_free(j)) {
            pairs.push((i as i64, j as i64));
        }
    }
    pairs.truncate(n[0] as usize % 4);
    let batches = (n[1] as usize % 3).min(pairs.len());
    let (contracting, batching) = pairs.split_at(pairs.len() - batches);
    let left = |list: &[(i64, i64)]| list.iter().map(|pair| pair.0).collect::<Vec<i64>>();
    let right = |list: &[(i64, i64)]| list.iter().map(|pair| pair.1).collect::<Vec<i64>>();
    let axes = DotAxes {
        lhs_batching: &left(batching),
        rhs_batching: &right(batching),
        lhs_contracting: &left(contracting),
        rhs_contracting: &right(contracting),
    };
    let wider = match ta.dtype {
        DType::F16 | DType::BF16 => Some(DType::F32),
        DType::S8 | DType::S16 => Some(DType::S32),
        DType::U8 => Some(DType::U32),
        _ => None,
    };
    on([a, b], |t, [a, b]| linalg::dot_general(t, a, b, &axes, wider.filter(|_| n[2] < 128)))
}

/// Convolution with one spatial axis, of arrays as they are or reshaped: without batch and features, or with them and
/// perhaps with groups.
pub fn convolution([a, b]: [TensorHandle; 2], [ta, tb]: [&TensorType; 2], n: [u8; 4]) -> Result<TensorHandle> {
    let mut scratch = Scratch::default();
    let [first, second, third, fourth] = n.map(i64::from);
    let counts = [ta, tb].map(|ty| ty.elements() as i64);
    let groups = [[1, 1], [1, 1], [2, 1], [1, 2]][n[2] as usize / 2 % 4];
    let folded = folded(counts, groups, first / 4);
    let (shapes, [feature_groups, batch_groups]) = match folded {
        Some(shapes) if !n[3].is_multiple_of(4) => (shapes, groups),
        _ => (counts.map(|count| [1, 1, count]), [1, 1]),
    };
    let mut operands = [a, b];
    for ((x, ty), shape) in operands.iter_mut().zip([ta, tb]).zip(shapes) {
        let made = match ty.dims.len() {
            3 if n[3] >= 192 => snapshot(*x)?,
            _ => on([*x], |t, [x]| shape::reshape(t, x, &shape))?,
        };
        *x = scratch.keep(made);
    }
    let options = ConvolutionOptions {
        window_strides: Some(&[1 + first % 2]),
        padding_low: Some(&[second % 4 - 1]),
        padding_high: Some(&[second / 4 % 4]),
        lhs_dilation: Some(&[1 + first / 2 % 2]),
        rhs_dilation: Some(&[1 + third % 2]),
        window_reversal: Some(&[fourth % 2]),
        feature_groups,
        batch_groups,
        ..ConvolutionOptions::default()
    };
    on(operands, |t, [a, b]| nn::convolution(t, a, b, &options))
}

/// Shapes of an array and a kernel with so many elements, for a convolution in these numbers of feature groups and
/// batch groups; None if the groups do not fit.
fn folded([count, taps]: [i64; 2], [feature_groups, batch_groups]: [i64; 2], choice: i64) -> Option<[[i64; 3]; 2]> {
    let is_even = count % (2 * feature_groups) == 0 && taps % 2 == 0;
    let features = if is_even && choice % 2 == 1 { 2 } else { 1 };
    if count % (features * feature_groups) != 0 {
        return None;
    }
    let (count, taps) = (count / (features * feature_groups), taps / features);
    let batch = divisor(count, batch_groups, choice / 2)?;
    let outputs = divisor(taps, feature_groups.max(batch_groups), choice / 8)?;
    Some([[batch, features * feature_groups, count / batch], [outputs, features, taps / outputs]])
}

/// One of 1, 2, 4 and 8 times `unit` that divides the count.
fn divisor(count: i64, unit: i64, choice: i64) -> Option<i64> {
    let fitting: Vec<i64> = [1, 2, 4, 8].into_iter().map(|k| k * unit).filter(|size| count % size == 0).collect();
    (!fitting.is_empty()).then(|| fitting[choice as usize % fitting.len()])
}
