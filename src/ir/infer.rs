//! The result's dtype and shape of every operation, from those of its operands. Pure; errors are the user's.

use super::op::{BinaryOp, CompareOp, ReduceOp, UnaryOp};
use crate::error;
use crate::error::{Error, Result};
use crate::types::{DType, Dims, Kind, TensorType, broadcast, element_count, normalize_axis};

fn refuse(name: &str, operand: &str, ty: &TensorType, wanted: &str) -> Error {
    error!(InvalidArgument, "{operand}: {name} takes {wanted}, not {ty}")
}

/// The dtype of an elementwise operation of one operand.
pub fn unary(op: UnaryOp, x: &TensorType) -> Result<DType> {
    use UnaryOp::*;
    let kind = x.dtype.kind();
    let (fits, wanted) = match op {
        Negate => (kind != Kind::Pred, "integers, floats and complex numbers"),
        Abs | Sign => {
            (matches!(kind, Kind::Signed | Kind::Float | Kind::Complex), "signed integers, floats and complex numbers")
        }
        Exponential | ExponentialMinusOne | Log | LogPlusOne | Logistic | Tanh | Sqrt | Rsqrt | Sine | Cosine | Tan => {
            (matches!(kind, Kind::Float | Kind::Complex), "floats and complex numbers")
        }
        Cbrt | Floor | Ceil | RoundNearestEven | RoundNearestAfz | IsFinite => (kind == Kind::Float, "floats"),
        Not => (kind == Kind::Pred || x.dtype.is_integer(), "pred and integers"),
        Popcnt | CountLeadingZeros => (x.dtype.is_integer(), "integers"),
    };
    match (fits, op) {
        (false, _) => Err(refuse(op.name(), "x", x, wanted)),
        (true, IsFinite) => Ok(DType::Pred),
        (true, Abs) => Ok(x.dtype.real()),
        (true, _) => Ok(x.dtype),
    }
}

/// An error unless `op` computes in `dtype`.
#[inline]
pub fn check_binary(op: BinaryOp, dtype: DType) -> Result<()> {
    if binary_kinds(op).contains(&dtype.kind()) { Ok(()) } else { Err(no_such_binary(op, dtype)) }
}

/// What an operation computes in.
#[inline]
fn binary_kinds(op: BinaryOp) -> &'static [Kind] {
    use BinaryOp::*;
    use Kind::*;
    match op {
        Add | Subtract | Multiply | Divide | Power => &[Float, Signed, Unsigned, Complex],
        Remainder => &[Float, Signed, Unsigned],
        Maximum | Minimum => &[Float, Signed, Unsigned, Pred],
        Atan2 => &[Float],
        And | Or | Xor => &[Pred, Signed, Unsigned],
        ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => &[Signed, Unsigned],
    }
}

#[cold]
fn no_such_binary(op: BinaryOp, dtype: DType) -> Error {
    use BinaryOp::*;
    let wanted = match op {
        Add | Subtract | Multiply | Divide | Power => "integers, floats and complex numbers",
        Remainder => "integers and floats",
        Maximum | Minimum => "pred, integers and floats",
        Atan2 => "floats",
        And | Or | Xor => "pred and integers",
        ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => "integers",
    };
    error!(InvalidArgument, "{} takes {wanted}, not {dtype}", op.name())
}

/// The common shape of two operands.
fn common_dims(lhs: &TensorType, rhs: &TensorType) -> Result<Dims> {
    let dims = broadcast(&lhs.dims, &rhs.dims)
        .ok_or_else(|| error!(InvalidArgument, "lhs is {lhs} and rhs is {rhs}: their shapes do not broadcast"))?;
    element_count(&dims)?;
    Ok(dims)
}

fn common_dtype(lhs: &TensorType, rhs: &TensorType) -> Result<DType> {
    lhs.dtype.promote(rhs.dtype).map_err(|e| e.context(format_args!("lhs is {lhs} and rhs is {rhs}")))
}

