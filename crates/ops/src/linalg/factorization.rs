//! Cholesky factorization and triangular solve.

use crate::definition::EvalContext;
use crate::elementwise::wide;
use crate::emit::{Emitter, emit, mlir};
use crate::host_call::lower_native;
use crate::infer::{common_dtype_of, refuse};
use base::error;
use base::error::Result;
use ir::{NodeId, Op, Trace, attributes};
use native::{self, Array, Triangle};

use base::types::{DType, Kind, Scalar, ScalarValue, TensorType};

attributes! {
    /// Attributes of `cholesky`.
    pub struct CholeskyAttributes {
        /// True for the lower factor, false for the upper one.
        pub lower: bool,
    }
}

/// Records the Cholesky factorization of a batch of matrices.
pub fn cholesky(trace: &mut Trace, a: NodeId, lower: bool) -> Result<NodeId> {
    let ty = trace.ty(a);
    check_square("cholesky", &ty)?;
    if ty.dtype.is_float8() {
        return wide::in_wide(trace, [a], |trace, [a]| cholesky(trace, a, lower));
    }
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::Cholesky, ty.dtype, shape, &[a], &CholeskyAttributes { lower }))
}

/// Records the solution of `a x = b`, or of `x a = b`, for a triangular `a`.
pub fn triangular_solve(trace: &mut Trace, a: NodeId, b: NodeId, triangle: Triangle) -> Result<NodeId> {
    let ty = infer_triangular_solve(&trace.ty(a), &trace.ty(b), triangle)?;
    if ty.dtype.is_float8() {
        return wide::in_wide(trace, [a, b], |trace, [a, b]| triangular_solve(trace, a, b, triangle));
    }
    let shape = trace.intern(&ty.dims);
    Ok(trace.operation_with_attributes(Op::TriangularSolve, ty.dtype, shape, &[a, b], &triangle))
}

/// Returns an error unless the last two axes are square matrices of floats or complex numbers.
fn check_square(name: &str, a: &TensorType) -> Result<()> {
    if !a.dtype.is_float() && a.dtype.kind() != Kind::Complex {
        return Err(refuse(name, "a", a, "floats and complex numbers"));
    }
    match a.dims[..] {
        [.., rows, columns] if rows == columns => Ok(()),
        _ => Err(error!(InvalidArgument, "a: it is {a}; {name} takes square matrices in the last two axes")),
    }
}

fn infer_triangular_solve(a: &TensorType, b: &TensorType, triangle: Triangle) -> Result<TensorType> {
    check_square("triangular_solve", a)?;
    let dtype = common_dtype_of(["a", "b"], a, b)?;
    let batch = a.dims.len() - 2;
    let axis = if triangle.left_side { batch } else { batch + 1 };
    if b.dims.len() != a.dims.len() || b.dims[..batch] != a.dims[..batch] || b.dims[axis] != a.dims[batch] {
        let side = if triangle.left_side { "rows" } else { "columns" };
        return Err(error!(
            InvalidArgument,
            "b: it is {b}; a is {a}, and wants its batch axes and {} {side}", a.dims[batch]
        ));
    }
    Ok(TensorType { dtype, dims: b.dims.clone() })
}

pub(super) fn native_triangular_solve(cx: &EvalContext) -> Result<Array> {
    native::triangular_solve(cx.ty, cx.attributes::<Triangle>(), cx.operands[0], cx.operands[1])
}

/// Writes StableHLO operations on a batch of matrices of one type.
struct Matrices<'e, 'a> {
    e: &'e mut Emitter<'a>,
    /// Type of the batch; f32 for f16 and bf16, which are computed in f32.
    ty: TensorType,
}

impl<'e, 'a> Matrices<'e, 'a> {
    fn new(e: &'e mut Emitter<'a>, ty: &TensorType) -> Matrices<'e, 'a> {
        let dtype = if matches!(ty.dtype, DType::F16 | DType::BF16) { DType::F32 } else { ty.dtype };
        Matrices { e, ty: TensorType { dtype, dims: ty.dims.clone() } }
    }

    fn of(&self, dtype: DType) -> String {
        mlir(&TensorType { dtype, dims: self.ty.dims.clone() })
    }

    fn reals(&self) -> String {
        self.of(self.ty.dtype.real())
    }

    fn preds(&self) -> String {
        self.of(DType::Pred)
    }

    fn line(&mut self, text: String) -> String {
        let name = self.e.temporary();
        emit!(self.e, "    {name} = stablehlo.{text}");
        name
    }

