//! Stack of the environments that a thread has entered, by number.

use base::error;
use base::error::{Error, Result};
use std::cell::RefCell;

thread_local! {
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Makes an environment the thread's current one, until the matching [`exit`].
pub fn enter(number: u64) -> Result<()> {
    ENTERED.try_with(|entered| entered.borrow_mut().push(number)).map_err(|_| ending())
}

/// Leaves the environment that was entered last, which must be `number`. 0 accepts any.
pub fn exit(number: u64) -> Result<()> {
    let leave = |entered: &RefCell<Vec<u64>>| {
        let mut entered = entered.borrow_mut();
        match entered.last() {
            Some(&last) if last == number || number == 0 => {
                entered.pop();
                Ok(())
            }
            Some(&last) => Err(error!(
                FailedPrecondition,
                "env: {number:#x} is not the environment that this thread entered last, which is {last:#x}; scopes must nest"
            )),
            None => Err(error!(FailedPrecondition, "env: this thread is in no environment's scope")),
        }
    };
    ENTERED.try_with(leave).unwrap_or_else(|_| Err(ending()))
}

/// The thread's current environment.
pub fn current() -> Option<u64> {
    ENTERED.try_with(|entered| entered.borrow().last().copied()).ok().flatten()
}

fn ending() -> Error {
    error!(FailedPrecondition, "env: this thread is ending; its scopes are gone")
}
