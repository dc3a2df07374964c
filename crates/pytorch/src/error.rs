//! Errors of a reader.

use std::fmt;

/// Why a file is not read.
#[derive(Clone, Debug)]
pub struct Error {
    /// Whether the file may be sound, and this reader does not support it.
    pub is_unsupported: bool,
    /// The reason.
    pub message: String,
}

/// A result of a reader.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The file is damaged, or is not of this kind.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error { is_unsupported: false, message: message.into() }
    }

    /// The file is not supported.
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error { is_unsupported: true, message: message.into() }
    }

    /// The same error, with the place in front of the reason.
    pub fn at(self, place: impl fmt::Display) -> Error {
        Error { message: format!("{place}: {}", self.message), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// A text of the file as messages show it: in quotes, of bounded length, without control characters.
pub fn shown(text: &str) -> String {
    const MOST: usize = 120;
    let short: String = text.chars().take(MOST).collect();
    let end = if short.len() < text.len() { "..." } else { "" };
    format!("{short:?}{end}")
}
