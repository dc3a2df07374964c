//! Elementwise operations with the crate `xla`, as in their StableHLO. Functions of complex numbers are XLA's own.

use crate::emit::identity;
use crate::emit::xla_rs::{Graph, Message, Site, failed};
use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, Op, ReduceOp, UnaryOp};
use crate::ops::elementwise::bits::ReducePrecisionAttributes;
use crate::ops::elementwise::fold_barrier::unsigned;
use crate::ops::elementwise::function;
use crate::ops::elementwise::functions::is_wide;
use crate::ops::reduction::xla_rs::reduced;
use crate::types::{DType, Kind, Scalar, ScalarValue, TensorType};
use xla::XlaOp;

/// The same dims with another dtype.
pub(in crate::ops) fn with(dtype: DType, ty: &TensorType) -> TensorType {
    TensorType { dtype, dims: ty.dims.clone() }
}

/// A float constant with this value in every element.
fn float(s: &Site, ty: &TensorType, value: f64) -> Result<XlaOp> {
    s.constant(ty, Scalar::new(ty.dtype, ScalarValue::Float(value))?.bits())
}

/// True for dtypes that are computed in f32.
fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// The operand itself.
pub(in crate::ops) fn identity_of(g: &mut Graph, at: usize) -> Result<()> {
    let x = g.operand(at, 0)?;
    g.define(at, x);
    Ok(())
}

