//! Error bounds of functions: from the errors of their arguments, and from their documented accuracy.

use super::bounded::{Bounded, Host, Rounding};
use crate::record::{binary_scalar, on, unary};
use base::error::Result;
use base::types::ScalarValue;
use ir::{BinaryOp, ReduceOp, SpecialOp, UnaryFunction, UnaryOp};
use lazyxla::device::TensorHandle;
use ops::nn::{self, ActivationOp};
use ops::{elementwise, reduction};

/// An elementwise function.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    Unary(UnaryOp),
    Composed(UnaryFunction),
    Activation(ActivationOp),
    Special(SpecialOp),
}

/// How the error of an argument propagates to the result.
#[derive(Clone, Copy, Debug)]
pub enum Slope {
    /// Monotonic: bounded by the function's values at both ends of the argument's interval.
    Monotonic,
    /// The slope is at most this value everywhere.
    AtMost(f64),
}

/// Each function with its slope, and its accuracy in units in the last place as stated in docs/operations.md.
pub const FUNCTIONS: &[(Function, Slope, f64)] = &[
    (Function::Unary(UnaryOp::Negate), Slope::AtMost(1.0), 0.0),
    (Function::Unary(UnaryOp::Abs), Slope::AtMost(1.0), 0.0),
    (Function::Unary(UnaryOp::Exponential), Slope::Monotonic, 2.0),
    (Function::Unary(UnaryOp::ExponentialMinusOne), Slope::Monotonic, 4.0),
    (Function::Unary(UnaryOp::Log), Slope::Monotonic, 1.0),
    (Function::Unary(UnaryOp::LogPlusOne), Slope::Monotonic, 2.0),
    (Function::Unary(UnaryOp::Logistic), Slope::Monotonic, 2.0),
    (Function::Unary(UnaryOp::Tanh), Slope::Monotonic, 4.0),
    (Function::Unary(UnaryOp::Sqrt), Slope::Monotonic, 1.0),
    (Function::Unary(UnaryOp::Rsqrt), Slope::Monotonic, 2.0),
    (Function::Unary(UnaryOp::Cbrt), Slope::Monotonic, 1.0),
    (Function::Unary(UnaryOp::Sine), Slope::AtMost(1.0), 1.0),
    (Function::Unary(UnaryOp::Cosine), Slope::AtMost(1.0), 1.0),
    (Function::Composed(UnaryFunction::Log2), Slope::Monotonic, 3.0),
    (Function::Composed(UnaryFunction::Log10), Slope::Monotonic, 3.0),
    (Function::Activation(ActivationOp::Relu), Slope::Monotonic, 1.0),
    (Function::Activation(ActivationOp::Gelu), Slope::AtMost(1.13), 4.0),
    (Function::Activation(ActivationOp::GeluTanh), Slope::AtMost(1.13), 260.0),
    (Function::Activation(ActivationOp::Silu), Slope::AtMost(1.1), 4.0),
    (Function::Activation(ActivationOp::Relu6), Slope::Monotonic, 1.0),
    (Function::Activation(ActivationOp::Elu), Slope::Monotonic, 3.0),
    (Function::Activation(ActivationOp::Selu), Slope::Monotonic, 4.0),
    (Function::Activation(ActivationOp::Softplus), Slope::Monotonic, 4.0),
    (Function::Activation(ActivationOp::Mish), Slope::AtMost(1.09), 4.0),
    (Function::Activation(ActivationOp::LogSigmoid), Slope::Monotonic, 4.0),
    (Function::Activation(ActivationOp::HardSigmoid), Slope::Monotonic, 2.0),
    (Function::Activation(ActivationOp::HardSwish), Slope::AtMost(1.5), 2.0),
    (Function::Special(SpecialOp::Erf), Slope::Monotonic, 2.0),
    (Function::Special(SpecialOp::Erfc), Slope::Monotonic, 4.0),
];

impl Function {
    pub fn act(self, x: TensorHandle) -> Result<TensorHandle> {
        match self {
            Function::Unary(op) => unary(op, x),
            Function::Composed(function) => unary(function, x),
            Function::Activation(op) => on([x], |t, [x]| nn::activation(t, op, x)),
            Function::Special(op) => on([x], |t, [x]| elementwise::special(t, op, x)),
        }
    }
}

