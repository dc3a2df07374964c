//! Reference values in f64 (or c128) and bounds on the error of the tensors they stand for. Both are native tensors, so
//! an operation that moves elements also moves their errors, and one that sums elements also sums their errors.

use crate::record::{binary, binary_scalar, compare, on, reduce, select, unary};
use base::error::Result;
use base::types::{DType, Kind, ScalarValue};
use ir::{BinaryOp, CompareOp, ReduceOp, UnaryOp};
use lazyxla::device::{self, TensorHandle};
use lazyxla::tensor;
use ops::elementwise;

/// A native tensor that is released on drop.
pub struct Host(TensorHandle);

impl Drop for Host {
    fn drop(&mut self) {
        let _ = device::release(self.0);
    }
}

impl Host {
    pub fn new(made: Result<TensorHandle>) -> Result<Host> {
        Ok(Host(made?))
    }

    pub fn handle(&self) -> TensorHandle {
        self.0
    }

    pub fn plus(&self, other: &Host) -> Result<Host> {
        Host::new(binary(BinaryOp::Add, self.0, other.0))
    }

    pub fn minus(&self, other: &Host) -> Result<Host> {
        Host::new(binary(BinaryOp::Subtract, self.0, other.0))
    }

    pub fn times(&self, other: &Host) -> Result<Host> {
        Host::new(binary(BinaryOp::Multiply, self.0, other.0))
    }

    pub fn over(&self, other: &Host) -> Result<Host> {
        Host::new(binary(BinaryOp::Divide, self.0, other.0))
    }

    pub fn or_more(&self, other: &Host) -> Result<Host> {
        Host::new(binary(BinaryOp::Maximum, self.0, other.0))
    }

    pub fn scaled(&self, factor: f64) -> Result<Host> {
        Host::new(binary_scalar(BinaryOp::Multiply, self.0, ScalarValue::Float(factor), false))
    }

    pub fn shifted(&self, by: f64) -> Result<Host> {
        Host::new(binary_scalar(BinaryOp::Add, self.0, ScalarValue::Float(by), false))
    }

    pub fn size(&self) -> Result<Host> {
        Host::new(unary(UnaryOp::Abs, self.0))
    }
}

/// Rounding behaviour of a dtype.
#[derive(Clone, Copy)]
pub struct Rounding {
    /// Unit in the last place of 1.
    pub unit: f64,
    /// Largest absolute error of results that underflow.
    pub tiny: f64,
    /// Larger results may overflow to infinity.
    pub most: f64,
}

impl Rounding {
    pub fn of(dtype: DType) -> Rounding {
        let (unit, tiny, most) = match dtype.real() {
            // Denormal f16 numbers are normal in f32, in which f16 is computed: they are rounded, not flushed to 0.
            DType::F16 => (-10, -24, 15),
            DType::BF16 => (-7, -126, 126),
            DType::F32 => (-23, -126, 126),
            // Twice the unit of f64, since the reference is computed in f64 too.
            _ => (-51, -1022, 1000),
        };
        Rounding { unit: 2f64.powi(unit), tiny: 2f64.powi(tiny), most: 2f64.powi(most) }
    }

    /// Rounding of the dtype in which composed operations compute: f32 for f16 and bf16, else the dtype itself.
    pub fn inner(dtype: DType) -> Rounding {
        Rounding::of(if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype })
    }
}

/// Reference values and a bound on the error of each; for complex numbers a bound on its absolute value.
pub struct Bounded {
    pub value: Host,
    pub error: Host,
}

impl Bounded {
    /// Adds the error of a rounding by `ulps` units in the last place, after all other errors.
    pub fn rounded(self, ulps: f64, r: Rounding) -> Result<Bounded> {
        let reach = self.value.size()?.plus(&self.error)?.scaled(ulps * r.unit)?;
        let error = self.error.plus(&reach)?.shifted(r.tiny)?;
        Ok(Bounded { value: self.value, error })
    }

    /// Bounds an operation that only moves elements.
    pub fn moved(&self, act: impl Fn(TensorHandle) -> Result<TensorHandle>) -> Result<Bounded> {
        Ok(Bounded { value: Host::new(act(self.value.0))?, error: Host::new(act(self.error.0))? })
    }

    /// Bounds an operation that sums elements with non-negative weights, in at most `terms` terms.
    pub fn linear(
        &self,
        terms: f64,
        r: Rounding,
        act: impl Fn(TensorHandle) -> Result<TensorHandle>,
    ) -> Result<Bounded> {
        let reach = self.value.size()?.plus(&self.error)?;
        let of_rounding = Host::new(act(reach.0))?.scaled(terms * r.unit)?;
        let error = Host::new(act(self.error.0))?.plus(&of_rounding)?.shifted(terms * r.tiny)?;
        Ok(Bounded { value: Host::new(act(self.value.0))?, error })
    }

