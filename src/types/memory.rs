//! Host memory that several share and nobody changes.

/// Bytes that stay where they are and as they are for as long as this lives: a native array's, a buffer's of a device that
/// computes in host memory, or another library's.
///
/// # Safety
/// `bytes` gives the same, initialised and unchanging bytes every time, until the value is dropped.
pub unsafe trait SharedBytes: Send + Sync {
    /// The bytes.
    fn bytes(&self) -> &[u8];
}