/// An operation that XlaBuilder has under the same name, of operands of the result's dims.
pub(in crate::ops) fn plain(g: &mut Graph, at: usize, op: &str) -> Result<()> {
    let operands = g.listed(&g.instruction(at).operands)?;
    let made = g.step(op, &operands.iter().collect::<Vec<&XlaOp>>(), g.ty(at))?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn unary(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let Op::Unary(op) = value.op else { return Ok(()) };
    let x = value.operands[0];
    let made = if is_wide(op) && is_half(value.ty.dtype) {
        let wide = with(DType::F32, &value.ty);
        let result = function_of_one(g, op, &g.cast(x, &wide)?, &wide)?;
        g.convert(&result, value.ty.dtype)?
    } else if is_wide(op) {
        function_of_one(g, op, &g.value(x)?, &value.ty)?
    } else {
        g.step(op.name(), &[&g.value(x)?], &value.ty)?
    };
    g.define(at, made);
    Ok(())
}

fn function_of_one(s: &Site, op: UnaryOp, x: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    match (op, ty.dtype) {
        (UnaryOp::Cbrt, _) => cube_root(s, x, ty),
        (UnaryOp::LogPlusOne, DType::F64) => kahan_log_plus_one(s, x, ty),
        _ => s.step(op.name(), &[x], ty),
    }
}

/// The cube root, corrected by one Newton step.
fn cube_root(s: &Site, x: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    let near = s.step("cbrt", &[x], ty)?;
    let square = s.step("multiply", &[&near, &near], ty)?;
    let other = s.step("divide", &[x, &square], ty)?;
    let difference = s.step("subtract", &[&near, &other], ty)?;
    let correction = s.step("multiply", &[&difference, &float(s, ty, 1.0 / 3.0)?], ty)?;
    let better = s.step("subtract", &[&near, &correction], ty)?;
    let is_finite = s.step("is_finite", &[&correction], ty)?;
    s.select(&is_finite, &better, &near)
}

/// `log(1 + x)` in f64 by W. Kahan's formula.
fn kahan_log_plus_one(s: &Site, x: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    let one = float(s, ty, 1.0)?;
    let sum = disguised(s, &s.step("add", &[x, &one], ty)?, x, ty)?;
    let log = s.step("log", &[&sum], ty)?;
    let rest = s.step("subtract", &[&sum, &one], ty)?;
    let share = s.step("divide", &[x, &rest], ty)?;
    let value = s.step("multiply", &[&log, &share], ty)?;
    let is_tiny = s.compare(CompareOp::Eq, &sum, &one)?;
    let is_far = s.compare(CompareOp::Gt, x, &float(s, ty, 1e18)?)?;
    let value = s.select(&is_far, &log, &value)?;
    s.select(&is_tiny, x, &value)
}

/// An identity of `x` that XLA's simplifier cannot fold: see [`crate::ops::elementwise::builder`].
fn disguised(s: &Site, x: &XlaOp, other: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    let bits = unsigned(ty);
    let past = (8 * bits.dtype.size_bytes()).ilog2() + 1;
    let leading = s.step("count_leading_zeros", &[&s.bitcast(other, &bits)?], &bits)?;
    let zero = s.step("shift_right_logical", &[&leading, &s.constant(&bits, past.into())?], &bits)?;
    let same = s.step("or", &[&s.bitcast(x, &bits)?, &zero], &bits)?;
    s.bitcast(&same, ty)
}

pub(in crate::ops) fn binary(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let Op::Binary(op) = value.op else { return Ok(()) };
    let (a, b) = (g.cast(value.operands[0], &value.ty)?, g.cast(value.operands[1], &value.ty)?);
    let made = of_two(g, op, &a, &b, &value.ty)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn binary_with_scalar(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let (scalar, x) = (g.scalar(&value.ty)?, g.operand(at, 0)?);
    let made = match value.op {
        Op::ScalarBinary(op) => of_two(g, op, &scalar, &x, &value.ty)?,
        Op::BinaryScalar(op) => of_two(g, op, &x, &scalar, &value.ty)?,
        _ => return Ok(()),
    };
    g.define(at, made);
    Ok(())
}

fn of_two(s: &Site, op: BinaryOp, a: &XlaOp, b: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    match op {
        BinaryOp::Divide | BinaryOp::Remainder if ty.dtype.is_integer() => integer_division(s, op, a, b, ty),
        BinaryOp::Power if ty.dtype.is_integer() => integer_power(s, a, b, ty),
        BinaryOp::Atan2 if is_half(ty.dtype) => {
            let (a, b) = (s.convert(a, DType::F32)?, s.convert(b, DType::F32)?);
            s.convert(&s.step("atan2", &[&a, &b], &with(DType::F32, ty))?, ty.dtype)
        }
        _ => s.step(op.name(), &[a, b], ty),
    }
}

/// Bits of an integer with all bits set.
fn all_ones(ty: &TensorType) -> u128 {
    u128::MAX >> (128 - 8 * ty.dtype.size_bytes() as u32)
}

/// Division or remainder without a trap of the processor.
fn integer_division(s: &Site, op: BinaryOp, a: &XlaOp, b: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    let (zero, one, ones) = (s.constant(ty, 0)?, s.constant(ty, 1)?, s.constant(ty, all_ones(ty))?);
    let by_zero = s.compare(CompareOp::Eq, b, &zero)?;
    let divisor = s.select(&by_zero, &one, b)?;
    let result = if ty.dtype.kind() == Kind::Signed {
        let by_ones = s.compare(CompareOp::Eq, b, &ones)?;
        let safe = s.select(&by_ones, &one, &divisor)?;
        let plain = s.step(op.name(), &[a, &safe], ty)?;
        let negated = if op == BinaryOp::Divide { s.step("negate", &[a], ty)? } else { zero };
        s.select(&by_ones, &negated, &plain)?
    } else {
        s.step(op.name(), &[a, &divisor], ty)?
    };
    s.select(&by_zero, if op == BinaryOp::Divide { &ones } else { a }, &result)
}

/// Power by repeated squaring over all bits of the exponent.
fn integer_power(s: &Site, base: &XlaOp, exponent: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    let (zero, one) = (s.constant(ty, 0)?, s.constant(ty, 1)?);
    if ty.dtype.kind() != Kind::Signed {
        return squarings(s, base, exponent, ty);
    }
    let ones = s.constant(ty, all_ones(ty))?;
    let negative = s.compare(CompareOp::Lt, exponent, &zero)?;
    let positive = squarings(s, base, &s.select(&negative, &zero, exponent)?, ty)?;
    let is_one = s.compare(CompareOp::Eq, base, &one)?;
    let is_minus_one = s.compare(CompareOp::Eq, base, &ones)?;
    let is_odd = s.compare(CompareOp::Eq, &s.step("and", &[exponent, &one], ty)?, &one)?;
    let alternating = s.select(&is_odd, &ones, &one)?;
    let of_minus_one = s.select(&is_minus_one, &alternating, &zero)?;
    let inverse = s.select(&is_one, &one, &of_minus_one)?;
    s.select(&negative, &inverse, &positive)
}

/// The loop of repeated squaring, which ends when no exponent has bits left.
fn squarings(s: &Site, base: &XlaOp, exponent: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    let types = [ty.clone(), ty.clone(), ty.clone()];
    let more = s.region_of_tuple("power_goes_on", &types, false, |s, inside| {
        let left = s.compare(CompareOp::Ne, &inside[2], &s.constant(ty, 0)?)?;
        let axes: Vec<i64> = (0..ty.dims.len() as i64).collect();
        Ok(vec![reduced(s, ReduceOp::Any, &left, DType::Pred, &axes, identity(ReduceOp::Any, DType::Pred))?])
    })?;
    let next = s.region_of_tuple("power_step", &types, true, |s, inside| {
        let one = s.constant(ty, 1)?;
        let (product, square, rest) = (&inside[0], &inside[1], &inside[2]);
        let is_odd = s.compare(CompareOp::Eq, &s.step("and", &[rest, &one], ty)?, &one)?;
        let times = s.step("multiply", &[product, square], ty)?;
        Ok(vec![
            s.select(&is_odd, &times, product)?,
            s.step("multiply", &[square, square], ty)?,
            s.step("shift_right_logical", &[rest, &one], ty)?,
        ])
    })?;
    let start = s.builder.tuple(&[s.constant(ty, 1)?, base.clone(), exponent.clone()]).map_err(failed)?;
    Ok(s.raw_tuple("while", &[start], &types, Message::new(), &[next, more])?.remove(0))
}

pub(in crate::ops) fn compare(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let Op::Compare(op) = value.op else { return Ok(()) };
    let common = TensorType { dtype: g.promoted(&value.operands), dims: value.ty.dims.clone() };
    let (a, b) = (g.cast(value.operands[0], &common)?, g.cast(value.operands[1], &common)?);
    let made = g.compare(op, &a, &b)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn select(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let pred = g.cast(value.operands[0], &with(DType::Pred, &value.ty))?;
    let (a, b) = (g.cast(value.operands[1], &value.ty)?, g.cast(value.operands[2], &value.ty)?);
    let made = g.select(&pred, &a, &b)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn clamp(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let of = |i: usize| g.cast(value.operands[i], &value.ty);
    let made = of(1)?.clamp(&of(0)?, &of(2)?).map_err(failed)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn convert(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let (x, from) = (g.operand(at, 0)?, g.ty(value.operands[0]));
    let made = if from.dtype.kind() != Kind::Complex || value.ty.dtype.kind() == Kind::Complex {
        g.convert(&x, value.ty.dtype)?
    } else if value.ty.dtype == DType::Pred {
        g.compare(CompareOp::Ne, &x, &g.constant(from, 0)?)?
    } else {
        let real = g.step("real", &[&x], &with(from.dtype.real(), from))?;
        g.convert(&real, value.ty.dtype)?
    };
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn complex(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let parts = with(value.ty.dtype.real(), &value.ty);
    let (real, imag) = (g.cast(value.operands[0], &parts)?, g.cast(value.operands[1], &parts)?);
    let made = g.step("complex", &[&real, &imag], &value.ty)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn bitcast_convert(g: &mut Graph, at: usize) -> Result<()> {
    let made = g.bitcast(&g.operand(at, 0)?, g.ty(at))?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn reduce_precision(g: &mut Graph, at: usize) -> Result<()> {
    const EXPONENT_BITS: u64 = 18;
    const MANTISSA_BITS: u64 = 19;
    let (value, x) = (g.instruction(at), g.operand(at, 0)?);
    let ReducePrecisionAttributes { exponent_bits, mantissa_bits } = value.attributes();
    let attributes = Message::new().number(EXPONENT_BITS, exponent_bits).number(MANTISSA_BITS, mantissa_bits);
    let mut made = g.raw("reduce-precision", std::slice::from_ref(&x), &value.ty, attributes)?;
    if mantissa_bits == 0 {
        let is_nan = g.compare(CompareOp::Ne, &x, &x)?;
        made = g.select(&is_nan, &x, &made)?;
    }
    g.define(at, made);
    Ok(())
}

/// A function that has a formula.
pub(in crate::ops) fn formula(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let types: Vec<TensorType> = value.operands.iter().map(|&operand| g.ty(operand).clone()).collect();
    let body = function::body_of(value.op, &types)?;
    let made = g.inline(&body, &g.listed(&value.operands)?)?.remove(0);
    g.define(at, made);
    Ok(())
}
