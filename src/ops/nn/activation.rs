//! Activation functions. Each tends to its limit at both infinities, even where the published formula is infinity times
//! 0: `x` is clamped from below, to a value where the other factor is already 0.
//!
//! At their kinks, relu and relu6 have derivative 0, because they are recorded as selections. The hard functions have
//! half of the slope there, by the rules of maximum and minimum.

use crate::error;
use crate::error::{Error, Result};
use crate::ir::SpecialOp;
use crate::ir::{BinaryOp, CompareOp, NodeId, Trace, UnaryOp, numbered};
use crate::ops::definition::Composed;
use crate::ops::elementwise::formula::{Formula, in_wide};
use crate::ops::elementwise::special::special;
use crate::ops::refuse;
use crate::types::Kind;

numbered! {
    /// Activation functions.
    ActivationOp, "op", "LXLA_ACTIVATION_*", {
        Relu = 1 => "relu",
        Gelu = 2 => "gelu",
        GeluTanh = 3 => "gelu_tanh",
        Silu = 4 => "silu",
        Relu6 = 5 => "relu6",
        Elu = 6 => "elu",
        Selu = 7 => "selu",
        Softplus = 8 => "softplus",
        Mish = 9 => "mish",
        LogSigmoid = 10 => "log_sigmoid",
        HardSigmoid = 11 => "hard_sigmoid",
        HardSwish = 12 => "hard_swish",
    }
}

/// Table entries of the composed operations.
pub(in crate::ops) const COMPOSED: &[Composed] =
    &[Composed { name: "activation", function: "lxla_activation", dtypes: "" }];

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
        (Relu | Relu6, Kind::Signed | Kind::Unsigned) => return clipped(&mut Formula { trace }, op, x),
        (_, Kind::Float | Kind::Float8) => {}
        (Relu | Relu6, _) => return Err(refuse(op.name(), "x", &ty, "integers and floats")),
        _ => return Err(refuse(op.name(), "x", &ty, "floats")),
    }
    in_wide(trace, x, |f, x| match op {
        Relu | Relu6 => clipped(f, op, x),
        Gelu => gelu(f, x),
        GeluTanh => gelu_tanh(f, x),
        Silu => {
            let x = f.at_least(x, LOWEST)?;
            let share = f.unary(UnaryOp::Logistic, x)?;
            f.multiply(x, share)
        }
        Elu => elu(f, x, 1.0),
        Selu => {
            let whole = elu(f, x, SELU_ALPHA)?;
            f.times(whole, SELU_SCALE)
        }
        Softplus => softplus(f, x),
        Mish => mish(f, x),
        LogSigmoid => {
            let opposite = f.unary(UnaryOp::Negate, x)?;
            let result = softplus(f, opposite)?;
            f.unary(UnaryOp::Negate, result)
        }
        HardSigmoid => hard_sigmoid(f, x),
        HardSwish => {
            let x = f.at_least(x, -4.0)?;
            let share = hard_sigmoid(f, x)?;
            f.multiply(x, share)
        }
    })
}

/// Records relu or relu6 by selections, so that the derivative is 0 at 0 and at 6, where the derivative of a maximum
/// would be a half.
fn clipped(f: &mut Formula, op: ActivationOp, x: NodeId) -> Result<NodeId> {
    let (is_low, zero) = (f.compare(CompareOp::Le, x, 0.0)?, f.scalar(x, 0.0)?);
    let positive = f.select(is_low, zero, x)?;
    if op != ActivationOp::Relu6 {
        return Ok(positive);
    }
    let (is_high, six) = (f.compare(CompareOp::Ge, x, 6.0)?, f.scalar(x, 6.0)?);
    f.select(is_high, six, positive)
}

/// Records gelu: x times the normal cumulative distribution function at x.
fn gelu(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let x = f.at_least(x, LOWEST)?;
    let share = special(f.trace, SpecialOp::NormalCdf, x)?;
    f.multiply(x, share)
}

/// Records the tanh approximation of gelu. `0.5 (1 + tanh u)` is computed as the logistic function of `2u`, which keeps
/// small values. It is 1 for large x, whose square would be infinite: in `u`, x is clamped from above, too.
fn gelu_tanh(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let x = f.at_least(x, LOWEST)?;
    let limited = f.at_most(x, -LOWEST)?;
    let square = f.multiply(limited, limited)?;
    let slope = f.times(square, 0.044715)?;
    let slope = f.plus(slope, 1.0)?;
    let slope = f.times(slope, 2.0 * (2.0 / std::f64::consts::PI).sqrt())?;
    let twice_u = f.multiply(limited, slope)?;
    let share = f.unary(UnaryOp::Logistic, twice_u)?;
    f.multiply(x, share)
}

fn elu(f: &mut Formula, x: NodeId, alpha: f64) -> Result<NodeId> {
    let is_positive = f.compare(CompareOp::Gt, x, 0.0)?;
    // The exponential of a large number is infinite, and its derivative would be infinity times 0. So its argument is
    // -1 where it is not selected; with 0, XLA turns the selection into a minimum, which loses the sign of -0 in f16.
    let other = f.scalar(x, -1.0)?;
    let negative = f.select(is_positive, other, x)?;
    let below = f.unary(UnaryOp::ExponentialMinusOne, negative)?;
    let below = if alpha == 1.0 { below } else { f.times(below, alpha)? };
    f.select(is_positive, x, below)
}

/// Records softplus, `log(1 + e^x)`, as `max(x, 0) + log(1 + e^-|x|)`. One comparison selects both the maximum and the
/// absolute value, so that derivatives of all orders are correct at 0.
fn softplus(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let is_positive = f.compare(CompareOp::Gt, x, 0.0)?;
    let negated = f.unary(UnaryOp::Negate, x)?;
    let below = f.select(is_positive, negated, x)?;
    let small = f.exp(below)?;
    let rest = f.unary(UnaryOp::LogPlusOne, small)?;
    let zero = f.scalar(x, 0.0)?;
    let positive = f.select(is_positive, x, zero)?;
    f.add(positive, rest)
}

/// Records mish, `x tanh(softplus(x))`. The tanh is `n / (n + 2)` with `n = e^x (e^x + 2)`, which is 1 for x from 20
/// on.
fn mish(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let x = f.at_least(x, LOWEST)?;
    let limited = f.at_most(x, 20.0)?;
    let power = f.exp(limited)?;
    let more = f.plus(power, 2.0)?;
    let n = f.multiply(power, more)?;
    let denominator = f.plus(n, 2.0)?;
    let share = f.divide(n, denominator)?;
    f.multiply(x, share)
}

/// Records `x / 6 + 1 / 2`, clamped to 0 and 1.
fn hard_sigmoid(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let sum = f.plus(x, 3.0)?;
    let above = f.at_least(sum, 0.0)?;
    let within = f.at_most(above, 6.0)?;
    f.with(BinaryOp::Divide, within, 6.0)
}
