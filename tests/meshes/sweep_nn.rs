//! Convolutions and attention with their derivatives, normalizations and rotary embeddings.

use crate::case::{Case, MOST_ELEMENTS};
use crate::sweep::{Operation, sweep};
use base::types::DType;
use ir::NodeId;
use ops::nn::{self, AttentionOptions, ConvolutionOptions};

const OPERATIONS: &[Operation] = &[
    ("convolution", 4, convolution),
    ("convolution_gradients", 3, convolution_gradients),
    ("softmax", 1, softmax),
    ("layer_norm", 1, layer_norm),
    ("rms_norm", 1, rms_norm),
    ("rotary_embedding", 1, rotary_embedding),
    ("attention", 2, attention),
    ("attention_gradients", 2, attention_gradients),
    ("batch_norm", 1, batch_norm),
];

#[test]
fn neural_networks_agree_on_meshes() {
    sweep(OPERATIONS);
}

/// Options of a convolution. Lists have one entry for each spatial axis, dimension lists two more.
#[derive(Debug, Default)]
struct Convolution {
    strides: Vec<i64>,
    low: Vec<i64>,
    high: Vec<i64>,
    lhs_dilation: Vec<i64>,
    rhs_dilation: Vec<i64>,
    reversal: Vec<i64>,
    dimensions: [Vec<i64>; 3],
    groups: [i64; 2],
}

impl Convolution {
    fn options(&self) -> ConvolutionOptions<'_> {
        ConvolutionOptions {
            window_strides: Some(&self.strides),
            padding_low: Some(&self.low),
            padding_high: Some(&self.high),
            lhs_dilation: Some(&self.lhs_dilation),
            rhs_dilation: Some(&self.rhs_dilation),
            window_reversal: Some(&self.reversal),
            lhs_dimensions: Some(&self.dimensions[0]),
            rhs_dimensions: Some(&self.dimensions[1]),
            out_dimensions: Some(&self.dimensions[2]),
            feature_groups: self.groups[0],
            batch_groups: self.groups[1],
            ..ConvolutionOptions::default()
        }
    }
}

/// The sizes of the axes in the order of a dimension list.
fn arranged(sizes: &[i64], dimensions: &[i64]) -> Vec<i64> {
    let mut dims = vec![0; sizes.len()];
    dimensions.iter().zip(sizes).for_each(|(&axis, &size)| dims[axis as usize] = size);
    dims
}

/// A random convolution over one or two spatial axes: both operands, and the options. It has dilations, negative
/// padding and groups in some cases.
fn drawn(case: &mut Case, dtype: DType) -> (NodeId, NodeId, Convolution) {
    let spatial = case.between(1, 2) as usize;
    let groups = case.pick(&[[1, 1], [1, 1], [1, 1], [2, 1], [1, 2]]);
    let mut made = Convolution { groups, ..Convolution::default() };
    let [batch, features, outputs] = [(); 3].map(|()| case.size(4));
    let mut lhs = vec![batch * groups[1], features * groups[0]];
    let mut rhs = vec![outputs * groups[0] * groups[1], features];
    let [dilates, pads, strides, reverses] = [3, 2, 3, 4].map(|count| case.one_in(count));
    let lowest = if case.one_in(4) { -1 } else { 0 };
    for _ in 0..spatial {
        let (size, taps) = (case.size(8), case.between(1, 3));
        let [stride, lhs_dilation, rhs_dilation] =
            [strides, dilates, dilates].map(|differs| if differs { case.between(1, 2) } else { 1 });
        let [low, high] = [(); 2].map(|()| if pads { case.between(lowest, 2) } else { 0 });
        let padded = (size - 1) * lhs_dilation + 1 + low + high;
        let short = ((taps - 1) * rhs_dilation + 1 - padded).max(0);
        made.strides.push(stride);
        made.low.push(low);
        made.high.push(high + short);
        made.lhs_dilation.push(lhs_dilation);
        made.rhs_dilation.push(rhs_dilation);
        made.reversal.push(i64::from(reverses));
        lhs.push(size);
        rhs.push(taps);
    }
    let is_usual = case.random.coin();
    made.dimensions = [(); 3].map(|()| match is_usual {
        true => (0..lhs.len() as i64).collect(),
        false => case.permutation(lhs.len()),
    });
    let lhs = case.operand(dtype, &arranged(&lhs, &made.dimensions[0]));
    let rhs = case.operand(dtype, &arranged(&rhs, &made.dimensions[1]));
    case.note(&format!("{made:?}"));
    (lhs, rhs, made)
}

