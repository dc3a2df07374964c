//! Derivatives of elementwise operations. A factor has the result's dtype.

use crate::error::Result;
use crate::ir::{BinaryOp, CompareOp, NodeId, Op, UnaryOp};
use crate::ops;
use crate::ops::elementwise::formula::Formula;
use crate::ops::rules::{Derivative, Factor, Site, is_differentiable, no_derivative};
use crate::types::{Kind, ScalarValue, TensorType, float_limits};

/// Derivative of the operations in [`UnaryOp`]. The magnitude and the sign of complex numbers are not complex
/// differentiable: they are linear in the real and the imaginary part of the tangent.
pub const UNARY: Derivative = Derivative::Linear { jvp: unary_jvp, vjp: unary_vjp };

/// Returns the operation of a site, and whether it is the magnitude or the sign of a complex number.
fn unary_op(site: &Site) -> (UnaryOp, bool) {
    let Op::Unary(op) = site.op else { unreachable!("asked for {:?}", site.op) };
    let is_complex = site.trace.node(site.operands[0]).dtype.kind() == Kind::Complex;
    (op, is_complex && matches!(op, UnaryOp::Abs | UnaryOp::Sign))
}

fn unary_jvp(site: &mut Site, _: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    match unary_op(site) {
        (UnaryOp::Abs, true) => abs_of_complex(site, tangent).map(Some),
        (_, true) => sign_of_complex(site, tangent).map(Some),
        (op, false) => {
            let factor = unary_factor(site, op)?;
            ops::rules::scaled(site.trace, tangent, &factor)
        }
    }
}

fn unary_vjp(site: &mut Site, _: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    match unary_op(site) {
        (UnaryOp::Abs, true) => {
            let direction = conjugate_sign(site)?;
            ops::binary(site.trace, BinaryOp::Multiply, direction, cotangent).map(Some)
        }
        (_, true) => sign_of_complex_transposed(site, cotangent).map(Some),
        (op, false) => {
            let factor = unary_factor(site, op)?;
            ops::rules::scaled(site.trace, cotangent, &factor)
        }
    }
}

/// Derivative by the operand, for operations that are real or complex differentiable.
pub fn unary_factor(site: &mut Site, op: UnaryOp) -> Result<Factor> {
    let (x, y) = (site.operands[0], site.result());
    let f = &mut Formula { trace: site.trace };
    use UnaryOp::*;
    let factor = match op {
        Negate => return Ok(Factor::MinusOne),
        Sign | Floor | Ceil | RoundNearestEven | RoundNearestAfz | Not | Popcnt | CountLeadingZeros | IsFinite => {
            return Ok(Factor::Zero);
        }
        Abs => f.unary(Sign, x)?,
        Exponential => y,
        ExponentialMinusOne => f.plus(y, 1.0)?,
        Log => return Ok(Factor::Over(x)),
        LogPlusOne => return Ok(Factor::Over(f.plus(x, 1.0)?)),
        // y (1 - y), with 1 - y computed as the logistic function of -x, which is accurate where y is near 1.
        Logistic => {
            let opposite = f.unary(Negate, x)?;
            let rest = f.unary(Logistic, opposite)?;
            f.multiply(y, rest)?
        }
        Tanh => {
            let (below, above) = (f.of(1.0, BinaryOp::Subtract, y)?, f.plus(y, 1.0)?);
            f.multiply(below, above)?
        }
        Sqrt => f.of(0.5, BinaryOp::Divide, y)?,
        Rsqrt => {
            let quotient = f.divide(y, x)?;
            f.times(quotient, -0.5)?
        }
        Cbrt => {
            let square = f.multiply(y, y)?;
            let thrice = f.times(square, 3.0)?;
            f.of(1.0, BinaryOp::Divide, thrice)?
        }
        Sine => f.unary(Cosine, x)?,
        Cosine => {
            let sine = f.unary(Sine, x)?;
            f.unary(Negate, sine)?
        }
        Tan => {
            let square = f.multiply(y, y)?;
            f.plus(square, 1.0)?
        }
    };
    Ok(Factor::Times(factor))
}

/// Records the real part of the product of `a` and `b`, without conjugation.
fn real_product(site: &mut Site, a: NodeId, b: NodeId) -> Result<NodeId> {
    let product = ops::binary(site.trace, BinaryOp::Multiply, a, b)?;
    ops::real(site.trace, product)
}

