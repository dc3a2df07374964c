//! Calls of foreign functions, out of which exceptions of C++ or another language may come: the callers' callbacks, and
//! the functions of plugins. Rust's own `catch_unwind` ends the process at a foreign exception, so that a function with
//! a personality of its own catches them on x86-64. On other processors, an exception that leaves a foreign function
//! ends the process.
//!
//! `pthread_exit` and `pthread_cancel` unwind the stack too. That must not pass frames of Rust with destructors, nor a
//! plugin, whose thread would be missing from then on. So it stops at the call, which fails. A thread of the caller
//! ends when its outermost call of the library does; other threads go on.

use base::log::{Level, log};
use std::fmt;

#[cfg(target_arch = "x86_64")]
mod caught;
#[cfg(target_arch = "x86_64")]
mod text;
#[cfg(target_arch = "x86_64")]
mod x86_64;

/// How a foreign function left, other than by its return.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thrown {
    /// By an exception with this text, which is freed.
    Exception(String),
    /// By the end of its thread.
    EndOfThread,
}

impl fmt::Display for Thrown {
    /// Writes the rest of a sentence that begins with the function.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Thrown::Exception(text) => write!(f, "threw an exception: {text}"),
            Thrown::EndOfThread => f.write_str("ended its thread (pthread_exit or pthread_cancel)"),
        }
    }
}

/// Calls a foreign function, of type `extern "C-unwind"`, and catches what it throws. `call` only calls it: nothing of
/// Rust is unwound, since neither the arguments nor the result have destructors.
pub fn catching<R: Copy>(call: impl FnOnce() -> R + Copy) -> Result<R, Thrown> {
    #[cfg(target_arch = "x86_64")]
    return x86_64::catching(call);
    #[cfg(not(target_arch = "x86_64"))]
    return Ok(call());
}

/// Calls a foreign function whose caller cannot be told of a failure: it is logged. `whose` names the function.
pub fn catching_to_log(whose: impl fmt::Display, call: impl FnOnce() + Copy) {
    if let Err(thrown) = catching(call) {
        log(Level::Error, || format!("{whose} {thrown}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_returns_has_its_result() {
        let (a, b) = (3, 4);
        assert_eq!(catching(move || a * b), Ok(12));
        assert_eq!(catching(|| 1u128 << 100), Ok(1u128 << 100));
    }

    #[test]
    fn a_thrown_thing_ends_a_sentence() {
        assert_eq!(Thrown::Exception("no".to_string()).to_string(), "threw an exception: no");
        assert_eq!(Thrown::EndOfThread.to_string(), "ended its thread (pthread_exit or pthread_cancel)");
    }
}
