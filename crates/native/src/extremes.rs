//! Argmax and argmin.

use super::array::Array;
use super::convert::convert;
use super::element::unsupported;
use super::indexing::integers;
use super::offsets::elements_at;
use super::order::{Ordered, by_order};
use super::shape::concatenate;
use base::allocation::{filled, with_room};
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

/// Like [`extreme`] of indices that count along the axis, which need no memory. `init` has the dtype of the indices.
pub fn extreme_place(axis: usize, largest: bool, x: &Array, init: [&Array; 2]) -> Result<[Array; 2]> {
    let dims = &x.ty().dims;
    let sizes = [count(&dims[..axis]), dims[axis] as usize, count(&dims[axis + 1..])];
    let [_, length, inner] = sizes;
    let (index_dtype, init_index) = (init[1].ty().dtype, integers(init[1])(0));
    let along = |place: usize| (place / inner % length) as i128;
    let places = by_order!(x.ty().dtype, T => {
        let (x, first) = (x.elements::<T>(), init[0].elements::<T>()[0]);
        if inner == 1 {
            best_of_rows(x, length, largest, first, init_index)
        } else {
            // Places of a column ascend.
            let is_better = |a: T, b: T, place: usize, place_b: Option<usize>| match preferred(a, b, largest) {
                Ordering::Equal => place_b.is_none() && along(place) < init_index,
                order => order == Ordering::Greater,
            };
            best(x, sizes, first, &is_better)
        }
    })?;
    let mut left: Dims = dims.clone();
    left.remove(axis);
    let index_ty = TensorType { dtype: index_dtype, dims: left.clone() };
    let index = |row: usize| places[row].map_or(init_index, along);
    let indices = if index_dtype == DType::U64 {
        Array::write::<u64>(&index_ty, |out| out.generate(places.len(), |row| index(row) as u64))?
    } else {
        let wide = TensorType { dtype: DType::S64, dims: left.clone() };
        convert(&Array::write::<i64>(&wide, |out| out.generate(places.len(), |row| index(row) as i64))?, index_dtype)?
    };
    Ok([picked(x, init[0], &places)?.into_shape(&left), indices])
}

/// Number of elements that are compared with the best one so far before their places matter.
const BLOCK: usize = 1024;

/// Positions of the best elements of rows of some length; None where `init`, which has an index, is better.
fn best_of_rows<T: Ordered>(
    x: &[T],
    length: usize,
    largest: bool,
    init: T,
    init_index: i128,
) -> Result<Vec<Option<usize>>> {
    let mut places = with_room(x.len() / length.max(1), "the places of extremes")?;
    for (number, row) in x.chunks_exact(length.max(1)).enumerate() {
        let (mut value, mut place) = (init, None);
        for (start, block) in (0..).step_by(BLOCK).zip(row.chunks(BLOCK)) {
            // Without a branch for each element.
            let is_any_better = block.iter().fold(false, |any, &x| any | is_preferred(x, value, largest));
            let has_tie = place.is_none() && block.iter().any(|&x| preferred(x, value, largest) == Ordering::Equal);
            if !is_any_better && !has_tie {
                continue;
            }
            for (i, &x) in (start..).zip(block) {
                let is_first = place.is_none() && (i as i128) < init_index;
                if is_preferred(x, value, largest) || is_first && preferred(x, value, largest) == Ordering::Equal {
                    (value, place) = (x, Some(i));
                }
            }
        }
        places.push(place.map(|place: usize| number * length + place));
    }
    Ok(places)
}

/// Whether an element is preferred to another one.
fn is_preferred<T: Ordered>(a: T, b: T, largest: bool) -> bool {
    preferred(a, b, largest) == Ordering::Greater
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
    fn places_are_those_of_indices_that_count_along_the_axis() {
        let check = |x: &Array, axis: usize, init: [&Array; 2]| {
            let dims = &x.ty().dims;
            let step: i64 = dims[axis + 1..].iter().product();
            let places: Vec<u8> = (0..x.ty().elements() as i64).map(|i| (i / step % dims[axis]) as u8).collect();
            for largest in [true, false] {
                let [value, index] = extreme(axis, largest, x, &array(dims, &places), init).unwrap();
                let [of_place, place] = extreme_place(axis, largest, x, init).unwrap();
                assert_eq!(
                    (value.bytes(), index.bytes()),
                    (of_place.bytes(), place.bytes()),
                    "{dims:?} {axis} {largest}"
                );
            }
        };
        let mut state = 1_u64;
        let mut number = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 40
        };
        for dims in [[1, 256, 1], [3, 200, 1], [2, 5, 4], [1, 1, 7], [4, 17, 2]] {
            let count = dims.iter().product::<i64>() as usize;
            for most in [1, 2, 5, 1000] {
                let floats: Vec<f32> = (0..count)
                    .map(|_| match number() % most {
                        3 => f32::NAN,
                        1 => -0.0,
                        n => n as f32 - 1.0,
                    })
                    .collect();
                let bytes: Vec<u8> = floats.iter().map(|&x| x as u8).collect();
                for axis in 0..3 {
                    for index in [0_u8, 1, 255] {
                        let index = array(&[], &[index]);
                        for init in [f32::NEG_INFINITY, f32::INFINITY, 0.0, f32::NAN] {
                            check(&array(&dims, &floats), axis, [&array(&[], &[init]), &index]);
                        }
                        for init in [0_u8, 255] {
                            check(&array(&dims, &bytes), axis, [&array(&[], &[init]), &index]);
                        }
                    }
                }
            }
        }
        // In a later block than the first one.
        let mut long = vec![7_i16; 5000];
        long[4321] = 9;
        let init = [&array(&[], &[i16::MIN]), &array(&[], &[u64::MAX])];
        let [value, place] = extreme_place(0, true, &array(&[5000], &long), init).unwrap();
        assert_eq!((value.elements::<i16>(), place.elements::<u64>()), (&[9][..], &[4321][..]));
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
