//! Calls of functions, branches and barriers.

use super::super::regions::block;
use super::formulas::{activation, activation_named, recognized};
use super::{Call, Results, applied};
use base::error;
use base::error::Result;
use base::types::{DType, TensorType};
use mlir::Block;

/// `func.call`.
pub fn call(call: Call) -> Result<Results> {
    let callee = call.attributes.symbol("callee")?;
    if let (Some(op), &[x]) = (activation_named(callee), call.operands) {
        let made = call.importer.inlined(call.operation, call.operands)?;
        return made.into_iter().map(|root| activation(&mut call.importer.trace, op, x, root)).collect();
    }
    let made = call.importer.call(callee, call.operands)?;
    made.into_iter().map(|result| recognized(&mut call.importer.trace, result)).collect()
}

/// `builtin.unrealized_conversion_cast`, as between `index` and `i64`: the types are equal here.
pub fn cast(call: Call) -> Result<Results> {
    Ok(Results::from_slice(call.operands))
}

/// `stablehlo.optimization_barrier`.
pub fn optimization_barrier(mut call: Call) -> Result<Results> {
    let operands = call.operands;
    match operands.is_empty() {
        true => Ok(Results::new()),
        false => ops::control::optimization_barrier(call.trace(), operands).map(Results::from_vec),
    }
}

/// `stablehlo.if`.
pub fn branch(call: Call) -> Result<Results> {
    let [pred] = call.exactly()?;
    if call.ty(pred) != TensorType::new(DType::Pred, &[]) {
        return Err(error!(InvalidArgument, "its condition is {}; want pred[]", call.ty(pred)));
    }
    let blocks = [block(call.operation, 0)?, block(call.operation, 1)?];
    if let Some(known) = call.importer.known.value(&call.importer.trace, pred) {
        let taken = blocks[usize::from(known.bytes() == [0])];
        return call.importer.block(taken).map(Results::from_vec);
    }
    let (bodies, arguments) = call.importer.branches(&blocks)?;
    let [on_true, on_false] = [&bodies[0], &bodies[1]].map(applied);
    ops::control::branch(&mut call.importer.trace, pred, &on_true, &on_false, &arguments).map(Results::from_vec)
}

/// `stablehlo.case`. If the index is known, the other branches are not looked at: they may be for other platforms.
pub fn case(call: Call) -> Result<Results> {
    let [index] = call.exactly()?;
    let (ty, count) = (call.ty(index), call.operation.regions.len());
    if !ty.dtype.is_integer() || !ty.dims.is_empty() {
        return Err(error!(InvalidArgument, "its index is {ty}; want an integer scalar"));
    }
    if let Some(known) = call.importer.known.value(&call.importer.trace, index) {
        let number = super::super::sizes::integers_of(known.ty().dtype, known.bytes())?[0];
        let taken = usize::try_from(number).unwrap_or(count).min(count.saturating_sub(1));
        return call.importer.block(block(call.operation, taken)?).map(Results::from_vec);
    }
    let blocks = (0..count).map(|number| block(call.operation, number)).collect::<Result<Vec<&Block>>>()?;
    let (bodies, arguments) = call.importer.branches(&blocks)?;
    let bodies: Vec<ops::control::Applied> = bodies.iter().map(applied).collect();
    ops::control::case(&mut call.importer.trace, index, &bodies, &arguments).map(Results::from_vec)
}
