//! Work on large matrices, distributed over the threads of rayon's pool in parts that depend on the shape alone, so
//! that results do not depend on the number of threads.

use base::threads;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as apply_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as apply,
};
use faer::linalg::matmul::matmul;
use faer::traits::ComplexField;
use faer::{Accum, Conj, MatMut, MatRef, Par};

/// Least number of multiplications of a part: some milliseconds of work, since a sleeping thread needs up to 50 us to
/// wake up, and small products take more time for each multiplication.
const PART: usize = 1 << 25;

/// Writes `factor a b` to `to`, or adds it.
pub fn product<T: ComplexField + Copy>(to: MatMut<'_, T>, accum: Accum, a: MatRef<'_, T>, b: MatRef<'_, T>, factor: T) {
    product_in_parts(to, accum, a, b, factor, PART);
}

fn product_in_parts<T: ComplexField + Copy>(
    to: MatMut<'_, T>,
    accum: Accum,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    factor: T,
    part: usize,
) {
    let (rows, columns) = (to.nrows(), to.ncols());
    if rows.max(columns) < 2 || rows.saturating_mul(columns).saturating_mul(a.ncols()) < 2 * part {
        return matmul(to, accum, a, b, factor, Par::Seq);
    }
    let rest = |to, a, b| product_in_parts(to, accum, a, b, factor, part);
    if columns > rows {
        let half = columns / 2;
        let ((left, right), (of_left, of_right)) = (to.split_at_col_mut(half), b.split_at_col(half));
        both(|| rest(left, a, of_left), || rest(right, a, of_right));
    } else {
        let half = rows / 2;
        let ((top, bottom), (of_top, of_bottom)) = (to.split_at_row_mut(half), a.split_at_row(half));
        both(|| rest(top, of_top, b), || rest(bottom, of_bottom, b));
    }
}

/// Multiplies a matrix from the left by the product of reflections, as faer's reductions store them: their vectors are
/// below the diagonal of `vectors`, the triangular factors of their blocks in `factors`.
pub fn apply_reflections<T: ComplexField>(
    vectors: MatRef<'_, T>,
    factors: MatRef<'_, T>,
    conj: Conj,
    of: MatMut<'_, T>,
) {
    reflect_in_parts(vectors, factors, conj, of, PART);
}

fn reflect_in_parts<T: ComplexField>(
    vectors: MatRef<'_, T>,
    factors: MatRef<'_, T>,
    conj: Conj,
    of: MatMut<'_, T>,
    part: usize,
) {
    let (rows, columns) = (of.nrows(), of.ncols());
    if columns > 1 && rows.saturating_mul(vectors.ncols()).saturating_mul(columns) >= 2 * part {
        let (left, right) = of.split_at_col_mut(columns / 2);
        let reflect = |of| reflect_in_parts(vectors, factors, conj, of, part);
        return both(|| reflect(left), || reflect(right));
    }
    let mut memory = MemBuffer::new(apply_scratch::<T>(rows, factors.nrows(), columns));
    apply(vectors, factors, conj, of, Par::Seq, MemStack::new(&mut memory));
}

/// Calls both functions, at the same time if a thread is free and the limit of threads allows it.
fn both(first: impl FnOnce() + Send, second: impl FnOnce()) {
    if threads::limit() == 1 {
        first();
        return second();
    }
    let share = threads::share(2);
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| threads::within(share, first));
        threads::within(share, second);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::division::samples::Random;
    use faer::Mat;

    fn integers(rows: usize, columns: usize) -> Mat<f64> {
        let mut random = Random::new((rows + columns) as u64);
        Mat::from_fn(rows, columns, |_, _| (20.0 * random.next()).floor())
    }

    #[test]
    fn parts_of_products_are_those_of_the_whole() {
        for (rows, inner, columns) in [(37, 41, 29), (1, 50, 100), (100, 50, 1), (3, 1, 2), (5, 0, 4), (64, 64, 64)] {
            let (a, b) = (integers(rows, inner), integers(inner, columns));
            for part in [1, 100, 3000] {
                let mut made = integers(rows, columns);
                let wanted = &made - &a * &b;
                product_in_parts(made.as_mut(), Accum::Add, a.as_ref(), b.as_ref(), -1.0, part);
                assert_eq!(made, wanted, "{rows} x {inner} times {inner} x {columns} in parts of {part}");
            }
        }
    }

    #[test]
    fn parts_of_reflected_matrices_are_those_of_the_whole() {
        let (vectors, factors, given) =
            (integers(20, 8), Mat::from_fn(4, 8, |i, j| f64::from(u8::from(i == j % 4))), integers(20, 11));
        let reflected = |part| {
            let mut made = given.clone();
            reflect_in_parts(vectors.as_ref(), factors.as_ref(), Conj::No, made.as_mut(), part);
            made
        };
        let whole = reflected(usize::MAX / 2);
        assert_ne!(whole, given);
        let apart = (reflected(1) - &whole).norm_max() / whole.norm_max();
        assert!(apart <= 1e-14, "{apart}");
    }
}