/// An elementwise operation of two operands.
pub fn binary(op: BinaryOp, lhs: &TensorType, rhs: &TensorType) -> Result<TensorType> {
    let dtype = common_dtype(lhs, rhs)?;
    check_binary(op, dtype).map_err(|e| e.context(format_args!("lhs is {lhs} and rhs is {rhs}")))?;
    Ok(TensorType { dtype, dims: common_dims(lhs, rhs)? })
}

/// A comparison; the type given back is that of the result, pred.
pub fn compare(op: CompareOp, lhs: &TensorType, rhs: &TensorType) -> Result<TensorType> {
    let dtype = common_dtype(lhs, rhs)?;
    if dtype.kind() == Kind::Complex && !matches!(op, CompareOp::Eq | CompareOp::Ne) {
        return Err(error!(InvalidArgument, "lhs is {lhs} and rhs is {rhs}: complex numbers have no order"));
    }
    Ok(TensorType { dtype: DType::Pred, dims: common_dims(lhs, rhs)? })
}

/// `pred ? on_true : on_false`.
pub fn select(pred: &TensorType, on_true: &TensorType, on_false: &TensorType) -> Result<TensorType> {
    if pred.dtype != DType::Pred {
        return Err(refuse("select", "pred", pred, "pred"));
    }
    let named = || format!("pred is {pred}, on_true is {on_true}, on_false is {on_false}");
    let dtype = on_true.dtype.promote(on_false.dtype).map_err(|e| e.context(named()))?;
    let dims = broadcast(&on_true.dims, &on_false.dims)
        .and_then(|dims| broadcast(&pred.dims, &dims))
        .ok_or_else(|| error!(InvalidArgument, "{}: their shapes do not broadcast", named()))?;
    element_count(&dims)?;
    Ok(TensorType { dtype, dims })
}

/// A reshape keeps the number of elements.
pub fn reshape(x: &TensorType, dims: &[i64]) -> Result<()> {
    if element_count(dims)? != x.elements() {
        let wanted = TensorType::new(x.dtype, dims);
        return Err(error!(
            InvalidArgument,
            "dims: {x} has {} elements and cannot be reshaped to {wanted}",
            x.elements()
        ));
    }
    Ok(())
}

/// A broadcast to exactly `dims`.
pub fn broadcast_to(x: &TensorType, dims: &[i64]) -> Result<()> {
    element_count(dims)?;
    if broadcast(&x.dims, dims).as_deref() != Some(dims) {
        let wanted = TensorType::new(x.dtype, dims);
        return Err(error!(InvalidArgument, "dims: {x} does not broadcast to {wanted}"));
    }
    Ok(())
}

/// The permutation with non-negative axes, and the shape that it gives.
pub fn transpose(x: &TensorType, permutation: &[i64]) -> Result<(Vec<i64>, Dims)> {
    let rank = x.dims.len();
    if permutation.len() != rank {
        return Err(error!(InvalidArgument, "perm: {} axes given for {x}; want {rank}", permutation.len()));
    }
    let axes = distinct_axes("perm", permutation, rank)?;
    let dims = axes.iter().map(|&axis| x.dims[axis as usize]).collect();
    Ok((axes, dims))
}

/// Axes counted from the start, each at most once.
fn distinct_axes(name: &str, axes: &[i64], rank: usize) -> Result<Vec<i64>> {
    let mut seen = vec![false; rank];
    let mut out = Vec::with_capacity(axes.len());
    for &axis in axes {
        let from_start = normalize_axis(name, axis, rank)?;
        if std::mem::replace(&mut seen[from_start], true) {
            return Err(error!(InvalidArgument, "{name}: axis {axis} is given twice"));
        }
        out.push(from_start as i64);
    }
    Ok(out)
}

