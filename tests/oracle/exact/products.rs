//! Products of tensors.

use super::action::Action;
use super::twin::{Outcome, Pair, Twin, World};
use crate::record::on;
use crate::scratch::Scratch;
use lazyxla::testing::device::TensorHandle;
use lazyxla::testing::error::Result;
use lazyxla::testing::ops::{self, ConvolutionOptions, DotAxes};
use lazyxla::testing::tensor::snapshot;
use lazyxla::testing::types::{DType, Kind, TensorType};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Product {
    Matmul,
    DotGeneral,
    Einsum,
    Convolution,
}

impl Product {
    pub const TABLE: &[(usize, Product)] =
        &[(4, Product::Matmul), (3, Product::DotGeneral), (3, Product::Einsum), (3, Product::Convolution)];

    pub fn act(self, twin: &mut Twin, action: &Action) -> Outcome {
        let Some(a) = twin.pick(action.tensors[0]) else { return Ok(()) };
        let b = twin.pick_like(action.tensors[1], a);
        if !a.is_whole() || !b.is_whole() {
            return Ok(());
        }
        let (ta, tb, numbers) = (a.ty(), b.ty(), action.numbers);
        let parts = if [a, b].iter().any(|pair| pair.dtype().kind() == Kind::Complex) { 2.0 } else { 1.0 };
        let terms = ta.elements().max(tb.elements()).max(1) as f64;
        twin.computed(parts * a.bound * b.bound * terms, |world| self.of_two(world, [a, b], [&ta, &tb], numbers))
    }

    fn of_two(self, world: World, pairs: [Pair; 2], [ta, tb]: [&TensorType; 2], n: [u8; 4]) -> Result<TensorHandle> {
        let [a, b] = pairs.map(|pair| world.of(pair));
        match self {
            Product::Matmul => on([a, b], |t, [a, b]| ops::matmul(t, a, b)),
            Product::Einsum => on([a, b], |t, list| ops::einsum(t, equation(ta, tb, n[0]), &list)),
            Product::DotGeneral => dot_general([a, b], [ta, tb], n),
            Product::Convolution => convolution([a, b], [ta, tb], n),
        }
    }
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
    on([a, b], |t, [a, b]| ops::dot_general(t, a, b, &axes, wider.filter(|_| n[2] < 128)))
}

/// Convolution with one spatial axis.
pub fn convolution([a, b]: [TensorHandle; 2], [ta, tb]: [&TensorType; 2], n: [u8; 4]) -> Result<TensorHandle> {
    let mut scratch = Scratch::default();
    let [a, b] = [(a, ta), (b, tb)].map(|(x, ty)| -> Result<TensorHandle> {
        if ty.dims.len() == 3 && n[3] < 128 {
            return snapshot(x);
        }
        on([x], |t, [x]| ops::reshape(t, x, &[1, 1, ty.elements() as i64]))
    });
    let (a, b) = (scratch.keep(a?), scratch.keep(b?));
    let [first, second, third, fourth] = n.map(i64::from);
    let options = ConvolutionOptions {
        window_strides: Some(&[1 + first % 2]),
        padding_low: Some(&[second % 4 - 1]),
        padding_high: Some(&[second / 4 % 4]),
        lhs_dilation: Some(&[1 + first / 2 % 2]),
        rhs_dilation: Some(&[1 + third % 2]),
        window_reversal: Some(&[fourth % 2]),
        feature_groups: 1,
        batch_groups: 1,
        ..ConvolutionOptions::default()
    };
    on([a, b], |t, [a, b]| ops::convolution(t, a, b, &options))
}
