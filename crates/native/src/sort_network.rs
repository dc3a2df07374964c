//! Sorting by an arbitrary comparison (StableHLO sort).

use super::array::Array;
use super::offsets::{Each, elements_at};
use super::shape::transpose;
use base::allocation::{collected, with_room};
use base::error::Result;
use base::types::{Dims, TensorType};

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
    use super::super::testing::row;
    use super::*;
    use base::types::DType;
    use ir::CompareOp;

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
    fn what_is_no_order_gives_a_permutation() {
        let x = numbers(100);
        assert_eq!(sort_with(&[row(&x)], 0, &never).unwrap()[0].elements::<i32>(), x);
        let nan = row(&[2.0f32, f32::NAN, 1.0, f32::NAN, 0.5]);
        let mut made = sort_with(&[nan], 0, &less).unwrap()[0].elements::<f32>().to_vec();
        made.retain(|x| !x.is_nan());
        made.sort_by(f32::total_cmp);
        assert_eq!(made, [0.5, 1.0, 2.0]);
    }
}
