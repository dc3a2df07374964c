//! Derivatives of elementwise operations. A factor has the result's dtype.

use crate::control::custom::stop_gradient;
use crate::creation::constants::constant;
use crate::elementwise::complex::{complex, imag, real};
use crate::elementwise::convert::convert;
use crate::elementwise::formula::{Expr, Formula, record};
use crate::elementwise::unary::unary;
use crate::rules::{Derivative, Factor, Site, is_differentiable, no_derivative};
use crate::tangents::{scaled, to_operand, to_result, zeros};
use base::error::Result;
use base::types::{Kind, TensorType, float_limits};
use ir::{BinaryOp, NodeId, Op, UnaryFunction, UnaryOp};

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
            scaled(site.trace, tangent, &factor)
        }
    }
}

fn unary_vjp(site: &mut Site, _: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    match unary_op(site) {
        (UnaryOp::Abs, true) => {
            record(site.trace, [site.operands[0], cotangent], |[x, cotangent]| conjugate_sign(x) * cotangent).map(Some)
        }
        (_, true) => sign_of_complex_transposed(site, cotangent).map(Some),
        (op, false) => {
            let factor = unary_factor(site, op)?;
            scaled(site.trace, cotangent, &factor)
        }
    }
}

/// Derivative by the operand, for operations that are real or complex differentiable.
pub fn unary_factor(site: &mut Site, op: UnaryOp) -> Result<Factor> {
    let (x, y) = (site.operands[0], site.result());
    let f = Formula::new(site.trace);
    let (x, y) = (f.operand(x), f.operand(y));
    use UnaryOp::*;
    let factor = match op {
        Negate => return Ok(Factor::MinusOne),
        Sign | Floor | Ceil | RoundNearestEven | RoundNearestAfz | Not | Popcnt | CountLeadingZeros | IsFinite => {
            return Ok(Factor::Zero);
        }
        Abs => x.sign(),
        Exponential => y,
        // y + 1 cancels where y is near -1.
        ExponentialMinusOne => x.exp(),
        Log => return Ok(Factor::Over(f.finish(x)?)),
        LogPlusOne => return Ok(Factor::Over(f.finish(x + 1.0)?)),
        // y (1 - y), with 1 - y computed as the logistic function of -x, which is accurate where y is near 1.
        Logistic => y * (-x).logistic(),
        Tanh if x.dtype().kind() == Kind::Complex => square_of_complex_sech(x, y),
        Tanh => square_of_sech(x, y),
        Sqrt => 0.5 / y,
        Rsqrt => y / x * -0.5,
        Cbrt => 1.0 / (y * y * 3.0),
        Sine => x.cos(),
        Cosine => -x.sin(),
        Tan => y * y + 1.0,
    };
    Ok(Factor::Times(f.finish(factor)?))
}

/// The derivative of tanh: `(1 - y) (1 + y)` of the tanh `y`, which keeps the digits of the next derivative near 0, and
/// where `1 - y` would cancel, `4 t / (1 + t)^2` with `t = e^(-2 |x|)`.
fn square_of_sech<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    let t = (x.abs() * -2.0).exp();
    let sum = t + 1.0;
    y.abs().le(0.5).select((1.0 - y) * (y + 1.0), t / sum * (4.0 / sum))
}

/// The derivative of tanh of complex numbers, by the same formulas. `1 + t` cancels around the poles, where `y` is large,
/// and `t` has no value at infinity.
fn square_of_complex_sech<'f>(x: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    let falls = x.real().lt(0.0);
    // The square of a power: twice the imaginary part may overflow.
    let root = falls.select(x, -x).exp();
    let (t, size) = (root * root, y.abs());
    let sum = t + 1.0;
    let is_of_value = size.le(0.5) | size.ge(2.0) | x.real().is_infinite();
    is_of_value.select((1.0 - y) * (y + 1.0), t / sum * (4.0 / sum))
}

/// The conjugated sign of a complex number; 0 at 0.
fn conjugate_sign(x: Expr) -> Expr {
    x.sign().function(UnaryFunction::Conj)
}

/// Tangent of the magnitude of a complex number: the component of `tangent` in the direction of the number.
fn abs_of_complex(site: &mut Site, tangent: NodeId) -> Result<NodeId> {
    record(site.trace, [site.operands[0], tangent], |[x, tangent]| (conjugate_sign(x) * tangent).real())
}

