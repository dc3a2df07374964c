//! Arithmetic, comparisons, functions of elements, selections and conversions.

use super::super::arguments::Value;
use super::super::call::{Call, scalar};
use super::super::operator::{Operator, operator};
use super::super::tensors::{Sight, View};
use base::error;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue};
use ir::{BinaryFunction, BinaryOp, CompareOp, NodeId, SpecialOp, Trace, UnaryFunction, UnaryOp};
use ops::control::stop_gradient;
use ops::elementwise::{
    binary, binary_function, compare, compare_scalar, convert, select, special, unary, unary_function,
};
use ops::shape::broadcast_to;

pub(super) const TABLE: &[Operator] = &[
    operator(&["add.Tensor", "add.Scalar"], "self other alpha=1", |call| added(call, ["self", "other"], BinaryOp::Add)),
    operator(&["sub.Tensor", "sub.Scalar"], "self other alpha=1", |call| {
        added(call, ["self", "other"], BinaryOp::Subtract)
    }),
    operator(&["rsub.Scalar", "rsub.Tensor"], "self other alpha=1", |call| {
        added(call, ["other", "self"], BinaryOp::Subtract)
    }),
    operator(&["mul.Tensor", "mul.Scalar"], "self other", |call| arithmetic(call, false, BinaryOp::Multiply)),
    operator(&["div.Tensor", "div.Scalar", "true_divide.Tensor"], "self other", |call| {
        arithmetic(call, true, BinaryOp::Divide)
    }),
    operator(&["add.out"], "self other alpha=1 out", |call| {
        let made = added(call, ["self", "other"], BinaryOp::Add)?;
        written(call, made)
    }),
    operator(&["sub.out"], "self other alpha=1 out", |call| {
        let made = added(call, ["self", "other"], BinaryOp::Subtract)?;
        written(call, made)
    }),
    operator(&["mul.out"], "self other out", |call| {
        let made = arithmetic(call, false, BinaryOp::Multiply)?;
        written(call, made)
    }),
    operator(&["div.out"], "self other out", |call| {
        let made = arithmetic(call, true, BinaryOp::Divide)?;
        written(call, made)
    }),
    operator(&["div.Tensor_mode", "div.Scalar_mode"], "self other rounding_mode=none", divide_by_mode),
    operator(&["floor_divide.default", "floor_divide.Scalar", "floor_divide_.Tensor"], "self other", floor_divide),
    operator(&["remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor"], "self other", |call| {
        two(call, false, |trace, a, b| binary_function(trace, BinaryFunction::Modulo, a, b))
    }),
    operator(&["fmod.Tensor", "fmod.Scalar"], "self other", |call| {
        two(call, false, |trace, a, b| binary(trace, BinaryOp::Remainder, a, b))
    }),
    operator(&["maximum.default", "max.other"], "self other", |call| {
        two(call, false, |trace, a, b| binary(trace, BinaryOp::Maximum, a, b))
    }),
    operator(&["minimum.default", "min.other"], "self other", |call| {
        two(call, false, |trace, a, b| binary(trace, BinaryOp::Minimum, a, b))
    }),
    operator(&["bitwise_and.Tensor", "bitwise_and.Scalar", "__and__.Tensor", "__and__.Scalar"], "self other", |call| {
        two(call, false, |trace, a, b| binary(trace, BinaryOp::And, a, b))
    }),
    operator(&["bitwise_or.Tensor", "bitwise_or.Scalar", "__or__.Tensor", "__or__.Scalar"], "self other", |call| {
        two(call, false, |trace, a, b| binary(trace, BinaryOp::Or, a, b))
    }),
    operator(&["bitwise_xor.Tensor", "bitwise_xor.Scalar", "__xor__.Tensor", "__xor__.Scalar"], "self other", |call| {
        two(call, false, |trace, a, b| binary(trace, BinaryOp::Xor, a, b))
    }),
    operator(&["logical_and.default"], "self other", |call| logical(call, BinaryOp::And)),
    operator(&["logical_or.default"], "self other", |call| logical(call, BinaryOp::Or)),
    operator(&["logical_xor.default"], "self other", |call| logical(call, BinaryOp::Xor)),
    operator(&["eq.Tensor", "eq.Scalar"], "self other", |call| compared(call, CompareOp::Eq)),
    operator(&["ne.Tensor", "ne.Scalar"], "self other", |call| compared(call, CompareOp::Ne)),
    operator(&["lt.Tensor", "lt.Scalar"], "self other", |call| compared(call, CompareOp::Lt)),
    operator(&["le.Tensor", "le.Scalar"], "self other", |call| compared(call, CompareOp::Le)),
    operator(&["gt.Tensor", "gt.Scalar"], "self other", |call| compared(call, CompareOp::Gt)),
    operator(&["ge.Tensor", "ge.Scalar"], "self other", |call| compared(call, CompareOp::Ge)),
    operator(&["pow.Tensor_Scalar", "pow_.Scalar"], "self exponent", power_by_number),
    operator(&["pow.Tensor_Tensor", "pow.Scalar"], "self exponent", |call| {
        let [a, b] = call.promoted(["self", "exponent"], false)?;
        let made = binary(call.trace(), BinaryOp::Power, a, b)?;
        Ok(call.made(made))
    }),
    operator(&["atan2.default"], "self other", |call| two(call, true, atan2)),
    operator(&["logaddexp.default"], "self other", |call| {
        two(call, true, |trace, a, b| binary_function(trace, BinaryFunction::Logaddexp, a, b))
    }),
    operator(&["exp.default"], "self", |call| of_floats(call, UnaryOp::Exponential)),
    operator(&["expm1.default"], "self", |call| of_floats(call, UnaryOp::ExponentialMinusOne)),
    operator(&["log.default"], "self", |call| of_floats(call, UnaryOp::Log)),
    operator(&["log1p.default"], "self", |call| of_floats(call, UnaryOp::LogPlusOne)),
    operator(&["sigmoid.default"], "self", |call| of_floats(call, UnaryOp::Logistic)),
    operator(&["tanh.default"], "self", |call| of_floats(call, UnaryOp::Tanh)),
    operator(&["sqrt.default"], "self", |call| of_floats(call, UnaryOp::Sqrt)),
    operator(&["rsqrt.default"], "self", |call| of_floats(call, UnaryOp::Rsqrt)),
    operator(&["sin.default"], "self", |call| of_floats(call, UnaryOp::Sine)),
    operator(&["cos.default"], "self", |call| of_floats(call, UnaryOp::Cosine)),
    operator(&["tan.default"], "self", |call| of_floats(call, UnaryOp::Tan)),
    operator(&["log2.default"], "self", |call| function_of_floats(call, UnaryFunction::Log2)),
    operator(&["log10.default"], "self", |call| function_of_floats(call, UnaryFunction::Log10)),
    operator(&["sinh.default"], "self", |call| function_of_floats(call, UnaryFunction::Sinh)),
    operator(&["cosh.default"], "self", |call| function_of_floats(call, UnaryFunction::Cosh)),
    operator(&["asin.default"], "self", |call| function_of_floats(call, UnaryFunction::Asin)),
    operator(&["acos.default"], "self", |call| function_of_floats(call, UnaryFunction::Acos)),
    operator(&["atan.default"], "self", |call| function_of_floats(call, UnaryFunction::Atan)),
    operator(&["asinh.default"], "self", |call| function_of_floats(call, UnaryFunction::Asinh)),
    operator(&["acosh.default"], "self", |call| function_of_floats(call, UnaryFunction::Acosh)),
    operator(&["atanh.default"], "self", |call| function_of_floats(call, UnaryFunction::Atanh)),
    operator(&["lgamma.default"], "self", |call| function_of_floats(call, UnaryFunction::Lgamma)),
    operator(&["digamma.default"], "self", |call| function_of_floats(call, UnaryFunction::Digamma)),
    operator(&["erfinv.default"], "self", |call| function_of_floats(call, UnaryFunction::ErfInv)),
    operator(&["erf.default"], "self", |call| special_of_floats(call, SpecialOp::Erf)),
    operator(&["erfc.default"], "self", |call| special_of_floats(call, SpecialOp::Erfc)),
    operator(&["reciprocal.default"], "self", |call| {
        let x = call.floats("self")?;
        let made = over(call.trace(), 1.0, x)?;
        Ok(call.made(made))
    }),
    operator(&["neg.default"], "self", |call| of_self(call, |trace, x| unary(trace, UnaryOp::Negate, x))),
    operator(&["abs.default"], "self", |call| of_self(call, |trace, x| unary(trace, UnaryOp::Abs, x))),
    operator(&["sign.default", "sgn.default"], "self", |call| of_self(call, sign)),
    operator(&["floor.default"], "self", |call| rounded(call, |trace, x| unary(trace, UnaryOp::Floor, x))),
    operator(&["ceil.default"], "self", |call| rounded(call, |trace, x| unary(trace, UnaryOp::Ceil, x))),
    operator(&["round.default"], "self", |call| rounded(call, |trace, x| unary(trace, UnaryOp::RoundNearestEven, x))),
    operator(&["trunc.default", "fix.default"], "self", |call| {
        rounded(call, |trace, x| unary_function(trace, UnaryFunction::Trunc, x))
    }),
    operator(&["square.default"], "self", |call| {
        of_self(call, |trace, x| {
            // As every power with a number: bools become integers.
            let x = if trace.node(x).dtype == DType::Pred { convert(trace, x, DType::S64) } else { x };
            binary(trace, BinaryOp::Multiply, x, x)
        })
    }),
    operator(&["isnan.default"], "self", |call| {
        of_self(call, |trace, x| unary_function(trace, UnaryFunction::IsNan, x))
    }),
    operator(&["isinf.default"], "self", |call| {
        of_self(call, |trace, x| unary_function(trace, UnaryFunction::IsInf, x))
    }),
    operator(&["logical_not.default"], "self", |call| {
        of_self(call, |trace, x| {
            let x = convert(trace, x, DType::Pred);
            unary(trace, UnaryOp::Not, x)
        })
    }),
    operator(&["bitwise_not.default"], "self", |call| of_self(call, |trace, x| unary(trace, UnaryOp::Not, x))),
    operator(&["where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar"], "condition self other", choose),
    operator(&["masked_fill.Scalar", "masked_fill.Tensor"], "self mask value", masked_fill),
    operator(&["lerp.Scalar", "lerp.Tensor"], "self end weight", |call| {
        let [a, b, weight] = call.promoted(["self", "end", "weight"], false)?;
        let trace = call.trace();
        let difference = binary(trace, BinaryOp::Subtract, b, a)?;
        let part = binary(trace, BinaryOp::Multiply, weight, difference)?;
        let made = binary(trace, BinaryOp::Add, a, part)?;
        Ok(call.made(made))
    }),
    operator(&["addcmul.default"], "self tensor1 tensor2 value=1", |call| third(call, BinaryOp::Multiply)),
    operator(&["addcdiv.default"], "self tensor1 tensor2 value=1", |call| third(call, BinaryOp::Divide)),
    operator(
        &["_to_copy.default", "to.dtype", "to.dtype_layout", "to.device", "to.other", "to.prim_Device"],
        "self dtype=none layout=none device=none pin_memory=none non_blocking=false copy=false memory_format=none \
         other=none",
        converted,
    ),
    operator(&["type_as.default"], "self other", |call| {
        let other = call.tensor("other")?;
        let dtype = call.dtype_of(other);
        cast_view(call, dtype)
    }),
    operator(&["copy.default"], "self src non_blocking=false", |call| {
        let (x, source) = (call.tensor("self")?, call.tensor("src")?);
        let (dtype, dims) = (call.dtype_of(x), call.dims(x));
        let source = cast(call.trace(), source, dtype)?;
        let made = broadcast_to(call.trace(), source, &dims)?;
        Ok(call.made(made))
    }),
];