/// The axes reduced over, ascending, and the type of the result.
pub fn reduce(op: ReduceOp, x: &TensorType, axes: &[i64], keep_dims: bool) -> Result<(Vec<i64>, TensorType)> {
    let kind = x.dtype.kind();
    let (fits, wanted) = match op {
        ReduceOp::Sum | ReduceOp::Product => (kind != Kind::Pred, "integers, floats and complex numbers"),
        ReduceOp::Max | ReduceOp::Min => (x.dtype.is_integer() || kind == Kind::Float, "integers and floats"),
        ReduceOp::All | ReduceOp::Any => (kind == Kind::Pred, "pred"),
    };
    if !fits {
        return Err(refuse("this reduction", "x", x, wanted));
    }
    let mut axes = distinct_axes("axes", axes, x.dims.len())?;
    axes.sort_unstable();
    let mut dims = Dims::new();
    for (axis, &dim) in x.dims.iter().enumerate() {
        match (axes.contains(&(axis as i64)), keep_dims) {
            (false, _) => dims.push(dim),
            (true, true) => dims.push(1),
            (true, false) => {}
        }
    }
    element_count(&dims)?;
    Ok((axes, TensorType { dtype: x.dtype, dims }))
}

/// The type in which a reduction accumulates: f16 and bf16 sums and products are kept in f32 and rounded once.
pub fn reduction_dtype(op: ReduceOp, dtype: DType) -> DType {
    match (op, dtype) {
        (ReduceOp::Sum | ReduceOp::Product, DType::F16 | DType::BF16) => DType::F32,
        _ => dtype,
    }
}

/// NumPy's matmul: axes before the last two are batch axes and broadcast; a rank-1 operand loses its axis.
pub fn matmul(lhs: &TensorType, rhs: &TensorType) -> Result<TensorType> {
    let both = || format!("lhs is {lhs} and rhs is {rhs}");
    let dtype = common_dtype(lhs, rhs)?;
    if dtype == DType::Pred {
        return Err(error!(InvalidArgument, "{}: matmul takes numbers", both()));
    }
    let (l, r) = (&lhs.dims, &rhs.dims);
    if l.is_empty() || r.is_empty() {
        return Err(error!(InvalidArgument, "{}: matmul takes no scalars", both()));
    }
    let contracted = (l[l.len() - 1], r[r.len().saturating_sub(2)]);
    if contracted.0 != contracted.1 {
        return Err(error!(
            InvalidArgument,
            "{}: the contracted sizes are {} and {}",
            both(),
            contracted.0,
            contracted.1
        ));
    }
    let batch = |dims: &Dims| Dims::from_slice(&dims[..dims.len().saturating_sub(2)]);
    let mut dims = broadcast(&batch(l), &batch(r))
        .ok_or_else(|| error!(InvalidArgument, "{}: their batch axes do not broadcast", both()))?;
    if l.len() > 1 {
        dims.push(l[l.len() - 2]);
    }
    if r.len() > 1 {
        dims.push(r[r.len() - 1]);
    }
    element_count(&dims)?;
    Ok(TensorType { dtype, dims })
}

/// `x[start:limit:stride]` on every axis.
pub fn slice(x: &TensorType, starts: &[i64], limits: &[i64], strides: &[i64]) -> Result<Dims> {
    let mut dims = Dims::new();
    for (axis, &dim) in x.dims.iter().enumerate() {
        let (start, limit, stride) = (starts[axis], limits[axis], strides[axis]);
        if stride < 1 {
            return Err(error!(InvalidArgument, "strides: strides[{axis}] is {stride}; want at least 1"));
        }
        if start < 0 || limit < start || limit > dim {
            return Err(error!(
                InvalidArgument,
                "starts, limits: [{start}, {limit}) on axis {axis} of {x}; want 0 <= start <= limit <= {dim}"
            ));
        }
        dims.push((limit - start) / stride + i64::from((limit - start) % stride != 0));
    }
    Ok(dims)
}

