//! The language of formulas. A formula is a function of tensors that is recorded as several operations. It is written
//! with operators and named functions, as on paper:
//!
//! ```text
//! /// `x tanh(log(1 + e^x))`
//! fn mish(x: Expr) -> Expr {
//!     let power = x.exp();
//!     let n = power * (power + 2.0);
//!     x * (n / (n + 2.0))
//! }
//! ```
//!
//! Each operator and each method records one operation, with the inference, the promotion and the broadcasting of the
//! operation's own function. A number is converted to the dtype of the expression beside it. A recorded formula is
//! lowered, evaluated on `cpu`, differentiated and batched like any other operations.
//!
//! Errors are kept in the [`Formula`]: an operation that fails returns its left operand, and [`Formula::finish`]
//! returns the first error instead of the result.

use crate::creation::constants::full;
use crate::elementwise::binary::{binary, binary_scalar};
use crate::elementwise::bits::bitcast_convert;
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::complex;
use crate::elementwise::convert::convert;
use crate::elementwise::unary::unary;
use crate::reduction::reduce::reduce;
use base::error;
use base::error::{Error, Result};
use base::types::{DType, Scalar, ScalarValue, TensorType};
use ir::{BinaryOp, CompareOp, NodeId, Op, ReduceOp, Trace, UnaryOp};
use std::cell::{Cell, RefCell};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

/// A formula that is being recorded.
pub struct Formula<'f> {
    trace: RefCell<&'f mut Trace>,
    /// The first error.
    failure: Cell<Option<Error>>,
}

/// An expression of a formula: the node of an operand, a number or an operation.
#[derive(Clone, Copy)]
pub struct Expr<'f> {
    /// The formula in which operations on this expression are recorded.
    pub formula: &'f Formula<'f>,
    node: NodeId,
}

impl<'f> Formula<'f> {
    /// Starts a formula. Its operations are recorded in `trace`.
    pub fn new(trace: &'f mut Trace) -> Formula<'f> {
        Formula { trace: RefCell::new(trace), failure: Cell::new(None) }
    }

    /// An operand of the formula.
    pub fn operand(&'f self, node: NodeId) -> Expr<'f> {
        Expr { formula: self, node }
    }

    /// Several operands of the formula.
    pub fn operands(&'f self, nodes: &[NodeId]) -> Vec<Expr<'f>> {
        nodes.iter().map(|&node| self.operand(node)).collect()
    }

    /// Returns the node of a result, or the first error.
    pub fn finish(&self, result: Expr) -> Result<NodeId> {
        self.failure.take().map_or(Ok(result.node), Err)
    }

    /// Returns the nodes of several results, or the first error.
    pub fn finish_all<const N: usize>(&self, results: [Expr; N]) -> Result<[NodeId; N]> {
        self.failure.take().map_or(Ok(results.map(|result| result.node)), Err)
    }

    /// Returns the nodes of a list of results, or the first error.
    pub fn finish_list(&self, results: &[Expr]) -> Result<Vec<NodeId>> {
        self.failure.take().map_or(Ok(results.iter().map(|result| result.node).collect()), Err)
    }

    /// Keeps an error unless there is an earlier one.
    #[cold]
    fn fail(&self, error: Error) {
        self.failure.set(Some(self.failure.take().unwrap_or(error)));
    }
}

/// Records a formula of some operands.
pub fn record<const N: usize>(
    trace: &mut Trace,
    operands: [NodeId; N],
    formula: impl for<'f> FnOnce([Expr<'f>; N]) -> Expr<'f>,
) -> Result<NodeId> {
    let f = Formula::new(trace);
    f.finish(formula(operands.map(|node| f.operand(node))))
}

/// Records a formula of a float `x`. 8-bit and 16-bit floats are computed in f32 and rounded once.
pub fn in_wide(trace: &mut Trace, x: NodeId, formula: impl for<'f> FnOnce(Expr<'f>) -> Expr<'f>) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    record(trace, [x], |[x]| formula(x.convert(widened(dtype))).convert(dtype))
}

/// Returns an error that names the argument if its value is not representable in the dtype in which a formula of `x` is
/// computed.
pub fn check_wide(argument: &str, trace: &Trace, x: NodeId, value: f64) -> Result<()> {
    let dtype = widened(trace.node(x).dtype.real());
    Scalar::new(dtype, ScalarValue::Float(value)).map_err(|e| e.context(argument)).map(|_| ())
}

