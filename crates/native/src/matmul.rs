//! Matrix products with the semantics of NumPy's matmul.

use super::array::Array;
use super::convert::convert;
use super::element::{Element, by_integer_width};
use super::parallel::{each_piece, of_product};
use super::walk::Walk;
use super::wide::wide;
use base::error::Result;
use base::types::{DType, TensorType};
use gemm::Parallelism;
use num_complex::Complex;
use std::ops::Neg;

/// Minimum number of multiplications, times the bytes of an element, for which one product uses several threads: 4
/// million in f32, which take 100 us.
const PARALLEL: usize = 1 << 24;
/// A matrix of at least this many bytes is multiplied by a vector on several threads.
const LARGE_MATRIX: usize = 1 << 22;
/// Number of bytes of such a matrix that a thread processes at a time.
const PART_OF_MATRIX: usize = 1 << 20;
/// Largest number of rows of a product that is divided among threads by rows, in [`PARTS_OF_PRODUCT`] parts.
const ROWS_OF_MEDIUM: usize = 256;
/// Largest number of bytes of the right operand of such a product. Each part packs the operand again, which takes up to a
/// fifth of the time of one thread.
const BYTES_OF_MEDIUM: usize = 1 << 19;
/// Number of parts of such a product. More than the threads of small machines, so that a thread that starts late has
/// less to do.
const PARTS_OF_PRODUCT: usize = 8;
/// Least number of rows of such a part.
const LEAST_ROWS: usize = 8;

/// Sizes of a product of a `rows` x `depth` and a `depth` x `columns` matrix.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Rows of the left operand and of the product.
    pub rows: usize,
    /// Columns of the left operand, rows of the right one.
    pub depth: usize,
    /// Columns of the right operand and of the product.
    pub columns: usize,
}

/// An element type of matrix products.
pub trait Factor: Element {
    /// Multiplies two row-major matrices and writes the row-major product to `out`, which must be filled with zeros.
    fn product(shape: Shape, a: &[Self], b: &[Self], out: &mut [Self]);
    /// Adds `factor * x` to `out`, elementwise.
    fn add_multiple(factor: Self, x: &[Self], out: &mut [Self]);
}

macro_rules! factors {
    ($($T:ty: $product:expr, $add_product:expr);* $(;)?) => {
        $(impl Factor for $T {
            fn product(shape: Shape, a: &[$T], b: &[$T], out: &mut [$T]) {
                $product(shape, a, b, out)
            }

            fn add_multiple(factor: $T, x: &[$T], out: &mut [$T]) {
                multiples(factor, x, out, $add_product)
            }
        })*
    };
}

factors! {
    f32: |shape, a, b, out| gemm(shape, a, b, out, [0.0, 1.0]), |sum: f32, a, b| sum + a * b;
    f64: |shape, a, b, out| gemm(shape, a, b, out, [0.0, 1.0]), |sum: f64, a, b| sum + a * b;
    Complex<f32>: |shape, a, b, out| gemm(shape, a, b, out, [Complex::ZERO, Complex::ONE]),
        |sum: Complex<f32>, a, b| sum + a * b;
    Complex<f64>: |shape, a, b, out| gemm(shape, a, b, out, [Complex::ZERO, Complex::ONE]),
        |sum: Complex<f64>, a, b| sum + a * b;
    u8: |shape, a, b, out| integers(shape, a, b, out, u8_sum), u8_sum;
    u16: |shape, a, b, out| integers(shape, a, b, out, u16_sum), u16_sum;
    u32: |shape, a, b, out| integers(shape, a, b, out, u32_sum), u32_sum;
    u64: |shape, a, b, out| integers(shape, a, b, out, u64_sum), u64_sum;
}

macro_rules! sums {
    ($($name:ident: $T:ty),*) => {
        $(#[inline(always)]
        fn $name(sum: $T, a: $T, b: $T) -> $T {
            sum.wrapping_add(a.wrapping_mul(b))
        })*
    };
}

sums!(u8_sum: u8, u16_sum: u16, u32_sum: u32, u64_sum: u64);

/// Adds `factor * x` to `out`, elementwise, with AVX2 if the processor has it.
fn multiples<T: Copy>(factor: T, x: &[T], out: &mut [T], add_product: impl Fn(T, T, T) -> T) {
    wide(
        #[inline(always)]
        || out.iter_mut().zip(x).for_each(|(out, &x)| *out = add_product(*out, factor, x)),
    );
}

