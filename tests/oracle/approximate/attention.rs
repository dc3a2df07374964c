//! Error bounds of attention and of rotary embeddings.

use super::bounded::{Bounded, Host, Rounding};
use crate::record::on;
use base::error::Result;
use base::types::{ScalarValue, TensorType};
use ir::{NodeId, Trace};
use lazyxla::device::TensorHandle;
use lazyxla::tensor;
use ops::{creation, elementwise, linalg, nn, shape};

/// Records a rotary embedding whose angles all have this cosine and this sine, which every dtype represents exactly.
pub fn rotated(trace: &mut Trace, x: NodeId, numbers: [f64; 2], is_interleaved: bool) -> Result<NodeId> {
    let ty = TensorType::new(trace.node(x).dtype, &[]);
    let mut number = |value| creation::full(trace, &ty, ScalarValue::Float(value));
    let (cosine, sine) = (number(numbers[0])?, number(numbers[1])?);
    nn::rotary_embedding(trace, x, cosine, sine, is_interleaved)
}

/// Records the products of the rows of `x` with those of `y`.
fn by_rows(trace: &mut Trace, x: NodeId, y: NodeId) -> Result<NodeId> {
    let rank = trace.ty(y).dims.len();
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes.swap(rank - 2, rank - 1);
    let turned = shape::transpose(trace, y, &axes)?;
    linalg::matmul(trace, x, turned)
}

impl Bounded {
    /// Bounds [`rotated`] by a cosine of 0.625 and a sine of 0.75.
    pub fn rotary_embedding(&self, is_interleaved: bool, r: Rounding) -> Result<Bounded> {
        let act = |x: &Host, sine: f64| {
            Host::new(on([x.handle()], |trace, [x]| rotated(trace, x, [0.625, sine], is_interleaved)))
        };
        // Each element of the result is a sum in one of both directions.
        let reach = |x: &Host| act(x, 0.75)?.or_more(&act(x, -0.75)?);
        let of_rounding = reach(&self.value.size()?.plus(&self.error)?)?.scaled(2.0 * r.unit)?;
        let error = reach(&self.error)?.plus(&of_rounding)?.shifted(2.0 * r.tiny)?;
        Ok(Bounded { value: act(&self.value, 0.75)?, error })
    }

    /// Bounds the attention of a tensor to itself. Weights are rounded to the dtype, whose rounding is the second one.
    pub fn attention(&self, scale: f64, is_causal: bool, [inner, outer]: [Rounding; 2]) -> Result<Bounded> {
        let dims = tensor::ty(self.value.handle())?.dims;
        let [.., length, width] = dims[..] else { unreachable!("the caller has checked the rank") };
        let last = [dims.len() as i64 - 1];
        let products = self.product(self, width as f64, inner, |x, y| on([x, y], |t, [x, y]| by_rows(t, x, y)))?;
        let scaled = |x: TensorHandle| {
            on([x], |t, [x]| elementwise::binary_scalar(t, ir::BinaryOp::Multiply, x, ScalarValue::Float(scale), false))
        };
        let scores = products.moved(scaled)?.rounded(1.0, inner)?;
        let [mut powers, ..] = scores.exponentials(&last, inner)?;
        if is_causal {
            powers = powers.moved(|x| on([x], |t, [x]| creation::tril(t, x, 0)))?;
        }
        let sums = powers.sum(&last, true, inner)?;
        let rounded = powers.rounded(1.0, outer)?;
        let act = |x, y| on([x, y], |t, [x, y]| linalg::matmul(t, x, y));
        rounded.product(self, length as f64, inner, act)?.over(&sums, inner)
    }
}
