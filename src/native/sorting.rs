//! Sorting by the order of a dtype, or by an arbitrary comparison (StableHLO sort).

use super::array::Array;
use super::convert::convert;
use super::element::{Element, unsupported};
use super::parallel::each_piece;
use super::places::{Each, elements_at};
use super::shape::transpose;
use crate::allocation::{collected, filled, with_room};
use crate::error::Result;
use crate::types::{DType, Dims, TensorType};
use half::{bf16, f16};
use std::cmp::Ordering;

/// Number of elements that one thread sorts at a time, rounded down to whole rows (but at least one row).
const PARALLEL: usize = 1 << 14;

/// An ordered element type: a real number or pred. NaN is greater than every number, and zeros of both signs are equal.
pub trait Ordered: Element {
    /// Compares two elements.
    fn order(self, other: Self) -> Ordering;

    /// Returns true if the element is NaN.
    fn is_nan(self) -> bool {
        false
    }
}

macro_rules! ordered_integers {
    ($($T:ty),*) => {$(
        impl Ordered for $T {
            fn order(self, other: $T) -> Ordering {
                self.cmp(&other)
            }
        }
    )*};
}

ordered_integers! { i8, i16, i32, i64, u8, u16, u32, u64 }

macro_rules! ordered_floats {
    ($($T:ty),*) => {$(
        impl Ordered for $T {
            fn order(self, other: $T) -> Ordering {
                self.partial_cmp(&other).unwrap_or_else(|| Ordered::is_nan(self).cmp(&Ordered::is_nan(other)))
            }

            fn is_nan(self) -> bool {
                <$T>::is_nan(self)
            }
        }
    )*};
}

ordered_floats! { f16, bf16, f32, f64 }

/// Evaluates an expression with `$T` defined as the type of a dtype whose elements are ordered.
macro_rules! by_order {
    ($dtype:expr, $T:ident => $body:expr) => {
        by_order!($dtype, $T => $body, Pred u8, S8 i8, S16 i16, S32 i32, S64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
                  F16 f16, BF16 bf16, F32 f32, F64 f64)
    };
    ($dtype:expr, $T:ident => $body:expr, $($member:ident $Type:ty),*) => {
        match $dtype {
            $(DType::$member => {
                type $T = $Type;
                $body
            })*
            dtype => Err(unsupported("an order", dtype)),
        }
    };
}
pub(super) use by_order;

/// Sorts arrays of one shape together along an axis, by the elements of `arrays[key]`. The sort is stable.
pub fn sort_by_key(arrays: &[Array], axis: usize, key: usize, descending: bool) -> Result<Vec<Array>> {
    let turned = turn_all(arrays, axis)?;
    let length = arrays[0].ty().dims[axis] as usize;
    let order = by_order!(arrays[key].ty().dtype, T => row_orders::<T>(turned[key].elements(), length, descending))?;
    reordered(arrays, axis, &turned, &order)
}

/// For each row of `keys`, the offsets of its elements in sorted order.
fn row_orders<T: Ordered>(keys: &[T], length: usize, descending: bool) -> Result<Vec<usize>> {
    let mut order = filled(0, keys.len(), "the order of a sort")?;
    let rows = (PARALLEL / length.max(1)).max(1) * length.max(1);
    each_piece(&mut order, rows, &|start, order| {
        for (number, row) in order.chunks_mut(length).enumerate() {
            let first = start + number * length;
            let mut pairs: Vec<(T, usize)> = (first..first + length).map(|i| (keys[i], i)).collect();
            if descending {
                pairs.sort_by(|a, b| b.0.order(a.0));
            } else {
                pairs.sort_by(|a, b| a.0.order(b.0));
            }
            row.iter_mut().zip(pairs).for_each(|(place, (_, from))| *place = from);
        }
    });
    Ok(order)
}