fn convolution(case: &mut Case) -> Vec<NodeId> {
    let dtype = case.pick(&[DType::F64, DType::F64, DType::F32, DType::S32]);
    let (lhs, rhs, made) = drawn(case, dtype);
    vec![nn::convolution(&mut case.trace, lhs, rhs, &made.options()).unwrap()]
}

fn convolution_gradients(case: &mut Case) -> Vec<NodeId> {
    let (lhs, rhs, made) = drawn(case, DType::F64);
    case.gradients(&[lhs, rhs], |t, x| nn::convolution(t, x[0], x[1], &made.options()).unwrap())
}

fn softmax(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let dims = case.shape(1..=3, MOST_ELEMENTS);
    let x = case.operand(DType::F64, &dims);
    let axis = case.axis(&dims) as i64;
    let t = &mut case.trace;
    let made = if case.random.coin() { nn::softmax(t, x, axis) } else { nn::log_softmax(t, x, axis) };
    vec![made.unwrap()]
}

fn layer_norm(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let dims = case.shape(1..=3, MOST_ELEMENTS);
    let x = case.operand(DType::F64, &dims);
    let axes = case.some_axes(&dims);
    let scale = case.operand(DType::F64, &dims[dims.len() - 1..]);
    vec![nn::layer_norm(&mut case.trace, x, &axes, Some(scale), None, 0.125).unwrap()]
}

fn rms_norm(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let dims = case.shape(1..=3, MOST_ELEMENTS);
    let x = case.operand(DType::F64, &dims);
    let weight = case.operand(DType::F64, &dims[dims.len() - 1..]);
    vec![nn::rms_norm(&mut case.trace, x, &[-1], Some(weight), 0.125).unwrap()]
}

fn rotary_embedding(case: &mut Case) -> Vec<NodeId> {
    let half = case.shape(1..=3, MOST_ELEMENTS / 2);
    let mut dims = half.clone();
    *dims.last_mut().unwrap() *= 2;
    let is_interleaved = case.random.coin();
    let x = case.operand(DType::F64, &dims);
    let [cosines, sines] = [(); 2].map(|()| case.operand(DType::F64, &half));
    vec![nn::rotary_embedding(&mut case.trace, x, cosines, sines, is_interleaved).unwrap()]
}

/// Query, key and value with a batch and heads, which key and value may share; sometimes a mask.
fn operands_of_attention(case: &mut Case) -> (Vec<NodeId>, AttentionOptions) {
    let [batch, heads, length, length_k, width] = [2, 2, 4, 4, 4].map(|most| case.size(most));
    let group = case.between(1, 2);
    let mut nodes = vec![case.operand(DType::F64, &[batch, heads * group, length, width])];
    nodes.extend([(); 2].map(|()| case.operand(DType::F64, &[batch, heads, length_k, width])));
    if case.random.coin() {
        nodes.push(case.operand(DType::F64, &[length, length_k]));
    }
    let options = AttentionOptions { scale: Some(0.25), is_causal: case.random.coin() };
    case.note(&format!("causal: {}", options.is_causal));
    (nodes, options)
}

fn attention(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let (nodes, options) = operands_of_attention(case);
    vec![nn::attention(&mut case.trace, [nodes[0], nodes[1], nodes[2]], nodes.get(3).copied(), options).unwrap()]
}

fn attention_gradients(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let (nodes, options) = operands_of_attention(case);
    case.gradients(&nodes, |t, x| nn::attention(t, [x[0], x[1], x[2]], x.get(3).copied(), options).unwrap())
}

/// Training, and the gradients of it.
fn batch_norm(case: &mut Case) -> Vec<NodeId> {
    case.tolerance = 1e-10;
    let dims = case.shape(2..=4, 200);
    let axis = case.axis(&dims);
    let feature_dims = [dims[axis]];
    let x = case.operand(DType::F64, &dims);
    let [scale, offset] = [(); 2].map(|()| case.operand(DType::F64, &feature_dims));
    if case.random.coin() {
        return nn::batch_norm_training(&mut case.trace, x, scale, offset, 0.125, axis as i64).unwrap().to_vec();
    }
    let variance = case.operand_of(DType::F64, &feature_dims, |random| 1.0 + random.below(3) as f64);
    let gradient = case.operand(DType::F64, &dims);
    let operands = [x, scale, offset, variance, gradient];
    nn::batch_norm_grad(&mut case.trace, operands, 0.125, axis as i64).unwrap().to_vec()
}
