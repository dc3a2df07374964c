//! Elementwise functions without a StableHLO operation. Each is one node. Its formula, a list of simpler operations, is
//! used to lower and to evaluate it, but not to differentiate it: formulas split bits and select between
//! approximations, so that their derivatives would be wrong or inaccurate. Derivatives are rules of their own.

use super::{functions_of_one, functions_of_two, special};
use crate::emit::Emitter;
use crate::error::Result;
use crate::ir::{
    BinaryFunction, BinaryOp, Body, CompareOp, NodeId, Op, SpecialOp, Trace, UnaryFunction, UnaryOp, take_closed_body,
};
use crate::ops;
use crate::ops::definition::{Definition, InPlace, Native};
use crate::ops::elementwise::formula::Formula;
use crate::ops::rules::{Batching, Derivative, Factor, Site, no_derivative};
use crate::types::{DType, TensorType};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::f64::consts::{FRAC_2_SQRT_PI, LOG2_E, LOG10_E, PI};
use std::sync::{Arc, LazyLock};

/// Definition of the functions in [`UnaryFunction`] that have a formula.
pub(in crate::ops) const UNARY_FUNCTION: Definition = Definition {
    name: "unary_function",
    function: "lxla_unary",
    lower,
    native: Native::Formula,
    in_place: InPlace::Elementwise,
    derivative: Derivative::Elementwise(unary_factor),
    batching: Batching::Elementwise,
    expand: Some(expand),
    ..Definition::DEFAULT
};

/// Definition of the functions in [`BinaryFunction`] of floats.
pub(in crate::ops) const BINARY_FUNCTION: Definition = Definition {
    name: "binary_function",
    function: "lxla_binary",
    derivative: Derivative::Elementwise(binary_factor),
    ..UNARY_FUNCTION
};

/// Definition of the functions in [`SpecialOp`].
pub(in crate::ops) const SPECIAL_FUNCTION: Definition = Definition {
    name: "special_function",
    function: "lxla_special",
    derivative: Derivative::Elementwise(special_factor),
    ..UNARY_FUNCTION
};

/// Records the formula of a function.
fn formula(trace: &mut Trace, op: Op, operands: &[NodeId]) -> Result<NodeId> {
    let f = &mut Formula { trace };
    match op {
        Op::UnaryFunction(function) => functions_of_one::formula(f, function, operands[0]),
        Op::BinaryFunction(function) => functions_of_two::formula(f, function, operands[0], operands[1]),
        Op::Special(op) => special::formula(f, op, operands[0]),
        _ => unreachable!("asked for {op:?}"),
    }
}

fn expand(site: &mut Site) -> Result<NodeId> {
    let operands = site.operands.clone();
    formula(site.trace, site.op, &operands)
}

/// Returns the formula of a function of operands of these types, as a body.
pub(in crate::ops) fn body_of(op: Op, types: &[TensorType]) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let parameters: Vec<NodeId> = types.iter().map(|ty| trace.parameter(ty.clone())).collect();
    let result = formula(&mut trace, op, &parameters)?;
    take_closed_body(&trace, &parameters, &[], &[result])
}

type Made = FxHashMap<(u32, DType), Arc<Body>>;

/// Formulas of scalars. There are few, so no entry is ever removed.
static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Default::default);

/// Returns the formula of a function of scalars of one dtype, as a cached body.
pub fn formula_body(op: Op, dtype: DType) -> Result<Arc<Body>> {
    if let Some(body) = MADE.lock().get(&(op.code(), dtype)) {
        return Ok(body.clone());
    }
    let body = body_of(op, &vec![TensorType::new(dtype, &[]); op.arity().unwrap_or(1)])?;
    MADE.lock().insert((op.code(), dtype), body.clone());
    Ok(body)
}

/// Writes the StableHLO of the formula.
fn lower(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let types: Vec<TensorType> = value.operands.iter().map(|&operand| e.values[operand].ty.clone()).collect();
    let body = body_of(value.op, &types).expect("a recorded function has a formula");
    let (names, _) = e.listed(&value.operands);
    let (values, results) = body.decode();
    let made = e.write_out(&values, body.scalars(), &format!("f{at}_"), &names, &results);
    e.rename(at, made[0].clone());
}

