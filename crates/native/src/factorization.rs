//! Factorizations of batches of matrices. Matrices are distributed over threads; of one matrix, only large products are.
//! f16 and bf16 are computed in f32.

use super::array::Array;
use super::convert::convert;
use super::element::{Element, unsupported};
use super::linalg::{by_number, widened};
use super::parallel::each_piece;
use base::allocation::probe;
use base::error::Result;
use base::types::{DType, TensorType};
use lazyxla_linalg::Number as Kernels;
use num_complex::Complex;

/// Minimum number of multiplications, over all matrices, for which several threads are used.
const PARALLEL: usize = 1 << 17;

/// Element types with kernels.
trait Factored: Kernels<Real: Element, Complex: Element> + Element {}

impl<T: Kernels<Real: Element, Complex: Element> + Element> Factored for T {}

/// Writes the parts of results that belong to a matrix, given its number and its elements.
type Kernel<'w, T, const N: usize> = dyn Fn(usize, &[T], [&mut [u8]; N]) + Sync + 'w;

/// The elements of a part of a result.
fn typed<T: Element>(part: &mut [u8]) -> &mut [T] {
    bytemuck::cast_slice_mut(part)
}

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

    /// Arrays of these types, of which `work` writes the parts that belong to each matrix; they are 0 before. Small batches
    /// are computed on this thread. `depth` is the number of multiplications for each element.
    fn made<const N: usize>(&self, types: [TensorType; N], depth: usize, work: &Kernel<T, N>) -> Result<[Array; N]> {
        let count = self.dims.iter().product::<i64>() as usize;
        let sizes = types.each_ref().map(|ty| ty.size_bytes() / count.max(1));
        let made = Array::write_several(&types, |mut left| {
            let mut next = |i: usize| left[i].split_off_mut(..sizes[i]).expect("the array has parts of all matrices");
            let mut parts: Vec<Option<_>> = (0..count).map(|_| Some(std::array::from_fn(&mut next))).collect();
            let size = self.rows * self.columns;
            let write = |i: usize, part: [&mut [u8]; N]| work(i, &self.elements[i * size..][..size], part);
            let cost = (size + 1).saturating_mul(depth + 1).saturating_mul(count);
            if count > 1 && cost >= PARALLEL {
                each_piece(&mut parts, 1, &|i, part| write(i, part[0].take().expect("it is written once")));
            } else {
                parts.into_iter().flatten().enumerate().for_each(|(i, part)| write(i, part));
            }
            Ok(())
        })?;
        Ok(made.try_into().expect("as many arrays as types"))
    }

    /// The type of an array with the batch axes and these.
    fn ty(&self, dtype: DType, dims: &[usize]) -> TensorType {
        let own = dims.iter().map(|&dim| dim as i64);
        TensorType { dtype, dims: self.dims.iter().copied().chain(own).collect() }
    }
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
        let types = [[rows, inner], [inner, columns]].map(|dims| batch.ty(wide.ty().dtype, &dims));
        batch.made(types, batch.least(), &|_, a, [q, r]| T::qr(a, rows, columns, full, typed(q), typed(r)))
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
        let dtype = wide.ty().dtype;
        let types = [batch.ty(dtype, &[rows, least]), wide.ty().clone(), batch.ty(dtype, &[least])];
        batch.made(types, least, &|_, a, [q, packed, factors]| {
            T::reflectors(a, rows, columns, typed(packed), typed(factors), typed(q));
        })
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
        let vectors = [batch.least(), rows].map(|size| batch.ty(DType::S32, &[size]));
        let [of_pivots, of_rows] = vectors;
        batch.made([wide.ty().clone(), of_pivots, of_rows], batch.least(), &|_, a, [factors, pivots, permutation]| {
            let (factors, pivots, permutation) = (typed::<T>(factors), typed(pivots), typed(permutation));
            factors.copy_from_slice(a);
            T::lu(factors, rows, columns, pivots);
            permutation.iter_mut().zip(0..).for_each(|(row, i)| *row = i);
            pivots.iter().enumerate().for_each(|(i, &pivot)| permutation.swap(i, pivot as usize));
        })
    })?;
    narrowed(x.ty().dtype, made)
}