/// Tangent of the sign of a complex number: the component of `tangent` perpendicular to the number, divided by the
/// magnitude; 0 at 0.
fn sign_of_complex(site: &mut Site, tangent: NodeId) -> Result<NodeId> {
    let operands = [site.operands[0], site.result(), tangent];
    record(site.trace, operands, |[x, sign, tangent]| across(x, tangent, sign, (conjugate_sign(x) * tangent).real()))
}

/// Cotangent of the operand of a complex sign.
fn sign_of_complex_transposed(site: &mut Site, cotangent: NodeId) -> Result<NodeId> {
    let operands = [site.operands[0], site.result(), cotangent];
    record(site.trace, operands, |[x, sign, cotangent]| {
        across(x, cotangent, conjugate_sign(x), (sign * cotangent).real())
    })
}

/// `(t - direction along) / |x|`, and 0 where `x` is 0.
fn across<'f>(x: Expr<'f>, t: Expr<'f>, direction: Expr<'f>, along: Expr<'f>) -> Expr<'f> {
    let size = x.abs();
    let is_zero = size.eq(0.0);
    is_zero.select(0.0, (t - direction * along) / is_zero.select(1.0, size))
}

/// Partial derivative of an operation in [`BinaryOp`] of two tensors by one of them.
pub fn binary_factor(site: &mut Site, operand: usize) -> Result<Factor> {
    let Op::Binary(op) = site.op else { unreachable!("asked for {:?}", site.op) };
    let [a, b] = [0, 1].map(|i| convert(site.trace, site.operands[i], site.ty.dtype));
    factor_of(site, op, a, b, operand)
}

/// Partial derivative of an operation of a tensor and a scalar by the tensor.
pub fn scalar_factor(site: &mut Site, _: usize) -> Result<Factor> {
    let scalar = site.scalar.expect("the operation has a scalar");
    if let Op::BinaryScalar(BinaryOp::Multiply) | Op::ScalarBinary(BinaryOp::Multiply) = site.op {
        return Ok(Factor::Scalar(scalar));
    }
    let (x, constant) = (site.operands[0], constant(site.trace, &[], scalar));
    match site.op {
        Op::BinaryScalar(op) => factor_of(site, op, x, constant, 0),
        Op::ScalarBinary(op) => factor_of(site, op, constant, x, 1),
        _ => unreachable!("asked for {:?}", site.op),
    }
}

/// Partial derivative of `a (op) b` by one operand. `a` and `b` have the result's dtype.
fn factor_of(site: &mut Site, op: BinaryOp, a: NodeId, b: NodeId, operand: usize) -> Result<Factor> {
    let y = site.result();
    let f = Formula::new(site.trace);
    let [a, b, y] = [a, b, y].map(|node| f.operand(node));
    let is_left = operand == 0;
    let [own, other] = if is_left { [a, b] } else { [b, a] };
    use BinaryOp::*;
    let factor = match op {
        Add => return Ok(Factor::One),
        Subtract => return Ok(if is_left { Factor::One } else { Factor::MinusOne }),
        Multiply => other,
        Divide if is_left => return Ok(Factor::Over(f.finish(b)?)),
        Divide => -y / b,
        Remainder if is_left => return Ok(Factor::One),
        Remainder => -(a / b).function(UnaryFunction::Trunc),
        Power if is_left => power_by_base(a, b),
        Power => power_by_exponent(a, y),
        Maximum | Minimum => extreme(own, other, y),
        Atan2 if is_left => over_square_of_length(a, b, b),
        Atan2 => -over_square_of_length(a, b, a),
        And | Or | Xor | ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => return Ok(Factor::Zero),
    };
    Ok(Factor::Times(f.finish(factor)?))
}

/// `x / (a^2 + b^2)`, where `x` is `a` or `b`. The squares may overflow or underflow where the quotient does not. So
/// all are divided by the larger operand, on which the result does not depend; its inverse is a normal number.
fn over_square_of_length<'f>(a: Expr<'f>, b: Expr<'f>, x: Expr<'f>) -> Expr<'f> {
    let limits = float_limits(x.dtype()).expect("atan2 takes floats");
    let larger = a.abs().max(b.abs()).max(limits.smallest_normal).min(limits.max / 8.0);
    let inverse = 1.0 / larger.apply(stop_gradient);
    let (a, b) = (a * inverse, b * inverse);
    x * inverse * inverse / (a * a + b * b)
}