/// Derivative of a function of one operand.
fn unary_factor(site: &mut Site, _: usize) -> Result<Factor> {
    let Op::UnaryFunction(function) = site.op else { unreachable!("asked for {:?}", site.op) };
    let (x, y) = (site.operands[0], site.result());
    let f = &mut Formula { trace: site.trace };
    let of = |f: &mut Formula, function| ops::unary_function(f.trace, function, x);
    use UnaryFunction::*;
    let factor = match function {
        IsNan | IsInf | Signbit | Trunc => return Ok(Factor::Zero),
        Conj => return Ok(Factor::One),
        Log2 | Log10 => {
            let inverse = f.of(1.0, BinaryOp::Divide, x)?;
            f.times(inverse, if function == Log2 { LOG2_E } else { LOG10_E })?
        }
        Sinh => of(f, Cosh)?,
        Cosh => of(f, Sinh)?,
        Asin | Acos => {
            let root = product_of_sides(f, x)?;
            let slope = f.unary(UnaryOp::Rsqrt, root)?;
            if function == Asin { slope } else { f.unary(UnaryOp::Negate, slope)? }
        }
        Atan => {
            let square = f.multiply(x, x)?;
            let sum = f.plus(square, 1.0)?;
            f.of(1.0, BinaryOp::Divide, sum)?
        }
        // Without a square, which overflows.
        Asinh => {
            let one = f.scalar(x, 1.0)?;
            let length = ops::binary_function(f.trace, BinaryFunction::Hypot, x, one)?;
            f.of(1.0, BinaryOp::Divide, length)?
        }
        Acosh => {
            let (below, above) = (f.plus(x, -1.0)?, f.plus(x, 1.0)?);
            let (below, above) = (f.unary(UnaryOp::Rsqrt, below)?, f.unary(UnaryOp::Rsqrt, above)?);
            f.multiply(below, above)?
        }
        Atanh => {
            let product = product_of_sides(f, x)?;
            f.of(1.0, BinaryOp::Divide, product)?
        }
        Lgamma => of(f, Digamma)?,
        Digamma => of(f, Trigamma)?,
        // The polygamma function of order 2.
        Trigamma => {
            let three = f.scalar(x, 3.0)?;
            let sum = ops::binary_function(f.trace, BinaryFunction::Zeta, three, x)?;
            f.times(sum, -2.0)?
        }
        ErfInv => {
            let square = f.multiply(y, y)?;
            let power = f.exp(square)?;
            f.times(power, 1.0 / FRAC_2_SQRT_PI)?
        }
        BesselI0e => {
            let (sign, other) = (f.unary(UnaryOp::Sign, x)?, of(f, BesselI1e)?);
            let product = f.multiply(sign, y)?;
            f.subtract(other, product)?
        }
        BesselI1e => bessel_i1e_slope(f, x, y)?,
    };
    Ok(Factor::Times(factor))
}

/// `(1 - x) (1 + x)`.
fn product_of_sides(f: &mut Formula, x: NodeId) -> Result<NodeId> {
    let (below, above) = (f.of(1.0, BinaryOp::Subtract, x)?, f.plus(x, 1.0)?);
    f.multiply(below, above)
}

/// `i0e(x) - y (sign(x) + 1 / x)`. Near 0, the result is `1/2 - |x|` to all bits, and is computed as such: `1 / x` may
/// overflow there, and cancels in the second derivative, which would keep half of the digits.
fn bessel_i1e_slope(f: &mut Formula, x: NodeId, y: NodeId) -> Result<NodeId> {
    let epsilon = if f.trace.node(x).dtype == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let size = f.unary(UnaryOp::Abs, x)?;
    let is_near = f.compare(CompareOp::Le, size, epsilon.sqrt() / 4.0)?;
    let one = f.scalar(x, 1.0)?;
    let divisor = f.select(is_near, one, x)?;
    let (sign, inverse) = (f.unary(UnaryOp::Sign, x)?, f.of(1.0, BinaryOp::Divide, divisor)?);
    let sum = f.add(sign, inverse)?;
    let product = f.multiply(y, sum)?;
    let other = ops::unary_function(f.trace, UnaryFunction::BesselI0e, x)?;
    let slope = f.subtract(other, product)?;
    let near = f.of(0.5, BinaryOp::Subtract, size)?;
    f.select(is_near, near, slope)
}

