//! Elementwise functions of two operands without a StableHLO operation: the formulas for floats, which are one node
//! (`function.rs`), and the operations recorded for other dtypes. At NaN, infinities, zeros and integer divisors of 0,
//! lazy and eager results are those of NumPy.

use crate::error;
use crate::error::Result;
use crate::ir::{BinaryFunction, BinaryOp, CompareOp, NodeId, Op, Trace, UnaryOp};
use crate::ops::creation::constants::constant;
use crate::ops::elementwise::binary::scalar_operand;
use crate::ops::elementwise::compare_select::{compare, select};
use crate::ops::elementwise::complex::complex;
use crate::ops::elementwise::convert::convert;
use crate::ops::elementwise::formula::{Formula, widened};
use crate::ops::elementwise::signs::{signbit, with_sign_of};
use crate::ops::elementwise::unary::unary;
use crate::ops::elementwise::{next_after, zeta};
use crate::ops::{common_dims, common_dtype, typed};
use crate::types::{DType, Kind, ScalarValue, TensorType};

/// Records a function of two tensors, with broadcasting and type promotion. 8-bit and 16-bit floats are computed in f32
/// and rounded once.
pub fn binary_function(trace: &mut Trace, function: BinaryFunction, lhs: NodeId, rhs: NodeId) -> Result<NodeId> {
    let (l, r) = (trace.ty(lhs), trace.ty(rhs));
    let dtype = common_dtype(&l, &r)?;
    check(function, dtype).map_err(|e| e.context(format_args!("lhs is {l} and rhs is {r}")))?;
    common_dims(&l, &r)?;
    if function == BinaryFunction::Copysign && dtype.is_float8() {
        return copysign_of_8_bits(trace, lhs, rhs);
    }
    // Functions of bits are computed in the operands' dtype.
    let is_of_bits = matches!(function, BinaryFunction::Copysign | BinaryFunction::NextAfter);
    let computed_in = if is_of_bits { dtype } else { widened(dtype) };
    let [a, b] = [lhs, rhs].map(|x| convert(trace, x, computed_in));
    let f = &mut Formula { trace };
    let result = match function {
        BinaryFunction::FloorDivide if dtype.is_integer() => integer_floor_divide(f, a, b)?,
        BinaryFunction::Modulo if dtype.is_integer() => integer_modulo(f, a, b)?,
        _ => {
            let (l, r) = (f.trace.ty(a), f.trace.ty(b));
            let ty = TensorType { dtype: computed_in, dims: common_dims(&l, &r)? };
            typed(f.trace, Op::BinaryFunction(function), &ty, &[a, b])
        }
    };
    Ok(convert(trace, result, dtype))
}

/// Records the formula of a function of two floats of one dtype: f32 or f64, and for functions of bits also f16 and
/// bf16.
pub(in crate::ops) fn formula(f: &mut Formula, function: BinaryFunction, a: NodeId, b: NodeId) -> Result<NodeId> {
    match function {
        BinaryFunction::FloorDivide => floor_divide(f, a, b),
        BinaryFunction::Modulo => modulo(f, a, b),
        BinaryFunction::Copysign => with_sign_of(f.trace, a, b),
        BinaryFunction::Hypot => {
            let z = complex(f.trace, a, b)?;
            f.unary(UnaryOp::Abs, z)
        }
        BinaryFunction::Logaddexp => logaddexp(f, a, b),
        BinaryFunction::NextAfter => next_after::next_after(f, a, b),
        BinaryFunction::Polygamma => zeta::polygamma(f, a, b),
        BinaryFunction::Zeta => zeta::zeta(f, a, b),
    }
}

/// Records a function of a tensor and a scalar, which is converted to the tensor's dtype.
pub(in crate::ops) fn binary_function_scalar(
    trace: &mut Trace,
    function: BinaryFunction,
    x: NodeId,
    scalar: ScalarValue,
    scalar_on_left: bool,
) -> Result<NodeId> {
    let dtype = trace.node(x).dtype;
    check(function, dtype)?;
    let scalar = constant(trace, &[], scalar_operand(dtype, scalar)?);
    let (lhs, rhs) = if scalar_on_left { (scalar, x) } else { (x, scalar) };
    binary_function(trace, function, lhs, rhs)
}

/// Returns an error unless `function` supports `dtype`.
fn check(function: BinaryFunction, dtype: DType) -> Result<()> {
    let (takes_integers, wanted) = match function {
        BinaryFunction::FloorDivide | BinaryFunction::Modulo => (true, "integers and floats"),
        BinaryFunction::NextAfter => (false, "floats of 16 bits or more"),
        _ => (false, "floats"),
    };
    let is_unknown = function == BinaryFunction::NextAfter && dtype.is_float8();
    if (dtype.is_float() && !is_unknown) || (takes_integers && dtype.is_integer()) {
        return Ok(());
    }
    Err(error!(InvalidArgument, "{} takes {wanted}, not {dtype}", function.name()))
}

/// Records whether the floored quotient is less than the truncated one: the remainder is not 0, and its sign differs
/// from the divisor's.
fn is_below(f: &mut Formula, remainder: NodeId, b: NodeId) -> Result<NodeId> {
    let [of_remainder, of_divisor] = [f.compare(CompareOp::Lt, remainder, 0.0)?, f.compare(CompareOp::Lt, b, 0.0)?];
    let differ = f.binary(BinaryOp::Xor, of_remainder, of_divisor)?;
    let is_left = f.compare(CompareOp::Ne, remainder, 0.0)?;
    f.binary(BinaryOp::And, differ, is_left)
}