/// Evaluates an expression with `$T` defined as the [`Factor`] of a dtype other than pred, f16 and bf16.
macro_rules! by_factor {
    ($dtype:expr, $T:ident => $body:expr) => {{
        type C64 = num_complex::Complex<f32>;
        type C128 = num_complex::Complex<f64>;
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::C64 => {
                type $T = C64;
                $body
            }
            DType::C128 => {
                type $T = C128;
                $body
            }
            dtype => by_integer_width!(dtype, $T => $body),
        }
    }};
}
pub(super) use by_factor;

/// Multiplies the matrices in the last two axes; the axes before them are batch axes, which broadcast. f16 and bf16 are
/// computed in f32.
pub fn matmul(ty: &TensorType, a: &Array, b: &Array) -> Result<Array> {
    if matches!(ty.dtype, DType::F16 | DType::BF16) {
        let wide = TensorType { dtype: DType::F32, dims: ty.dims.clone() };
        let (a, b) = (convert(a, DType::F32)?, convert(b, DType::F32)?);
        return convert(&matmul(&wide, &a, &b)?, ty.dtype);
    }
    let (a, b) = (&convert(a, ty.dtype)?, &convert(b, ty.dtype)?);
    by_factor!(ty.dtype, T => batches::<T>(ty, a, b))
}

/// Multiplies each pair of matrices of the batch.
fn batches<T: Factor>(ty: &TensorType, a: &Array, b: &Array) -> Result<Array> {
    let (a_dims, b_dims) = (&a.ty().dims[..], &b.ty().dims[..]);
    // A vector is a row if it is the left operand, a column if it is the right one.
    let (a_batch, [rows, depth]) = matrices(a_dims, [1, a_dims[a_dims.len() - 1]]);
    let (b_batch, [_, columns]) = matrices(b_dims, [b_dims[0], 1]);
    let mut shape = Shape { rows, depth, columns };
    let batch = &ty.dims[..ty.dims.len() - usize::from(a_dims.len() > 1) - usize::from(b_dims.len() > 1)];
    let mut walk = Walk::broadcasts(batch, [a_batch, b_batch]);
    if b_batch.is_empty() {
        // The right operand is a single matrix: one product with all rows of the left operand.
        shape.rows *= a_batch.iter().product::<i64>() as usize;
        walk = Walk::broadcasts(&[], [&[], &[]]);
    }
    let (a, b) = (a.elements::<T>(), b.elements::<T>());
    let (a_size, b_size, size) = (shape.rows * shape.depth, shape.depth * shape.columns, shape.rows * shape.columns);
    Array::write::<T>(ty, |out| {
        let count = ty.elements();
        let all = out.repeat_mut(T::zeroed(), count);
        if count == 0 {
            return;
        }
        let mut products = all.chunks_exact_mut(size);
        let [a_step, b_step] = walk.steps();
        walk.each_row(|[a_at, b_at]| {
            for i in 0..walk.row() {
                let (a, b) = (&a[(a_at + i * a_step) * a_size..], &b[(b_at + i * b_step) * b_size..]);
                let out = products.next().expect("a product for each pair of matrices");
                T::product(shape, &a[..a_size], &b[..b_size], out);
            }
        });
    })
}

/// Splits a shape into the batch axes and the last two axes; for the shape of a vector, `of_vector` replaces the
/// latter.
fn matrices(dims: &[i64], of_vector: [i64; 2]) -> (&[i64], [usize; 2]) {
    match dims {
        [batch @ .., rows, columns] => (batch, [*rows as usize, *columns as usize]),
        _ => (&[], of_vector.map(|size| size as usize)),
    }
}

/// Multiplies floating-point matrices. Two kinds of products are divided among threads by rows, in parts that depend on
/// the shape alone: a large matrix times a vector, which is limited by memory bandwidth, and a product of a few hundred
/// rows, for which the barriers between the threads of the crate `gemm` cost more than packing the right operand twice.
fn gemm<T: Element>(shape: Shape, a: &[T], b: &[T], out: &mut [T], of: [T; 2]) {
    let Shape { rows, depth, columns } = shape;
    let part = if columns == 1 && size_of_val(a) >= LARGE_MATRIX {
        (PART_OF_MATRIX / size_of::<T>()).div_ceil(depth)
    } else if is_large::<T>(shape) && rows <= ROWS_OF_MEDIUM && size_of_val(b) <= BYTES_OF_MEDIUM {
        rows.div_ceil(PARTS_OF_PRODUCT).max(LEAST_ROWS)
    } else {
        return whole(shape, a, b, out, of);
    };
    each_piece(out, part * columns, &|start, out| {
        let (start, rows) = (start / columns, out.len() / columns);
        whole(Shape { rows, ..shape }, &a[start * depth..][..rows * depth], b, out, of);
    });
}

