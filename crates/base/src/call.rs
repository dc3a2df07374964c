//! The ABI call that a thread is in: its name, and work deferred until it has released all locks. Destroying a buffer
//! runs foreign code: a plugin's, or the deleter of memory imported from another library, which may call this library.
//! Such values that are dropped under a lock are queued here, and the guard of the call destroys them once no lock is
//! held.

use std::cell::{Cell, RefCell};

/// A deferred function.
type Deferred = Box<dyn FnOnce()>;

/// The calls of one thread. All of it in one variable without a destructor, because every access to a variable of a
/// thread is a call in a shared library.
struct Calls {
    /// Name of the ABI function that the thread is in.
    name: Cell<Option<&'static str>>,
    /// Number of ABI calls in progress: a callback within a call may make another call.
    depth: Cell<u32>,
    /// Whether work is queued.
    is_waiting: Cell<bool>,
    /// Number of kernels of the caller in progress.
    kernels: Cell<u32>,
}

thread_local! {
    static CALLS: Calls =
        const { Calls { name: Cell::new(None), depth: Cell::new(0), is_waiting: Cell::new(false), kernels: Cell::new(0) } };
    static WAITING: RefCell<Vec<Deferred>> = const { RefCell::new(Vec::new()) };
    /// Ends the thread.
    static LAST: Cell<Option<Deferred>> = const { Cell::new(None) };
}

/// Runs `body`, which does not panic, as the ABI function with this name. When the outermost call ends, runs the work
/// that was deferred. None if the thread is in a kernel, which must not call the library.
#[inline]
pub fn within<R>(function: &'static str, body: impl FnOnce() -> R) -> Option<R> {
    CALLS.with(|calls| {
        if calls.kernels.get() > 0 {
            return None;
        }
        let outer = calls.name.replace(Some(function));
        calls.depth.set(calls.depth.get() + 1);
        let result = body();
        if calls.is_waiting.get() && calls.depth.get() == 1 {
            do_waiting();
        }
        calls.depth.set(calls.depth.get() - 1);
        calls.name.set(outer);
        Some(result)
    })
}

/// A kernel of the caller in progress, until it is dropped.
pub struct InKernel(());

/// Says that this thread enters a kernel of the caller.
pub fn enter_kernel() -> InKernel {
    CALLS.with(|calls| calls.kernels.set(calls.kernels.get() + 1));
    InKernel(())
}

impl Drop for InKernel {
    fn drop(&mut self) {
        CALLS.with(|calls| calls.kernels.set(calls.kernels.get() - 1));
    }
}

/// Name of the ABI function that this thread is in; None outside of ABI calls.
pub fn current() -> Option<&'static str> {
    CALLS.with(|calls| calls.name.get())
}

/// Sets the name of the ABI function for which this thread works; None if for none.
pub fn set_current(function: Option<&'static str>) {
    CALLS.with(|calls| calls.name.set(function));
}

/// Runs `work` when the calling thread's outermost ABI call ends; immediately if the thread is in no ABI call, and so
/// holds no lock of this library.
pub fn run_later(work: impl FnOnce() + 'static) {
    let is_inside = CALLS.with(|calls| calls.depth.get() > 0);
    if !is_inside {
        return work();
    }
    let mut work = Some(work);
    let _ = WAITING.try_with(|waiting| {
        if let Some(work) = work.take() {
            waiting.borrow_mut().push(Box::new(work));
            CALLS.with(|calls| calls.is_waiting.set(true));
        }
    });
    // The thread is exiting, and has destroyed its queue.
    if let Some(work) = work {
        work();
    }
}

/// Runs `end`, which ends the thread, after all that the calling thread's outermost ABI call does. Nothing if the thread
/// is in no ABI call.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub fn run_last(end: impl FnOnce() + 'static) {
    CALLS.with(|calls| {
        if calls.depth.get() > 0 && LAST.try_with(|last| last.set(Some(Box::new(end)))).is_ok() {
            calls.is_waiting.set(true);
        }
    });
}

/// Drops a value when the calling thread's outermost ABI call ends.
pub fn drop_later(garbage: impl Sized + 'static) {
    run_later(move || drop(garbage));
}

/// Runs queued work until none is left. Work that a deleter queues through ABI calls of its own joins the same queue,
/// so a chain of deleters needs no more stack than one.
#[cold]
fn do_waiting() {
    while let Some(work) = WAITING.with(|waiting| waiting.borrow_mut().pop()) {
        work();
    }
    CALLS.with(|calls| calls.is_waiting.set(false));
    if let Some(end) = LAST.take() {
        // The thread's destructors may call the library.
        CALLS.with(|calls| {
            calls.depth.set(0);
            calls.name.set(None);
        });
        end();
    }
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
        within("outer", || {
            let first = done.clone();
            run_later(move || {
                within("inner", || {
                    let second = first.clone();
                    run_later(move || second.set(second.get() + 10));
                });
                assert_eq!(first.get(), 1, "work deferred by deferred work runs after it");
            });
            within("another", || ());
            assert_eq!(done.get(), 1);
        });
        assert_eq!(done.get(), 11);
    }

    #[test]
    fn a_call_has_its_own_name() {
        assert_eq!(current(), None);
        within("outer", || {
            within("inner", || assert_eq!(current(), Some("inner")));
            assert_eq!(current(), Some("outer"));
        });
        assert_eq!(current(), None);
    }
}