impl Bounded {
    /// Bounds an elementwise function. The argument's error includes one more rounding, since XLA may combine the
    /// function with operations before and after it: a product of exponentials becomes the exponential of a sum.
    pub fn function(&self, (function, slope, ulps): (Function, Slope, f64), r: Rounding) -> Result<Bounded> {
        let act = |x: &Host| Host::new(function.act(x.handle()));
        let value = act(&self.value)?;
        let off = match ulps {
            0.0 => self.error.shifted(r.tiny)?,
            _ => self.error.plus(&self.value.size()?.scaled(r.unit)?)?.shifted(r.tiny)?,
        };
        let error = match slope {
            Slope::AtMost(most) => off.scaled(most)?,
            Slope::Monotonic => {
                let ends = [self.value.plus(&off)?, self.value.minus(&off)?];
                let [above, below] = ends.map(|end| act(&end)?.minus(&value)?.size());
                above?.or_more(&below?)?
            }
        };
        Bounded { value, error }.rounded(ulps, r)
    }

    fn unary(&self, op: UnaryOp, r: Rounding) -> Result<Bounded> {
        let known = FUNCTIONS.iter().find(|(function, ..)| matches!(function, Function::Unary(known) if *known == op));
        self.function(*known.expect("it is in the table"), r)
    }

    pub fn mean(&self, axes: &[i64], keep: bool, r: Rounding) -> Result<Bounded> {
        let count = self.count(axes)?;
        self.linear(count + 2.0, r, |x| on([x], |t, [x]| reduction::mean(t, x, axes, keep)))
    }

    fn deviations(&self, axes: &[i64], r: Rounding) -> Result<Bounded> {
        self.minus(&self.mean(axes, true, r)?, r)
    }

    pub fn variance(&self, axes: &[i64], correction: f64, keep: bool, r: Rounding) -> Result<Bounded> {
        let deviations = self.deviations(axes, r)?;
        let squares = deviations.times(&deviations, r)?.sum(axes, keep, r)?;
        let share = 1.0 / (self.count(axes)? - correction).max(0.0);
        squares.moved(|x| scaled(x, share))?.rounded(2.0, r)
    }

    pub fn standard_deviation(&self, axes: &[i64], correction: f64, keep: bool, r: Rounding) -> Result<Bounded> {
        self.variance(axes, correction, keep, r)?.unary(UnaryOp::Sqrt, r)
    }

    /// Returns the exponentials of the differences from the maximum, the differences, and the maximum.
    pub fn exponentials(&self, axes: &[i64], r: Rounding) -> Result<[Bounded; 3]> {
        let most = self.extreme(ReduceOp::Max, axes, true)?;
        let below = self.minus(&most, r)?;
        let powers = below.unary(UnaryOp::Exponential, r)?;
        Ok([powers, below, most])
    }

    pub fn softmax(&self, axis: i64, r: Rounding) -> Result<Bounded> {
        let [powers, ..] = self.exponentials(&[axis], r)?;
        powers.over(&powers.sum(&[axis], true, r)?, r)
    }

    pub fn log_softmax(&self, axis: i64, r: Rounding) -> Result<Bounded> {
        let [powers, below, _] = self.exponentials(&[axis], r)?;
        below.minus(&powers.sum(&[axis], true, r)?.unary(UnaryOp::Log, r)?, r)
    }

    pub fn logsumexp(&self, axes: &[i64], r: Rounding) -> Result<Bounded> {
        let [powers, _, most] = self.exponentials(axes, r)?;
        most.plus(&powers.sum(axes, true, r)?.unary(UnaryOp::Log, r)?, r)
    }

    pub fn layer_norm(&self, axes: &[i64], epsilon: f64, r: Rounding) -> Result<Bounded> {
        let variance = self.variance(axes, 0.0, true, r)?;
        let held = Bounded { value: variance.value.shifted(epsilon)?, error: variance.error }.rounded(2.0, r)?;
        self.deviations(axes, r)?.times(&held.unary(UnaryOp::Rsqrt, r)?, r)
    }

    pub fn rms_norm(&self, axis: i64, epsilon: f64, r: Rounding) -> Result<Bounded> {
        let square = self.times(self, r)?.mean(&[axis], true, r)?;
        let held = Bounded { value: square.value.shifted(epsilon)?, error: square.error }.rounded(2.0, r)?;
        self.times(&held.unary(UnaryOp::Rsqrt, r)?, r)
    }
}

fn scaled(x: TensorHandle, factor: f64) -> Result<TensorHandle> {
    binary_scalar(BinaryOp::Multiply, x, ScalarValue::Float(factor), false)
}