    /// Writes the comparison of each element's row number with its column number.
    fn places(&mut self, comparison: &str) -> String {
        let (numbers, preds, rank) = (self.of(DType::S32), self.preds(), self.ty.dims.len());
        let row = self.line(format!("iota dim = {} : {numbers}", rank - 2));
        let column = self.line(format!("iota dim = {} : {numbers}", rank - 1));
        self.line(format!("compare {comparison}, {row}, {column}, SIGNED : ({numbers}, {numbers}) -> {preds}"))
    }

    fn select(&mut self, pred: &str, on_true: &str, on_false: &str) -> String {
        let (preds, ty) = (self.preds(), mlir(&self.ty));
        self.line(format!("select {pred}, {on_true}, {on_false} : {preds}, {ty}"))
    }

    fn real(&mut self, x: &str) -> String {
        if self.ty.dtype.kind() == Kind::Float {
            return x.to_string();
        }
        let (from, to) = (mlir(&self.ty), self.reals());
        self.line(format!("real {x} : ({from}) -> {to}"))
    }

    /// Writes the matrices with real diagonals: the imaginary parts there are set to 0.
    fn with_real_diagonal(&mut self, x: &str) -> String {
        if self.ty.dtype.kind() == Kind::Float {
            return x.to_string();
        }
        let (real, reals, all) = (self.real(x), self.reals(), mlir(&self.ty));
        let part = TensorType { dtype: self.ty.dtype.real(), dims: self.ty.dims.clone() };
        let zero = self.e.constant(&part, 0);
        let plain = self.line(format!("complex {real}, {zero} : ({reals}, {reals}) -> {all}"));
        let diagonal = self.places("EQ");
        self.select(&diagonal, &plain, x)
    }

    /// Writes whether a predicate is true on the whole diagonal of a matrix, broadcast to the dims of `to`.
    fn on_diagonals(&mut self, pred: &str, to: &TensorType) -> String {
        let (preds, rank) = (self.preds(), self.ty.dims.len());
        let off = self.places("NE");
        let either = self.line(format!("or {pred}, {off} : {preds}"));
        let batch = TensorType::new(DType::Pred, &self.ty.dims[..rank - 2]);
        let yes = self.line("constant dense<true> : tensor<i1>".to_string());
        let all = self.line(format!(
            "reduce({either} init: {yes}) applies stablehlo.and across dimensions = [{}, {}] : ({preds}, tensor<i1>) -> {}",
            rank - 2,
            rank - 1,
            mlir(&batch)
        ));
        let axes: Vec<usize> = (0..rank - 2).collect();
        let to = mlir(&TensorType { dtype: DType::Pred, dims: to.dims.clone() });
        self.line(format!("broadcast_in_dim {all}, dims = {axes:?} : ({}) -> {to}", mlir(&batch)))
    }

    fn nan(&mut self, ty: &TensorType) -> String {
        let scalar = Scalar::new(
            ty.dtype,
            match ty.dtype.kind() {
                Kind::Complex => ScalarValue::Complex(f64::NAN, f64::NAN),
                _ => ScalarValue::Float(f64::NAN),
            },
        );
        self.e.constant(ty, scalar.expect("a float has NaN").bits())
    }
}

/// Writes the StableHLO of a Cholesky factorization. XLA's factor has arbitrary values in the other triangle, is 0 or
/// partly NaN for some matrices that are not positive definite, and depends on the imaginary parts of the diagonal. So
/// the imaginary parts are set to 0, the other triangle to 0, and the factor to NaN unless its diagonal is positive and
/// finite.
pub(super) fn lower_cholesky(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    let name = e.name_of(at);
    let CholeskyAttributes { lower } = value.attributes();
    let mut m = Matrices::new(e, &value.ty);
    let (ty, text, reals, preds) = (m.ty.clone(), mlir(&m.ty), m.reals(), m.preds());
    let x = m.e.cast(value.operands[0], &ty);
    let x = m.with_real_diagonal(&x);
    let factor = m.line(format!("cholesky {x}, lower = {lower} : {text}"));
    let part = TensorType { dtype: ty.dtype.real(), dims: ty.dims.clone() };
    let infinity = m.e.constant(&part, infinity(part.dtype));
    let (diagonal, zero) = (m.real(&factor), m.e.constant(&part, 0));
    let positive = m.line(format!("compare GT, {diagonal}, {zero}, FLOAT : ({reals}, {reals}) -> {preds}"));
    let finite = m.line(format!("compare LT, {diagonal}, {infinity}, FLOAT : ({reals}, {reals}) -> {preds}"));
    let both = m.line(format!("and {positive}, {finite} : {preds}"));
    let is_factor = m.on_diagonals(&both, &ty);
    let (factor, nan, zero) = (m.with_real_diagonal(&factor), m.nan(&ty), m.e.constant(&ty, 0));
    let result = m.select(&is_factor, &factor, &nan);
    let inside = m.places(if lower { "GE" } else { "LE" });
    let result = m.select(&inside, &result, &zero);
    emit!(m.e, "    {name} = stablehlo.convert {result} : ({text}) -> {}", mlir(&value.ty));
}

