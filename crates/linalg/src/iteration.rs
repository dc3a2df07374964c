//! Shared parts of the implicit QR iterations on bidiagonal and tridiagonal matrices: Givens rotations, the two
//! diagonals with their deflation, and Wilkinson's shift.
//!
//! faer's Givens rotations are not used. For small angles their cosine, `1 / sqrt(1 + t^2)`, is too large more often
//! than too small, because that root is rounded down more often than up. The norms of vectors grow with each rotation:
//! values and vectors of an iteration on `n` columns are off by about `n` rounding errors.

use crate::faer_field::Field;
use crate::vectorized;
use faer::traits::RealField;
use faer::traits::math_utils::from_f64;
use faer::{Mat, MatMut};

/// Largest number of sweeps for each row; an iteration takes two or three.
pub const MOST_SWEEPS: usize = 60;

/// The Givens rotation `[c s; -s c]`. Computed in f64 for all dtypes, so that `c^2 + s^2` of a rotation in f32 is 1 to
/// within the rounding of `c` and `s`.
#[derive(Clone, Copy, Default)]
pub struct Rotation {
    pub c: f64,
    pub s: f64,
}

impl Rotation {
    /// Returns the rotation that takes `(x, y)` to `(r, 0)`, and `r`, which is not negative.
    #[inline(always)]
    pub fn onto_first(x: f64, y: f64) -> (Rotation, f64) {
        // The square of a smaller number may be subnormal or 0.
        const SMALL: f64 = power(-480);
        let sum = x * x + y * y;
        if sum < SMALL * SMALL {
            return Rotation::of_small(x, y);
        }
        let r = sum.sqrt();
        // `x / sum * r` and `y / sum * r` would not wait for the root, but for small angles `c` would be too small more
        // often than too large.
        (Rotation { c: x / r, s: y / r }, r)
    }

    #[cold]
    fn of_small(x: f64, y: f64) -> (Rotation, f64) {
        if x == 0.0 && y == 0.0 {
            return (Rotation { c: 1.0, s: 0.0 }, 0.0);
        }
        // The square of the least subnormal number, multiplied by 2^600, is a normal one.
        let (x, y) = (x * power(600), y * power(600));
        let r = (x * x + y * y).sqrt();
        (Rotation { c: x / r, s: y / r }, r * power(-600))
    }

    /// Returns the product of the rotation and the vector `(x, y)`.
    pub fn times(self, x: f64, y: f64) -> (f64, f64) {
        (self.c * x + self.s * y, self.c * y - self.s * x)
    }
}

/// Two to the power of `exponent`, which is a normal number.
const fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Number of rows that are rotated together: 32 elements of f64 fill half of the vector registers of AVX2.
const BLOCK: usize = 32;

/// Least number of rows that are rotated together; the number of rows is padded to a multiple of it.
const LEAST_BLOCK: usize = 8;

/// A square matrix, column by column, which rotations multiply from the right.
pub struct Columns<R> {
    elements: Vec<R>,
    n: usize,
    /// Rows of `elements`, a multiple of `LEAST_BLOCK`; those beyond `n` are 0.
    rows: usize,
}

impl<R: RealField + Copy> Columns<R> {
    pub fn identity(n: usize) -> Columns<R> {
        let rows = n.next_multiple_of(LEAST_BLOCK);
        let mut elements = vec![from_f64(0.0); n * rows];
        elements.iter_mut().step_by(rows + 1).for_each(|x| *x = from_f64(1.0));
        Columns { elements, n, rows }
    }

    /// Copies the matrix.
    pub fn write(&self, to: MatMut<'_, R>) {
        for (column, from) in to.col_iter_mut().zip(self.elements.chunks_exact(self.rows)) {
            column.iter_mut().zip(from).for_each(|(to, &x)| *to = x);
        }
    }

    pub fn to_mat(&self) -> Mat<R> {
        let mut made = Mat::zeros(self.n, self.n);
        self.write(made.as_mut());
        made
    }

    pub fn negate(&mut self, j: usize) {
        self.elements[j * self.rows..][..self.n].iter_mut().for_each(|x| *x = -*x);
    }

