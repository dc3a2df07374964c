//! Tensors that depend on an element's position: triangles, identity matrices and one-hot encodings.

use crate::creation::constants::{full, iota};
use crate::definition::Composed;
use crate::elementwise::compare_select::{compare, select};
use crate::elementwise::convert::convert;
use crate::infer::refuse;
use crate::shape::rearrange::expand_dims;
use base::error;
use base::error::Result;
use base::types::{DType, ScalarValue, TensorType, element_count, normalize_axis};
use ir::{CompareOp, NodeId, Trace};

/// Table entries of the composed operations.
pub(crate) const COMPOSED: &[Composed] = &[
    Composed { name: "tril", function: "lxla_tril", dtypes: "all" },
    Composed { name: "triu", function: "lxla_triu", dtypes: "all" },
    Composed { name: "eye", function: "lxla_eye", dtypes: "all" },
    Composed { name: "one_hot", function: "lxla_one_hot", dtypes: "all; indices integers" },
];

/// Records the lower triangle of matrices: elements above diagonal `k` (0: main, 1: the one above it) become 0.
pub fn tril(trace: &mut Trace, x: NodeId, k: i64) -> Result<NodeId> {
    triangle(trace, x, "tril", CompareOp::Le, k)
}

/// Records the upper triangle of matrices: elements below diagonal `k` become 0.
pub fn triu(trace: &mut Trace, x: NodeId, k: i64) -> Result<NodeId> {
    triangle(trace, x, "triu", CompareOp::Ge, k)
}

fn triangle(trace: &mut Trace, x: NodeId, name: &str, op: CompareOp, k: i64) -> Result<NodeId> {
    let ty = trace.ty(x);
    let [.., rows, columns] = ty.dims[..] else {
        return Err(refuse(name, "x", &ty, "matrices, of rank 2 and more"));
    };
    let stays = diagonals(trace, rows, columns, op, k)?;
    let zero = full(trace, &TensorType::new(ty.dtype, &[]), ScalarValue::Unsigned(0))?;
    select(trace, stays, x, zero)
}

/// Records a matrix with ones where column = row + `k`, and 0 elsewhere.
pub fn eye(trace: &mut Trace, dtype: DType, rows: i64, columns: i64, k: i64) -> Result<NodeId> {
    element_count(&[rows, columns])?;
    let ones = diagonals(trace, rows, columns, CompareOp::Eq, k)?;
    Ok(convert(trace, ones, dtype))
}

/// Records the mask `column (op) row + k`.
pub(crate) fn diagonals(trace: &mut Trace, rows: i64, columns: i64, op: CompareOp, k: i64) -> Result<NodeId> {
    // Diagonals further outside select the same elements. `k` is clamped so that positions do not overflow in s32.
    let k = k.clamp(-rows - 1, columns + 1);
    let narrow = rows + columns < i64::from(i32::MAX) / 2;
    let dtype = if narrow { DType::S32 } else { DType::S64 };
    let line = iota(trace, &TensorType::new(dtype, &[rows, 1]), 0)?;
    let offset = full(trace, &TensorType::new(dtype, &[]), ScalarValue::Signed(k))?;
    let line = crate::elementwise::binary::binary(trace, ir::BinaryOp::Add, line, offset)?;
    let column = iota(trace, &TensorType::new(dtype, &[columns]), 0)?;
    compare(trace, op, column, line)
}

/// Records a one-hot encoding: a new axis of size `depth`, with 1 at the position given by the element of `indices` and
/// 0 elsewhere; all 0 if the index is negative or not below `depth`.
pub fn one_hot(trace: &mut Trace, indices: NodeId, depth: i64, axis: i64, dtype: DType) -> Result<NodeId> {
    let ty = trace.ty(indices);
    if !ty.dtype.is_integer() {
        return Err(refuse("one_hot", "indices", &ty, "integers"));
    }
    if depth < 0 {
        return Err(error!(InvalidArgument, "depth: {depth} given; want at least 0"));
    }
    let rank = ty.dims.len() + 1;
    let axis = normalize_axis("axis", axis, rank)?;
    // A dtype that can represent the depth. An index that wraps around in this dtype becomes negative, and matches no
    // position.
    let narrow = ty.dtype.size_bytes() <= 4 && depth <= i64::from(i32::MAX);
    let wide = if narrow { DType::S32 } else { DType::S64 };
    let indices = convert(trace, indices, wide);
    let indices = expand_dims(trace, indices, &[axis as i64])?;
    let mut dims = vec![1; rank];
    dims[axis] = depth;
    let places = iota(trace, &TensorType::new(wide, &dims), axis as i64)?;
    let hot = compare(trace, CompareOp::Eq, indices, places)?;
    Ok(convert(trace, hot, dtype))
}
