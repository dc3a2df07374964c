//! Further functions of elements.

use super::super::arguments::Value;
use super::super::call::Call;
use super::super::operator::{Operator, operator};
use super::super::tensors::{Sight, View};
use super::elementwise::{cast, number_like, scaled};
use base::error;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, float_limits, integer_limits};
use ir::{BinaryFunction, BinaryOp, CompareOp, NodeId, Trace, UnaryFunction, UnaryOp};
use ops::control::stop_gradient;
use ops::elementwise::formula::record;
use ops::elementwise::{binary, binary_function, compare, compare_scalar, convert, select, unary, unary_function};

pub(super) const TABLE: &[Operator] = &[
    operator(&["positive.default"], "self", |call| call.viewed("self", View::Alias, Sight::Certain)),
    operator(&["isfinite.default"], "self", |call| {
        let x = call.tensor("self")?;
        // Every integer is finite; `is_finite` takes floats only.
        let trace = call.trace();
        let wide = if trace.node(x).dtype.is_float() { x } else { convert(trace, x, DType::F32) };
        let made = unary(trace, UnaryOp::IsFinite, wide)?;
        Ok(call.made(made))
    }),
    operator(&["signbit.default"], "self", |call| {
        let x = call.tensor("self")?;
        let trace = call.trace();
        let made = match trace.node(x).dtype.is_float() {
            true => unary_function(trace, UnaryFunction::Signbit, x)?,
            false if trace.node(x).dtype == DType::Pred => return Err(error!(Unimplemented, "the sign of bools")),
            false => compare_scalar(trace, CompareOp::Lt, x, ScalarValue::Signed(0), false)?,
        };
        Ok(call.made(made))
    }),
    operator(&["exp2.default"], "self", |call| {
        of_floats(call, |trace, x| {
            let two = number_like(trace, x, 2.0)?;
            binary(trace, BinaryOp::Power, two, x)
        })
    }),
    operator(&["deg2rad.default"], "self", |call| {
        of_floats(call, |trace, x| scaled(trace, x, std::f64::consts::PI / 180.0))
    }),
    operator(&["rad2deg.default"], "self", |call| {
        of_floats(call, |trace, x| scaled(trace, x, 180.0 / std::f64::consts::PI))
    }),
    operator(&["frac.default"], "self", |call| {
        of_floats(call, |trace, x| {
            let whole = unary_function(trace, UnaryFunction::Trunc, x)?;
            let whole = stop_gradient(trace, whole)?;
            binary(trace, BinaryOp::Subtract, x, whole)
        })
    }),
    operator(&["nan_to_num.default"], "self nan=none posinf=none neginf=none", nan_to_num),
    operator(&["logit.default"], "self eps=none", logit),
    operator(&["hypot.default"], "self other", |call| {
        two(call, |trace, a, b| binary_function(trace, BinaryFunction::Hypot, a, b))
    }),
    operator(&["copysign.Tensor", "copysign.Scalar"], "self other", |call| {
        two(call, |trace, a, b| binary_function(trace, BinaryFunction::Copysign, a, b))
    }),
    operator(&["xlogy.Tensor", "special_xlogy.default"], "self other", |call| times_log(call, UnaryOp::Log)),
    operator(&["special_xlog1py.default"], "self other", |call| times_log(call, UnaryOp::LogPlusOne)),
    operator(
        &["__lshift__.Scalar", "__lshift__.Tensor", "bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar"],
        "self other",
        |call| shifted(call, BinaryOp::ShiftLeft),
    ),
    operator(
        &["__rshift__.Scalar", "__rshift__.Tensor", "bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar"],
        "self other",
        |call| shifted(call, BinaryOp::ShiftRightArithmetic),
    ),
    operator(&["hardshrink.default"], "self lambd=0.5", |call| shrunk(call, true)),
    operator(&["softshrink.default"], "self lambd=0.5", |call| shrunk(call, false)),
    operator(&["heaviside.default"], "self values", |call| {
        let [x, at_zero] = call.promoted(["self", "values"], false)?;
        let trace = call.trace();
        let is_zero = compare_scalar(trace, CompareOp::Eq, x, ScalarValue::Signed(0), false)?;
        let is_above = compare_scalar(trace, CompareOp::Gt, x, ScalarValue::Signed(0), false)?;
        let step = convert(trace, is_above, trace.node(x).dtype);
        let at_zero = stop_gradient(trace, at_zero)?;
        let made = select(trace, is_zero, at_zero, step)?;
        Ok(call.made(made))
    }),
];

fn of_floats<'p>(
    call: &mut Call<'_, 'p>,
    record: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>,
) -> Result<Value<'p>> {
    let x = call.floats("self")?;
    let made = record(call.trace(), x)?;
    Ok(call.made(made))
}

fn two<'p>(
    call: &mut Call<'_, 'p>,
    record: impl FnOnce(&mut Trace, NodeId, NodeId) -> Result<NodeId>,
) -> Result<Value<'p>> {
    let [a, b] = call.promoted(["self", "other"], true)?;
    let made = record(call.trace(), a, b)?;
    Ok(call.made(made))
}

