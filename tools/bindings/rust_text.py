"""The parts of the Rust module that are the same for every function, see rust.py."""

HEAD = """// Written by tools/bindings/rust.py from include/lazyxla.json of lazyxla VERSION; do not edit.
//! Lazy tensors on XLA: the C API of lazyxla.
#![allow(clippy::all, non_camel_case_types)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::null;

/// A failed call: its status code and message.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    pub status: i32,
    pub message: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

fn check(status: i32) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: both functions return strings that end in NUL and that no other call on this thread changes meanwhile.
    let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let (name, message) = unsafe { (text(sys::lxla_status_name(status)), text(sys::lxla_last_error_message())) };
    Err(Error { status, message: format!("{name}: {message}") })
}

fn refused(message: &str) -> Error {
    Error { status: INVALID_ARGUMENT, message: format!("INVALID_ARGUMENT: {message}") }
}

fn c_string(name: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| refused(&format!("{name}: it contains NUL")))
}

/// Returns the common length of lists; None for lists that are left out.
fn common(names: &str, lengths: &[Option<usize>]) -> Result<usize> {
    let mut given = lengths.iter().flatten();
    let first = given.next().copied().unwrap_or(0);
    if given.all(|length| *length == first) { Ok(first) } else { Err(refused(&format!("{names}: different lengths"))) }
}

/// Returns the number of groups of elements.
fn divided(name: &str, given: Option<usize>, by: usize) -> Result<Option<usize>> {
    match given {
        Some(n) if n % by != 0 => Err(refused(&format!("{name}: {n} elements given; want a multiple of {by}"))),
        _ => Ok(given.map(|n| n / by)),
    }
}

/// Refuses a list whose length is not what the elements of another list say: C reads as many.
fn exactly(name: &str, given: Option<usize>, wanted: i128, rule: &str) -> Result<()> {
    match given {
        Some(given) if given as i128 != wanted => {
            Err(refused(&format!("{name}: {given} elements given; want {wanted}, the {rule}")))
        }
        _ => Ok(()),
    }
}

fn owned(text: *mut c_char) -> String {
    // SAFETY: a string of the library, which is freed once.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        sys::lxla_string_free(text);
        copy
    }
}
"""
HANDLE = """
/// {doc}
#[derive(Debug)]
pub struct {rust}(pub sys::{c}, bool);

impl {rust} {{
    /// The null handle.
    pub const NULL: {rust} = {rust}(sys::{c} {{ id: 0 }}, false);
}}

impl Drop for {rust} {{
    fn drop(&mut self) {{
        if self.1 {{
            // SAFETY: the handle is this value's.
            unsafe {{ sys::{c}_release(self.0) }};
        }}
    }}
}}
"""
DEFAULT = """
impl Default for {c} {{
    fn default() -> Self {{
        // SAFETY: zero is the default of every field.
        let mut made: Self = unsafe {{ std::mem::zeroed() }};
        made.struct_size = size_of::<Self>();
        made
    }}
}}
"""