/// Records `number / x`.
pub fn over(trace: &mut Trace, number: f64, x: NodeId) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    let number = scalar(trace, dtype, ScalarValue::Float(number))?;
    binary(trace, BinaryOp::Divide, number, x)
}

/// Records `x * number`.
pub fn scaled(trace: &mut Trace, x: NodeId, number: f64) -> Result<NodeId> {
    with_number(trace, BinaryOp::Multiply, x, number)
}

/// Records `x (op) number`.
pub fn with_number(trace: &mut Trace, op: BinaryOp, x: NodeId, number: f64) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    let number = scalar(trace, dtype, ScalarValue::Float(number))?;
    binary(trace, op, x, number)
}

/// Records a conversion with PyTorch's values: floats out of range of an integer of 8 or 16 bits wrap.
pub fn cast(trace: &mut Trace, x: NodeId, dtype: DType) -> Result<NodeId> {
    let from = trace.node(x).dtype;
    let is_narrow = matches!(dtype, DType::U8 | DType::S8 | DType::S16 | DType::U16);
    let x = if is_narrow && from.is_float() { convert(trace, x, DType::S64) } else { x };
    Ok(convert(trace, x, dtype))
}

fn of_self<'p>(
    call: &mut Call<'_, 'p>,
    record: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>,
) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let made = record(call.trace(), x)?;
    Ok(call.made(made))
}