/// Dtype in which formulas of floats of `dtype` are computed: f32 for floats of 16 bits and less.
pub fn widened(dtype: DType) -> DType {
    if dtype.is_minifloat() || matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype }
}

/// An operand beside an expression: another expression, or a number, which is converted to the expression's dtype.
pub trait Term<'f>: Copy {
    /// Records `x (op) self`.
    fn after(self, x: Expr<'f>, op: BinaryOp) -> Expr<'f>;

    /// The operand as an expression beside `x`.
    fn beside(self, x: Expr<'f>) -> Expr<'f>;

    /// The operand, if it is an expression.
    fn expression(self) -> Option<Expr<'f>>;
}

impl<'f> Term<'f> for Expr<'f> {
    #[inline]
    fn after(self, x: Expr<'f>, op: BinaryOp) -> Expr<'f> {
        x.with(|trace| binary(trace, op, x.node, self.node))
    }

    fn beside(self, _: Expr<'f>) -> Expr<'f> {
        self
    }

    fn expression(self) -> Option<Expr<'f>> {
        Some(self)
    }
}

/// Implements [`Term`] for numbers.
macro_rules! number {
    ($($T:ty => $kind:ident),*) => {$(
        impl<'f> Term<'f> for $T {
            #[inline]
            fn after(self, x: Expr<'f>, op: BinaryOp) -> Expr<'f> {
                x.with(|trace| binary_scalar(trace, op, x.node, ScalarValue::$kind(self), false))
            }

            fn beside(self, x: Expr<'f>) -> Expr<'f> {
                x.constant(ScalarValue::$kind(self))
            }

            fn expression(self) -> Option<Expr<'f>> {
                None
            }
        }
    )*};
}

number!(f64 => Float, i64 => Signed);

/// Implements operators of two expressions, of an expression and a number, and of a number and an expression.
macro_rules! operators {
    ($($Trait:ident $method:ident $op:ident),*) => {$(
        impl<'f, R: Term<'f>> $Trait<R> for Expr<'f> {
            type Output = Expr<'f>;

            #[inline]
            fn $method(self, right: R) -> Expr<'f> {
                right.after(self, BinaryOp::$op)
            }
        }

        impl<'f> $Trait<Expr<'f>> for f64 {
            type Output = Expr<'f>;

            #[inline]
            fn $method(self, right: Expr<'f>) -> Expr<'f> {
                let left = ScalarValue::Float(self);
                right.with(|trace| binary_scalar(trace, BinaryOp::$op, right.node, left, true))
            }
        }
    )*};
}

operators!(Add add Add, Sub sub Subtract, Mul mul Multiply, Div div Divide);

/// Implements operators whose left operand is an expression.
macro_rules! operators_of_expressions {
    ($($Trait:ident $method:ident $op:ident),*) => {$(
        impl<'f, R: Term<'f>> $Trait<R> for Expr<'f> {
            type Output = Expr<'f>;

            #[inline]
            fn $method(self, right: R) -> Expr<'f> {
                right.after(self, BinaryOp::$op)
            }
        }
    )*};
}

operators_of_expressions!(Rem rem Remainder, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);

impl<'f> Neg for Expr<'f> {
    type Output = Expr<'f>;

    fn neg(self) -> Expr<'f> {
        self.unary(UnaryOp::Negate)
    }
}

impl<'f> Not for Expr<'f> {
    type Output = Expr<'f>;

    fn not(self) -> Expr<'f> {
        self.unary(UnaryOp::Not)
    }
}

/// Implements functions of one expression.
macro_rules! unary_functions {
    ($($name:ident $op:ident),*) => {
        /// Functions of one expression, by the operation that they record.
        #[allow(missing_docs)]
        impl<'f> Expr<'f> {$(
            pub fn $name(self) -> Expr<'f> {
                self.unary(UnaryOp::$op)
            }
        )*}
    };
}

unary_functions!(
    abs Abs, sign Sign, floor Floor, round RoundNearestEven, is_finite IsFinite, leading_zeros CountLeadingZeros,
    exp Exponential, exp_minus_one ExponentialMinusOne, log Log, log_plus_one LogPlusOne, logistic Logistic,
    sqrt Sqrt, rsqrt Rsqrt, sin Sine, cos Cosine, tan Tan
);

