//! Formulas: functions that are recorded as several elementwise operations, all in one dtype.

use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, NodeId, ReduceOp, Trace, UnaryOp};
use crate::ops::creation::constants::full;
use crate::ops::elementwise::binary::{binary, binary_scalar};
use crate::ops::elementwise::compare_select::{compare, select};
use crate::ops::elementwise::convert::convert;
use crate::ops::elementwise::unary::unary;
use crate::ops::reduction::reduce::reduce;
use crate::types::{DType, Scalar, ScalarValue, TensorType};

/// Records the operations of a formula.
pub struct Formula<'a> {
    /// Trace in which operations are recorded.
    pub trace: &'a mut Trace,
}

impl Formula<'_> {
    pub fn unary(&mut self, op: UnaryOp, x: NodeId) -> Result<NodeId> {
        unary(self.trace, op, x)
    }

    pub fn binary(&mut self, op: BinaryOp, a: NodeId, b: NodeId) -> Result<NodeId> {
        binary(self.trace, op, a, b)
    }

    /// Records `x (op) value`.
    pub fn with(&mut self, op: BinaryOp, x: NodeId, value: f64) -> Result<NodeId> {
        binary_scalar(self.trace, op, x, ScalarValue::Float(value), false)
    }

    /// Records `x (op) value` for a scalar of any dtype.
    pub fn with_scalar(&mut self, op: BinaryOp, x: NodeId, value: ScalarValue) -> Result<NodeId> {
        binary_scalar(self.trace, op, x, value, false)
    }

    /// Records `value (op) x`.
    pub fn of(&mut self, value: f64, op: BinaryOp, x: NodeId) -> Result<NodeId> {
        binary_scalar(self.trace, op, x, ScalarValue::Float(value), true)
    }

    pub fn add(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        self.binary(BinaryOp::Add, a, b)
    }

    pub fn subtract(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        self.binary(BinaryOp::Subtract, a, b)
    }

    pub fn multiply(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        self.binary(BinaryOp::Multiply, a, b)
    }

    pub fn divide(&mut self, a: NodeId, b: NodeId) -> Result<NodeId> {
        self.binary(BinaryOp::Divide, a, b)
    }

    pub fn plus(&mut self, x: NodeId, value: f64) -> Result<NodeId> {
        self.with(BinaryOp::Add, x, value)
    }

    pub fn times(&mut self, x: NodeId, value: f64) -> Result<NodeId> {
        self.with(BinaryOp::Multiply, x, value)
    }

    pub fn at_least(&mut self, x: NodeId, value: f64) -> Result<NodeId> {
        self.with(BinaryOp::Maximum, x, value)
    }

    pub fn at_most(&mut self, x: NodeId, value: f64) -> Result<NodeId> {
        self.with(BinaryOp::Minimum, x, value)
    }

    pub fn exp(&mut self, x: NodeId) -> Result<NodeId> {
        self.unary(UnaryOp::Exponential, x)
    }

    /// Records a reduction that keeps the reduced axes with size 1.
    pub fn kept(&mut self, op: ReduceOp, x: NodeId, axes: &[i64]) -> Result<NodeId> {
        reduce(self.trace, op, x, axes, true)
    }

    /// Records a scalar of the dtype of `x`.
    pub fn scalar(&mut self, x: NodeId, value: f64) -> Result<NodeId> {
        let ty = TensorType::new(self.trace.node(x).dtype, &[]);
        full(self.trace, &ty, ScalarValue::Float(value))
    }

    /// Records the comparison `x (op) value`.
    pub fn compare(&mut self, op: CompareOp, x: NodeId, value: f64) -> Result<NodeId> {
        let value = self.scalar(x, value)?;
        compare(self.trace, op, x, value)
    }

    pub fn select(&mut self, pred: NodeId, on_true: NodeId, on_false: NodeId) -> Result<NodeId> {
        select(self.trace, pred, on_true, on_false)
    }

    /// Records the polynomial `c[0] + c[1] x + ...`.
    pub fn polynomial(&mut self, x: NodeId, coefficients: &[f64]) -> Result<NodeId> {
        let (last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
        let Some((second, rest)) = rest.split_last() else { return self.scalar(x, *last) };
        let slope = self.times(x, *last)?;
        let mut sum = self.plus(slope, *second)?;
        for coefficient in rest.iter().rev() {
            let product = self.multiply(sum, x)?;
            sum = self.plus(product, *coefficient)?;
        }
        Ok(sum)
    }
}

/// Records a formula of a float `x`. 8-bit and 16-bit floats are computed in f32 and rounded once.
pub fn in_wide(
    trace: &mut Trace,
    x: NodeId,
    formula: impl FnOnce(&mut Formula, NodeId) -> Result<NodeId>,
) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    let x = convert(trace, x, widened(dtype));
    let result = formula(&mut Formula { trace }, x)?;
    Ok(convert(trace, result, dtype))
}

/// Returns an error that names the argument if its value is not representable in the dtype in which a formula of `x` is
/// computed.
pub fn check_wide(argument: &str, trace: &Trace, x: NodeId, value: f64) -> Result<()> {
    let dtype = widened(trace.node(x).dtype.real());
    Scalar::new(dtype, ScalarValue::Float(value)).map_err(|e| e.context(argument)).map(|_| ())
}

/// Dtype in which formulas of floats of `dtype` are computed: f32 for 8-bit and 16-bit floats.
pub fn widened(dtype: DType) -> DType {
    if dtype.is_float8() || matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype }
}
