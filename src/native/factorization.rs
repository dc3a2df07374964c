//! Factorizations of batches of matrices, each on one thread. f16 and bf16 are computed in f32.

use super::array::Array;
use super::convert::convert;
use super::element::{Element, unsupported};
use super::linalg::{by_number, widened};
use super::parallel::collect;
use crate::allocation::probe;
use crate::error::Result;
use crate::types::{DType, TensorType};
use lazyxla_linalg::Number as Kernels;
use num_complex::Complex;

/// Minimum number of multiplications, over all matrices, for which several threads are used.
const PARALLEL: usize = 1 << 17;

/// Element types with kernels.
trait Factored: Kernels<Real: Element, Complex: Element> + Element {}

impl<T: Kernels<Real: Element, Complex: Element> + Element> Factored for T {}

/// A batch of matrices.
struct Batch<'a, T> {
    elements: &'a [T],
    dims: &'a [i64],
    rows: usize,
    columns: usize,
}

impl<'a, T: Factored> Batch<'a, T> {
    /// RESOURCE_EXHAUSTED unless there is memory for results of this many elements for each matrix, and for work.
    fn probe(&self, elements: usize) -> Result<()> {
        let count = self.dims.iter().fold(1usize, |count, &dim| count.saturating_mul(dim as usize));
        let size = (self.rows.saturating_mul(self.columns)).saturating_add(elements).saturating_mul(2);
        probe(count.saturating_mul(size.saturating_mul(size_of::<T>()).saturating_add(128)), "factors of matrices")
    }

    fn of(x: &'a Array) -> Batch<'a, T> {
        let (dims, rank) = (&x.ty().dims[..], x.ty().dims.len());
        let [rows, columns] = [dims[rank - 2] as usize, dims[rank - 1] as usize];
        Batch { elements: x.elements(), dims: &dims[..rank - 2], rows, columns }
    }

    fn least(&self) -> usize {
        self.rows.min(self.columns)
    }

    /// Results of `work` for each matrix. Small batches are computed on this thread.
    fn each<R: Send>(&self, work: &(dyn Fn(&[T]) -> R + Sync)) -> Vec<R> {
        self.numbered(self.least(), &|_, matrix| work(matrix))
    }

    /// Likewise; `work` also gets the number of the matrix. `depth` is the number of multiplications for each element.
    fn numbered<R: Send>(&self, depth: usize, work: &(dyn Fn(usize, &[T]) -> R + Sync)) -> Vec<R> {
        let (size, count) = (self.rows * self.columns, self.dims.iter().product::<i64>() as usize);
        let of = |i: usize| work(i, &self.elements[i * size..][..size]);
        let cost = (size + 1).saturating_mul(depth + 1).saturating_mul(count);
        if count > 1 && cost >= PARALLEL { collect(count, &of) } else { (0..count).map(of).collect() }
    }

    /// The type of an array with the batch axes and these.
    fn ty(&self, dtype: DType, dims: &[usize]) -> TensorType {
        let own = dims.iter().map(|&dim| dim as i64);
        TensorType { dtype, dims: self.dims.iter().copied().chain(own).collect() }
    }
}

/// Puts the results for the matrices of a batch into one array.
fn joined<'p, T: Element>(ty: &TensorType, parts: impl Iterator<Item = &'p Vec<T>>) -> Result<Array> {
    Array::write::<T>(ty, |out| parts.for_each(|part| out.copy(part)))
}

fn zeros<T: Element>(count: usize) -> Vec<T> {
    vec![T::zeroed(); count]
}

/// Converts the results that are computed in f32 to the dtype of the operand.
fn narrowed<const N: usize>(of: DType, results: [Array; N]) -> Result<Vec<Array>> {
    let is_narrow = matches!(of, DType::F16 | DType::BF16);
    results
        .into_iter()
        .map(|result| if is_narrow && result.ty().dtype == DType::F32 { convert(&result, of) } else { Ok(result) })
        .collect()
}

/// `q` and `r` with `q r = x`; `q` is square if `full`.
pub fn qr(full: bool, x: &Array) -> Result<Vec<Array>> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let made = by_number!("qr", wide.ty().dtype, T => {
        let batch = Batch::<T>::of(&wide);
        let (rows, columns) = (batch.rows, batch.columns);
        let inner = if full { rows } else { batch.least() };
        batch.probe(rows.saturating_add(columns).saturating_mul(inner))?;
        let parts = batch.each(&|a| {
            let (mut q, mut r) = (zeros(rows * inner), zeros(inner * columns));
            T::qr(a, rows, columns, full, &mut q, &mut r);
            (q, r)
        });
        let (q_ty, r_ty) = (batch.ty(wide.ty().dtype, &[rows, inner]), batch.ty(wide.ty().dtype, &[inner, columns]));
        Ok([joined(&q_ty, parts.iter().map(|of| &of.0))?, joined(&r_ty, parts.iter().map(|of| &of.1))?])
    })?;
    narrowed(x.ty().dtype, made)
}

