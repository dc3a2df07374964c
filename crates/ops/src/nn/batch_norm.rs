//! Batch normalization, recorded as several operations. XLA's own implementation computes the variance as `E[x^2] -
//! E[x]^2`, which cancels if the mean is large: around 10,000, it is negative in f32 and infinite in f16. Here the
//! variance is the mean of the squared differences from the mean.

use crate::definition::Composed;
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, Formula, check_wide, widened};
use crate::shape::axes::reshape;
use base::error;
use base::error::Result;
use base::types::{DType, Dims, TensorType, normalize_axis};
use ir::{NodeId, ReduceOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "batch_norm_training", function: "lxla_batch_norm_training", dtypes: "floats, 8-bit floats" },
    Composed { name: "batch_norm_inference", function: "lxla_batch_norm_inference", dtypes: "floats, 8-bit floats" },
    Composed { name: "batch_norm_grad", function: "lxla_batch_norm_grad", dtypes: "floats, 8-bit floats" },
];

/// Records batch normalization in training. Returns `x`, normalized over all axes but one, and the mean and the
/// variance of each feature.
pub fn batch_norm_training(
    trace: &mut Trace,
    x: NodeId,
    scale: NodeId,
    offset: NodeId,
    epsilon: f64,
    feature_axis: i64,
) -> Result<[NodeId; 3]> {
    let batch = Batch::of(trace, x, feature_axis, epsilon)?;
    let [scale, offset] = batch.features(trace, [("scale", scale), ("offset", offset)])?;
    let f = Formula::new(trace);
    let x = f.operand(x).convert(batch.dtype);
    let mean = batch.mean(x);
    let centered = x - mean;
    let variance = batch.mean(centered * centered);
    let result = batch.scaled(centered, variance, f.operand(scale.wide), f.operand(offset.wide));
    f.finish_all([result.convert(batch.ty.dtype), scale.narrowed(mean), scale.narrowed(variance)])
}

/// Records batch normalization in inference: `x` normalized by `scale`, `offset`, `mean` and `variance`.
pub fn batch_norm_inference(
    trace: &mut Trace,
    [x, scale, offset, mean, variance]: [NodeId; 5],
    epsilon: f64,
    feature_axis: i64,
) -> Result<NodeId> {
    let batch = Batch::of(trace, x, feature_axis, epsilon)?;
    let named = [("scale", scale), ("offset", offset), ("mean", mean), ("variance", variance)];
    let [scale, offset, mean, variance] = batch.features(trace, named)?;
    let f = Formula::new(trace);
    let [scale, offset, mean, variance] = [scale, offset, mean, variance].map(|feature| f.operand(feature.wide));
    let centered = f.operand(x).convert(batch.dtype) - mean;
    f.finish(batch.scaled(centered, variance, scale, offset).convert(batch.ty.dtype))
}

/// Records the gradients of batch normalization in training with respect to `x`, `scale` and `offset`. `grad_output` is
/// the gradient with respect to its first result.
pub fn batch_norm_grad(
    trace: &mut Trace,
    [x, scale, mean, variance, grad_output]: [NodeId; 5],
    epsilon: f64,
    feature_axis: i64,
) -> Result<[NodeId; 3]> {
    let batch = Batch::of(trace, x, feature_axis, epsilon)?;
    let [scale, mean, variance] = batch.features(trace, [("scale", scale), ("mean", mean), ("variance", variance)])?;
    let grad_ty = trace.ty(grad_output);
    if grad_ty != batch.ty {
        return Err(error!(InvalidArgument, "grad_output: it is {grad_ty}; x is {}, and wants its type", batch.ty));
    }
    let f = Formula::new(trace);
    let [x, grad] = [x, grad_output].map(|node| f.operand(node).convert(batch.dtype));
    let inverse = batch.inverse_deviation(f.operand(variance.wide));
    let normalized = (x - f.operand(mean.wide)) * inverse;
    let grad_offset = batch.sum(grad);
    let grad_scale = batch.sum(grad * normalized);
    // The result does not change if x changes only in its mean or its variance, so the gradient has no such component.
    let without_mean = grad - batch.over_count(grad_offset);
    let rest = without_mean - normalized * batch.over_count(grad_scale);
    let grad_x = rest * (f.operand(scale.wide) * inverse);
    f.finish_all([grad_x.convert(batch.ty.dtype), scale.narrowed(grad_scale), scale.narrowed(grad_offset)])
}

/// The operand of a batch normalization.
struct Batch {
    ty: TensorType,
    epsilon: f64,
    /// Dtype in which everything is computed.
    dtype: DType,
    /// All axes except the feature axis.
    axes: Vec<i64>,
    /// Shape of per-feature values that broadcasts to the operand: 1 on all other axes.
    feature_dims: Dims,
    features: i64,
    /// Number of elements per feature.
    count: i64,
}

/// A per-feature operand.
struct Feature {
    /// Type as given.
    ty: TensorType,
    /// Value in the shape and dtype of the computation, which broadcasts to the operand.
    wide: NodeId,
}

impl Batch {
    fn of(trace: &Trace, x: NodeId, feature_axis: i64, epsilon: f64) -> Result<Batch> {
        let ty = trace.ty(x);
        if !ty.dtype.is_float() {
            return Err(error!(InvalidArgument, "x: batch normalization takes floats, not {ty}"));
        }
        if !(epsilon >= 0.0 && epsilon.is_finite()) {
            return Err(error!(InvalidArgument, "epsilon: {epsilon} given; want 0 or more, and finite"));
        }
        check_wide("epsilon", trace, x, epsilon)?;
        let axis = normalize_axis("feature_axis", feature_axis, ty.dims.len())?;
        let mut feature_dims = Dims::from_elem(1, ty.dims.len());
        feature_dims[axis] = ty.dims[axis];
        let axes: Vec<i64> = (0..ty.dims.len() as i64).filter(|&other| other != axis as i64).collect();
        Ok(Batch {
            epsilon,
            dtype: widened(ty.dtype),
            count: axes.iter().map(|&axis| ty.dims[axis as usize]).product(),
            axes,
            features: ty.dims[axis],
            feature_dims,
            ty,
        })
    }