/// Solutions of systems, of this type, from the factors and the permutation of [`lu`] and right-hand sides `b` with the
/// same batch axes; without `b`, inverses. All elements of a result are NaN if a pivot is 0.
pub fn lu_solve(ty: &TensorType, factors: &Array, permutation: &Array, b: Option<&Array>) -> Result<Array> {
    let permutation = permutation.elements::<i32>();
    by_number!("solve", ty.dtype, T => {
        let batch = Batch::<T>::of(factors);
        let (n, columns) = (batch.rows, ty.dims[ty.dims.len() - 1] as usize);
        let sides = b.map(|b| b.elements::<T>());
        let [x] = batch.made([ty.clone()], columns, &|i, factors, [x]| {
            let b = sides.map(|sides| &sides[i * n * columns..][..n * columns]);
            T::lu_solve(factors, &permutation[i * n..][..n], n, b, columns, typed(x));
        })?;
        Ok(x)
    })
}

/// Both factors of an LDL factorization in one matrix, and the pivots.
pub fn ldl(hermitian: bool, x: &Array) -> Result<Vec<Array>> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let made = by_number!("ldl", wide.ty().dtype, T => {
        let batch = Batch::<T>::of(&wide);
        batch.probe(batch.rows)?;
        let n = batch.rows;
        batch.made([wide.ty().clone(), batch.ty(DType::S32, &[n])], n, &|_, a, [factors, pivots]| {
            let factors = typed::<T>(factors);
            factors.copy_from_slice(a);
            T::ldl(factors, n, hermitian, typed(pivots));
        })
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
        let [x] = batch.made([wide.clone()], columns, &|i, factors, [x]| {
            let x = typed::<T>(x);
            x.copy_from_slice(&sides[i * n * columns..][..n * columns]);
            T::ldl_solve(factors, &pivots[i * n..][..n], n, hermitian, x);
        })?;
        Ok(x)
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
        let types = [batch.ty(dtype, &[rows, of_u]), batch.ty(dtype.real(), &[least]), batch.ty(dtype, &[of_v, columns])];
        batch.made(types, least, &|_, a, [u, s, vh]| {
            T::svd(a, rows, columns, full, typed(s), vectors.then(|| [typed(u), typed(vh)]));
        })
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
        let types = [batch.ty(dtype.real(), &[n]), wide.ty().clone()];
        batch.made(types, n, &|_, a, [w, v]| T::eigh(a, n, lower, typed(w), typed(v)))
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
        let types = [batch.ty(of_results, &[n]), batch.ty(of_results, &[n, n])];
        batch.made(types, n, &|_, a, [w, v]| T::eig(a, n, typed(w), typed(v))).map(Vec::from)
    })
}

/// Schur forms `t` and unitary factors `z`: real ones of real matrices.
pub fn schur(x: &Array) -> Result<Vec<Array>> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let made = by_number!("schur", wide.ty().dtype, T => {
        let batch = Batch::<T>::of(&wide);
        let n = batch.rows;
        batch.probe(n.saturating_mul(n).saturating_mul(2))?;
        let types = [wide.ty().clone(), wide.ty().clone()];
        batch.made(types, n, &|_, a, [t, z]| T::schur(a, n, typed(t), typed(z)))
    })?;
    narrowed(x.ty().dtype, made)
}

/// Pseudoinverses. Singular values up to `tolerance` times the largest one count as 0.
pub fn pinv(ty: &TensorType, tolerance: f64, x: &Array) -> Result<Array> {
    let wide = convert(x, widened(x.ty()).dtype)?;
    let made = by_number!("pinv", wide.ty().dtype, T => {
        let batch = Batch::<T>::of(&wide);
        batch.probe(batch.rows.saturating_mul(batch.columns))?;
        let (rows, columns) = (batch.rows, batch.columns);
        let [made] = batch.made([batch.ty(wide.ty().dtype, &[columns, rows])], batch.least(), &|_, a, [inverse]| {
            T::pinv(a, rows, columns, tolerance, typed(inverse));
        })?;
        Ok(made)
    })?;
    convert(&made, ty.dtype)
}