/// `q` with as many columns as the smaller size, the packed upper triangular factor and reflections, and the factors of
/// the reflections, as LAPACK's `geqrf` has them.
pub fn reflectors(x: &Array) -> Result<Vec<Array>> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let made = by_number!("qr", wide.ty().dtype, T => {
        let batch = Batch::<T>::of(&wide);
        let (rows, columns, least) = (batch.rows, batch.columns, batch.least());
        batch.probe(rows.saturating_add(columns).saturating_mul(least))?;
        let parts = batch.each(&|a| {
            let (mut packed, mut factors, mut q) = (zeros(rows * columns), zeros(least), zeros(rows * least));
            T::reflectors(a, rows, columns, &mut packed, &mut factors, &mut q);
            (q, packed, factors)
        });
        let dtype = wide.ty().dtype;
        Ok([
            joined(&batch.ty(dtype, &[rows, least]), parts.iter().map(|of| &of.0))?,
            joined(wide.ty(), parts.iter().map(|of| &of.1))?,
            joined(&batch.ty(dtype, &[least]), parts.iter().map(|of| &of.2))?,
        ])
    })?;
    narrowed(x.ty().dtype, made)
}

/// Both factors of an LU factorization with partial pivoting in one matrix, the pivots and the permutation.
pub fn lu(x: &Array) -> Result<Vec<Array>> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let made = by_number!("lu", wide.ty().dtype, T => {
        let batch = Batch::<T>::of(&wide);
        let (rows, columns) = (batch.rows, batch.columns);
        batch.probe(rows)?;
        let parts = batch.each(&|a| {
            let (mut factors, mut pivots) = (a.to_vec(), zeros::<i32>(batch.least()));
            T::lu(&mut factors, rows, columns, &mut pivots);
            let mut permutation: Vec<i32> = (0..rows as i32).collect();
            pivots.iter().enumerate().for_each(|(i, &pivot)| permutation.swap(i, pivot as usize));
            (factors, pivots, permutation)
        });
        let (of_pivots, of_rows) = (batch.ty(DType::S32, &[batch.least()]), batch.ty(DType::S32, &[rows]));
        Ok([
            joined(wide.ty(), parts.iter().map(|of| &of.0))?,
            joined(&of_pivots, parts.iter().map(|of| &of.1))?,
            joined(&of_rows, parts.iter().map(|of| &of.2))?,
        ])
    })?;
    narrowed(x.ty().dtype, made)
}

/// Both factors of an LDL factorization in one matrix, and the pivots.
pub fn ldl(hermitian: bool, x: &Array) -> Result<Vec<Array>> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let made = by_number!("ldl", wide.ty().dtype, T => {
        let batch = Batch::<T>::of(&wide);
        batch.probe(batch.rows)?;
        let n = batch.rows;
        let parts = batch.each(&|a| {
            let (mut factors, mut pivots) = (a.to_vec(), zeros::<i32>(n));
            T::ldl(&mut factors, n, hermitian, &mut pivots);
            (factors, pivots)
        });
        let of_pivots = batch.ty(DType::S32, &[n]);
        Ok([joined(wide.ty(), parts.iter().map(|of| &of.0))?, joined(&of_pivots, parts.iter().map(|of| &of.1))?])
    })?;
    narrowed(x.ty().dtype, made)
}

/// Solutions of systems, from the results of [`ldl`] and right-hand sides with the same batch axes.
pub fn ldl_solve(hermitian: bool, factors: &Array, pivots: &Array, b: &Array) -> Result<Array> {
    let wide = widened(b.ty());
    let (factors, sides) = (convert(factors, wide.dtype)?, convert(b, wide.dtype)?);
    let pivots = pivots.elements::<i32>();
    let made = by_number!("ldl_solve", wide.dtype, T => {
        let batch = Batch::<T>::of(&factors);
        let (n, columns) = (batch.rows, b.ty().dims[b.ty().dims.len() - 1] as usize);
        batch.probe(n.saturating_mul(columns))?;
        let sides = sides.elements::<T>();
        let parts = batch.numbered(columns, &|i, factors| {
            let mut x = sides[i * n * columns..][..n * columns].to_vec();
            T::ldl_solve(factors, &pivots[i * n..][..n], n, hermitian, &mut x);
            x
        });
        joined(&wide, parts.iter())
    })?;
    convert(&made, b.ty().dtype)
}