/// Implements functions of an expression and another operand.
macro_rules! binary_functions {
    ($($name:ident $op:ident),*) => {
        /// Functions of an expression and another operand, by the operation that they record.
        #[allow(missing_docs)]
        impl<'f> Expr<'f> {$(
            pub fn $name(self, other: impl Term<'f>) -> Expr<'f> {
                other.after(self, BinaryOp::$op)
            }
        )*}
    };
}

binary_functions!(
    max Maximum, min Minimum, power Power, atan2 Atan2,
    shift_right_arithmetic ShiftRightArithmetic, shift_right_logical ShiftRightLogical
);

/// Implements comparisons.
macro_rules! comparisons {
    ($($name:ident $op:ident),*) => {
        /// Comparisons of an expression with another operand.
        #[allow(missing_docs)]
        impl<'f> Expr<'f> {$(
            pub fn $name(self, other: impl Term<'f>) -> Expr<'f> {
                let other = other.beside(self);
                self.with(|trace| compare(trace, CompareOp::$op, self.node, other.node))
            }
        )*}
    };
}

comparisons!(eq Eq, ne Ne, lt Lt, le Le, gt Gt, ge Ge);

impl<'f> Expr<'f> {
    /// Records an operation by its own function.
    #[inline]
    fn with(self, operation: impl FnOnce(&mut Trace) -> Result<NodeId>) -> Expr<'f> {
        let made = operation(&mut self.formula.trace.borrow_mut());
        match made {
            Ok(node) => Expr { node, ..self },
            Err(error) => {
                self.formula.fail(error);
                self
            }
        }
    }

    /// Records an operation that this language has no name for, by its own function.
    pub fn apply(self, operation: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>) -> Expr<'f> {
        self.with(|trace| operation(trace, self.node))
    }

    /// Likewise, for an operation of two expressions.
    pub fn apply_with(
        self,
        other: Expr<'f>,
        operation: impl FnOnce(&mut Trace, NodeId, NodeId) -> Result<NodeId>,
    ) -> Expr<'f> {
        self.with(|trace| operation(trace, self.node, other.node))
    }

    /// Records an operation of one operand.
    #[inline]
    pub fn unary(self, op: UnaryOp) -> Expr<'f> {
        self.with(|trace| unary(trace, op, self.node))
    }

    /// Records an operation of one operand whose result has the type of this expression.
    pub fn operation(self, op: Op) -> Expr<'f> {
        self.with(|trace| {
            let node = *trace.node(self.node);
            Ok(trace.operation(op, node.dtype, node.shape, &[self.node]))
        })
    }

    /// Dtype of the expression.
    pub fn dtype(self) -> DType {
        self.formula.trace.borrow().node(self.node).dtype
    }

    /// Whether the expression is computed in f64.
    pub fn is_double(self) -> bool {
        self.dtype().real() == DType::F64
    }

    /// Type of the expression.
    pub fn ty(self) -> TensorType {
        self.formula.trace.borrow().ty(self.node)
    }

    /// Records a scalar of the dtype of this expression.
    pub fn constant(self, value: ScalarValue) -> Expr<'f> {
        self.with(|trace| full(trace, &TensorType::new(trace.node(self.node).dtype, &[]), value))
    }

    /// Records a real number in the dtype of this expression.
    pub fn number(self, value: f64) -> Expr<'f> {
        self.constant(ScalarValue::Float(value))
    }

    /// Records a conversion to another dtype.
    pub fn convert(self, dtype: DType) -> Expr<'f> {
        self.with(|trace| Ok(convert(trace, self.node, dtype)))
    }

    /// Records the bits of the expression as values of a dtype of the same width.
    pub fn bits(self, dtype: DType) -> Expr<'f> {
        self.with(|trace| bitcast_convert(trace, self.node, dtype))
    }

    /// Records `on_true` where this expression is true, and `on_false` elsewhere. At least one of them is an
    /// expression.
    pub fn select(self, on_true: impl Term<'f>, on_false: impl Term<'f>) -> Expr<'f> {
        let Some(known) = on_true.expression().or(on_false.expression()) else {
            self.formula.fail(error!(Internal, "a formula selects between two numbers, which have no dtype"));
            return self;
        };
        let (on_true, on_false) = (on_true.beside(known), on_false.beside(known));
        self.with(|trace| select(trace, self.node, on_true.node, on_false.node))
    }

    /// Records whether the expression, of floats, is infinite.
    pub fn is_infinite(self) -> Expr<'f> {
        self.abs().eq(f64::INFINITY)
    }

    /// Records a reduction over axes.
    pub fn reduce(self, op: ReduceOp, axes: &[i64], keep_dims: bool) -> Expr<'f> {
        self.with(|trace| reduce(trace, op, self.node, axes, keep_dims))
    }

    /// Records the real part; the expression itself if it is not complex.
    pub fn real(self) -> Expr<'f> {
        self.with(|trace| complex::real(trace, self.node))
    }

    /// Records the imaginary part; 0 if the expression is not complex.
    pub fn imag(self) -> Expr<'f> {
        self.with(|trace| complex::imag(trace, self.node))
    }

    /// Records the complex numbers whose real parts are this expression.
    pub fn complex(self, imag: Expr<'f>) -> Expr<'f> {
        self.with(|trace| complex::complex(trace, self.node, imag.node))
    }

    /// Records the polynomial `c[0] + c[1] self + ...`, by Horner's scheme.
    pub fn polynomial(self, coefficients: &[f64]) -> Expr<'f> {
        let (last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
        let Some((second, rest)) = rest.split_last() else { return self.number(*last) };
        rest.iter().rev().fold(self * *last + *second, |sum, coefficient| sum * self + *coefficient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the operations of a formula of one f32[2], with their scalars.
    fn recorded(formula: impl for<'f> FnOnce(Expr<'f>) -> Expr<'f>) -> Vec<(Op, Option<f64>)> {
        let mut trace = Trace::new();
        let x = trace.parameter(TensorType::new(DType::F32, &[2]));
        let result = record(&mut trace, [x], |[x]| formula(x)).unwrap();
        assert_eq!(result.0 as usize, trace.len() - 1, "the result is the last operation");
        let number = |scalar: Scalar| f64::from(f32::from_bits(scalar.bits() as u32));
        (1..trace.len()).map(|i| trace.node(NodeId(i as u32))).map(|n| (n.op, trace.scalar(n).map(number))).collect()
    }

    #[test]
    fn operators_record_operations_with_numbers_on_either_side() {
        let (left, right) = (Op::ScalarBinary, Op::BinaryScalar);
        assert_eq!(recorded(|x| 1.0 - x), [(left(BinaryOp::Subtract), Some(1.0))]);
        assert_eq!(recorded(|x| x - 1.0), [(right(BinaryOp::Subtract), Some(1.0))]);
        assert_eq!(
            recorded(|x| 2.0 / (x * x)),
            [(Op::Binary(BinaryOp::Multiply), None), (left(BinaryOp::Divide), Some(2.0))]
        );
        assert_eq!(
            recorded(|x| -x.exp().min(3.0)),
            [
                (Op::Unary(UnaryOp::Exponential), None),
                (right(BinaryOp::Minimum), Some(3.0)),
                (Op::Unary(UnaryOp::Negate), None)
            ]
        );
        assert_eq!(
            recorded(|x| x.polynomial(&[1.0, 2.0, 3.0])),
            [
                (right(BinaryOp::Multiply), Some(3.0)),
                (right(BinaryOp::Add), Some(2.0)),
                (Op::Binary(BinaryOp::Multiply), None),
                (right(BinaryOp::Add), Some(1.0))
            ]
        );
    }

    #[test]
    fn selections_take_numbers_in_the_dtype_of_the_other_side() {
        let made = recorded(|x| x.lt(0.0).select(x, 4.0));
        assert_eq!(
            made,
            [(Op::Full, Some(0.0)), (Op::Compare(CompareOp::Lt), None), (Op::Full, Some(4.0)), (Op::Select, None)]
        );
    }

    #[test]
    fn the_first_error_is_returned() {
        let mut trace = Trace::new();
        let x = trace.parameter(TensorType::new(DType::S32, &[2]));
        let e = record(&mut trace, [x], |[x]| (x.exp() + x.tan()).power(0.5)).unwrap_err();
        assert!(e.message.contains("x: exponential takes floats"), "{e}");
        let e = record(&mut trace, [x], |[x]| x.lt(0_i64).select(1.0, 2.0)).unwrap_err();
        assert!(e.message.contains("two numbers"), "{e}");
    }
}