    /// Bounds an operation that sums at most `terms` products.
    pub fn product(
        &self,
        other: &Bounded,
        terms: f64,
        r: Rounding,
        act: impl Fn(TensorHandle, TensorHandle) -> Result<TensorHandle>,
    ) -> Result<Bounded> {
        let act = |a: &Host, b: &Host| Host::new(act(a.0, b.0));
        let (a, b) = (self.value.size()?, other.value.size()?);
        let (reach_a, reach_b) = (a.plus(&self.error)?, b.plus(&other.error)?);
        let of_operands = act(&reach_a, &reach_b)?.minus(&act(&a, &b)?)?;
        // A complex product has four real products and two sums.
        let parts = if self.is_complex()? || other.is_complex()? { 4.0 } else { 1.0 };
        let of_rounding = act(&reach_a, &reach_b)?.scaled(parts * (terms + 1.0) * r.unit)?;
        let error = of_operands.plus(&of_rounding)?.shifted(parts * terms * r.tiny)?;
        Ok(Bounded { value: act(&self.value, &other.value)?, error })
    }

    pub fn is_complex(&self) -> Result<bool> {
        Ok(tensor::ty(self.value.0)?.dtype.kind() == Kind::Complex)
    }

    pub fn plus(&self, other: &Bounded, r: Rounding) -> Result<Bounded> {
        let sum = Bounded { value: self.value.plus(&other.value)?, error: self.error.plus(&other.error)? };
        sum.rounded(1.0, r)
    }

    pub fn minus(&self, other: &Bounded, r: Rounding) -> Result<Bounded> {
        let difference = Bounded { value: self.value.minus(&other.value)?, error: self.error.plus(&other.error)? };
        difference.rounded(1.0, r)
    }

    pub fn times(&self, other: &Bounded, r: Rounding) -> Result<Bounded> {
        self.product(other, 1.0, r, |a, b| binary(BinaryOp::Multiply, a, b))
    }

    /// Bounds a quotient. It may be computed as a product with the reciprocal, which rounds once more.
    pub fn over(&self, other: &Bounded, r: Rounding) -> Result<Bounded> {
        let value = self.value.over(&other.value)?;
        let least = other.value.size()?.minus(&other.error)?;
        // If the divisor may be 0, the bound is NaN, and the result is not used.
        let root = Host::new(unary(UnaryOp::Sqrt, least.0))?;
        let error = value.size()?.times(&other.error)?.plus(&self.error)?.over(&root.times(&root)?)?;
        let ulps = if self.is_complex()? || other.is_complex()? { 8.0 } else { 2.0 };
        Bounded { value, error }.rounded(ulps, r)
    }

    /// Bounds the elementwise selection of `self` where `x > y`, and of `other` elsewhere.
    pub fn where_greater(&self, other: &Bounded, [x, y]: [&Bounded; 2], r: Rounding) -> Result<Bounded> {
        let difference = x.value.minus(&y.value)?;
        let zero = ScalarValue::Float(0.0);
        let pred = on([difference.0], |t, [x]| elementwise::compare_scalar(t, CompareOp::Gt, x, zero, false));
        let value = selected(&Host::new(pred)?, &self.value, &other.value)?;
        let doubt = x.error.plus(&y.error)?.shifted(2.0 * r.tiny)?;
        let undecided = compare(CompareOp::Le, difference.size()?.0, doubt.0);
        let gap = self.value.minus(&other.value)?.size()?;
        let none = gap.scaled(0.0)?;
        let gap = selected(&Host::new(undecided)?, &gap, &none)?;
        Ok(Bounded { value, error: self.error.or_more(&other.error)?.plus(&gap)? })
    }

    pub fn sum(&self, axes: &[i64], keep: bool, r: Rounding) -> Result<Bounded> {
        let terms = self.count(axes)?;
        self.linear(terms, r, |x| reduce(ReduceOp::Sum, x, axes, keep))
    }

    /// Bounds a maximum or minimum by the largest error of its elements.
    pub fn extreme(&self, op: ReduceOp, axes: &[i64], keep: bool) -> Result<Bounded> {
        let value = Host::new(reduce(op, self.value.0, axes, keep))?;
        Ok(Bounded { value, error: Host::new(reduce(ReduceOp::Max, self.error.0, axes, keep))? })
    }

    pub fn reduced_product(&self, axes: &[i64], keep: bool, r: Rounding) -> Result<Bounded> {
        let act = |x: &Host| Host::new(reduce(ReduceOp::Product, x.0, axes, keep));
        let size = self.value.size()?;
        let most = act(&size.plus(&self.error)?)?;
        let of_operands = most.minus(&act(&size)?)?;
        let error = of_operands.plus(&most.scaled(self.count(axes)? * r.unit)?)?.shifted(r.tiny)?;
        Ok(Bounded { value: act(&self.value)?, error })
    }

    /// Number of elements that are reduced into one.
    pub fn count(&self, axes: &[i64]) -> Result<f64> {
        let dims = tensor::ty(self.value.0)?.dims;
        Ok(axes.iter().map(|&axis| dims[axis as usize] as f64).product())
    }
}

fn selected(pred: &Host, on_true: &Host, on_false: &Host) -> Result<Host> {
    Host::new(select(pred.0, on_true.0, on_false.0))
}
