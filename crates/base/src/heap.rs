//! The library's allocator: the system's, but some large blocks that were freed are kept for the next ones of their
//! size. The system gives such blocks back to the kernel, and a new one then costs a page fault for every 4 KiB, which
//! takes longer than most kernels compute on them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;

/// Sizes of blocks that are kept, and the step to which they are rounded up.
const LEAST: usize = 1 << 18;
const MOST: usize = 12 << 20;
const STEP: usize = 1 << 16;

/// Largest number of kept blocks, and of their bytes.
const BLOCKS: usize = 16;
const BYTES: usize = 32 << 20;

/// The allocator. The crate `lazyxla` makes it the global one.
pub struct Heap;

/// A block that nothing uses, with the layout with which the system allocated it.
struct Block {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: nothing else has the address of the block.
unsafe impl Send for Block {}

/// Blocks in the order in which they were freed.
struct Kept {
    blocks: [Option<Block>; BLOCKS],
    bytes: usize,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { blocks: [const { None }; BLOCKS], bytes: 0 });

impl Kept {
    fn take(&mut self, layout: Layout) -> Option<*mut u8> {
        let found = self.blocks.iter().rposition(|block| block.as_ref().is_some_and(|block| block.layout == layout))?;
        self.remove(found).map(|block| block.start)
    }

    fn remove(&mut self, i: usize) -> Option<Block> {
        let block = self.blocks[i].take()?;
        self.bytes -= block.layout.size();
        self.blocks[i..].rotate_left(1);
        Some(block)
    }

    /// Keeps a block, and frees the oldest ones if there are too many.
    fn put(&mut self, block: Block) {
        while self.bytes + block.layout.size() > BYTES || self.blocks[BLOCKS - 1].is_some() {
            self.remove(0).into_iter().for_each(free);
        }
        self.bytes += block.layout.size();
        let place = self.blocks.iter().position(Option::is_none).expect("the last place is empty");
        self.blocks[place] = Some(block);
    }

