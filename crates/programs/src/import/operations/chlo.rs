//! Operations of CHLO, the dialect of functions that frontends write: the library's functions.

use super::{Call, Results, elementwise, numbers, shape, single};
use base::error;
use base::error::Result;
use base::types::{Kind, Scalar, ScalarValue};
use ir::{BinaryFunction, CompareOp, NodeId, SpecialOp, Trace, UnaryFunction, UnaryOp};
use mlir::Attribute;
use ops::elementwise::{BinaryMember, binary_member};

/// Records the operation of CHLO with this name; UNIMPLEMENTED if the library has no such function of these dtypes.
pub fn record(name: &str, call: Call) -> Result<Results> {
    if let Some(op) = SpecialOp::ALL.iter().copied().find(|op| op.name() == name) {
        return floats(call, |trace, x| ops::elementwise::special(trace, op, x));
    }
    if let Some(function) = UnaryFunction::ALL.iter().copied().find(|function| function.name() == name) {
        use UnaryFunction::{BesselI1e, Digamma, ErfInv, Lgamma};
        return match function {
            Lgamma | Digamma | ErfInv | BesselI1e => {
                floats(call, |trace, x| ops::elementwise::unary_function(trace, function, x))
            }
            _ => call.one(|trace, [x]| ops::elementwise::unary_function(trace, function, x)),
        };
    }
    if let Some(function) = BinaryFunction::ALL.iter().copied().find(|function| function.name() == name) {
        call.common(&call.exactly::<2>()?)?;
        return call.one(|trace, [a, b]| ops::elementwise::binary_function(trace, function, a, b));
    }
    match name {
        "constant" => shape::constant(call),
        "constant_like" => constant_like(call),
        "mulhi" => high_product(call),
        "is_neg_inf" => infinite(call, f64::NEG_INFINITY),
        "is_pos_inf" => infinite(call, f64::INFINITY),
        "square" => call.one(|trace, [x]| numbers::square(trace, x)),
        "tan" => call.one(|trace, [x]| ops::elementwise::unary(trace, UnaryOp::Tan, x)),
        "top_k" => top_k(call),
        _ => match name.strip_prefix("broadcast_") {
            Some(name) => broadcasting(name, call),
            None => super::unknown(),
        },
    }
}

/// A function of floats.
fn floats(call: Call, record: impl FnOnce(&mut Trace, NodeId) -> Result<NodeId>) -> Result<Results> {
    let [x] = call.exactly()?;
    let ty = call.ty(x);
    if ty.dtype.kind() == Kind::Complex {
        return Err(error!(Unimplemented, "the function is not supported for {ty}; want floats"));
    }
    call.one(|trace, [x]| record(trace, x))
}

/// Whether `x` is the infinity of a sign.
fn infinite(call: Call, value: f64) -> Result<Results> {
    floats(call, |trace, x| ops::elementwise::compare_scalar(trace, CompareOp::Eq, x, ScalarValue::Float(value), false))
}

/// `chlo.mulhi`: the upper half of the product of integers.
fn high_product(call: Call) -> Result<Results> {
    let ty = call.common(&call.exactly::<2>()?)?;
    if !ty.dtype.is_integer() {
        return Err(error!(InvalidArgument, "operands of type {ty}; want integers"));
    }
    call.one(numbers::high_product)
}

/// `chlo.constant_like`: a value in every element of an array of the operand's type.
fn constant_like(mut call: Call) -> Result<Results> {
    let ([x], dtype) = (call.exactly()?, call.stated_dtype(0)?);
    let value = match call.attributes.get("value") {
        Some(Attribute::Float(value, _)) => ScalarValue::Float(*value),
        Some(Attribute::Integer(value, _)) if dtype.kind() == Kind::Unsigned => ScalarValue::Unsigned(*value as u64),
        Some(Attribute::Integer(value, _)) => ScalarValue::Signed(*value),
        Some(Attribute::Bool(value)) => ScalarValue::Unsigned((*value).into()),
        _ => return Err(error!(InvalidArgument, "attribute value: want a number")),
    };
    let (dims, value) = (call.ty(x).dims, Scalar::new(dtype, value)?);
    Ok(single(ops::creation::constant(call.trace(), &dims, value)))
}

