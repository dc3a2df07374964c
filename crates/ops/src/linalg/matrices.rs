//! Formulas of matrices, in the last two axes of expressions.

use super::derivative;
use super::factorization::triangular_solve;
use crate::creation::masks::{eye, tril, triu};
use crate::elementwise::formula::Expr;
use crate::shape::axes::broadcast_to;
use crate::shape::rearrange::expand_dims;
use base::types::{DType, Kind};
use ir::{ReduceOp, Transposition};
use native::Triangle;

/// Operations on matrices, without batch axes or with the same ones.
impl<'f> Expr<'f> {
    /// The matrix product, in full precision.
    pub fn at(self, other: Expr<'f>) -> Expr<'f> {
        self.apply_with(other, |trace, lhs, rhs| derivative::product(trace, lhs, rhs, [1, 0]))
    }

    /// The elementwise conjugate.
    pub fn conjugate(self) -> Expr<'f> {
        if self.is_complex() { self.apply(derivative::conjugate) } else { self }
    }

    /// The transpose.
    pub fn transposed(self) -> Expr<'f> {
        self.apply(derivative::transposed)
    }

    /// The conjugate transpose.
    pub fn adjoint(self) -> Expr<'f> {
        self.transposed().conjugate()
    }

    /// The lower triangle up to a diagonal.
    pub fn tril(self, diagonal: i64) -> Expr<'f> {
        self.apply(|trace, x| tril(trace, x, diagonal))
    }

    /// The upper triangle from a diagonal on.
    pub fn triu(self, diagonal: i64) -> Expr<'f> {
        self.apply(|trace, x| triu(trace, x, diagonal))
    }

    /// The mask of the diagonal.
    pub fn on_diagonal(self) -> Expr<'f> {
        self.apply(|trace, x| {
            let dims = trace.ty(x).dims;
            eye(trace, DType::Pred, dims[dims.len() - 2], dims[dims.len() - 1], 0)
        })
    }

    /// The identity matrix of the columns, in the dtype of this expression.
    pub fn identity(self) -> Expr<'f> {
        self.apply(|trace, x| {
            let ty = trace.ty(x);
            let n = ty.dims[ty.dims.len() - 1];
            eye(trace, ty.dtype, n, n, 0)
        })
    }

    /// The diagonals of square matrices.
    pub fn diagonal(self) -> Expr<'f> {
        let last = self.ty().dims.len() as i64 - 1;
        self.on_diagonal().select(self, 0.0).reduce(ReduceOp::Sum, &[last], false)
    }

    /// Vectors as columns.
    pub fn as_column(self) -> Expr<'f> {
        self.apply(|trace, x| expand_dims(trace, x, &[-1]))
    }

    /// Vectors as rows.
    pub fn as_row(self) -> Expr<'f> {
        self.apply(|trace, x| expand_dims(trace, x, &[-2]))
    }

    /// Broadcasts to a shape.
    pub fn broadcast(self, dims: &[i64]) -> Expr<'f> {
        self.apply(|trace, x| broadcast_to(trace, x, dims))
    }

    /// The solution `x` of `self x = b`, where one triangle of `self` is read.
    pub fn solve(self, b: Expr<'f>, lower: bool, unit_diagonal: bool) -> Expr<'f> {
        let transposition = Transposition::NoTranspose;
        let triangle = Triangle { left_side: true, lower, unit_diagonal, transposition };
        self.apply_with(b, |trace, a, b| triangular_solve(trace, a, b, triangle))
    }

    /// The solution `x` of `x self = b`, where the upper triangle of `self` is read.
    pub fn solve_from_right(self, b: Expr<'f>) -> Expr<'f> {
        let transposition = Transposition::NoTranspose;
        let triangle = Triangle { left_side: false, lower: false, unit_diagonal: false, transposition };
        self.apply_with(b, |trace, a, b| triangular_solve(trace, a, b, triangle))
    }

    /// Whether the elements are complex numbers.
    pub fn is_complex(self) -> bool {
        self.dtype().kind() == Kind::Complex
    }

    /// The real parts.
    pub fn real_part(self) -> Expr<'f> {
        if self.is_complex() { self.real() } else { self }
    }

    /// The size of an axis, counted from the last one.
    pub fn size_from_last(self, axis: usize) -> i64 {
        let dims = self.ty().dims;
        dims[dims.len() - 1 - axis]
    }
}