fn of_floats<'p>(call: &mut Call<'_, 'p>, op: UnaryOp) -> Result<Value<'p>> {
    let x = call.floats("self")?;
    let made = unary(call.trace(), op, x)?;
    Ok(call.made(made))
}

fn function_of_floats<'p>(call: &mut Call<'_, 'p>, function: UnaryFunction) -> Result<Value<'p>> {
    let x = call.floats("self")?;
    let made = unary_function(call.trace(), function, x)?;
    Ok(call.made(made))
}

fn special_of_floats<'p>(call: &mut Call<'_, 'p>, op: SpecialOp) -> Result<Value<'p>> {
    let x = call.floats("self")?;
    let made = special(call.trace(), op, x)?;
    Ok(call.made(made))
}

/// Integers are their own rounded values.
fn rounded<'p>(call: &mut Call<'_, 'p>, record: fn(&mut Trace, NodeId) -> Result<NodeId>) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    let made = if call.dtype_of(x).is_float() { record(call.trace(), x)? } else { x };
    Ok(call.made(made))
}

/// The sign of NaN is 0, the sign of a bool the bool.
fn sign(trace: &mut Trace, x: NodeId) -> Result<NodeId> {
    if trace.node(x).dtype == DType::Pred {
        return Ok(x);
    }
    let made = unary(trace, UnaryOp::Sign, x)?;
    if !trace.node(x).dtype.is_float() {
        return Ok(made);
    }
    let is_nan = unary_function(trace, UnaryFunction::IsNan, x)?;
    let zero = number_like(trace, x, 0.0)?;
    select(trace, is_nan, zero, made)
}