/// `chlo.top_k`: the largest elements of the last axis, in total order, and their indices.
fn top_k(call: Call) -> Result<Results> {
    let k = call.attributes.integer("k")?;
    top_k_of(call, k, true)
}

/// Records the `k` largest or smallest elements of the last axis of the first operand, and their indices.
pub fn top_k_of(mut call: Call, k: i64, largest: bool) -> Result<Results> {
    let (([x], _), index_dtype) = (call.at_least()?, call.stated_dtype(1)?);
    ops::sorting::top_k_total_order(call.trace(), x, k, -1, largest, index_dtype).map(Results::from_iter)
}

/// An operation of one dtype whose operands are broadcast to each other.
fn broadcasting(name: &str, mut call: Call) -> Result<Results> {
    if name == "select" {
        let [pred, on_true, on_false] = call.exactly()?;
        check_dtypes(&call, on_true, on_false)?;
        return Ok(single(ops::elementwise::select(call.trace(), pred, on_true, on_false)?));
    }
    let [lhs, rhs] = aligned(&mut call)?;
    check_dtypes(&call, lhs, rhs)?;
    if name == "compare" {
        let (op, is_total) = elementwise::comparison(&call)?;
        return Ok(single(match is_total {
            true => ops::elementwise::compare_total_order(call.trace(), op, lhs, rhs)?,
            false => ops::elementwise::compare(call.trace(), op, lhs, rhs)?,
        }));
    }
    if name == "complex" {
        return Ok(single(ops::elementwise::complex(call.trace(), lhs, rhs)?));
    }
    let function = BinaryFunction::ALL.iter().copied().find(|function| function.name() == name);
    let member = match elementwise::member(name) {
        Some(elementwise::Member::Binary(op)) => Some(BinaryMember::from(op)),
        _ => function.map(BinaryMember::from),
    };
    match member {
        Some(member) => Ok(single(binary_member(call.trace(), member, lhs, rhs)?)),
        None => super::unknown(),
    }
}

fn check_dtypes(call: &Call, lhs: NodeId, rhs: NodeId) -> Result<()> {
    let (lhs, rhs) = (call.ty(lhs), call.ty(rhs));
    match lhs.dtype == rhs.dtype {
        true => Ok(()),
        false => Err(error!(InvalidArgument, "operands of types {lhs} and {rhs}; want one element type")),
    }
}

/// The two operands, of which the one of lower rank has axes of size 1 added, so that its axes are those of the
/// attribute `broadcast_dimensions`. Without the attribute its axes are the last ones.
fn aligned(call: &mut Call) -> Result<[NodeId; 2]> {
    let [lhs, rhs] = call.exactly()?;
    let (left, right) = (call.ty(lhs).dims, call.ty(rhs).dims);
    let Some(axes) = call.attributes.optional_integers("broadcast_dimensions")? else { return Ok([lhs, rhs]) };
    let (lower, rank) = if left.len() < right.len() { (lhs, right.len()) } else { (rhs, left.len()) };
    let dims = call.ty(lower).dims;
    if left.len() == right.len() {
        return Ok([lhs, rhs]);
    }
    let mut with_ones = vec![1; rank];
    let is_ascending = axes.windows(2).all(|pair| pair[0] < pair[1]);
    if axes.len() != dims.len() || !is_ascending || axes.iter().any(|axis| !(0..rank as i64).contains(axis)) {
        return Err(error!(
            InvalidArgument,
            "attribute broadcast_dimensions: {axes:?} given for ranks {} and {rank}",
            dims.len()
        ));
    }
    axes.iter().zip(&dims).for_each(|(&axis, &size)| with_ones[axis as usize] = size);
    let wide = ops::shape::reshape(call.trace(), lower, &with_ones)?;
    Ok(if lower == lhs && left.len() < right.len() { [wide, rhs] } else { [lhs, wide] })
}