/// The axis from the start, and the type of the result.
pub fn concatenate(tensors: &[TensorType], axis: i64) -> Result<(usize, TensorType)> {
    let first = tensors.first().ok_or_else(|| error!(InvalidArgument, "n: 0 tensors given; want at least 1"))?;
    let axis = normalize_axis("axis", axis, first.dims.len())?;
    let mut result = first.clone();
    for (i, ty) in tensors.iter().enumerate().skip(1) {
        let differs = || {
            error!(
                InvalidArgument,
                "tensors: tensors[{i}] is {ty} and tensors[0] is {first}; they may differ on axis {axis} only"
            )
        };
        if ty.dims.len() != first.dims.len() {
            return Err(differs());
        }
        if (0..ty.dims.len()).any(|a| a != axis && ty.dims[a] != first.dims[a]) {
            return Err(differs());
        }
        result.dtype = result.dtype.promote(ty.dtype).map_err(|e| e.context(format_args!("tensors[{i}]")))?;
        result.dims[axis] =
            result.dims[axis].checked_add(ty.dims[axis]).ok_or_else(|| error!(InvalidArgument, "dims: too large"))?;
    }
    element_count(&result.dims)?;
    Ok((axis, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(dims: &[i64]) -> TensorType {
        TensorType::new(DType::F32, dims)
    }

    #[test]
    fn matmul_follows_numpy() {
        type Row = (&'static [i64], &'static [i64], Option<&'static [i64]>);
        let rows: [Row; 9] = [
            (&[3], &[3], Some(&[])),
            (&[2, 3], &[3], Some(&[2])),
            (&[3], &[3, 4], Some(&[4])),
            (&[2, 3], &[3, 4], Some(&[2, 4])),
            (&[5, 1, 2, 3], &[7, 3, 4], Some(&[5, 7, 2, 4])),
            (&[3], &[5, 3, 4], Some(&[5, 4])),
            (&[0, 3], &[3, 0], Some(&[0, 0])),
            (&[2, 3], &[4, 3], None),
            (&[], &[3], None),
        ];
        for (l, r, want) in rows {
            let got = matmul(&f32s(l), &f32s(r)).ok().map(|t| t.dims.to_vec());
            assert_eq!(got, want.map(<[i64]>::to_vec), "{l:?} {r:?}");
        }
    }

    #[test]
    fn slices_count_partial_strides() {
        let x = f32s(&[10]);
        assert_eq!(slice(&x, &[1], &[10], &[3]).unwrap().to_vec(), [3]);
        assert_eq!(slice(&x, &[0], &[10], &[3]).unwrap().to_vec(), [4]);
        assert_eq!(slice(&x, &[4], &[4], &[1]).unwrap().to_vec(), [0]);
        assert_eq!(slice(&x, &[0], &[10], &[i64::MAX]).unwrap().to_vec(), [1]);
        for (start, limit, stride) in [(-1, 3, 1), (3, 2, 1), (0, 11, 1), (0, 3, 0)] {
            assert!(slice(&x, &[start], &[limit], &[stride]).is_err());
        }
    }

    #[test]
    fn reductions_keep_or_drop_axes() {
        let x = f32s(&[2, 3, 4]);
        let (axes, ty) = reduce(ReduceOp::Sum, &x, &[-1, 0], false).unwrap();
        assert_eq!((axes, ty.dims.to_vec()), (vec![0, 2], vec![3]));
        assert_eq!(reduce(ReduceOp::Sum, &x, &[1], true).unwrap().1.dims.to_vec(), [2, 1, 4]);
        assert!(reduce(ReduceOp::Sum, &x, &[0, -3], false).is_err());
        assert!(reduce(ReduceOp::All, &x, &[0], false).is_err());
    }

    #[test]
    fn messages_name_what_came_and_what_was_wanted() {
        let e = binary(BinaryOp::Add, &f32s(&[2, 3]), &f32s(&[4])).unwrap_err();
        assert!(e.message.contains("f32[2,3]") && e.message.contains("f32[4]"), "{e}");
        let e = binary(BinaryOp::And, &f32s(&[2]), &f32s(&[2])).unwrap_err();
        assert!(e.message.contains("and takes pred and integers"), "{e}");
        let e = unary(UnaryOp::Popcnt, &f32s(&[2])).unwrap_err();
        assert!(e.message.contains("integers, not f32[2]"), "{e}");
    }
}