/// Records a number of the dtype of a node.
pub fn number_like(trace: &mut Trace, x: NodeId, number: f64) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    scalar(trace, dtype, ScalarValue::Float(number))
}

fn two<'p>(
    call: &mut Call<'_, 'p>,
    floats: bool,
    record: impl FnOnce(&mut Trace, NodeId, NodeId) -> Result<NodeId>,
) -> Result<Value<'p>> {
    let [a, b] = call.promoted(["self", "other"], floats)?;
    let made = record(call.trace(), a, b)?;
    Ok(call.made(made))
}

/// `self (op) other`. The product of bools is their and.
fn arithmetic<'p>(call: &mut Call<'_, 'p>, floats: bool, op: BinaryOp) -> Result<Value<'p>> {
    let ([a, b], result) = call.promoted_for_arithmetic(["self", "other"], floats)?;
    let op = if result == DType::Pred { BinaryOp::And } else { op };
    let trace = call.trace();
    let made = binary(trace, op, a, b)?;
    let made = convert(trace, made, result);
    Ok(call.made(made))
}

/// The angle of a point, with derivative 0 at the origin.
fn atan2(trace: &mut Trace, y: NodeId, x: NodeId) -> Result<NodeId> {
    let zero = ScalarValue::Float(0.0);
    let (of_y, of_x) =
        (compare_scalar(trace, CompareOp::Eq, y, zero, false)?, compare_scalar(trace, CompareOp::Eq, x, zero, false)?);
    let is_origin = binary(trace, BinaryOp::And, of_y, of_x)?;
    let at_origin = binary(trace, BinaryOp::Atan2, y, x)?;
    let at_origin = stop_gradient(trace, at_origin)?;
    let one = number_like(trace, x, 1.0)?;
    let x = select(trace, is_origin, one, x)?;
    let made = binary(trace, BinaryOp::Atan2, y, x)?;
    select(trace, is_origin, at_origin, made)
}

