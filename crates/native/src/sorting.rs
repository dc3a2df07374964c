//! Sorting by the order of a dtype.

use super::array::Array;
use super::convert::convert;
use super::element::{Element, by_width, unsupported};
use super::order::{MOST_SHORT, Ordered, Pair, by_order};
use super::parallel::each_piece;
use base::allocation::with_room;
use base::error::Result;
use base::types::{DType, TensorType};
use half::{bf16, f16};
use std::cmp::Ordering;

/// Number of elements that one thread sorts at a time, rounded down to whole rows (but at least one row).
const PARALLEL: usize = 1 << 14;

/// Sorts arrays of one shape together along an axis, by the elements of `arrays[key]`. The sort is stable. One array is
/// sorted in a copy; several take 8 bytes for each of their elements, or 12 if the keys have 8 bytes.
pub fn sort_by_key(arrays: &[Array], axis: usize, key: usize, descending: bool) -> Result<Vec<Array>> {
    let rows = Rows::of(&arrays[0].ty().dims, axis);
    by_order!(arrays[key].ty().dtype, T => match arrays {
        [x] => Ok(vec![sorted_values::<T>(x, &rows, descending)?]),
        _ if rows.length <= MOST_SHORT => {
            sort_pairs::<T, <T as Ordered>::Pair>(arrays, &rows, &arrays[key], descending)
        }
        _ => sort_pairs::<T, (u64, usize)>(arrays, &rows, &arrays[key], descending),
    })
}

/// The rows of an array along an axis. Element `i` of row `r` is `stride * i` behind the start of the row.
struct Rows {
    length: usize,
    stride: usize,
    elements: usize,
}

impl Rows {
    fn of(dims: &[i64], axis: usize) -> Rows {
        let count = |dims: &[i64]| dims.iter().map(|&dim| dim as usize).product();
        // The other axes of an array without elements may be of any length.
        let is_empty = dims.contains(&0);
        let stride = if is_empty { 0 } else { count(&dims[axis + 1..]) };
        Rows { length: dims[axis] as usize, stride, elements: if is_empty { 0 } else { count(dims) } }
    }

    /// Offset of the first element of a row.
    fn start(&self, row: usize) -> usize {
        row / self.stride * self.stride * self.length + row % self.stride
    }

    /// Number of elements that one thread sorts at a time: whole rows.
    fn piece(&self) -> usize {
        (PARALLEL / self.length.max(1)).max(1) * self.length.max(1)
    }

    /// Writes an array of these rows. `of` returns the element at an index of a row, given the row's number, the offset
    /// at which the row starts, and the index. Rows beside each other are written together, in the order of the
    /// offsets.
    fn write<E: Element>(&self, ty: &TensorType, of: impl Fn(usize, usize, usize) -> E) -> Result<Array> {
        let (length, stride) = (self.length, self.stride);
        Array::write::<E>(ty, |out| {
            if stride == 1 {
                for row in 0..self.elements / length {
                    out.generate(length, |index| of(row, row * length, index));
                }
                return;
            }
            let outer = if self.elements == 0 { 0 } else { self.elements / length / stride };
            for (block, index) in (0..outer).flat_map(|block| (0..length).map(move |index| (block, index))) {
                let (row, start) = (block * stride, block * stride * length);
                out.generate(stride, |inner| of(row + inner, start + inner, index));
            }
        })
    }
}

/// Sorts the rows of an array by its elements.
fn sorted_values<T: Ordered>(x: &Array, rows: &Rows, descending: bool) -> Result<Array> {
    let (keys, length) = (x.elements::<T>(), rows.length);
    let mut values: Vec<T> = with_room(rows.elements, "the values of a sort")?;
    for row in 0..rows.elements / length.max(1) {
        let start = rows.start(row);
        values.extend((0..length).map(|index| keys[start + index * rows.stride]));
    }
    each_piece(&mut values, rows.piece(), &|first, values| {
        for (number, row) in values.chunks_mut(length).enumerate() {
            sort_by_keys(row);
            if descending {
                row.reverse();
            }
            if T::HAS_TIES {
                let start = rows.start(first / length + number);
                let source = (0..length).map(|index| keys[start + index * rows.stride]);
                restore_ties(row, source.clone().filter(|x| !x.is_nan() && *x == T::zeroed()), T::zeroed());
                if let Some(nan) = row.iter().copied().find(|x| x.is_nan()) {
                    restore_ties(row, source.filter(|x| x.is_nan()), nan);
                }
            }
        }
    });
    if rows.stride == 1 {
        return Array::write::<T>(x.ty(), |out| out.copy(&values));
    }
    rows.write(x.ty(), |row, _, index| values[row * length + index])
}

/// Sorts elements in ascending order, but for equal ones, see [`Ordered::key`].
fn sort_by_keys<T: Ordered>(row: &mut [T]) {
    row.iter_mut().for_each(|x| *x = bytemuck::cast(x.key()));
    let keys: &mut [T::Key] = bytemuck::cast_slice_mut(row);
    keys.sort_unstable();
    keys.iter_mut().for_each(|key| *key = bytemuck::cast(T::of_key(*key)));
}