/// Derivative of a special function: a multiple of e^-x^2 or e^(-x^2/2).
fn special_factor(site: &mut Site, _: usize) -> Result<Factor> {
    let Op::Special(op) = site.op else { unreachable!("asked for {:?}", site.op) };
    let x = site.operands[0];
    let f = &mut Formula { trace: site.trace };
    let (scale, by) = match op {
        SpecialOp::Erf => (-1.0, FRAC_2_SQRT_PI),
        SpecialOp::Erfc => (-1.0, -FRAC_2_SQRT_PI),
        SpecialOp::NormalCdf => (-0.5, 1.0 / (2.0 * PI).sqrt()),
    };
    let square = f.multiply(x, x)?;
    let exponent = f.times(square, scale)?;
    let power = f.exp(exponent)?;
    Ok(Factor::Times(f.times(power, by)?))
}

/// Partial derivatives of a function of two operands.
fn binary_factor(site: &mut Site, operand: usize) -> Result<Factor> {
    let Op::BinaryFunction(function) = site.op else { unreachable!("asked for {:?}", site.op) };
    let (a, b, y) = (site.operands[0], site.operands[1], site.result());
    let f = &mut Formula { trace: site.trace };
    let own = [a, b][operand];
    let factor = match (function, operand) {
        (BinaryFunction::FloorDivide, _) | (BinaryFunction::Copysign, 1) => return Ok(Factor::Zero),
        (BinaryFunction::Modulo, 0) => return Ok(Factor::One),
        (BinaryFunction::Modulo, _) => {
            let quotient = f.divide(a, b)?;
            let floor = f.unary(UnaryOp::Floor, quotient)?;
            f.unary(UnaryOp::Negate, floor)?
        }
        (BinaryFunction::Copysign, _) => {
            let (one, sign) = (f.scalar(a, 1.0)?, f.unary(UnaryOp::Sign, a)?);
            let of_b = ops::binary_function(f.trace, BinaryFunction::Copysign, one, b)?;
            f.multiply(sign, of_b)?
        }
        // At the origin, the derivative is 0.
        (BinaryFunction::Hypot, _) => {
            let is_zero = f.compare(CompareOp::Eq, y, 0.0)?;
            let (one, zero) = (f.scalar(y, 1.0)?, f.scalar(y, 0.0)?);
            let divisor = f.select(is_zero, one, y)?;
            let quotient = f.divide(own, divisor)?;
            f.select(is_zero, zero, quotient)?
        }
        // e^(a - y); where y is infinite, the derivative of the maximum by the operand.
        (BinaryFunction::Logaddexp, _) => {
            let is_infinite = ops::unary_function(f.trace, UnaryFunction::IsInf, y)?;
            let difference = f.subtract(own, y)?;
            let share = f.exp(difference)?;
            let at_infinity = super::derivative::extreme(f, [own, [b, a][operand]], y)?;
            f.select(is_infinite, at_infinity, share)?
        }
        (BinaryFunction::NextAfter, _) => return Err(no_derivative("next_after")),
        (BinaryFunction::Polygamma, 0) => return Err(no_derivative("polygamma by its order")),
        (BinaryFunction::Polygamma, _) => {
            let next = f.plus(a, 1.0)?;
            ops::binary_function(f.trace, BinaryFunction::Polygamma, next, b)?
        }
        (BinaryFunction::Zeta, 0) => return Err(no_derivative("zeta by its exponent")),
        (BinaryFunction::Zeta, _) => {
            let next = f.plus(a, 1.0)?;
            let sum = ops::binary_function(f.trace, BinaryFunction::Zeta, next, b)?;
            let product = f.multiply(a, sum)?;
            f.unary(UnaryOp::Negate, product)?
        }
    };
    Ok(Factor::Times(factor))
}
