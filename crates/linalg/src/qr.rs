//! QR by Householder reflections.

use crate::faer_field::Field;
use crate::reflectors::Factored;
use crate::{Scaled, put, put_identity, taken};
use faer::traits::math_utils::zero;

pub fn qr<T: Field>(a: &[T], rows: usize, columns: usize, full: bool, q: &mut [T], r: &mut [T]) {
    let least = rows.min(columns);
    let made = if full { rows } else { least };
    if least == 0 {
        return put_identity(q, rows);
    }
    let scaled = Scaled::of(a);
    let factored = Factored::of(taken(&scaled.elements, rows, columns), &mut vec![zero(); least]);
    put(factored.basis(made).as_ref(), q);
    put(factored.packed.as_ref().subrows(0, made), r);
    for (i, row) in r.chunks_exact_mut(columns.max(1)).enumerate() {
        let (below, triangle) = row.split_at_mut(i.min(columns));
        below.fill(zero());
        triangle.iter_mut().for_each(|x| *x = scaled.restored(*x));
    }
}
