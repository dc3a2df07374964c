//! Elementwise operations.

use super::formulas::recognized;
use super::{Call, Results, numbers};
use base::error;
use base::error::Result;
use base::types::{DType, Kind};
use ir::{BinaryOp, CompareOp, NodeId, UnaryOp};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// An operation whose operands and result have one type.
#[derive(Clone, Copy)]
pub enum Member {
    Unary(UnaryOp),
    Binary(BinaryOp),
}

/// Returns the operation with this StableHLO name whose operands and result have one type.
pub fn member(name: &str) -> Option<Member> {
    static MEMBERS: LazyLock<FxHashMap<&str, Member>> = LazyLock::new(|| {
        let unary = UnaryOp::ALL.iter().map(|&op| (op.name(), Member::Unary(op)));
        unary.chain(BinaryOp::ALL.iter().map(|&op| (op.name(), Member::Binary(op)))).collect()
    });
    MEMBERS.get(name).copied()
}

/// An operation of one operand.
pub fn unary(call: Call, op: UnaryOp) -> Result<Results> {
    check_complex(&call, op == UnaryOp::Cbrt)?;
    call.one(|trace, [x]| ops::elementwise::unary(trace, op, x))
}

/// An operation of two operands of one type.
pub fn binary(call: Call, op: BinaryOp) -> Result<Results> {
    let ty = call.common(&call.exactly::<2>()?)?;
    check_complex(&call, op == BinaryOp::Atan2)?;
    if ty.dtype.kind() == Kind::Complex && matches!(op, BinaryOp::Maximum | BinaryOp::Minimum) {
        return call.one(|trace, operands| numbers::complex_extreme(trace, operands, op == BinaryOp::Maximum));
    }
    let op = match op {
        // Sums and products of preds are their disjunctions and conjunctions.
        BinaryOp::Add if ty.dtype == DType::Pred => BinaryOp::Or,
        BinaryOp::Multiply if ty.dtype == DType::Pred => BinaryOp::And,
        op => op,
    };
    call.one(|trace, [lhs, rhs]| {
        let made = ops::elementwise::binary(trace, op, lhs, rhs)?;
        recognized(trace, made)
    })
}

/// UNIMPLEMENTED for complex operands of an operation that the library has for real ones only.
fn check_complex(call: &Call, is_real: bool) -> Result<()> {
    let is_complex = |&&operand: &&NodeId| call.importer.trace.node(operand).dtype.kind() == Kind::Complex;
    match call.operands.iter().find(is_complex).filter(|_| is_real) {
        Some(&operand) => Err(error!(Unimplemented, "it is not supported for {}; want real numbers", call.ty(operand))),
        None => Ok(()),
    }
}

/// Returns the comparison of an attribute `comparison_direction`, and whether it is in total order.
pub fn comparison(call: &Call) -> Result<(CompareOp, bool)> {
    let name = call.attributes.keyword("comparison_direction")?;
    let op = CompareOp::ALL.iter().copied().find(|op| op.name() == name);
    let op = op.ok_or_else(|| error!(InvalidArgument, "attribute comparison_direction: {name} given"))?;
    Ok((op, call.attributes.optional_keyword("compare_type")? == Some("TOTALORDER")))
}

/// `stablehlo.compare`.
pub fn compare(call: Call) -> Result<Results> {
    let (op, is_total) = comparison(&call)?;
    call.common(&call.exactly::<2>()?)?;
    call.one(|trace, [lhs, rhs]| match is_total {
        true => ops::elementwise::compare_total_order(trace, op, lhs, rhs),
        false => ops::elementwise::compare(trace, op, lhs, rhs),
    })
}

/// `stablehlo.select`, whose pred may be a scalar.
pub fn select(call: Call) -> Result<Results> {
    let [pred, on_true, on_false] = call.exactly()?;
    let (pred, ty) = (call.ty(pred), call.common(&[on_true, on_false])?);
    if !pred.dims.is_empty() && pred.dims != ty.dims {
        return Err(error!(InvalidArgument, "pred is {pred}; want a scalar, or the shape of {ty}"));
    }
    call.one(|trace, [pred, on_true, on_false]| {
        let made = ops::elementwise::select(trace, pred, on_true, on_false)?;
        recognized(trace, made)
    })
}

/// `stablehlo.clamp`, whose bounds may be scalars.
pub fn clamp(call: Call) -> Result<Results> {
    let [min, x, max] = call.exactly()?;
    let ty = call.ty(x);
    for (name, bound) in [("min", call.ty(min)), ("max", call.ty(max))] {
        if bound.dtype != ty.dtype || (!bound.dims.is_empty() && bound.dims != ty.dims) {
            return Err(error!(InvalidArgument, "{name} is {bound}; want a scalar of {}, or {ty}", ty.dtype));
        }
    }
    call.one(|trace, [min, x, max]| ops::elementwise::clamp(trace, min, x, max))
}

/// `stablehlo.convert`. The real part of complex numbers becomes numbers, and preds too.
pub fn convert(call: Call) -> Result<Results> {
    let dtype = call.stated_dtype(0)?;
    call.one(|trace, [x]| {
        let x = if dtype.kind() == Kind::Complex { x } else { ops::elementwise::real(trace, x)? };
        Ok(ops::elementwise::convert(trace, x, dtype))
    })
}

/// `stablehlo.bitcast_convert`.
pub fn bitcast_convert(call: Call) -> Result<Results> {
    let ([x], dtype) = (call.exactly()?, call.stated_dtype(0)?);
    let ty = call.ty(x);
    let is_refused = |dtype: DType| matches!(dtype.kind(), Kind::Pred | Kind::Complex);
    if ty.dtype != dtype && (is_refused(ty.dtype) || is_refused(dtype)) {
        return Err(error!(Unimplemented, "bits of {ty} as {dtype}: want integers and floats"));
    }
    call.one(|trace, [x]| ops::elementwise::bitcast_convert(trace, x, dtype))
}

/// `stablehlo.complex`.
pub fn complex(call: Call) -> Result<Results> {
    call.common(&call.exactly::<2>()?)?;
    call.one(|trace, [real, imag]| {
        let made = ops::elementwise::complex(trace, real, imag)?;
        recognized(trace, made)
    })
}

/// `stablehlo.reduce_precision`.
pub fn reduce_precision(call: Call) -> Result<Results> {
    let [exponent, mantissa] = ["exponent_bits", "mantissa_bits"].map(|name| call.attributes.integer(name));
    let (exponent, mantissa) = (exponent?, mantissa?);
    call.one(|trace, [x]| ops::elementwise::reduce_precision(trace, x, exponent, mantissa))
}