/// Records the conjugated sign of a complex number; 0 at 0.
fn conjugate_sign(site: &mut Site) -> Result<NodeId> {
    let sign = ops::unary(site.trace, UnaryOp::Sign, site.operands[0])?;
    ops::unary_function(site.trace, ops::UnaryFunction::Conj, sign)
}

/// Tangent of the magnitude of a complex number: the component of `tangent` in the direction of the number.
fn abs_of_complex(site: &mut Site, tangent: NodeId) -> Result<NodeId> {
    let direction = conjugate_sign(site)?;
    real_product(site, direction, tangent)
}

/// Tangent of the sign of a complex number: the component of `tangent` perpendicular to the number, divided by the
/// magnitude; 0 at 0.
fn sign_of_complex(site: &mut Site, tangent: NodeId) -> Result<NodeId> {
    let (sign, direction) = (site.result(), conjugate_sign(site)?);
    let along = real_product(site, direction, tangent)?;
    across(site, tangent, sign, along)
}

/// Cotangent of the operand of a complex sign.
fn sign_of_complex_transposed(site: &mut Site, cotangent: NodeId) -> Result<NodeId> {
    let (sign, direction) = (site.result(), conjugate_sign(site)?);
    let along = real_product(site, sign, cotangent)?;
    across(site, cotangent, direction, along)
}

/// Records `(x - direction along) / |number|`, and 0 where the number is 0.
fn across(site: &mut Site, x: NodeId, direction: NodeId, along: NodeId) -> Result<NodeId> {
    let trace = &mut *site.trace;
    let size = ops::unary(trace, UnaryOp::Abs, site.operands[0])?;
    let dtype = trace.node(size).dtype;
    let zero = ops::full(trace, &TensorType::new(dtype, &[]), ScalarValue::Signed(0))?;
    let is_zero = ops::compare(trace, CompareOp::Eq, size, zero)?;
    let one = ops::full(trace, &TensorType::new(dtype, &[]), ScalarValue::Signed(1))?;
    let divisor = ops::select(trace, is_zero, one, size)?;
    let part = ops::binary(trace, BinaryOp::Multiply, direction, along)?;
    let rest = ops::binary(trace, BinaryOp::Subtract, x, part)?;
    let quotient = ops::binary(trace, BinaryOp::Divide, rest, divisor)?;
    let zero = ops::full(trace, &TensorType::new(site.ty.dtype, &[]), ScalarValue::Signed(0))?;
    ops::select(trace, is_zero, zero, quotient)
}

/// Partial derivative of an operation in [`BinaryOp`] of two tensors by one of them.
pub fn binary_factor(site: &mut Site, operand: usize) -> Result<Factor> {
    let Op::Binary(op) = site.op else { unreachable!("asked for {:?}", site.op) };
    let [a, b] = [0, 1].map(|i| ops::convert(site.trace, site.operands[i], site.ty.dtype));
    factor_of(site, op, a, b, operand)
}

/// Partial derivative of an operation of a tensor and a scalar by the tensor.
pub fn scalar_factor(site: &mut Site, _: usize) -> Result<Factor> {
    let scalar = site.scalar.expect("the operation has a scalar");
    if let Op::BinaryScalar(BinaryOp::Multiply) | Op::ScalarBinary(BinaryOp::Multiply) = site.op {
        return Ok(Factor::Scalar(scalar));
    }
    let (x, constant) = (site.operands[0], ops::constant(site.trace, &[], scalar));
    match site.op {
        Op::BinaryScalar(op) => factor_of(site, op, x, constant, 0),
        Op::ScalarBinary(op) => factor_of(site, op, constant, x, 1),
        _ => unreachable!("asked for {:?}", site.op),
    }
}

