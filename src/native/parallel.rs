//! Sharing work out to threads. Work is handed over behind a pointer, so that there is one loop for each element type and
//! not one for each operation.

use rayon::prelude::*;

/// Calls `work` with every piece of at most `size` elements, and the place where it starts.
pub fn each_piece<S: Send>(all: &mut [S], size: usize, work: &(dyn Fn(usize, &mut [S]) + Sync)) {
    all.par_chunks_mut(size).enumerate().for_each(|(i, piece)| work(i * size, piece));
}

/// What `work` gives for 0, 1, ...
pub fn collect<T: Send>(count: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    (0..count).into_par_iter().map(work).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_once_and_in_its_place() {
        for count in [0, 1, 7, 1000] {
            let mut all = vec![0; count];
            each_piece(&mut all, 7, &|start, piece| {
                piece.iter_mut().enumerate().for_each(|(i, x)| *x += start + i + 1);
            });
            assert_eq!(all, collect(count, &|i| i + 1));
        }
    }
}