/// `a (op) alpha b`. The sum of bools is their or.
fn added<'p>(call: &mut Call<'_, 'p>, names: [&str; 2], op: BinaryOp) -> Result<Value<'p>> {
    let (_, alpha) = call.number("alpha")?;
    let ([mut a, mut b], result) = call.promoted_for_arithmetic(names, false)?;
    let trace = call.trace();
    if alpha.real() != Some(1.0) && matches!(result, DType::F16 | DType::BF16) {
        [a, b] = [a, b].map(|node| convert(trace, node, DType::F32));
    }
    let dtype = trace.node(a).dtype;
    if alpha.real() != Some(1.0) {
        let alpha = scalar(trace, dtype, alpha)?;
        b = match dtype {
            DType::Pred => binary(trace, BinaryOp::And, b, alpha)?,
            _ => binary(trace, BinaryOp::Multiply, b, alpha)?,
        };
    }
    let op = match (dtype, op) {
        (DType::Pred, BinaryOp::Add) => BinaryOp::Or,
        (DType::Pred, _) => return Err(error!(Unimplemented, "a difference of bools")),
        (_, op) => op,
    };
    let made = binary(trace, op, a, b)?;
    let made = convert(trace, made, result);
    Ok(call.made(made))
}

fn divide_by_mode<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    match call.value("rounding_mode") {
        Value::None => arithmetic(call, true, BinaryOp::Divide),
        Value::Text("floor") => floor_divide(call),
        Value::Text("trunc") => two(call, false, |trace, a, b| {
            let quotient = binary(trace, BinaryOp::Divide, a, b)?;
            match trace.node(quotient).dtype.is_float() {
                true => unary_function(trace, UnaryFunction::Trunc, quotient),
                // Integers truncate.
                false => Ok(quotient),
            }
        }),
        other => Err(error!(Unimplemented, "the rounding mode {other:?}")),
    }
}

fn floor_divide<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    two(call, false, |trace, a, b| binary_function(trace, BinaryFunction::FloorDivide, a, b))
}

fn logical<'p>(call: &mut Call<'_, 'p>, op: BinaryOp) -> Result<Value<'p>> {
    let (a, b) = (call.tensor("self")?, call.tensor("other")?);
    let trace = call.trace();
    let (a, b) = (convert(trace, a, DType::Pred), convert(trace, b, DType::Pred));
    let made = binary(trace, op, a, b)?;
    Ok(call.made(made))
}

fn compared<'p>(call: &mut Call<'_, 'p>, op: CompareOp) -> Result<Value<'p>> {
    two(call, false, |trace, a, b| compare(trace, op, a, b))
}

/// Powers that PyTorch computes by other functions, whose derivatives at 0 differ from a power's.
fn power_by_number<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let exponent = match call.computed("exponent") {
        Some(_) => None,
        None => call.number("exponent")?.1.real(),
    };
    let [x, power] = call.promoted(["self", "exponent"], false)?;
    let is_float = call.dtype_of(x).is_float();
    let trace = call.trace();
    let made = match exponent {
        Some(1.0) => x,
        Some(2.0) => binary(trace, BinaryOp::Multiply, x, x)?,
        Some(3.0) => {
            let square = binary(trace, BinaryOp::Multiply, x, x)?;
            binary(trace, BinaryOp::Multiply, square, x)?
        }
        Some(0.5) if is_float => unary(trace, UnaryOp::Sqrt, x)?,
        Some(-0.5) if is_float => unary(trace, UnaryOp::Rsqrt, x)?,
        Some(-1.0) if is_float => over(trace, 1.0, x)?,
        Some(0.0) => number_like_all(trace, x, 1.0)?,
        _ => binary(trace, BinaryOp::Power, x, power)?,
    };
    Ok(call.made(made))
}

