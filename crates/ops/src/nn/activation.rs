//! Activation functions. Each tends to its limit at both infinities, even where the published formula is infinity times
//! 0: `x` is clamped from below, to a value where the other factor is already 0.
//!
//! At their kinks, relu and relu6 have derivative 0, because they are recorded as selections. The hard functions have
//! half of the slope there, by the rules of maximum and minimum.

use crate::definition::Composed;
use crate::elementwise::formula::{Expr, in_wide, record};
use crate::elementwise::functions::erf::special;
use crate::infer::refuse;
use base::error::Result;
use base::types::Kind;
use ir::{NodeId, SpecialOp, Trace, numbered};
use std::f64::consts::PI;

numbered! {
    /// Activation functions.
    ActivationOp, "op", "LXLA_ACTIVATION_*", {
        /// max(x, 0).
        Relu = 1 => "relu",
        /// x * Phi(x), with Phi the cumulative standard normal distribution.
        Gelu = 2 => "gelu",
        /// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.
        GeluTanh = 3 => "gelu_tanh",
        /// x / (1 + e^-x).
        Silu = 4 => "silu",
        /// min(max(x, 0), 6).
        Relu6 = 5 => "relu6",
        /// x if x > 0, else e^x - 1.
        Elu = 6 => "elu",
        /// 1.0507009873554805 * (x if x > 0, else 1.6732632423543772 * (e^x - 1)).
        Selu = 7 => "selu",
        /// log(1 + e^x).
        Softplus = 8 => "softplus",
        /// x * tanh(log(1 + e^x)).
        Mish = 9 => "mish",
        /// -log(1 + e^-x).
        LogSigmoid = 10 => "log_sigmoid",
        /// min(max(x + 3, 0), 6) / 6.
        HardSigmoid = 11 => "hard_sigmoid",
        /// x * min(max(x + 3, 0), 6) / 6.
        HardSwish = 12 => "hard_swish",
    }
}

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[Composed { name: "activation", function: "lxla_activation", dtypes: "" }];

/// At and below this value, the exponential is 0, also in f64.
const LOWEST: f64 = -1000.0;
/// Constants of SELU, from G. Klambauer and others, Self-Normalizing Neural Networks, 2017.
const SELU_ALPHA: f64 = 1.673_263_242_354_377_3;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;

/// Records an activation function.
pub fn activation(trace: &mut Trace, op: ActivationOp, x: NodeId) -> Result<NodeId> {
    use ActivationOp::*;
    let ty = trace.ty(x);
    match (op, ty.dtype.kind()) {
        (Relu | Relu6, Kind::Signed | Kind::Unsigned) => return record(trace, [x], |[x]| clipped(op, x)),
        (Silu, Kind::Complex) => return record(trace, [x], |[x]| complex_silu(x)),
        (_, Kind::Float | Kind::Float8) => {}
        (Silu, _) => return Err(refuse(op.name(), "x", &ty, "floats and complex numbers")),
        (Relu | Relu6, _) => return Err(refuse(op.name(), "x", &ty, "integers and floats")),
        _ => return Err(refuse(op.name(), "x", &ty, "floats")),
    }
    in_wide(trace, x, |x| match op {
        Relu | Relu6 => clipped(op, x),
        Gelu => gelu(x),
        GeluTanh => gelu_tanh(x),
        Silu => {
            let x = x.max(LOWEST);
            x * x.logistic()
        }
        Elu => elu(x, 1.0),
        Selu => elu(x, SELU_ALPHA) * SELU_SCALE,
        Softplus => softplus(x),
        Mish => mish(x),
        LogSigmoid => -softplus(-x),
        HardSigmoid => hard_sigmoid(x),
        HardSwish => {
            let x = x.max(-4.0);
            x * hard_sigmoid(x)
        }
    })
}

/// relu or relu6, by selections, so that the derivative is 0 at 0 and at 6, where the derivative of a maximum would be
/// a half.
fn clipped(op: ActivationOp, x: Expr) -> Expr {
    let positive = x.le(0.0).select(0.0, x);
    if op == ActivationOp::Relu6 { positive.ge(6.0).select(6.0, positive) } else { positive }
}

/// gelu: x times the normal cumulative distribution function at x.
fn gelu(x: Expr) -> Expr {
    let x = x.max(LOWEST);
    x * x.apply(|trace, x| special(trace, SpecialOp::NormalCdf, x))
}

/// The tanh approximation of gelu. `0.5 (1 + tanh u)` is computed as the logistic function of `2u`, which keeps small
/// values. It is 1 for large x, whose square would be infinite: in `u`, x is clamped from above, too.
fn gelu_tanh(x: Expr) -> Expr {
    let x = x.max(LOWEST);
    let limited = x.min(-LOWEST);
    let slope = (limited * limited * 0.044715 + 1.0) * (2.0 * (2.0 / PI).sqrt());
    x * (limited * slope).logistic()
}

/// silu of complex numbers. For a real part `a` below -40, the logistic function of `a + ib` rounds to its exponential,
/// which can be too small for the dtype although its product with a large `b` is not: `e^(a/2)` multiplies twice. At and
/// below -2000, all products are 0.
fn complex_silu(x: Expr) -> Expr {
    let x = x.real().max(-2000.0).complex(x.imag());
    let is_far = x.real().lt(-40.0);
    let far = is_far.select(x, 0.0);
    let (root, sine, cosine) = ((far.real() * 0.5).exp(), far.imag().sin(), far.imag().cos());
    let (re, im) = (far.real() * root, far.imag() * root);
    let product = ((re * cosine - im * sine) * root).complex((re * sine + im * cosine) * root);
    is_far.select(product, x * x.logistic())
}

fn elu(x: Expr, alpha: f64) -> Expr {
    let is_positive = x.gt(0.0);
    // The exponential of a large number is infinite, and its derivative would be infinity times 0. So its argument is
    // -1 where it is not selected; with 0, XLA turns the selection into a minimum, which loses the sign of -0 in f16.
    let below = is_positive.select(-1.0, x).exp_minus_one();
    is_positive.select(x, if alpha == 1.0 { below } else { below * alpha })
}

/// softplus, `log(1 + e^x)`, as `max(x, 0) + log(1 + e^-|x|)`. One comparison selects both the maximum and the absolute
/// value, so that derivatives of all orders are correct at 0.
fn softplus(x: Expr) -> Expr {
    let is_positive = x.gt(0.0);
    is_positive.select(x, 0.0) + is_positive.select(-x, x).exp().log_plus_one()
}

/// mish, `x tanh(softplus(x))`. The tanh is `n / (n + 2)` with `n = e^x (e^x + 2)`, which is 1 for x from 20 on.
fn mish(x: Expr) -> Expr {
    let x = x.max(LOWEST);
    let power = x.min(20.0).exp();
    let n = power * (power + 2.0);
    x * (n / (n + 2.0))
}

/// `x / 6 + 1 / 2`, clamped to 0 and 1.
fn hard_sigmoid(x: Expr) -> Expr {
    (x + 3.0).max(0.0).min(6.0) / 6.0
}
