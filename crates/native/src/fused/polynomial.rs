//! Polynomials by Horner's method, with products and sums rounded one by one as in the operations they are made of.

use super::super::wide::widest;
use super::super::writer::Writer;
use super::lane::Lane;

/// Number of coefficients for which the sums stay in registers: longer chains of dependent instructions are more than
/// the processor overlaps.
const TERMS: usize = 8;

/// Writes `(c[0] x + c[1]) x + ...`.
pub fn polynomial<T: Lane>(x: &[T], coefficients: &[T], out: &mut Writer<T>) {
    let sums = out.repeat_mut(coefficients[0], x.len());
    for terms in coefficients[1..].chunks(TERMS) {
        match terms.len() {
            1 => continued::<T, 1>(x, terms, sums),
            2 => continued::<T, 2>(x, terms, sums),
            3 => continued::<T, 3>(x, terms, sums),
            4 => continued::<T, 4>(x, terms, sums),
            5 => continued::<T, 5>(x, terms, sums),
            6 => continued::<T, 6>(x, terms, sums),
            7 => continued::<T, 7>(x, terms, sums),
            _ => continued::<T, TERMS>(x, terms, sums),
        }
    }
}

fn continued<T: Lane, const N: usize>(x: &[T], terms: &[T], sums: &mut [T]) {
    let terms: [T; N] = *<&[T; N]>::try_from(terms).expect("as many terms as were counted");
    widest(
        #[inline(always)]
        move || {
            for (sum, &x) in sums.iter_mut().zip(x) {
                let mut total = *sum;
                // LLVM vectorizes the loop around this one only if it is not an iterator (see `fast.rs`).
                let mut i = 0;
                while i < N {
                    total = total * x + terms[i];
                    i += 1;
                }
                *sum = total;
            }
        },
    );
}
