//! Products, factorizations and Fourier transforms.

use super::precision::precision_of;
use super::{Call, Results, single};
use base::error;
use base::error::Result;
use base::types::DType;
use ir::{FftOp, NodeId, Trace, Transposition};
use native::Triangle;
use ops::linalg::DotAxes;

/// `stablehlo.dot_general`, with the precision or the algorithm that it states.
pub fn dot_general(mut call: Call) -> Result<Results> {
    let [lhs, rhs] = call.exactly()?;
    let list = |name: &str| Ok::<_, base::error::Error>(call.attributes.optional_integers(name)?.unwrap_or_default());
    let batching = [list("lhs_batching_dimensions")?, list("rhs_batching_dimensions")?];
    let contracting = [list("lhs_contracting_dimensions")?, list("rhs_contracting_dimensions")?];
    for (name, [lhs, rhs]) in [("batching", &batching), ("contracting", &contracting)] {
        if lhs.len() != rhs.len() {
            return Err(error!(InvalidArgument, "{name} dimensions: {lhs:?} and {rhs:?} given; want as many"));
        }
    }
    let axes = DotAxes {
        lhs_batching: &batching[0],
        rhs_batching: &batching[1],
        lhs_contracting: &contracting[0],
        rhs_contracting: &contracting[1],
    };
    let (dtype, precision) = (call.stated_dtype(0)?, precision_of(call.attributes)?);
    Ok(single(product(call.trace(), [lhs, rhs], dtype, |trace, [lhs, rhs], dtype| {
        ops::linalg::dot_general_with(trace, lhs, rhs, &axes, dtype, precision)
    })?))
}

/// `stablehlo.dot` of vectors and matrices.
pub fn dot(mut call: Call) -> Result<Results> {
    let [lhs, rhs] = call.exactly()?;
    let (left, right) = (call.ty(lhs), call.ty(rhs));
    if ![left.dims.len(), right.dims.len()].iter().all(|rank| (1..=2).contains(rank)) {
        return Err(error!(InvalidArgument, "operands of types {left} and {right}; want vectors and matrices"));
    }
    let axes = DotAxes {
        lhs_batching: &[],
        rhs_batching: &[],
        lhs_contracting: &[left.dims.len() as i64 - 1],
        rhs_contracting: &[0],
    };
    let (dtype, precision) = (call.stated_dtype(0)?, precision_of(call.attributes)?);
    Ok(single(product(call.trace(), [lhs, rhs], dtype, |trace, [lhs, rhs], dtype| {
        ops::linalg::dot_general_with(trace, lhs, rhs, &axes, dtype, precision)
    })?))
}

/// Records a product whose result has the stated dtype. `record` takes the dtype of its result; None: the operands'
/// common one.
pub fn product(
    trace: &mut Trace,
    operands: [NodeId; 2],
    stated: DType,
    record: impl FnOnce(&mut Trace, [NodeId; 2], Option<DType>) -> Result<NodeId>,
) -> Result<NodeId> {
    let [lhs, rhs] = operands.map(|operand| trace.node(operand).dtype);
    let own = lhs.promote(rhs).unwrap_or(DType::F32);
    if own == DType::Pred {
        // True where any of the products is.
        let wide = operands.map(|operand| ops::elementwise::convert(trace, operand, DType::S32));
        let counted = record(trace, wide, None)?;
        return Ok(ops::elementwise::convert(trace, counted, stated));
    }
    if lhs.promote(rhs).is_err() {
        let wide = if stated.is_float8() { DType::F32 } else { stated };
        let wide = operands.map(|operand| ops::elementwise::convert(trace, operand, wide));
        let made = record(trace, wide, None)?;
        return Ok(ops::elementwise::convert(trace, made, stated));
    }
    if let Some(wide) = holding_both(own, stated) {
        let wide = operands.map(|operand| ops::elementwise::convert(trace, operand, wide));
        let made = record(trace, wide, None)?;
        return Ok(ops::elementwise::convert(trace, made, stated));
    }
    let widened = Some(stated).filter(|_| own.promote(stated).ok() == Some(stated));
    let made = record(trace, operands, widened)?;
    Ok(ops::elementwise::convert(trace, made, stated))
}

/// Returns the dtype in which a product is computed whose stated dtype is not one that its operands are promoted to,
/// but has values that theirs lacks. None if the operands' dtype will do.
fn holding_both(own: DType, stated: DType) -> Option<DType> {
    let is_narrow = |dtype: DType| dtype.is_float8() || matches!(dtype, DType::F16 | DType::BF16);
    let is_promoted = own.promote(stated).is_ok_and(|common| common == stated || common == own);
    match () {
        () if own == stated || is_promoted => None,
        () if is_narrow(own) && is_narrow(stated) => Some(DType::F32),
        () if own.is_float8() || stated.size_bytes() >= own.size_bytes() => Some(stated),
        () => None,
    }
}

/// `stablehlo.einsum`, `stablehlo.unary_einsum`.
pub fn einsum(mut call: Call) -> Result<Results> {
    let equation = call.attributes.optional_text("einsum_config")?.unwrap_or_default();
    let operands = call.operands;
    Ok(single(ops::linalg::einsum(call.trace(), equation, operands)?))
}

/// `stablehlo.fft`.
pub fn fft(call: Call) -> Result<Results> {
    let name = call.attributes.keyword("fft_type")?;
    let op = FftOp::ALL.iter().copied().find(|op| op.name() == name);
    let op = op.ok_or_else(|| error!(InvalidArgument, "attribute fft_type: {name} given"))?;
    let lengths = call.attributes.integers("fft_length")?;
    call.one(|trace, [x]| ops::linalg::fft(trace, op, x, &lengths))
}

/// `stablehlo.cholesky`.
pub fn cholesky(call: Call) -> Result<Results> {
    let lower = call.attributes.bool("lower", false)?;
    call.one(|trace, [a]| ops::linalg::cholesky(trace, a, lower))
}

/// `stablehlo.triangular_solve`.
pub fn triangular_solve(call: Call) -> Result<Results> {
    let [a, b] = call.exactly()?;
    let (a, b) = (call.ty(a), call.ty(b));
    let batch = |dims: &[i64]| dims[..dims.len().saturating_sub(2)].to_vec();
    if a.dtype != b.dtype || batch(&a.dims) != batch(&b.dims) {
        return Err(error!(InvalidArgument, "operands of types {a} and {b}; want one element type and one batch"));
    }
    let name = call.attributes.keyword("transpose_a")?;
    let transposition = match name {
        "TRANSPOSE_INVALID" => None,
        name => Transposition::ALL.iter().copied().find(|known| known.name() == name),
    };
    let triangle = Triangle {
        left_side: call.attributes.bool("left_side", false)?,
        lower: call.attributes.bool("lower", false)?,
        unit_diagonal: call.attributes.bool("unit_diagonal", false)?,
        transposition: transposition.ok_or_else(|| error!(InvalidArgument, "attribute transpose_a: {name} given"))?,
    };
    call.one(|trace, [a, b]| ops::linalg::triangular_solve(trace, a, b, triangle))
}
