//! Elementwise operations with the crate `xla`, as in their StableHLO.

use crate::emit::xla_rs::{Graph, Message, Named, Site, failed};
use crate::emit::{Emitter, identity};
use crate::error;
use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, Op, ReduceOp, UnaryOp};
use crate::ops;
use crate::ops::elementwise::bits::ReducePrecisionAttributes;
use crate::ops::elementwise::fold_barrier::unsigned;
use crate::ops::elementwise::functions::{self, is_wide};
use crate::ops::elementwise::{arc, complex_functions, function};
use crate::types::{DType, Kind, TensorType};
use xla::XlaOp;

/// The same dims with another dtype.
pub(in crate::ops) fn with(dtype: DType, ty: &TensorType) -> TensorType {
    TensorType { dtype, dims: ty.dims.clone() }
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
    } else if matches!(op, UnaryOp::Abs | UnaryOp::Sign) && g.ty(x).dtype.kind() == Kind::Complex {
        function_of_one(g, op, &g.value(x)?, g.ty(x))?
    } else {
        g.step(op.name(), &[&g.value(x)?], &value.ty)?
    };
    g.define(at, made);
    Ok(())
}

/// Builds the value that a lowering names `%made`, for these operands.
fn written(s: &Site, operands: [(&str, &XlaOp); 2], write: impl FnOnce(&mut Emitter)) -> Result<XlaOp> {
    let mut e = Emitter::new(&[], &[], &[], "cpu", ops::LOWERING);
    e.built = Some(Named::new(s, &operands));
    write(&mut e);
    let built = e.built.take().ok_or_else(|| error!(Internal, "a lowering lost what it built"))?;
    built.finish("%made")
}

fn function_of_one(s: &Site, op: UnaryOp, x: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    written(s, [("%x", x); 2], |e| match ty.dtype.kind() {
        Kind::Complex if op == UnaryOp::Abs => complex_functions::magnitude(e, "%made", "%x", ty),
        Kind::Complex => complex_functions::function(e, "%made", op, "%x", ty),
        _ => functions::function(e, "%made", op, "%x", ty),
    })
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
        BinaryOp::Power if ty.dtype.kind() == Kind::Complex => {
            written(s, [("%a", a), ("%b", b)], |e| complex_functions::power(e, "%made", "%a", "%b", ty))
        }
        BinaryOp::Atan2 => written(s, [("%a", a), ("%b", b)], |e| arc::atan2(e, "%made", "%a", "%b", ty)),
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
        Ok(vec![s.reduce(ReduceOp::Any, &left, DType::Pred, &axes, identity(ReduceOp::Any, DType::Pred))?])
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
    let (low, x, high) = (of(0)?, of(1)?, of(2)?);
    // XLA's CPU backend has no clamp of preds.
    let made = match value.ty.dtype {
        DType::Pred => g.step("minimum", &[&g.step("maximum", &[&low, &x], &value.ty)?, &high], &value.ty)?,
        _ => x.clamp(&low, &high).map_err(failed)?,
    };
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn convert(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let (x, from) = (g.operand(at, 0)?, g.ty(value.operands[0]));
    let made = if from.dtype.kind() != Kind::Complex || value.ty.dtype.kind() == Kind::Complex {
        g.convert_any(&x, from, value.ty.dtype)?
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

/// A u32 zero computed from one element of each value, of which XLA can tell neither that it is 0 nor that it equals the
/// zero of another `salt`: see [`crate::ops::elementwise::fold_barrier`].
pub(in crate::ops) fn zero_of_all(s: &Site, values: &[(&XlaOp, &TensorType)], salt: u128) -> Result<XlaOp> {
    let number = TensorType::new(DType::U32, &[]);
    let mut bits = s.constant(&number, salt)?;
    for (value, ty) in values.iter().filter(|(_, ty)| ty.elements() > 0) {
        bits = s.step("or", &[&bits, &first_bits(s, value, ty)?], &number)?;
    }
    let leading = s.step("count_leading_zeros", &[&bits], &number)?;
    s.step("shift_right_logical", &[&leading, &s.constant(&number, 6)?], &number)
}

/// The bits of the first element (of its real part, if complex), converted to u32.
fn first_bits(s: &Site, value: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    let rank = ty.dims.len();
    let cell = s.slice(value, &vec![0; rank], &vec![1; rank], &vec![1; rank])?;
    let (mut single, mut element) = (s.reshape(&cell, &[])?, TensorType::new(ty.dtype, &[]));
    if ty.dtype.kind() == Kind::Complex {
        element = TensorType::new(ty.dtype.real(), &[]);
        single = s.step("real", &[&single], &element)?;
    }
    if matches!(element.dtype.kind(), Kind::Float | Kind::Float8) {
        single = s.bitcast(&single, &unsigned(&element))?;
    }
    s.convert(&single, DType::U32)
}

/// An identity of the value: the zero of [`zero_of_all`] is ORed into the bits of every element.
pub(in crate::ops) fn with_zero(s: &Site, value: &XlaOp, ty: &TensorType, zero: &XlaOp) -> Result<XlaOp> {
    match ty.dtype.kind() {
        Kind::Complex => {
            let part = with(ty.dtype.real(), ty);
            let of = |which: &str| with_zero(s, &s.step(which, &[value], &part)?, &part, zero);
            s.step("complex", &[&of("real")?, &of("imag")?], ty)
        }
        Kind::Float | Kind::Float8 => {
            let wide = unsigned(ty);
            let same = with_zero(s, &s.bitcast(value, &wide)?, &wide, zero)?;
            s.bitcast(&same, ty)
        }
        Kind::Pred | Kind::Signed | Kind::Unsigned => {
            let all = s.broadcast(&s.convert(zero, ty.dtype)?, 0, &ty.dims)?;
            s.step("or", &[value, &all], ty)
        }
    }
}