/// Replaces the elements of a sorted row that are equal in order to `like` by these, which are the same in another
/// order.
fn restore_ties<T: Ordered>(row: &mut [T], elements: impl Iterator<Item = T>, like: T) {
    let Some(start) = row.iter().position(|x| x.order(like) == Ordering::Equal) else { return };
    row[start..].iter_mut().zip(elements).for_each(|(place, element)| *place = element);
}

/// Sorts the rows of several arrays by the elements of `key`.
fn sort_pairs<T: Ordered, P: Pair>(arrays: &[Array], rows: &Rows, key: &Array, descending: bool) -> Result<Vec<Array>> {
    let (keys, length) = (key.elements::<T>(), rows.length);
    let mut pairs: Vec<P> = with_room(rows.elements, "the order of a sort")?;
    for row in 0..rows.elements / length.max(1) {
        let start = rows.start(row);
        let pair = |index: usize| P::new(keys[start + index * rows.stride].rank(), descending, index);
        pairs.extend((0..length).map(pair));
    }
    each_piece(&mut pairs, rows.piece(), &|_, pairs| {
        pairs.chunks_mut(length).for_each(|row| row.sort_unstable());
    });
    let reordered = |x: &Array| {
        by_width!(x.ty().dtype, E => {
            let elements = x.elements::<E>();
            let from = |row: usize, index: usize| pairs[row * length + index].index() * rows.stride;
            rows.write(x.ty(), |row, start, index| elements[start + from(row, index)])
        })
    };
    arrays.iter().map(reordered).collect()
}

/// Indices of the `k` largest (or smallest) elements along the last axis, the largest (smallest) first; among equal
/// elements the smaller index comes first. NaN is greater than every number.
pub fn top_k(ty: &TensorType, x: &Array, k: usize, largest: bool) -> Result<Array> {
    let length = *x.ty().dims.last().expect("at least one axis") as usize;
    let places = by_order!(x.ty().dtype, T => {
        let rows = x.elements::<T>().chunks_exact(length.max(1));
        let mut places: Vec<i64> = with_room(ty.elements(), "the places of top_k")?;
        for row in rows {
            if length <= MOST_SHORT {
                first_places::<T, <T as Ordered>::Pair>(row, k, largest, &mut places)?;
            } else {
                first_places::<T, (u64, usize)>(row, k, largest, &mut places)?;
            }
        }
        Ok(places)
    })?;
    let dims = &ty.dims;
    let places = Array::write::<i64>(&TensorType::new(DType::S64, dims), |out| out.copy(&places))?;
    convert(&places, ty.dtype)
}

/// Number of elements that are looked at before those that are not among the first k are dropped, at least.
const LEAST_CANDIDATES: usize = 1 << 12;

