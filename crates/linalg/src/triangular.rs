//! Triangular systems.

use crate::faer_field::Field;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place, solve_unit_upper_triangular_in_place,
    solve_upper_triangular_in_place,
};
use faer::{MatMut, MatRef, Par};

pub fn solve<T: Field>(a: &[T], n: usize, lower: bool, unit: bool, b: &mut [T]) {
    if n == 0 {
        return;
    }
    let columns = b.len() / n;
    let a = MatRef::from_row_major_slice(a, n, n);
    let b = MatMut::from_row_major_slice_mut(b, n, columns);
    match (lower, unit) {
        (true, false) => solve_lower_triangular_in_place(a, b, Par::Seq),
        (true, true) => solve_unit_lower_triangular_in_place(a, b, Par::Seq),
        (false, false) => solve_upper_triangular_in_place(a, b, Par::Seq),
        (false, true) => solve_unit_upper_triangular_in_place(a, b, Par::Seq),
    }
}
