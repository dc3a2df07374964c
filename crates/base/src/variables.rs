//! Environment variables of the process. The library reads all of its own here.
//!
//! In a process that has more rights than its caller (a set-user-id or set-group-id program, file capabilities), the
//! caller's variables are ignored, as by glibc's `secure_getenv`: they name libraries and programs to run, and files to
//! write.

use crate::log::{Level, log};
use std::ffi::OsString;

/// Whether the process has more rights than the one that started it (AT_SECURE in getauxval(3)).
pub fn is_privileged() -> bool {
    // SAFETY: getauxval only reads the auxiliary vector, and takes any number.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Returns the value of a variable; None if it is unset, or ignored because the process is privileged.
pub fn variable(name: &str) -> Option<OsString> {
    let value = std::env::var_os(name)?;
    if is_privileged() {
        log(Level::Warning, || {
            format!("environment variable {name}: ignored, because this process has more rights than its caller")
        });
        return None;
    }
    Some(value)
}

/// Like [`variable`], also None if the value is empty.
pub fn nonempty(name: &str) -> Option<OsString> {
    variable(name).filter(|value| !value.is_empty())
}

/// Like [`variable`], also None if the value is not UTF-8.
pub fn text(name: &str) -> Option<String> {
    variable(name).and_then(|value| value.into_string().ok())
}
