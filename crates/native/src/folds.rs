//! Joint reductions of several arrays by an arbitrary computation (StableHLO reduce with a body). Neighbours are
//! combined pairwise, all pairs at once, so that the computation is applied only a few times, to long rows.

use super::array::Array;
use super::offsets::Each;
use super::shape::{broadcast_to, slice, transpose};
use base::error::Result;
use base::types::{Dims, TensorType, count};

/// Reduces `axes`, which are ascending. `inits` has a scalar for each array.
pub fn reduce_with(axes: &[i64], arrays: &[Array], inits: &[Array], combine: &Each) -> Result<Vec<Array>> {
    let dims = &arrays[0].ty().dims;
    let kept: Vec<i64> = (0..dims.len() as i64).filter(|axis| !axes.contains(axis)).collect();
    let sizes = |axes: &[i64]| axes.iter().map(|&axis| dims[axis as usize]).collect::<Dims>();
    let (length, left) = (sizes(axes), sizes(&kept));
    let columns = count(&left) as i64;
    let starts: Vec<Array> =
        inits.iter().map(|init| broadcast_to(init, &row_of(init, columns))).collect::<Result<_>>()?;
    let total = if columns == 0 || count(&length) == 0 {
        starts
    } else {
        let order = [axes, &kept].concat();
        let turned = |x: &Array| {
            let dims: Vec<i64> = order.iter().map(|&axis| x.ty().dims[axis as usize]).collect();
            Ok(transpose(&TensorType::new(x.ty().dtype, &dims), &order, x)?.reshape(&[count(&length) as i64, columns]))
        };
        let total = folded(arrays.iter().map(turned).collect::<Result<_>>()?, combine)?;
        combine(&[starts, total].concat())?
    };
    Ok(total.into_iter().map(|x| x.reshape(&left)).collect())
}

/// Type of a vector of `length` elements with the dtype of `x`.
pub fn row_of(x: &Array, length: i64) -> TensorType {
    TensorType::new(x.ty().dtype, &[length])
}

/// Combines the rows of matrices (at least one row) pairwise, in order.
fn folded(mut arrays: Vec<Array>, combine: &Each) -> Result<Vec<Array>> {
    // Combination of the last rows: a row is split off the end wherever the number of rows is odd.
    let mut behind: Option<Vec<Array>> = None;
    loop {
        let [rows, columns] = [0, 1].map(|axis| arrays[0].ty().dims[axis]);
        if rows % 2 == 1 {
            let last =
                arrays.iter().map(|x| part(x, [rows - 1, 0], [rows, columns])).collect::<Result<Vec<Array>>>()?;
            behind = Some(match behind {
                None => last,
                Some(behind) => combine(&[last, behind].concat())?,
            });
        }
        let pairs = rows / 2;
        if pairs == 0 {
            return Ok(behind.expect("one row is an odd number of rows"));
        }
        let side = |x: &Array, start: i64| {
            let x = part(x, [0, 0], [2 * pairs, columns])?.reshape(&[pairs, 2 * columns]);
            part(&x, [0, start], [pairs, start + columns])
        };
        let starts = [0, columns];
        let sides = starts.iter().flat_map(|&start| arrays.iter().map(move |x| side(x, start)));
        let sides = sides.collect::<Result<Vec<Array>>>()?;
        arrays = combine(&sides)?.into_iter().map(|x| x.reshape(&[pairs, columns])).collect();
    }
}

/// Rows `top..bottom` and columns `left..right` of a matrix, flattened.
fn part(x: &Array, [top, left]: [i64; 2], [bottom, right]: [i64; 2]) -> Result<Array> {
    if [top, left] == [0, 0] && [bottom, right] == x.ty().dims[..] {
        return Ok(x.reshape(&[bottom * right]));
    }
    let ty = TensorType::new(x.ty().dtype, &[bottom - top, right - left]);
    Ok(slice(&ty, &[top, left], &[1, 1], x)?.reshape(&[(bottom - top) * (right - left)]))
}

#[cfg(test)]
mod tests {
    use super::super::elementwise::Source;
    use super::super::testing::{array, counted, row};
    use super::*;
    use ir::BinaryOp;

    /// Composes maps `x -> a x + b`: associative, but not commutative.
    fn composed(x: &[Array]) -> Result<Vec<Array>> {
        let apply = |op, a: &Array, b: &Array| super::super::binary(op, a.ty(), Source::Array(a), Source::Array(b));
        let product = apply(BinaryOp::Multiply, &x[0], &x[2])?;
        let moved = apply(BinaryOp::Multiply, &x[1], &x[2])?;
        Ok(vec![product, apply(BinaryOp::Add, &moved, &x[3])?])
    }

    #[test]
    fn elements_are_combined_in_order() {
        for length in 1..20i32 {
            let (a, b): (Vec<i32>, Vec<i32>) = (0..length).map(|i| (i % 3 - 1, i)).unzip();
            let want = a.iter().zip(&b).fold((1i32, 5i32), |(x, y), (a, b)| (x * a, y * a + b));
            let inits = [array(&[], &[1]), array(&[], &[5])];
            let made = reduce_with(&[0], &[row(&a), row(&b)], &inits, &composed).unwrap();
            assert_eq!((made[0].elements::<i32>(), made[1].elements::<i32>()), (&[want.0][..], &[want.1][..]));
        }
    }

    #[test]
    fn axes_go_and_the_others_stay() {
        let sum = |x: &[Array]| {
            let (a, b) = (Source::Array(&x[0]), Source::Array(&x[1]));
            Ok(vec![super::super::binary(BinaryOp::Add, x[0].ty(), a, b)?])
        };
        let over = |axes: &[i64], x: Array| {
            let made = reduce_with(axes, &[x], &[array(&[], &[100])], &sum).unwrap().remove(0);
            (made.ty().dims.to_vec(), made.elements::<i32>().to_vec())
        };
        assert_eq!(over(&[1], counted(&[2, 3])), (vec![2], vec![103, 112]));
        assert_eq!(over(&[0, 2], counted(&[2, 3, 2])), (vec![3], vec![114, 122, 130]));
        assert_eq!(over(&[0, 1], counted(&[2, 3])), (vec![], vec![115]));
        assert_eq!(over(&[0], counted(&[0, 2])), (vec![2], vec![100, 100]));
        assert_eq!(over(&[1], counted(&[0, 2])), (vec![0], vec![]));
    }
}