    /// Returns per-feature operands, which have one common dtype: that of `x`, or the dtype of the computation.
    fn features<const N: usize>(&self, trace: &mut Trace, named: [(&str, NodeId); N]) -> Result<[Feature; N]> {
        let mut made = Vec::with_capacity(N);
        for (name, node) in named {
            let ty = trace.ty(node);
            let first = trace.node(named[0].1).dtype;
            let is_known = ty.dtype == self.ty.dtype || ty.dtype == self.dtype;
            if ty.dims[..] != [self.features] || !is_known || ty.dtype != first {
                let of = |dtype| TensorType::new(dtype, &[self.features]);
                let wanted = match (is_known, self.ty.dtype == self.dtype) {
                    (true, false) => of(first).to_string(),
                    (false, false) => format!("{} or {}", of(self.ty.dtype), of(self.dtype)),
                    (_, true) => of(self.dtype).to_string(),
                };
                return Err(error!(InvalidArgument, "{name}: it is {ty}; x is {}, and wants {wanted}", self.ty));
            }
            let shaped = reshape(trace, node, &self.feature_dims)?;
            made.push(Feature { ty, wide: convert(trace, shaped, self.dtype) });
        }
        Ok(made.try_into().unwrap_or_else(|_| unreachable!("one for each operand")))
    }

    fn sum<'f>(&self, x: Expr<'f>) -> Expr<'f> {
        x.reduce(ReduceOp::Sum, &self.axes, true)
    }

    fn over_count<'f>(&self, x: Expr<'f>) -> Expr<'f> {
        x / self.count
    }

    fn mean<'f>(&self, x: Expr<'f>) -> Expr<'f> {
        self.over_count(self.sum(x))
    }

    /// `1 / sqrt(variance + epsilon)`.
    fn inverse_deviation<'f>(&self, variance: Expr<'f>) -> Expr<'f> {
        (variance + self.epsilon).rsqrt()
    }

    fn scaled<'f>(&self, centered: Expr<'f>, variance: Expr<'f>, scale: Expr<'f>, offset: Expr<'f>) -> Expr<'f> {
        centered * self.inverse_deviation(variance) * scale + offset
    }
}

impl Feature {
    /// Converts a per-feature result to this operand's type.
    fn narrowed<'f>(&self, x: Expr<'f>) -> Expr<'f> {
        x.apply(|trace, x| reshape(trace, x, &self.ty.dims)).convert(self.ty.dtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(trace: &mut Trace, dtype: DType, dims: &[i64]) -> NodeId {
        trace.parameter(TensorType::new(dtype, dims))
    }

    #[test]
    fn halves_may_have_wide_features() {
        for (dtype, of_features) in [(DType::BF16, DType::F32), (DType::BF16, DType::BF16), (DType::F64, DType::F64)] {
            let mut trace = Trace::new();
            let x = leaf(&mut trace, dtype, &[8, 3, 5]);
            let feature = leaf(&mut trace, of_features, &[3]);
            let training = batch_norm_training(&mut trace, x, feature, feature, 1e-5, -2).unwrap();
            let grad = batch_norm_grad(&mut trace, [x, feature, feature, feature, x], 1e-5, 1).unwrap();
            for results in [training, grad] {
                assert_eq!(trace.ty(results[0]), TensorType::new(dtype, &[8, 3, 5]));
                assert_eq!(trace.ty(results[1]), TensorType::new(of_features, &[3]));
                assert_eq!(trace.ty(results[2]), TensorType::new(of_features, &[3]));
            }
            let inference = batch_norm_inference(&mut trace, [x, feature, feature, feature, feature], 0.0, 1).unwrap();
            assert_eq!(trace.ty(inference), TensorType::new(dtype, &[8, 3, 5]));
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let mut trace = Trace::new();
        let t = &mut trace;
        let (x, half) = (leaf(t, DType::F32, &[8, 3]), leaf(t, DType::F16, &[8, 3]));
        let (good, short) = (leaf(t, DType::F32, &[3]), leaf(t, DType::F32, &[2]));
        let (halves, doubles, whole) =
            (leaf(t, DType::F16, &[3]), leaf(t, DType::F64, &[3]), leaf(t, DType::S32, &[8, 3]));
        let mut message = |x, scale, offset, epsilon, axis| {
            batch_norm_training(t, x, scale, offset, epsilon, axis).unwrap_err().message.to_string()
        };
        assert!(message(x, short, good, 0.0, 1).contains("scale: it is f32[2]; x is f32[8,3], and wants f32[3]"));
        assert!(message(x, good, halves, 0.0, 1).contains("offset: it is f16[3]; x is f32[8,3], and wants f32[3]"));
        assert!(message(half, doubles, good, 0.0, 1).contains("and wants f16[3] or f32[3]"));
        assert!(message(half, good, halves, 0.0, 1).contains("offset: it is f16[3]; x is f16[8,3], and wants f32[3]"));
        assert!(message(whole, good, good, 0.0, 1).contains("takes floats, not s32[8,3]"));
        assert!(message(x, good, good, -1.0, 1).contains("epsilon: -1 given"));
        assert!(message(x, good, good, f64::NAN, 1).contains("epsilon: NaN given"));
        assert!(message(x, good, good, 0.0, 2).contains("feature_axis: axis 2 is out of range"));
    }
}