/// Numbers in place of NaN and the infinities; by default 0 and the limits of the dtype.
fn nan_to_num<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let dtype = call.dtype_of(x);
    if !dtype.is_float() {
        return call.viewed("self", View::Alias, Sight::Uncertain);
    }
    let limits = float_limits(dtype).ok_or_else(|| error!(Unimplemented, "the limits of {dtype}"))?;
    let largest = limits.max;
    let given = |name, otherwise| call.optional_float(name).map(|number| number.unwrap_or(otherwise));
    let numbers = [given("nan", 0.0)?, given("posinf", largest)?, given("neginf", -largest)?];
    let trace = call.trace();
    let [nan, high, low] = numbers.map(|number| number_like(trace, x, number));
    let is_nan = unary_function(trace, UnaryFunction::IsNan, x)?;
    let is_high = compare_scalar(trace, CompareOp::Eq, x, ScalarValue::Float(f64::INFINITY), false)?;
    let is_low = compare_scalar(trace, CompareOp::Eq, x, ScalarValue::Float(f64::NEG_INFINITY), false)?;
    let mut made = select(trace, is_nan, nan?, x)?;
    made = select(trace, is_high, high?, made)?;
    made = select(trace, is_low, low?, made)?;
    Ok(call.made(made))
}

/// `log(x / (1 - x))`, of x between eps and 1 - eps if eps is given.
fn logit<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let eps = call.optional_float("eps")?;
    of_floats(call, |trace, x| {
        // At the bounds, and beyond, the derivative is 0.
        let x = match eps {
            Some(eps) => record(trace, [x], |[x]| x.lt(eps).select(eps, x.gt(1.0 - eps).select(1.0 - eps, x)))?,
            None => x,
        };
        let minus = unary(trace, UnaryOp::Negate, x)?;
        let (log, other) = (unary(trace, UnaryOp::Log, x)?, unary(trace, UnaryOp::LogPlusOne, minus)?);
        let inside = binary(trace, BinaryOp::Subtract, log, other)?;
        // Outside of 0 to 1 the derivative is NaN too.
        let below = compare_scalar(trace, CompareOp::Lt, x, ScalarValue::Float(0.0), false)?;
        let above = compare_scalar(trace, CompareOp::Gt, x, ScalarValue::Float(1.0), false)?;
        let is_outside = binary(trace, BinaryOp::Or, below, above)?;
        let (nan, one) = (number_like(trace, x, f64::NAN)?, number_like(trace, x, 1.0)?);
        let factor = select(trace, is_outside, nan, one)?;
        binary(trace, BinaryOp::Multiply, inside, factor)
    })
}

/// `self * log(other)`, and 0 where `self` is 0 and `other` is not NaN.
fn times_log<'p>(call: &mut Call<'_, 'p>, log: UnaryOp) -> Result<Value<'p>> {
    two(call, |trace, a, b| {
        let is_zero = compare_scalar(trace, CompareOp::Eq, a, ScalarValue::Float(0.0), false)?;
        // Where 0 meets a logarithm that is not finite, another number stands for `other`, so that no 0 times infinity
        // arises in the derivative.
        let raw = unary(trace, log, b)?;
        let (is_finite, is_nan) =
            (unary(trace, UnaryOp::IsFinite, raw)?, unary_function(trace, UnaryFunction::IsNan, b)?);
        let is_known = binary(trace, BinaryOp::Or, is_finite, is_nan)?;
        let is_unknown = unary(trace, UnaryOp::Not, is_known)?;
        let is_unused = binary(trace, BinaryOp::And, is_zero, is_unknown)?;
        let (safe, zero) = (number_like(trace, b, 0.5)?, number_like(trace, a, 0.0)?);
        let safe = select(trace, is_unused, safe, b)?;
        let log = unary(trace, log, safe)?;
        let product = binary(trace, BinaryOp::Multiply, a, log)?;
        select(trace, is_unused, zero, product)
    })
}

/// A shift of integers, whose second operand has the dtype of the first.
fn shifted<'p>(call: &mut Call<'_, 'p>, op: BinaryOp) -> Result<Value<'p>> {
    let [a, b] = call.promoted(["self", "other"], false)?;
    let dtype = call.dtype_of(a);
    if !dtype.is_integer() || integer_limits(dtype).is_none() {
        return Err(error!(Unimplemented, "a shift of {dtype}"));
    }
    let op = match (op, dtype.kind()) {
        (BinaryOp::ShiftRightArithmetic, Kind::Unsigned) => BinaryOp::ShiftRightLogical,
        (op, _) => op,
    };
    let made = binary(call.trace(), op, a, b)?;
    Ok(call.made(made))
}

/// 0 within `lambd` of 0; elsewhere `self`, or `self` less `lambd` in size.
fn shrunk<'p>(call: &mut Call<'_, 'p>, is_hard: bool) -> Result<Value<'p>> {
    let (x, bound) = (call.tensor("self")?, call.float("lambd")?);
    call.refuse_unless("lambd", bound >= 0.0)?;
    let trace = call.trace();
    let bound = number_like(trace, x, bound)?;
    let zero = number_like(trace, x, 0.0)?;
    let minus = unary(trace, UnaryOp::Negate, bound)?;
    let (is_above, is_below) = (compare(trace, CompareOp::Gt, x, bound)?, compare(trace, CompareOp::Lt, x, minus)?);
    let (high, low) = match is_hard {
        true => (x, x),
        false => (binary(trace, BinaryOp::Subtract, x, bound)?, binary(trace, BinaryOp::Add, x, bound)?),
    };
    // NaN is neither above nor below, and stays.
    let is_nan = unary_function(trace, UnaryFunction::IsNan, x)?;
    let inner = select(trace, is_nan, x, zero)?;
    let made = select(trace, is_below, low, inner)?;
    let made = select(trace, is_above, high, made)?;
    let made = cast(trace, made, trace.node(x).dtype)?;
    Ok(call.made(made))
}
