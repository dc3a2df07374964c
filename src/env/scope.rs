//! The environments that a thread has entered, by number, innermost last.

use crate::error;
use crate::error::Result;
use std::cell::RefCell;

thread_local! {
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Makes an environment the thread's current one, until the matching [`exit`].
pub fn enter(number: u64) {
    ENTERED.with_borrow_mut(|entered| entered.push(number));
}

/// Leaves the environment that was entered last; 0 means whichever that is.
pub fn exit(number: u64) -> Result<()> {
    ENTERED.with_borrow_mut(|entered| match entered.last() {
        Some(&last) if last == number || number == 0 => {
            entered.pop();
            Ok(())
        }
        Some(&last) => Err(error!(
            FailedPrecondition,
            "env: {number:#x} is not the environment that this thread entered last, which is {last:#x}; scopes must nest"
        )),
        None => Err(error!(FailedPrecondition, "env: this thread is in no environment's scope")),
    })
}

/// The thread's current environment.
pub fn current() -> Option<u64> {
    ENTERED.with_borrow(|entered| entered.last().copied())
}