/// Whether one product of elements of a type uses several threads.
fn is_large<T>(Shape { rows, depth, columns }: Shape) -> bool {
    rows.saturating_mul(depth).saturating_mul(columns).saturating_mul(size_of::<T>()) >= PARALLEL
}

fn whole<T: Element>(shape: Shape, a: &[T], b: &[T], out: &mut [T], [zero, one]: [T; 2]) {
    let Shape { rows, depth, columns } = shape;
    assert!(a.len() == rows * depth && b.len() == depth * columns && out.len() == rows * columns);
    let large = is_large::<T>(shape);
    let parallelism = if large { Parallelism::Rayon(of_product()) } else { Parallelism::None };
    // SAFETY: the slices hold row-major matrices of these sizes, as just checked, and the strides match; access to
    // `out` is exclusive.
    unsafe {
        ::gemm::gemm(
            rows,
            columns,
            depth,
            out.as_mut_ptr(),
            1,
            columns as isize,
            false,
            a.as_ptr(),
            1,
            depth as isize,
            b.as_ptr(),
            1,
            columns as isize,
            zero,
            one,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// Subtracts the product of two row-major matrices from `out`; rows of `a` are `step` elements apart. The elements must
/// be floats or complex numbers.
pub fn subtract_product<T: Element + Neg<Output = T>>(
    shape: Shape,
    [a, b]: [&[T]; 2],
    step: usize,
    out: &mut [T],
    one: T,
) {
    let Shape { rows, depth, columns } = shape;
    if rows == 0 || depth == 0 {
        return;
    }
    assert!(step >= depth && a.len() >= (rows - 1) * step + depth);
    assert!(b.len() == depth * columns && out.len() == rows * columns);
    let large = is_large::<T>(shape);
    let parallelism = if large { Parallelism::Rayon(of_product()) } else { Parallelism::None };
    let [step, width] = [step, columns].map(|step| step as isize);
    let (out, a, b) = (out.as_mut_ptr(), a.as_ptr(), b.as_ptr());
    // SAFETY: the slices hold row-major matrices of these sizes and strides, as just checked; access to `out` is
    // exclusive.
    unsafe {
        ::gemm::gemm(
            rows, columns, depth, out, 1, width, true, a, 1, step, b, 1, width, one, -one, false, false, false,
            parallelism,
        );
    }
}

/// Multiplies integer matrices: adds multiples of four rows of `b` at a time to a row of `out`, which suits caches and
/// vector instructions.
fn integers<T: Element>(shape: Shape, a: &[T], b: &[T], out: &mut [T], add_product: impl Fn(T, T, T) -> T + Sync) {
    let Shape { depth, columns, .. } = shape;
    if depth == 0 || columns == 0 {
        return;
    }
    let row = |place: usize, out: &mut [T]| {
        let a = &a[place / columns * depth..][..depth];
        let (quads, rest) = a.as_chunks::<4>();
        let (b_quads, b_rest) = b.split_at(quads.len() * 4 * columns);
        for (a, b) in quads.iter().zip(b_quads.chunks_exact(4 * columns)) {
            let [b0, b1, b2, b3] = std::array::from_fn(|i| &b[i * columns..][..columns]);
            wide(
                #[inline(always)]
                || {
                    for ((((out, &b0), &b1), &b2), &b3) in out.iter_mut().zip(b0).zip(b1).zip(b2).zip(b3) {
                        let products = [(a[0], b0), (a[1], b1), (a[2], b2), (a[3], b3)];
                        *out = products.into_iter().fold(*out, |sum, (a, b)| add_product(sum, a, b));
                    }
                },
            );
        }
        for (&a, b) in rest.iter().zip(b_rest.chunks_exact(columns)) {
            out.iter_mut().zip(b).for_each(|(out, &b)| *out = add_product(*out, a, b));
        }
    };
    if is_large::<T>(shape) {
        each_piece(out, columns, &row);
    } else {
        out.chunks_exact_mut(columns).enumerate().for_each(|(i, out)| row(i * columns, out));
    }
}
