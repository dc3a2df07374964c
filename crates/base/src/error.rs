//! The library's only error type: a status code and a message.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Status codes: 1 to 16 are those of absl and PJRT, those from 64 on are this library's own. The numbers are frozen in
/// the C ABI.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Code {
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
    InvalidHandle = 64,
    NullArgument = 65,
    Panic = 66,
    Forked = 67,
}

impl Code {
    /// All codes, in ascending order of their numbers.
    pub const ALL: [Code; 20] = [
        Code::Cancelled,
        Code::Unknown,
        Code::InvalidArgument,
        Code::DeadlineExceeded,
        Code::NotFound,
        Code::AlreadyExists,
        Code::PermissionDenied,
        Code::ResourceExhausted,
        Code::FailedPrecondition,
        Code::Aborted,
        Code::OutOfRange,
        Code::Unimplemented,
        Code::Internal,
        Code::Unavailable,
        Code::DataLoss,
        Code::Unauthenticated,
        Code::InvalidHandle,
        Code::NullArgument,
        Code::Panic,
        Code::Forked,
    ];

    /// The code with this number; None if there is none.
    pub fn from_number(number: i32) -> Option<Code> {
        Code::ALL.into_iter().find(|code| *code as i32 == number)
    }

    /// Whether the code says that the plugin or the process failed, so that another program would fail, too.
    pub fn is_of_plugin(self) -> bool {
        matches!(
            self,
            Code::Aborted | Code::Cancelled | Code::DeadlineExceeded | Code::Unavailable | Code::Panic | Code::Forked
        )
    }

    /// Name of the code as absl and PJRT print it, NUL-terminated for C.
    pub fn name(self) -> &'static std::ffi::CStr {
        match self {
            Code::Cancelled => c"CANCELLED",
            Code::Unknown => c"UNKNOWN",
            Code::InvalidArgument => c"INVALID_ARGUMENT",
            Code::DeadlineExceeded => c"DEADLINE_EXCEEDED",
            Code::NotFound => c"NOT_FOUND",
            Code::AlreadyExists => c"ALREADY_EXISTS",
            Code::PermissionDenied => c"PERMISSION_DENIED",
            Code::ResourceExhausted => c"RESOURCE_EXHAUSTED",
            Code::FailedPrecondition => c"FAILED_PRECONDITION",
            Code::Aborted => c"ABORTED",
            Code::OutOfRange => c"OUT_OF_RANGE",
            Code::Unimplemented => c"UNIMPLEMENTED",
            Code::Internal => c"INTERNAL",
            Code::Unavailable => c"UNAVAILABLE",
            Code::DataLoss => c"DATA_LOSS",
            Code::Unauthenticated => c"UNAUTHENTICATED",
            Code::InvalidHandle => c"INVALID_HANDLE",
            Code::NullArgument => c"NULL_ARGUMENT",
            Code::Panic => c"PANIC",
            Code::Forked => c"FORKED",
        }
    }
}

/// An error. Cheap to clone, because one error may be stored on many tensors; a pointer, so that functions return
/// results in registers.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Error(Arc<Details>);

/// The content of an [`Error`].
#[derive(Debug)]
pub struct Details {
    /// Status code.
    pub code: Code,
    /// Message for the user: the argument, the value given, the value expected.
    pub message: Arc<str>,
}

/// A result with the library's error type.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error with this code and message.
    pub fn new(code: Code, message: impl Into<Arc<str>>) -> Error {
        Error(Arc::new(Details { code, message: message.into() }))
    }

    /// Returns the same error with `prefix` prepended to its message.
    pub fn context(self, prefix: impl std::fmt::Display) -> Error {
        Error::new(self.code, format!("{prefix}: {}", self.message))
    }
}

impl Deref for Error {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

/// Maximum number of bytes of a name in a message.
const MOST_BYTES_OF_A_NAME: usize = 256;

/// Truncates a text of any length for a message; a truncated text ends with its length in bytes.
pub fn shortened(text: &str, most_bytes: usize) -> Cow<'_, str> {
    if text.len() <= most_bytes {
        return Cow::Borrowed(text);
    }
    let mut end = most_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{}... ({} bytes)", &text[..end], text.len()))
}

/// Writes a value for a message, at most its first 500 bytes.
pub fn limited(value: impl fmt::Display) -> String {
    struct Limited(String);
    impl fmt::Write for Limited {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            const MOST: usize = 500;
            let mut end = text.len().min(MOST - self.0.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            self.0.push_str(&text[..end]);
            if end < text.len() { Err(fmt::Error) } else { Ok(()) }
        }
    }
    let mut written = Limited(String::new());
    if fmt::Write::write_fmt(&mut written, format_args!("{value}")).is_err() {
        written.0.push_str("...");
    }
    written.0
}

/// Truncates a name of any length for a message, and puts it in quotes.
pub fn quoted(name: &str) -> String {
    format!("{:?}", shortened(name, MOST_BYTES_OF_A_NAME))
}

/// `error!(InvalidArgument, "...", ...)` creates an [`Error`] with that code and a formatted message.
#[macro_export]
#[doc(hidden)]
macro_rules! error {
    ($code:ident, $($message:tt)*) => {
        $crate::error::Error::new($crate::error::Code::$code, format!($($message)*))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_written_in_part() {
        assert_eq!(limited(12), "12");
        let endless = (0..1_000_000).map(|_| "ä").collect::<Vec<_>>();
        assert_eq!(limited(format_args!("{endless:?}")).len(), 503);
    }

    #[test]
    fn numbers_and_names_are_those_of_the_abi() {
        for code in Code::ALL {
            assert_eq!(Code::from_number(code as i32), Some(code));
        }
        assert_eq!(Code::from_number(0), None);
        assert_eq!(Code::from_number(17), None);
        assert_eq!(Code::DataLoss as i32, 15);
        assert_eq!(Code::Forked as i32, 67);
        assert_eq!(Code::FailedPrecondition.name(), c"FAILED_PRECONDITION");
    }
}
