//! Sorting by the order of a dtype, or by an arbitrary comparison (StableHLO sort).

use super::array::Array;
use super::convert::convert;
use super::element::{Element, by_width, unsupported};
use super::parallel::each_piece;
use super::places::{Each, elements_at};
use super::shape::transpose;
use crate::allocation::{collected, with_room};
use crate::error::Result;
use crate::types::{DType, Dims, TensorType};
use half::{bf16, f16};
use std::cmp::Ordering;

/// Number of elements that one thread sorts at a time, rounded down to whole rows (but at least one row).
const PARALLEL: usize = 1 << 14;

/// An ordered element type: a real number or pred. NaN is greater than every number, and zeros of both signs are equal.
pub trait Ordered: Element {
    /// Rank and index of an element, see [`Pair`].
    type Pair: Pair;

    /// Whether elements that differ may be equal in order: zeros, and NaN.
    const HAS_TIES: bool;

    /// An integer with the order of the element among those of its type. It is below 2^32 if the pair is an u64.
    fn rank(self) -> u64;

    /// Compares two elements.
    fn order(self, other: Self) -> Ordering;

    /// Returns true if the element is NaN.
    fn is_nan(self) -> bool {
        false
    }
}

macro_rules! ordered_integers {
    ($($T:ty: $Pair:ty),*) => {$(
        impl Ordered for $T {
            type Pair = $Pair;
            const HAS_TIES: bool = false;

            fn rank(self) -> u64 {
                // Moves the least number of the type to 0.
                (i128::from(self) - i128::from(<$T>::MIN)) as u64
            }

            fn order(self, other: $T) -> Ordering {
                self.cmp(&other)
            }
        }
    )*};
}

ordered_integers! { i8: u64, i16: u64, i32: u64, i64: Wide, u8: u64, u16: u64, u32: u64, u64: Wide }

macro_rules! ordered_floats {
    ($($T:ty: $Pair:ty, $rank:ident, $Number:ty;)*) => {$(
        impl Ordered for $T {
            type Pair = $Pair;
            const HAS_TIES: bool = true;

            fn rank(self) -> u64 {
                $rank(<$Number>::from(self))
            }

            fn order(self, other: $T) -> Ordering {
                self.partial_cmp(&other).unwrap_or_else(|| Ordered::is_nan(self).cmp(&Ordered::is_nan(other)))
            }

            fn is_nan(self) -> bool {
                <$T>::is_nan(self)
            }
        }
    )*};
}

ordered_floats! { f16: u64, rank_f32, f32; bf16: u64, rank_f32, f32; f32: u64, rank_f32, f32; f64: Wide, rank_f64, f64; }

fn rank_f32(x: f32) -> u64 {
    // The sum turns -0 into 0.
    let bits = (x + 0.0).to_bits();
    let negative = bits >> 31 == 1;
    u64::from(if x.is_nan() { u32::MAX } else { bits ^ if negative { u32::MAX } else { 1 << 31 } })
}

fn rank_f64(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    let negative = bits >> 63 == 1;
    if x.is_nan() { u64::MAX } else { bits ^ if negative { u64::MAX } else { 1 << 63 } }
}

/// Rank of an element and its index in its row, ordered by rank, then index. So an unstable sort, which needs no memory,
/// sorts them as a stable one.
pub trait Pair: Copy + Ord + Send + Sync {
    fn new(rank: u64, descending: bool, index: usize) -> Self;

    /// Index in the row.
    fn index(self) -> usize;
}

/// Of an element of at most 32 bits in a row of at most 2^32.
impl Pair for u64 {
    fn new(rank: u64, descending: bool, index: usize) -> u64 {
        let rank = if descending { u64::from(!(rank as u32)) } else { rank };
        rank << 32 | index as u64
    }

    fn index(self) -> usize {
        self as u32 as usize
    }
}

/// Of an element of 64 bits in a row of at most 2^32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wide {
    high: u32,
    low: u32,
    index: u32,
}

impl Pair for Wide {
    fn new(rank: u64, descending: bool, index: usize) -> Wide {
        let rank = if descending { !rank } else { rank };
        Wide { high: (rank >> 32) as u32, low: rank as u32, index: index as u32 }
    }

    fn index(self) -> usize {
        self.index as usize
    }
}

/// In a row of any length.
impl Pair for (u64, usize) {
    fn new(rank: u64, descending: bool, index: usize) -> (u64, usize) {
        (if descending { !rank } else { rank }, index)
    }

    fn index(self) -> usize {
        self.1
    }
}

