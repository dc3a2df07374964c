//! Products of consecutive rows with a matrix for each group of them, as `jax.lax.ragged_dot`: one product of all rows for
//! each group, of which the group's rows are selected. The rows of other groups are multiplied as 0, so that infinities
//! of one group do not reach the results or the derivatives of the others.

use crate::control::loops::scan_over;
use crate::creation::constants::{full, iota};
use crate::definition::Composed;
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::convert::convert;
use crate::elementwise::formula::record;
use crate::infer::{common_dtype, places_dtype};
use crate::linalg::matmul::matmul;
use crate::reduction::windows::cumulative;
use crate::shape::axes::reshape;
use crate::sorting::unique::searchsorted;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType, integer_limits};
use ir::{CompareOp, NodeId, ReduceOp, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[Composed {
    name: "ragged_dot",
    function: "lxla_ragged_dot",
    dtypes: "integers, floats, 8-bit floats, complex numbers; sizes integers",
}];

/// Records the products of the rows of `lhs` with the matrices of their groups. The rows after the last group give 0.
pub fn ragged_dot(trace: &mut Trace, lhs: NodeId, rhs: NodeId, group_sizes: NodeId) -> Result<NodeId> {
    let (l, r, sizes) = (trace.ty(lhs), trace.ty(rhs), trace.ty(group_sizes));
    let ([rows, k], [groups, of_k, columns]) = (&l.dims[..], &r.dims[..]) else {
        return Err(error!(InvalidArgument, "lhs is {l} and rhs is {r}; want two axes and three"));
    };
    let (rows, groups, columns) = (*rows, *groups, *columns);
    if k != of_k {
        return Err(error!(InvalidArgument, "lhs is {l} and rhs is {r}: the contracted sizes are {k} and {of_k}"));
    }
    if !sizes.dtype.is_integer() || sizes.dims[..] != [groups] {
        return Err(error!(InvalidArgument, "group_sizes: they are {sizes}; rhs is {r}, want {groups} integers"));
    }
    let dtype = common_dtype(&l, &r)?;
    if dtype == DType::Pred {
        return Err(error!(InvalidArgument, "lhs is {l} and rhs is {r}: ragged_dot takes numbers"));
    }
    let (lhs, rhs) = (convert(trace, lhs, dtype), convert(trace, rhs, dtype));
    let nothing = full(trace, &TensorType::new(dtype, &[rows, columns]), ScalarValue::Unsigned(0))?;
    if groups == 0 || rows == 0 || columns == 0 {
        return Ok(nothing);
    }
    let of_row = group_of_rows(trace, group_sizes, rows, groups)?;
    let numbers = iota(trace, &TensorType::new(trace.node(of_row).dtype, &[groups]), 0)?;
    let made =
        scan_over(trace, &[nothing], &[rhs, numbers], &[lhs, of_row], groups, |trace, carried, slices, given| {
            let is_own = compare(trace, CompareOp::Eq, given[1], slices[1])?;
            let zero = full(trace, &TensorType::new(dtype, &[]), ScalarValue::Unsigned(0))?;
            let own = select(trace, is_own, given[0], zero)?;
            let product = matmul(trace, own, slices[0])?;
            Ok(vec![select(trace, is_own, product, carried[0])?])
        })?;
    Ok(made[0])
}

/// Records the number of the group of each row, as a column; the number of groups for rows after the last one. Sizes
/// are limited to [0, `rows`] in their own dtype, so that neither they nor their sums overflow.
fn group_of_rows(trace: &mut Trace, group_sizes: NodeId, rows: i64, groups: i64) -> Result<NodeId> {
    let dtype = places_dtype(rows.saturating_mul(groups));
    let largest = integer_limits(trace.node(group_sizes).dtype).map_or(rows as u64, |limits| limits.max);
    let most = largest.min(rows as u64) as i64;
    let sizes = record(trace, [group_sizes], |[sizes]| sizes.max(0_i64).min(most).convert(dtype))?;
    let ends = cumulative(trace, ReduceOp::Sum, sizes, 0, false)?;
    let places = iota(trace, &TensorType::new(dtype, &[rows]), 0)?;
    let found = searchsorted(trace, ends, places, true, dtype)?;
    reshape(trace, found, &[rows, 1])
}