/// Records the floor division of integers. Division by 0 is 0, as in NumPy; the lowest value divided by -1 is itself.
fn integer_floor_divide(f: &mut Formula, a: NodeId, b: NodeId) -> Result<NodeId> {
    let mut quotient = f.divide(a, b)?;
    if f.trace.node(quotient).dtype.kind() == Kind::Signed {
        let product = f.multiply(quotient, b)?;
        let remainder = f.subtract(a, product)?;
        let is_below = is_below(f, remainder, b)?;
        let one_less = f.plus(quotient, -1.0)?;
        quotient = f.select(is_below, one_less, quotient)?;
    }
    zero_by_zero(f, b, quotient)
}

/// Records the modulo of integers; 0 for divisor 0, as in NumPy.
fn integer_modulo(f: &mut Formula, a: NodeId, b: NodeId) -> Result<NodeId> {
    let mut remainder = f.binary(BinaryOp::Remainder, a, b)?;
    if f.trace.node(remainder).dtype.kind() == Kind::Signed {
        let is_below = is_below(f, remainder, b)?;
        let sum = f.add(remainder, b)?;
        remainder = f.select(is_below, sum, remainder)?;
    }
    zero_by_zero(f, b, remainder)
}

fn zero_by_zero(f: &mut Formula, b: NodeId, otherwise: NodeId) -> Result<NodeId> {
    let by_zero = f.compare(CompareOp::Eq, b, 0.0)?;
    let zero = f.scalar(b, 0.0)?;
    f.select(by_zero, zero, otherwise)
}

/// Records the floor division of floats as in Python and NumPy: the exact remainder is subtracted first, so that the
/// quotient is an integer up to rounding. For divisor 0, it is the plain quotient, infinite or NaN.
fn floor_divide(f: &mut Formula, a: NodeId, b: NodeId) -> Result<NodeId> {
    let remainder = f.binary(BinaryOp::Remainder, a, b)?;
    let whole = f.subtract(a, remainder)?;
    let quotient = f.divide(whole, b)?;
    let is_below = is_below(f, remainder, b)?;
    let one_less = f.plus(quotient, -1.0)?;
    let quotient = f.select(is_below, one_less, quotient)?;

    let floor = f.unary(UnaryOp::Floor, quotient)?;
    let rest = f.subtract(quotient, floor)?;
    let was_rounded_down = f.compare(CompareOp::Gt, rest, 0.5)?;
    let next = f.plus(floor, 1.0)?;
    let nearest = f.select(was_rounded_down, next, floor)?;

    let plain = f.divide(a, b)?;
    let zero = f.scalar(a, 0.0)?;
    let signed_zero = with_sign_of(f.trace, zero, plain)?;
    let is_zero = f.compare(CompareOp::Eq, quotient, 0.0)?;
    let result = f.select(is_zero, signed_zero, nearest)?;
    let by_zero = f.compare(CompareOp::Eq, b, 0.0)?;
    f.select(by_zero, plain, result)
}

/// Records the modulo of floats, with the divisor's sign even if it is 0; NaN for divisor 0.
fn modulo(f: &mut Formula, a: NodeId, b: NodeId) -> Result<NodeId> {
    let remainder = f.binary(BinaryOp::Remainder, a, b)?;
    let is_below = is_below(f, remainder, b)?;
    let sum = f.add(remainder, b)?;
    let result = f.select(is_below, sum, remainder)?;
    let zero = f.scalar(b, 0.0)?;
    let signed_zero = with_sign_of(f.trace, zero, b)?;
    let is_zero = f.compare(CompareOp::Eq, remainder, 0.0)?;
    f.select(is_zero, signed_zero, result)
}

/// Records `max(a, b) + log(1 + e^-|a - b|)`; `a + log 2` where a = b, infinities included.
fn logaddexp(f: &mut Formula, a: NodeId, b: NodeId) -> Result<NodeId> {
    let greater = f.binary(BinaryOp::Maximum, a, b)?;
    let difference = f.subtract(a, b)?;
    let distance = f.unary(UnaryOp::Abs, difference)?;
    let opposite = f.unary(UnaryOp::Negate, distance)?;
    let share = f.exp(opposite)?;
    let more = f.unary(UnaryOp::LogPlusOne, share)?;
    let sum = f.add(greater, more)?;
    let twice = f.plus(a, std::f64::consts::LN_2)?;
    let are_equal = compare(f.trace, CompareOp::Eq, a, b)?;
    f.select(are_equal, twice, sum)
}

/// Records copysign of 8-bit floats by negation in f32 rather than by bits: in some of these dtypes, the code of -0 is
/// NaN.
fn copysign_of_8_bits(trace: &mut Trace, x: NodeId, y: NodeId) -> Result<NodeId> {
    let is_negative = signbit(trace, y)?;
    let dtype = trace.node(x).dtype;
    let wide = convert(trace, x, DType::F32);
    let size = unary(trace, UnaryOp::Abs, wide)?;
    let opposite = unary(trace, UnaryOp::Negate, size)?;
    let result = select(trace, is_negative, opposite, size)?;
    Ok(convert(trace, result, dtype))
}