/// Partial derivative of `a (op) b` by one operand. `a` and `b` have the result's dtype.
fn factor_of(site: &mut Site, op: BinaryOp, a: NodeId, b: NodeId, operand: usize) -> Result<Factor> {
    let y = site.result();
    let f = &mut Formula { trace: site.trace };
    let is_left = operand == 0;
    use BinaryOp::*;
    let factor = match op {
        Add => return Ok(Factor::One),
        Subtract => return Ok(if is_left { Factor::One } else { Factor::MinusOne }),
        Multiply => {
            if is_left {
                b
            } else {
                a
            }
        }
        Divide if is_left => return Ok(Factor::Over(b)),
        // -y / b. XLA would make a / (b b) of (a / b) / b, which overflows or underflows: the sign is in between.
        Divide => {
            let opposite = f.unary(UnaryOp::Negate, y)?;
            f.divide(opposite, b)?
        }
        Remainder if is_left => return Ok(Factor::One),
        Remainder => {
            let quotient = f.divide(a, b)?;
            let whole = ops::unary_function(f.trace, ops::UnaryFunction::Trunc, quotient)?;
            f.unary(UnaryOp::Negate, whole)?
        }
        Power if is_left => power_by_base(f, a, b)?,
        Power => power_by_exponent(f, a, y)?,
        Maximum | Minimum => extreme(f, if is_left { [a, b] } else { [b, a] }, y)?,
        Atan2 if is_left => over_square_of_length(f, [a, b], b)?,
        Atan2 => {
            let slope = over_square_of_length(f, [a, b], a)?;
            f.unary(UnaryOp::Negate, slope)?
        }
        And | Or | Xor | ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => return Ok(Factor::Zero),
    };
    Ok(Factor::Times(factor))
}

/// `x / (a^2 + b^2)`, where `x` is one of the operands. The squares may overflow or underflow where the quotient does
/// not. So all are divided by the larger operand, on which the result does not depend; its inverse is a normal number.
fn over_square_of_length(f: &mut Formula, operands: [NodeId; 2], x: NodeId) -> Result<NodeId> {
    let limits = float_limits(f.trace.node(x).dtype).expect("atan2 takes floats");
    let [a, b] = operands;
    let (of_a, of_b) = (f.unary(UnaryOp::Abs, a)?, f.unary(UnaryOp::Abs, b)?);
    let larger = f.binary(BinaryOp::Maximum, of_a, of_b)?;
    let larger = f.at_least(larger, limits.smallest_normal)?;
    let larger = f.at_most(larger, limits.max / 8.0)?;
    let larger = ops::stop_gradient(f.trace, larger)?;
    let inverse = f.of(1.0, BinaryOp::Divide, larger)?;
    let [a, b, share] = [f.multiply(a, inverse)?, f.multiply(b, inverse)?, f.multiply(x, inverse)?];
    let (aa, bb) = (f.multiply(a, a)?, f.multiply(b, b)?);
    let square = f.add(aa, bb)?;
    let part = f.multiply(share, inverse)?;
    f.divide(part, square)
}

/// `b a^(b-1)`; 0 where `b` is 0 and `a^-1` is not finite, for example at `a` = 0. For other bases, the factor still
/// depends on the exponent where that is 0: its derivative by the exponent is `a^-1`.
fn power_by_base(f: &mut Formula, a: NodeId, b: NodeId) -> Result<NodeId> {
    let is_zero = f.compare(CompareOp::Eq, b, 0.0)?;
    let inverse = f.of(1.0, BinaryOp::Divide, a)?;
    let is_finite = f.unary(UnaryOp::IsFinite, inverse)?;
    let has_pole = f.unary(UnaryOp::Not, is_finite)?;
    let is_singular = f.binary(BinaryOp::And, is_zero, has_pole)?;
    let (one, zero) = (f.scalar(b, 1.0)?, f.scalar(b, 0.0)?);
    let base = f.select(is_singular, one, a)?;
    let below = f.plus(b, -1.0)?;
    let power = f.binary(BinaryOp::Power, base, below)?;
    let product = f.multiply(b, power)?;
    f.select(is_singular, zero, product)
}

/// `log(a) a^b`; 0 where `a` is 0.
fn power_by_exponent(f: &mut Formula, a: NodeId, y: NodeId) -> Result<NodeId> {
    let is_zero = f.compare(CompareOp::Eq, a, 0.0)?;
    let one = f.scalar(a, 1.0)?;
    let base = f.select(is_zero, one, a)?;
    let log = f.unary(UnaryOp::Log, base)?;
    f.multiply(log, y)
}

