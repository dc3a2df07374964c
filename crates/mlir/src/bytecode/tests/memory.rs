//! Memory that a thread holds: the allocator of the unit tests counts it.

use base::heap::Heap;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    /// Bytes that the thread holds; negative if it freed those of another thread.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// The most bytes that it held since the start of a measurement.
    static MOST: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn count(change: isize) {
    // At the end of a thread there is nothing to count in.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + change);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: the library's allocator does all of it with the caller's arguments. Counting does not allocate: the counters
// are thread-local numbers without destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's contract is the same as that of the library's allocator.
        unsafe { Heap.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { Heap.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { Heap.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { Heap.dealloc(memory, layout) }
    }
}

/// Returns what a function returns, and the most bytes that it held on this thread at one time.
pub fn most_held<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    MOST.set(before);
    let made = run();
    (made, (MOST.get() - before) as usize)
}

#[test]
fn memory_is_counted() {
    let (made, bytes) = most_held(|| {
        let [first, second] = [5000, 3000].map(|size| vec![1_u8; size].len());
        first + second
    });
    assert_eq!((made, bytes), (8000, 5000));
    // A reservation counts, even if nothing is written to it.
    let (_, bytes) = most_held(|| Vec::<u64>::with_capacity(1 << 20));
    assert_eq!(bytes, 8 << 20);
}