/// Sorts arrays of one shape together along an axis. `precedes` takes two elements of each array in turn, and returns
/// whether the first ones precede the second ones. The sort is stable. If `precedes` is not a strict weak order, the
/// result is an unspecified permutation.
///
/// Uses a sorting network: the compared positions do not depend on the elements, so that `precedes` is applied to many
/// pairs at once.
pub fn sort_with(arrays: &[Array], axis: usize, precedes: &Each) -> Result<Vec<Array>> {
    let turned = turn_all(arrays, axis)?;
    let (length, elements) = (arrays[0].ty().dims[axis] as usize, arrays[0].ty().elements());
    if elements == 0 {
        return Ok(arrays.to_vec());
    }
    let mut order: Vec<usize> = collected(0..elements, "the order of a sort")?;
    for stage in network(length) {
        let rows = (0..elements).step_by(length);
        let pairs: Vec<[usize; 2]> =
            rows.flat_map(|row| stage.iter().map(move |pair| pair.map(|place| row + place))).collect();
        if !pairs.is_empty() {
            exchange(&turned, &mut order, &pairs, precedes)?;
        }
    }
    reordered(arrays, axis, &turned, &order)
}

/// Batcher's odd-even merge sort: for each stage, the pairs of positions to compare, and to exchange if they are out of
/// order.
fn network(length: usize) -> impl Iterator<Item = Vec<[usize; 2]>> {
    let powers = |from: usize| std::iter::successors(Some(from), |power| power.checked_mul(2));
    let runs = powers(1).take_while(move |run| *run < length);
    let stages = runs.flat_map(|run| {
        std::iter::successors(Some(run), |gap| Some(gap / 2).filter(|gap| *gap > 0)).map(move |gap| (run, gap))
    });
    stages.map(move |(run, gap)| {
        let starts = (gap % run..length.saturating_sub(gap)).step_by(2 * gap);
        let places =
            starts.flat_map(|start| (start..(start + gap).min(length - gap)).map(move |place| [place, place + gap]));
        places.filter(|[a, b]| a / (2 * run) == b / (2 * run)).collect()
    })
}

/// Exchanges the pairs of positions whose elements are out of order.
fn exchange(arrays: &[Array], order: &mut [usize], pairs: &[[usize; 2]], precedes: &Each) -> Result<()> {
    let compared = |first: usize, second: usize| {
        let mut arguments = Vec::with_capacity(2 * arrays.len());
        for x in arrays {
            for side in [first, second] {
                arguments.push(elements_at(x, pairs.iter().map(|pair| order[pair[side]]))?);
            }
        }
        Ok(precedes(&arguments)?.remove(0))
    };
    let (is_right, is_wrong) = (compared(0, 1)?, compared(1, 0)?);
    for (&[a, b], (&is_right, &is_wrong)) in pairs.iter().zip(is_right.bytes().iter().zip(is_wrong.bytes())) {
        let is_equal = is_right == is_wrong;
        if if is_equal { order[b] < order[a] } else { is_wrong != 0 } {
            order.swap(a, b);
        }
    }
    Ok(())
}

/// Indices of the `k` greatest (or smallest) elements along the last axis, the greatest (smallest) first; among equal
/// elements the smaller index comes first. NaN is greater than every number.
pub fn top_k(ty: &TensorType, x: &Array, k: usize, greatest: bool) -> Result<Array> {
    let length = *x.ty().dims.last().expect("at least one axis") as usize;
    let places = by_order!(x.ty().dtype, T => {
        let rows = x.elements::<T>().chunks_exact(length.max(1));
        let mut places: Vec<i64> = with_room(ty.elements(), "the places of top_k")?;
        rows.for_each(|row| places.extend(first_places(row, k, greatest)));
        Ok(places)
    })?;
    let dims = &ty.dims;
    let places = Array::write::<i64>(&TensorType::new(DType::S64, dims), |out| out.copy(&places))?;
    convert(&places, ty.dtype)
}