/// 1 where the first operand is the result, 1/2 where both are, and 0 elsewhere.
pub fn extreme(f: &mut Formula, [own, other]: [NodeId; 2], y: NodeId) -> Result<NodeId> {
    let is_own = ops::compare(f.trace, CompareOp::Eq, own, y)?;
    let is_other = ops::compare(f.trace, CompareOp::Eq, other, y)?;
    let (zero, half, one) = (f.scalar(y, 0.0)?, f.scalar(y, 0.5)?, f.scalar(y, 1.0)?);
    let shared = f.select(is_other, half, one)?;
    f.select(is_own, shared, zero)
}

/// Partial derivatives of `select`: of `on_true` where pred is true, of `on_false` elsewhere.
pub fn select_factor(site: &mut Site, operand: usize) -> Result<Factor> {
    Ok(match operand {
        1 => Factor::Where(site.operands[0]),
        2 => Factor::Unless(site.operands[0]),
        _ => Factor::Zero,
    })
}

/// Records a clamp as the minimum of a maximum.
pub fn expand_clamp(site: &mut Site) -> Result<NodeId> {
    let [low, x, high] = [0, 1, 2].map(|i| site.operands[i]);
    let above = ops::binary(site.trace, BinaryOp::Maximum, x, low)?;
    ops::binary(site.trace, BinaryOp::Minimum, above, high)
}

/// Derivative of `convert`: a conversion of the tangent. In a conversion to complex numbers, the imaginary part is 0.
pub const CONVERT: Derivative = Derivative::Linear { jvp: convert_jvp, vjp: convert_vjp };

fn convert_jvp(site: &mut Site, _: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    Ok(Some(ops::convert(site.trace, tangent, site.ty.dtype)))
}

fn convert_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let ty = site.operand_ty(operand);
    if !is_differentiable(ty.dtype) {
        return Ok(None);
    }
    ops::rules::to_operand(site.trace, cotangent, &ty).map(Some)
}

fn complex_jvp(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Option<NodeId>> {
    let part = TensorType { dtype: site.ty.dtype.real(), dims: site.ty.dims.clone() };
    let mut parts = [site.operands[0]; 2];
    for (part_of, tangent) in parts.iter_mut().zip(tangents) {
        *part_of = match tangent {
            Some(tangent) => ops::rules::to_result(site.trace, *tangent, &part)?,
            None => ops::rules::zeros(site.trace, &part)?,
        };
    }
    ops::complex(site.trace, parts[0], parts[1]).map(Some)
}

/// Cotangent of one part of a complex number: the real part of its cotangent, or minus the imaginary part.
pub fn complex_linear_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let ty = site.operand_ty(operand);
    let part = if operand == 0 {
        ops::real(site.trace, cotangent)?
    } else {
        let imag = ops::imag(site.trace, cotangent)?;
        ops::unary(site.trace, UnaryOp::Negate, imag)?
    };
    ops::rules::to_operand(site.trace, part, &ty).map(Some)
}

/// Tangent of a complex number if one of its parts has a tangent.
pub fn complex_linear_jvp(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let mut tangents = [None, None];
    tangents[operand] = Some(tangent);
    complex_jvp(site, &tangents)
}

/// Tangent of the real or the imaginary part of a complex number.
pub fn part_jvp(site: &mut Site, _: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let part = if site.op == Op::Real { ops::real } else { ops::imag };
    part(site.trace, tangent).map(Some)
}

/// Cotangent of the operand of `real` or `imag`: the cotangent of the part, for the imaginary part times minus the
/// imaginary unit.
pub fn part_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let ty = site.operand_ty(operand);
    let zero = ops::rules::zeros(site.trace, &TensorType { dtype: ty.dtype.real(), dims: ty.dims.clone() })?;
    if ty.dtype.kind() != Kind::Complex {
        return Ok(if site.op == Op::Real { Some(cotangent) } else { None });
    }
    if site.op == Op::Real {
        return ops::complex(site.trace, cotangent, zero).map(Some);
    }
    let opposite = ops::unary(site.trace, UnaryOp::Negate, cotangent)?;
    ops::complex(site.trace, zero, opposite).map(Some)
}

/// Returns no derivative: a reinterpretation of bits is not differentiable.
pub fn no_bits(_: &mut Site, _: usize, _: NodeId) -> Result<Option<NodeId>> {
    Err(no_derivative("bitcast_convert"))
}

/// Passes tangents through, as if rounding to fewer bits were the identity.
pub fn straight_through(_: &mut Site, _: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    Ok(Some(tangent))
}
