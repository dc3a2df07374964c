//! Work that waits until a call of the ABI has let go of every lock. A buffer's end runs code of others: a plugin's, and the
//! deleter of memory that another library lent us, which may call this library. So what ends under a lock is put aside here,
//! and the guard of the call ends it, outside of all locks.

use std::cell::{Cell, RefCell};

/// What is to be done.
type Work = Box<dyn FnOnce()>;

thread_local! {
    /// How many calls of the ABI this thread is in: a callback within one may make another.
    static CALLS: Cell<u32> = const { Cell::new(0) };
    /// Whether there is work. Asked at the end of every call, so it is apart from the list, which has a destructor.
    static IS_WAITING: Cell<bool> = const { Cell::new(false) };
    static WAITING: RefCell<Vec<Work>> = const { RefCell::new(Vec::new()) };
}

/// Does this when the calling thread's outermost call of the ABI ends; at once if it is in none, and holds no lock of ours.
pub fn run_later(work: impl FnOnce() + 'static) {
    let is_inside = CALLS.try_with(|calls| calls.get() > 0).unwrap_or(false);
    if !is_inside {
        return work();
    }
    let mut work = Some(work);
    let _ = WAITING.try_with(|waiting| {
        if let Some(work) = work.take() {
            waiting.borrow_mut().push(Box::new(work));
            IS_WAITING.set(true);
        }
    });
    // The thread is ending, and so is out of every call.
    if let Some(work) = work {
        work();
    }
}

/// Drops this when the calling thread's outermost call of the ABI ends.
pub fn drop_later(garbage: impl Sized + 'static) {
    run_later(move || drop(garbage));
}

/// A call of the ABI, from its begin to its end.
pub struct Scope(());

/// Says that the calling thread enters a function of the ABI.
#[inline]
pub fn enter() -> Scope {
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
    Scope(())
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        let outermost = CALLS.try_with(|calls| calls.get() == 1).unwrap_or(false);
        if outermost && IS_WAITING.try_with(Cell::get).unwrap_or(false) {
            do_waiting();
        }
        let _ = CALLS.try_with(|calls| calls.set(calls.get() - 1));
    }
}

/// Until nothing is left: what a deleter lets go of, in calls of its own, comes to the same list. So a chain of deleters needs
/// no more stack than one.
#[cold]
fn do_waiting() {
    while let Some(work) = WAITING.with(|waiting| waiting.borrow_mut().pop()) {
        work();
    }
    IS_WAITING.set(false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn work_waits_for_the_outermost_call_and_is_not_nested() {
        let done = Rc::new(Cell::new(0));
        let count = |done: &Rc<Cell<i32>>| {
            let done = done.clone();
            move || done.set(done.get() + 1)
        };
        run_later(count(&done));
        assert_eq!(done.get(), 1);
        {
            let _outer = enter();
            let first = done.clone();
            run_later(move || {
                let inner = enter();
                let second = first.clone();
                run_later(move || second.set(second.get() + 10));
                drop(inner);
                assert_eq!(first.get(), 1, "what comes up meanwhile is done behind this");
            });
            drop(enter());
            assert_eq!(done.get(), 1);
        }
        assert_eq!(done.get(), 11);
    }
}