    /// Rotates the columns `of`, which differ.
    pub fn rotate(&mut self, of: [usize; 2], rotation: Rotation) {
        let (c, s) = (from_f64::<R>(rotation.c), from_f64::<R>(rotation.s));
        let ranges = of.map(|j| j * self.rows..(j + 1) * self.rows);
        let [left, right] = self.elements.get_disjoint_mut(ranges).expect("two columns");
        for (x, y) in left.iter_mut().zip(right) {
            (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
        }
    }

    /// Rotates the columns `first + k` and `first + k + 1` by `rotations[k]`, for one `k` after the other.
    pub fn rotate_all(&mut self, first: usize, rotations: &[Rotation]) {
        let rows = self.rows;
        let columns = &mut self.elements[first * rows..][..(rotations.len() + 1) * rows];
        vectorized(
            #[inline(always)]
            || {
                let mut from = 0;
                while rows - from >= BLOCK {
                    rotate_rows::<R, BLOCK>(columns, rows, from, rotations);
                    from += BLOCK;
                }
                while from < rows {
                    rotate_rows::<R, LEAST_BLOCK>(columns, rows, from, rotations);
                    from += LEAST_BLOCK;
                }
            },
        );
    }
}

/// Applies `rotate_all` to the rows `from..from + N`. The right column of a rotation is the left column of the next
/// one, and stays in registers.
#[inline(always)]
fn rotate_rows<R: RealField + Copy, const N: usize>(
    columns: &mut [R],
    rows: usize,
    from: usize,
    rotations: &[Rotation],
) {
    let mut x: [R; N] = *columns[from..].first_chunk().expect("rows of the first column");
    let mut parts = columns[from..].chunks_mut(rows);
    let mut left = parts.next().expect("a column");
    for (right, rotation) in parts.zip(rotations) {
        let (c, s) = (from_f64::<R>(rotation.c), from_f64::<R>(rotation.s));
        let y: [R; N] = *right.first_chunk().expect("rows of a column");
        let to: &mut [R; N] = left.first_chunk_mut().expect("rows of a column");
        for i in 0..N {
            to[i] = c * x[i] + s * y[i];
            x[i] = c * y[i] - s * x[i];
        }
        left = right;
    }
    left[..N].copy_from_slice(&x);
}

/// A bidiagonal or symmetric tridiagonal matrix, divided by the largest absolute value of its elements.
pub struct Band {
    pub diagonal: Vec<f64>,
    /// The superdiagonal of a bidiagonal matrix, the subdiagonal of a tridiagonal one.
    pub beside: Vec<f64>,
    /// The divisor.
    pub largest: f64,
    /// Elements of `beside` from this position on are 0.
    zero_from: usize,
}

impl Band {
    /// Returns the scaled matrix; None if an element is not finite.
    pub fn of<T: Field>(
        diagonal: impl Iterator<Item = T::Real>,
        beside: impl Iterator<Item = T::Real>,
    ) -> Option<Band> {
        Band::scaled(diagonal.map(T::to_f64).collect(), beside.map(T::to_f64).collect())
    }

    /// Returns the scaled matrix; None if an element is not finite.
    pub fn scaled(mut diagonal: Vec<f64>, mut beside: Vec<f64>) -> Option<Band> {
        let largest = diagonal.iter().chain(&beside).fold(0.0, |most: f64, x| most.max(x.abs()));
        if largest > 0.0 {
            diagonal.iter_mut().chain(&mut beside).for_each(|x| *x /= largest);
        }
        let zero_from = beside.len();
        Some(Band { diagonal, beside, largest, zero_from }).filter(Band::is_finite)
    }

    /// Returns true if all elements are finite.
    pub fn is_finite(&self) -> bool {
        self.diagonal.iter().chain(&self.beside).all(|x| x.is_finite())
    }

    /// Deflates: sets elements `x` of `beside` to 0 if `x^2 <= eps^2 |d_i d_{i+1}|`, with the elements of the diagonal
    /// in the rows of `x`, or if `|x| <= least`. Returns the first and the last row of the last unreduced block; None
    /// if `beside` is 0.
    pub fn deflate(&mut self, eps: f64, least: f64) -> Option<[usize; 2]> {
        let (d, e) = (&self.diagonal, &mut self.beside[..self.zero_from]);
        for (x, ends) in e.iter_mut().zip(d.windows(2)) {
            let is_small = *x * *x <= eps * eps * (ends[0] * ends[1]).abs() || x.abs() <= least;
            *x = if is_small { 0.0 } else { *x };
        }
        let last = e.iter().rposition(|&x| x != 0.0)? + 1;
        self.zero_from = last;
        let first = e[..last].iter().rposition(|&x| x == 0.0).map_or(0, |zero| zero + 1);
        Some([first, last])
    }
}

/// The eigenvalues of a 2 x 2 block `[a b; c d]`: `mean + root` and `mean - root` or, if `is_complex`, `mean + i root`
/// and `mean - i root`.
pub struct Eigenvalues {
    pub mean: f64,
    /// `(a - d) / 2`.
    pub half: f64,
    /// Not negative.
    pub root: f64,
    pub is_complex: bool,
}

impl Eigenvalues {
    pub fn of([a, b, c, d]: [f64; 4]) -> Eigenvalues {
        let (mean, half) = (0.5 * (a + d), 0.5 * (a - d));
        // Divided by the largest number, so that squares of small numbers are not 0.
        let size = half.abs().max(b.abs()).max(c.abs());
        let of_size = |x: f64| if size == 0.0 { 0.0 } else { x / size };
        let square = of_size(half) * of_size(half) + of_size(b) * of_size(c);
        Eigenvalues { mean, half, root: square.abs().sqrt() * size, is_complex: square < 0.0 }
    }
}

/// Wilkinson's shift: the eigenvalue of `[first beside; beside last]` that is nearer to `last`.
pub fn wilkinson_shift(first: f64, last: f64, beside: f64) -> f64 {
    let half = 0.5 * (first - last);
    let sum = half + half.hypot(beside).copysign(half);
    if sum == 0.0 { last } else { last - beside * (beside / sum) }
}

/// Returns the positions of the values, sorted by the values; the order of equal ones is kept.
pub fn ordered(values: &[f64], compare: impl Fn(&f64, &f64) -> std::cmp::Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| compare(&values[i], &values[j]));
    order
}