/// The greatest length of a row in which an index has 32 bits.
const MOST_SHORT: usize = 1 << 32;

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

    /// Row and index in it of the element at each offset, in order.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let (length, stride) = (self.length, self.stride);
        let outer = if self.elements == 0 { 0 } else { self.elements / length / stride };
        (0..outer).flat_map(move |block| {
            (0..length).flat_map(move |index| (0..stride).map(move |inner| (block * stride + inner, index)))
        })
    }

    /// Number of elements that one thread sorts at a time: whole rows.
    fn piece(&self) -> usize {
        (PARALLEL / self.length.max(1)).max(1) * self.length.max(1)
    }

    /// Writes an array of these rows; `of` returns the element of a row at an index.
    fn write<E: Element>(&self, ty: &TensorType, of: impl Fn(usize, usize) -> E) -> Result<Array> {
        let mut places = self.places();
        Array::write::<E>(ty, |out| {
            out.generate(self.elements, |_| {
                let (row, index) = places.next().expect("as many places as elements");
                of(row, index)
            });
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
            if descending {
                row.sort_unstable_by(|a, b| b.order(*a));
            } else {
                row.sort_unstable_by(|a, b| a.order(*b));
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
    rows.write(x.ty(), |row, index| values[row * length + index])
}

/// Replaces the elements of a sorted row that are equal in order to `like` by these, which are the same in another order.
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
            let from = |row: usize, index: usize| rows.start(row) + pairs[row * length + index].index() * rows.stride;
            rows.write(x.ty(), |row, index| elements[from(row, index)])
        })
    };
    arrays.iter().map(reordered).collect()
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
        let mut pairs: Vec<[usize; 2]> = with_room(elements / 2, "the comparisons of a sort")?;
        pairs.extend(rows.flat_map(|row| stage.clone().map(move |pair| pair.map(|place| row + place))));
        if !pairs.is_empty() {
            exchange(&turned, &mut order, &pairs, precedes)?;
        }
    }
    reordered(arrays, axis, &turned, &order)
}

/// Batcher's odd-even merge sort: for each stage, the pairs of positions to compare, and to exchange if they are out of
/// order.
fn network(length: usize) -> impl Iterator<Item = impl Iterator<Item = [usize; 2]> + Clone> {
    let powers = |from: usize| std::iter::successors(Some(from), |power| power.checked_mul(2));
    let runs = powers(1).take_while(move |run| *run < length);
    let stages = runs.flat_map(|run| {
        std::iter::successors(Some(run), |gap| Some(gap / 2).filter(|gap| *gap > 0)).map(move |gap| (run, gap))
    });
    stages.map(move |(run, gap)| {
        let starts = (gap % run..length.saturating_sub(gap)).step_by(2 * gap);
        let places = starts
            .flat_map(move |start| (start..(start + gap).min(length - gap)).map(move |place| [place, place + gap]));
        places.filter(move |[a, b]| a / (2 * run) == b / (2 * run))
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
        for row in rows {
            if length <= MOST_SHORT {
                first_places::<T, <T as Ordered>::Pair>(row, k, greatest, &mut places)?;
            } else {
                first_places::<T, (u64, usize)>(row, k, greatest, &mut places)?;
            }
        }
        Ok(places)
    })?;
    let dims = &ty.dims;
    let places = Array::write::<i64>(&TensorType::new(DType::S64, dims), |out| out.copy(&places))?;
    convert(&places, ty.dtype)
}

fn first_places<T: Ordered, P: Pair>(row: &[T], k: usize, greatest: bool, places: &mut Vec<i64>) -> Result<()> {
    let pairs = row.iter().enumerate().map(|(index, x)| P::new(x.rank(), greatest, index));
    let mut pairs: Vec<P> = collected(pairs, "a row of top_k")?;
    if 0 < k && k < pairs.len() {
        pairs.select_nth_unstable(k - 1);
    }
    pairs.truncate(k);
    pairs.sort_unstable();
    places.extend(pairs.into_iter().map(|pair| pair.index() as i64));
    Ok(())
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
    fn ranks_have_the_order_of_elements() {
        fn check<T: Ordered>(ascending: &[T]) {
            for pair in ascending.windows(2) {
                assert_eq!(pair[0].rank().cmp(&pair[1].rank()), pair[0].order(pair[1]));
            }
        }
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i32::MIN, -1, 0, 1, i32::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[0u8, 1, u8::MAX]);
        check(&[0u64, 1, u64::MAX]);
        check(&[f32::NEG_INFINITY, f32::MIN, -1e-45, -0.0, 0.0, 1e-45, f32::MAX, f32::INFINITY, f32::NAN, -f32::NAN]);
        check(&[f64::NEG_INFINITY, -5e-324, -0.0, 0.0, 5e-324, f64::MAX, f64::INFINITY, -f64::NAN, f64::NAN]);
        check(&[bf16::NEG_INFINITY, bf16::NEG_ONE, bf16::NEG_ZERO, bf16::ZERO, bf16::ONE, bf16::NAN]);
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