fn infinity(dtype: DType) -> u128 {
    Scalar::new(dtype, ScalarValue::Float(f64::INFINITY)).expect("a float has an infinity").bits()
}

/// Writes a triangular solve: a call of its native evaluation, by products of matrices, which XLA's expansion for CPUs is
/// not; or StableHLO's operation. If the diagonal contains 0, where infinities and NaNs depend on the
/// device, the whole solution is set to NaN.
pub(super) fn lower_triangular_solve(e: &mut Emitter, at: usize) {
    let value = e.instruction(at);
    if e.calls_host {
        return lower_native(e, at, std::slice::from_ref(&value.ty));
    }
    let name = e.name_of(at);
    let triangle: Triangle = value.attributes();
    let dims = e.values[value.operands[0]].ty.dims.clone();
    let mut m = Matrices::new(e, &TensorType { dtype: value.ty.dtype, dims });
    let a_ty = m.ty.clone();
    let b_ty = TensorType { dtype: a_ty.dtype, dims: value.ty.dims.clone() };
    let (a_text, b_text, preds) = (mlir(&a_ty), mlir(&b_ty), m.preds());
    let a = m.e.cast(value.operands[0], &a_ty);
    let b = m.e.cast(value.operands[1], &b_ty);
    let mut solution = m.e.temporary();
    emit!(
        m.e,
        "    {solution} = \"stablehlo.triangular_solve\"({a}, {b}) <{{left_side = {}, lower = {}, unit_diagonal = {}, transpose_a = #stablehlo<transpose {}>}}> : ({a_text}, {b_text}) -> {b_text}",
        triangle.left_side,
        triangle.lower,
        triangle.unit_diagonal,
        triangle.transposition.name()
    );
    if !triangle.unit_diagonal {
        let zero = m.e.constant(&a_ty, 0);
        let nonzero = m.line(format!("compare NE, {a}, {zero}, FLOAT : ({a_text}, {a_text}) -> {preds}"));
        let is_regular = m.on_diagonals(&nonzero, &b_ty);
        let nan = m.nan(&b_ty);
        let of_b = mlir(&TensorType { dtype: DType::Pred, dims: b_ty.dims.clone() });
        solution = m.line(format!("select {is_regular}, {solution}, {nan} : {of_b}, {b_text}"));
    }
    emit!(m.e, "    {name} = stablehlo.convert {solution} : ({b_text}) -> {}", mlir(&value.ty));
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::Transposition;

    #[test]
    fn what_does_not_fit_is_named() {
        let f32s = |dims: &[i64]| TensorType::new(DType::F32, dims);
        let e = check_square("cholesky", &f32s(&[2, 3])).unwrap_err();
        assert!(e.message.contains("a: it is f32[2,3]; cholesky takes square matrices"), "{e}");
        let e = check_square("cholesky", &TensorType::new(DType::S32, &[2, 2])).unwrap_err();
        assert!(e.message.contains("cholesky takes floats and complex numbers, not s32[2,2]"), "{e}");
        assert!(check_square("cholesky", &f32s(&[4])).is_err());
        let left =
            Triangle { left_side: true, lower: true, unit_diagonal: false, transposition: Transposition::NoTranspose };
        let right = Triangle { left_side: false, ..left };
        let a = f32s(&[5, 2, 2]);
        assert_eq!(infer_triangular_solve(&a, &f32s(&[5, 2, 7]), left).unwrap(), f32s(&[5, 2, 7]));
        assert_eq!(infer_triangular_solve(&a, &f32s(&[5, 7, 2]), right).unwrap(), f32s(&[5, 7, 2]));
        let e = infer_triangular_solve(&a, &f32s(&[5, 7, 2]), left).unwrap_err();
        assert!(e.message.contains("b: it is f32[5,7,2]; a is f32[5,2,2], and wants its batch axes and 2 rows"), "{e}");
        assert!(infer_triangular_solve(&a, &f32s(&[4, 2, 2]), left).is_err());
        assert!(infer_triangular_solve(&a, &f32s(&[2, 2]), right).is_err());
    }
}
