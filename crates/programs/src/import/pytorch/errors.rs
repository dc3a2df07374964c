//! Errors of the reader.

use base::error::{Code, Error};

/// An error of the reader as an error of the library.
pub fn error_of(e: lazyxla_pytorch::Error) -> Error {
    Error::new(if e.is_unsupported { Code::Unimplemented } else { Code::InvalidArgument }, e.message)
}
