//! Regions of reductions, scatters and sorts that mean what a body of the library means. They become that body, whose
//! derivatives, batching and evaluation on `cpu` are the fast ones.

use super::super::importer::Applied;
use base::error::Result;
use base::types::{DType, Kind, ScalarValue, TensorType};
use ir::{BinaryOp, Body, CompareOp, NodeId, Op, Trace, take_body};
use ops::control::bodies;
use std::sync::Arc;

/// Operations of reducers that the library knows. All of them are commutative.
const KNOWN: [BinaryOp; 6] =
    [BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Maximum, BinaryOp::Minimum, BinaryOp::And, BinaryOp::Or];

/// Returns the operation that a reducer of two elements applies to them, in either order; None for any other reducer.
pub fn operation(body: &Body) -> Option<BinaryOp> {
    let [ty] = body.results() else { return None };
    if body.parameters().len() != 2 || !body.captures().is_empty() {
        return None;
    }
    if !ty.dtype.has_arithmetic() {
        return KNOWN.into_iter().find(|&op| bodies::combine(op, ty.dtype).is_ok_and(|made| *made == *body));
    }
    let (values, results) = body.decode();
    let result = &values[results[0]];
    match result.op {
        Op::Binary(op) if KNOWN.contains(&op) && matches!(result.operands[..], [0, 1] | [1, 0]) => Some(op),
        _ => None,
    }
}

/// Returns a reducer as the library writes it, if it knows it.
pub fn reducer(region: Applied) -> Result<Applied> {
    let body = match (operation(&region.body), region.body.results()) {
        (Some(op), [ty]) => bodies::combine(op, ty.dtype)?,
        (None, [x, index]) if index.dtype.is_integer() && region.captures.is_empty() => {
            let (dtype, index) = (x.dtype, index.dtype);
            let is = |largest| first_extreme(dtype, index, largest).is_ok_and(|made| *made == *region.body);
            match [true, false].into_iter().find(|&largest| is(largest)) {
                Some(largest) => bodies::extreme(dtype, index, largest)?,
                None => return Ok(region),
            }
        }
        _ => return Ok(region),
    };
    Ok(Applied { body, captures: Vec::new() })
}

/// Returns a comparator as the library writes it, if it knows it.
pub fn comparator(region: Applied) -> Result<Applied> {
    let dtypes: Vec<DType> = region.body.parameters().iter().step_by(2).map(|ty| ty.dtype).collect();
    let is_known = dtypes.first().is_some_and(|dtype| dtype.kind() == Kind::Float)
        && region.captures.is_empty()
        && total_order(&dtypes).is_ok_and(|made| *made == *region.body);
    match is_known {
        true => Ok(Applied { body: bodies::order(&dtypes, false)?, captures: Vec::new() }),
        false => Ok(region),
    }
}

/// Records a body of scalars of these dtypes.
fn recorded(dtypes: &[DType], record: impl FnOnce(&mut Trace, &[NodeId]) -> Result<Vec<NodeId>>) -> Result<Arc<Body>> {
    let mut trace = Trace::new();
    let parameters: Vec<NodeId> = dtypes.iter().map(|&dtype| trace.parameter(TensorType::new(dtype, &[]))).collect();
    let results = record(&mut trace, &parameters)?;
    Ok(take_body(&trace, &parameters, &results)?.0)
}

/// The reducer of JAX's argmax and argmin. It leaves open which of several NaN it takes.
fn first_extreme(dtype: DType, index: DType, largest: bool) -> Result<Arc<Body>> {
    recorded(&[dtype, index, dtype, index], |trace, p| {
        let (a, i, b, j) = (p[0], p[1], p[2], p[3]);
        let better = ops::elementwise::compare(trace, if largest { CompareOp::Gt } else { CompareOp::Lt }, a, b)?;
        let is_nan = ops::elementwise::compare(trace, CompareOp::Ne, a, a)?;
        let takes = ops::elementwise::binary(trace, BinaryOp::Or, better, is_nan)?;
        let equal = ops::elementwise::compare(trace, CompareOp::Eq, a, b)?;
        let earlier = ops::elementwise::compare(trace, CompareOp::Lt, i, j)?;
        let breaks_tie = ops::elementwise::binary(trace, BinaryOp::And, equal, earlier)?;
        let takes_index = ops::elementwise::binary(trace, BinaryOp::Or, takes, breaks_tie)?;
        Ok(vec![ops::elementwise::select(trace, takes, a, b)?, ops::elementwise::select(trace, takes_index, i, j)?])
    })
}

/// The comparator of JAX's sorts of floats: in total order, after zeros and NaNs of either sign became one.
fn total_order(dtypes: &[DType]) -> Result<Arc<Body>> {
    let twice: Vec<DType> = dtypes.iter().flat_map(|&dtype| [dtype; 2]).collect();
    recorded(&twice, |trace, p| {
        let scalar = TensorType::new(dtypes[0], &[]);
        let zero = ops::creation::full(trace, &scalar, ScalarValue::Float(0.0))?;
        let nan = ops::creation::full(trace, &scalar, ScalarValue::Float(f64::NAN))?;
        let mut canonical = |x| {
            let is_zero = ops::elementwise::compare(trace, CompareOp::Eq, x, zero)?;
            let without_sign = ops::elementwise::select(trace, is_zero, zero, x)?;
            let is_nan = ops::elementwise::compare(trace, CompareOp::Ne, x, x)?;
            ops::elementwise::select(trace, is_nan, nan, without_sign)
        };
        let (a, b) = (canonical(p[0])?, canonical(p[1])?);
        Ok(vec![ops::elementwise::compare_total_order(trace, CompareOp::Lt, a, b)?])
    })
}