/// Records a tensor of the type of a node with a number in every element.
pub fn number_like_all(trace: &mut Trace, x: NodeId, number: f64) -> Result<NodeId> {
    ops::creation::full(trace, &trace.ty(x), ScalarValue::Float(number))
}

/// Writes a result to the tensor `out`, and returns the tensor.
fn written<'p>(call: &mut Call<'_, 'p>, made: Value<'p>) -> Result<Value<'p>> {
    let (Value::Tensor(made), out) = (made, call.id("out")?) else {
        return Err(error!(Internal, "a result that is not a tensor"));
    };
    let recorder = &mut *call.recorder;
    let node = recorder.read(made)?;
    recorder.tensors.write(&mut recorder.trace, out, node)?;
    Ok(Value::Tensor(out))
}

/// Records a condition as bools.
pub fn condition(trace: &mut Trace, x: NodeId) -> NodeId {
    convert(trace, x, DType::Pred)
}

fn choose<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let pred = call.tensor("condition")?;
    let [a, b] = call.promoted(["self", "other"], false)?;
    let trace = call.trace();
    let pred = condition(trace, pred);
    let made = select(trace, pred, a, b)?;
    Ok(call.made(made))
}

fn masked_fill<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let (x, mask) = (call.tensor("self")?, call.tensor("mask")?);
    let dtype = call.dtype_of(x);
    let value = match call.value("value") {
        Value::Tensor(_) => {
            let value = call.tensor("value")?;
            cast(call.trace(), value, dtype)?
        }
        _ => {
            let (_, value) = call.number("value")?;
            scalar(call.trace(), dtype, value)?
        }
    };
    let mask = condition(call.trace(), mask);
    let made = select(call.trace(), mask, value, x)?;
    Ok(call.made(made))
}

/// `self + value * (tensor1 (op) tensor2)`.
fn third<'p>(call: &mut Call<'_, 'p>, op: BinaryOp) -> Result<Value<'p>> {
    let (_, value) = call.number("value")?;
    let [x, a, b] = call.promoted(["self", "tensor1", "tensor2"], op == BinaryOp::Divide)?;
    let dtype = call.dtype_of(x);
    let trace = call.trace();
    let mut made = binary(trace, op, a, b)?;
    if value.real() != Some(1.0) {
        let value = scalar(trace, dtype, value)?;
        made = binary(trace, BinaryOp::Multiply, made, value)?;
    }
    let made = binary(trace, BinaryOp::Add, x, made)?;
    Ok(call.made(made))
}

/// `to`: a conversion, or `self` if it has the dtype and no copy is asked for.
fn converted<'p>(call: &mut Call<'_, 'p>) -> Result<Value<'p>> {
    let dtype = match call.value("other") {
        Value::Tensor(_) => {
            let other = call.tensor("other")?;
            Some(call.dtype_of(other))
        }
        _ => call.dtype("dtype")?,
    };
    let x = call.tensor("self")?;
    let dtype = dtype.unwrap_or(call.dtype_of(x));
    cast_view(call, dtype)
}

fn cast_view<'p>(call: &mut Call<'_, 'p>, dtype: DType) -> Result<Value<'p>> {
    let x = call.tensor("self")?;
    if call.dtype_of(x) == dtype {
        // `_to_copy` and `copy=true` make copies, `to` an alias. Neither may be written then.
        return call.viewed("self", View::Alias, Sight::Uncertain);
    }
    if call.dtype_of(x).kind() == Kind::Complex && dtype.kind() != Kind::Complex && dtype != DType::Pred {
        return Err(error!(Unimplemented, "a conversion of complex numbers to {dtype}"));
    }
    let made = cast(call.trace(), x, dtype)?;
    Ok(call.made(made))
}

/// Records whether elements are greater than a number.
pub fn is_greater(trace: &mut Trace, x: NodeId, number: f64) -> Result<NodeId> {
    compare_scalar(trace, CompareOp::Gt, x, ScalarValue::Float(number), false)
}