/// `b a^(b-1)`; 0 where `b` is 0 and `a^-1` is not finite, for example at `a` = 0. For other bases, the factor still
/// depends on the exponent where that is 0: its derivative by the exponent is `a^-1`.
fn power_by_base<'f>(a: Expr<'f>, b: Expr<'f>) -> Expr<'f> {
    let is_singular = b.eq(0.0) & !(1.0 / a).is_finite();
    let base = is_singular.select(1.0, a);
    // A difference would keep an imaginary part of -0.
    is_singular.select(0.0, b * base.power(b + -1.0))
}

/// `log(a) a^b`; 0 where `a` is 0.
fn power_by_exponent<'f>(a: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    a.eq(0.0).select(1.0, a).log() * y
}

/// 1 where the first operand is the result, 1/2 where both are, and 0 elsewhere.
pub fn extreme<'f>(own: Expr<'f>, other: Expr<'f>, y: Expr<'f>) -> Expr<'f> {
    let shared = other.eq(y).select(y.number(0.5), 1.0);
    own.eq(y).select(shared, 0.0)
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
    let operands = [0, 1, 2].map(|i| site.operands[i]);
    record(site.trace, operands, |[low, x, high]| x.max(low).min(high))
}

/// Derivative of `convert`: a conversion of the tangent. In a conversion to complex numbers, the imaginary part is 0.
pub const CONVERT: Derivative = Derivative::Linear { jvp: convert_jvp, vjp: convert_vjp };

fn convert_jvp(site: &mut Site, _: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    Ok(Some(convert(site.trace, tangent, site.ty.dtype)))
}

fn convert_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let ty = site.operand_ty(operand);
    if !is_differentiable(ty.dtype) {
        return Ok(None);
    }
    to_operand(site.trace, cotangent, &ty).map(Some)
}

fn complex_jvp(site: &mut Site, tangents: &[Option<NodeId>]) -> Result<Option<NodeId>> {
    let part = TensorType { dtype: site.ty.dtype.real(), dims: site.ty.dims.clone() };
    let mut parts = [site.operands[0]; 2];
    for (part_of, tangent) in parts.iter_mut().zip(tangents) {
        *part_of = match tangent {
            Some(tangent) => to_result(site.trace, *tangent, &part)?,
            None => zeros(site.trace, &part)?,
        };
    }
    complex(site.trace, parts[0], parts[1]).map(Some)
}

/// Cotangent of one part of a complex number: the real part of its cotangent, or minus the imaginary part.
pub fn complex_linear_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let ty = site.operand_ty(operand);
    let part = if operand == 0 {
        real(site.trace, cotangent)?
    } else {
        let imag = imag(site.trace, cotangent)?;
        unary(site.trace, UnaryOp::Negate, imag)?
    };
    to_operand(site.trace, part, &ty).map(Some)
}

/// Tangent of a complex number if one of its parts has a tangent.
pub fn complex_linear_jvp(site: &mut Site, operand: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let mut tangents = [None, None];
    tangents[operand] = Some(tangent);
    complex_jvp(site, &tangents)
}

/// Tangent of the real or the imaginary part of a complex number.
pub fn part_jvp(site: &mut Site, _: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    let part = if site.op == Op::Real { real } else { imag };
    part(site.trace, tangent).map(Some)
}

/// Cotangent of the operand of `real` or `imag`: the cotangent of the part, for the imaginary part times minus the
/// imaginary unit.
pub fn part_vjp(site: &mut Site, operand: usize, cotangent: NodeId) -> Result<Option<NodeId>> {
    let ty = site.operand_ty(operand);
    let zero = zeros(site.trace, &TensorType { dtype: ty.dtype.real(), dims: ty.dims.clone() })?;
    if ty.dtype.kind() != Kind::Complex {
        return Ok(if site.op == Op::Real { Some(cotangent) } else { None });
    }
    if site.op == Op::Real {
        return complex(site.trace, cotangent, zero).map(Some);
    }
    let opposite = unary(site.trace, UnaryOp::Negate, cotangent)?;
    complex(site.trace, zero, opposite).map(Some)
}

/// Returns no derivative: a reinterpretation of bits is not differentiable.
pub fn no_bits(_: &mut Site, _: usize, _: NodeId) -> Result<Option<NodeId>> {
    Err(no_derivative("bitcast_convert"))
}

/// Passes tangents through, as if rounding to fewer bits were the identity.
pub fn straight_through(_: &mut Site, _: usize, tangent: NodeId) -> Result<Option<NodeId>> {
    Ok(Some(tangent))
}
