//! Distribution of work over threads. Work is passed as a trait object, so that the loops are compiled once per element
//! type and not once per operation.
//!
//! The calling thread takes part from the start: sleeping threads need 20 to 50 us to wake up, and much longer on a
//! busy machine. Work of less than a few hundred microseconds is better done by one thread; the callers decide.

use base::allocation::{collected, with_room};
use base::error::Result;
use parking_lot::Mutex;

/// Calls `work` with each piece of at most `size` elements and the offset at which it starts.
pub fn each_piece<S: Send>(all: &mut [S], size: usize, work: &(dyn Fn(usize, &mut [S]) + Sync)) {
    let count = all.len().div_ceil(size);
    let pieces = Mutex::new(all.chunks_mut(size).enumerate());
    let next = || pieces.lock().next();
    together(count, &|| {
        while let Some((i, piece)) = next() {
            work(i * size, piece);
        }
    });
}

/// Returns the results of `work` for `0..count`, in order.
pub fn collect<T: Send>(count: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let mut made: Vec<Option<T>> = (0..count).map(|_| None).collect();
    each_piece(&mut made, 1, &|i, place| place[0] = Some(work(i)));
    made.into_iter().map(|one| one.expect("every piece was worked on")).collect()
}

/// Like [`collect`] for work that can fail. Also returns an error if there is no memory for `count` results.
pub fn try_collect<T: Send>(count: usize, work: &(dyn Fn(usize) -> Result<T> + Sync)) -> Result<Vec<T>> {
    let mut made: Vec<Option<Result<T>>> = collected((0..count).map(|_| None), "the parts of an operation")?;
    each_piece(&mut made, 1, &|i, place| place[0] = Some(work(i)));
    let mut all = with_room(count, "the parts of an operation")?;
    for one in made {
        all.push(one.expect("every piece was worked on")?);
    }
    Ok(all)
}

/// Runs both functions, concurrently if a thread is free.
pub fn both(first: impl FnOnce() + Send, second: impl FnOnce()) {
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| first());
        second();
    });
}

/// Runs `work`, which takes pieces until none is left, on this thread and on at most one other thread per further
/// piece.
fn together(pieces: usize, work: &(dyn Fn() + Sync)) {
    let helpers = pieces.saturating_sub(1).min(rayon::current_num_threads() - 1);
    if helpers == 0 {
        return work();
    }
    rayon::in_place_scope(|scope| {
        (0..helpers).for_each(|_| scope.spawn(|_| work()));
        work();
    });
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
            assert_eq!(all, try_collect(count, &|i| Ok(i + 1)).unwrap());
        }
        let (mut a, mut b) = (1, 2);
        both(|| a += 10, || b += 20);
        assert_eq!((a, b), (11, 22));
    }

    #[test]
    fn work_may_be_shared_out_within_work() {
        let made = collect(5, &|i| collect(3, &|j| 10 * i + j));
        assert!((0..5).all(|i| made[i] == [10 * i, 10 * i + 1, 10 * i + 2]));
    }

    #[test]
    #[should_panic(expected = "piece 3")]
    fn a_panic_comes_back() {
        let _ = collect(8, &|i| assert_ne!(i, 3, "piece {i}"));
    }
}