    fn clear(&mut self) {
        self.bytes = 0;
        self.blocks.iter_mut().filter_map(Option::take).for_each(free);
    }
}

fn free(block: Block) {
    // SAFETY: the system allocated it with this layout, and nothing uses it.
    unsafe { System.dealloc(block.start, block.layout) };
}

/// Calls `work` with the kept blocks; None if another thread uses them, or did so when this process was forked.
fn with_kept<R>(work: impl FnOnce(&mut Kept) -> R) -> Option<R> {
    KEPT.try_lock().ok().map(|mut kept| work(&mut kept))
}

/// Whether blocks of a layout are kept.
#[inline]
fn is_kept(layout: Layout) -> bool {
    layout.size() >= LEAST && layout.size() <= MOST && layout.align() <= STEP
}

/// The layout with which the system allocates: of kept sizes, rounded up.
#[inline]
fn given(layout: Layout) -> Layout {
    if !is_kept(layout) {
        return layout;
    }
    Layout::from_size_align(layout.size().next_multiple_of(STEP), layout.align()).unwrap_or(layout)
}

/// Allocates by the system; if it has no memory, once more without kept blocks.
fn from_system(of_system: impl Fn() -> *mut u8) -> *mut u8 {
    let start = of_system();
    if !start.is_null() {
        return start;
    }
    with_kept(Kept::clear);
    of_system()
}

#[cold]
fn large(layout: Layout) -> *mut u8 {
    let kept = if is_kept(layout) { with_kept(|kept| kept.take(given(layout))).flatten() } else { None };
    // SAFETY: the size is not 0.
    kept.unwrap_or_else(|| from_system(|| unsafe { System.alloc(given(layout)) }))
}

#[cold]
fn large_zeroed(layout: Layout) -> *mut u8 {
    let kept = if is_kept(layout) { with_kept(|kept| kept.take(given(layout))).flatten() } else { None };
    let Some(start) = kept else {
        // SAFETY: the size is not 0.
        return from_system(|| unsafe { System.alloc_zeroed(given(layout)) });
    };
    // SAFETY: the block has at least that many bytes, and nothing else uses it.
    unsafe { start.write_bytes(0, layout.size()) };
    start
}

#[cold]
fn free_large(start: *mut u8, layout: Layout) {
    let mut block = Some(Block { start, layout: given(layout) });
    if is_kept(layout) {
        with_kept(|kept| block.take().into_iter().for_each(|block| kept.put(block)));
    }
    block.into_iter().for_each(free);
}

// SAFETY: every block is the system's, allocated with the layout `given` of the layout that is asked for: it has the
// alignment and at least the size, and is freed and resized with the same. A kept block is in one list only, from which
// it is taken under a lock; the system is not called for it meanwhile. Nothing here allocates from this allocator.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LEAST {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        large(layout)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LEAST {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        }
        large_zeroed(layout)
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if layout.size() < LEAST {
            // SAFETY: the caller's promise, and `given(layout)` is `layout`.
            return unsafe { System.dealloc(start, layout) };
        }
        free_large(start, layout);
    }

    #[inline]
    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size() < LEAST && size < LEAST {
            // SAFETY: the caller's promise, and `given(layout)` is `layout`.
            return unsafe { System.realloc(start, layout, size) };
        }
        // SAFETY: the caller promises that size and alignment are those of a layout.
        let wanted = given(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        // SAFETY: the block was allocated with `given(layout)`.
        from_system(|| unsafe { System.realloc(start, given(layout), wanted.size()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_blocks_are_used_again_and_are_few() {
        let layout = |size| given(Layout::from_size_align(size, 64).unwrap());
        // SAFETY: the sizes are not 0; `Kept` gets blocks of the system.
        let block = |size| Block { start: unsafe { System.alloc(layout(size)) }, layout: layout(size) };
        let mut kept = Kept { blocks: [const { None }; BLOCKS], bytes: 0 };
        let first = block(LEAST + 1);
        let start = first.start;
        kept.put(first);
        assert_eq!(kept.take(layout(LEAST)), None);
        assert_eq!(kept.take(layout(LEAST + STEP)), Some(start));
        assert_eq!((kept.bytes, kept.take(layout(LEAST + 1))), (0, None));
        free(Block { start, layout: layout(LEAST + 1) });
        for i in 0..3 * BLOCKS {
            kept.put(block(LEAST + i % 5 * STEP));
            assert!(kept.blocks.iter().flatten().count() == (i + 1).min(BLOCKS));
        }
        kept.put(block(MOST));
        kept.put(block(MOST));
        kept.put(block(MOST));
        let sizes = kept.blocks.iter().flatten().map(|block| block.layout.size());
        assert_eq!((sizes.sum::<usize>(), kept.bytes), (2 * MOST, 2 * MOST));
        kept.clear();
        assert!(kept.blocks.iter().all(Option::is_none) && kept.bytes == 0);
    }

    #[test]
    fn blocks_of_all_sizes_hold_what_is_written() {
        let work = |thread: u8| {
            for i in 0..200usize {
                let size = [1 << 10, LEAST - 1, LEAST, LEAST + 1, 1 << 20, MOST, MOST + 1][i % 7];
                let zeros = vec![0u8; size];
                assert!(zeros.iter().step_by(997).all(|&x| x == 0));
                let mut bytes = vec![thread; size];
                bytes.resize(size + (i % 3) * LEAST, thread + 1);
                assert!(bytes[..size].iter().step_by(997).all(|&x| x == thread));
                assert!(bytes[size..].iter().step_by(997).all(|&x| x == thread + 1));
                bytes.truncate(size / 2 + 1);
                bytes.shrink_to_fit();
                assert_eq!((bytes[0], bytes[size / 2]), (thread, thread));
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|thread| drop(scope.spawn(move || work(2 * thread)))));
    }

    #[test]
    fn without_memory_kept_blocks_are_freed() {
        // No other test allocates with this alignment. While another thread has the lock, nothing is kept or freed.
        let layout = given(Layout::from_size_align(LEAST, 1 << 14).unwrap());
        let is_kept = || loop {
            let found = |kept: &mut Kept| kept.blocks.iter().flatten().any(|block| block.layout == layout);
            if let Some(found) = with_kept(found) {
                return found;
            }
        };
        let mut freed = false;
        for _ in 0..10_000 {
            // SAFETY: the layout is not empty, and the block is freed once.
            unsafe { Heap.dealloc(Heap.alloc(layout), layout) };
            if !is_kept() {
                continue;
            }
            let calls = std::cell::Cell::new(0);
            let start = from_system(|| {
                calls.set(calls.get() + 1);
                if calls.get() == 1 { std::ptr::null_mut() } else { std::ptr::dangling_mut() }
            });
            assert!(calls.get() == 2 && !start.is_null());
            freed = !is_kept();
            if freed {
                break;
            }
        }
        assert!(freed);
    }
}