fn first_places<T: Ordered, P: Pair>(row: &[T], k: usize, largest: bool, places: &mut Vec<i64>) -> Result<()> {
    let Some(last) = k.checked_sub(1) else { return Ok(()) };
    // The first k of the elements so far, and a block of others that come before the last one of these.
    let room = k.saturating_add(k.max(LEAST_CANDIDATES)).min(row.len());
    let mut pairs: Vec<P> = with_room(room, "a row of top_k")?;
    let mut bound = None;
    for (index, x) in row.iter().enumerate() {
        let pair = P::new(x.rank(), largest, index);
        if bound.is_some_and(|bound| pair > bound) {
            continue;
        }
        if pairs.len() == room {
            bound = Some(*pairs.select_nth_unstable(last).1);
            pairs.truncate(k);
            if bound.is_some_and(|bound| pair > bound) {
                continue;
            }
        }
        pairs.push(pair);
    }
    if k < pairs.len() {
        pairs.select_nth_unstable(last);
        pairs.truncate(k);
    }
    pairs.sort_unstable();
    places.extend(pairs.into_iter().map(|pair| pair.index() as i64));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::super::sort_network::sort_with;
    use super::super::testing::{array, row};
    use super::*;
    use ir::CompareOp;

    fn less(x: &[Array]) -> Result<Vec<Array>> {
        let ty = TensorType { dtype: DType::Pred, dims: x[0].ty().dims.clone() };
        Ok(vec![compare(CompareOp::Lt, &ty, &x[0], &x[1])?])
    }

    /// Pseudorandom numbers below 31, with duplicates.
    fn numbers(count: i64) -> Vec<i32> {
        (0..count).map(|i| ((i * 7919 + 5) % 31) as i32).collect()
    }

    #[test]
    fn both_ways_are_stable_on_every_axis() {
        for (dims, axis) in
            [([3, 7], 1), ([7, 3], 0), ([1, 40], 1), ([16, 2], 0), ([0, 3], 1), ([3, 0], 1), ([5, 1], 1)]
        {
            let count = dims[0] * dims[1];
            let x = array(&dims, &numbers(count));
            let places = array(&dims, &(0..count as i32).collect::<Vec<i32>>());
            let keyed = sort_by_key(&[x.clone(), places.clone()], axis, 0, false).unwrap();
            let compared = sort_with(&[x.clone(), places], axis, &less).unwrap();
            let step = if axis == 1 { 1 } else { dims[1] as usize };
            for (a, b) in keyed.iter().zip(&compared) {
                assert_eq!(a.elements::<i32>(), b.elements::<i32>());
            }
            let (values, from) = (keyed[0].elements::<i32>(), keyed[1].elements::<i32>());
            for i in 0..values.len() {
                assert_eq!(values[i], x.elements::<i32>()[from[i] as usize]);
                let has_next = if axis == 1 { (i + 1) % dims[1] as usize != 0 } else { i + step < values.len() };
                assert!(!has_next || (values[i], from[i]) < (values[i + step], from[i + step]));
            }
        }
    }

    #[test]
    fn nan_is_largest_and_zeros_are_equal() {
        let x = row(&[0.0f64, f64::NAN, -0.0, f64::INFINITY, -1.0, -f64::NAN]);
        let places = row(&[0i32, 1, 2, 3, 4, 5]);
        let sorted = |descending| {
            sort_by_key(&[x.clone(), places.clone()], 0, 0, descending).unwrap()[1].elements::<i32>().to_vec()
        };
        assert_eq!(sorted(false), [4, 0, 2, 3, 1, 5]);
        assert_eq!(sorted(true), [1, 5, 3, 0, 2, 4]);
    }

    #[test]
    fn the_first_of_long_rows_are_those_of_a_sort() {
        let count = 3 * LEAST_CANDIDATES as i64 + 17;
        let ascending: Vec<i32> = (0..count as i32).collect();
        let scattered: Vec<i32> = (0..count).map(|i| ((i * 7919 + 5) % 10007) as i32).collect();
        for x in [ascending, scattered, numbers(count)] {
            let x = row(&x);
            for k in [0, 1, 5, LEAST_CANDIDATES as i64 + 1, count - 1, count] {
                for largest in [false, true] {
                    let places = row(&(0..count as i32).collect::<Vec<i32>>());
                    let sorted = sort_by_key(&[x.clone(), places], 0, 0, largest).unwrap();
                    let found = top_k(&TensorType::new(DType::S32, &[k]), &x, k as usize, largest).unwrap();
                    assert_eq!(found.elements::<i32>(), &sorted[1].elements::<i32>()[..k as usize]);
                }
            }
        }
    }

    #[test]
    fn elements_that_are_equal_in_order_keep_their_order() {
        let bits = |x: &Array| x.elements::<u32>().to_vec();
        let (nan, other) = (f32::NAN.to_bits(), f32::NAN.to_bits() | 1 << 31 | 5);
        let x = [0x8000_0000, other, 0, 1.0f32.to_bits(), nan, 0x8000_0000, (-1.0f32).to_bits(), other];
        let floats: Vec<f32> = x.iter().map(|&x| f32::from_bits(x)).collect();
        let places = row(&(0..8).collect::<Vec<i32>>());
        for descending in [false, true] {
            let alone = sort_by_key(&[row(&floats)], 0, 0, descending).unwrap();
            let pair = sort_by_key(&[row(&floats), places.clone()], 0, 0, descending).unwrap();
            assert_eq!(bits(&alone[0]), bits(&pair[0]));
            let want = if descending { [1, 4, 7, 3, 0, 2, 5, 6] } else { [6, 0, 2, 5, 3, 1, 4, 7] };
            assert_eq!(pair[1].elements::<i32>(), want);
        }
    }

    #[test]
    fn the_first_of_an_order_are_found() {
        let top = |x: &Array, dims: &[i64], k: usize, largest| {
            let ty = TensorType::new(DType::S32, dims);
            top_k(&ty, x, k, largest).unwrap().elements::<i32>().to_vec()
        };
        let x = array(&[2, 4], &[1.0f32, 3.0, 3.0, f32::NAN, -1.0, 0.0, -0.0, -2.0]);
        assert_eq!(top(&x, &[2, 3], 3, true), [3, 1, 2, 1, 2, 0]);
        assert_eq!(top(&x, &[2, 3], 3, false), [0, 1, 2, 3, 0, 1]);
        assert_eq!(top(&x, &[2, 4], 4, false), [0, 1, 2, 3, 3, 0, 1, 2]);
        assert!(top(&x, &[2, 0], 0, true).is_empty());
        assert_eq!(top(&row(&[7u8, 200, 200, 3]), &[2], 2, true), [1, 2]);
        assert!(top(&array::<i8>(&[0, 4], &[]), &[0, 2], 2, true).is_empty());
        for count in [1, 5, 100] {
            let x = row(&numbers(count));
            let all = top(&x, &[count], count as usize, true);
            assert_eq!(top(&x, &[count.min(3)], count.min(3) as usize, true), all[..count.min(3) as usize]);
        }
    }
}
