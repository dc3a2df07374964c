//! Error bounds of linear systems, inverses and determinants. Their matrices are `x x^T` plus a multiple of the
//! identity that exceeds the sums of their rows, so that LU factors neither grow nor depend on the order of the rows.

use super::bounded::{Bounded, Host, Rounding};
use crate::record::{on, reduce};
use base::error::Result;
use base::types::{DType, ScalarValue};
use ir::{BinaryOp, NodeId, ReduceOp, Trace};
use lazyxla::device::TensorHandle;
use lazyxla::sync;
use lazyxla::tensor;
use ops::{creation, elementwise, linalg, shape};

/// An operation on the matrices.
#[derive(Clone, Copy)]
pub enum System {
    /// The solution for the right-hand side `x`.
    Solve,
    Inverse,
    Determinant,
}

impl System {
    pub fn act(self, x: TensorHandle, multiple: f64) -> Result<TensorHandle> {
        on([x], |t, [x]| {
            let a = dominant(t, x, multiple)?;
            match self {
                System::Solve => linalg::solve(t, a, x),
                System::Inverse => linalg::inverse(t, a),
                System::Determinant => linalg::determinant(t, a),
            }
        })
    }
}

fn transposed(t: &mut Trace, x: NodeId) -> Result<NodeId> {
    let rank = t.ty(x).dims.len() as i64;
    let order: Vec<i64> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    shape::transpose(t, x, &order)
}

fn product(t: &mut Trace, x: NodeId, y: NodeId) -> Result<NodeId> {
    let other = transposed(t, y)?;
    linalg::matmul(t, x, other)
}

/// Records `x x^T` plus a multiple of the identity.
fn dominant(t: &mut Trace, x: NodeId, multiple: f64) -> Result<NodeId> {
    let a = product(t, x, x)?;
    let ty = t.ty(a);
    let n = ty.dims[ty.dims.len() - 1];
    let one = creation::eye(t, ty.dtype, n, n, 0)?;
    let identity = elementwise::binary_scalar(t, BinaryOp::Multiply, one, ScalarValue::Float(multiple), false)?;
    elementwise::binary(t, BinaryOp::Add, a, identity)
}

/// The largest element of a tensor of f64.
fn largest(of: &Host) -> Result<f64> {
    let axes: Vec<i64> = (0..tensor::ty(of.handle())?.dims.len() as i64).collect();
    let most = Host::new(reduce(ReduceOp::Max, of.handle(), &axes, false))?;
    let mut bytes = [0; 8];
    sync::read(most.handle(), &mut bytes)?;
    Ok(f64::from_le_bytes(bytes))
}

/// The largest sum of the absolute values of a row.
fn norm(of: &Host) -> Result<f64> {
    let rank = tensor::ty(of.handle())?.dims.len() as i64;
    largest(&Host::new(reduce(ReduceOp::Sum, of.size()?.handle(), &[rank - 1], false))?)
}

impl Bounded {
    fn products(&self, r: Rounding) -> Result<Bounded> {
        let inner = *tensor::ty(self.value.handle())?.dims.last().expect("matrices have two axes") as f64;
        self.product(self, inner, r, |x, y| on([x, y], |t, [x, y]| product(t, x, y)))
    }

    /// A multiple of the identity that is at least twice the sum of every row of `x x^T`. None unless the dtype holds
    /// all sums.
    pub fn multiple(&self, dtype: DType) -> Result<Option<f64>> {
        let r = Rounding::of(dtype);
        let sum = norm(&self.products(r)?.value)?;
        let multiple = (2.0 * sum).max(2f64.powi(-8)).log2().ceil().exp2();
        Ok((multiple < r.most / 4.0).then_some(multiple))
    }

    /// Bounds an operation on the matrices. Factors of `n` rows are those of a matrix that differs by `8 n^2` units of
    /// its norm (Higham, Accuracy and Stability of Numerical Algorithms, theorem 9.4), since they do not grow; the norm
    /// of the inverse is at most 2 / `multiple`.
    pub fn system(&self, system: System, multiple: f64, dtype: DType) -> Result<Bounded> {
        let (inner, outer) = (Rounding::inner(dtype), Rounding::of(dtype));
        let products = self.products(outer)?;
        let value = Host::new(system.act(self.value.handle(), multiple))?;
        let a = Host::new(on([self.value.handle()], |t, [x]| dominant(t, x, multiple)))?;
        let n = tensor::ty(a.handle())?.dims.last().copied().unwrap_or(1) as f64;
        let size = norm(&a)?;
        let parts = if self.is_complex()? { 4.0 } else { 1.0 };
        let of_sum = size * outer.unit + n * outer.tiny;
        let of_matrix = norm(&products.error)? + of_sum + parts * 8.0 * n * n * inner.unit * size;
        let inverse = 2.0 / multiple;
        let error = match system {
            System::Determinant => value.size()?.scaled(2.0 * n * (inverse * of_matrix + 4.0 * inner.unit))?,
            _ => {
                let of_right = if let System::Solve = system { largest(&self.error)? } else { 0.0 };
                let off = 2.0 * inverse * (of_matrix * largest(&value.size()?)? + of_right);
                value.size()?.scaled(0.0)?.shifted(off)?
            }
        };
        Bounded { value, error: error.shifted(inner.tiny)? }.rounded(1.0, outer)
    }
}
