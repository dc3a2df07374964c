//! The one error of the library: a status code and a message.

use std::borrow::Cow;
use std::sync::Arc;

/// Status codes: 1 to 16 are those of absl and PJRT, from 64 on our own. Frozen: they are the C ABI's numbers.
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
    /// Every code, in the order of its number.
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

    /// The code of a number, if it is one of ours.
    pub fn from_number(number: i32) -> Option<Code> {
        Code::ALL.into_iter().find(|code| *code as i32 == number)
    }

    /// The name that absl and PJRT print, NUL-terminated for C.
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

/// A failure. Cheap to clone: one failure may be stored on many tensors.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of failure.
    pub code: Code,
    /// What happened, in words for the user: the argument, what was given, what was wanted.
    pub message: Arc<str>,
}

/// A result with the library's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A failure with this code and message.
    pub fn new(code: Code, message: impl Into<Arc<str>>) -> Error {
        Error { code, message: message.into() }
    }

    /// The same failure with words set before its message.
    pub fn context(self, prefix: impl std::fmt::Display) -> Error {
        Error::new(self.code, format!("{prefix}: {}", self.message))
    }
}

/// The most bytes of a name that a message shows.
const MOST_BYTES_OF_A_NAME: usize = 256;

/// A text that may be of any length, cut short for a message.
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

/// A name that may be of any length, cut short for a message and in quotes.
pub fn quoted(name: &str) -> String {
    format!("{:?}", shortened(name, MOST_BYTES_OF_A_NAME))
}

/// `error!(InvalidArgument, "...", ...)`: an [`Error`] with that code and a formatted message.
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