fn first_places<T: Ordered>(row: &[T], k: usize, greatest: bool) -> impl Iterator<Item = i64> {
    let mut pairs: Vec<(T, i64)> = row.iter().copied().zip(0..).collect();
    let by_value = |a: T, b: T| if greatest { b.order(a) } else { a.order(b) };
    let order = |a: &(T, i64), b: &(T, i64)| by_value(a.0, b.0).then(a.1.cmp(&b.1));
    if 0 < k && k < pairs.len() {
        pairs.select_nth_unstable_by(k - 1, order);
    }
    pairs.truncate(k);
    pairs.sort_unstable_by(order);
    pairs.into_iter().map(|pair| pair.1)
}

/// Moves the axis behind all others.
fn turn_all(arrays: &[Array], axis: usize) -> Result<Vec<Array>> {
    let rank = arrays[0].ty().dims.len();
    let order: Vec<i64> = (0..rank).filter(|&a| a != axis).chain([axis]).map(|a| a as i64).collect();
    arrays.iter().map(|x| turned(x, &order)).collect()
}

fn turned(x: &Array, order: &[i64]) -> Result<Array> {
    let dims: Dims = order.iter().map(|&axis| x.ty().dims[axis as usize]).collect();
    transpose(&TensorType { dtype: x.ty().dtype, dims }, order, x)
}

/// Permutes the elements of arrays whose sorted axis is the last one, and moves that axis back to its position.
fn reordered(arrays: &[Array], axis: usize, turned_arrays: &[Array], order: &[usize]) -> Result<Vec<Array>> {
    let rank = arrays[0].ty().dims.len();
    let mut back: Vec<i64> = (0..rank as i64 - 1).collect();
    back.insert(axis, rank as i64 - 1);
    let of = |x: &Array| turned(&elements_at(x, order.iter().copied())?.into_shape(&x.ty().dims), &back);
    turned_arrays.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::super::testing::{array, row};
    use super::*;
    use crate::ir::CompareOp;

    fn less(x: &[Array]) -> Result<Vec<Array>> {
        let ty = TensorType { dtype: DType::Pred, dims: x[0].ty().dims.clone() };
        Ok(vec![compare(CompareOp::Lt, &ty, &x[0], &x[1])?])
    }

    fn never(x: &[Array]) -> Result<Vec<Array>> {
        let ty = TensorType { dtype: DType::Pred, dims: x[0].ty().dims.clone() };
        Array::from_bytes(&ty, &vec![0; ty.elements()]).map(|x| vec![x])
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
    fn what_is_no_order_gives_a_permutation() {
        let x = numbers(100);
        assert_eq!(sort_with(&[row(&x)], 0, &never).unwrap()[0].elements::<i32>(), x);
        let nan = row(&[2.0f32, f32::NAN, 1.0, f32::NAN, 0.5]);
        let mut made = sort_with(&[nan], 0, &less).unwrap()[0].elements::<f32>().to_vec();
        made.retain(|x| !x.is_nan());
        made.sort_by(f32::total_cmp);
        assert_eq!(made, [0.5, 1.0, 2.0]);
    }

    #[test]
    fn nan_is_greatest_and_zeros_are_equal() {
        let x = row(&[0.0f64, f64::NAN, -0.0, f64::INFINITY, -1.0, -f64::NAN]);
        let places = row(&[0i32, 1, 2, 3, 4, 5]);
        let sorted = |descending| {
            sort_by_key(&[x.clone(), places.clone()], 0, 0, descending).unwrap()[1].elements::<i32>().to_vec()
        };
        assert_eq!(sorted(false), [4, 0, 2, 3, 1, 5]);
        assert_eq!(sorted(true), [1, 5, 3, 0, 2, 4]);
    }

    #[test]
    fn the_first_of_an_order_are_found() {
        let top = |x: &Array, dims: &[i64], k: usize, greatest| {
            let ty = TensorType::new(DType::S32, dims);
            top_k(&ty, x, k, greatest).unwrap().elements::<i32>().to_vec()
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
