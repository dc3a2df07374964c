//! Work deferred until an ABI call has released all locks. Destroying a buffer runs foreign code: a plugin's, or the
//! deleter of memory imported from another library, which may call this library. Such values that are dropped under a
//! lock are queued here, and the guard of the call destroys them once no lock is held.

use std::cell::{Cell, RefCell};

/// A deferred function.
type Work = Box<dyn FnOnce()>;

thread_local! {
    /// Number of ABI calls in progress on this thread: a callback within a call may make another call.
    static CALLS: Cell<u32> = const { Cell::new(0) };
    /// Whether work is queued. Checked at the end of every call; a flag of its own, because the queue has a destructor,
    /// which makes its access slower.
    static IS_WAITING: Cell<bool> = const { Cell::new(false) };
    static WAITING: RefCell<Vec<Work>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work` when the calling thread's outermost ABI call ends; immediately if the thread is in no ABI call, and so
/// holds no lock of this library.
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
    // The thread is exiting, so no ABI call is in progress on it.
    if let Some(work) = work {
        work();
    }
}

/// Drops a value when the calling thread's outermost ABI call ends.
pub fn drop_later(garbage: impl Sized + 'static) {
    run_later(move || drop(garbage));
}

/// Guard of one ABI call, from start to end.
pub struct Scope(());

/// Marks the start of an ABI call on the calling thread; the call ends when the guard is dropped.
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

/// Runs queued work until none is left. Work that a deleter queues through ABI calls of its own joins the same queue,
/// so a chain of deleters needs no more stack than one.
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
