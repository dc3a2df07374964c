//! Distribution of work over threads. Work is passed as a trait object, so that the loops are compiled once per element
//! type and not once per operation.
//!
//! The calling thread takes part from the start: sleeping threads need 20 to 50 us to wake up, and much longer on a
//! busy machine. Work of less than a few hundred microseconds is better done by one thread; the callers decide.

use base::allocation::{collected, with_room};
use base::error::Result;
use base::threads;
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
    if threads::limit() == 1 {
        first();
        return second();
    }
    let share = threads::share(2);
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| threads::within(share, first));
        threads::within(share, second);
    });
}

/// Runs `work`, which takes pieces until none is left, on this thread and on at most one other thread per further
/// piece, within the limit of threads.
fn together(pieces: usize, work: &(dyn Fn() + Sync)) {
    let most = pieces.min(threads::limit());
    if most <= 1 {
        return work();
    }
    let helpers = (most - 1).min(rayon::current_num_threads() - 1);
    let share = threads::share(helpers + 1);
    rayon::in_place_scope(|scope| {
        (0..helpers).for_each(|_| scope.spawn(|_| threads::within(share, work)));
        threads::within(share, work);
    });
}

/// Number of threads of the pool that a product of matrices may take: the limit, or 0 for all.
pub fn of_product() -> usize {
    match threads::limit() {
        usize::MAX => 0,
        1 => 1,
        limit => limit.min(rayon::current_num_threads()),
    }
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
    fn work_stays_within_the_limit_of_threads() {
        let caller = std::thread::current().id();
        let alone = || std::thread::current().id() == caller && threads::limit() == 1;
        threads::within(1, || {
            assert!(collect(100, &|_| alone()).into_iter().all(|alone| alone));
            let mut first = false;
            both(|| first = alone(), || assert!(alone()));
            assert!(first);
            assert_eq!(of_product(), 1);
        });
        // Work within work has its part of the limit.
        let inner = |limit: usize| {
            let of = Mutex::new(Vec::new());
            let note = || of.lock().push(threads::limit());
            threads::within(limit, || both(|| both(note, note), || both(note, note)));
            of.into_inner()
        };
        assert_eq!((inner(2), inner(8)), (vec![1; 4], vec![2; 4]));
        assert_eq!((threads::limit(), of_product()), (usize::MAX, 0));
    }

    #[test]
    #[should_panic(expected = "piece 3")]
    fn a_panic_comes_back() {
        let _ = collect(8, &|i| assert_ne!(i, 3, "piece {i}"));
    }
}
