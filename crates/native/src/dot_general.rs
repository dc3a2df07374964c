//! Products over arbitrary axes (StableHLO dot_general), as matrix products.

use super::array::Array;
use super::matmul::matmul;
use super::shape::transpose;
use base::error::Result;
use base::types::{TensorType, count};

/// Contracts `a` and `b`. `batching` and `contracting` list the axes of the left and of the right operand. The result
/// has the batch axes, then the remaining axes of `a`, then those of `b`.
pub fn dot_general(
    ty: &TensorType,
    a: &Array,
    b: &Array,
    batching: [&[i64]; 2],
    contracting: [&[i64]; 2],
) -> Result<Array> {
    let [a_free, b_free] = [(a, 0), (b, 1)].map(|(x, side)| {
        let is_free = |axis: &i64| !batching[side].contains(axis) && !contracting[side].contains(axis);
        (0..x.ty().dims.len() as i64).filter(is_free).collect::<Vec<i64>>()
    });
    let left = three_axes(a, [batching[0], &a_free, contracting[0]])?;
    let right = three_axes(b, [batching[1], contracting[1], &b_free])?;
    let dims = [left.ty().dims[0], left.ty().dims[1], right.ty().dims[2]];
    Ok(matmul(&TensorType::new(ty.dtype, &dims), &left, &right)?.into_shape(&ty.dims))
}

/// Transposes and reshapes `x` to three axes, each of which combines the given axes of `x`.
fn three_axes(x: &Array, axes: [&[i64]; 3]) -> Result<Array> {
    let dims = &x.ty().dims;
    let order = axes.concat();
    let sizes = |axes: &[i64]| axes.iter().map(|&axis| dims[axis as usize]).collect::<Vec<i64>>();
    let shape = axes.map(|axes| count(&sizes(axes)) as i64);
    if order.is_sorted() {
        return Ok(x.reshape(&shape));
    }
    Ok(transpose(&TensorType::new(x.ty().dtype, &sizes(&order)), &order, x)?.into_shape(&shape))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{array, counted};
    use super::*;
    use base::types::DType;

    #[test]
    fn axes_anywhere() {
        // out[b, i, j] = sum over k, l of a[k, b, i, l] * c[j, l, k, b]
        let (a, c) = (counted(&[2, 3, 4, 5]), counted(&[6, 5, 2, 3]));
        let ty = TensorType::new(DType::S32, &[3, 4, 6]);
        let got = dot_general(&ty, &a, &c, [&[1], &[3]], [&[0, 3], &[2, 1]]).unwrap();
        let (a, c, got) = (a.elements::<i32>(), c.elements::<i32>(), got.elements::<i32>());
        for (place, &got) in got.iter().enumerate() {
            let (b, i, j) = (place / 24, place / 6 % 4, place % 6);
            let products = (0..10).map(|n| {
                let (k, l) = (n / 5, n % 5);
                a[((k * 3 + b) * 4 + i) * 5 + l] * c[((j * 5 + l) * 2 + k) * 3 + b]
            });
            assert_eq!(got, products.sum::<i32>());
        }
    }

    #[test]
    fn no_axes_and_wide_results() {
        let (a, b) = (array(&[2], &[100i8, -100]), array(&[2], &[100i8, 2]));
        let outer = dot_general(&TensorType::new(DType::S32, &[2, 2]), &a, &b, [&[]; 2], [&[]; 2]).unwrap();
        assert_eq!(outer.elements::<i32>(), [10_000, 200, -10_000, -200]);
        let inner = dot_general(&TensorType::new(DType::S8, &[]), &a, &b, [&[]; 2], [&[0]; 2]).unwrap();
        assert_eq!(inner.elements::<i8>(), [9800i32 as i8]);
        let none = array::<f32>(&[0, 2], &[]);
        let zeros = dot_general(&TensorType::new(DType::F32, &[2, 2]), &none, &none, [&[]; 2], [&[0]; 2]).unwrap();
        assert_eq!(zeros.elements::<f32>(), [0.0; 4]);
    }
}
