//! Conversion between axis orders of buffers.

use base::types::TensorType;

/// Whether this minor-to-major order is row-major.
pub fn is_row_major(minor_to_major: &[i64]) -> bool {
    minor_to_major.iter().rev().copied().eq(0..minor_to_major.len() as i64)
}

/// Copies elements from `minor_to_major` order to row-major order. Both slices have exactly the type's size.
pub fn to_row_major(ty: &TensorType, minor_to_major: &[i64], source: &[u8], destination: &mut [u8]) {
    let size = ty.dtype.size_bytes();
    let mut strides = vec![0; ty.dims.len()];
    let mut stride = size;
    for &axis in minor_to_major {
        strides[axis as usize] = stride;
        stride *= ty.dims[axis as usize] as usize;
    }
    let mut index = vec![0; ty.dims.len()];
    for element in destination.chunks_exact_mut(size) {
        let offset: usize = index.iter().zip(&strides).map(|(i, s)| i * s).sum();
        element.copy_from_slice(&source[offset..offset + size]);
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < ty.dims[axis] as usize {
                break;
            }
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::types::DType;

    #[test]
    fn any_order_becomes_row_major() {
        let ty = TensorType::new(DType::U8, &[2, 3, 2]);
        let row_major: Vec<u8> = (0..12).collect();
        let mut out = vec![0; 12];
        to_row_major(&ty, &[2, 1, 0], &row_major, &mut out);
        assert_eq!(out, row_major);
        // Minor-to-major order 1, 0, 2: element (i, j, k) is at j + 3i + 6k.
        let mut source = vec![0; 12];
        for (i, j, k) in (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..2).map(move |k| (i, j, k)))) {
            source[j + 3 * i + 6 * k] = (6 * i + 2 * j + k) as u8;
        }
        to_row_major(&ty, &[1, 0, 2], &source, &mut out);
        assert_eq!(out, row_major);
        assert!(is_row_major(&[2, 1, 0]) && is_row_major(&[]) && !is_row_major(&[0, 1]));
    }
}