/// `u`, the singular values and `vh`; both are square if `full`. Without `vectors`, the values alone.
pub fn svd(full: bool, vectors: bool, x: &Array) -> Result<Vec<Array>> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let dtype = wide.ty().dtype;
    let [u, s, vh] = by_number!("svd", dtype, T => {
        let batch = Batch::<T>::of(&wide);
        let (rows, columns, least) = (batch.rows, batch.columns, batch.least());
        let (of_u, of_v) = match (vectors, full) {
            (false, _) => (0, 0),
            (true, true) => (rows, columns),
            (true, false) => (least, least),
        };
        batch.probe(rows.saturating_mul(of_u).saturating_add(columns.saturating_mul(of_v)))?;
        let parts = batch.each(&|a| {
            let (mut u, mut s, mut vh) = (zeros(rows * of_u), zeros(least), zeros(of_v * columns));
            T::svd(a, rows, columns, full, &mut s, vectors.then_some([&mut u[..], &mut vh[..]]));
            (u, s, vh)
        });
        let (u_ty, vh_ty) = (batch.ty(dtype, &[rows, of_u]), batch.ty(dtype, &[of_v, columns]));
        Ok([
            joined(&u_ty, parts.iter().map(|of| &of.0))?,
            joined(&batch.ty(dtype.real(), &[least]), parts.iter().map(|of| &of.1))?,
            joined(&vh_ty, parts.iter().map(|of| &of.2))?,
        ])
    })?;
    if vectors { narrowed(x.ty().dtype, [u, s, vh]) } else { narrowed(x.ty().dtype, [s]) }
}

/// Eigenvalues, ascending, and eigenvectors of Hermitian matrices.
pub fn eigh(lower: bool, x: &Array) -> Result<Vec<Array>> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let dtype = wide.ty().dtype;
    let made = by_number!("eigh", dtype, T => {
        let batch = Batch::<T>::of(&wide);
        let n = batch.rows;
        batch.probe(n.saturating_mul(n).saturating_mul(2))?;
        let parts = batch.each(&|a| {
            let (mut w, mut v) = (zeros(n), zeros(n * n));
            T::eigh(a, n, lower, &mut w, &mut v);
            (w, v)
        });
        let of_values = batch.ty(dtype.real(), &[n]);
        Ok([joined(&of_values, parts.iter().map(|of| &of.0))?, joined(wide.ty(), parts.iter().map(|of| &of.1))?])
    })?;
    narrowed(x.ty().dtype, made)
}

/// Eigenvalues and eigenvectors, complex numbers of the width of the operand, c64 for f16 and bf16.
pub fn eig(x: &Array) -> Result<Vec<Array>> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let of_results = if wide.ty().dtype.real() == DType::F64 { DType::C128 } else { DType::C64 };
    by_number!("eig", wide.ty().dtype, T => {
        let batch = Batch::<T>::of(&wide);
        let n = batch.rows;
        batch.probe(n.saturating_mul(n).saturating_mul(2))?;
        let parts = batch.each(&|a| {
            let (mut w, mut v) = (zeros(n), zeros(n * n));
            T::eig(a, n, &mut w, &mut v);
            (w, v)
        });
        let (of_values, of_vectors) = (batch.ty(of_results, &[n]), batch.ty(of_results, &[n, n]));
        Ok(vec![joined(&of_values, parts.iter().map(|of| &of.0))?, joined(&of_vectors, parts.iter().map(|of| &of.1))?])
    })
}

/// Pseudoinverses. Singular values up to `tolerance` times the largest one count as 0.
pub fn pinv(ty: &TensorType, tolerance: f64, x: &Array) -> Result<Array> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let made = by_number!("pinv", wide.ty().dtype, T => {
        let batch = Batch::<T>::of(&wide);
        batch.probe(batch.rows.saturating_mul(batch.columns))?;
        let (rows, columns) = (batch.rows, batch.columns);
        let parts = batch.each(&|a| {
            let mut inverse = zeros(columns * rows);
            T::pinv(a, rows, columns, tolerance, &mut inverse);
            inverse
        });
        joined(&batch.ty(wide.ty().dtype, &[columns, rows]), parts.iter())
    })?;
    convert(&made, ty.dtype)
}
