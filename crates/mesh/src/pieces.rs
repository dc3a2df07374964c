//! Copies between a whole row-major array and one of its pieces.

/// Copies the piece that starts at `offsets` from the whole array. `element` is the size of an element in bytes.
/// `whole` and `piece` have exactly the sizes of their shapes, and the piece lies within the whole array.
pub fn take_piece(whole: &[u8], dims: &[i64], element: usize, offsets: &[i64], piece_dims: &[i64], piece: &mut [u8]) {
    each_run(dims, element, offsets, piece_dims, |in_whole, in_piece, bytes| {
        piece[in_piece..][..bytes].copy_from_slice(&whole[in_whole..][..bytes]);
    });
}

/// Copies a piece into the whole array at `offsets`; the reverse of [`take_piece`].
pub fn put_piece(piece: &[u8], piece_dims: &[i64], element: usize, offsets: &[i64], whole: &mut [u8], dims: &[i64]) {
    each_run(dims, element, offsets, piece_dims, |in_whole, in_piece, bytes| {
        whole[in_whole..][..bytes].copy_from_slice(&piece[in_piece..][..bytes]);
    });
}

/// Calls `copy` for each longest run of bytes that is contiguous in both the whole array and the piece, with its offset
/// in the whole array, its offset in the piece, and its length.
fn each_run(
    dims: &[i64],
    element: usize,
    offsets: &[i64],
    piece_dims: &[i64],
    mut copy: impl FnMut(usize, usize, usize),
) {
    if piece_dims.contains(&0) {
        return;
    }
    // A run covers the last axis that is split, and all axes after it.
    let cut = (0..dims.len()).rev().find(|&axis| piece_dims[axis] != dims[axis]).unwrap_or(0);
    let run = element * product(&piece_dims[cut..]);
    let strides = strides(dims, element);
    let mut at: usize = offsets.iter().zip(&strides).map(|(&offset, stride)| offset as usize * stride).sum();
    let mut index = vec![0; cut];
    for start in (0..product(&piece_dims[..cut])).map(|i| i * run) {
        copy(at, start, run);
        for axis in (0..cut).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < piece_dims[axis] {
                break;
            }
            at -= strides[axis] * piece_dims[axis] as usize;
            index[axis] = 0;
        }
    }
}

/// Row-major strides in bytes.
fn strides(dims: &[i64], element: usize) -> Vec<usize> {
    let mut strides = vec![element; dims.len()];
    for axis in (1..dims.len()).rev() {
        strides[axis - 1] = strides[axis] * dims[axis] as usize;
    }
    strides
}

fn product(dims: &[i64]) -> usize {
    dims.iter().map(|&dim| dim as usize).product()
}

#[cfg(test)]
mod tests {
    use super::super::axes::MeshAxes;
    use super::super::testing::Random;
    use super::*;

    /// Pairs of an element's index in the whole array and its index in the piece.
    fn naive(dims: &[i64], offsets: &[i64], piece_dims: &[i64]) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for own in 0..product(piece_dims) {
            let (mut rest, mut at, mut stride) = (own, 0, 1);
            for axis in (0..dims.len()).rev() {
                let size = piece_dims[axis] as usize;
                at += (rest % size + offsets[axis] as usize) * stride;
                rest /= size;
                stride *= dims[axis] as usize;
            }
            pairs.push((at, own));
        }
        pairs
    }

    #[test]
    fn random_pieces_are_copied_as_the_definition_says() {
        let mut random = Random(3);
        for round in 0..3000 {
            let rank = random.below(6);
            let element = [1, 2, 4, 8, 16, 3][random.below(6)];
            let dims: Vec<i64> = (0..rank).map(|_| random.below(5) as i64).collect();
            let piece_dims: Vec<i64> = dims.iter().map(|&dim| random.below(dim as usize + 1) as i64).collect();
            // Half of the time, most axes are whole.
            let piece_dims: Vec<i64> = piece_dims
                .iter()
                .zip(&dims)
                .map(|(&piece, &dim)| if round % 2 == 0 && random.below(4) > 0 { dim } else { piece })
                .collect();
            let offsets: Vec<i64> = dims
                .iter()
                .zip(&piece_dims)
                .map(|(dim, piece)| random.below((dim - piece) as usize + 1) as i64)
                .collect();
            let whole: Vec<u8> = (0..product(&dims) * element).map(|_| random.below(256) as u8).collect();
            let pairs = naive(&dims, &offsets, &piece_dims);

            let mut piece = vec![0; product(&piece_dims) * element];
            take_piece(&whole, &dims, element, &offsets, &piece_dims, &mut piece);
            let mut filled = vec![7; whole.len()];
            let mut wanted = filled.clone();
            put_piece(&piece, &piece_dims, element, &offsets, &mut filled, &dims);
            for (at, own) in pairs {
                let bytes = &whole[at * element..][..element];
                assert_eq!(&piece[own * element..][..element], bytes, "{dims:?} {offsets:?} {piece_dims:?}");
                wanted[at * element..][..element].copy_from_slice(bytes);
            }
            assert_eq!(filled, wanted, "{dims:?} {offsets:?} {piece_dims:?}");
        }
    }

    #[test]
    fn runs_are_as_long_as_possible() {
        let runs = |dims: &[i64], offsets: &[i64], piece_dims: &[i64]| {
            let mut runs = Vec::new();
            each_run(dims, 2, offsets, piece_dims, |whole, piece, bytes| runs.push((whole, piece, bytes)));
            runs
        };
        assert_eq!(runs(&[4, 3, 5], &[2, 0, 0], &[2, 3, 5]), [(60, 0, 60)]);
        assert_eq!(runs(&[2, 4, 3], &[0, 2, 0], &[2, 2, 3]), [(12, 0, 12), (36, 12, 12)]);
        assert_eq!(runs(&[2, 2, 4], &[0, 1, 2], &[2, 1, 2]), [(12, 0, 4), (28, 4, 4)]);
        assert_eq!(runs(&[2, 3], &[0, 0], &[2, 3]), [(0, 0, 12)]);
        assert_eq!(runs(&[], &[], &[]), [(0, 0, 2)]);
        assert!(runs(&[3, 0], &[0, 0], &[3, 0]).is_empty());
        assert!(runs(&[3, 2], &[1, 1], &[0, 1]).is_empty());
    }

    #[test]
    fn pieces_of_all_holders_make_the_whole() {
        let axes: MeshAxes = "a=2,b=3,c=2".parse().unwrap();
        let mut random = Random(4);
        for _ in 0..200 {
            let rank = random.below(4);
            let sharding = random.sharding(&[0, 1, 2], rank);
            let pieces = sharding.pieces(&axes);
            let dims: Vec<i64> = pieces.iter().map(|&pieces| (pieces * random.below(3)) as i64).collect();
            let piece_dims = sharding.piece_dims("sharding", &axes, &dims).unwrap();
            let whole: Vec<u8> = (0..4 * product(&dims)).map(|_| 1 + random.below(255) as u8).collect();
            let mut gathered = vec![0; whole.len()];
            let mut bytes = 0;
            for position in sharding.holders(&axes) {
                let offsets = sharding.offsets(&axes, position, &piece_dims);
                let mut piece = vec![0; 4 * product(&piece_dims)];
                take_piece(&whole, &dims, 4, &offsets, &piece_dims, &mut piece);
                put_piece(&piece, &piece_dims, 4, &offsets, &mut gathered, &dims);
                bytes += piece.len();
            }
            assert_eq!((gathered == whole, bytes), (true, whole.len()), "{} {dims:?}", sharding.text(&axes));
        }
    }
}
