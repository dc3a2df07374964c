//! Products, transforms and factorizations with the crate `xla`. XlaBuilder's products have the dtype of their factors,
//! so factors are converted to the dtype of the result.

use super::dot_general::DotGeneralAttributes;
use super::factorization::CholeskyAttributes;
use super::fourier::FftAttributes;
use crate::emit::identity;
use crate::emit::xla_rs::{Graph, Message, Site, element_type, failed};
use crate::error::Result;
use crate::ir::{CompareOp, ReduceOp};
use crate::native::Triangle;
use crate::ops::elementwise::xla_rs::with;
use crate::types::{DType, Kind, Scalar, ScalarValue, TensorType};
use xla::XlaOp;

/// Numbers of the fields of `HloInstructionProto`.
mod field {
    pub const FFT_TYPE: u64 = 31;
    pub const FFT_LENGTH: u64 = 32;
    pub const TRIANGULAR_SOLVE_OPTIONS: u64 = 59;
    pub const CHOLESKY_OPTIONS: u64 = 62;
}

pub(in crate::ops) fn dot_general(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let of = |i: usize| g.cast(value.operands[i], &with(value.ty.dtype, g.ty(value.operands[i])));
    let DotGeneralAttributes { lhs_batching, rhs_batching, lhs_contracting, rhs_contracting } = value.attributes();
    let made = of(0)?
        .dot_general(&of(1)?, &lhs_contracting, &rhs_contracting, &lhs_batching, &rhs_batching)
        .map_err(failed)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn matmul(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let (l, r) = (value.operands[0], value.operands[1]);
    let (l_dims, r_dims) = (&g.ty(l).dims, &g.ty(r).dims);
    let batch = if l_dims.len() >= 2 && r_dims.len() > 2 { value.ty.dims.len() - 2 } else { 0 };
    let with_batch = |dims: &[i64]| match batch {
        0 => TensorType::new(value.ty.dtype, dims),
        _ => TensorType::new(value.ty.dtype, &[&value.ty.dims[..batch], &dims[dims.len() - 2..]].concat()),
    };
    let (l_ty, r_ty) = (with_batch(l_dims), with_batch(r_dims));
    let axes: Vec<i64> = (0..batch as i64).collect();
    let contracted = [l_ty.dims.len() as i64 - 1, r_ty.dims.len().saturating_sub(2) as i64];
    let (lhs, rhs) = (g.cast(l, &l_ty)?, g.cast(r, &r_ty)?);
    let made = lhs.dot_general(&rhs, &contracted[..1], &contracted[1..], &axes, &axes).map_err(failed)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn fft(g: &mut Graph, at: usize) -> Result<()> {
    let FftAttributes { op, lengths } = g.instruction(at).attributes();
    let attributes = Message::new().number(field::FFT_TYPE, op as i64 - 1).numbers(field::FFT_LENGTH, lengths);
    let made = g.raw("fft", &[g.operand(at, 0)?], g.ty(at), attributes)?;
    g.define(at, made);
    Ok(())
}

/// The type in which matrices are computed: f16 and bf16 in f32.
fn computed(dtype: DType, ty: &TensorType) -> TensorType {
    with(if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype }, ty)
}

/// The comparison of each element's row number with its column number.
fn places(s: &Site, ty: &TensorType, comparison: CompareOp) -> Result<XlaOp> {
    let (element, rank) = (element_type(DType::S32), ty.dims.len() as i64);
    let row = s.builder.iota(element, &ty.dims, rank - 2).map_err(failed)?;
    let column = s.builder.iota(element, &ty.dims, rank - 1).map_err(failed)?;
    s.compare(comparison, &row, &column)
}

fn real(s: &Site, x: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    if ty.dtype.kind() == Kind::Float { Ok(x.clone()) } else { s.step("real", &[x], &with(ty.dtype.real(), ty)) }
}

/// The matrices with the imaginary parts of their diagonals set to 0.
fn with_real_diagonal(s: &Site, x: &XlaOp, ty: &TensorType) -> Result<XlaOp> {
    if ty.dtype.kind() == Kind::Float {
        return Ok(x.clone());
    }
    let zero = s.constant(&with(ty.dtype.real(), ty), 0)?;
    let plain = s.step("complex", &[&real(s, x, ty)?, &zero], ty)?;
    s.select(&places(s, ty, CompareOp::Eq)?, &plain, x)
}

/// Whether a predicate holds on the whole diagonal of a matrix, broadcast to `dims`.
fn on_diagonals(s: &Site, pred: &XlaOp, ty: &TensorType, dims: &[i64]) -> Result<XlaOp> {
    let rank = ty.dims.len();
    let either = s.step("or", &[pred, &places(s, ty, CompareOp::Ne)?], &with(DType::Pred, ty))?;
    let axes = [rank as i64 - 2, rank as i64 - 1];
    let all = s.reduce(ReduceOp::All, &either, DType::Pred, &axes, identity(ReduceOp::All, DType::Pred))?;
    s.broadcast_in_dim(&all, dims, &(0..rank as i64 - 2).collect::<Vec<i64>>())
}

fn nan(s: &Site, ty: &TensorType) -> Result<XlaOp> {
    let value = match ty.dtype.kind() {
        Kind::Complex => ScalarValue::Complex(f64::NAN, f64::NAN),
        _ => ScalarValue::Float(f64::NAN),
    };
    s.constant(ty, Scalar::new(ty.dtype, value)?.bits())
}

pub(in crate::ops) fn cholesky(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let CholeskyAttributes { lower } = value.attributes();
    let ty = computed(value.ty.dtype, &value.ty);
    let x = with_real_diagonal(g, &g.cast(value.operands[0], &ty)?, &ty)?;
    let options = Message::new().number(1, lower.into());
    let factor = g.raw("cholesky", &[x], &ty, Message::new().message(field::CHOLESKY_OPTIONS, &options))?;
    let part = with(ty.dtype.real(), &ty);
    let infinity = g.constant(&part, Scalar::new(part.dtype, ScalarValue::Float(f64::INFINITY))?.bits())?;
    let diagonal = real(g, &factor, &ty)?;
    let positive = g.compare(CompareOp::Gt, &diagonal, &g.constant(&part, 0)?)?;
    let finite = g.compare(CompareOp::Lt, &diagonal, &infinity)?;
    let both = g.step("and", &[&positive, &finite], &with(DType::Pred, &ty))?;
    let is_factor = on_diagonals(g, &both, &ty, &ty.dims)?;
    let result = g.select(&is_factor, &with_real_diagonal(g, &factor, &ty)?, &nan(g, &ty)?)?;
    let inside = places(g, &ty, if lower { CompareOp::Ge } else { CompareOp::Le })?;
    let result = g.select(&inside, &result, &g.constant(&ty, 0)?)?;
    let made = g.convert(&result, value.ty.dtype)?;
    g.define(at, made);
    Ok(())
}

pub(in crate::ops) fn triangular_solve(g: &mut Graph, at: usize) -> Result<()> {
    let value = g.instruction(at);
    let triangle: Triangle = value.attributes();
    let a_ty = computed(value.ty.dtype, g.ty(value.operands[0]));
    let b_ty = computed(value.ty.dtype, &value.ty);
    let (a, b) = (g.cast(value.operands[0], &a_ty)?, g.cast(value.operands[1], &b_ty)?);
    let options = Message::new()
        .number(1, triangle.left_side.into())
        .number(2, triangle.lower.into())
        .number(3, triangle.unit_diagonal.into())
        .number(4, triangle.transposition as i64);
    let attributes = Message::new().message(field::TRIANGULAR_SOLVE_OPTIONS, &options);
    let mut solution = g.raw("triangular-solve", &[a.clone(), b], &b_ty, attributes)?;
    if !triangle.unit_diagonal {
        let nonzero = g.compare(CompareOp::Ne, &a, &g.constant(&a_ty, 0)?)?;
        let is_regular = on_diagonals(g, &nonzero, &a_ty, &b_ty.dims)?;
        solution = g.select(&is_regular, &solution, &nan(g, &b_ty)?)?;
    }
    let made = g.convert(&solution, value.ty.dtype)?;
    g.define(at, made);
    Ok(())
}
