//! Argmax and argmin.

use super::array::Array;
use super::element::unsupported;
use super::indexing::integers;
use super::offsets::elements_at;
use super::order::{Ordered, by_order};
use super::shape::concatenate;
use base::allocation::filled;
use base::error::Result;
use base::types::{DType, Dims, TensorType, count};
use half::{bf16, f16};
use std::cmp::Ordering;

/// Returns the largest (or smallest) element of `x` along an axis, and the corresponding element of `indices`. NaN
/// takes precedence; among equal elements the smallest index wins. `init`, an element and its index, takes part in the
/// comparison.
pub fn extreme(axis: usize, largest: bool, x: &Array, indices: &Array, init: [&Array; 2]) -> Result<[Array; 2]> {
    let dims = &x.ty().dims;
    let sizes = [count(&dims[..axis]), dims[axis] as usize, count(&dims[axis + 1..])];
    let (index, init_index) = (integers(indices), integers(init[1])(0));
    let index_of = |place: Option<usize>| place.map_or(init_index, &index);
    let places = by_order!(x.ty().dtype, T => {
        let is_better = |a: T, b: T, place_a: usize, place_b: Option<usize>| match preferred(a, b, largest) {
            Ordering::Equal => index(place_a) < index_of(place_b),
            order => order == Ordering::Greater,
        };
        best(x.elements::<T>(), sizes, init[0].elements::<T>()[0], &is_better)
    })?;
    let mut left: Dims = dims.clone();
    left.remove(axis);
    Ok([picked(x, init[0], &places)?.into_shape(&left), picked(indices, init[1], &places)?.into_shape(&left)])
}

/// Compares two elements; the preferred one is `Greater`. NaN is preferred to every number.
fn preferred<T: Ordered>(a: T, b: T, largest: bool) -> Ordering {
    if largest || a.is_nan() || b.is_nan() { a.order(b) } else { b.order(a) }
}

/// Positions of the best elements along the middle one of three axes; None where `init` is better than all of them.
fn best<T: Ordered>(
    x: &[T],
    [outer, length, inner]: [usize; 3],
    init: T,
    is_better: &impl Fn(T, T, usize, Option<usize>) -> bool,
) -> Result<Vec<Option<usize>>> {
    let mut places = filled(None, outer * inner, "the places of extremes")?;
    let mut values = filled(init, inner, "the extremes of a row")?;
    for (block, places) in places.chunks_mut(inner.max(1)).enumerate() {
        values.fill(init);
        for row in block * length..(block + 1) * length {
            for column in 0..inner {
                let place = row * inner + column;
                if is_better(x[place], values[column], place, places[column]) {
                    (values[column], places[column]) = (x[place], Some(place));
                }
            }
        }
    }
    Ok(places)
}

/// Elements of `x` at the given positions, or `init` where the position is None.
fn picked(x: &Array, init: &Array, places: &[Option<usize>]) -> Result<Array> {
    if places.iter().all(Option::is_some) {
        return elements_at(x, places.iter().map(|place| place.expect("looked at just now")));
    }
    let end = x.ty().elements();
    let ty = TensorType::new(x.ty().dtype, &[end as i64 + 1]);
    let all = concatenate(&ty, 0, &[x.reshape(&[end as i64]), init.reshape(&[1])])?;
    elements_at(&all, places.iter().map(|place| place.unwrap_or(end)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{array, row};
    use super::*;

    fn along(axis: usize, largest: bool, x: &Array) -> Vec<i32> {
        let dims = &x.ty().dims;
        let step: i64 = dims[axis + 1..].iter().product();
        let places: Vec<i32> = (0..x.ty().elements() as i64).map(|i| (i / step % dims[axis]) as i32).collect();
        let lowest = if largest { f32::NEG_INFINITY } else { f32::INFINITY };
        let init = [&array(&[], &[lowest]), &array(&[], &[i32::MAX])];
        extreme(axis, largest, x, &array(dims, &places), init).unwrap()[1].elements().to_vec()
    }

    #[test]
    fn the_first_wins_and_nan_before_all() {
        let x = array(&[2, 3], &[1.0f32, 5.0, 5.0, -0.0, 0.0, -7.0]);
        assert_eq!((along(1, true, &x), along(1, false, &x)), (vec![1, 0], vec![0, 2]));
        assert_eq!((along(0, true, &x), along(0, false, &x)), (vec![0, 0, 0], vec![1, 1, 1]));
        let nan = row(&[1.0, f32::NAN, 9.0, f32::NAN]);
        assert_eq!((along(0, true, &nan), along(0, false, &nan)), (vec![1], vec![1]));
        let infinite = row(&[f32::NEG_INFINITY; 3]);
        assert_eq!((along(0, true, &infinite), along(0, false, &infinite)), (vec![0], vec![0]));
    }

    #[test]
    fn what_it_starts_from_takes_part() {
        let init = [&array(&[], &[4i8]), &array(&[], &[77u8])];
        let [value, index] =
            extreme(0, true, &array(&[2, 2], &[1i8, 2, 3, 9]), &array(&[2, 2], &[0u8, 0, 1, 1]), init).unwrap();
        assert_eq!((value.elements::<i8>(), index.elements::<u8>()), (&[4i8, 9][..], &[77u8, 1][..]));
        let [value, _] = extreme(0, true, &row::<i8>(&[]), &row::<u8>(&[]), init).unwrap();
        assert_eq!(value.elements::<i8>(), [4]);
    }
}
